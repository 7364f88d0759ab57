"""What happens when a Python class is made: metaclasses, and what bases are told of subclasses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.objects.classes import PyClass
from mlaprobe.evaluator.objects.members import Base, Bound, Static
from mlaprobe.evaluator.objects.objects import NOTHING
from mlaprobe.evaluator.values import Args, Kwargs, Unknown, Value
from mlaprobe.evaluator.values.kinds import Builtin, Closure

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.runs import Run

_FOLLOWED = {"__new__", "__init__"}
"""Methods of a metaclass with a meaning of their own that are followed."""


@dataclass(frozen=True, slots=True, eq=False)
class Making:
    """A class statement whose body has been run."""

    name: str
    module: str
    bases: Args
    make: Callable[[Run, dict[str, Value], Kwargs], Value]


def is_type(value: Value) -> bool:
    """Whether a value is Python's ``type``."""
    return isinstance(value, Builtin) and value.name == "type"


def metaclass_of(given: Value, bases: Args) -> PyClass | Unknown | None:
    """The metaclass of the source, if one makes the class."""
    found = {id(b.meta): b.meta for b in bases if isinstance(b, PyClass) and b.meta is not None}
    if isinstance(given, PyClass):
        found[id(given)] = given
    elif given is not None and not isinstance(given, Base) and not is_type(given):
        return Unknown("a metaclass that is not followed")
    if len(found) > 1:
        return Unknown("several metaclasses are not followed")
    meta = next(iter(found.values()), None)
    if meta is None:
        return None
    own = {name for cls in meta.order for name in cls.attributes}
    odd = any(name.startswith("__") and name not in _FOLLOWED for name in own)
    known = meta.of_classes and not odd
    return meta if known else Unknown(f"what the metaclass {meta.name} does is not followed")


def made_by_metaclass(
    run: Run, meta: PyClass, making: Making, names: dict[str, Value], given: Kwargs, span: Span
) -> Value:
    """The class that a metaclass makes."""
    plain = {"__module__": making.module, "__qualname__": making.name}
    args: Args = (making.name, making.bases, {**plain, **names})
    new, init = meta.find("__new__"), meta.find("__init__")
    run.making.append(making)
    try:
        if new is NOTHING:
            value = made_of(run, (meta, *args), given if init is NOTHING else {}, span)
        else:
            value = run.machine.call(run, new, (meta, *args), given, span)
    finally:
        run.making.pop()
    if not isinstance(value, PyClass) or value.meta is not meta:
        return Unknown(f"what the metaclass {meta.name} makes is not followed", span)
    if init is not NOTHING:
        run.machine.call(run, Bound(init, value), args, given, span)
    return value


def made_of(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    """``type.__new__``, of the class statement that is being run."""
    making = run.making[-1] if run.making else None
    if making is None or len(args) != 4 or not isinstance(args[3], dict):
        return Unknown("a class that is made by a call is not followed", span)
    name, bases, names = args[1:]
    same = isinstance(bases, tuple) and len(bases) == len(making.bases)
    same = same and all(a is b for a, b in zip(bases, making.bases, strict=True))
    if name != making.name or not same or not all(type(key) is str for key in names):
        return Unknown("a class that is made in a way of its own is not followed", span)
    own = {n: v for n, v in names.items() if n not in ("__module__", "__qualname__")}
    return making.make(run, own, kwargs)


def told_bases(run: Run, made: PyClass, given: Kwargs, span: Span) -> Unknown | None:
    """Calls ``__init_subclass__`` of the next class that has it; why that is not followed."""
    hooks = (c.attributes.get("__init_subclass__", NOTHING) for c in made.order[1:])
    hook = next((h for h in hooks if h is not NOTHING), NOTHING)
    if made.reason and (given or hook is not NOTHING):
        return Unknown(f"how class {made.name} is made is not followed", span)
    if hook is NOTHING:
        if given:
            message = f"{made.name}.__init_subclass__() takes no keyword arguments"
            raise Failed("exception", "TypeError", message, span)
        return None
    if not isinstance(hook, Static) or not isinstance(hook.function, Closure):
        return Unknown(f"how class {made.name} is made is not followed", span)
    run.machine.call(run, Bound(hook.function, made), (), given, span)
    return None


def no_hook(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    """``object.__init_subclass__``."""
    if args or kwargs:
        message = "__init_subclass__() takes no keyword arguments"
        raise Failed("exception", "TypeError", message, span)
    return None
