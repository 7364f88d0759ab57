"""The public API: what it names is there, and nothing is loaded before it is used."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import mlaprobe

HEAVY = ("torch", "tree_sitter", "tree_sitter_cuda", "typer", "rich")
FAKE = """
class Fake:
    archs = ("gfx950",)

    def decide(self, shape):
        native = shape.num_heads == 64
        verdict = mlaprobe.Verdict.NATIVE if native else mlaprobe.Verdict.FOLDED
        return mlaprobe.Decision(shape=shape, verdict=verdict, fold=1 if native else 3)
"""


def loaded(code: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after some lines."""
    program = f"import sys\n{code}\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_importing_loads_nothing_of_its_own() -> None:
    modules = loaded("import mlaprobe")
    assert {m for m in modules if m.startswith("mlaprobe.")} == set()
    assert modules.isdisjoint({*HEAVY, "yaml"})


def test_words_load_no_reader() -> None:
    modules = loaded(
        "import mlaprobe\n"
        "mlaprobe.DecodeShape(arch='gfx950', q_dtype='fp8', kv_dtype='fp8', num_heads=48,"
        " planner={'q_dtype': None})\n"
        "mlaprobe.PadPlan, mlaprobe.Decision, mlaprobe.MlaprobeError"
    )
    assert modules.isdisjoint(HEAVY)


def test_a_plan_needs_no_reader() -> None:
    modules = loaded(
        f"import mlaprobe\n{FAKE}\n"
        "plan = mlaprobe.plan(\n"
        "    48, capability=Fake(), arch='gfx950', q_dtype='fp8', kv_dtype='fp8', qlens=(1, 2)\n"
        ")\n"
        "assert plan.padded_num_heads == 64, plan"
    )
    assert modules.isdisjoint(HEAVY)


@pytest.mark.parametrize("name", mlaprobe.__all__)
def test_every_name_is_there(name: str) -> None:
    value = getattr(mlaprobe, name)
    assert value is getattr(mlaprobe, name)
    assert name in dir(mlaprobe)


def test_one_list_of_names() -> None:
    """Type checkers see the same names from the same modules as the interpreter."""
    tree = ast.parse(Path(mlaprobe.__file__).read_text())
    typed = {
        alias.name: node.module.removeprefix("mlaprobe.")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mlaprobe.")
        for alias in node.names
        if node.module is not None
    }
    assert typed == mlaprobe._HOME
    assert {*typed, "__version__"} == set(mlaprobe.__all__)
    assert mlaprobe.__all__ == sorted(mlaprobe.__all__)


def test_no_such_name() -> None:
    with pytest.raises(AttributeError, match="'mlaprobe' has no attribute 'prob'"):
        mlaprobe.prob  # noqa: B018
