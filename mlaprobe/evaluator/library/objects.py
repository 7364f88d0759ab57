"""Functions of the C++ library on objects: places in containers, parts of tuples, moving."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.library.ranges import advanced, begin_of
from mlaprobe.evaluator.stl.changing import swap
from mlaprobe.evaluator.stl.containers import Container, copied, spoiled
from mlaprobe.evaluator.stl.methods import bound
from mlaprobe.evaluator.symbolic.symbols import Sym
from mlaprobe.evaluator.values import Args, Kwargs, Unknown, Value, rest_of
from mlaprobe.evaluator.values.comparing import compare
from mlaprobe.evaluator.values.kinds import Builtin, Owner, Pointer, Record, Ref

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.runs import Run


def _loaded(value: Value) -> Value:
    return value.load() if type(value) is Ref else value


def _place(name: str, *, end: bool) -> Builtin:
    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        found = begin_of(args[0], end=end) if len(args) == 1 else None
        if found is None and len(args) == 1 and isinstance(_loaded(args[0]), Container):
            place = args[0] if type(args[0]) is Ref else None
            return bound(run, _loaded(args[0]), place, "begin").call(run, (), {}, span)
        return Unknown(f"{name} of this", span) if found is None else found

    return Builtin(name, call, symbolic=True, by_place=True)


def _size(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    value = args[0] if len(args) == 1 else None
    if isinstance(value, Container) and value.known:
        return len(value.items or ())
    if isinstance(value, (tuple, list, str)) and rest_of(value) is None:
        return len(value)
    return Unknown("how many elements there are is not followed", span)


def _empty(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    count = _size(run, args, kwargs, span)
    return count if isinstance(count, Unknown) else count == 0


def _next(way: int) -> Builtin:
    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        by = args[1] if len(args) == 2 else 1
        return advanced(args[0], by * way if type(by) is int else by, span)

    return Builtin("next", call, symbolic=True)


def _advance(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    if len(args) == 2 and type(args[0]) is Ref:
        args[0].store(advanced(args[0].load(), _loaded(args[1]), span))
    return None


def _get(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    """``std::get<0>(tuple)``."""
    value, at = (args[0] if len(args) == 1 else None), kwargs.get("<>", ())
    if isinstance(value, tuple) and len(at) == 1 and type(at[0]) is int and at[0] < len(value):
        return copied(value[at[0]])
    if isinstance(value, Container) and len(at) == 1 and value.shape.fixed:
        return bound(run, value, None, "at").call(run, at, {}, span)
    return Unknown("std::get of this", span)


def _move(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    """What is moved from holds anything afterwards, if it is a text or a container."""
    value = _loaded(args[0]) if len(args) == 1 else Unknown("what is moved", span)
    if type(args[0]) is Ref and isinstance(value, (str, Container, Record, Owner)):
        why = Unknown("what was moved from", span)
        if isinstance(value, Record):
            kept = {n: _left(v, why) for n, v in value.fields.items()}
            if any(kept[n] is not v for n, v in value.fields.items()):
                value = value.copy()
                args[0].load().fields.update(kept)
        elif not (isinstance(value, Container) and value.kept):
            run.effects += 1
            args[0].store(spoiled(value, why))
    return value


def _delete(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    """``delete pointer``: what objects do when they go has been looked at where they were made."""
    from mlaprobe.evaluator.engine.calls import havoc

    for value in args:
        if value is not None and not isinstance(value, Pointer):
            havoc(value, "delete may have written it", span)
            run.lose_globals(Unknown("what delete does is not followed", span))
    return None


def _left(value: Value, why: Unknown) -> Value:
    return spoiled(value, why) if isinstance(value, (str, Container)) else value


def _swap(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    places = [a if isinstance(a, Ref) else None for a in args]
    if len(places) == 2:
        swap(run, places[0], places[1], span)
    return None


def _exchange(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    place = args[0] if len(args) == 2 else None
    if not isinstance(place, Ref):
        return Unknown("std::exchange of this", span)
    before = place.load()
    run.effects += 1
    after, numbers = _loaded(args[1]), (int, Sym)
    if type(before) in numbers and type(after) in numbers:
        place.store(after)
    else:
        place.store(spoiled(before, Unknown("std::exchange is not followed", span)))
    return before


def _clamp(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    if len(args) != 3:
        return Unknown("std::clamp of these values", span)
    value, low, high = args
    below, above = compare("<", value, low, span), compare("<", high, value, span)
    for known in (below, above):
        if isinstance(known, Unknown):
            return known.derive("clamp", value, low, high)
    return low if below else high if above else value


def library() -> Mapping[str, Value]:
    """Names of functions and what they do."""
    return {
        **{f"std::{n}": _place(n, end=n.endswith("end")) for n in ("begin", "cbegin")},
        **{f"std::{n}": _place(n, end=True) for n in ("end", "cend")},
        "std::size": Builtin("std::size", _size, symbolic=True),
        "std::ssize": Builtin("std::ssize", _size, symbolic=True),
        "std::empty": Builtin("std::empty", _empty, symbolic=True),
        "std::next": _next(1),
        "std::prev": _next(-1),
        "std::advance": Builtin("std::advance", _advance, symbolic=True, by_place=True),
        "std::get": Builtin("std::get", _get, symbolic=True, takes_template=True),
        "std::move": Builtin("std::move", _move, symbolic=True, by_place=True),
        "std::forward": Builtin("std::forward", _move, symbolic=True, by_place=True),
        "std::swap": Builtin("std::swap", _swap, symbolic=True, by_place=True),
        "std::exchange": Builtin("std::exchange", _exchange, symbolic=True, by_place=True),
        "operator delete": Builtin("delete", _delete, symbolic=True),
        "std::clamp": Builtin("std::clamp", _clamp, symbolic=True),
    }
