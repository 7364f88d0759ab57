"""A layout that changes in place, as in a server: the same tensors, other requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mlaprobe.core.shape import Dtype
from mlaprobe.decode.backends.aiter import AiterBackend
from mlaprobe.decode.driver import Driver
from mlaprobe.decode.layout import kv_layout
from mlaprobe.decode.problem import Problem, make_inputs
from mlaprobe.decode.reference import reference
from tests.simulator.cases import Case, plan_for
from tests.simulator.package import Simulation

LENGTHS, LATER = (300, 9, 77), (5, 250, 131)


@pytest.mark.parametrize("refreshed", [True, False])
def test_new_lengths_want_new_metadata(
    wheel: Callable[[str], Simulation], torch: Any, refreshed: bool
) -> None:
    simulation = wheel("gfx942")
    case = Case(arch="gfx942", dtype="bf16/bf16", heads=12)
    problem = Problem(
        arch="gfx942",
        num_heads=12,
        q_dtype=Dtype.BF16,
        kv_dtype=Dtype.BF16,
        kv_lens=LENGTHS,
    )
    inputs = make_inputs(problem)
    layout = inputs.layout
    backend = AiterBackend(functions=simulation, capability=simulation.capability, arch="gfx942")
    driver = Driver(plan_for(simulation.capability, case), layout, backend=backend)
    driver(inputs.q, inputs.kv)
    starts = torch.tensor([0, *LATER]).cumsum(0)
    layout.kv_indptr.copy_(starts)
    if refreshed:
        driver.refresh()
    o, _ = driver(inputs.q, inputs.kv)
    now = kv_layout(
        qo_indptr=layout.qo_indptr,
        kv_indptr=layout.kv_indptr,
        kv_page_indices=layout.kv_page_indices,
        kv_last_page_lens=layout.kv_last_page_lens,
        page_size=1,
        num_pages=layout.num_pages,
    )
    assert now.kv_lens == LATER
    want, _ = reference(inputs.q, inputs.kv, now, sm_scale=problem.sm_scale)
    error = float((o.float() - want).abs().nan_to_num(nan=9.0).max())
    assert (error < 1e-2) is refreshed
