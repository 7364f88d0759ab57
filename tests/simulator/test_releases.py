"""The driver against releases of AITER, in a few shapes each; all of them where
MLAPROBE_SIMULATE_ALL is set (some twenty minutes)."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator

import pytest

from mlaprobe.decode.backends.aiter_gate import RefusedError
from mlaprobe.errors import MlaprobeError
from tests.simulator.cases import Case, Outcome, plan_for, run
from tests.simulator.conftest import Simulate
from tests.simulator.package import Simulation

TAGS = ("v0.1.12", "v0.1.16.post2", "v0.1.19.post2", "v0.1.20")
ARCHS = ("gfx942", "gfx950")
DTYPES = ("bf16/bf16", "bf16/fp8", "fp8/fp8")
ALL_HEADS = (*range(1, 33), *range(40, 129, 8))
ALL = "MLAPROBE_SIMULATE_ALL"


def _sample(arch: str) -> Iterator[Case]:
    """Every kind of launch: native, padded, folded; with and without metadata."""
    for dtype, heads, qlen, lse in (
        ("bf16/bf16", 1, 1, False),
        ("bf16/bf16", 24, 1, True),
        ("bf16/bf16", 48, 4, False),
        ("bf16/fp8", 16, 3, False),
        ("fp8/fp8", 12, 2, False),
        ("fp8/fp8", 32, 1, True),
        ("fp8/fp8", 48, 1, False),
        ("fp8/fp8", 96, 4, False),
        ("fp8/fp8", 128, 2, True),
    ):
        yield Case(arch=arch, dtype=dtype, heads=heads, qlen=qlen, lse=lse)
    yield Case(arch=arch, dtype="bf16/bf16", heads=128, qlen=2, persistent=False)
    yield Case(arch=arch, dtype="fp8/fp8", heads=16, persistent=False)
    yield Case(arch=arch, dtype="fp8/fp8", heads=112, mode="off", qlen=3)
    yield Case(arch=arch, dtype="fp8/fp8", heads=16, page_size=64)


def _whole(arch: str) -> Iterator[Case]:
    for dtype, heads, qlen, lse, persistent in itertools.product(
        DTYPES, ALL_HEADS, range(1, 5), (False, True), (True, False)
    ):
        yield Case(arch=arch, dtype=dtype, heads=heads, qlen=qlen, lse=lse, persistent=persistent)


def _run(simulation: Simulation, case: Case) -> Outcome | RefusedError:
    try:
        return run(simulation, case)
    except RefusedError as refusal:
        return refusal


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("tag", TAGS)
def test_runs_and_is_right_or_is_refused(release: Simulate, tag: str, arch: str) -> None:
    simulation = release(tag, arch)
    cases = _whole(arch) if os.environ.get(ALL) else _sample(arch)
    ran = 0
    for case in cases:
        found = _run(simulation, case)
        if isinstance(found, RefusedError):
            # Only where the source says so, or says nothing of a log-sum-exp that is wanted.
            verdict = plan_for(simulation.capability, case).verdict
            assert not verdict.runs or (case.lse and found.decision is None), case
            continue
        assert found.right, (case, found)
        # Either names the same kernel: what was predicted is what the host would launch.
        assert set(found.kernels) == set(found.predicted), case
        ran += 1
    assert ran > 5


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("tag", TAGS)
def test_what_the_source_says_is_what_happens(release: Simulate, tag: str, arch: str) -> None:
    """Nothing refused and nothing padded beyond multiples of 16: AITER's own code fails where the
    verdict is a failure, and gives the right result where it is none."""
    simulation = release(tag, arch)
    everything = bool(os.environ.get(ALL))
    dtypes = DTYPES if everything else ("fp8/fp8",)
    heads = range(16, 129, 16) if everything else range(16, 65, 16)
    for dtype, count, qlen in itertools.product(dtypes, heads, (1, 4)):
        case = Case(arch=arch, dtype=dtype, heads=count, qlen=qlen, mode="off")
        # Of the source alone: what reports know beyond it, no simulation shows.
        shape = plan_for(simulation.capability, case).decisions[0].shape
        verdict = simulation.capability.judge(shape).verdict
        try:
            right = run(simulation, case, force=True).right
        except MlaprobeError:
            right = False
        assert right is verdict.runs, (case, verdict)
