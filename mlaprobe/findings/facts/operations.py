"""Facts about an operation besides decode: what becomes of the head counts that models lead to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from mlaprobe.core.axes import cell_of
from mlaprobe.core.grid import Grid
from mlaprobe.core.protocols import Opened
from mlaprobe.core.shape import Decision, DecodeShape, StageName, Status
from mlaprobe.findings.facts import Fact
from mlaprobe.findings.facts.decisions import evidence_of, place_of, shape_values
from mlaprobe.findings.facts.shapes import Scope
from mlaprobe.rulefiles.operations import Entry, operations
from mlaprobe.snapshot import OUTSIDE


def operation_facts(answers: Opened, scope: Scope, step: Callable[[], None]) -> Iterator[Fact]:
    """A fact for each shape of a scope. A setting (arch and dtypes) in which no count runs, or an
    entry point that the source lacks, is no contradiction; ``served`` tells. Dtypes that AITER
    neither checks nor documents are left out."""
    for entry in operations()[scope.op].entries:
        pairs = [p for p in scope.dtypes if entry.dtypes is None or "/".join(p) in entry.dtypes]
        for arch in scope.archs:
            for dtypes in pairs:
                setting = Grid(
                    archs=(arch,),
                    dtypes=(dtypes,),
                    heads=scope.heads,
                    qlens=scope.qlens if entry.asks("qlen") else (1,),
                    op=entry.op,
                    persistent=(entry.mode,),
                )
                yield from _setting(answers, entry, list(setting.shapes()))
                step()


def _setting(answers: Opened, entry: Entry, shapes: list[DecodeShape]) -> Iterator[Fact]:
    decisions = [answers.decide(shape) for shape in shapes]
    served = any(decision.verdict.runs for decision in decisions)
    for decision in decisions:
        if decision.stage != OUTSIDE:
            yield _fact(entry, decision, served=served)


def _fact(entry: Entry, decision: Decision, *, served: bool) -> Fact:
    planner = decision.outcome(StageName.PLANNER)
    planned = planner is not None and decision.stage != StageName.SIZING and _takes(planner.status)
    values: dict[str, Any] = {
        **shape_values(decision.shape),
        "op": entry.op.value,
        "function": entry.name,
        "verdict": decision.verdict.value,
        "served": served,
        "planned": planned,
        "launches": entry.launches,
        "head_dim": entry.head_dim,
        "stage": decision.stage,
        "failure": None if decision.failure is None else decision.failure.value,
        "message": decision.message or "",
        "place": place_of(decision),
    }
    return Fact(
        about="operation",
        values=values,
        cell=cell_of(decision.shape),
        proof=lambda: evidence_of(decision),
    )


def _takes(status: Status) -> bool:
    return status.taken or status == Status.ACCEPTED
