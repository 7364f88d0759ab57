"""The dispatcher of a real release, with each comparison of the head count written in another
construct: it answers what it answered.

AITER's text is read from its repository; what is put in its place is written here.
"""

from __future__ import annotations

import ast
from functools import cache
from typing import Any

import pytest

from mlaprobe.core.shape import DecodeShape, Dtype, StageOutcome
from mlaprobe.deciding.capability import Capability
from mlaprobe.sources import open_source
from mlaprobe.sources.interface import SourceFile

RELEASE = "v0.1.20"
FILE, FUNCTION, HEADS = "aiter/mla.py", "mla_decode_fwd", "nhead"
AMONG = "_among"
"""The function that stands for a comparison: it gets the head count and the numbers."""
CONSTRUCTS = {
    "a function": """
def _among(n, tiles):
    for tile in tiles:
        if tile == n:
            return True
    return False
""",
    "a frozen dataclass": """
from dataclasses import dataclass as _dataclass

@_dataclass(frozen=True)
class _Tiles:
    heads: tuple

    def has(self, n):
        return n in self.heads

    @classmethod
    def of(cls, *heads):
        return cls(heads=heads)

def _among(n, tiles):
    return _Tiles.of(*tiles).has(n)
""",
    "a named tuple": """
from typing import NamedTuple as _NamedTuple

class _Tile(_NamedTuple):
    heads: int
    most: int = 99

    def fits(self, n):
        return n == self.heads and self.most > 1

def _among(n, tiles):
    return any(_Tile(t)._replace(most=8).fits(n) for t in tiles)
""",
    "a class": """
class _Tiles:
    def __init__(self, *heads):
        self._heads = frozenset(heads)

    @property
    def heads(self):
        return self._heads

    def __contains__(self, n):
        return n in self.heads

def _among(n, tiles):
    return n in _Tiles(*tiles)
""",
    "flags": """
from enum import IntFlag as _IntFlag

class _Can(_IntFlag):
    NO = 0
    RUN = 1
    FOLD = 2

def _among(n, tiles):
    found = _Can.NO
    for tile in tiles:
        if tile == n:
            found |= _Can.RUN
    return bool(found & _Can.RUN) and int(found) == 1
""",
    "match": """
def _among(n, tiles):
    match (n, list(tiles)):
        case (_, []):
            return False
        case (m, [first, *_]) if m == first:
            return True
        case (m, [_, *rest]):
            return _among(m, rest)
""",
    "sets and dicts": """
_SMALL, _EVEN = {1, 2, 4, 8}, set()
for _n in range(2, 300, 2):
    _EVEN.add(_n)

def _among(n, tiles):
    table = dict.fromkeys(tiles, 0)
    table |= {t: 1 for t in tiles if t in _EVEN | _SMALL}
    return table.get(n, -1) >= 0
""",
    "a table by text": """
_NAMES = {}
for _n in range(1, 300):
    _NAMES[f"h{_n}"] = _n

def _among(n, tiles):
    return any(_NAMES.get(f"h{t}", 0) == n for t in tiles)
""",
    "functools and itertools": """
from functools import lru_cache as _lru_cache, partial as _partial, reduce as _reduce
from itertools import chain as _chain, product as _product
from bisect import bisect_left as _bisect_left

@_lru_cache(maxsize=None)
def _sorted(tiles):
    return tuple(sorted(set(_chain(tiles, ()))))

def _equal(a, b):
    return a == b

def _among(n, tiles):
    heads = _sorted(tuple(tiles))
    at = _bisect_left(heads, n)
    there = at < len(heads) and heads[at] == n
    pairs = any(a == n for a, _ in _product(heads, (1,)))
    return there and pairs and _reduce(max, map(_partial(_equal, n), heads), False)
""",
    "a generator and a walrus": """
def _each(tiles):
    for tile in tiles:
        yield tile
    yield from ()

def _among(n, tiles):
    if any((found := t) == n for t in _each(tuple(tiles))):
        return found == n
    return next((True for t in tiles if t == n), False)
""",
    "a decorator": """
import functools as _functools

def _of_numbers(function):
    @_functools.wraps(function)
    def inner(*args, **kwargs):
        assert all(isinstance(a, (int, tuple, list, range)) for a in args)
        return function(*args, **kwargs)
    return inner

@_of_numbers
def _among(n, tiles):
    return n in tiles
""",
}
SHAPES = tuple(
    DecodeShape(
        arch=arch,
        q_dtype=Dtype(q),
        kv_dtype=Dtype(kv),
        num_heads=heads,
        qlen=qlen,
        persistent=persistent,
    )
    for arch in ("gfx942", "gfx950")
    for q, kv in (("bf16", "bf16"), ("fp8", "fp8"))
    for persistent in (True, False)
    for qlen in (1, 4)
    for heads in range(1, 161)
)


class _Comparisons(ast.NodeTransformer):
    """Puts calls in the place of comparisons of the head count with numbers."""

    def __init__(self) -> None:
        self.count = 0

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        named = isinstance(node.left, ast.Name) and node.left.id == HEADS
        if not named or len(node.ops) > 1 or not isinstance(node.ops[0], (ast.Eq, ast.In)):
            return node
        other = node.comparators[0]
        if any(isinstance(n, ast.Name) and n.id != "range" for n in ast.walk(other)):
            return node
        if isinstance(node.ops[0], ast.Eq):
            other = ast.Tuple([other], ast.Load())
        self.count += 1
        call = ast.Call(ast.Name(AMONG, ast.Load()), [node.left, other], [])
        return ast.copy_location(call, node)


def _rewritten(text: str, snippet: str) -> str:
    tree = ast.parse(text)
    at = next(i for i, n in enumerate(tree.body) if getattr(n, "name", "") == FUNCTION)
    transformer = _Comparisons()
    transformer.visit(tree.body[at])
    assert transformer.count > 10
    tree.body[at:at] = ast.parse(snippet).body
    return ast.unparse(ast.fix_missing_locations(tree))


def _told(git: object, snippet: str | None) -> list[tuple[Any, ...]]:
    with open_source(f"{git}@{RELEASE}") as source:
        if snippet is not None:
            original = source.read(FILE)
            assert original is not None
            data = _rewritten(original.text, snippet).encode()
            source._files[FILE] = SourceFile(path=FILE, data=data, blob="")
        capability = Capability(source)
        return [_answer(capability.ask("dispatcher", shape)) for shape in SHAPES]


def _answer(outcome: StageOutcome) -> tuple[Any, ...]:
    found = outcome
    return found.status, found.fold, found.qlen_fold, found.final_heads, found.entry, found.failure


@cache
def _original(git: object) -> list[tuple[Any, ...]]:
    return _told(git, None)


@pytest.mark.parametrize("name", sorted(CONSTRUCTS))
def test_a_rewritten_dispatcher_says_the_same(aiter_git: object, name: str) -> None:
    wanted = _original(aiter_git)
    assert {answer[0] for answer in wanted} == {"native", "fold", "rejected"}
    found = _told(aiter_git, CONSTRUCTS[name])
    pairs = zip(SHAPES, wanted, found, strict=True)
    wrong = [(s.num_heads, s.qlen, w, f) for s, w, f in pairs if w != f]
    assert not wrong, (len(wrong), wrong[0])
