"""What another module registers in a table of a module that is otherwise run in order."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mlaprobe.evaluator.engine.machine import Machine
from mlaprobe.evaluator.engine.runs import Run
from mlaprobe.evaluator.engine.shared import SharedState
from mlaprobe.evaluator.ir import NOWHERE
from mlaprobe.evaluator.python.project import PyProject
from mlaprobe.evaluator.values import Unknown
from mlaprobe.stages.environment.pybuiltins import python_externals

MODULE = """
ROWS = {}
OTHER = []
def rule(h):
    def deco(fn):
        ROWS[h] = fn
        return fn
    return deco
class Base:
    rows = []
    def __init_subclass__(cls, **kw):
        Base.rows.append(cls.__name__)
@rule(16)
def _a(q): return q < 3
class A(Base): pass
def native(heads, qlen):
    return heads in ROWS, len(Base.rows)
"""
INIT = "from pkg import n\nfrom pkg.m import native\n"
OTHERS = {
    "registers": "from pkg.m import rule\n@rule(32)\ndef f(q): return True\n",
    "registers by module": "from pkg import m\n@m.rule(32)\ndef f(q): return True\n",
    "registers by alias": "import pkg.m as k\nr = k.rule\n@r(32)\ndef f(q): return True\n",
    "star": "from pkg.m import *\n@rule(32)\ndef f(q): return True\n",
    "re-exported": "from pkg.k import rule\n@rule(32)\ndef f(q): return True\n",
    "subclass": "from .m import Base\nclass Z(Base): pass\n",
    "subclass by module": "from . import m\nclass Z(m.Base): pass\n",
    "subclass of A": "from .m import A\nclass Z(A): pass\n",
    "passes": "from .m import ROWS\ndef g(t): t[32] = 1\ng(ROWS)\n",
    "import_module": "import importlib as i\nm = i.import_module('pkg.m')\nm.rule(32)(len)\n",
    "sys.modules": "import sys\nimport pkg.m\nsys.modules['pkg.m'].rule(32)(len)\n",
    "getattr": "from pkg import m\nx = getattr(m, 'rule')(32)(len)\n",
    "by package": "import pkg\nimport pkg.m\n@pkg.m.rule(32)\ndef f(q): return True\n",
    "in function": "from pkg.m import rule\ndef late():\n    rule(32)(len)\nlate()\n",
}
READING = {
    "nothing": "",
    "a length": "from pkg.m import ROWS\nX = len(ROWS)\n",
    "a loop": "from pkg.m import ROWS\nX = [h * 2 for h in ROWS]\n",
    "the function": "from pkg.m import native\nX = native(16, 1)\n",
}
HEADS = (16, 32, 64)


def _files(other: str) -> dict[str, str]:
    again = "from pkg.m import rule\n"
    return {"pkg/__init__.py": INIT, "pkg/m.py": MODULE, "pkg/n.py": other, "pkg/k.py": again}


def _python(files: dict[str, str], folder: Path) -> list[object]:
    (folder / "pkg").mkdir()
    for path, text in files.items():
        (folder / path).write_text(text)
    code = f"import json, pkg; print(json.dumps([pkg.native(h, 1) for h in {HEADS}]))"
    made = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True
    )
    found: list[object] = json.loads(made.stdout)
    return found


def _asked(files: dict[str, str]) -> list[list[Any]]:
    project = PyProject(files.get, roots=("pkg",), externals=python_externals())
    module, machine, state = project.module("pkg.m"), Machine(), SharedState()
    assert module is not None

    def start(run: Run, heads: int) -> object:
        native = module.lookup(run, "native", NOWHERE)
        return machine.call(run, native, (heads, 1), {}, NOWHERE)

    told: list[list[Any]] = []
    for heads in HEADS:
        outcomes = machine.explore(
            partial(start, heads=heads),
            lambda script: Run(machine, script=script, shared=state),
        )
        told.append([list(o.value) if o.kind == "returned" else "?" for o in outcomes])
    return told


@pytest.mark.parametrize("name", sorted(OTHERS))
def test_what_another_module_registers_is_not_missed(name: str, tmp_path: Path) -> None:
    files = _files(OTHERS[name])
    assert _python(files, tmp_path) != [[True, 1], [False, 1], [False, 1]]
    for paths in _asked(files):
        assert all(path == "?" or any(isinstance(v, Unknown) for v in path) for path in paths)


@pytest.mark.parametrize("name", sorted(READING))
def test_a_module_that_only_reads_changes_nothing(name: str, tmp_path: Path) -> None:
    files = _files(READING[name])
    assert _asked(files) == [[answer] for answer in _python(files, tmp_path)]
