"""Which calls share their runs."""

from __future__ import annotations

from collections.abc import Hashable

from mlaprobe.evaluator.engine.runs import Outcome
from mlaprobe.evaluator.symbolic.symbols import PathCondition, Sym
from mlaprobe.evaluator.values.unknown import Something, Unknown
from mlaprobe.stages.environment.dtypes import DtypeToken
from mlaprobe.stages.environment.tensors import Tensor
from mlaprobe.stages.instantiate import Deferred, PathSummary
from mlaprobe.stages.parameterize import Parameterized


def _unknown(reason: str = "a value", free: str | None = None) -> Unknown:
    return Unknown(reason, free=free)


def _tensor(*dims: object) -> Tensor:
    return Tensor("q", dims, DtypeToken("bf16"))


def test_what_is_deferred_is_for_the_inputs_of_the_question() -> None:
    heads = Sym(16, "heads", PathCondition())
    left = Deferred((heads, "a"))
    assert left.get() is left.value  # by whoever looks before there are inputs
    run = PathSummary((Outcome("returned"),), ("heads",), answer=left)
    for count in (32, 48):
        found = run.answer((count,))
        assert found.get() == (count, "a")
        assert found.derived("first", lambda value: value[0]) == count
        assert left.beside(found).get() == (count, "a")


def test_numbers_are_inputs() -> None:
    one, two = Parameterized((16, _tensor(2, 16), True)), Parameterized((32, _tensor(4, 32), True))
    assert one.key == two.key
    assert dict(zip(one.names, one.numbers, strict=True)) == {"n0": 16, "n1": 2, "n2": 16}
    assert Parameterized((16, _tensor(2, 16), False)).key != one.key


def test_unknowns_are_told_apart_by_where_they_are_the_same() -> None:
    same, other = _unknown(), _unknown()
    twice = Parameterized((same, _tensor(same, 16))).key
    assert twice == Parameterized((other, _tensor(other, 16))).key
    assert twice != Parameterized((same, _tensor(other, 16))).key
    assert Parameterized((same, other)).key == Parameterized((_unknown(), _unknown())).key


def test_what_is_computed_of_an_unknown_goes_with_it() -> None:
    same, other = _unknown(), _unknown()
    with_its_own = Parameterized((same, same.derive("+", same, 1))).key
    assert with_its_own == Parameterized((other, other.derive("+", other, 1))).key
    assert with_its_own != Parameterized((same, other.derive("+", other, 1))).key
    assert with_its_own != Parameterized((same, same.derive("+", same, 2))).key


def test_what_is_said_of_an_unknown_counts() -> None:
    keys = [
        Parameterized((value,)).key
        for value in (_unknown(), _unknown("another"), _unknown(free="batch"), Something("a value"))
    ]
    assert len(set(keys)) == len(keys)


def test_a_value_that_nothing_stands_for_is_like_itself_only() -> None:
    value = {"a": [1]}
    assert Parameterized((value,)).key == Parameterized((value,)).key
    assert Parameterized((value,)).key != Parameterized(({"a": [1]},)).key


def _decided(value: Unknown, number: int, side: int) -> dict[Hashable, int]:
    return {value.derive("==", value, number).key: side}


def test_what_is_known_of_an_argument_tells_calls_apart() -> None:
    same, other = _unknown(), _unknown()
    one, two = Parameterized((same,)), Parameterized((other,))
    sides = one.sides(_decided(same, 1, 0))
    assert sides.known == _decided(same, 1, 0)
    assert sides.key == two.sides(_decided(other, 1, 0)).key
    assert sides.key != two.sides(_decided(other, 1, 1)).key
    assert sides.key != two.sides(_decided(other, 2, 0)).key
    assert sides.key != two.sides({}).key


def test_what_is_known_of_other_values_is_left_out() -> None:
    same, other = _unknown(), _unknown()
    assert Parameterized((same,)).sides(_decided(other, 1, 0)).known == {}
    both = {same.derive("<", same, other).key: 0}
    assert Parameterized((same,)).sides(both).known == {}
    assert Parameterized((same, other)).sides(both).known == both


def test_the_same_arguments_may_be_unknown_for_other_reasons() -> None:
    one, two = (Parameterized((_unknown(why),), reasons=False) for why in ("a value", "another"))
    assert one.key == two.key
    assert one.key != Parameterized((_unknown(free="batch"),), reasons=False).key
