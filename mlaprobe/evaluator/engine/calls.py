"""Binding arguments, and what a call that cannot be followed does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mlaprobe.evaluator.engine.frames import RUN, Eval, Frame
from mlaprobe.evaluator.engine.runs import Run
from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.ir import Function, Param, Span
from mlaprobe.evaluator.objects.objects import Instance, OfObject
from mlaprobe.evaluator.stl.containers import copied, spoiled
from mlaprobe.evaluator.stl.places import Iterator
from mlaprobe.evaluator.values import Args, Kwargs, Rest, Unknown, Value
from mlaprobe.evaluator.values.conversions import convert
from mlaprobe.evaluator.values.kinds import Braced, Closure, Model, Pointer, Record, Ref
from mlaprobe.evaluator.walk import written_names


def bind(
    params: tuple[tuple[Param, str, Eval | None], ...],
    function: Function,
    frame: Frame,
    args: Args,
    kwargs: Kwargs,
    span: Span,
    known: Mapping[str, Value],
) -> None:
    """Put arguments into a new frame.

    Raises:
        Failed: the call does not fit the parameters; ``TypeError`` as Python raises it.
    """
    left = dict(kwargs)
    position, count = 0, len(args)
    for param, slot, default in params:
        if param.kind == "*":
            frame[slot] = args[position:]
            position = count
        elif param.kind == "**":
            frame[slot], left = left, {}
        elif param.kind in ("normal", "placed") and position < count:
            if param.kind == "normal" and param.name in left:
                raise _type_error(f"{function.name}() got {param.name} twice", span)
            frame[slot] = _receive(args[position], param, span)
            position += 1
        elif param.kind != "placed" and param.name in left:
            frame[slot] = _receive(left.pop(param.name), param, span)
        elif default is not None:
            value = known[param.name] if param.name in known else default(frame)
            # Python makes it once, for all calls
            value = frame[RUN].own(value) if function.lang == "py" else value
            frame[slot] = _receive(value, param, span)
        else:
            raise _type_error(f"{function.name}() is missing the argument {param.name}", span)
    if position < count or left:
        what = next(iter(left)) if left else f"{count} arguments"
        raise _type_error(f"{function.name}() does not take {what}", span)


def _type_error(message: str, span: Span) -> Failed:
    return Failed("exception", "TypeError", message, span)


def _receive(value: Value, param: Param, span: Span) -> Value:
    ctype = param.type
    if ctype is None:
        return value
    if type(value) is Ref:
        if ctype.ref:
            return value
        value = value.load()
    if isinstance(value, Braced):
        return Unknown("a braced list passed as an argument", span)
    if ctype.kind == "auto" and not (ctype.ref or ctype.pointer):
        return copied(value)
    return convert(value, ctype, span)


def result_of_unknown(
    run: Run,
    callee: Unknown,
    name: str,
    args: Args,
    kwargs: Kwargs,
    span: Span,
    *,
    returns: bool = False,
) -> Unknown:
    """A call that cannot be followed: what it may write becomes unknown, and unless it is known
    to return it may fail."""
    run.emit("call", name, args, kwargs, span)
    returns = returns or callee.foreign
    owner = (callee.owner,) if isinstance(callee, OfObject) else ()
    given = (*owner, *args, *kwargs.values())
    for value in given:
        run.havocs(value, span)
        havoc(value, f"{name} may have written it: {callee.reason}", span)
    if run.globals and _may_run_source(callee, name, given):
        run.lose_globals(Unknown(f"{name} may have written it: {callee.reason}", span))
    fails = Unknown(f"{callee.reason} ({name})", span, key=("fails", name, span))
    if not returns and run.decide(fails):
        raise Failed("unknown", "unknown", f"{name} cannot be followed: {callee.reason}", span)
    return Unknown(
        f"{callee.reason} ({name})" if returns else callee.reason,
        span,
        key=("result", name, span, len(run.events)),
        free=callee.free if callee.foreign else None,
        foreign=callee.foreign,
    )


def _may_run_source(callee: Unknown, name: str, given: Args) -> bool:
    """Whether a call may run code of the source: one of the outside does where it is given a
    function or, of the C++ library, makes objects."""
    return (
        not callee.foreign
        or name.startswith("std::")
        or any(isinstance(value, Closure) for value in given)
    )


def havoc(value: Value, reason: str, span: Span) -> None:
    """Havocs what someone else may have written through a value, and through what it holds."""
    todo, seen = [value], set[int]()
    while todo:
        one = todo.pop()
        if id(one) not in seen:
            seen.add(id(one))
            todo += _held(one)
            _lose(one, reason, span)


def _held(value: Value) -> Iterable[Value]:
    """The values inside one that can be changed through it."""
    if isinstance(value, Record):
        inside = (Pointer, Record) if type(value) is Record else object
        return tuple(v for v in value.fields.values() if isinstance(v, inside))
    if isinstance(value, Pointer):
        there = value.load()
        return (there,) if isinstance(there, (Pointer, Record)) else ()
    if isinstance(value, (list, tuple)):
        return tuple(v for v in value if isinstance(v, _CHANGING))
    if isinstance(value, dict):
        return tuple(v for v in value.values() if isinstance(v, _CHANGING))
    return value.held() if isinstance(value, Model) else ()


_CHANGING = (list, dict, set, tuple, Record, Pointer, Model, Closure)


def _lose(value: Value, reason: str, span: Span) -> None:
    if isinstance(value, Iterator):
        value.spoil(Unknown(reason, span))
    elif isinstance(value, Pointer):
        before = value.load()
        if isinstance(before, Record):
            _lose(before, reason, span)
        if not (isinstance(before, Unknown) and before.foreign):
            value.store(spoiled(before, Unknown(reason, span)))
    elif isinstance(value, Record):
        for name in value.fields:
            value.fields[name] = Unknown(reason, span)
        if isinstance(value, Instance):
            value.lost = Unknown(reason, span)
    elif isinstance(value, list):
        value[:] = [Rest(reason, span)]
    elif isinstance(value, dict):
        value.clear()
        value[Rest(reason, span)] = Unknown(reason, span)
    elif isinstance(value, set):
        value.clear()
        value.add(Rest(reason, span))
    elif isinstance(value, Model):
        value.lose(reason, span)
    elif isinstance(value, Closure) and value.frame is not None:
        function = value.function
        written = written_names(function.body, references=function.lang == "cpp")
        for slot in written & value.frame.keys():
            value.frame[slot] = spoiled(value.frame[slot], Unknown(reason, span))
