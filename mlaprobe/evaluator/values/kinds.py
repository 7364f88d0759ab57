"""The values of the machine: Python's own, plus what is unknown and what models the world.

Known values are plain ``int``, ``bool``, ``float``, ``str``, ``None``, ``tuple``, ``list``,
``dict``. Everything else is one of the classes below.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mlaprobe.evaluator.engine.signals import Unsupported
from mlaprobe.evaluator.ir import CType, Function, Node, Span
from mlaprobe.evaluator.symbolic import symbols
from mlaprobe.evaluator.values import Args, Kwargs, Unknown, Value
from mlaprobe.evaluator.values.bodies import Body
from mlaprobe.evaluator.values.pointers import InValue as InValue
from mlaprobe.evaluator.values.pointers import Owner as Owner
from mlaprobe.evaluator.values.pointers import Pointer as Pointer
from mlaprobe.evaluator.values.pointers import Ref as Ref

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.modules import Module
    from mlaprobe.evaluator.engine.runs import Run


@dataclass(frozen=True, slots=True)
class EnumMember:
    """A C++ enumerator or a Python enum member; ``value`` is ``None`` where it is not known."""

    enum: str
    name: str
    value: Value = None
    scoped: bool = True
    kind: Model | None = field(default=None, compare=False)
    """The class of a Python enum."""
    alias: EnumMember | None = field(default=None, compare=False)
    """The member whose name this one is another for."""

    def __repr__(self) -> str:
        return f"{self.enum}::{self.name}" if self.enum else self.name


@dataclass(frozen=True, slots=True)
class EnumType:
    """A C++ or Python enum."""

    name: str
    members: tuple[EnumMember, ...]
    cls: Model | None = field(default=None, compare=False)
    """The class of a Python enum."""
    size: int = 0
    """Bytes of an enumerator in C++; 0 where that is not known."""
    underlying: CType | None = None
    """The type that a C++ enum is declared with."""

    def member(self, name: str) -> EnumMember | None:
        """The member of that name."""
        return next((m for m in self.members if m.name == name), None)

    def of_value(self, value: Value) -> EnumMember | None:
        """The first member with that value."""
        return next((m for m in self.members if m.value == value), None)


class Record:
    """A C++ aggregate or a Python object with plain attributes."""

    __slots__ = ("derived", "fields", "pointed", "type")

    def __init__(self, type_name: str, fields: dict[str, Value], *, derived: bool = False) -> None:
        self.type = type_name
        self.fields = fields
        self.derived = derived
        """Whether its class has bases, so that a variable of another type holds a part of it."""
        self.pointed = False
        """Whether something may point to it, and has to see what is assigned to it."""

    def like(self, fields: dict[str, Value]) -> Record:
        """One of the same class with other members."""
        return Record(self.type, fields, derived=self.derived)

    def copy(self) -> Record:
        """A copy by value, nested aggregates included."""
        fields = {
            k: v.copy() if isinstance(v, (Record, list)) else v for k, v in self.fields.items()
        }
        return self.like(fields)

    def __repr__(self) -> str:
        return f"Record({self.type}, {self.fields})"


@dataclass(frozen=True, slots=True)
class StructType:
    """A C++ struct: members in declaration order with their types and default values."""

    name: str
    members: tuple[tuple[str, CType, Node | None], ...]
    """(name, CType, default expression or ``None``)."""
    statics: tuple[tuple[str, Node], ...] = ()
    """Static constants: (name, expression). Those of a template may depend on its parameters."""
    template: tuple[str, ...] = ()
    """Names of template parameters."""
    plain: bool = True
    """Whether a braced list gives its members in order: no constructor, no base."""
    packed: bool = False
    """Whether its members follow each other without gaps."""
    odd: tuple[str, ...] = ()
    """Members whose place does not follow from the types: arrays, bit fields, any of an aligned
    struct."""
    converts: bool = False
    """Whether it has an operator that makes something else of its objects: ``operator bool``."""
    bases: tuple[str, ...] = ()
    """What it is derived from."""
    arguments: tuple[tuple[str, Value], ...] = ()
    """What its template parameters are, where a name stands for it with its arguments."""
    layout: Value = field(default=None, compare=False, repr=False)
    """How it is laid out in memory."""
    body: Body = field(default=Body(), compare=False, repr=False)
    """The methods, constructors and operators that it declares."""


class ToObject(Pointer):
    """A pointer to an object of a class."""

    __slots__ = ()

    def __init__(self, record: Record) -> None:
        record.pointed = True
        super().__init__({"": record}, "")

    def same(self, other: Pointer) -> bool | None:
        return True if other.load() is self.load() else None


class Braced:
    """A C++ braced list whose type the place that receives it decides."""

    __slots__ = ("items", "members")

    def __init__(self, items: Args, members: dict[str, Value] | None = None) -> None:
        self.items = items
        self.members = members
        """Values by the name of the member, where the list names them."""


class Closure:
    """A function of the source, ready to be called."""

    __slots__ = ("defaults", "frame", "function", "module", "scope")

    def __init__(
        self,
        function: Function,
        module: Module,
        frame: dict[str, Value] | None = None,
        scope: Value = None,
        defaults: dict[str, Value] | None = None,
    ) -> None:
        self.defaults = defaults
        """Values of parameters that were computed where the function stands (Python)."""
        self.function = function
        self.module = module
        self.frame = frame
        self.scope = scope

    def __repr__(self) -> str:
        return f"Closure({self.function.name})"


@dataclass(frozen=True, slots=True, eq=False)
class Overloaded:
    """Several C++ functions of one name."""

    name: str
    functions: tuple[Function, ...]
    module: Module
    one_place: bool
    """Whether they are all of one namespace."""


@dataclass(frozen=True, slots=True, eq=False)
class Builtin:
    """A function that the machine itself provides.

    ``call(run, args, kwargs, span)`` returns a value or raises what the machine raises.
    """

    name: str
    call: Callable[[Run, Args, Kwargs, Span], Value]
    symbolic: bool = False
    """Whether it takes symbols (``evaluator.symbolic.symbols``); others get plain numbers."""
    takes_template: bool = False
    """Whether C++ template arguments are handed over, as the keyword ``<>``."""
    constant: bool = False
    """Whether it only returns what is known of the question: it may be called early."""
    by_place: bool = False
    """Whether it is given references to the variables that are its arguments."""


class Model:
    """Something of the outside world that a stage describes: a tensor, a module, a table row.

    The defaults know nothing: every attribute is unknown, every call too. ``identity`` is what
    two equal models share.
    """

    __slots__ = ()

    by_reference = False
    """Whether a call of it may write the variables that are its arguments."""
    always_true = True
    """Whether it counts as true."""
    by_element = False
    """Whether two of a kind are compared element by element."""
    one_of_a_kind = False
    """Whether equal ones are one and the same."""
    changes = False
    """Whether the thing itself can change: then ``fresh`` makes a copy."""

    def fresh(self, own: Callable[[Value], Value]) -> Model:
        """A copy that changes alone; ``own`` makes those of what it holds."""
        return self

    def held(self) -> Args:
        """The values that someone who gets it may change through it."""
        return ()

    def lose(self, reason: str, span: Span) -> None:
        """Someone may have changed it."""

    def exists(self) -> Value:
        """Whether a C++ pointer to it, or an optional with it, counts as true."""
        return True if self.always_true else self.truth()

    def truth_in(self, run: Run, span: Span) -> Value:
        """Whether it counts as true on this path, where that is not always so.

        Raises:
            Failed: asking is an error.
        """
        return self.truth()

    def put(self, name: str, value: Value, span: Span) -> None:
        """An attribute is assigned.

        Raises:
            Unsupported: that is not followed.
        """
        raise Unsupported(f"attribute {name} of something that is not followed is assigned", span)

    def assign_in(self, run: Run, name: str, value: Value, span: Span) -> None:
        """The same on a path.

        Raises:
            Unsupported: that is not followed.
        """
        self.put(name, value, span)

    def put_at(self, key: Value, value: Value, span: Span) -> None:
        """An element is assigned; nothing is known of elements.

        Raises:
            Unsupported: that is not followed.
        """

    steady = True
    """Whether it is always equal to itself: it, or a copy of it, does not change."""

    def get(self, name: str, span: Span) -> Value:
        """The value of an attribute."""
        return Unknown(f"attribute {name} is not modelled", span)

    def get_in(self, run: Run, name: str, span: Span) -> Value:
        """The value of an attribute, for a model that needs the run to find it."""
        return self.get(name, span)

    def truth(self) -> Unknown:
        """Whether it counts as true, where that is not always so."""
        known = self.identity
        key = None if known is None else ("truth", known)
        return Unknown(f"the truth of {self!r} is not known", key=key)

    def call(self, run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        """The result of calling the thing itself."""
        return Unknown("call is not modelled", span)

    def index_in(self, run: Run, key: Value, span: Span) -> Value:
        """The value at a subscript, for a model that needs the run to find it."""
        return self.index(key, span)

    def around(self, run: Run, inside: Callable[[Value], None], span: Span) -> bool:
        """As a context manager: calls ``inside``, the body of a ``with``, with what it gives.
        False: that is not followed."""
        return False

    def contains_in(self, run: Run, item: Value, span: Span) -> Value:
        """Whether something is in it; ``NotImplemented`` where its elements tell."""
        return NotImplemented

    def read_in_python(self, run: Run, name: str, span: Span) -> Value:
        """The value of an attribute in Python, where C++ has something else by the name."""
        return self.get_in(run, name, span)

    def index(self, key: Value, span: Span) -> Value:
        """The value at a subscript."""
        return Unknown("subscript is not modelled", span)

    def operate(self, op: str, other: Value, *, reflected: bool, span: Span) -> Value:
        """The value of ``self op other``, or of ``other op self`` where that is ``reflected``;
        ``NotImplemented``: nothing is known of operators."""
        return NotImplemented

    def iterate(self) -> Iterator[Value] | None:
        """The elements, or ``None`` where they are not known."""
        return None

    def members(self) -> Iterator[Value] | None:
        """The elements that membership is tested against; by default those that a loop sees."""
        return self.iterate()

    def equals(self, other: Value) -> bool | None:
        """Whether this equals another value; ``None`` where that is not known."""
        return True if other is self else None

    @property
    def identity(self) -> Hashable | None:
        """A hashable that stands for this value, or ``None`` where it has no fixed one."""
        return None


IMMUTABLE = (int, bool, float, str, type(None), EnumMember)


def identity(value: Value) -> Hashable | None:
    """What is equal for two values only if they are; ``None`` where there is no such thing."""
    kind = type(value)
    if kind in (int, bool, float, str, type(None), EnumMember):
        return (kind.__name__, value)
    if isinstance(value, Unknown):
        key = value.key
        # "?": one that is like no other
        return None if isinstance(key, tuple) and key[0] == "?" else ("unknown", key)
    if isinstance(value, tuple):
        parts = tuple(identity(v) for v in value)
        return None if None in parts else ("tuple", parts)
    if isinstance(value, Model):
        return value.identity
    return None


def plain(name: str, function: Callable[..., Value]) -> Builtin:
    """A function of plain values; anything else makes the result unknown."""

    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        return computed(name, function, args, kwargs, span)

    return Builtin(name, call, symbolic=True)


def computed(
    name: str, function: Callable[..., Value], args: Args, kwargs: Kwargs, span: Span
) -> Value:
    """The result of a function of plain values. Symbols become plain numbers where it is computed,
    and stay what they are in what is unknown."""
    values = [*args, *kwargs.values()]
    unknown = next((v for v in values if isinstance(v, Unknown)), None)
    if unknown is not None:
        return unknown.derive(name, *values)
    args, kwargs = symbols.plain(args), {n: symbols.plain(v) for n, v in kwargs.items()}
    values = [*args, *kwargs.values()]
    if not all(isinstance(v, (int, float, str)) for v in values):
        return Unknown(f"{name} of something that is not followed", span)
    try:
        return function(*args, **kwargs)
    except (ArithmeticError, TypeError, ValueError) as error:
        return Unknown(f"{name} fails: {error}", span)
