"""Decode runs as people see them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mlaprobe.core.accuracy import Error
from mlaprobe.core.shape import Dtype, Verdict
from mlaprobe.decode.environment import Environment
from mlaprobe.decode.launched import Launched
from mlaprobe.decode.problem import Problem
from mlaprobe.decode.rules import rules
from mlaprobe.decode.running import Run
from mlaprobe.decode.selftest import Outcome, Report, Result
from mlaprobe.decode.support import Agreement, Disagreement
from mlaprobe.decode.timing import Timing
from mlaprobe.output.runs import decode_text
from mlaprobe.output.runs.decode_data import winner
from mlaprobe.output.style import plain
from mlaprobe.padding.api import plan
from tests.output import goldens
from tests.output.fake import Fake

AITER = Fake()
SYMBOL = "_ZN5aiter36mla_a8w8_qh64_qseqlen1_gqaratio64_psE"
AROUND = Environment(
    mlaprobe="0.1.0",
    python="3.12.3",
    system="Linux",
    torch="2.9.0+rocm7.0",
    rocm="7.0",
    cuda=None,
    device="AMD Instinct MI355X",
    arch="gfx950",
    compute_units=256,
    memory_bytes=288 * 2**30,
    aiter="9.9.9",
    environment=(),
)
PLAN = plan(40, capability=AITER, arch="gfx950", q_dtype="fp8", kv_dtype="fp8", lse=True)
UNPADDED = plan(
    40, capability=AITER, arch="gfx950", q_dtype="fp8", kv_dtype="fp8", lse=True, mode="off"
)
RIGHT = Error(
    max_abs=0.0012,
    rmse=0.027,
    cosine=0.99963,
    beyond=0,
    values=52 * 40 * 512,
    non_finite=0,
    lse_max_abs=0.0004,
    tolerance=rules().tolerance(Dtype.FP8, Dtype.FP8),
)
WRONG = replace(RIGHT, max_abs=0.31, rmse=1.02, cosine=0.02, beyond=800000, non_finite=3)


def _timing(us: float) -> Timing:
    return Timing(us=us, low_us=us - 2, high_us=us + 3, runs=50, clock="device", cold=True)


RUN = Run(
    problem=Problem(
        arch="gfx950",
        num_heads=40,
        q_dtype=Dtype.FP8,
        kv_dtype=Dtype.FP8,
        kv_lens=(16384,) * 52,
        lse=True,
        device="cuda:0",
    ),
    plan=PLAN,
    backend="aiter",
    passed_over=(),
    fold=1,
    predicted=(SYMBOL,),
    launched=Launched(
        kernels=("aiter::mla_a8w8_qh64_qseqlen1_gqaratio64_ps(KernelArgs)", "kn_mla_reduce_v1"),
        predicted=(SYMBOL,),
    ),
    error=RIGHT,
    timing=_timing(171.4),
    read_bandwidth=5.2e12,
)
FOLDED = replace(RUN, plan=UNPADDED, fold=3, timing=_timing(349.0))


def _text(run: Run, unpadded: Run | str | None = None, width: int = 100) -> str:
    return plain(decode_text.decode(AITER.source, run, unpadded, AROUND, width=width))


def test_a_run_that_is_right() -> None:
    goldens.check("decode.txt", _text(RUN, FOLDED))


def test_a_stand_in_that_is_wrong() -> None:
    run = replace(
        RUN,
        backend="torch",
        passed_over=("aiter: this PyTorch is not built for ROCm",),
        error=WRONG,
        launched=None,
        read_bandwidth=None,
    )
    goldens.check("decode_wrong.txt", _text(run, "the plan launches 64 heads anyway", width=80))


def test_a_stand_in_does_not_make_a_launch_run() -> None:
    plans = replace(PLAN, verdict=Verdict.NO_KERNEL)
    said = "AITER would not run this launch, or not rightly"
    assert said in _text(replace(RUN, plan=plans, backend="triton"))
    assert said not in _text(replace(RUN, backend="triton"))


def test_other_kernels_than_predicted_are_seen() -> None:
    other = replace(RUN, launched=Launched(kernels=("other",), predicted=(SYMBOL,)))
    assert "not what was predicted" in _text(other)


@pytest.mark.parametrize(
    ("ours", "theirs", "wins"),
    [(100.0, 200.0, "pad"), (200.0, 100.0, "fold"), (100.0, 103.0, None)],
)
def test_who_wins(ours: float, theirs: float, wins: str | None) -> None:
    padded, folded = replace(RUN, timing=_timing(ours)), replace(FOLDED, timing=_timing(theirs))
    assert winner(padded, folded) == wins
    said = f"{wins} wins, " if wins else "neither wins"
    assert f"compare   {said}" in _text(padded, folded)


def test_a_self_test() -> None:
    padded, native, fp8, *_ = rules().selftest
    report = Report(
        environment=AROUND,
        arch="gfx950",
        results=(
            Result(test=padded, outcome=Outcome.PASSED, plan=PLAN, run=RUN),
            Result(
                test=native,
                outcome=Outcome.FAILED,
                plan=PLAN,
                run=replace(RUN, error=WRONG),
                message="; ".join(WRONG.complaints),
            ),
            Result(
                test=fp8,
                outcome=Outcome.REFUSED,
                plan=PLAN,
                message="with the installed AITER, 16 heads would end this process",
            ),
        ),
        agreement=Agreement(
            asked=3,
            disagreements=(
                Disagreement(
                    shape=PLAN.decisions[0].shape, field="supported", aiter="False", mlaprobe="True"
                ),
            ),
            failures=("gfx950 fp8/fp8, 16 heads, qlen 1: ValueError: no",),
        ),
    )
    assert not report.passed
    goldens.check("selftest.txt", plain(decode_text.selftest(AITER.source, report, width=100)))
