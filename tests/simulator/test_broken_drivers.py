"""Drivers that are wrong in ways that corrupt results: the simulator must not let one pass."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

from mlaprobe.errors import MlaprobeError
from tests.simulator.cases import Case, run
from tests.simulator.conftest import Simulate
from tests.simulator.package import Simulation

Wheel = Callable[[str], Simulation]
Change = Callable[[dict[str, Any]], dict[str, Any]]


class Broken:
    """AITER's functions as a broken driver calls them."""

    def __init__(self, simulation: Simulation, name: str, change: Change) -> None:
        self._simulation = simulation
        self._name = name
        self._change = change

    def find(self, name: str) -> Callable[..., Any] | None:
        found = self._simulation.find(name)
        if name != self._name or found is None:
            return found
        return self._changed(found)

    def _changed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(**given: Any) -> Any:
            return function(**self._change(given))

        return call


class Positional(Broken):
    """Calls a function by position, in the order of another release."""

    def _changed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(**given: Any) -> Any:
            given = self._change(given)
            required = [name for name in given if name not in _OPTIONAL]
            rest = {name: given[name] for name in given if name in _OPTIONAL}
            return function(*(given[name] for name in required), **rest)

        return call


_OPTIONAL = frozenset(
    (
        *("page_size", "kv_granularity", "max_seqlen_qo", "uni_seqlen_qo", "fast_mode"),
        *("intra_batch_mode", "is_cp_round_robin", "dtype_q", "dtype_kv", "dtype_q_nope"),
        *("dtype_kv_nope", "dtype_q_rope", "dtype_kv_rope"),
    )
)


def _fails(simulation: Simulation, case: Case, functions: Broken) -> str:
    """How a broken driver is found out; first, that the right one passes."""
    assert run(simulation, case).right
    try:
        found = run(simulation, case, functions=functions)
    except MlaprobeError as error:
        return error.message
    assert not found.right, "the broken driver passed"
    return "wrong"


def _without_dtypes(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if "dtype" not in name}


def _swapped(given: dict[str, Any]) -> dict[str, Any]:
    """Work indptr and work infos in each other's place: their order changed between releases."""
    names = list(given)
    first, second = (
        names.index("work_indptr"),
        names.index("work_info_set" if "work_info_set" in given else "work_info"),
    )
    names[first], names[second] = names[second], names[first]
    return {name: given[name] for name in names}


def test_the_unpadded_count_for_the_planner(wheel: Wheel) -> None:
    simulation = wheel("gfx950")
    case = Case(arch="gfx950", dtype="fp8/fp8", heads=96)
    told = Broken(simulation, "planner", lambda given: {**given, "num_heads_per_head_k": 96})
    assert _fails(simulation, case, told)


def test_the_unpadded_count_for_sizing(wheel: Wheel) -> None:
    simulation = wheel("gfx942")
    case = Case(arch="gfx942", dtype="bf16/bf16", heads=12)
    told = Broken(simulation, "sizing", lambda given: {**given, "num_head_qo": 12})
    assert "AssertionError" in _fails(simulation, case, told)


def test_a_call_by_position(wheel: Wheel) -> None:
    simulation = wheel("gfx942")
    case = Case(arch="gfx942", dtype="bf16/bf16", heads=16)
    assert "broken" in _fails(simulation, case, Positional(simulation, "planner", _swapped))


def test_the_wrong_query_length(wheel: Wheel) -> None:
    simulation = wheel("gfx942")
    case = Case(arch="gfx942", dtype="bf16/bf16", heads=16, qlen=2)
    told = Broken(simulation, "planner", lambda given: {**given, "max_seqlen_qo": 1})
    assert "max_seqlen_qo" in _fails(simulation, case, told)


def test_no_scales(wheel: Wheel) -> None:
    simulation = wheel("gfx942")
    case = Case(arch="gfx942", dtype="fp8/fp8", heads=16)
    told = Broken(simulation, "dispatcher", lambda given: {**given, "q_scale": None})
    assert "q_scale: fp8 needs one" in _fails(simulation, case, told)


def test_the_softmax_scale_left_out(wheel: Wheel) -> None:
    simulation = wheel("gfx942")
    case = Case(arch="gfx942", dtype="bf16/bf16", heads=16)
    told = Broken(simulation, "dispatcher", lambda given: {**given, "sm_scale": 0.1})
    assert _fails(simulation, case, told) == "wrong"


@pytest.mark.parametrize(("tag", "heads"), [("v0.1.16.post2", 32), ("v0.1.20", 48)])
def test_the_dtypes_left_out(release: Simulate, tag: str, heads: int) -> None:
    """The first is what took a served model's accuracy from 0.93 to about 0: the planner takes
    bf16, and plans for 32 heads what the launch folds to 16."""
    simulation = release(tag, "gfx950")
    case = Case(arch="gfx950", dtype="fp8/fp8", heads=heads, mode="off")
    told = Broken(simulation, "planner", _without_dtypes)
    assert _fails(simulation, case, told) == "wrong"


@pytest.mark.parametrize("tag", ["v0.1.12", "v0.1.20"])
def test_a_call_by_position_today(release: Simulate, tag: str) -> None:
    simulation = release(tag, "gfx950")
    case = Case(arch="gfx950", dtype="fp8/fp8", heads=16)
    assert "broken" in _fails(simulation, case, Positional(simulation, "planner", _swapped))


def test_the_unpadded_count_for_the_planner_today(release: Simulate) -> None:
    simulation = release("v0.1.20", "gfx950")
    case = Case(arch="gfx950", dtype="fp8/fp8", heads=48)
    told = Broken(simulation, "planner", lambda given: {**given, "num_heads_per_head_k": 48})
    assert "work_info has room for" in _fails(simulation, case, told)


def test_padded_rows_of_the_wrong_side(release: Simulate) -> None:
    """The causal windows end with the last row: what is handed over as causal must be."""
    simulation = release("v0.1.20", "gfx950")
    case = Case(arch="gfx950", dtype="fp8/fp8", heads=16, qlen=2)
    told = Broken(simulation, "dispatcher", lambda given: {**given, "causal": False})
    assert _fails(simulation, case, told)
