"""Objects of Python classes, and what a class says of its objects.

What a class is and how it is made is in ``classes.py`` beside this; here is what everything that
handles values has to know.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING

from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.values import Args, Unknown, Value
from mlaprobe.evaluator.values.kinds import Model, Record

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.runs import Run

NOTHING: Value = object()
"""The answer where there is no such attribute."""


class ObjectType(Model):
    """A class: how its objects behave."""

    __slots__ = ()

    name: str
    compared: bool
    """Whether objects are compared by their fields (a dataclass), not by what they are."""
    ordered: bool
    """Whether objects are in the order of their fields."""
    field_names: tuple[str, ...]

    @abstractmethod
    def find(self, name: str) -> Value:
        """An attribute of the class, as it stands there, or ``NOTHING``."""

    @abstractmethod
    def read(self, run: Run, obj: Value, name: str, span: Span) -> Value:
        """An attribute of an object.

        Raises:
            Failed: ``AttributeError`` where it certainly has none.
        """

    @abstractmethod
    def write(self, run: Run, obj: Instance, name: str, value: Value, span: Span) -> None:
        """An attribute of an object is assigned.

        Raises:
            Failed: it cannot be written.
            Unsupported: what that does is not followed.
        """

    def defines(self, *names: str) -> bool:
        """Whether it has a method of one of these names."""
        return any(self.find(name) is not NOTHING for name in names)


class Instance(Record):
    """An object with attributes."""

    __slots__ = ("cls", "lost")

    def __init__(
        self, cls: ObjectType, fields: dict[str, Value], lost: Unknown | None = None
    ) -> None:
        super().__init__(cls.name, fields)
        self.cls = cls
        self.lost = lost
        """Why it is not known which attributes it has besides."""

    @property
    def parts(self) -> Args:
        """The values that it is compared by."""
        return tuple(self.fields.get(name) for name in self.cls.field_names)


class NamedTuple(tuple):  # type: ignore[type-arg]
    """A tuple whose items have names."""

    cls: ObjectType

    def __new__(cls, kind: ObjectType, values: Iterable[Value]) -> NamedTuple:
        """The object of a class with these items."""
        made = super().__new__(cls, values)
        made.cls = kind
        return made

    def remade(self, values: Iterable[Value]) -> NamedTuple:
        """One of the same class with other items."""
        return NamedTuple(self.cls, values)


class OfObject(Unknown):
    """An attribute that is not known: where it is a method, it may change its object."""

    __slots__ = ("owner",)

    def __init__(self, why: Unknown, owner: Value) -> None:
        super().__init__(
            why.reason, why.span, key=why.key, free=why.free, depth=why.depth, foreign=why.foreign
        )
        self.owner = owner


OPERATORS = {
    "==": ("__eq__", "__eq__"),
    "!=": ("__ne__", "__ne__"),
    "<": ("__lt__", "__gt__"),
    "<=": ("__le__", "__ge__"),
    ">": ("__gt__", "__lt__"),
    ">=": ("__ge__", "__le__"),
    "+": ("__add__", "__radd__"),
    "-": ("__sub__", "__rsub__"),
    "*": ("__mul__", "__rmul__"),
    "//": ("__floordiv__", "__rfloordiv__"),
    "/": ("__truediv__", "__rtruediv__"),
    "%": ("__mod__", "__rmod__"),
    "&": ("__and__", "__rand__"),
    "|": ("__or__", "__ror__"),
    "^": ("__xor__", "__rxor__"),
    "<<": ("__lshift__", "__rlshift__"),
    ">>": ("__rshift__", "__rrshift__"),
    "**": ("__pow__", "__rpow__"),
}
"""The method of the left side and the one of the right side, by the operator."""


def class_of(value: Value) -> ObjectType | None:
    """The class of the source that a value is an object of."""
    return value.cls if isinstance(value, (Instance, NamedTuple)) else None


def class_name(value: Value) -> str:
    """The name of the class that a value is an object of."""
    cls = class_of(value)
    return type(value).__name__ if cls is None else cls.name


def special(value: Value, *names: str) -> bool:
    """Whether a value is an object with a method of one of these names."""
    cls = class_of(value)
    return cls is not None and cls.defines(*names)


def acts(op: str, left: Value, right: Value) -> bool:
    """Whether an operator means a method of one of its operands."""
    if op in ("in", "not in"):
        return special(right, "__contains__", "__iter__", "__getitem__")
    if op in ("is", "is not"):
        return False
    first, second = OPERATORS[op]
    names = (first, second, "__eq__") if op == "!=" else (first, second)
    return special(left, *names) or special(right, *names)


def applied(run: Run, op: str, left: Value, right: Value, span: Span) -> Value:
    """What the method of an operand makes of an operation; ``NOTHING`` where there is none.

    Which of the two is asked first where both have one is not followed.
    """
    if op in ("in", "not in"):
        if not special(right, "__contains__"):
            return Unknown("membership in an object that is looped over is not followed", span)
        return called(run, right, "__contains__", (left,), span)
    if op == "!=" and not (special(left, "__ne__") or special(right, "__ne__")):
        same = run.holds(applied(run, "==", left, right, span))
        return not same
    first, second = OPERATORS[op]
    if special(left, first) and not special(right, second):
        return called(run, left, first, (right,), span)
    same = class_of(left) is class_of(right)
    if special(left, first) and same:
        return called(run, left, first, (right,), span)
    if special(right, second) and not special(left, first) and class_of(left) is None:
        return called(run, right, second, (left,), span)
    return Unknown(f"which method decides about {op} is not followed", span)


def called(run: Run, value: Value, name: str, args: Args, span: Span) -> Value:
    """The result of a method of an object."""
    cls = class_of(value)
    assert cls is not None
    method = cls.read(run, value, name, span)
    return run.machine.call(run, method, args, {}, span)
