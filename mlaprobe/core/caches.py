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
    """The names of the caches, and what each buys."""

    # Of rules and inputs.
    RULES = "rules"
    NAMES = "names"
    # Of the text of a source.
    TEXTS = "texts"
    SPELLINGS = "spellings"
    TOKENS = "tokens"
    STATEMENTS = "statements"
    # Of what is run.
    FORMULAS = "formulas"
    CODE = "code"
    PATHS = "paths"
    CALLS = "calls"
    SYMBOLS = "symbols"
    # Of answers.
    STAGES = "stages"
    DECISIONS = "decisions"
    REFUSALS = "refusals"
    PLANS = "plans"
    # Of snapshots.
    CELLS = "cells"
    PROOFS = "proofs"
    RECORDS = "records"
    ROWS = "rows"


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
