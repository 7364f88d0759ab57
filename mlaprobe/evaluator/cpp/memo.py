"""Pieces of code that macros write many times, translated once.

A router comes to some 20,000 tokens, most of which are a few statements again and again. Two
statements made of the very same tokens are translated alike where what was looked up for the one is
still so for the other. Both are found out by watching: every look-up and every declaration of a
translation is written down.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mlaprobe.core.caches import Cache, cache
from mlaprobe.evaluator.ir import Node

Fact = tuple[str, str]
"""A kind of knowledge, and the name that it is about."""


@dataclass(frozen=True, kw_only=True)
class _Made:
    """A translated statement."""

    node: Any
    asked: dict[Fact, Any]
    """What it was told about names that it does not declare itself before."""
    declared: dict[Fact, Any]
    result: Node

    @cached_property
    def shape(self) -> str:
        """Its syntax: how tokens are parsed may depend on what stands around them."""
        return str(self.node)


class Memo:
    """Remembers the statements of one text."""

    def __init__(
        self, known: Callable[[str, str], Any], declare: Callable[[str, str, Any], None]
    ) -> None:
        """``known`` tells what is known of a name, ``declare`` changes that."""
        self._known = known
        self._declare = declare
        self._log: list[tuple[bool, Fact, Any]] = []
        """What happened: whether it was a declaration, of what, and the value."""
        self._made: dict[Hashable, list[_Made]] = cache(Cache.STATEMENTS)
        self._single = 0

    def asked(self, kind: str, name: str, value: Any) -> None:
        """Something was looked up."""
        self._log.append((False, (kind, name), value))

    def declared(self, kind: str, name: str, value: Any) -> None:
        """Something was declared."""
        self._log.append((True, (kind, name), value))

    def single(self) -> None:
        """What is being translated may stand in one place only: a function belongs to the scope
        that it stands in."""
        self._single += 1

    def begin(self) -> int:
        """A mark in the log."""
        return len(self._log)

    def forget(self, begun: int, kind: str) -> None:
        """Declarations of a kind since a mark end here."""
        declared = self._since(begun)[1]
        self._log += [(True, fact, value) for fact, value in declared.items() if fact[0] != kind]

    def once(self, key: Hashable, node: Any, translate: Callable[[Any], Node]) -> Node:
        """A statement, translated or remembered. ``key`` stands for its tokens and for what else
        a translation depends on."""
        candidates = self._made.setdefault(key, [])
        for made in candidates:
            still = all(self._known(*fact) == value for fact, value in made.asked.items())
            if still and made.shape == str(node):
                self._log += [(False, fact, value) for fact, value in made.asked.items()]
                for (kind, name), value in made.declared.items():
                    self._declare(kind, name, value)
                return made.result
        begun, single = self.begin(), self._single
        result = translate(node)
        asked, declared = self._since(begun)
        self._log += [(True, fact, value) for fact, value in declared.items()]
        if self._single == single:
            made = _Made(node=node, asked=asked, declared=declared, result=result)
            candidates.append(made)
        return result

    def _since(self, begun: int) -> tuple[dict[Fact, Any], dict[Fact, Any]]:
        """What was asked since a mark of what was not declared by then, and what was declared; the
        log holds the former only afterwards."""
        asked: dict[Fact, Any] = {}
        declared: dict[Fact, Any] = {}
        for is_declared, fact, value in self._log[begun:]:
            if is_declared:
                declared[fact] = value
            elif fact not in declared:
                asked[fact] = value
        self._log[begun:] = [(False, fact, value) for fact, value in asked.items()]
        return asked, declared
