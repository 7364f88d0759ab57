"""Python's iterators: ``next``, ``map``, ``zip``, ``itertools``, and functions of functions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlaprobe.evaluator.closures.displays import elements, is_unordered, stream
from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.objects.iterables import Cursor, UnclearError
from mlaprobe.evaluator.objects.objects import NOTHING, special
from mlaprobe.evaluator.values import Args, Kwargs, Unknown, Value
from mlaprobe.evaluator.values.comparing import equals
from mlaprobe.evaluator.values.kinds import Builtin, Model
from mlaprobe.evaluator.values.operators import binary
from mlaprobe.evaluator.values.truth import truth

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.runs import Run

Call = Callable[["Run", Args, Kwargs, Span], Value]


def _unfollowed(name: str, span: Span) -> Unknown:
    return Unknown(f"this call of {name} is not followed", span)


def _next(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    cursor = args[0] if args else None
    if isinstance(cursor, Unknown):
        return cursor.derive("next", *args)
    if not isinstance(cursor, Cursor) or kwargs or len(args) > 2:
        return _unfollowed("next", span)
    run.changes(cursor, span)
    if cursor.unordered:
        cursor.give_up("the order of a set is not known")
        return Unknown("which element of a set is the first is not known", span)
    try:
        for value in cursor.steps():
            return value
    except UnclearError as error:
        return error.why.another()
    if len(args) == 2:
        return args[1]
    raise Failed("exception", "StopIteration", "", span)


def _iter(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    if len(args) != 1 or kwargs or special(args[0], "__iter__"):
        return _unfollowed("iter", span)
    return args[0] if isinstance(args[0], Cursor) else _made(args, stream(args[0], span))


def _made(sources: Iterable[Value], values: Iterator[Value]) -> Value:
    """An iterator over what is made of others."""
    unknown = next((s for s in sources if isinstance(s, Unknown)), None)
    if unknown is not None:
        return unknown.derive("iterator")
    return Cursor(values, unordered=any(map(is_unordered, sources)))


def _map(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    function, sources = args[0], args[1:]
    if not sources or kwargs:
        return _unfollowed("map", span)
    rows = zip(*(stream(s, span) for s in sources), strict=False)
    call = run.machine.call
    return _made(sources, (call(run, function, row, {}, span) for row in rows))


def _filter(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    if len(args) != 2 or kwargs:
        return _unfollowed("filter", span)
    function, source = args

    def kept() -> Iterator[Value]:
        for value in stream(source, span):
            test = value if function is None else _called(run, function, value, span)
            if _settled(test):
                yield value

    return _made((source,), kept())


def _called(run: Run, function: Value, value: Value, span: Span) -> Value:
    return run.machine.call(run, function, (value,), {}, span)


def _settled(value: Value) -> bool:
    """Whether a value is true.

    Raises:
        UnclearError: that is not known.
    """
    known = truth(value)
    if isinstance(known, Unknown):
        raise UnclearError(known)
    return bool(known)


def _zip(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    strict = kwargs.get("strict", False)
    if not set(kwargs) <= {"strict"} or strict not in (True, False):
        return _unfollowed("zip", span)
    rows = zip(*(stream(s, span) for s in args), strict=False)
    return _made(args, _of_one_length(args, span) if strict else rows)


def _of_one_length(sources: Args, span: Span) -> Iterator[Value]:
    sides = [iter(stream(s, span)) for s in sources]
    while sides:
        row = [next(sides[0], NOTHING)]
        ended = row[0] is NOTHING
        for side in sides[1:]:
            row.append(next(side, NOTHING))
            if (row[-1] is NOTHING) is not ended:
                message = "zip() arguments have different lengths"
                raise Failed("exception", "ValueError", message, span)
        if ended:
            return
        yield tuple(row)


def _enumerate(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    start = args[1] if len(args) > 1 else kwargs.get("start", 0)
    if not isinstance(start, int):
        return Unknown("an enumeration", span)
    return _made(args[:1], enumerate(stream(args[0], span), start))


def _reversed(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    if len(args) != 1 or not isinstance(args[0], (list, tuple, range, str, dict)):
        return _unfollowed("reversed", span)
    values = elements(args[0], span)
    return values if isinstance(values, Unknown) else Cursor(reversed(values))


def _quantifier(stop: bool) -> Call:
    """``any``, which stops at what is true, or ``all``."""

    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        if len(args) != 1 or kwargs:
            return _unfollowed("any or all", span)
        if isinstance(args[0], Cursor):
            run.changes(args[0], span)
        unclear: list[Unknown] = []
        try:
            for value in stream(args[0], span):
                known = truth(value)
                if known is stop:
                    if unclear and isinstance(args[0], Cursor):
                        args[0].give_up("how much of an iterator is taken is not known")
                    return stop
                if isinstance(known, Unknown):
                    unclear.append(known)
        except UnclearError as error:
            unclear.append(error.why.derive(f"some {stop}"))
        except Failed:
            # it is reached only where nothing before it stops
            if any(run.decide(u) is stop for u in unclear):
                return stop
            raise
        if not unclear:
            return not stop
        return unclear[0] if len(unclear) == 1 else unclear[0].derive(f"any {stop}", *unclear)

    return call


# --- itertools: functions of whole lists ----------------------------------------------------------


def _over(function: Callable[..., Iterable[Value]], *names: str) -> Call:
    """A function of ``itertools`` that takes iterables, and numbers by name."""

    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        if not set(kwargs) <= set(names) or not all(type(v) is int for v in kwargs.values()):
            return _unfollowed("a function of itertools", span)

        def values() -> Iterator[Value]:
            yield from function(*(stream(a, span) for a in args), **kwargs)

        return _made(args, values())

    return call


def _from_iterable(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    if len(args) != 1 or kwargs:
        return _unfollowed("chain", span)

    def values() -> Iterator[Value]:
        for part in stream(args[0], span):
            if is_unordered(part):
                raise UnclearError(Unknown("the order of a set is not known", span))
            yield from stream(part, span)

    return _made(args, values())


def _some(function: Callable[..., Iterable[Value]]) -> Call:
    """``combinations`` and ``permutations``: of so many; and ``islice``."""

    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        numbers = args[1:]
        if kwargs or not args or not all(type(n) in (int, type(None)) for n in numbers):
            return _unfollowed("a function of itertools", span)
        if is_unordered(args[0]):
            return Unknown("the order of a set is not known", span)

        def values() -> Iterator[Value]:
            yield from function(stream(args[0], span), *numbers)

        return Cursor(values())

    return call


def _while(function: Callable[..., Iterable[Value]]) -> Call:
    """``takewhile`` and ``dropwhile``."""

    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        if len(args) != 2 or kwargs or is_unordered(args[1]):
            return _unfollowed("a function of itertools", span)

        def holds(value: Value) -> bool:
            return _settled(_called(run, args[0], value, span))

        def values() -> Iterator[Value]:
            yield from function(holds, stream(args[1], span))

        return Cursor(values())

    return call


def _count(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    given = dict(zip(("start", "step"), args, strict=False)) | kwargs
    if not set(given) <= {"start", "step"} or not all(type(v) is int for v in given.values()):
        return _unfollowed("count", span)
    return Cursor(itertools.count(**given))


def _accumulate(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    values = elements(args[0], span) if 1 <= len(args) <= 2 else _unfollowed("accumulate", span)
    if isinstance(values, Unknown) or kwargs:
        return values if isinstance(values, Unknown) else _unfollowed("accumulate", span)
    found: list[Value] = []
    for value in values:
        if not found:
            found.append(value)
        elif len(args) == 1:
            found.append(binary("+", found[-1], value, span))
        else:
            found.append(run.machine.call(run, args[1], (found[-1], value), {}, span))
    return Cursor(found)


@dataclass(frozen=True, slots=True, eq=False)
class _Key:
    """What elements are grouped by."""

    value: Value
    span: Span

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and _settled(equals(self.value, other.value, self.span))

    __hash__ = None  # type: ignore[assignment]


def _groupby(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    given = dict(zip(("iterable", "key"), args, strict=False)) | kwargs
    source, key = given.pop("iterable", None), given.pop("key", None)
    if given or len(args) > 2 or source is None or is_unordered(source):
        return _unfollowed("groupby", span)

    def keyed(value: Value) -> _Key:
        return _Key(value if key is None else _called(run, key, value, span), span)

    def values() -> Iterator[Value]:
        for found, group in itertools.groupby(stream(source, span), keyed):
            yield (found.value, Cursor(group))

    return _made((source,), values())


_FUNCTIONS: dict[str, Call] = {
    "builtins.any": _quantifier(True),
    "builtins.all": _quantifier(False),
    "builtins.next": _next,
    "builtins.iter": _iter,
    "builtins.map": _map,
    "builtins.filter": _filter,
    "builtins.zip": _zip,
    "builtins.enumerate": _enumerate,
    "builtins.reversed": _reversed,
    "itertools.product": _over(itertools.product, "repeat"),
    "itertools.zip_longest": _over(itertools.zip_longest),
    "itertools.combinations": _some(itertools.combinations),
    "itertools.permutations": _some(itertools.permutations),
    "itertools.pairwise": _some(itertools.pairwise),
    "itertools.islice": _some(itertools.islice),
    "itertools.takewhile": _while(itertools.takewhile),
    "itertools.dropwhile": _while(itertools.dropwhile),
    "itertools.count": _count,
    "itertools.groupby": _groupby,
    "itertools.accumulate": _accumulate,
}


class _Chain(Model):
    """``itertools.chain``, which is a function and has one."""

    __slots__ = ()

    def get(self, name: str, span: Span) -> Value:
        if name == "from_iterable":
            return Builtin(name, _from_iterable, symbolic=True)
        return Unknown(f"attribute {name} of chain", span)

    def call(self, run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        return _over(itertools.chain)(run, args, kwargs, span)


ITERATORS: dict[str, Value] = {
    name: Builtin(name.removeprefix("builtins."), call, symbolic=True)
    for name, call in _FUNCTIONS.items()
} | {"itertools.chain": _Chain()}
"""What goes through elements, by dotted names."""
