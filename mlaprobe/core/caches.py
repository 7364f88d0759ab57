"""The caches of a process by their names, each of which can be taken away.

A cache holds what could be made again, and nothing else: with any of them off, or all, every answer
is the same. What is made once because it has to be one and the same thing (the modules of a source,
their functions and types, lazy attributes) is no cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from mlaprobe.core.enums import TextEnum

if TYPE_CHECKING:
    from functools import _lru_cache_wrapper

T = TypeVar("T")


class Cache(TextEnum):
    """The names of the caches, with what each buys: user CPU time on two cores, in release v0.1.20.

    *One*: a decision with its proof, the source opened (0.8 s). *Grid*: 3072 decisions (1.7 s).
    *Plans*: 43 plans of a bundled release, each made twenty times (0.33 s). *Rows*: two bundled
    releases compared (0.77 s). *Snapshot*: one arch and one pair of dtypes at 36 head counts and
    3 query lengths (13 s). With all of them off, one question takes twenty times as long.
    """

    RULES = "rules"
    """Rule files, and what is made of them. Plans take 0.85 s without."""
    NAMES = "names"
    """Archs, releases and dtypes by their names. Plans take 0.38 s without."""
    TEXTS = "texts"
    """Texts as they are printed, and the files that a page is made of."""
    SPELLINGS = "spellings"
    """What the text of a C++ file defines and writes. One takes 1.0 s without."""
    TOKENS = "tokens"
    """What macros expand to, shared by all places. One takes 0.9 s without."""
    STATEMENTS = "statements"
    """Statements made of the same tokens, translated once. One takes 1.0 s without."""
    FORMULAS = "formulas"
    """Compiled formulas over the inputs of questions. A snapshot takes 16 s without."""
    CODE = "code"
    """Compiled functions. One takes 1.1 s without, the grid 4.0 s."""
    PATHS = "paths"
    """Runs over symbols, which answer questions that differ in numbers (``SourceSession.solve``).
    """
    CALLS = "calls"
    """What the calls of one path have in common. The grid takes 1.9 s without."""
    STAGES = "stages"
    """Answers of stages, whose evidence is looked for once. 32 decisions with their proof (1.50 s)
    take 1.55 s without."""
    DECISIONS = "decisions"
    """Composed answers. Plans take 0.58 s without."""
    PLANS = "plans"
    """Plans, and the parts of one. Plans take 1.7 s without."""
    PROOFS = "proofs"
    """Evidence of cells that take the same paths. A snapshot takes 15.5 s without."""
    RECORDS = "records"
    """Tables and records of a snapshot, as answers. Rows take 2.4 s without."""
    ROWS = "rows"
    """Behaviours of cells whose records are alike. Rows take 21 s without."""


_off: frozenset[Cache] = frozenset()


class _Off(dict[Any, Any]):
    """A cache that is off: it holds nothing."""

    def __setitem__(self, key: object, value: object) -> None:
        """Forgets the value at once."""

    def setdefault(self, key: object, default: Any = None) -> Any:
        """The default, which is not kept."""
        return default


def cache(name: Cache) -> dict[Any, Any]:
    """A new cache. Whoever uses it may find anything gone that was put there."""
    return _Off() if name in _off else {}


def cached(name: Cache, size: int = 1) -> Callable[[Callable[..., T]], _lru_cache_wrapper[T]]:
    """Remembers what a function returned last, for ``size`` different arguments. That of a module
    is on or off for good: it was made with the module."""
    return lru_cache(maxsize=0 if name in _off else size)


@contextmanager
def without(*names: Cache) -> Iterator[None]:
    """Turns off those of some caches that are made inside. For tests and measurements; no other
    thread may be at work."""
    global _off
    before, _off = _off, frozenset(names)
    try:
        yield
    finally:
        _off = before
