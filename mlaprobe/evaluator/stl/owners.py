"""``std::unique_ptr`` and ``std::shared_ptr``: pointers to what they made or were given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlaprobe.evaluator.cpp.types import template_of
from mlaprobe.evaluator.ir import CType, Span
from mlaprobe.evaluator.stl.containers import Container
from mlaprobe.evaluator.values import Args, Unknown, Value
from mlaprobe.evaluator.values.kinds import Builtin, Owner, Pointer, Record, ToObject

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.runs import Run

OWNERS = ("std::unique_ptr", "std::shared_ptr")
_DEEPEST = 8
METHODS = ("get", "reset", "release")
"""Methods of the pointer itself, not of what it points to."""


def pointer_to(value: Value, *, owned: bool) -> Value:
    """A pointer to a new value."""
    if isinstance(value, Unknown):
        return value
    if owned:
        return Owner(value)
    return ToObject(value) if type(value) is Record else Pointer({"": value}, "")


def owner(ctype: CType, items: Args, span: Span) -> Value:
    """A smart pointer; ``NotImplemented`` for an object of another type."""
    head, types = template_of(ctype.name)
    if head not in OWNERS:
        return NotImplemented
    if not items:
        return None
    if len(items) == len(types) == 1 and "[" not in types[0]:
        return owned(items[0], span)
    return Unknown(f"how a {ctype.name} is made is not followed", span)


def owned(given: Value, span: Span) -> Value:
    """A smart pointer from another, or from a pointer that owns nothing yet."""
    if given is None or isinstance(given, (Owner, Unknown)):
        return given
    if isinstance(given, ToObject) or (isinstance(given, Pointer) and given.slot == ""):
        return Owner(given.load())
    return Unknown("what a smart pointer is given is not followed", span)


def owns(value: Value, depth: int = 0) -> bool:
    """Whether a value is or holds a smart pointer, through which others see what it points to."""
    if isinstance(value, Owner) or depth > _DEEPEST:
        return True
    parts: tuple[Value, ...] = ()
    if type(value) is Record:
        parts = tuple(value.fields.values())
    elif isinstance(value, Container):
        parts = value.items or ()
    elif isinstance(value, tuple):
        parts = value
    return any(owns(part, depth + 1) for part in parts)


def method(place: Pointer | None, held: Owner, name: str) -> Builtin:
    """A method of a smart pointer that is stored in a variable."""

    def call(run: Run, args: Args, kwargs: Value, span: Span) -> Value:
        there = held.load()
        bare = ToObject(there) if type(there) is Record else Pointer(held.frame, held.slot)
        if name == "get" and not args:
            return bare
        if place is None or len(args) > (name == "reset"):
            return Unknown(f"{name} of this pointer is not followed", span)
        run.effects += 1
        place.store(owned(args[0], span) if args else None)
        return bare if name == "release" else None

    return Builtin(name, call, symbolic=True)
