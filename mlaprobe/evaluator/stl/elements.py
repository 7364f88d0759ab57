"""Elements of containers by key or position: read, written and referred to."""

from __future__ import annotations

from mlaprobe.evaluator.stl.asking import On, value_at, whole
from mlaprobe.evaluator.stl.containers import Container, copied, keep
from mlaprobe.evaluator.stl.making import inserted
from mlaprobe.evaluator.stl.places import Elements, Parts
from mlaprobe.evaluator.stl.shapes import Sort
from mlaprobe.evaluator.values import Unknown, Value
from mlaprobe.evaluator.values.kinds import Ref


def index(on: On, key: Value) -> Value:
    """``box[key]``; a map gets what is not there."""
    box = on.box
    if box.shape.sort is Sort.MAP:
        key = on.make.part(key, box.shape.element)
        if box.known:
            there = box.has(key, on.span)
            if isinstance(there, Unknown):
                there = on.run.decide(there)
                if there:
                    return value_at(on, Unknown("which element was found", on.span))
            elif there:
                at = box.position(key, on.span)
                return on.element(at) if type(at) is int else box.unknown("an element", on.span)
        elif box.items is not None and isinstance(at := box.position(key, on.span), int):
            return on.element(at)
        fresh = on.make.empty(box.shape.value)
        after, at, _ = inserted(box, (key, fresh), on.make)
        on.store(after)
        if type(at) is int and after.items is not None:
            return copied(after.items[at][1])
        return box.unknown("an element", on.span)
    position = whole(key)
    if box.items is None:
        return box.unknown("an element", on.span)
    if type(position) in (int, bool) and not 0 <= position < len(box.items):
        return Unknown(f"index {position} out of range", on.span)
    return value_at(on, position)


def put(on: On, key: Value, value: Value) -> None:
    """``box[key] = value``."""
    box = on.box
    if box.shape.sort is Sort.MAP:
        after, _, _ = inserted(box, (key, value), on.make, replace=True)
        return on.store(after)
    if box.items is None:
        keep(box.type, (value,), on.span)
        return on.lose(box.unknown("an element", on.span))
    value, position = on.make.part(value, box.shape.element), whole(key)
    if type(position) in (int, bool) and 0 <= position < len(box.items):
        items = (*box.items[:position], value, *box.items[position + 1 :])
    else:
        lost = Unknown("an element at an unknown place was written", on.span)
        items = tuple(lost.another() for _ in box.items)
    on.store(box.with_items(items, on.span, same_layout=True))
    return None


def reference(on: On, key: Value) -> Ref | None:
    """Where ``box[key]`` is stored; a map gets what is not there."""
    box = on.box
    if box.items is None or on.place is None:
        return None
    if box.shape.sort is not Sort.MAP:
        position = whole(key)
        inside = type(position) is int and 0 <= position < len(box.items)
        return Ref(Elements(on.place, box), position) if inside else None
    index(on, key)
    now = on.place.load()
    if not isinstance(now, Container) or not now.known:
        return None
    at = now.position(on.make.part(key, now.shape.element), on.span)
    return Ref(Parts(Ref(Elements(on.place, now), at)), 1) if type(at) is int else None
