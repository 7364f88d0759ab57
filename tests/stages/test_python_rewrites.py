"""The dispatcher of a real release, edited: it answers what the same edit in plain words answers,
or it is not known what it does.

AITER's text is read from its repository; what is put in its place is written here.
"""

from __future__ import annotations

from typing import Any

import pytest

from mlaprobe.core.shape import DecodeShape, Dtype
from mlaprobe.deciding.capability import Capability
from mlaprobe.sources import open_source
from mlaprobe.sources.interface import SourceFile

RELEASE, FILE = "v0.1.20.post1", "aiter/mla.py"
FUNCTION = "def mla_decode_fwd(\n    q,\n    kv_buffer,"
FIRST, LAST = (
    "        if (\n            nhead == 16\n",
    "        ):\n            # Natively support cases",
)
CALL = "        if _native(get_gfx(), nhead, max_seqlen_q, q.dtype, kv_buffer.dtype"
HEAD = "def _native(gfx, heads, qlen, q, kv):\n    return "
FEW = "heads in (16, 32)"
FOLLOWED = {
    "a block that uses what it binds": (
        "try:\n    _T = (16,)\n    from math import prod as _p\n"
        "except ImportError:\n    _p = None\nelse:\n    _T += (_p((2, 16)), 64)\n"
        "finally:\n    _T = _T[:2]\n",
        "heads in _T",
        FEW,
    ),
    "an if that binds a name twice": (
        "_T = (8,)\nif len(_T) == 1:\n    _T = (16,)\n    _T = _T + (32,)\n",
        "heads in _T",
        FEW,
    ),
    "a with that uses what it binds": (
        "from contextlib import suppress\n\n"
        "with suppress(KeyError):\n    _T = 16\n    _W = _T * 2\n",
        "heads in (_T, _W)",
        FEW,
    ),
    "positional only by name": (
        "def _inner(a, /, b):\n    return a == 16\n",
        "_inner(a=heads, b=1)",
        "(lambda: 0)(heads)",
    ),
    "positional only": (
        "def _inner(a, /, **more):\n    return a in (16, 32) and more['a'] < 3\n",
        "_inner(heads, a=qlen)",
        f"{FEW} and qlen < 3",
    ),
    "a device function defined anew": (
        "_asked = get_gfx\n\n\ndef get_gfx():\n    return 'gfx942' if _asked() else ''\n",
        "heads == 16 and gfx == 'gfx942'",
        "heads == 16",
    ),
    "a match of a mapping": (
        "def _among(key):\n    match key:\n        case {'heads': 16 | 32 as h, **rest} if rest:\n"
        "            return h > 0\n        case _:\n            return False\n",
        "_among({'heads': heads, 'qlen': qlen})",
        FEW,
    ),
    "closures bound late": (
        "_R = []\nfor _t in (16, 32):\n    _R.append(lambda h: h == _t)\n",
        "any(r(heads) for r in _R)",
        "heads == 32",
    ),
    "the truth of a tensor": ("", "bool(torch.empty(2)) or heads == 16", "(lambda: 0)(heads)"),
    "the limits of a dtype": (
        "",
        "heads == 16 and torch.finfo(q).bits in (8, 16) or heads == 32",
        FEW,
    ),
    "a variable of the environment": (
        "import os\n\n_M = int(os.environ['NO_KNOB']) if 'NO_KNOB' in os.environ else 32\n",
        "heads in (16, _M)",
        FEW,
    ),
    "a mask": ("_M = 1 << 16 | 1 << 32\n", "bool(_M >> heads & 1)", FEW),
    "a context manager": (
        "class _Quiet:\n    def __enter__(self):\n        return self\n\n"
        "    def __exit__(self, kind, error, trace):\n        return kind is KeyError\n\n\n"
        "def _among(heads):\n    with _Quiet():\n        return {16: True, 32: True}[heads]\n"
        "    return False\n",
        "_among(heads)",
        FEW,
    ),
    "a flag of nothing": (
        "from enum import Flag, auto\n\n\nclass _Can(Flag):\n    ONE = auto()\n    MANY = auto()\n"
        "\n\n_T = {16: _Can.ONE, 32: _Can.ONE | _Can.MANY}\n",
        "bool(_T.get(heads, _Can(0)) & _Can.ONE)",
        FEW,
    ),
    "a generator that is begun": (
        "def _tiles():\n    yield 8\n    yield from (16, 32)\n\n\ndef _rest():\n    it = _tiles()\n"
        "    next(it)\n    return list(it)\n",
        "heads in _rest()",
        FEW,
    ),
    "a registry of a metaclass": (
        "class _M(type):\n    rows = {}\n\n    def __new__(mcls, name, bases, ns):\n"
        "        cls = super().__new__(mcls, name, bases, ns)\n"
        "        mcls.rows[ns.get('heads')] = cls\n        return cls\n\n\n"
        "class _T(metaclass=_M):\n    heads = 16\n",
        "heads in _M.rows",
        "heads == 16",
    ),
    "a registry of base classes": (
        "class _T:\n    rows = {}\n\n    def __init_subclass__(cls, heads, **more):\n"
        "        super().__init_subclass__(**more)\n        _T.rows[heads] = cls\n\n\n"
        "class _A(_T, heads=16):\n    most = 4\n\n\nclass _B(_T, heads=32):\n    most = 2\n",
        "heads in _T.rows and qlen <= _T.rows[heads].most",
        "heads == 16 and qlen <= 4 or heads == 32 and qlen <= 2",
    ),
    "a registry of functions": (
        "_R = {}\n\n\ndef _rule(*heads):\n    def add(rule):\n        for h in heads:\n"
        "            _R[h] = rule\n        return rule\n\n    return add\n\n\n"
        "@_rule(16, 32)\ndef _few(qlen):\n    return qlen < 3\n\n\n"
        "@_rule(64)\ndef _one(qlen):\n    return qlen == 1\n",
        "heads in _R and _R[heads](qlen)",
        "heads in (16, 32) and qlen < 3 or heads == 64 and qlen == 1",
    ),
    "a name that is set before it is read": (
        "_N = None\n\n\ndef _put(heads):\n    global _N\n    _N = heads\n    return True\n",
        "_put(heads) and _N in (16, 32)",
        FEW,
    ),
}
OPEN = {
    "a class that its objects change": (
        "class _R:\n    rows = []\n\n    def add(self, h):\n        self.rows.append(h)\n\n\n"
        "_R().add(16)\n",
        "heads in _R.rows",
    ),
    "a module by its name": (
        "import sys\n\n_T = (16,)\nsetattr(sys.modules[__name__], '_T', (32,))\n",
        "heads in _T",
    ),
    "a module by another name": (
        "import sys\n\n_T = (16,)\n_me = sys.modules[__name__]\n_me._T = (32,)\n",
        "heads in _T",
    ),
    "what is not followed beside a gate": ("", "heads == 16 and torch.finfo(q).tiny > 1"),
    "a name that a function may set": (
        "_T = (16,)\n\n\ndef _put(tiles):\n    global _T\n    _T = tiles\n",
        "heads in _T",
    ),
}
SHAPES = tuple(
    DecodeShape(
        arch=arch, q_dtype=dtype, kv_dtype=dtype, num_heads=heads, qlen=qlen, persistent=True
    )
    for arch in ("gfx942", "gfx950")
    for dtype in (Dtype.BF16, Dtype.FP8)
    for qlen in (1, 2, 4)
    for heads in (1, 8, 12, 16, 20, 32, 48, 64, 96, 128)
)


def _told(git: object, before: str, condition: str) -> list[tuple[Any, ...]]:
    with open_source(f"{git}@{RELEASE}") as source:
        original = source.read(FILE)
        assert original is not None
        text = original.text
        assert text.count(FUNCTION) == 1
        start, end = text.index(FIRST), text.index(LAST)
        text = f"{text[:start]}{CALL}{text[end:].replace('        ):', '):', 1)}"
        text = text.replace(FUNCTION, f"{before}\n\n{HEAD}{condition}\n\n\n{FUNCTION}")
        source._files[FILE] = SourceFile(path=FILE, data=text.encode(), blob="")
        capability = Capability(source)
        found = [capability.ask("dispatcher", shape) for shape in SHAPES]
    return [(o.status.value, o.fold, o.final_heads, o.persistent, o.failure) for o in found]


@pytest.mark.parametrize("name", sorted(FOLLOWED))
def test_an_edit_is_what_it_is_in_plain_words(aiter_git: object, name: str) -> None:
    before, condition, plain = FOLLOWED[name]
    found, wanted = _told(aiter_git, before, condition), _told(aiter_git, "", plain)
    assert "unknown" not in {answer[0] for answer in found}
    assert found == wanted


@pytest.mark.parametrize("name", sorted(OPEN))
def test_an_edit_that_is_not_followed_is_no_answer(aiter_git: object, name: str) -> None:
    """Where 16 or 32 heads are native, or not, depends on what is not followed."""
    found = dict(zip(SHAPES, _told(aiter_git, *OPEN[name]), strict=True))
    assert {answer[0] for shape, answer in found.items() if shape.num_heads == 16} == {"unknown"}
