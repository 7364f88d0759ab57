"""Gathers the facts of a source and has the rules judge them: ``mlaprobe findings``."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from mlaprobe.core.enums import Operation
from mlaprobe.core.protocols import Opened
from mlaprobe.findings.engine import Findings, apply, known_as
from mlaprobe.findings.facts import Fact
from mlaprobe.findings.facts.operations import operation_facts
from mlaprobe.findings.facts.shapes import Scope, ShapeFacts
from mlaprobe.findings.model import Finding
from mlaprobe.findings.rules import OPERATION, FindingRule, finding_rules, settings
from mlaprobe.rulefiles.models import model_heads
from mlaprobe.rulefiles.serving import Serving

if TYPE_CHECKING:
    from mlaprobe.deciding.capability import Capability
    from mlaprobe.findings.facts.reach import Reach

T = TypeVar("T")
Step = Callable[[], None]
_STAGES, _FILES = ("chain", "shape", OPERATION), ("row", "argument", "flag", "buffer")
NO_SOURCE = "it needs AITER's files, which a snapshot does not hold"


def inspect(
    answers: Opened,
    scope: Scope | None = None,
    *,
    only: Collection[str] = (),
    step: Step = lambda: None,
) -> Findings:
    """Everything that the rules find in one source.

    Args:
        scope: which shapes to ask; by default all that matter.
        only: the rules to check; by default all.
        step: called now and then.

    Raises:
        SourceError: a file cannot be read.
    """
    scope = scope or Scope(archs=answers.archs)
    scope = replace(scope, ignored_knobs=frozenset(settings()["knobs"]["ignored"]))
    able = _kinds(answers)
    concerned = (rule for rule in finding_rules() if rule.concerns(scope.op))
    wanted = tuple(rule for rule in concerned if not only or rule.rule.id in only)
    rules = tuple(rule for rule in wanted if rule.about <= able)
    found = apply(gather(answers, scope, rules, step), rules=rules)
    unfollowed = {rule.rule.id for rule in rules if rule.match({"verdict": "UNKNOWN"})}
    return Findings(
        source=answers.source,
        findings=found,
        skipped=tuple(_skipped(wanted, able)),
        unknown=sum(each.rule.id in unfollowed for each in found),
    )


def new_findings(
    old: Opened,
    new: Opened,
    served: Sequence[Serving] = (),
    op: Operation = Operation.DECODE,
) -> tuple[Finding, ...]:
    """What the rules find in a new source and not in the old one, about an operation: for
    deployments in what they launch, else for the head counts that are usual. Which rows of the
    kernel table are out of reach is left to ``inspect``: it takes longer than everything else.

    Raises:
        SourceError: a file cannot be read.
    """
    scope = _served_scope(served) if served else _usual_scope(old, new, op)
    able = _kinds(old) & _kinds(new)
    concerned = (rule for rule in finding_rules() if rule.concerns(op) and rule.about <= able)
    rules = tuple(rule for rule in concerned if not rule.looks_at("by_host"))
    before = list(gather(old, scope, rules, lambda: None))
    if not before and op is not Operation.DECODE:  # a snapshot that does not hold it
        return ()
    known = {known_as(rule, fact) for fact in before for rule in rules if rule.means(fact)}
    return apply(gather(new, scope, rules, lambda: None), rules=rules, known=known or {("", "")})


def _usual_scope(old: Opened, new: Opened, op: Operation) -> Scope:
    archs = tuple(arch for arch in new.archs if arch in old.archs)
    if op is not Operation.DECODE:
        return operation_scope(op, archs=archs)
    heads = tuple(range(16, 129, 16))
    return Scope(archs=archs, heads=heads, beyond=(), qlens=(1, 2, 4), plain_heads=(), knobs=False)


def operation_scope(op: Operation, **fields: Any) -> Scope:
    """The shapes of an operation that matter: the head counts that models lead to."""
    return Scope(**{"op": op, "heads": model_heads(), "beyond": (), "qlens": (1, 2, 4), **fields})


def _served_scope(served: Sequence[Serving]) -> Scope:
    grids = [each.grid for each in served]
    return Scope(
        archs=_union(grid.archs for grid in grids),
        dtypes=_union(grid.dtypes for grid in grids),
        heads=_union(grid.heads for grid in grids),
        beyond=(),
        qlens=_union(grid.qlens for grid in grids),
        plain_heads=(),
        knobs=False,
    )


def _union(values: Iterable[Iterable[T]]) -> tuple[T, ...]:
    """Each value once."""
    return tuple(dict.fromkeys(chain.from_iterable(values)))


def _kinds(answers: Opened) -> set[str]:
    """The kinds of facts that can be gathered."""
    return {*_STAGES, *(() if answers.capability is None else _FILES)}


def _skipped(wanted: Iterable[FindingRule], able: set[str]) -> Iterator[tuple[str, str]]:
    for rule in wanted:
        # Signatures are about two sources, and no fault of one.
        if rule.about - able - {"signature"}:
            yield rule.rule.id, NO_SOURCE


def gather(
    answers: Opened, scope: Scope, rules: tuple[FindingRule, ...], step: Step
) -> Iterator[Fact]:
    """The facts that some rules are about."""
    if scope.op is not Operation.DECODE:
        yield from operation_facts(answers, scope, step)
        return
    kinds = {about for rule in rules for about in rule.about}
    shapes = ShapeFacts(answers, scope, step)
    if kinds - {"row", "argument"}:
        yield from shapes.facts(kinds)
    if answers.capability is not None:
        yield from _file_facts(answers.capability, shapes, rules, kinds)


def _file_facts(
    capability: Capability, shapes: ShapeFacts, rules: Iterable[FindingRule], kinds: set[str]
) -> Iterator[Fact]:
    """The facts that take AITER's files."""
    from mlaprobe.findings.facts.buffers import buffer_facts
    from mlaprobe.findings.facts.calls import ignored_flags, unused_arguments
    from mlaprobe.findings.facts.rows import row_facts

    if "row" in kinds:
        by_host = any(rule.looks_at("by_host") for rule in rules)
        by_call = any(rule.looks_at("by_call") for rule in rules)
        reach = _reach(capability, shapes) if by_host else None
        yield from row_facts(capability, shapes.scope.archs, reach, calls=by_call)
    if "argument" in kinds:
        yield from unused_arguments(capability, settings()["arguments"])
    if "flag" in kinds:
        yield from ignored_flags(capability, shapes.other_entries)
    if "buffer" in kinds:
        yield from buffer_facts(capability, shapes.taken, settings()["buffers"])


def _reach(capability: Capability, shapes: ShapeFacts) -> Reach:
    from mlaprobe.findings.facts.reach import Reach

    wanted = settings()["rows"]
    columns = wanted["columns"]
    return Reach(
        capability,
        wanted["module"],
        lambda row: all(row.fields.get(name, 0) in some for name, some in columns.items()),
        shapes.pages,
        step=shapes.step,
    )
