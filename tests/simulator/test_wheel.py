"""The driver against PyPI's AITER: an old layout, whose parameter lists are unlike today's."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mlaprobe.core.shape import Verdict
from mlaprobe.decode.backends.aiter_gate import RefusedError
from mlaprobe.errors import MlaprobeError
from tests.simulator.cases import Case, plan_for, run
from tests.simulator.package import Simulation

Wheel = Callable[[str], Simulation]
PERSISTENT = ("get_mla_metadata_v1", "mla_decode_stage1_asm_fwd", "mla_reduce_v1")
SPLIT = ("mla_decode_stage1_asm_fwd", "_fwd_kernel_stage2_asm")


@pytest.mark.parametrize(
    ("case", "launched", "fold", "calls"),
    [
        (Case(arch="gfx942", dtype="bf16/bf16", heads=16), 16, 1, PERSISTENT),
        (Case(arch="gfx942", dtype="bf16/bf16", heads=5, qlen=4), 16, 1, PERSISTENT),
        (Case(arch="gfx950", dtype="fp8/fp8", heads=96), 128, 1, PERSISTENT),
        (Case(arch="gfx950", dtype="fp8/fp8", heads=48, mode="off"), 48, 3, PERSISTENT),
        (Case(arch="gfx942", dtype="bf16/fp8", heads=32, mode="off"), 32, 2, PERSISTENT),
        (Case(arch="gfx942", dtype="bf16/bf16", heads=16, persistent=False), 16, 1, SPLIT),
        (Case(arch="gfx950", dtype="bf16/bf16", heads=128, persistent=False), 128, 1, SPLIT),
    ],
    ids=str,
)
def test_decodes(
    wheel: Wheel, case: Case, launched: int, fold: int, calls: tuple[str, ...]
) -> None:
    found = run(wheel(case.arch), case)
    assert found.plan.padded_num_heads == launched
    assert found.plan.decisions[0].fold == fold
    assert found.calls == calls
    assert found.right, found
    assert found.kernels == found.predicted


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        # The reducer alone writes one, and only for requests that were split.
        (Case(arch="gfx942", dtype="bf16/bf16", heads=16, lse=True), "have no log-sum-exp"),
        (
            Case(arch="gfx950", dtype="fp8/fp8", heads=32, qlen=2, mode="off"),
            "nhead=32 and max_seqlen_q=2",
        ),
        (
            Case(arch="gfx942", dtype="bf16/bf16", heads=48, persistent=False, mode="off"),
            "nhead=48",
        ),
        (
            Case(arch="gfx942", dtype="bf16/bf16", heads=16, page_size=48, persistent=False),
            "48 is no power of 2",
        ),
    ],
    ids=str,
)
def test_refuses_what_would_not_run(wheel: Wheel, case: Case, reason: str) -> None:
    simulation = wheel(case.arch)
    with pytest.raises(RefusedError, match=reason):
        run(simulation, case)
    assert not simulation.natives.calls


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize("dtype", ["bf16/bf16", "fp8/fp8"])
@pytest.mark.parametrize("persistent", [True, False])
def test_what_the_source_says_is_what_happens(
    wheel: Wheel, arch: str, dtype: str, persistent: bool
) -> None:
    """Nothing refused and nothing padded: AITER's own code fails where its verdict is a failure,
    and gives the right result where it runs."""
    simulation = wheel(arch)
    seen = set()
    for heads in (16, 32, 48, 128):
        for qlen in (1, 2):
            case = Case(
                arch=arch, dtype=dtype, heads=heads, qlen=qlen, persistent=persistent, mode="off"
            )
            verdict = plan_for(simulation.capability, case).verdict
            try:
                right = run(simulation, case, force=True).right
            except MlaprobeError:
                right = False
            # What an erratum knows is not in the source.
            assert right is (verdict.runs or verdict is Verdict.ERRATUM), case
            seen.add(right)
    assert seen == {True, False}
