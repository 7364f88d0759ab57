"""C++ functions against what they compute: every case of ``cpp_cases.txt``.

A case is a function ``f(a, b)`` and its results for seven pairs of arguments, as a compiler's
program prints them (``!`` for an exception). A case whose name starts with ``?`` holds something
that is not followed: its result may be unknown, but never another value.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mlaprobe.evaluator.cpp.builtins import builtins
from mlaprobe.evaluator.cpp.preprocess import TranslationUnit
from mlaprobe.evaluator.cpp.unit import CppModule
from mlaprobe.evaluator.engine.machine import Machine
from mlaprobe.evaluator.engine.runs import Outcome, Run
from mlaprobe.evaluator.engine.shared import SharedState
from mlaprobe.evaluator.ir import NOWHERE
from mlaprobe.evaluator.symbolic.formulas import Tree
from mlaprobe.evaluator.symbolic.symbols import ConcretizationError, PathCondition, Sym
from mlaprobe.evaluator.values.unknown import Unknown
from mlaprobe.stages.instantiate import PathSummary

PAIRS = ((-3, 1), (0, 0), (1, -1), (2, 3), (5, 64), (16, 3), (128, 0))


def cases_of(file: str) -> dict[str, tuple[str, list[str]]]:
    """By name, a text and what its function returns, as a compiler's program printed it."""
    text = Path(__file__).with_name(file).read_text(encoding="utf-8")
    cases = {}
    for part in text.split("=== ")[1:]:
        name, _, rest = part.partition("\n")
        code, _, results = rest.rpartition("--> ")
        cases[name] = (code, results.split())
    return cases


CASES = cases_of("cpp_cases.txt")


class Program:
    """A function ``f`` of a C++ text, ready to be asked."""

    def __init__(self, text: str) -> None:
        self.machine = Machine()
        module = CppModule(TranslationUnit({"f.cu": text}.get, "f.cu"), externals=builtins())
        function = module.function("f")
        assert function is not None
        self.function = function
        self.state = SharedState()
        self.tree = Tree(("a", "b"))

    def paths(self, args: tuple[Any, ...]) -> tuple[Outcome, ...]:
        """Every path."""
        return self.machine.explore(
            lambda run: self.machine.call(run, self.function, args, {}, NOWHERE),
            lambda script: Run(self.machine, script=script, shared=self.state),
        )

    def shared(self, args: tuple[int, int]) -> tuple[Outcome, ...]:
        """Every path, from an earlier run where one covers the arguments."""
        found = self.tree.find(args)
        if found is None:
            path_condition = PathCondition()
            symbols = tuple(Sym(v, n, path_condition) for n, v in zip("ab", args, strict=True))
            try:
                paths = self.paths(symbols)
                found = PathSummary(paths, ("a", "b"), answer=paths)
            except ConcretizationError:
                return self.paths(args)
            self.tree.add(path_condition.conditions, args, found)
        outcomes: tuple[Outcome, ...] = found.answer(args)
        return outcomes


def result(outcomes: tuple[Outcome, ...]) -> str:
    """What all paths agree on, ``?`` where they do not or something is unknown."""
    texts = set()
    for outcome in outcomes:
        value = outcome.value
        if outcome.kind == "failed":
            texts.add("!")
        elif outcome.kind == "returned" and isinstance(value, int):
            texts.add(str(int(value)))
        else:
            assert outcome.kind == "unknown" or not isinstance(value, str)
            texts.add("?")
    return texts.pop() if len(texts) == 1 else "?"


@pytest.mark.parametrize("name", sorted(CASES))
def test_what_a_function_computes(name: str) -> None:
    code, expected = CASES[name]
    plain, shared = Program(code), Program(code)
    for pair, want in zip(PAIRS, expected, strict=True):
        allowed = {want, "?"} if name.startswith("?") else {want}
        assert result(plain.paths(pair)) in allowed, pair
        assert result(shared.shared(pair)) in allowed, pair


def test_the_cases_are_many() -> None:
    assert len(CASES) > 300
    assert sum(name.startswith("?") for name in CASES) < len(CASES) // 4


@pytest.mark.parametrize(
    "condition",
    [
        *("-1 > 0u", "~0u == 0", "1 - 2u < 0", "7 / 0", "'", "f(1)"),
        *(f"{10**400} % 5 == 0", "(1 << 62) * 2 < 0", f"{2**63} > 0"),
    ],
)
def test_code_behind_a_condition_that_is_not_followed_is_not_followed(condition: str) -> None:
    """Numbers below 0 that the preprocessor takes as unsigned, or that are too large for it, and
    what is no expression."""
    text = f"#if {condition}\nint f(int a,int b){{ return 1; }}\n#else\nint f(int a,int b)"
    unit = TranslationUnit({"f.cu": text + "{ return 2; }\n#endif\n"}.get, "f.cu")
    assert CppModule(unit, externals=builtins()).function("f") is None


def test_an_unknown_value_has_a_reason() -> None:
    (outcome,) = Program("int f(int a,int b){ static int n=0; n+=a; return n; }").paths((1, 2))
    assert isinstance(outcome.value, Unknown)
    assert "between calls" in outcome.value.reason


def test_a_number_that_is_pinned_answers_for_itself_alone() -> None:
    program = Program("int f(int a,int b){ const int t[4]={5,6,7,8}; return t[a & 3] + b; }")
    results = [result(program.shared((a, 1))) for a in (0, 1, 2, 3, 4, 5, 1, 0)]
    assert results == ["6", "7", "8", "9", "6", "7", "7", "6"]


ASKED = (
    'auto e = getenv("K"); return e ? 1 : 0;',
    'if(getenv("K")) return 1; return 0;',
    'const auto* e = std::getenv("K"); return !e ? 0 : 1;',
    'auto g = [](const char* n) { return getenv(n); }; auto e = g("K"); return e && a ? 1 : 0;',
    'bool e = getenv("K"); while(e) return 1; return 0;',
    'return getenv("K") != nullptr && true;',
)


@pytest.mark.parametrize("body", ASKED)
@pytest.mark.parametrize(("env", "there"), [({}, "0"), ({"K": ""}, "1"), ({"K": "0"}, "1")])
def test_an_empty_variable_is_there(body: str, env: dict[str, str], there: str) -> None:
    program = Program(f"int f(int a, int b) {{ {body} }}")
    outcomes = program.machine.explore(
        lambda run: program.machine.call(run, program.function, (1, 2), {}, NOWHERE),
        lambda script: Run(program.machine, script=script, env=env, shared=program.state),
    )
    assert result(outcomes) == there
