"""Python functions of several statements against Python itself."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import pytest

from mlaprobe.reading.values import Unknown
from mlaprobe.stages.pybuiltins import python_externals
from tests.reading.world import World

CODE = dedent(
    """
    def by_kind(n):
        try:
            if n > 2:
                raise ValueError("large")
            if n == 2:
                raise NotImplementedError("two")
            return {0: "zero"}[n]
        except (ZeroDivisionError, KeyError):
            return "missing"
        except (TypeError, ValueError):
            return "value"
        except RuntimeError:
            return "runtime"

    def by_parent(n):
        try:
            return [7, 8][n] if n < 9 else 1 // 0
        except LookupError:
            return "lookup"
        except ArithmeticError:
            return "arithmetic"

    def uncaught(n):
        try:
            assert n < 2
        except KeyError:
            return "never"
        return n

    def at_last(n):
        seen = []
        try:
            seen.append(1)
            if n == 1:
                raise KeyError(n)
        except KeyError as error:
            seen.append(2)
            if n:
                return tuple(seen)
        else:
            seen.append(3)
        finally:
            seen.append(4)
        return tuple(seen)

    def written(n):
        x = [1, 2, 3]
        x[n % 3] = 9
        x[-1] = x[0] + 1
        y = {"a": n}
        y["b"] = y["a"] * 2
        y["a"] = 0
        return (*x, *y.values())

    def unpacked(n):
        total = 0
        for at, (left, *rest) in enumerate([(1, 2, 3), (n, 5), (7,)]):
            total = total * 10 + at * left + sum(rest)
        first, *_, last = range(n % 4 + 2)
        return total, first, last

    def found(n):
        table = {1: None, 2: 0, n: n}
        return 1 in table, table.get(n), table.get(99, n), n in (1, 2) or n not in [3]
    """
)
NAMES = [line.split()[1].partition("(")[0] for line in CODE.splitlines() if line[:3] == "def"]


def in_python(name: str, n: int) -> tuple[str, object]:
    """What Python does."""
    scope: dict[str, Any] = {}
    exec(CODE, scope)
    try:
        return "returned", scope[name](n)
    except Exception as error:
        return "failed", type(error).__name__


@pytest.mark.parametrize("name", NAMES)
def test_a_function_does_what_it_does_in_python(name: str) -> None:
    for n in range(-2, 12):
        (outcome,) = World(CODE, externals=python_externals()).paths(name, n)
        how = outcome.failure.how if outcome.failure is not None else None
        told = outcome.value if outcome.kind == "returned" else how
        assert (outcome.kind, told) == in_python(name, n), n


LOST = {
    "loop": "for a, b in xs:\n        pass\n    return a",
    "index": "x = [1, 2]\n    x[xs] = 3\n    return x[0]",
    "key": "x = {1: 2}\n    x[xs] = 3\n    return x[1]",
}


@pytest.mark.parametrize("name", sorted(LOST))
def test_what_an_unknown_may_have_written_is_unknown(name: str) -> None:
    world = World(f"def f(xs):\n    a = 1\n    {LOST[name]}\n", externals=python_externals())
    outcomes = world.paths("f", Unknown("an input", key=("xs",), free="data"))
    values = [o.value for o in outcomes if o.kind == "returned"]
    known = {v for v in values if not isinstance(v, Unknown)}
    assert len(known) != 1 or any(isinstance(v, Unknown) for v in values)
