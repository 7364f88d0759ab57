"""Python functions of several statements against Python itself."""

from __future__ import annotations

from textwrap import dedent

import pytest

from mlaprobe.evaluator.values.unknown import Unknown
from mlaprobe.stages.environment.pybuiltins import python_externals
from tests.evaluator.session import SourceSession, in_python

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

    def texts(n):
        kind = "gfx950" if n > 3 else "gfx942"
        return kind[3:], "95" in kind, kind.startswith("gfx9"), kind[-1], kind.upper(), kind * 2

    def collected(n):
        pairs = {k: k * n for k in range(3) if k != n}
        values = [v for k, v in pairs.items() if v >= 0]
        one = {1, 2, n}
        return tuple(values), len(one), sorted(pairs), n in one | {5}, sum(pairs.values())

    def given(a, b=2, *rest, c=3, **more):
        return a, b, rest, c, sorted(more.items())

    def calls(n):
        if n == 1:
            return given()
        if n == 2:
            return given(1, a=2)
        if n == 3:
            return given(1, c=4, d=n, **{"e": 5})
        return given(*range(1, n), c=n)

    def mismatched(n):
        a, b = range(n)
        return a, b

    def sliced(n):
        x = list(range(8))
        return tuple(x[n:]), tuple(x[:n:2]), x[n], x[-1:0:-3]

    def mixed(n):
        last = None
        for i in range(10):
            if i % 2:
                continue
            if i > n:
                break
            last = i
        while n > 0:
            n -= 3
        return last, n, last is None, not last, -n, +n, ~n, n ** 2, divmod
    """
).replace(", divmod", "")
NAMES = [line.split()[1].partition("(")[0] for line in CODE.splitlines() if line[:3] == "def"]


@pytest.mark.parametrize("name", NAMES)
def test_a_function_does_what_it_does_in_python(name: str) -> None:
    for n in range(-2, 12):
        (outcome,) = SourceSession(CODE, externals=python_externals()).paths(name, n)
        how = outcome.failure.how if outcome.failure is not None else None
        told = outcome.value if outcome.kind == "returned" else how
        assert (outcome.kind, told) == in_python(CODE, name, n), n


LOST = {
    "loop": "for a, b in xs:\n        pass\n    return a",
    "index": "x = [1, 2]\n    x[xs] = 3\n    return x[0]",
    "key": "x = {1: 2}\n    x[xs] = 3\n    return x[1]",
}


@pytest.mark.parametrize("name", sorted(LOST))
def test_what_an_unknown_may_have_written_is_unknown(name: str) -> None:
    session = SourceSession(
        f"def f(xs):\n    a = 1\n    {LOST[name]}\n", externals=python_externals()
    )
    outcomes = session.paths("f", Unknown("an input", key=("xs",), free="data"))
    values = [o.value for o in outcomes if o.kind == "returned"]
    known = {v for v in values if not isinstance(v, Unknown)}
    assert len(known) != 1 or any(isinstance(v, Unknown) for v in values)
