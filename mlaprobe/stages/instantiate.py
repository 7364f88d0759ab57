"""Answers with formulas in them, for certain inputs.

A run over symbols is kept as a template: what holds no symbol is shared by all answers, the rest
is filled in by functions that are compiled once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, replace
from operator import attrgetter
from typing import Any

from mlaprobe.reading.ir import Node
from mlaprobe.reading.machine import Event, Failed, Outcome
from mlaprobe.reading.symbols import Expr, Sym, SymText, compile_expr
from mlaprobe.reading.values import Record
from mlaprobe.stages.tensors import Tensor

Fill = Callable[[tuple[int, ...]], Any]


class Template:
    """The paths of one run over symbols."""

    __slots__ = ("_names", "_outcomes", "_parts", "_reasons")

    def __init__(
        self, outcomes: tuple[Outcome, ...], names: tuple[str, ...], reasons: Iterable[Expr] = ()
    ) -> None:
        """``reasons`` are comparisons that tell apart why inputs take these paths."""
        self._outcomes = outcomes
        self._names = names
        self._reasons = tuple(reasons)
        maker = _Maker(names)
        self._parts = tuple(maker.changes(o) for o in outcomes)

    def reason(self, inputs: tuple[int, ...]) -> tuple[bool, ...]:
        """What inputs have to share for the same clauses to decide."""
        return tuple(bool(compile_expr(e, self._names)(*inputs)) for e in self._reasons)

    def outcomes(self, inputs: tuple[int, ...]) -> tuple[Outcome, ...]:
        """The paths for certain inputs."""
        pairs = zip(self._outcomes, self._parts, strict=True)
        return tuple(_filled(o, parts, inputs) if parts else o for o, parts in pairs)

    @property
    def constant(self) -> bool:
        """Whether nothing depends on the inputs."""
        return not any(self._parts)

    @property
    def paths(self) -> int:
        """How many paths there are."""
        return len(self._outcomes)

    def ending(self, inputs: tuple[int, ...]) -> Outcome:
        """The first path for certain inputs, with the failure and the observations filled in, and
        nothing else."""
        parts = {n: fill(inputs) for n, fill in self._parts[0] if n in ("failure", "observations")}
        return replace(self._outcomes[0], **parts)

    def traced(self, inputs: tuple[int, ...]) -> tuple[Outcome, ...]:
        """The paths with what their runs computed, for certain inputs, where the runs were traced.
        Their events are left as they are, as the trace refers to them."""
        return tuple(
            replace(o, trace=_Filled(o.trace, self._names, inputs)) for o in self._outcomes
        )


_fields = attrgetter(*(field.name for field in fields(Outcome)))


def _filled(
    outcome: Outcome, parts: tuple[tuple[str, Fill], ...], inputs: tuple[int, ...]
) -> Outcome:
    """A copy with some fields filled in, made often: ``replace`` takes several times as long."""
    found = Outcome(*_fields(outcome))
    for name, fill in parts:
        setattr(found, name, fill(inputs))
    return found


class _Filled:
    """What a run over symbols computed, for certain inputs; filled in when it is looked at."""

    __slots__ = ("_inputs", "_items", "_names")

    def __init__(
        self, items: Iterable[tuple[Node, Any]], names: tuple[str, ...], inputs: tuple[int, ...]
    ) -> None:
        self._items = items
        self._names = names
        self._inputs = inputs

    def __iter__(self) -> Iterator[tuple[Node, Any]]:
        names, inputs = self._names, self._inputs
        return iter(
            [
                item
                if type(item[1]) is not Sym
                else (item[0], compile_expr(item[1].expr, names)(*inputs))
                for item in self._items
            ]
        )


class _Maker:
    """Makes the functions that fill in what depends on the inputs."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names

    def changes(self, outcome: Outcome) -> tuple[tuple[str, Fill], ...]:
        """The fields of an outcome that depend on the inputs."""
        found: list[tuple[str, Fill]] = []
        for name in ("value", "reason", "observations"):
            fill = self.fill(getattr(outcome, name))
            if fill is not None:
                found.append((name, fill))
        failure = outcome.failure
        message = None if failure is None else self.fill(failure.message)
        if failure is not None and message is not None:
            found.append(("failure", _failing(failure, message)))
        events = self._events(outcome.events)
        if events is not None:
            found.append(("events", events))
        return tuple(found)

    def _events(self, events: tuple[Event, ...]) -> Fill | None:
        fills = [self._event(e) for e in events]
        if not any(fills):
            return None
        pairs = tuple(zip(events, fills, strict=True))
        return lambda inputs: tuple(e if f is None else f(inputs) for e, f in pairs)

    def _event(self, event: Event) -> Fill | None:
        args = self.fill(event.args)
        names = tuple(n for n, _ in event.kwargs)
        values = self.fill(tuple(v for _, v in event.kwargs))
        if args is None and values is None:
            return None
        kind, name, span = event.kind, event.name, event.span
        plain_args, plain_kwargs = event.args, event.kwargs
        same = args is not None and [id(v) for _, v in event.kwargs] == [
            id(v) for v in event.args[: len(names)]
        ]

        def fill(inputs: tuple[int, ...]) -> Event:
            filled = plain_args if args is None else args(inputs)
            if same:
                named = tuple(zip(names, filled, strict=False))
            else:
                named = (
                    plain_kwargs
                    if values is None
                    else tuple(zip(names, values(inputs), strict=True))
                )
            return Event(kind, name, filled, named, span)

        return fill

    def fill(self, value: Any) -> Fill | None:
        """A function that makes a value for inputs, ``None`` for one that holds no symbol."""
        kind = type(value)
        if kind is Sym:
            compiled = compile_expr(value.expr, self._names)
            return lambda inputs: compiled(*inputs)
        if kind is SymText:
            parts = self._all(value.parts)
            return lambda inputs: "".join(str(p(inputs)) for p in parts)
        if kind in (tuple, list):
            return self._sequence(value)
        if kind is Record:
            return self._record(value)
        if kind is Tensor:
            shape = self.fill(value.shape)
            if shape is None:
                return None
            return lambda inputs: Tensor(
                value.name, shape(inputs), value.dtype, contiguous=value.contiguous
            )
        return None

    def _all(self, values: Any) -> tuple[Fill, ...]:
        return tuple(self.fill(v) or _always(v) for v in values)

    def _sequence(self, value: Any) -> Fill | None:
        fills = [self.fill(v) for v in value]
        if not any(f is not None for f in fills):
            return None
        pairs = tuple(zip(value, fills, strict=True))
        return lambda inputs: tuple(v if f is None else f(inputs) for v, f in pairs)

    def _record(self, value: Record) -> Fill | None:
        fills = {n: self.fill(v) for n, v in value.fields.items()}
        changed = {n: f for n, f in fills.items() if f is not None}
        if not changed:
            return None
        fields = value.fields
        return lambda inputs: Record(
            value.type, {**fields, **{n: f(inputs) for n, f in changed.items()}}
        )


def _always(value: Any) -> Fill:
    return lambda inputs: value


def _failing(failure: Failed, message: Fill) -> Fill:
    return lambda inputs: Failed(failure.kind, failure.how, message(inputs), failure.span)
