"""Sizes of dimensions: numbers, symbols for them, and numbers of requests of an open batch.

Anything else is an unknown size. A comparison of a symbol is a condition of the answer, like the
code's own; of a number of requests it is answered where it comes out the same for every batch.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any

from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.symbolic.symbols import same
from mlaprobe.evaluator.values.operators import binary
from mlaprobe.evaluator.values.unknown import Unknown
from mlaprobe.stages.batches import Requests
from mlaprobe.stages.numbers import calculate, is_whole


def is_size(value: Any) -> bool:
    """Whether a value is a size that can be computed with."""
    return is_whole(value) or isinstance(value, Requests)


def at_least(size: Any, bound: int) -> bool | None:
    """Whether a size is no less, of whatever batch; ``None`` where that is not known."""
    if is_whole(size):
        return bool(calculate(">=", size, bound))
    if not isinstance(size, Requests) or not calculate(">=", size.times, 0):
        return None
    return True if calculate(">=", calculate("+", size.times, size.plus), bound) else None


def same_size(one: Any, other: Any) -> bool | None:
    """Whether two sizes are the same; ``None`` where that is not known."""
    if is_whole(one) and is_whole(other):
        return same(one, other)
    if isinstance(one, Requests) and isinstance(other, Requests):
        if same(one.times, other.times):
            return same(one.plus, other.plus)
        return None
    known = isinstance(one, Unknown) and isinstance(other, Unknown) and one.key == other.key
    return True if known else None


def is_one(size: Any) -> bool:
    """Whether a size is certainly 1."""
    return is_whole(size) and same(size, 1)


def product(sizes: Iterable[Any], span: Span) -> Any:
    """The product of sizes."""
    return reduce(lambda found, size: binary("*", found, size, span), sizes, 1)


def sliced(size: Any, part: slice, span: Span) -> Any:
    """How many of ``size`` elements a slice leaves.

    Raises:
        Failed: the step is none that torch takes.
    """
    step = 1 if part.step is None else part.step
    if type(step) is not int:
        return _unclear(span)
    if step < 1:
        raise Failed("exception", "ValueError", "step must be greater than zero", span)
    start, stop = _bound(part.start, 0, size), _bound(part.stop, size, size)
    if start is None or stop is None:
        return _unclear(span)
    return stepped(binary("-", stop, start, span), step, span)


def stepped(length: Any, step: Any, span: Span) -> Any:
    """How many steps there are in a length, the last one begun; none in a negative one."""
    some = at_least(length, 1)
    if some is not True:
        return 0 if some is False else _unclear(span)
    if not is_whole(length):
        found = binary("//", length, step, span)  # a number of requests where nothing is left over
    else:
        begun = binary("-", binary("+", length, step, span), 1, span)
        found = binary("//", begun, step, span)
    return found if is_size(found) else _unclear(span)


def _bound(value: Any, default: Any, size: Any) -> Any:
    """Where a slice begins or ends, within the size; ``None`` where that is not known."""
    if value is None:
        return default
    if not is_size(value):
        return None
    if is_whole(value) and calculate("<", value, 0):
        value = calculate("+", value, size)
        within = at_least(value, 0)
        return value if within else None if within is None else 0
    if at_least(value, 0) is not True:
        return None
    within = at_least(calculate("-", size, value), 0)
    return value if within else None if within is None else size


def _unclear(span: Span) -> Unknown:
    return Unknown("how many elements a slice has", span, free="data", foreign=True)
