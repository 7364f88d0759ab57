"""Names of a module that other modules of the package set when it is imported: known only as what
Python itself finds there after the import."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from mlaprobe.core.elsewhere import SetElsewhere
from mlaprobe.evaluator.engine.machine import Machine
from mlaprobe.evaluator.engine.runs import Run
from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.ir import NOWHERE
from mlaprobe.evaluator.python.project import PyProject
from mlaprobe.evaluator.values import Unknown
from mlaprobe.stages.environment.pybuiltins import python_externals

TARGET = "LIMIT = 16\n\n\ndef limit():\n    return LIMIT\n"
SET = "from pkg import target\n\ntarget.LIMIT = 32\n"
IMPORTS = {
    "star": "from .other import *\n",
    "absolute star": "from pkg.other import *\n",
    "one name": "from .other import nothing\n",
    "module": "from . import other\n",
    "by another name": "import pkg.other as o\n",
    "guarded": "try:\n    from .other import *\nexcept ImportError:\n    pass\n",
    "conditional": "if True:\n    from . import other\n",
    "in brackets": "from . import (  # one\n    other,  # and another\n)\n",
    "in a function": "def load():\n    from . import other\n\n\nload()\n",
}
SETS = {
    "attribute": SET,
    "under another name": "from pkg import target as t\n\nt.LIMIT = 32\n",
    "relative": "from . import target\n\ntarget.LIMIT = 32\n",
    "plain import": "import pkg.target\n\npkg.target.LIMIT = 32\n",
    "import as": "import pkg.target as t\n\nt.LIMIT = 32\n",
    "setattr": "from pkg import target\n\nsetattr(target, 'LIMIT', 32)\n",
    "names from a table": (
        "from pkg import target\n\nfor n in ('LIMIT',):\n    setattr(target, n, 32)\n"
    ),
    "dictionary": "from pkg import target\n\ntarget.__dict__['LIMIT'] = 32\n",
    "vars": "from pkg import target\n\nvars(target)['LIMIT'] = 32\n",
    "update": "from pkg import target\n\nvars(target).update(LIMIT=32)\n",
    "added": "from pkg import target\n\ntarget.LIMIT += 16\n",
    "among others": "from pkg import target\n\nn, target.LIMIT = 1, 32\n",
    "chained": "from pkg import target\n\nn = target.LIMIT = 32\n",
    "annotated": "from pkg import target\n\ntarget.LIMIT: int = 32\n",
    "in a function": "from pkg import target\n\n\ndef f():\n    target.LIMIT = 32\n\n\nf()\n",
    "imported in a function": "def f():\n    import pkg.target as t\n\n    t.LIMIT = 32\n\n\nf()\n",
    "by its name": "import sys\n\nimport pkg.target\n\nsys.modules['pkg.target'].LIMIT = 32\n",
    "by its name, kept": (
        "import sys\n\nimport pkg.target\n\nm = sys.modules['pkg.target']\nm.LIMIT = 32\n"
    ),
    "import_module": "import importlib\n\nimportlib.import_module('pkg.target').LIMIT = 32\n",
    "an alias": "from pkg import target\n\nt = target\nt.LIMIT = 32\n",
    "deleted and set": "from pkg import target\n\ndel target.LIMIT\ntarget.LIMIT = 32\n",
    "behind a bracket in a text": "from pkg import target\n\ns = 'f('; target.LIMIT = 32\n",
    "behind a call": "from pkg import target\n\nn = max(\n    1, 2); target.LIMIT = 32\n",
    "behind a call's end": (
        "from pkg import target\n\nn = max(\n    1,\n    2); target.LIMIT = n and 32\n"
    ),
    "below a bracket in a comment": (
        "from pkg import target\n\n\ndef f():\n# see g(\n    target.LIMIT = 32\n\n\nf()\n"
    ),
    "below a bracket in a text": (
        'from pkg import target\n\n\ndef f():\n    """See\ng(\n\n    """\n'
        "    target.LIMIT = 32\n\n\nf()\n"
    ),
    "a subscript's target": "from pkg import target\n\nr = [0]\nr[int(0)], target.LIMIT = 1, 32\n",
    "in a class": "from pkg import target\n\n\nclass A:\n    target.LIMIT = 32\n",
}
CASES = {
    **{f"imported: {n}": (t, SETS["attribute"]) for n, t in IMPORTS.items()},
    **{f"set: {n}": (IMPORTS["star"], t) for n, t in SETS.items()},
}


def _python(root: Path, files: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> object:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    monkeypatch.syspath_prepend(str(root))
    try:
        return importlib.import_module("pkg.target").limit()
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] == "pkg"]:
            del sys.modules[name]


def _told(files: dict[str, str]) -> object:
    """What is known of it, which is the same where it was found before what modules set."""
    found = _asked(_project(files))
    known = _project(files).patches.set_elsewhere()
    assert _asked(_project(files, known)) == found
    return found


def _project(files: dict[str, str], elsewhere: SetElsewhere | None = None) -> PyProject:
    return PyProject(files.get, roots=("pkg",), externals=python_externals(), elsewhere=elsewhere)


def _asked(project: PyProject) -> object:
    machine = Machine()
    module = project.module("pkg.target")
    assert module is not None
    run = Run(machine)
    try:
        value = machine.call(run, module.lookup(run, "limit", NOWHERE), (), {}, NOWHERE)
    except Failed as failure:
        return None if failure.kind == "unknown" else failure.how
    return None if isinstance(value, Unknown) else value


def test_what_is_known_not_to_be_set_elsewhere() -> None:
    """Of a module that is given away, the names that somebody may set."""
    files = {
        "pkg/__init__.py": "from . import other\n",
        "pkg/target.py": "LIMIT = 16\nOTHER = 3\n",
        "pkg/other.py": "from . import target\n\n\ndef f(m):\n    m.LIMIT = 32\n\n\nf(target)\n",
        "pkg/unseen.py": "",
    }
    known = _project(files).patches.set_elsewhere()
    assert not known.everywhere
    assert known.names == {"pkg/target.py": {"LIMIT"}}
    assert known.rules_out("pkg/target.py", "OTHER")
    assert not known.rules_out("pkg/target.py", "LIMIT")
    assert known.rules_out("pkg/other.py", "LIMIT")
    assert not known.rules_out("pkg/unseen.py", "ANYTHING")


def test_what_may_be_set_of_any_module() -> None:
    text = "import sys\n\nfor m in sys.modules.values():\n    m.LIMIT = 32\n"
    files = {"pkg/__init__.py": "from . import other\n", "pkg/other.py": text}
    known = _project(files).patches.set_elsewhere()
    assert known.everywhere == {"LIMIT"}
    assert not known.names
    assert known.rules_out("pkg/__init__.py", "OTHER")
    assert not known.rules_out("pkg/__init__.py", "LIMIT")


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_name_that_another_module_sets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    root, other = CASES[name]
    other += "\nnothing = 0\n"
    files = {"pkg/__init__.py": root, "pkg/other.py": other, "pkg/target.py": TARGET}
    assert _python(tmp_path, files, monkeypatch) == 32
    assert _told(files) in (None, 32)


OTHERS = {
    "another module": "from pkg import third\n\nthird.LIMIT = 32\n",
    "an object": "class target:\n    pass\n\n\ntarget.LIMIT = 32\n",
    "one of its own": "LIMIT = 32\n",
    "compared": "from pkg import target\n\nassert target.LIMIT == 16\n",
}


@pytest.mark.parametrize("name", sorted(OTHERS))
def test_a_name_that_no_module_sets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    files = {"pkg/__init__.py": IMPORTS["star"], "pkg/other.py": OTHERS[name]}
    files |= {"pkg/target.py": TARGET, "pkg/third.py": ""}
    assert _python(tmp_path, files, monkeypatch) == 16
    assert _told(files) == 16
