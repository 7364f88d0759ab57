"""Values that cannot be computed, each with the reason and the place."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator

from mlaprobe.evaluator.ir import NOWHERE, CType, Span
from mlaprobe.evaluator.symbolic.symbols import Sym, key_of
from mlaprobe.evaluator.values.value import Value

MAX_KEY_DEPTH = 6
_SERIAL = itertools.count()


UNINITIALISED = "uninitialised"
"""The ``free`` name of what a C++ variable holds that was given no value."""


STORED = "stored"
"""What the key begins with of a number as a variable of a type holds it."""
_COMPARED = ("<", "<=", ">", ">=", "==", "!=", "in")
_TRUTHS = frozenset((*_COMPARED, "not", "and", "or", "any", "all", "truth"))


class Unknown:
    """A value that cannot be computed, with the reason and the place.

    Two unknowns with one ``key`` stand for the same value, so that a path through the program stays
    consistent when it branches on it twice. ``free`` names an input that may take any value (the
    batch size, the number of compute units); an unknown without it could not be followed. One made
    without a key is like no other: the same place may give something else the next time.
    """

    __slots__ = ("depth", "foreign", "free", "key", "reason", "span")

    present = False
    """Whether the value is something, not ``None``."""

    def __init__(
        self,
        reason: str,
        span: Span = NOWHERE,
        *,
        key: Hashable | None = None,
        free: str | None = None,
        depth: int = 0,
        foreign: bool = False,
    ) -> None:
        self.foreign = foreign
        """Whether it comes from outside the source (the GPU runtime, a library), where calls are
        taken to return."""
        self.reason = reason
        self.span = span
        self.key: Hashable = key if key is not None else ("?", next(_SERIAL))
        self.free = free
        self.depth = depth

    def derive(self, op: str, *operands: Value) -> Unknown:
        """The unknown result of an operation on this value."""
        free, reason, span, depth = self.free, self.reason, self.span, self.depth
        for other in _scalars(operands):
            if isinstance(other, Unknown):
                depth = max(depth, other.depth)
                if free is not None and other.free is None:
                    free, reason, span = None, other.reason, other.span
        if depth >= MAX_KEY_DEPTH:
            return Unknown(reason, span, free=free, foreign=self.foreign)
        if not any(x is self for x in operands):
            operands = (self, *operands)
        keys = tuple(_key_of(x) for x in operands)
        return Unknown(
            reason, span, key=(op, *keys), free=free, depth=depth + 1, foreign=self.foreign
        )

    def stored(self, ctype: CType) -> Unknown:
        """The number in a variable of a type; in one of few bits, a ``bool`` or a floating one it
        may become another."""
        narrow = ctype.kind in ("int", "unsigned") and ctype.bits < 32
        if not narrow and ctype.kind not in ("bool", "float"):
            return self
        key = (STORED, ctype.kind, ctype.name, self.key)
        same = isinstance(self.key, tuple) and self.key[:3] == key[:3]
        if type(self) is not Unknown or same or (ctype.kind == "bool" and is_truth(self)):
            return self
        return Unknown(
            self.reason,
            self.span,
            key=key,
            free=self.free,
            depth=self.depth,
            foreign=self.foreign,
        )

    def another(self) -> Unknown:
        """An unknown for the same reason, and equal to no other."""
        return Unknown(self.reason, self.span, free=self.free, foreign=self.foreign)

    def __bool__(self) -> bool:
        raise TypeError(f"an unknown value was used as a truth value: {self.reason}")

    def __repr__(self) -> str:
        return f"Unknown({self.reason!r})"


def _scalars(values: Iterable[Value]) -> Iterator[Value]:
    """Values, and for tuples what is in them, at any depth."""
    for value in values:
        if type(value) is tuple:
            yield from _scalars(value)
        else:
            yield value


def _key_of(value: Value) -> Hashable:
    if isinstance(value, Unknown):
        return value.key
    if type(value) is Sym:
        return key_of(value)
    if type(value) is tuple:
        return ("tuple", *map(_key_of, value))
    try:
        hash(value)
    except TypeError:
        return ("?", next(_SERIAL))
    return (type(value).__name__, value)


def is_truth(value: Unknown) -> bool:
    """Whether a value is certainly true or false, and no other number."""
    return isinstance(value.key, tuple) and value.key[0] in _TRUTHS


class Unsure(Unknown):
    """A truth value that Python may refuse to tell."""

    __slots__ = ()

    def derive(self, op: str, *operands: Value) -> Unknown:
        found = super().derive(op, *operands)
        return Unsure(
            found.reason, found.span, key=found.key, depth=found.depth, foreign=found.foreign
        )


class Something(Unknown):
    """An unknown value that is not ``None``."""

    __slots__ = ()

    present = True


class SomeText(Something):
    """A text of which parts are not known; for people it is ``shown`` (a text or a ``SymText``)."""

    __slots__ = ("shown",)

    def __init__(self, shown: Value, why: Unknown) -> None:
        super().__init__(
            why.reason,
            why.span,
            key=("text", why.key),
            free=why.free,
            depth=why.depth,
            foreign=why.foreign,
        )
        self.shown = shown


class PathText(SomeText):
    """A path in the source; as a text it is not known."""

    __slots__ = ("path",)

    def __init__(self, path: str, span: Span) -> None:
        why = Unknown(f"where {path} lies is not known", span, key=("path", path), foreign=True)
        super().__init__(path, why)
        self.path = path

    def followed_by(self, text: str) -> PathText:
        """The path with a text behind it."""
        return PathText(self.path + text, self.span)


class Rest(Unknown):
    """Stands first in a list or a dict, or in a set, for elements that are not known: none, one or
    many."""

    __slots__ = ()


def rest_of(value: Value) -> Rest | None:
    """Why it is not known what a list, a dict or a set holds besides, where that is so."""
    if isinstance(value, set):
        return next((v for v in value if type(v) is Rest), None)
    if isinstance(value, (list, dict)) and value:
        first = value[0] if isinstance(value, list) else next(iter(value))
        return first if type(first) is Rest else None
    return None


def unknown_in(value: Value) -> Unknown | None:
    """The first unknown in a value, at any depth."""
    if isinstance(value, Unknown):
        return value
    parts: Value = ()
    if isinstance(value, (tuple, list, set, frozenset)):
        parts = value
    elif isinstance(value, dict):
        parts = (*value.keys(), *value.values())
    return next((u for u in map(unknown_in, parts) if u is not None), None)
