"""What is done to a value, and what matters of the value for that."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

READ, CHANGE, ESCAPE = range(3)
Found = tuple[int, ast.AST | None]
"""The worst that is done to a value, and where."""
NOTHING: Found = (READ, None)


_MOST = 9
"""Stands for any number of levels."""


@dataclass(frozen=True, slots=True)
class Sort:
    """What a value is like, as far as it matters to what may change it."""

    levels: int = _MOST
    """How many values that can be changed are inside one another, itself among them."""
    fresh: int = 0
    """How many new containers are around it: what is done to these does nothing to it."""
    acting: bool = False
    """Whether looking at it runs methods of the source that change something."""
    grows: bool = False
    """Whether a look-up makes what is missing."""
    plain: bool = False
    """Whether no objects of classes of the source are in it: what is a key cannot be changed."""
    keys: frozenset[object] = frozenset()
    """The keys that it has."""

    @property
    def flat(self) -> bool:
        """Whether nothing that it holds can be changed."""
        return self.levels <= 1 and not self.fresh

    @property
    def inside(self) -> Sort:
        """Something that the value holds."""
        if self.fresh:
            return replace(self, fresh=self.fresh - 1)
        levels = self.levels if self.levels == _MOST else self.levels - 1
        return Sort(levels=levels, acting=self.acting, plain=self.plain)

    @property
    def held(self) -> Sort:
        """The value in a new container."""
        return replace(self, fresh=self.fresh + 1)


INSIDE = Sort()
"""Something of which nothing is known."""


def worst(one: Found, other: Found) -> Found:
    """The worse of two."""
    return one if one[0] >= other[0] else other
