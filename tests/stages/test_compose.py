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
) -> Verdict:
    """Of a planner that is native and a dispatcher that folds by 3."""
    stages = (
        outcome("sizing", sizing),
        outcome("planner", planner),
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
    )
    return found.verdict


def test_a_launch_that_runs_by_another_plan_is_incoherent() -> None:
    assert verdict() is Verdict.INCOHERENT
    assert verdict(reducer=Status.MISSING) is Verdict.INCOHERENT
    assert verdict(reducer=Status.UNKNOWN) is Verdict.INCOHERENT


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
def test_a_refusal_precedes_it(host: Status, table: Status, expected: Verdict) -> None:
    assert verdict(host, table) is expected
    assert verdict(host, table, Status.MISSING) is expected


def test_so_does_what_raises() -> None:
    assert verdict(missing_entry=True) is Verdict.REJECTED
    assert verdict(fails_after="KeyError") is Verdict.REJECTED
    assert verdict(sizing=Status.REJECTED) is Verdict.REJECTED
    assert verdict(planner=Status.REJECTED) is Verdict.REJECTED


def test_a_host_that_is_not_known_might_refuse() -> None:
    assert verdict(Status.UNKNOWN, Status.UNKNOWN) is Verdict.UNKNOWN
