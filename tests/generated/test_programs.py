"""Generated C++ functions against what g++ makes of them, for known and unknown arguments.

``MLAPROBE_DEEP=1`` asks for many more programs than the default.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from random import Random
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
from mlaprobe.stages.environment.outside import Foreign
from mlaprobe.stages.instantiate import PathSummary
from tests.evaluator.test_cpp_machine import result
from tests.generated.cpp_programs import HELPERS, Writer
from tests.generated.deep import examples

PAIRS = ((-3, 1), (0, 0), (1, -1), (2, 3), (5, 64), (16, 3), (128, 0))
THIRD = (-7, 0, 1, 2, 16, 33)
MYSTERIES = 3
BATCH = 20
HEAD = f"""\
#include <cstdint>
#include <cstdio>
#include <exception>
{HELPERS}
static int g_mystery;
int hip_mystery(int k) {{ return (k * 7 + g_mystery * 13) % 23 - 5; }}
"""
Row = dict[tuple[int, int, int], set[str]]


def _program(seed: int) -> str:
    return Writer(Random(seed), mystery=seed % 2 == 0).program()


def _main(count: int) -> str:
    pairs = ", ".join(f"{{{a}, {b}}}" for a, b in PAIRS)
    calls = "\n".join(
        f"for(auto& p : ab) for(int c : cs) for(g_mystery = 0; g_mystery < {MYSTERIES}; "
        f'++g_mystery) try {{ printf("%d ", f{n}(p[0], p[1], c)); }} '
        'catch(...) { printf("! "); } printf("\\n");'
        for n in range(count)
    )
    return (
        f"int main() {{\nint ab[][2] = {{{pairs}}};\n"
        f"int cs[] = {{{', '.join(map(str, THIRD))}}};\n{calls}\n}}\n"
    )


def compiled(programs: Sequence[str], root: Path) -> list[Row]:
    """What a compiler's programs print: all results for each triple of arguments."""
    bodies = [p[len(HELPERS) :].replace("int f(", f"int f{n}(") for n, p in enumerate(programs)]
    source = root / "programs.cpp"
    source.write_text(HEAD + "".join(bodies) + _main(len(programs)))
    binary = root / "programs"
    command = ["g++", "-std=c++17", "-w", "-O0", "-o", str(binary), str(source)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    printed = subprocess.run([str(binary)], check=True, capture_output=True, text=True, timeout=60)
    rows: list[Row] = []
    for line in printed.stdout.strip().split("\n"):
        words, row, at = line.split(), Row(), 0
        for a, b in PAIRS:
            for c in THIRD:
                row[a, b, c] = set(words[at : at + MYSTERIES])
                at += MYSTERIES
        rows.append(row)
    return rows


def _foreign(name: str) -> Foreign | None:
    return Foreign(name, succeeds=False) if name.startswith("hip") else None


class Asked:
    """A program as mlaprobe reads it."""

    def __init__(self, text: str) -> None:
        self.machine = Machine()
        unit = TranslationUnit({"f.cu": text}.get, "f.cu")
        module = CppModule(unit, externals=builtins(), foreign=_foreign)
        function = module.function("f")
        assert function is not None
        self.function = function
        self.state = SharedState()
        self.tree = Tree(("a", "b", "c"))

    def paths(self, args: tuple[Any, ...]) -> tuple[Outcome, ...]:
        """Every path."""
        return self.machine.explore(
            lambda run: self.machine.call(run, self.function, args, {}, NOWHERE),
            lambda script: Run(self.machine, script=script, shared=self.state),
        )

    def shared(self, args: tuple[int, int, int]) -> tuple[Outcome, ...]:
        """Every path, from an earlier run where one covers the arguments."""
        found = self.tree.find(args)
        if found is None:
            recorder = PathCondition()
            symbols = tuple(Sym(v, n, recorder) for n, v in zip("abc", args, strict=True))
            try:
                paths = self.paths(symbols)
                found = PathSummary(paths, ("a", "b", "c"), answer=paths)
            except ConcretizationError:
                return self.paths(args)
            self.tree.add(recorder.conditions, args, found)
        outcomes: tuple[Outcome, ...] = found.answer(args)
        return outcomes


def compare(seed: int, text: str, row: Row) -> tuple[int, int]:
    """Checks one program; how many answers were given, and how many were unknown."""
    asked, given, unknown = Asked(text), 0, 0
    for (a, b, c), wanted in row.items():
        for answer in (result(asked.paths((a, b, c))), result(asked.shared((a, b, c)))):
            assert answer == "?" or wanted == {answer}, (seed, a, b, c, answer, wanted)
            given, unknown = given + 1, unknown + (answer == "?")
    for a, b in PAIRS:
        wanted = set().union(*(row[a, b, c] for c in THIRD))
        answer = result(asked.paths((a, b, Unknown("c", key=("c",), free="c"))))
        assert answer == "?" or wanted == {answer}, (seed, a, b, "any c", answer, wanted)
    return given, unknown


@pytest.mark.parametrize("batch", range(examples(1, 100)))
def test_programs_compute_what_a_compiler_makes_of_them(tmp_path: Path, batch: int) -> None:
    if shutil.which("g++") is None:
        pytest.skip("there is no g++ to compare with")
    seeds = range(batch * BATCH, (batch + 1) * BATCH)
    programs = [_program(seed) for seed in seeds]
    counts = [
        compare(seed, text, row)
        for seed, text, row in zip(seeds, programs, compiled(programs, tmp_path), strict=True)
    ]
    given, unknown = (sum(column) for column in zip(*counts, strict=True))
    assert unknown < given / 5
