"""Expressions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlaprobe.evaluator.ir.base import CType, Node, Param


@dataclass(frozen=True, slots=True, eq=False)
class Const(Node):
    """A literal: int, bool, float, str, ``None`` (also ``nullptr`` and ``nullopt``)."""

    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class Character(Const):
    """A C++ character."""


@dataclass(frozen=True, slots=True, eq=False)
class Name(Node):
    """A name; C++ qualified names keep their ``::``."""

    id: str


@dataclass(frozen=True, slots=True, eq=False)
class Unary(Node):
    """``op`` is one of ``- + ~ not``."""

    op: str
    value: Node


@dataclass(frozen=True, slots=True, eq=False)
class Binary(Node):
    """``op`` is arithmetic (``+ - * / // % ** & | ^ << >>``), a comparison
    (``== != < <= > >=``) or one of Python's ``is``, ``is not``, ``in``, ``not in``.

    C++ division is spelled ``c/`` and its remainder ``c%`` (they truncate towards zero).
    ``unsigned`` are the bits after which the result wraps around, 0 where it does not; ``modulo``:
    whether it certainly does.
    """

    op: str
    left: Node
    right: Node
    unsigned: int = 0
    modulo: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Bool(Node):
    """``and`` / ``or`` over two or more parts, left to right.

    ``coerce``: the result is a bool (C++), not the deciding operand (Python).
    """

    op: str
    parts: tuple[Node, ...]
    coerce: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Cond(Node):
    """``test ? then : orelse``."""

    test: Node
    then: Node
    orelse: Node


@dataclass(frozen=True, slots=True, eq=False)
class Call(Node):
    """A call. ``Star`` nodes may stand among the arguments; a keyword ``None`` is ``**``."""

    func: Node
    args: tuple[Node, ...]
    kwargs: tuple[tuple[str | None, Node], ...] = ()
    template: tuple[Node, ...] = ()
    """C++ template arguments; a type is a name like any other."""


@dataclass(frozen=True, slots=True, eq=False)
class Launch(Node):
    """A GPU kernel launch: an event that writes no host state."""

    name: str
    args: tuple[Node, ...]
    template: tuple[Node, ...] = ()
    """C++ template arguments."""
    config: tuple[Node, ...] = ()
    """Grid, workgroup, bytes of LDS, stream."""


@dataclass(frozen=True, slots=True, eq=False)
class Star(Node):
    """``*value`` in a call, a tuple or a list."""

    value: Node


@dataclass(frozen=True, slots=True, eq=False)
class Attr(Node):
    """``obj.name`` (C++ ``->`` too: a pointer to an object is the object)."""

    obj: Node
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Index(Node):
    """``obj[key]``."""

    obj: Node
    key: Node


@dataclass(frozen=True, slots=True, eq=False)
class Slice(Node):
    """``lower:upper:step`` inside an index."""

    lower: Node | None
    upper: Node | None
    step: Node | None


@dataclass(frozen=True, slots=True, eq=False)
class Sequence(Node):
    """A tuple, list or set display; C++ braced lists are ``braced``."""

    kind: str
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Members(Node):
    """``{.member = value}`` in C++: names and values."""

    items: tuple[tuple[Node, Node], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Specialised(Node):
    """``name<arguments>`` or ``name<arguments>::last`` of a C++ template."""

    name: str
    args: tuple[Node, ...]
    last: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Fold(Node):
    """A C++ fold expression: a pattern for every element of a parameter pack, joined by an operator
    from the left."""

    op: str
    pattern: Node
    pack: str
    first: Node | None = None
    """The operand that is no element."""


@dataclass(frozen=True, slots=True, eq=False)
class ArrayInit(Node):
    """The braced list that a C array is made from; what it leaves out is zero.

    ``sizes`` are its dimensions from the outside in, ``None`` for one that the list decides.
    """

    element: CType
    items: tuple[Node, ...]
    sizes: tuple[Node | None, ...]
    const: bool


@dataclass(frozen=True, slots=True, eq=False)
class Mapping(Node):
    """A dict display; a key of ``None`` is ``**value``."""

    items: tuple[tuple[Node | None, Node], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Comprehension(Node):
    """``kind`` is ``list``, ``set``, ``tuple`` (a generator) or ``dict`` (``element`` is then a
    two-item Sequence). Each clause is (target, iterable, conditions)."""

    kind: str
    element: Node
    clauses: tuple[tuple[Node, Node, tuple[Node, ...]], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Format(Node):
    """A formatted string: the parts' texts, joined; a part that has no known text is shown as
    its expression. ``labels`` are those expressions as text."""

    parts: tuple[Node, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Function(Node):
    """A function or lambda."""

    name: str
    params: tuple[Param, ...]
    body: tuple[Node, ...]
    result: CType | None = None
    decorators: tuple[Node, ...] = ()
    lang: str = "cpp"
    template: tuple[str, ...] = ()
    """Names of C++ template parameters."""
    copies: bool = False
    """Whether a C++ lambda captures by value."""
    captures: tuple[tuple[str, Node, bool], ...] = ()
    """Variables that a C++ lambda has of its own: name, first value, whether it is a reference."""
    cached: bool = False
    """Whether Python keeps its results (``functools.lru_cache``)."""
    generator: bool = False
    """Whether a call of it in Python gives an iterator."""

    @property
    def never_returns(self) -> bool:
        """Whether it is declared so: it reports what is wrong."""
        return any(isinstance(d, Name) and d.id == "noreturn" for d in self.decorators)

    @property
    def gives_reference(self) -> bool:
        """Whether it gives a reference that can be written through."""
        return self.result is not None and self.result.ref and not self.result.const


@dataclass(frozen=True, slots=True, eq=False)
class Cast(Node):
    """A conversion to a C++ type; ``modulo``: of a number that may have more bits."""

    type: CType
    value: Node
    modulo: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Construct(Node):
    """``Type{...}``: members in declaration order."""

    type: CType
    args: tuple[Node, ...]
    braced: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class New(Node):
    """A C++ pointer to a new value; ``owned``: one that deletes it."""

    value: Node
    owned: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class AddressOf(Node):
    """``&value``: a pointer through which the value can be written."""

    value: Node


@dataclass(frozen=True, slots=True, eq=False)
class Deref(Node):
    """``*value``."""

    value: Node


@dataclass(frozen=True, slots=True, eq=False)
class AssignExpr(Node):
    """An assignment used as an expression; ``op`` is ``None`` or an arithmetic operator.

    ``postfix``: the value is the one before (``x++``).
    """

    target: Node
    value: Node
    op: str | None = None
    postfix: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Opaque(Node):
    """An expression that cannot be followed."""

    reason: str
    writes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Class(Node):
    """A Python class; its names are a scope of their own, which its methods do not see."""

    name: str
    bases: tuple[Node, ...]
    keywords: tuple[tuple[str | None, Node], ...]
    decorators: tuple[Node, ...]
    body: tuple[Node, ...]
    annotated: tuple[tuple[str, str], ...] = ()
    """The names with an annotation, in order, and its text."""
