"""Names that modules further down a package's imports set in others, what they change in place
there, and functions that are given a module: known only as what Python itself finds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.evaluator.test_patches import _python, _told

ROOT = "from . import near\n"
NEAR = "from . import far\n"
TARGET = """\
LIMIT = 16
TABLE = {"limit": 16}
ROWS = [16]


class Rules:
    limit = 16


def of():
    return 16


def limit():
    return max(LIMIT, TABLE["limit"], max(ROWS), Rules.limit, of())
"""
HELP = "def set_in(m):\n    m.LIMIT = 32\n"
WRITES = {
    "over lines": "    (\n        m.LIMIT,  # so\n        x,\n    ) = 32, 1\n",
    "in a list": "    [x, *m.LIMIT] = 1, 32\n    m.LIMIT = m.LIMIT[0]\n",
    "second of a line": "    x, m.LIMIT = 1, 32\n",
    "in parentheses": "    (m.LIMIT, x) = 32, 1\n",
    "in brackets": "    [x, m.LIMIT] = 1, 32\n",
    "inside of others": "    (x, (y, m.LIMIT)) = 1, (2, 32)\n",
    "behind a row": "    d = {}\n    d['a'], m.LIMIT = 1, 32\n",
    "before a row": "    d = {}\n    m.LIMIT, d['a'] = 32, 1\n",
    "with spaces": "    m . LIMIT=32\n",
    "by another name for a row": "    t = m.TABLE\n    t['limit'] = 32\n",
    "by a name in a test": "    if t := m.TABLE:\n        t['limit'] = 32\n",
    "by its dictionary": "    m.__dict__['LIMIT'] = 32\n",
    "by vars": "    vars(m)['LIMIT'] = 32\n",
    "by its text": "    setattr(m, 'LIMIT', 32)\n",
    "in a chain": "    x = m.LIMIT = 32\n",
    "after a backslash": "    m.LIMIT \\\n        = 32\n",
    "in a loop": "    for m.LIMIT in (16, 32):\n        pass\n",
    "in a comprehension": "    [0 for m.LIMIT in (16, 32)]\n",
    "by with": (
        "    from contextlib import nullcontext\n\n"
        "    with nullcontext(32) as m.LIMIT:\n        pass\n"
    ),
    "with a type": "    m.LIMIT: int = 32\n",
    "added to": "    m.LIMIT += 16\n",
    "a row": "    m.TABLE['limit'] = 32\n",
    "a list": "    m.ROWS.append(32)\n",
    "a list in a call": "    print(m.ROWS.append(32), end='')\n",
    "a class": "    m.Rules.limit = 32\n",
}
HELPED = "from . import target\n\n\ndef set_in(m):\n{}\n\nset_in(target)\n"
FAR = {
    "attribute": "from . import target\n\ntarget.LIMIT = 32\n",
    "under another name": "from . import target as y\n\ny.of = lambda: 32\n",
    "after a semicolon": "from . import target\n\nn = 1; target.LIMIT = 32\n",
    "on the line of a condition": "from . import target\n\nif True: target.LIMIT = 32\n",
    "in a condition": "from . import target\n\nif target.LIMIT:\n    target.LIMIT = 32\n",
    "in a try": (
        "try:\n    from . import target\n    target.LIMIT = 32\nexcept ImportError:\n    pass\n"
    ),
    "in a function": "from . import target\n\n\ndef f():\n    target.LIMIT = 32\n\n\nf()\n",
    "in a class": "from . import target\n\n\nclass A:\n    target.LIMIT = 32\n",
    "in a decorator": (
        "from . import target\n\n\ndef as_of(f):\n    target.of = f\n    return f\n\n\n"
        "@as_of\ndef mine():\n    return 32\n"
    ),
    "to a helper": f"from . import target\n\n\n{HELP}\n\nset_in(target)\n",
    "to a helper elsewhere": "from . import helper, target\n\nhelper.set_in(target)\n",
    "to a helper by keyword": (
        "from . import target\nfrom .helper import set_in\n\nset_in(m=target)\n"
    ),
    "over modules": (
        "from . import helper, target\n\nfor m in (helper, target):\n    m.LIMIT = 32\n"
    ),
    "kept in an object": (
        "from . import target\n\n\nclass A:\n    pass\n\n\na = A()\na.m = target\na.m.LIMIT = 32\n"
    ),
    "kept in a table": "from . import target\n\nm = {'t': target}\nm['t'].LIMIT = 32\n",
    "given by a function": (
        "from . import target\n\n\ndef it():\n    return target\n\n\nit().LIMIT = 32\n"
    ),
    "of another's name": "from .helper import there\n\nthere.LIMIT = 32\n",
    "of another's attribute": "from . import helper\n\nhelper.there.LIMIT = 32\n",
    "of a star": "from .helper import *\n\nthere.LIMIT = 32\n",
    "setattr by name": (
        "import sys\n\nfrom . import target\n\nsetattr(sys.modules['pkg.target'], 'LIMIT', 32)\n"
    ),
    "setattr by a computed name": (
        "import sys\n\nfrom . import target\n\nn = 'pkg.' + 'target'\n"
        "setattr(sys.modules[n], 'LIMIT', 32)\n"
    ),
    "kept by a computed name": (
        "import importlib\n\nn = 'pkg.' + 'target'\nm = importlib.import_module(n)\nm.LIMIT = 32\n"
    ),
    "vars": "from . import target\n\nvars(target)['LIMIT'] = 32\n",
    "dictionary": "from . import target\n\ntarget.__dict__.update(LIMIT=32)\n",
    "globals of a function": "from .target import of\n\nof.__globals__['LIMIT'] = 32\n",
    "an alias of an alias": "from . import target\n\na = target\nb = a\nb.LIMIT = 32\n",
    "a starred table": "from .target import *\n\nTABLE['limit'] = 32\n",
    "another name for a table": (
        "from . import target\n\nt = target.TABLE\nu = t\nu['limit'] = 32\n"
    ),
    "on the line of an import": (
        "from .helper import set_in\n\nfrom . import target; set_in(target)\n"
    ),
    "by the package": "import pkg.target\n\npkg.target.LIMIT = 32\n",
    "by an alias of one that has it": ("from . import helper\n\na = helper\na.there.LIMIT = 32\n"),
    "first of the text": "import pkg.target; pkg.target.LIMIT = 32\n",
    **{f"by a helper, {name}": HELPED.format(text) for name, text in WRITES.items()},
    **{
        f"written {name}": "from . import target\n\nif 1:\n" + re.sub(r"\bm\b", "target", text)
        for name, text in WRITES.items()
    },
    "deleted": "from . import target\n\ndel target.LIMIT\ntarget.LIMIT = 32\n",
    "a row of a table": "from . import target\n\ntarget.TABLE['limit'] = 32\n",
    "a table's update": "from . import target\n\ntarget.TABLE.update(limit=32)\n",
    "a row of an imported table": "from .target import TABLE\n\nTABLE['limit'] = 32\n",
    "an imported table's union": "from .target import TABLE\n\nTABLE |= {'limit': 32}\n",
    "an imported list": "from .target import ROWS\n\nROWS.append(32)\n",
    "an imported list, added": "from .target import ROWS\n\nROWS += [32]\n",
    "a class of the module": "from . import target\n\ntarget.Rules.limit = 32\n",
    "an imported class": "from .target import Rules\n\nRules.limit = 32\n",
    "an imported class, setattr": "from .target import Rules as R\n\nsetattr(R, 'limit', 32)\n",
    "the code of a function": "from .target import of\n\nof.__code__ = (lambda: 32).__code__\n",
    "loaded by its name": "import importlib\n\nimportlib.import_module('pkg.deep')\n",
    "loaded beside": "import importlib\n\nimportlib.import_module('.deep', 'pkg')\n",
    "loaded by __import__": "__import__('pkg.deep')\n",
    "of a package on the way": "import pkg.inner.leaf\n",
}
DEEP = "from . import target\n\ntarget.LIMIT = 32\n"


def _files(far: str) -> dict[str, str]:
    return {
        "pkg/__init__.py": ROOT,
        "pkg/near.py": NEAR,
        "pkg/far.py": far,
        "pkg/deep.py": DEEP,
        "pkg/inner/__init__.py": "from .. import target\n\ntarget.LIMIT = 32\n",
        "pkg/inner/leaf.py": "",
        "pkg/helper.py": f"from . import target as there\n\nLIMIT = 1\n\n\n{HELP}",
        "pkg/target.py": TARGET,
    }


@pytest.mark.parametrize("name", sorted(FAR))
def test_what_a_module_further_down_sets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    files = _files(FAR[name])
    assert _python(tmp_path, files, monkeypatch) == 32
    assert _told(files) in (None, 32)


KEPT = {
    "of its own": "LIMIT = 32\nTABLE = {}\nTABLE['limit'] = 32\n",
    "of a helper": "from . import helper\n\nhelper.LIMIT = 32\n",
    "a copy": "from .target import TABLE\n\nmine = dict(TABLE)\nmine['limit'] = 32\n",
    "an object of the same name": "class target:\n    pass\n\n\ntarget.LIMIT = 32\n",
    "read": "from . import target\n\nassert getattr(target, 'LIMIT') == target.TABLE['limit']\n",
    "read in a call over lines": (
        "from . import target\n\n\ndef it():\n    return target\n\n\n"
        "print(\n    it().LIMIT, end=''\n)\n"
    ),
    "bound anew": "from .target import LIMIT\n\nLIMIT = 32\n",
}


@pytest.mark.parametrize("name", sorted(KEPT))
def test_what_a_module_further_down_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    files = _files(KEPT[name])
    assert _python(tmp_path, files, monkeypatch) == 16
    assert _told(files) == 16
