"""Methods of texts and containers, in Python against Python itself."""

from __future__ import annotations

from typing import Any

import pytest

from mlaprobe.evaluator.values.unknown import Unknown
from mlaprobe.stages.environment.pybuiltins import python_externals
from tests.evaluator.session import SourceSession

TEXT = [
    "s.find('b')",
    "s.find('z')",
    "s.find('b', 2)",
    "s.find('a', n)",
    "s.rfind('b')",
    "s.startswith('ab')",
    "s.startswith(('x', 'ab'))",
    "s.endswith('b')",
    "s.lower() + s.upper()",
    "s.strip('a')",
    "s.lstrip('a') + s.rstrip('b')",
    "s.split('b')",
    "','.join([s, 'x'])",
    "s.replace('b', 'c')",
    "s.isdigit()",
    "s.removeprefix('ab')",
    "s.removesuffix('ab')",
    "s.count('b')",
    "s.partition('b')",
    "s.title()",
    "s.index('b')",
    "s.encode()",
    "s.format(n)",
    "'{}-{}'.format(s, n)",
    "s[1:].zfill(9)",
    "n.bit_length()",
    "n.bit_count()",
    "n.real",
    "(n).to_bytes(4, 'big')",
    "[1, n, 1].count(1)",
    "[1, n, 1].index(n)",
    "(1, n).index(n)",
    "(1, n, n).count(n)",
    "sorted({1, n}.union([2]))",
    "{1, n}.issubset({1, 2, 3, n})",
    "sorted({1, n}.intersection({n}))",
    "sorted({1, n}.difference({1}))",
    "{1: 'a', n: 'b'}.get(n)",
    "{1: 'a'}.get(n, 'c')",
    "list({1: 'a', n: 'b'}.keys())",
    "list({1: 'a', n: 'b'}.values())",
    "list({1: 'a', n: 'b'}.items())",
    "f'{n}|{s}|{n!r}|{s!r}|{[n, 1]}|{n:04d}|{n:x}|{n=}|{None}|{1.5}'",
    "f'{n:>5}' + f'{s:<6}|'",
    "'%s-%d' % (s, n)",
    "[*s], {**{1: 2}, n: 3}, [x for x in (1, n) if x]",
    "{k: v for k, v in [(n, 1), (2, 3)]}",
    "[a + b for a in (1, n) for b in (2, 3) if a != b]",
    "len({1, n}), len({1: 0, n: 0}), len({x % 2 for x in (1, n, 3)})",
    "dict([(1, n)])",
]


def in_python(code: str, n: int) -> tuple[str, object]:
    """What Python does."""
    try:
        return "returned", eval(code, {"n": n, "s": "abab"})
    except Exception as error:
        return "failed", type(error).__name__


def plain(value: Any) -> Any:
    """A result to compare; a list may come as a tuple."""
    if isinstance(value, dict):
        return tuple(map(plain, value.items()))
    return tuple(map(plain, value)) if isinstance(value, (list, tuple)) else value


@pytest.mark.parametrize("code", TEXT)
def test_a_method_does_what_it_does_in_python(code: str) -> None:
    """Or it is not followed."""
    session = SourceSession(f"def f(n, s): return {code}\n", externals=python_externals())
    for n in range(1, 5):
        outcomes = session.paths("f", n, "abab")
        kind, expected = in_python(code, n)
        for outcome in outcomes:
            assert "evaluator failed" not in outcome.reason
            if outcome.kind == "unknown" or isinstance(outcome.value, Unknown):
                continue
            if outcome.failure is not None and outcome.failure.kind == "unknown":
                continue
            assert outcome.kind == kind
            if outcome.failure is None:
                assert plain(outcome.value) == plain(expected)


CHANGES = [
    "x.append(n)",
    "x.extend([n, n])",
    "x.insert(0, n)",
    "x.pop()",
    "x.remove(1)",
    "x.clear()",
    "x.reverse()",
    "x.sort()",
    "x += [n]",
    "del x[0]",
    "x[0] = n",
    "x += [n] * 2",
    "x.extend(v for v in (n, 4))",
    "[x.append(v) for v in (n, 4)]",
    "for v in range(n): x.append(v)",
    "x[1:] = [n]",
    "x.copy().append(n)",
    "(x + [n]).append(1)",
    "list(x).append(n)",
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_list_that_is_changed_is_changed_or_not_known(change: str) -> None:
    """Also under its other name."""
    told = "x[0], len(x), y[0], len(y)"
    code = f"def f(n):\n    x = [1, 2]\n    y = x\n    {change}\n    return {told}\n"
    scope: dict[str, Any] = {}
    exec(code, scope)
    for n in range(1, 4):
        for outcome in SourceSession(code, externals=python_externals()).paths("f", n):
            assert "evaluator failed" not in outcome.reason
            if outcome.failure is not None:
                with pytest.raises(Exception) as caught:  # noqa: PT011
                    scope["f"](n)
                assert caught.type.__name__ == outcome.failure.how
                continue
            if outcome.kind != "returned" or _nothing_known(outcome.value):
                assert outcome.kind in ("returned", "unknown")
                continue
            expected = scope["f"](n)
            for found, right in zip(outcome.value, expected, strict=True):
                assert isinstance(found, Unknown) or found == right


def _nothing_known(value: Any) -> bool:
    return isinstance(value, Unknown) or all(isinstance(part, Unknown) for part in value)


OPEN = [
    "len({1, x})",
    "{1: x} == {1: 4}",
    "[x] == [4]",
    "{x} == {4}",
    "[1, x] < [1, 4]",
    "bool([1] * x)",
    "f'{x:04d}' == '0004'",
    "{f'{x}': 1}['4']",
    "f'{x}' in ('4', 'b')",
    "len(f'{x}')",
    "f'{x}'.startswith('4')",
    "f'{x}' + 'b' == '4b'",
    "str(f'{x}') == '4'",
    "dict(a=x) == {'a': 4}",
    "len({x: 0, 1: 0})",
    "len({v for v in (1, x)})",
    "[x, 4].index(4)",
    "(4, x).count(4)",
    "[4, x].count(x)",
    "len({1}.union([x]))",
    "{4, x}.issubset({4})",
    "len({4}.intersection({x}))",
    "{1: 2, x: 3}[1]",
    "{1: 2, x: 3}.get(1)",
    "{1: 2}.get(x, 2)",
    "dict([(x, 1), (1, 2)])[1]",
    "'a'.join([x, 'b'])",
    "'ab'.startswith(x)",
    "'ab'.find(x)",
    "'ab'.replace('a', x)",
    "[v for v in (1, 2) if v == x]",
    "(1, 2)[x:]",
    "f'{x}' == '4'",
    "str(x) == '4'",
    "{**x}",
    "[*x]",
    "sorted([x, 1])[0]",
    "min(x, 1)",
    "max([1, x])",
    "sum([x, 1])",
    "any(v == x for v in (1, 2))",
    "x in {1, 2}",
    "1 in {x, 2}",
    "1 in {x: 2}",
    "not x",
    "x and 4",
    "4 if x else 5",
    "-x",
    "~x",
    "x is None",
    "[1, 2][x]",
    "{1: 5, 2: 5}[x]",
]


@pytest.mark.parametrize("code", OPEN)
def test_nothing_is_claimed_that_depends_on_an_input(code: str) -> None:
    """Every value that a path gives is one that Python gives for some value of the input; one
    that all paths agree on, Python gives for every value that it does not fail for."""
    session = SourceSession(f"def f(x): return {code}\n", externals=python_externals())
    outcomes = session.paths("f", Unknown("an input", key=("x",), free="x"))
    assert all("evaluator failed" not in o.reason for o in outcomes)
    known = [plain(o.value) for o in outcomes if o.kind == "returned" and not _open(o.value)]
    possible = []
    for value in (0, 1, 2, 4, 7, None, "a", "ab", [1], {1: 2}):
        try:
            possible.append(plain(eval(code, {"x": value})))
        except Exception:
            continue
    assert all(value in possible for value in known), (known, possible)
    settled = len(known) == len(outcomes) and all(value == known[0] for value in known)
    assert not settled or all(value == known[0] for value in possible), (known, possible)


LATER = """
def changed(n):
    x = y = []
    for i in range(n):
        x.append(i)
    return len(y)
def maybe(n):
    x = [1]
    y = x
    if n > 3:
        x.append(2)
    return len(y)
def emptied(n):
    x = {1: 2}
    y = x
    y.clear()
    return 1 in x, len(x), bool(x), [*x], x == {1: 2}
def handed(n):
    x, y = [1], {1: 2}
    n.change(x, y)
    return len(x), bool(x), 1 in x, x == [1], x[0], len(y), 1 in y, y == {1: 2}, [*y]
def handed_and_used(n):
    x = [1]
    n.change(x)
    x.append(2)
    x[0] = 3
    a, *b = x
    return len(x), x[0], a, b, x + [1], {**dict(zip(x, x))}, 3 in x
def added(n):
    x = set()
    x.add(1)
    return 1 in x
def keyed(n):
    x = {1: 2}
    x[n] = 3
    return 1 in x, x[1], len(x), 4 in x
"""


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("changed", None),
        ("maybe", {1, 2}),
        ("emptied", {False, ()}),
        ("handed", None),
        ("handed_and_used", None),
        ("added", {True}),
        ("keyed", (True,)),
    ],
)
def test_what_others_may_have_changed_is_not_claimed(name: str, known: Any) -> None:
    """Whatever is known of the result is listed; the rest of it is not known."""
    session = SourceSession(LATER, externals=python_externals())
    seen: set[Any] = set()
    for outcome in session.paths(name, Unknown("an input", key=("n",), free="n")):
        parts = outcome.value if isinstance(outcome.value, tuple) else (outcome.value,)
        if outcome.kind == "returned":
            known_parts = (p for p in parts if not _open(p) and p is not None)
            seen.update(tuple(p) if isinstance(p, list) else p for p in known_parts)
        assert "evaluator failed" not in outcome.reason
        followed = name in ("maybe", "emptied", "added", "keyed")
        assert outcome.kind == "returned" or not followed
    assert seen == set(known or ())


def _open(value: Any) -> bool:
    """Whether a value is not known, or holds something that is not."""
    if isinstance(value, (tuple, list)):
        return any(map(_open, value))
    return isinstance(value, Unknown) or not isinstance(value, (int, str, float, type(None), dict))
