"""Stores into elements of arrays, containers and dicts."""

from __future__ import annotations

from collections.abc import Callable

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.closures.places.lvalues import Lvalue
from mlaprobe.evaluator.engine.frames import RUN, Frame
from mlaprobe.evaluator.engine.signals import Unsupported
from mlaprobe.evaluator.stl.asking import On
from mlaprobe.evaluator.stl.containers import Container
from mlaprobe.evaluator.stl.elements import put
from mlaprobe.evaluator.values import Args, Rest, Unknown, Value, rest_of
from mlaprobe.evaluator.values.kinds import Model, Record


def compile_element(target: ir.Index, place: Lvalue | None) -> Callable[..., None]:
    """``box[key] = value`` of a container, or of what an iterator points to."""
    span = target.span

    def store(e: Frame, owner: Value, at: Value, v: Value) -> None:
        if type(owner) is Container:
            stored = place(e) if place is not None else None
            put(On(e[RUN], owner, stored, span), at, v)
            return
        there = owner.moved(at)
        if there is None:
            raise Unsupported("which element is written is not known", span)
        e[RUN].effects += 1
        there.store(v)

    return store


def _lost(span: ir.Span) -> Unknown:
    return Unknown("an element at an unknown place was written", span)


def store_in_list(owner: list[Value], at: Value, value: Value, span: ir.Span) -> None:
    """Writes an element of a list; of one whose place is not known, all of them may be it."""
    if rest_of(owner) is not None:
        return
    if type(at) is int and -len(owner) <= at < len(owner):
        owner[at] = value
    else:
        owner[:] = [_lost(span) for _ in owner]


def with_element(owner: Args, at: Value, value: Value, span: ir.Span) -> Args:
    """A C++ array, which is a value here, with another element."""
    if type(at) is int and 0 <= at < len(owner):
        return (*owner[:at], value, *owner[at + 1 :])
    lost = _lost(span)
    return tuple(lost for _ in owner)


def store_somewhere(mapping: dict[Value, Value], span: ir.Span) -> None:
    """Writes a dict under a key that is not known: an old one, or a new one."""
    lost = _lost(span)
    keys = [key for key in mapping if type(key) is not Rest]
    mapping.clear()
    mapping[Rest(lost.reason, span)] = lost
    mapping.update(dict.fromkeys(keys, lost))


def elements_of(value: Value) -> Args | None:
    """The parts that a value is unpacked into; ``None`` where they are not known."""
    if isinstance(value, (tuple, list, range)):
        return tuple(value) if rest_of(value) is None else None
    if isinstance(value, Record):
        return tuple(value.fields.values())
    if isinstance(value, Model):
        found = value.iterate()
        return None if found is None else tuple(found)
    return None
