"""Python's built-in functions against Python itself, and what they make of what is not known."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import pytest

from mlaprobe.evaluator.engine.machine import Machine
from mlaprobe.evaluator.engine.runs import Run
from mlaprobe.evaluator.ir import NOWHERE
from mlaprobe.evaluator.values.truth import truth
from mlaprobe.evaluator.values.unknown import Unknown
from mlaprobe.stages.environment.dtypes import DtypeToken
from mlaprobe.stages.environment.libraries import Library
from mlaprobe.stages.environment.outside import Foreign
from mlaprobe.stages.environment.pybuiltins import python_externals
from mlaprobe.stages.environment.tensors import Tensor
from tests.evaluator.session import SourceSession, in_python

CODE = dedent(
    """
    def lengths(n):
        return len([1] * n), len("abc"), len({}), len(range(n)), len((n,))

    def ranges(n):
        return tuple(range(n)), tuple(range(1, n, 2)), tuple(range(n, 0, -1)), tuple(range(True))

    def whole(n):
        return int(), int(n), int(2.9), int(-2.9), int("12"), int("ff", 16), int(True)

    def not_whole(n):
        return int("x" * n)

    def truths(n):
        return bool(), bool(n), bool(""), bool([0]), bool(None)

    def texts(n):
        return str(), str(n), str(None), str(1.5), str("x"), repr(n), repr("x"), repr(None)

    def extremes(n):
        near = lambda v: abs(v - n)
        return (min(3, n), max(3, n), min([5, 2, n]), max(1, 5, n, key=near),
                min((1, 5, 9), key=near), max([n, 4.5]))

    def quantified(n):
        return (all([]), any([]), all([n, 1]), any([0, n]), all(v < 4 for v in range(n)),
                any(v == 4 for v in range(n)))

    def gathered(n):
        return (tuple("ab"), list((1, n)), tuple(), list(), set((1, 1, 2)) == {1, 2},
                n in frozenset([n, 0]), tuple(sorted(set([n, 0, n]))))

    def summed(n):
        return sum([]), sum((1, n)), sum(range(n), 5), sum([1.5, n])

    def numbered(n):
        return (tuple(enumerate("ab")), tuple(enumerate([n], 3)), tuple(enumerate("a", start=n)),
                tuple(zip("ab", range(n))), tuple(zip()))

    def ordered(n):
        return (sorted([3, n, 1]), sorted("ba", reverse=True), sorted(["bb", "a"], key=len),
                sorted([(1, "x"), (0, "y")]), sorted((n, -n), key=abs, reverse=True))

    def kinds(n):
        return (isinstance(n, int), isinstance(n, str), isinstance("x", (int, str)),
                isinstance(True, int), isinstance(1.5, float), isinstance([], (tuple, list)),
                isinstance({}, dict), isinstance((), list), isinstance(None, str))

    def rounded(n):
        return (abs(-n), round(n / 4), round(2.567, 2), float(n), divmod(n, 3), pow_of(n), hex(n),
                bin(n), oct(n), ord("A"), chr(65 + n))

    def pow_of(n):
        return n ** 2
    """
)
NAMES = [line.split()[1].partition("(")[0] for line in CODE.splitlines() if line[:3] == "def"]


def plain(value: Any) -> Any:
    """A result to compare; a list of the evaluator's may be a tuple of Python's."""
    return tuple(map(plain, value)) if isinstance(value, (list, tuple)) else value


@pytest.mark.parametrize("name", NAMES)
def test_a_built_in_function_does_what_it_does_in_python(name: str) -> None:
    for n in range(6):
        (outcome,) = SourceSession(CODE, externals=python_externals()).paths(name, n)
        kind, expected = in_python(CODE, name, n)
        assert outcome.kind == kind
        if outcome.failure is not None:
            assert outcome.failure.how == expected
        else:
            assert plain(outcome.value) == plain(expected)


OPEN = dedent(
    """
    def range_of(x): return range(x)
    def range_of_floats(x): return range(2.5)
    def endless(x): return range(1, 5, 0)
    def length(x): return len(x)
    def length_of_a_number(x): return len(4)
    def whole(x): return int(x)
    def whole_list(x): return int([1])
    def text(x): return str([x])
    def text_of_a_list(x): return repr([1])
    def least(x): return min(3, x)
    def least_of_unknown(x): return min(x)
    def every(x): return all([1, x])
    def some(x): return any([0, x])
    def some_of(x): return any(x)
    def listed(x): return list(x)
    def total(x): return sum(x)
    def total_with(x): return sum([1, x])
    def numbered(x): return enumerate(x)
    def paired(x): return zip((1, 2), x)
    def ordered(x): return sorted(x)
    def ordered_by(x): return sorted([2, 1], key=lambda v: x)
    def ordered_either_way(x): return sorted([2, 1], reverse=x)
    def ordered_mix(x): return sorted([2, "a"])
    def kind(x): return isinstance(x, int)
    def kind_of(x): return isinstance(1, x)
    def kind_alone(x): return isinstance(1)
    def named(x): return getattr(4, x)
    def has(x): return hasattr(x, "y")
    def rounded(x): return abs(x)
    def of_a_list(x): return abs([1])
    def based(x): return hex(x)
    def not_based(x): return hex(1.5)
    """
)


@pytest.mark.parametrize(
    "name", [line.split()[1].partition("(")[0] for line in OPEN.splitlines() if line]
)
def test_what_is_not_known_is_not_settled(name: str) -> None:
    """Nor does it fail: an open input is of the kind that the code takes it for."""
    session = SourceSession(OPEN, externals=python_externals())
    outcomes = session.paths(name, Unknown("an input", key=("x",), free="x"))
    assert [o.kind for o in outcomes] == ["returned"]
    assert isinstance(outcomes[0].value, Unknown)


@pytest.mark.parametrize("code", ["len()", "min([])", "len(4 for _ in x)"])
def test_what_fails_whatever_an_input_is(code: str) -> None:
    session = SourceSession(f"def f(x): return {code}", externals=python_externals())
    (outcome,) = session.paths("f", [1])
    assert outcome.failure is not None
    assert in_python(f"def f(x): return {code}", "f", [1]) == ("failed", outcome.failure.how)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        # whatever x is, as Python would have it too
        ("all([0, x])", False),
        ("any([1, x])", True),
        ("len([x, x])", 2),
        ("isinstance(None, (str, int))", False),
        ("sorted([2, 1], key=lambda v: v + 0 * 1)", [1, 2]),
        ("min(3, 4) if x is not None else 3", 3),
    ],
)
def test_what_any_value_leads_to_is_settled(code: str, expected: Any) -> None:
    session = SourceSession(f"def f(x): return {code}", externals=python_externals())
    values = {str(o.value) for o in session.paths("f", Unknown("an input", key=("x",), free="x"))}
    assert values == {str(expected)}


TORCH = dedent(
    """
    import torch
    import triton
    def sized(n, x): return torch.empty(n, 4).shape
    def shaped(n, x): return torch.zeros((n, 4)).shape
    def filled(n, x): return torch.full(n, 7).shape
    def by_name(n, x): return torch.ones(size=(n,)).shape
    def alike(n, x): return torch.empty_like(torch.empty((n, 2))).shape
    def unknown_size(n, x): return torch.empty(x, 2).shape[1]
    def long(n, x): return torch.arange(4).dim()
    def power(n): return triton.next_power_of_2(n)
    def quotient(n, by): return triton.cdiv(n, by)
    def divided(n, x): return triton.cdiv(n, 4), triton.next_power_of_2(n)
    """
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sized", (5, 4)),
        ("shaped", (5, 4)),
        ("filled", (5,)),
        ("by_name", (5,)),
        ("alike", (5, 2)),
        ("unknown_size", 2),
        ("long", 1),
        ("divided", (2, 8)),
    ],
)
def test_new_tensors_have_the_shapes_that_torch_gives(name: str, expected: Any) -> None:
    session = SourceSession(TORCH, externals=python_externals())
    (outcome,) = session.paths(name, 5, Unknown("an input", key=("x",), free="x"))
    assert outcome.kind == "returned"
    assert outcome.value == expected


@pytest.mark.parametrize("number", [*range(-5, 70), 2**31, 2**31 + 1, 2**62 + 1])
def test_powers_of_two_are_what_triton_computes(number: int) -> None:
    """It fills the bits below the highest of ``n - 1``; of 0 and less that makes 0."""
    expected = 0 if number <= 0 else next(p for p in map((2).__pow__, range(64)) if p >= number)
    session = SourceSession(TORCH, externals=python_externals())
    (outcome,) = session.paths("power", number)
    assert outcome.value == expected


@pytest.mark.parametrize(("n", "by"), [(0, 4), (7, 4), (-7, 4), (3, -2), (8, -3)])
def test_quotients_are_what_triton_computes(n: int, by: int) -> None:
    session = SourceSession(TORCH, externals=python_externals())
    (outcome,) = session.paths("quotient", n, by)
    assert outcome.value == (n + by - 1) // by


def test_a_quotient_by_nothing_fails() -> None:
    session = SourceSession(TORCH, externals=python_externals())
    (outcome,) = session.paths("quotient", 8, 0)
    assert outcome.failure is not None
    assert outcome.failure.how == "ZeroDivisionError"


MODULES = {
    "pkg/other.py": "depth = 4\n",
    "pkg/m.py": """
        from . import other
        def there(n): return getattr(other, "depth"), getattr(other, "depth", n)
        def missing(n): return getattr(other, "width", n), hasattr(other, "width")
        def present(n): return hasattr(other, "depth")
        def required(n): return getattr(other, "width")
    """,
}


@pytest.mark.parametrize(
    ("name", "expected"), [("there", (4, 4)), ("missing", (7, False)), ("present", True)]
)
def test_attributes_that_are_there_or_not(name: str, expected: Any) -> None:
    (outcome,) = SourceSession(MODULES, externals=python_externals()).paths(name, 7)
    assert outcome.value == expected


def test_an_attribute_that_has_to_be_there() -> None:
    (outcome,) = SourceSession(MODULES, externals=python_externals()).paths("required", 7)
    assert outcome.failure is not None
    assert outcome.failure.how == "AttributeError"


def call(name: str, *args: Any, **kwargs: Any) -> Any:
    """A call of something outside the source."""
    run = Run(Machine())
    return python_externals()[name].call(run, args, kwargs, NOWHERE)


def test_new_tensors_of_what_is_not_known() -> None:
    assert isinstance(call("torch.empty", "3"), Unknown)
    assert isinstance(call("torch.empty", (3,), dtype="bf16"), Unknown)
    made = call("torch.arange", 4, dtype=DtypeToken("i32"))
    assert (made.dtype.kind, made.shape) == ("i32", (4,))
    assert call("torch.arange", 3, 13, 4).shape == (3,)  # 3, 7, 11
    assert call("torch.arange", 1, end=5).shape == (4,)
    for args, named in (((Unknown("n"),), {}), ((1,), {"start": 0}), ((0, 4, 0), {})):
        assert isinstance(call("torch.arange", *args, **named).shape[0], Unknown)
    like = call("torch.zeros_like", Tensor("t", (2, 3), DtypeToken("bf16")))
    assert (like.shape, like.dtype.kind) == ((2, 3), "bf16")
    assert call("builtins.len", Tensor("t", (2, 3), DtypeToken("bf16"))) == 2


def test_libraries_are_taken_to_return_something() -> None:
    """Also what is reached through them; only functions of tensors give what is no ``None``."""
    library = Library("torch.nn")
    functional = library.get("functional", NOWHERE).get("pad", NOWHERE)
    assert functional.name == "torch.nn.functional.pad"
    assert functional.call(None, (), {}, NOWHERE).present
    other = library.index(0, NOWHERE).call(None, (), {}, NOWHERE)
    assert other.free == "data"
    assert not other.present


def test_what_is_not_followed_is_no_certain_condition() -> None:
    """A name of a library may be a constant, and what is in a tensor is known at run time."""
    version = Library("torch").get("version", NOWHERE)
    assert truth(version.get("hip", NOWHERE)) is True
    assert version.get("cuda", NOWHERE) is None
    for value in (
        version.get("xpu", NOWHERE),
        Library("torch.cuda").get("has_magma", NOWHERE),
        Tensor("t", (1,), DtypeToken("i32")),
        Foreign("hipSomething", succeeds=True),
    ):
        assert isinstance(truth(value), Unknown), value
