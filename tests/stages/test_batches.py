"""What is said of a gate on the batch size: the sizes for which the other path is taken."""

from __future__ import annotations

import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlaprobe.core.shape import Route
from mlaprobe.evaluator import ir
from mlaprobe.evaluator.values.operators import binary
from mlaprobe.evaluator.values.unknown import Unknown
from mlaprobe.stages.batches import BATCH, Requests, batch_condition, batch_of, plus_one
from tests.stages.ask import BF16, opened, shape
from tests.trees import today
from tests.trees.common import changed

GATE = "bs < _max_batch()"
CASES: dict[str, tuple[str, Callable[[int], bool]]] = {
    # the gate: what is said of the path without metadata, and whether a batch takes it
    "bs < 32": ("from batch 32 on", lambda n: n >= 32),
    "bs <= 32": ("from batch 33 on", lambda n: n >= 33),
    "not bs >= 32": ("from batch 32 on", lambda n: n >= 32),
    "not bs < 32": ("below batch 32", lambda n: n < 32),
    "bs >= 8": ("below batch 8", lambda n: n < 8),
    "bs > 8": ("below batch 9", lambda n: n < 9),
    "8 < bs": ("below batch 9", lambda n: n < 9),
    "8 >= bs": ("from batch 9 on", lambda n: n > 8),
    "bs * 2 < 32": ("for some batch sizes", lambda n: n >= 16),
    "bs % 4 == 0": ("for some batch sizes", lambda n: n % 4 != 0),
    "bs - 1 < 3 or bs > 9": ("for some batch sizes", lambda n: 4 <= n <= 9),
    "bs < 4 or bs > 9": ("for some batch sizes", lambda n: 4 <= n <= 9),
    "True if bs < 4 else bs > 9": ("from batch 4 on and below batch 10", lambda n: 4 <= n <= 9),
}


@pytest.mark.parametrize("gate", sorted(CASES))
def test_a_gate_is_told_as_it_works(tmp_path: Path, gate: str) -> None:
    said, leaves = CASES[gate]
    found = opened(tmp_path, changed(today.tree(), today.DISPATCHER, (GATE, gate)))
    unset = found.ask("dispatcher", shape("gfx950", BF16, 16))
    assert unset.status == "native"
    assert unset.notes == (f"{said}: non-persistent path",)
    for batch in (1, 3, 4, 7, 8, 9, 10, 15, 16, 31, 32, 33, 64):
        told = found.ask("dispatcher", shape("gfx950", BF16, 16, batch=batch))
        assert told.persistent is not leaves(batch), batch
        assert told.notes == ()


NEEDS = 'assert heads <= 16, f"mla_gluon takes up to 16 heads, got {heads}"'
GLUON = {
    "q_nope.shape[0] < 32": ("from batch 32 on it fails: too many",),
    "q_nope.shape[0] >= 4": ("below batch 4 it fails: too many",),
    "q_nope.shape[0] % 64 == 0": ("for some batch sizes it fails: too many",),
    "min_kv_seq_len > 32": ("for short KV lengths it fails: too many",),
    "q_nope.shape[0] < 32 or min_kv_seq_len > 32": ("for some batch sizes it fails: too many",),
    "heads < 99": (),
}


@pytest.mark.parametrize("gate", sorted(GLUON))
def test_a_gate_of_the_gluon_route_is_a_note(tmp_path: Path, gate: str) -> None:
    edit = (NEEDS, f"{NEEDS}\n    assert {gate}, 'too many'")
    found = opened(tmp_path, changed(today.tree(), today.GLUON, edit))
    outcome = found.ask("gluon", shape("gfx950", BF16, 16, route=Route.GLUON))
    assert outcome.status == "accepted"
    assert set(outcome.notes) == set(GLUON[gate])


def test_a_gate_is_applied_where_the_batch_is_given(tmp_path: Path) -> None:
    edit = (NEEDS, f"{NEEDS}\n    assert q_nope.shape[0] % 64 == 0, 'no whole tile'")
    found = opened(tmp_path, changed(today.tree(), today.GLUON, edit))
    for batch, status in ((64, "accepted"), (65, "rejected"), (128, "accepted")):
        question = shape("gfx950", BF16, 16, route=Route.GLUON, batch=batch)
        outcome = found.ask("gluon", question)
        assert (outcome.status, outcome.notes) == (status, ())
    assert outcome.evidence[0].file == today.GLUON


BESIDE = '"fp8" in str(torch.finfo(q.dtype))'
"""Something that is not followed."""


@pytest.mark.parametrize("clause", [f"{BESIDE} and nhead == 16", f"nhead == 16 and {BESIDE}"])
def test_what_is_not_known_beside_a_gate_is_no_note(tmp_path: Path, clause: str) -> None:
    """Below the gate it is open whether 16 heads are refused: no batch certainly runs."""
    every = "q.dtype == dtypes.bf16 and kv_buffer.dtype == dtypes.bf16)"
    edits = ("        nhead == 16\n", f"        ({clause})\n"), (every, "nhead == 64)")
    found = opened(tmp_path, changed(today.tree(), today.DISPATCHER, *edits))
    assert found.ask("dispatcher", shape("gfx950", BF16, 16)).status == "unknown"
    assert found.ask("dispatcher", shape("gfx950", BF16, 64)).status == "native"


def test_what_a_device_decides_beside_a_gate_is_no_note(tmp_path: Path) -> None:
    """Each batch size fails on some device."""
    checks = (
        "\n    if get_cu_num() > 8:\n        assert q_nope.shape[0] < 32, 'many'"
        "\n    else:\n        assert not q_nope.shape[0] < 32, 'few'"
    )
    imports = "chip_info import get_gfx"
    edits = (NEEDS, NEEDS + checks), (imports, "chip_info import get_cu_num, get_gfx")
    found = opened(tmp_path, changed(today.tree(), today.GLUON, *edits))
    outcome = found.ask("gluon", shape("gfx950", BF16, 16, route=Route.GLUON))
    assert outcome.status == "unknown"


def test_a_batch_that_nothing_decided_on() -> None:
    assert batch_condition([]) == "for some batch sizes"
    other = Unknown("metadata", key=("<", ("batch",), ("int", 4)), free="data")
    assert batch_condition([(other, 0)]) == "for some batch sizes"


def test_one_request_more_or_less() -> None:
    """The length of an index pointer; what else is computed of it is no batch size."""
    batch: Any = batch_of(None)
    longer = plus_one(batch)
    assert (plus_one(4), batch_of(4)) == (5, 4)
    assert longer.derive("-", longer, 1).key == batch.key == BATCH
    for other in (longer.derive("-", longer, 2), longer.derive("-", 1, longer)):
        assert other.key != batch.key
        assert other.free == "batch"


NUMBERS = st.integers(-6, 6)


@given(st.lists(st.tuples(st.sampled_from(["+", "-", "*", "//"]), NUMBERS, st.booleans())))
def test_numbers_of_requests_are_what_they_are_for_every_batch(
    steps: list[tuple[str, int, bool]],
) -> None:
    """Whatever the batch size, the parts of a number of requests give what Python computes."""
    value: Any = batch_of(None)
    by_batch = {batch: batch for batch in (1, 2, 7, 30)}
    for op, number, swap in steps:
        if op == "//" and (swap or number == 0):
            continue
        first, second = (number, value) if swap else (value, number)
        value = binary(op, first, second, ir.NOWHERE)
        for batch, was in by_batch.items():
            left, right = (number, was) if swap else (was, number)
            by_batch[batch] = COMPUTE[op](left, right)
    if isinstance(value, Requests):
        assert {b: value.times * b + value.plus for b in by_batch} == by_batch
        assert value.free == "batch"
    elif type(value) is int:
        assert set(by_batch.values()) == {value}


COMPUTE = {"+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv}


def test_equal_numbers_of_requests_are_one_unknown() -> None:
    """A path that branches on one of them knows of the other."""
    batch = batch_of(None)
    twice = binary("*", batch, 2, ir.NOWHERE)
    assert binary("+", batch, batch, ir.NOWHERE).key == twice.key
    assert binary("//", twice, 2, ir.NOWHERE).key == BATCH
    assert binary("-", twice, twice, ir.NOWHERE) == 0
    assert not isinstance(binary("//", batch, 2, ir.NOWHERE), Requests)
    assert not isinstance(binary("*", batch, batch, ir.NOWHERE), Requests)


CONTRADICTIONS: dict[str, Callable[[int], bool]] = {
    # a gate under which 16 heads are taken, and the batch sizes that it holds for
    "bs < 32 and bs > 31": lambda n: False,
    "bs < 32 and bs >= 32": lambda n: False,
    "bs < 1": lambda n: False,
    "bs * 4 < 16 and bs > 3": lambda n: False,
    "bs * 4 < 17 and bs > 3": lambda n: n == 4,
    "bs == 8 and bs % 4 == 1": lambda n: False,
    "bs == 8 and bs % 4 == 0": lambda n: n == 8,
    "bs - 1000 > 3 and bs < 1005": lambda n: n == 1004,
    "bs + 2 == 1000 and bs * 3 == 2994": lambda n: n == 998,
    "(bs < 4 or bs > 9) and bs == 5": lambda n: False,
    "bs // 3 == 1 and bs < 4": lambda n: n == 3,
    "bs // 16 > 20 and bs % 5 == 0": lambda n: n > 335 and n % 5 == 0,
}


@pytest.mark.parametrize("gate", sorted(CONTRADICTIONS))
@pytest.mark.parametrize("form", ["{0}", "nested"])
def test_a_gate_that_no_batch_meets_takes_nothing(tmp_path: Path, gate: str, form: str) -> None:
    """What is claimed for some batch sizes holds for one."""
    clauses = [f"assert {gate}"] if form != "nested" else _nested(gate)
    body = "".join(f"\n    {line}" for line in clauses)
    edits = (NEEDS, NEEDS + body.replace("bs", "q_nope.shape[0]"))
    found = opened(tmp_path, changed(today.tree(), today.GLUON, edits))
    met = [n for n in range(1, 1100) if CONTRADICTIONS[gate](n)]
    outcome = found.ask("gluon", shape("gfx950", BF16, 16, route=Route.GLUON))
    if met:
        assert outcome.status in ("accepted", "unknown")
    else:
        assert outcome.status in ("rejected", "unknown")
    exact = "%" not in gate and "//" not in gate
    assert outcome.status != "unknown" or not exact


def _nested(gate: str) -> list[str]:
    """Each clause asked by itself."""
    first, _, second = gate.rpartition(" and ")
    return [f"if {first or True}:", f"    assert {second}", "else:", "    raise ValueError('no')"]


def test_paths_of_the_dispatcher_that_no_batch_takes(tmp_path: Path) -> None:
    """Below 32 requests one thing is decided, from 32 on the other: both at once for none."""
    gates = {"bs < 32 and bs > 40": "rejected", "bs < 32 and bs > 30": "native"}
    for gate, status in gates.items():
        first, second = gate.split(" and ")
        check = f"    assert {first}\n    assert {second}\n"
        head = "    persistent = work_meta_data is not None\n"
        edited = changed(today.tree(), today.DISPATCHER, (head, f"{check}{head}"))
        outcome = opened(tmp_path / first, edited).ask("dispatcher", shape("gfx950", BF16, 16))
        assert outcome.status == status, gate
