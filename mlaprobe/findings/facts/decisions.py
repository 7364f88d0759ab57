"""Facts about composed decisions."""

from __future__ import annotations

from typing import Any

from mlaprobe.core.axes import cell_of
from mlaprobe.core.reasons import deciding_clause
from mlaprobe.core.shape import Decision, DecodeShape, Evidence, PlannerCall, StageName, Verdict
from mlaprobe.deciding.compose import clash
from mlaprobe.findings.facts import Fact
from mlaprobe.reports.emulated import emulations

_LACKS = {
    Verdict.NO_KERNEL: "finds no kernel for it",
    Verdict.REJECTED: "refuses it",
    Verdict.AMBIGUOUS: "finds several kernels for it",
}
"""What the host does where nothing is launched, by the verdict."""


_SHAPE = ["arch", "dtype", "qlen", "lse", "persistent", "causal", "cp_round_robin", "page_size"]


def shape_values(shape: DecodeShape) -> dict[str, Any]:
    """The fields that every fact about a shape has."""
    return {
        **{name: getattr(shape, name) for name in _SHAPE},
        "heads": shape.num_heads,
        "told": "given" if shape.planner == PlannerCall() else "omitted",
        "knob": ", ".join(f"{name}={value}" for name, value in shape.env) or None,
    }


def decision_fact(decision: Decision, given: Verdict | None = None) -> Fact:
    """A composed decision as a fact. ``given`` is the verdict of the same shape where the caller
    gives the planner the dtypes."""
    dispatcher = decision.outcome(StageName.DISPATCHER)
    folds = dispatcher is not None and (dispatcher.fold > 1 or dispatcher.qlen_fold > 1)
    undefined = None
    if dispatcher is not None and dispatcher.status.taken and dispatcher.failure:
        undefined = dispatcher.message
    values = {
        **shape_values(decision.shape),
        **{stage.replace(" ", "_"): str(outcome.status) for stage, outcome in decision.stages},
        "verdict": decision.verdict.value,
        "given": None if given is None else given.value,
        "stage": decision.stage,
        "folded": folds,
        "unfit": _is_unfit(decision),
        "failure": None if decision.failure is None else decision.failure.value,
        "message": decision.message or "",
        "lack": _LACKS.get(decision.verdict),
        "entry": None if dispatcher is None else dispatcher.entry,
        "undefined": undefined,
        "place": place_of(decision),
        **_emulated(decision),
    }
    cell = cell_of(decision.shape)
    return Fact(about="shape", values=values, cell=cell, proof=lambda: evidence_of(decision))


def _is_unfit(decision: Decision) -> bool:
    """Whether what a launch passes is for other requests than its query, though planner and
    dispatcher agree."""
    planner, dispatcher = map(decision.outcome, (StageName.PLANNER, StageName.DISPATCHER))
    if decision.verdict is not Verdict.INCOHERENT or dispatcher is None:
        return False
    return clash(planner, dispatcher) is None


def _emulated(decision: Decision) -> dict[str, str | None]:
    """What emulation shows of the kernel of a decision that runs: the worst outcome of a launch
    like it, and the file."""
    found = emulations(decision) if decision.verdict.runs else ()
    for each in found:
        if each.outcome is not None:
            text = next(run.text for run in each.alike if run.outcome is each.outcome)
            return {"emulated": each.outcome.value, "emulated_text": text, "co": each.kernel.co}
    return dict.fromkeys(("emulated", "emulated_text", "co"))


def place_of(decision: Decision) -> str | None:
    """The place that an unknown came from, by which unknowns are grouped."""
    if decision.verdict is not Verdict.UNKNOWN:
        return None
    clause = deciding_clause(decision)
    return None if clause is None else f"{clause.file}:{clause.line}"


def evidence_of(decision: Decision) -> tuple[Evidence, ...]:
    """All places, the one that decided first."""
    first = deciding_clause(decision)
    found = (*([first] if first else []), *decision.evidence)
    return tuple(dict.fromkeys(found))
