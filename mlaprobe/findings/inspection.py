"""Gathers the facts of a source and has the rules judge them: ``mlaprobe findings``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mlaprobe.core.protocols import Answers
from mlaprobe.findings.engine import Findings, apply, known_as
from mlaprobe.findings.facts import Fact
from mlaprobe.findings.facts.shapes import Asker, Scope
from mlaprobe.findings.model import Finding
from mlaprobe.findings.rules import FindingRule, finding_rules, settings
from mlaprobe.rulefiles.serving import Serving

if TYPE_CHECKING:
    from mlaprobe.deciding.capability import Capability
    from mlaprobe.findings.facts.reach import Reach

_STAGES, _FILES = ("chain", "shape"), ("row", "argument", "flag", "buffer")
NO_STAGES = "it holds no stages that can be asked apart"
NO_SOURCE = "it needs AITER's files, which a snapshot does not hold"


def inspect(
    answers: Answers,
    scope: Scope | None = None,
    *,
    only: Collection[str] = (),
    step: Callable[[], None] = lambda: None,
) -> Findings:
    """Everything that the rules find in one source.

    Args:
        scope: which shapes to ask; by default all that matter.
        only: the rules to check; by default all.
        step: called now and then.

    Raises:
        RuleError: a rule is wrong.
        SourceError: a file cannot be read.
    """
    scope = scope or Scope(archs=answers.archs)
    scope = replace(scope, ignored_knobs=frozenset(settings()["knobs"]["ignored"]))
    able = _able(answers)
    wanted = tuple(rule for rule in finding_rules() if not only or rule.rule.id in only)
    rules = tuple(rule for rule in wanted if rule.about <= able)
    found = apply(_facts(answers, scope, rules, step), rules=rules)
    unfollowed = {rule.rule.id for rule in rules if rule.match({"verdict": "UNKNOWN"})}
    return Findings(
        source=answers.source,
        findings=found,
        skipped=tuple(_skipped(wanted, able)),
        unknown=sum(each.rule.id in unfollowed for each in found),
    )


def new_findings(old: Answers, new: Answers, served: Sequence[Serving] = ()) -> tuple[Finding, ...]:
    """What the rules find in a new source and not in the old one: for deployments in what they
    launch, else for the head counts that are usual. Which rows of the kernel table are out of
    reach is left to ``inspect``: it takes longer than everything else.

    Raises:
        RuleError: a rule is wrong.
        SourceError: a file cannot be read.
    """
    scope = _served_scope(served) if served else _usual_scope(old, new)
    able = _able(old) & _able(new)
    rules = tuple(r for r in finding_rules() if r.about <= able and not r.looks_at("by_host"))
    known = {
        known_as(rule, fact)
        for fact in _facts(old, scope, rules, lambda: None)
        for rule in rules
        if rule.means(fact)
    }
    return apply(_facts(new, scope, rules, lambda: None), rules=rules, known=known or {("", "")})


def _usual_scope(old: Answers, new: Answers) -> Scope:
    archs = tuple(arch for arch in new.archs if arch in old.archs)
    heads = tuple(range(16, 129, 16))
    return Scope(archs=archs, heads=heads, beyond=(), qlens=(1, 2, 4), plain_heads=(), knobs=False)


def _served_scope(served: Sequence[Serving]) -> Scope:
    grids = [each.grid for each in served]

    def merged(name: str) -> tuple[Any, ...]:
        return tuple(dict.fromkeys(value for grid in grids for value in getattr(grid, name)))

    return Scope(
        archs=merged("archs"),
        dtypes=merged("dtypes"),
        heads=merged("heads"),
        beyond=(),
        qlens=merged("qlens"),
        plain_heads=(),
        knobs=False,
    )


def _able(answers: Answers) -> set[str]:
    """The kinds of facts that can be gathered."""
    able = set(_STAGES if hasattr(answers, "ask") else ())
    return able | set(_FILES if hasattr(answers, "tables") else ())


def _skipped(wanted: Iterable[FindingRule], able: set[str]) -> Iterator[tuple[str, str]]:
    for rule in wanted:
        # Signatures are about two sources, and no fault of one.
        missing = rule.about - able - {"signature"}
        if missing:
            yield rule.rule.id, NO_STAGES if missing & set(_STAGES) else NO_SOURCE


def _facts(
    answers: Any, scope: Scope, rules: tuple[FindingRule, ...], step: Callable[[], None]
) -> Iterator[Fact]:
    kinds = {about for rule in rules for about in rule.about}
    if not kinds:
        return
    asker = Asker(answers, scope, step)
    if kinds - {"row", "argument"}:
        yield from asker.facts(kinds)
    if "row" in kinds:
        from mlaprobe.findings.facts.rows import row_facts

        reach = any(rule.looks_at("by_host") for rule in rules)
        calls = any(rule.looks_at("by_call") for rule in rules)
        found = _reach(answers, asker, step) if reach else None
        yield from row_facts(answers, scope.archs, found, calls=calls)
    if "argument" in kinds:
        from mlaprobe.findings.facts.calls import unused_arguments

        yield from unused_arguments(answers, settings()["arguments"])
    if "flag" in kinds:
        from mlaprobe.findings.facts.calls import ignored_flags

        yield from ignored_flags(answers, asker.other_entries)
    if "buffer" in kinds:
        from mlaprobe.findings.facts.buffers import buffer_facts

        yield from buffer_facts(answers, asker.taken, settings()["buffers"])


def _reach(capability: Capability, asker: Asker, step: Callable[[], None]) -> Reach:
    from mlaprobe.findings.facts.reach import Reach

    wanted = settings()["rows"]
    columns = wanted["columns"]
    return Reach(
        capability,
        wanted["module"],
        lambda row: all(row.fields.get(name, 0) in some for name, some in columns.items()),
        asker.pages,
        step=step,
    )
