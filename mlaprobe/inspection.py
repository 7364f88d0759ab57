"""Gathers the facts of a source and has the rules judge them: ``mlaprobe findings``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mlaprobe.facts import Fact
from mlaprobe.facts.shapes import Asker, Scope
from mlaprobe.findingrules import FindingRule, finding_rules, settings
from mlaprobe.findings import Findings, apply
from mlaprobe.interface import Answers

if TYPE_CHECKING:
    from mlaprobe.capability import Capability
    from mlaprobe.facts.reach import Reach

_STAGES, _FILES = ("chain", "shape"), ("row", "argument", "flag", "buffer")
NO_STAGES = "it holds no stages that can be asked apart"
NO_SOURCE = "it needs AITER's files, which a snapshot does not hold"
ONE_SOURCE = "it is about two sources: mlaprobe compare and mlaprobe check apply it"


def inspect(
    answers: Answers, scope: Scope | None = None, *, step: Callable[[], None] = lambda: None
) -> Findings:
    """Everything that the rules find in one source. ``step`` is called now and then.

    Raises:
        RuleError: a rule is wrong.
        SourceError: a file cannot be read.
    """
    scope = scope or Scope(archs=answers.archs)
    scope = replace(scope, ignored_knobs=frozenset(settings()["knobs"]["ignored"]))
    able = set(_STAGES if hasattr(answers, "ask") else ())
    able.update(_FILES if hasattr(answers, "tables") else ())
    rules = tuple(rule for rule in finding_rules() if rule.about in able)
    found = apply(_facts(answers, scope, able, rules, step), rules=rules)
    unfollowed = {rule.rule.id for rule in rules if rule.match({"verdict": "UNKNOWN"})}
    return Findings(
        source=answers.source,
        findings=found,
        skipped=tuple(_skipped(able)),
        unknown=sum(each.rule.id in unfollowed for each in found),
    )


def _skipped(able: set[str]) -> Iterator[tuple[str, str]]:
    for rule in finding_rules():
        if rule.about == "signature":
            continue
        if rule.about not in able:
            yield rule.rule.id, NO_STAGES if rule.about in _STAGES else NO_SOURCE


def _facts(
    answers: Any,
    scope: Scope,
    able: set[str],
    rules: tuple[FindingRule, ...],
    step: Callable[[], None],
) -> Iterator[Fact]:
    if not able:
        return
    asker = Asker(answers, scope, step)
    yield from asker.facts()
    if "row" in able:
        yield from _of_files(answers, asker, rules, step)


def _of_files(
    capability: Capability,
    asker: Asker,
    rules: tuple[FindingRule, ...],
    step: Callable[[], None],
) -> Iterator[Fact]:
    from mlaprobe.facts.buffers import buffer_facts
    from mlaprobe.facts.calls import ignored_flags, unused_arguments
    from mlaprobe.facts.rows import row_facts

    yield from row_facts(capability, _reach(capability, asker, step))
    yield from unused_arguments(capability, settings()["arguments"])
    yield from ignored_flags(capability, asker.other_entries)
    yield from buffer_facts(capability, asker.taken, settings()["buffers"])


def _reach(capability: Capability, asker: Asker, step: Callable[[], None]) -> Reach:
    from mlaprobe.facts.reach import Reach

    wanted = settings()["rows"]
    columns = wanted["columns"]
    return Reach(
        capability,
        wanted["module"],
        lambda row: all(row.fields.get(name, 0) in some for name, some in columns.items()),
        asker.pages,
        step=step,
    )
