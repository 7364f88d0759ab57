"""What the parts of a value are stored in."""

from __future__ import annotations

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.engine.frames import Frame, Store
from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.objects.objects import Instance
from mlaprobe.evaluator.stl.containers import Container
from mlaprobe.evaluator.values import Args, Unknown, Value, rest_of
from mlaprobe.evaluator.values.kinds import Model, Record


def unpacking(target: ir.Sequence, stores: list[Store], *, python: bool) -> Store:
    """Stores the parts of a value."""
    items = target.items
    star = next((i for i, t in enumerate(items) if isinstance(t, ir.Star)), None)
    span = target.span

    def store(e: Frame, v: Value) -> None:
        from mlaprobe.evaluator.closures.displays import elements

        values = _elements(v)
        if values is None and python and not isinstance(v, Unknown):
            found = elements(v, span)
            values = None if isinstance(found, Unknown) else tuple(found)
        if values is not None and star is None and len(values) != len(stores) and python:
            text = f"{len(values)} values for {len(stores)} names"
            raise Failed("exception", "ValueError", text, span)
        if values is None or (star is None and len(values) != len(stores)):
            for each in stores:
                each(e, Unknown("the parts of a value are not known", span))
            return
        if star is not None:
            after = len(stores) - star - 1
            middle = list(values[star : len(values) - after])
            values = (*values[:star], middle, *values[len(values) - after :])
        for each, part in zip(stores, values, strict=False):
            each(e, part)

    return store


def _elements(value: Value) -> Args | None:
    if isinstance(value, (tuple, list, range)):
        return tuple(value) if rest_of(value) is None else None
    if isinstance(value, Record) and not isinstance(value, Instance):
        return tuple(value.fields.values())
    if type(value) is Container:
        return value.items if value.known and value.shape.fixed else None
    if isinstance(value, Model):
        found = value.iterate()
        return None if found is None else tuple(found)
    return None
