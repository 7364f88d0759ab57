"""``operator``, ``bisect`` and ``functools.reduce``: functions that others are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mlaprobe.evaluator.closures.attributes import attribute, subscript
from mlaprobe.evaluator.closures.displays import elements
from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.values import Args, Kwargs, Unknown, Value
from mlaprobe.evaluator.values.comparing import compare
from mlaprobe.evaluator.values.kinds import Builtin
from mlaprobe.evaluator.values.operators import binary, unary

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.runs import Run

Call = Callable[["Run", Args, Kwargs, Span], Value]


def _unfollowed(name: str, span: Span) -> Unknown:
    return Unknown(f"this call of {name} is not followed", span)


def _reduce(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    values = elements(args[1], span) if 2 <= len(args) <= 3 else _unfollowed("reduce", span)
    if isinstance(values, Unknown):
        return values
    items = [*args[2:], *values]
    if not items:
        raise Failed("exception", "TypeError", "reduce() of nothing", span)
    total = items[0]
    for item in items[1:]:
        total = run.machine.call(run, args[0], (total, item), {}, span)
    return total


def _bisect(right: bool) -> Call:
    """Where a number belongs in a list: as many comparisons as Python makes, and the same ones."""

    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        if len(args) != 2 or kwargs or not isinstance(args[0], (list, tuple)):
            return _unfollowed("bisect", span)
        values, item = args
        low, high = 0, len(values)
        while low < high:
            middle = (low + high) // 2
            pair = (item, values[middle]) if right else (values[middle], item)
            less = compare("<", *pair, span)
            if isinstance(less, Unknown):
                return less.derive("bisect")
            if bool(less) is right:
                high = middle
            else:
                low = middle + 1
        return low

    return call


def _getter(read: Callable[[Run, Value, Value, Span], Value]) -> Call:
    """``itemgetter`` or ``attrgetter``."""

    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        keys = args

        def get(run: Run, args: Args, kwargs: Kwargs, where: Span) -> Value:
            found = tuple(read(run, args[0], key, where) for key in keys)
            return found[0] if len(found) == 1 else found

        return Builtin("getter", get, symbolic=True)

    return call


def _item(run: Run, value: Value, key: Value, span: Span) -> Value:
    return subscript(value, key, span, python=True)


def _attr(run: Run, value: Value, key: Value, span: Span) -> Value:
    if not isinstance(key, str) or "." in key:
        return Unknown("an attribute that is not followed", span)
    return attribute(run, None, value, key, span, python=True)


def _operator(op: str) -> Call:
    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        if len(args) != 2:
            return _unfollowed(f"operator {op}", span)
        return binary(op, *args, span)

    return call


def _contains(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    return binary("in", args[1], args[0], span) if len(args) == 2 else _unfollowed("in", span)


_NAMES = {
    **{"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "add": "+"},
    **{"sub": "-", "mul": "*", "floordiv": "//", "mod": "%", "and_": "&", "or_": "|", "xor": "^"},
    **{"truediv": "/", "lshift": "<<", "rshift": ">>", "is_": "is", "is_not": "is not"},
}
_FUNCTIONS: dict[str, Call] = {
    "functools.reduce": _reduce,
    "bisect.bisect_left": _bisect(False),
    "bisect.bisect_right": _bisect(True),
    "bisect.bisect": _bisect(True),
    "operator.itemgetter": _getter(_item),
    "operator.attrgetter": _getter(_attr),
    "operator.contains": _contains,
    "operator.not_": lambda run, args, kwargs, span: unary("not", args[0], span),
    **{f"operator.{name}": _operator(op) for name, op in _NAMES.items()},
}
FUNCTIONAL: dict[str, Value] = {
    name: Builtin(name, call, symbolic=True) for name, call in _FUNCTIONS.items()
}
"""These functions, by dotted names."""
