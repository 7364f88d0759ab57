"""The intermediate form that both frontends produce and the machine runs.

It is the common subset of what C++ host code and Python dispatch code do: expressions,
assignments, branches, loops, calls, failures. What a frontend cannot translate becomes
:class:`Opaque` (an expression without a known value) or :class:`OpaqueStmt` (a statement that may
write the names it lists, and may do anything else besides).

``span`` is where the text stands in the source as people see it (a token of a macro body points
into the macro's definition).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple


class Span(NamedTuple):
    """A place in a source file; lines and columns are 1-based, the end is exclusive."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int


NOWHERE = Span("", 0, 0, 0, 0)


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """Anything that has a place."""

    span: Span


# --- expressions ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Const(Node):
    """A literal: int, bool, float, str, ``None`` (also ``nullptr`` and ``nullopt``)."""

    value: Any


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
    ``unsigned`` are the bits after which the result wraps around, 0 where it does not.
    """

    op: str
    left: Node
    right: Node
    unsigned: int = 0


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
    """A function or lambda.

    ``by_ref`` parameters are written back to a caller's variable (C++ non-const references).
    ``captures``: the body sees the enclosing function's variables.
    """

    name: str
    params: tuple[Param, ...]
    body: tuple[Node, ...]
    captures: bool = False
    result: CType | None = None
    decorators: tuple[Node, ...] = ()
    lang: str = "cpp"
    template: tuple[str, ...] = ()
    """Names of C++ template parameters."""
    copies: bool = False
    """Whether a C++ lambda captures by value."""


@dataclass(frozen=True, slots=True, eq=False)
class Param(Node):
    """``kind`` is ``normal``, ``keyword`` (keyword-only), ``*`` or ``**``."""

    name: str
    default: Node | None = None
    kind: str = "normal"
    type: CType | None = None


@dataclass(frozen=True, slots=True)
class CType:
    """What matters of a C++ type.

    ``kind``: ``int``, ``unsigned``, ``bool``, ``float``, ``string``, ``auto``, ``void`` or
    ``other``; ``bits`` for integers; ``name`` is the type as written, without qualifiers.
    """

    kind: str
    name: str = ""
    bits: int = 32
    const: bool = False
    ref: bool = False
    pointer: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Cast(Node):
    """A conversion to a C++ type."""

    type: CType
    value: Node


@dataclass(frozen=True, slots=True, eq=False)
class Construct(Node):
    """``Type{...}``: members in declaration order."""

    type: CType
    args: tuple[Node, ...]
    braced: bool = True


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


# --- statements ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Decl(Node):
    """A C++ declaration: a new variable of the enclosing block."""

    name: str
    type: CType
    init: Node | None
    static: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Unpack(Node):
    """C++ structured binding: new variables from a tuple or an aggregate."""

    names: tuple[str, ...]
    init: Node


@dataclass(frozen=True, slots=True, eq=False)
class Assign(Node):
    """Python assignment to one or more targets, or augmented with ``op``."""

    targets: tuple[Node, ...]
    value: Node
    op: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ExprStmt(Node):
    """An expression evaluated for what it does."""

    value: Node


@dataclass(frozen=True, slots=True, eq=False)
class Block(Node):
    """Statements; ``scoped``: variables declared inside end with it (C++)."""

    body: tuple[Node, ...]
    scoped: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class If(Node):
    """A branch."""

    test: Node
    then: tuple[Node, ...]
    orelse: tuple[Node, ...]


@dataclass(frozen=True, slots=True, eq=False)
class While(Node):
    """A loop; ``first``: the body runs before the first test (``do``)."""

    test: Node
    body: tuple[Node, ...]
    step: Node | None = None
    first: bool = False
    orelse: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class ForEach(Node):
    """A loop over the elements of something."""

    target: Node
    iterable: Node
    body: tuple[Node, ...]
    orelse: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Switch(Node):
    """A C++ switch: (labels, statements) in order, with fall-through; a label of ``None`` is
    ``default``."""

    value: Node
    cases: tuple[tuple[tuple[Node | None, ...], tuple[Node, ...]], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Return(Node):
    """Leave the function."""

    value: Node | None


@dataclass(frozen=True, slots=True, eq=False)
class Jump(Node):
    """``kind`` is ``break`` or ``continue``."""

    kind: str


@dataclass(frozen=True, slots=True, eq=False)
class Check(Node):
    """An assertion: fails with ``how`` when ``test`` is false (Python ``assert``)."""

    test: Node
    message: Node | None
    how: str = "AssertionError"


@dataclass(frozen=True, slots=True, eq=False)
class Throw(Node):
    """Raise: ``how`` is the exception's type name where it can be read; ``value`` its
    expression, ``None`` to raise again."""

    value: Node | None
    how: str = "exception"


@dataclass(frozen=True, slots=True, eq=False)
class Try(Node):
    """Handlers are (exception type names or ``None`` for all, bound name, body)."""

    body: tuple[Node, ...]
    handlers: tuple[tuple[tuple[str, ...] | None, str | None, tuple[Node, ...]], ...]
    orelse: tuple[Node, ...] = ()
    final: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Define(Node):
    """A nested function bound to its name."""

    function: Function


@dataclass(frozen=True, slots=True, eq=False)
class LocalClass(Node):
    """A class inside a function whose body only sets attributes."""

    name: str
    bases: tuple[Node, ...]
    attributes: tuple[tuple[str, Node], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Import(Node):
    """``from module import name as alias`` inside a function; ``name`` is ``None`` for a plain
    import of the module. The module is absolute."""

    module: str
    name: str | None
    alias: str


@dataclass(frozen=True, slots=True, eq=False)
class OpaqueStmt(Node):
    """A statement that cannot be followed: it may write ``writes``, and with ``exits`` it may
    also leave the function or fail."""

    reason: str
    writes: tuple[str, ...] = ()
    exits: bool = False
