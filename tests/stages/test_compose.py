"""What the outcomes of stages come to, where several of them fail."""

from __future__ import annotations

import pytest

from mlaprobe.core.shape import DecodeShape, Dtype, Failure, StageOutcome, Status, Verdict
from mlaprobe.deciding.compose import compose

SHAPE = DecodeShape(arch="gfx950", q_dtype=Dtype.FP8, kv_dtype=Dtype.FP8, num_heads=48)


def outcome(
    stage: str, status: Status, fold: int = 1, failure: Failure | None = None
) -> StageOutcome:
    return StageOutcome(
        stage=stage,
        status=status,
        fold=fold,
        final_heads=48 // fold,
        entry="asm" if stage == "dispatcher" else None,
        failure=failure,
    )


def verdict(
    host: Status = Status.KERNEL,
    table: Status = Status.KERNEL,
    reducer: Status = Status.INSTANTIATED,
    *,
    sizing: Status = Status.ACCEPTED,
    planner: Status = Status.NATIVE,
    missing_entry: bool = False,
    fails_after: str | None = None,
    misfit: str | None = None,
) -> Verdict:
    """Of a planner that is native and a dispatcher that folds by 3; with a misfit, of one that
    folds likewise, and does not pass on what fits."""
    stages = (
        outcome("sizing", sizing),
        outcome("planner", planner, 1 if misfit is None else 3),
        outcome("dispatcher", Status.FOLD, 3),
        outcome("host", host),
        outcome("kernel table", table),
        outcome("reducer", reducer),
    )
    found = compose(
        SHAPE,
        tuple((each.stage, each) for each in stages),
        missing_entry=missing_entry,
        fails_after=fails_after,
        misfit=misfit,
    )
    return found.verdict


WHYS = pytest.mark.parametrize("misfit", [None, "kv_indptr is for others"])
"""By another plan; by the same, with what does not fit."""


@WHYS
def test_a_launch_that_runs_by_another_plan_is_incoherent(misfit: str | None) -> None:
    assert verdict(misfit=misfit) is Verdict.INCOHERENT
    assert verdict(reducer=Status.MISSING, misfit=misfit) is Verdict.INCOHERENT
    assert verdict(reducer=Status.UNKNOWN, misfit=misfit) is Verdict.INCOHERENT


@pytest.mark.parametrize(
    ("host", "table", "expected"),
    [
        (Status.NO_KERNEL, Status.NOT_REACHED, Verdict.NO_KERNEL),
        (Status.REJECTED, Status.NOT_REACHED, Verdict.REJECTED),
        (Status.KERNEL, Status.NO_FILE, Verdict.NO_KERNEL),
        (Status.KERNEL, Status.OVER_LIMIT, Verdict.NO_KERNEL),
        (Status.KERNEL, Status.AMBIGUOUS, Verdict.INCOHERENT),
    ],
)
@WHYS
def test_a_refusal_precedes_it(
    host: Status, table: Status, expected: Verdict, misfit: str | None
) -> None:
    assert verdict(host, table, misfit=misfit) is expected
    assert verdict(host, table, Status.MISSING, misfit=misfit) is expected


@WHYS
def test_so_does_what_raises(misfit: str | None) -> None:
    assert verdict(missing_entry=True, misfit=misfit) is Verdict.REJECTED
    assert verdict(fails_after="KeyError", misfit=misfit) is Verdict.REJECTED
    assert verdict(sizing=Status.REJECTED, misfit=misfit) is Verdict.REJECTED
    assert verdict(planner=Status.REJECTED, misfit=misfit) is Verdict.REJECTED


def test_a_launch_whose_host_is_not_known_is_no_misfit() -> None:
    assert verdict(Status.UNKNOWN, misfit="kv_indptr is for others") is Verdict.UNKNOWN


def test_a_host_that_is_not_known_might_refuse() -> None:
    assert verdict(Status.UNKNOWN, Status.UNKNOWN) is Verdict.UNKNOWN
