"""What an unknown may and may not settle: no claim that some value of it would belie."""

from __future__ import annotations

from typing import Any

import pytest

from mlaprobe.evaluator.cpp.builtins import builtins
from mlaprobe.evaluator.cpp.preprocess import TranslationUnit
from mlaprobe.evaluator.cpp.unit import CppModule
from mlaprobe.evaluator.engine.machine import Machine
from mlaprobe.evaluator.engine.runs import Outcome, Run
from mlaprobe.evaluator.engine.shared import SharedState
from mlaprobe.evaluator.ir import NOWHERE
from mlaprobe.evaluator.symbolic.formulas import compile_expr
from mlaprobe.evaluator.values.unknown import Unknown
from mlaprobe.stages.environment.outside import Foreign
from mlaprobe.stages.environment.pybuiltins import python_externals
from tests.evaluator.session import SourceSession
from tests.evaluator.test_cpp_machine import result


def _foreign(name: str) -> Foreign | None:
    return Foreign(name, succeeds=False) if name.startswith(("hip", "std::")) else None


def paths(text: str, *args: Any) -> tuple[Outcome, ...]:
    """Every path of ``f``."""
    machine, shared = Machine(), SharedState()
    unit = TranslationUnit({"f.cu": text}.get, "f.cu")
    module = CppModule(unit, externals=builtins(), foreign=_foreign)
    function = module.function("f")
    assert function is not None
    return machine.explore(
        lambda run: machine.call(run, function, args, {}, NOWHERE),
        lambda script: Run(machine, script=script, shared=shared),
    )


def answer(text: str, *args: Any) -> str:
    """What all paths of ``f`` agree on, ``?`` where they do not."""
    return result(paths(text, *args))


def free() -> Unknown:
    return Unknown("an input", key=("c",), free="c")


OPEN = {
    "a call holds on its path only": """
        static int clip(int v) { return v < -5 ? -5 : v > 5 ? 5 : v; }
        int f(int c) { return clip(clip(c)); }""",
    "an assignment that may not be reached": """
        int f(int c) { int n = 0; bool x = c > 3 && (n = 7) > 1; return n; }""",
    "a second unknown that may stop before a failure": """
        static int g(int v) { if(v == 0) throw 1; return v; }
        int f(int c) { return c > 9 || c > 5 || g(0) || true; }""",
    "a call with an effect that may not be reached": """
        static bool bump(int& n) { n += 7; return true; }
        int f(int c) { int n = 0; if(c > 3 && bump(n)) { } return n; }""",
    "a lambda with an effect that may not be reached": """
        int f(int c) { int n = 0; auto g = [&]() { n = 4; return false; };
            bool x = c == 2 || g(); return n; }""",
    "written through a reference in an unknown loop": """
        static bool bump(int& n) { n += 7; return n > 100; }
        int f(int c) { int n = 1; for(int i = 0; i < c; ++i) { if(bump(n)) { } } return n; }""",
    "two results at one place": """
        static bool odd(int v) { return ({ v & 1; }); }
        int f(int c) { return odd(1) == odd(2) && !(odd(3) && !odd(4)); }""",
    "a library function of different arguments": """
        int f(int c) { return std::gcd(6, 4) == std::gcd(6, 3); }""",
    "deep formulas": """
        int f(int c) { return ((((((((c + 1) * 2) + 3) * 2) + 4) * 2) + 5) * 2)
            == ((((((((c + 1) * 2) + 3) * 2) + 4) * 2) + 6) * 2); }""",
}


@pytest.mark.parametrize("name", sorted(OPEN))
def test_what_is_not_settled(name: str) -> None:
    assert answer(OPEN[name], free()) == "?"


SETTLED = {
    "a later operand": ("int f(int c) { return c > 3 || true; }", "1"),
    "a later call": ("static bool t(int v) { return v; } int f(int c) { return c || t(4); }", "1"),
    "both sides": ("int f(int c) { int n = 0; if(c > 3) n = 5; else n = 5; return n; }", "5"),
    "the same unknown twice": (
        "int f(int c) { if(c == 3) { if(c != 3) return 1; } return 0; }",
        "0",
    ),
    "an effect that any value reaches": (
        "int f(int c) { int n = 0; bool x = (c > 3 || true) && (n = 4); return n; }",
        "4",
    ),
    "one device property": ("int f(int c) { return hipCount(1) == hipCount(1); }", "1"),
}


@pytest.mark.parametrize("name", sorted(SETTLED))
def test_what_is_settled(name: str) -> None:
    text, expected = SETTLED[name]
    assert answer(text, free()) == expected


def test_paths_that_go_round_a_loop_without_end_are_few() -> None:
    """Each of them is followed for a while: with 64 of them that would be a minute."""
    branches = " ".join(f"if(c == {n}) x += {n};" for n in range(1, 7))
    found = paths(f"int f(int c) {{ int x = 0; {branches} while(true) x ^= 1; return x; }}", free())
    assert [outcome.kind for outcome in found] == ["unknown", "unknown"]
    assert "too long" in found[0].reason
    assert "too many paths" in found[1].reason


def test_many_paths_through_short_loops_are_all_followed() -> None:
    branches = " ".join(f"if(c == {n}) x += {n};" for n in range(1, 7))
    code = f"int x = 0; {branches} for(int i = 0; i < 9; ++i) x += 2; return x > 24;"
    found = paths(f"int f(int c) {{ {code} }}", free())
    assert len(found) > 6
    assert {outcome.kind for outcome in found} == {"returned"}


TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
DENIED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def asked_twice(one: str, other: str) -> str:
    """How two questions about one unknown come out: whether they do alike."""
    code = f"int x = 0; if({one}) x = 1; int y = 0; if({other}) y = 1; return x == y;"
    return answer(f"int f(int c) {{ {code} }}", free())


@pytest.mark.parametrize("op", sorted(TURNED))
def test_a_comparison_means_the_same_from_either_side(op: str) -> None:
    """The path that an unknown takes at the first of two comparisons settles the second."""
    assert asked_twice(f"3 {op} c", f"c {TURNED[op]} 3") == "1"


@pytest.mark.parametrize("op", sorted(DENIED))
@pytest.mark.parametrize("sides", ["c {} 3", "3 {} c"])
def test_a_comparison_and_its_denial_are_never_alike(op: str, sides: str) -> None:
    one, other = sides.format(op), sides.format(DENIED[op])
    assert answer(f"int f(int c) {{ if({one}) return 1; return 0; }}", free()) == "?"
    assert asked_twice(one, one) == "1"
    assert asked_twice(one, other) == "0"


def test_an_effect_seen_in_a_module_is_seen_once() -> None:
    session = SourceSession(
        """
        import os
        seen = []
        def note(x):
            seen.append(x)
            return False
        value = os.getloadavg() and note(1)
        """
    )
    assert isinstance(session.get("value"), Unknown) or session.get("value") is False


PYTHON = """
def for_else(n):
    x = 1
    for i in range(n):
        x = 1
    else:
        x = 2
    return x
def while_else(n):
    x = 1
    while n > 3:
        n -= 1
    else:
        x = 2
    return x
def broken(n):
    for i in range(n):
        if i == 3:
            break
    else:
        return 2
    return 1
def stops_early(n):
    return any(x == 16 or {16: n}[x] for x in (16, 99))
def filtered(n):
    return (n > 3) == any(False for x in (1, 2) if n > 3)
def any_of(n):
    return bool(n) == any(n)
"""


@pytest.mark.parametrize(
    ("name", "possible"),
    [
        ("for_else", {2}),
        ("while_else", {2}),
        ("broken", {1, 2}),
        ("stops_early", {True}),
        ("filtered", {True, False}),
        ("any_of", {True, False}),
    ],
)
def test_python_of_an_unknown(name: str, possible: set[Any]) -> None:
    """Every certain answer of a path is possible; one that holds on all paths is the only one."""
    outcomes = SourceSession(PYTHON, externals=python_externals()).paths(name, free())
    values = {o.value for o in outcomes if not isinstance(o.value, Unknown)}
    assert all(o.kind == "returned" for o in outcomes)
    assert values <= possible
    settled = len(values) == 1 and not any(isinstance(o.value, Unknown) for o in outcomes)
    assert not settled or values == possible


LIBRARY = {
    'std::stoi("x")': "!",
    'std::stoi("99999999999")': "!",
    'std::stoi(" 12 x")': "12",
    'std::atoi("x")': "0",
    "(int)(std::ceil(2.5) / 2 * 10)": "15",
    "(int)(std::floor(c * 1.0) / 2 * 10)": "15",
    "(int)(sqrt(c) * 1000)": "1732",
    "(int)(std::sqrt(static_cast<float>(c + 13)) * 10)": "40",
    "(int)(100000 * (1.0f / std::sqrt(static_cast<float>(c * 170 + 2))))": "4419",
    "(int)(sqrtf(c - 2.75f) * 10)": "5",
    "(int)std::sqrt(c * 22369621.0)": "8191",
    "(int)std::sqrt(c * 22369621.0f)": "8191",
    "(int)sqrtf(c * 22369621.0)": "8192",
    "(int)std::log2(c * 5592405.0)": "23",
    "(int)std::log2(c * 5592405.0f)": "24",
    "(int)log2f(c * 5592405.0)": "24",
    "(int)std::sqrt(c - 4.0)": "?",
    "__builtin_popcount(-c)": "31",
    "__builtin_clz(c)": "30",
    "__builtin_clz(-1)": "0",
    "__builtin_ctz(-8)": "3",
    "__builtin_ctz(c - 3)": "?",
}


@pytest.mark.parametrize("code", sorted(LIBRARY))
def test_library_functions_compute_like_a_compiler(code: str) -> None:
    assert answer(f"int f(int c) {{ return {code}; }}", 3) == LIBRARY[code]


def test_nested_remainders_are_formulas_of_their_own_size() -> None:
    expr: Any = "a"
    for by in range(2, 40):
        expr = ("c%", ("+", expr, by), by)
    assert compile_expr(expr, ("a",))((-77,)) == _computed(-77)


def _computed(value: int) -> int:
    for by in range(2, 40):
        total = value + by
        value = total - by * (abs(total) // by * (1 if total >= 0 else -1))
    return value


@pytest.mark.parametrize(
    ("test", "certain"),
    [
        ("hipCount(1) == 2", True),
        ("std::gcd(hipCount(1), 4) == 2", True),
        ("std::gcd(c, 4) == 2", True),
        ("std::gcd(6, 4) == 2", False),
        ("std::gcd(6, undefined_here) == 2", False),
    ],
)
def test_only_open_inputs_are_taken_either_way(test: str, certain: bool) -> None:
    """A function of known numbers has one result, also where it cannot be computed."""
    found = paths(f"int f(int c) {{ if({test}) return 1; return 0; }}", free())
    assert [o.certain for o in found] == [certain, certain]
