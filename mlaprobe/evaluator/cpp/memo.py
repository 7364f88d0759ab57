"""Statements that macros write many times, translated once.

A router comes to some 20,000 tokens, most of which are a few statements again and again. Two
statements made of the same tokens are translated alike where every look-up that the translation of
the first one made gives the same for the second. So look-ups and declarations are recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from mlaprobe.core.caches import Cache
from mlaprobe.core.keeping import Memo
from mlaprobe.evaluator.cpp.tree import Syntax
from mlaprobe.evaluator.ir import Node

Fact = tuple[str, str]
"""A kind of knowledge, and the name that it is about."""
Knowledge: TypeAlias = Any
"""What is known of a name: the type of a variable or of the elements of an array, the text of the
type that an alias is of; ``None`` where nothing is."""
MOST_STATEMENTS = 20_000


@dataclass(frozen=True, kw_only=True)
class _Translation:
    """A translated statement."""

    node: Syntax
    used: dict[Fact, Knowledge]
    """The results of look-ups of names that the statement does not declare itself before."""
    declared: dict[Fact, Knowledge]
    result: Node

    @cached_property
    def shape(self) -> str:
        """Its syntax: how tokens are parsed may depend on what stands around them."""
        return str(self.node)


class StatementMemo:
    """The translated statements of one text."""

    def __init__(
        self,
        look_up: Callable[[str, str], Knowledge],
        declare: Callable[[str, str, Knowledge], None],
    ) -> None:
        """Both take a kind of knowledge and a name, the latter a value besides."""
        self._look_up = look_up
        self._declare = declare
        self._log: list[tuple[bool, Fact, Knowledge]] = []
        """Look-ups and declarations in order: whether it is the latter, of what, and the value."""
        self._translations: Memo[list[_Translation]] = Memo(Cache.STATEMENTS, MOST_STATEMENTS)
        """By tokens: with the sharing of tokens that it builds on (``macros.Expander``), the C++ of
        v0.1.20 is read in 0.55 s of CPU time in place of 0.85, 8 % of a cold report."""
        self._unique = 0

    def used(self, kind: str, name: str, value: Knowledge) -> None:
        """Records a look-up."""
        self._log.append((False, (kind, name), value))

    def declared(self, kind: str, name: str, value: Knowledge) -> None:
        """Records a declaration."""
        self._log.append((True, (kind, name), value))

    def keep_apart(self) -> None:
        """The statement that is being translated is not to be shared: a function belongs to the
        scope that it stands in."""
        self._unique += 1

    def mark(self) -> int:
        """The present end of the log."""
        return len(self._log)

    def end_scope(self, mark: int, kind: str) -> None:
        """Forgets the declarations of a kind since a mark."""
        declared = self._since(mark)[1]
        self._log += [(True, fact, value) for fact, value in declared.items() if fact[0] != kind]

    def translated(self, key: Hashable, node: Syntax, translate: Callable[[Syntax], Node]) -> Node:
        """The translation of a statement. ``key`` stands for its tokens and for what else a
        translation depends on."""
        known = self._translations.of(key, list)
        for made in known:
            same = all(self._look_up(*fact) == value for fact, value in made.used.items())
            if same and made.shape == str(node):
                self._log += [(False, fact, value) for fact, value in made.used.items()]
                for (kind, name), value in made.declared.items():
                    self._declare(kind, name, value)
                return made.result
        mark, unique = self.mark(), self._unique
        result = translate(node)
        used, declared = self._since(mark)
        self._log += [(True, fact, value) for fact, value in declared.items()]
        if self._unique == unique:
            known.append(_Translation(node=node, used=used, declared=declared, result=result))
        return result

    def _since(self, mark: int) -> tuple[dict[Fact, Knowledge], dict[Fact, Knowledge]]:
        """The look-ups since a mark of what had not been declared by then, and the declarations;
        the log holds the former only afterwards."""
        used: dict[Fact, Knowledge] = {}
        declared: dict[Fact, Knowledge] = {}
        for is_declared, fact, value in self._log[mark:]:
            if is_declared:
                declared[fact] = value
            elif fact not in declared:
                used[fact] = value
        self._log[mark:] = [(False, fact, value) for fact, value in used.items()]
        return used, declared
