"""Statements."""

from __future__ import annotations

from dataclasses import dataclass

from mlaprobe.evaluator.ir.base import CType, Node
from mlaprobe.evaluator.ir.expressions import Function


@dataclass(frozen=True, slots=True, eq=False)
class Decl(Node):
    """A C++ declaration: a new variable of the enclosing block."""

    name: str
    type: CType
    init: Node | None
    static: bool = False
    deduced: CType | None = None
    """What ``auto`` stands for, where that is known."""


@dataclass(frozen=True, slots=True, eq=False)
class Unpack(Node):
    """C++ structured binding: new variables from a tuple or an aggregate."""

    names: tuple[str, ...]
    init: Node
    ref: bool = False
    """Whether they are references to the parts."""


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
    ref: bool = False
    """Whether the target is a C++ reference through which the elements can be written."""
    type: CType | None = None
    """The declared type of the target in C++."""


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
class With(Node):
    """Python's ``with``: statements between the way into a context manager and the way out."""

    manager: Node
    target: Node | None
    body: tuple[Node, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Define(Node):
    """A nested function bound to its name."""

    function: Function


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


@dataclass(frozen=True, slots=True, eq=False)
class Remove(Node):
    """``del``: variables and elements."""

    targets: tuple[Node, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Outer(Node):
    """``nonlocal`` or ``global``: names that belong to a function further out, or to the module."""

    names: tuple[str, ...]
    of_module: bool = False
