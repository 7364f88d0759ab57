"""Whether a new AITER may take the place of the one that is pinned: ``mlaprobe check``.

Only what became worse is judged. What the old source had wrong already fails nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from mlaprobe.compare.diff import Change, Comparison, Kind
from mlaprobe.compare.results import CLEAN, FAILED, UNKNOWN, Results, change_finding, compared
from mlaprobe.compare.scope import compare_wanted
from mlaprobe.compare.waivers import Waiver, waived
from mlaprobe.core.grid import Grid
from mlaprobe.core.protocols import Opened
from mlaprobe.core.shape import Evidence, Verdict
from mlaprobe.findings.model import Finding, Level, Rule
from mlaprobe.rulefiles.serving import Serving

FAIL_ON = (Kind.BREAKS, Kind.SLOWER)
NEEDS = (Kind.NEEDS, Kind.RELAXED)
"""The classes that are looked at where it is asked for."""
EXPIRED = Rule(
    id="expired-waiver",
    title="a waiver does not hold any longer",
    level=Level.ERROR,
    why="It was granted up to an earlier release than the one that is checked.",
    fix="Look at the change again; then remove the waiver, or grant it for longer.",
)
UNDATED = Rule(
    id="undated-waiver",
    title="whether a waiver still holds is not known",
    level=Level.WARNING,
    why="The release of the new source is not known.",
    fix="Check a release, or a source whose files are those of one.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The results of a check, and its exit code."""

    results: Results
    comparison: Comparison
    code: int
    """``CLEAN``, ``FAILED`` or ``UNKNOWN``."""


def check(
    old: Opened,
    new: Opened,
    *,
    grids: Iterable[Grid] = (),
    served: Sequence[Serving] = (),
    needs: bool = False,
    fail_on: Iterable[Kind] = FAIL_ON,
    waivers: Iterable[Waiver] = (),
    findings: Iterable[Finding] = (),
    step: Callable[[], None] = lambda: None,
) -> Check:
    """Compares a new source with the pinned one, and judges.

    Args:
        grids: what to compare, where no deployments restrict it.
        served: the deployments that count.
        needs: whether to compare also what launches need; implied where that is to fail.
        fail_on: the classes of changes that fail.
        waivers: changes that do not count.
        findings: findings in the new source that the old one does not have. They are listed.

    Raises:
        SourceError: a file cannot be read.
    """
    fatal = frozenset(fail_on)
    needs = needs or not fatal.isdisjoint(NEEDS)
    comparison = compare_wanted(old, new, grids=tuple(grids), served=served, needs=needs, step=step)
    return _judged(comparison, tuple(waivers), new.erratum_release, fatal, tuple(findings))


def _judged(
    comparison: Comparison,
    waivers: tuple[Waiver, ...],
    release: str | None,
    fatal: frozenset[Kind],
    findings: tuple[Finding, ...],
) -> Check:
    states = [(waiver, waiver.expired(release)) for waiver in waivers]
    holding = [waiver for waiver, expired in states if expired is False]
    judged = [(change, waived(change, holding)) for change in comparison.changes]
    changes = tuple(change_finding(change, why) for change, why in judged)
    lapsed = [_waiver_finding(waiver, EXPIRED) for waiver, expired in states if expired]
    undated = [_waiver_finding(waiver, UNDATED) for waiver, e in states if e is None]
    failing = [each for each in changes if Kind(each.rule.id) in fatal and each.waiver is None]
    counted = [change for change, why in judged if why is None]
    code = CLEAN
    if failing or lapsed:
        code = FAILED
    elif undated or _unknown(comparison, counted, fatal):
        code = UNKNOWN
    compare_results = compared(comparison, (*lapsed, *undated, *findings))
    results = replace(
        compare_results,
        command="check",
        changes=changes,
        failing=frozenset(each.fingerprint for each in (*failing, *lapsed)),
        detail={**compare_results.detail, "exit_code": code},
    )
    return Check(results=results, comparison=comparison, code=code)


def _unknown(comparison: Comparison, changes: Iterable[Change], fatal: frozenset[Kind]) -> bool:
    """Whether something that is needed is not known: for deployments each of their shapes, else
    what was known and is not any more, or what may have been better; and what launches need, where
    a change of that is to fail."""
    if comparison.deployments and comparison.unknown:
        return True
    if not fatal.isdisjoint(NEEDS) and (comparison.needs_unknown or comparison.needs_unrecorded):
        return True
    # Where the new source is native, nothing could have been better before.
    return any(c.kind is Kind.UNKNOWN and c.new.verdict is not Verdict.NATIVE for c in changes)


def _waiver_finding(waiver: Waiver, rule: Rule) -> Finding:
    place = Evidence(stage="waiver", file=waiver.file, line=waiver.line, text=waiver.text)
    return Finding(
        rule=rule,
        level=rule.level,
        message=f"the waiver for {waiver.kind} until {waiver.until}: {waiver.reason}",
        evidence=(place,),
        identity=f"{waiver.kind} {waiver.until} {waiver.reason}",
    )
