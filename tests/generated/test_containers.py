"""Containers of the C++ library: whatever is made, stored and asked, the answer is the true one or
unknown.

``MLAPROBE_DEEP=1`` asks all programs, and lets g++ say whether the models are right.
"""

from __future__ import annotations

import shutil
import subprocess
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from mlaprobe.evaluator.cpp.preprocess import TranslationUnit
from mlaprobe.evaluator.cpp.unit import CppModule
from mlaprobe.evaluator.engine.machine import Machine
from mlaprobe.evaluator.engine.runs import Run
from mlaprobe.evaluator.engine.shared import SharedState
from mlaprobe.evaluator.ir import NOWHERE
from mlaprobe.rulefiles.layouts import layouts
from mlaprobe.stages.environment.outside import cpp_externals, foreign
from tests.evaluator.test_cpp_machine import result
from tests.generated.containers import KINDS
from tests.generated.containers.programs import HEAD, Kind, Program, programs
from tests.generated.deep import DEEP, examples

PAIRS = ((0, 5), (1, 10), (2, 0), (3, -1))


def sample(kind: Kind) -> list[Program]:
    """Some of a kind's programs, or all."""
    everything = list(programs(kind))
    return Random(kind.type).sample(everything, min(len(everything), examples(70, len(everything))))


def told(text: str) -> dict[tuple[int, int], str]:
    """What mlaprobe says that a program returns."""
    machine = Machine()
    module = CppModule(
        TranslationUnit({"f.cu": text}.get, "f.cu"),
        externals=cpp_externals(),
        foreign=partial(foreign, layouts().data["foreign"]),
    )
    function = module.function("f")
    assert function is not None, text
    shared = SharedState()
    return {
        pair: result(
            machine.explore(
                lambda run, pair=pair: machine.call(run, function, pair, {}, NOWHERE),  # type: ignore[misc]
                lambda script: Run(machine, script=script, shared=shared),
            )
        )
        for pair in PAIRS
    }


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.type)
def test_a_container_is_what_it_is_or_not_known(kind: Kind) -> None:
    wrong = []
    for program in sample(kind):
        for pair, answer in told(program.text).items():
            wanted = program.results(*pair)
            if answer != "?" and wanted != {answer}:
                wrong.append((program.text, pair, answer, wanted))
    assert not wrong, f"{len(wrong)}, such as {wrong[0][1:]}:\n{wrong[0][0]}"


def compiled(asked: list[Program], root: Path) -> list[list[str]]:
    """What a compiler's programs print."""
    bodies = [
        p.text.replace("int f(", f"int f{n}(").replace("g_", f"g{n}_") for n, p in enumerate(asked)
    ]
    pairs = ", ".join(f"{{{a}, {b}}}" for a, b in PAIRS)
    calls = "\n".join(
        f'for(auto& p : ab) try {{ printf("%d ", f{n}(p[0], p[1])); }} '
        'catch(const std::exception&) { printf("! "); } printf("\\n");'
        for n in range(len(asked))
    )
    source, binary = root / "programs.cpp", root / "programs"
    main = f"int main() {{\nint ab[][2] = {{{pairs}}};\n{calls}\n}}\n"
    source.write_text(HEAD + "#include <cstdio>\n#include <exception>\n" + "".join(bodies) + main)
    command = ["g++", "-std=c++17", "-w", "-O0", "-o", str(binary), str(source)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    printed = subprocess.run([str(binary)], check=True, capture_output=True, text=True, timeout=60)
    return [line.split() for line in printed.stdout.strip().split("\n")]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.type)
def test_the_models_are_what_a_compiler_makes_of_the_programs(kind: Kind, tmp_path: Path) -> None:
    if shutil.which("g++") is None:
        pytest.skip("there is no g++ to compare with")
    if not DEEP:
        pytest.skip("MLAPROBE_DEEP is not set")
    asked = [p for p in programs(kind) if not p.lasting]
    for at in range(0, len(asked), 400):
        batch = list(islice(asked, at, at + 400))
        for program, printed in zip(batch, compiled(batch, tmp_path), strict=True):
            modelled = [program.results(*pair) for pair in PAIRS]
            assert [{word} for word in printed] == modelled, program.text
