"""Methods of Python's lists and dicts that change them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mlaprobe.evaluator.closures.displays import elements
from mlaprobe.evaluator.engine.calls import havoc
from mlaprobe.evaluator.engine.signals import Failed, Unsupported
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.objects.mappings import joined, put_entry
from mlaprobe.evaluator.symbolic.symbols import plain
from mlaprobe.evaluator.values import Args, Kwargs, Unknown, Value, rest_of
from mlaprobe.evaluator.values.arithmetic import LONGEST
from mlaprobe.evaluator.values.comparing import entry_of, equals, in_order
from mlaprobe.evaluator.values.kinds import Builtin
from mlaprobe.evaluator.values.truth import truth

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.runs import Run


class _UnclearError(Exception):
    """It is not known what the method does."""


def _place(items: list[Value], item: Value, span: Span) -> int:
    """Where an item stands first.

    Raises:
        Failed: it is not there.
    """
    for at, other in enumerate(items):
        same = equals(item, other, span)
        if isinstance(same, Unknown):
            raise _UnclearError
        if same:
            return at
    raise Failed("exception", "ValueError", "it is not in the list", span)


def _all(value: Value, span: Span) -> list[Value]:
    values = elements(value, span)
    if isinstance(values, Unknown):
        raise _UnclearError
    return values


def _number(args: Args, at: int, default: int) -> int:
    value = plain(args[at]) if len(args) > at else default
    if type(value) is not int:
        raise _UnclearError
    return value


def _remove(run: Run, items: list[Value], args: Args, kwargs: Kwargs, span: Span) -> Value:
    del items[_place(items, args[0], span)]
    return None


def _pop(run: Run, items: list[Value], args: Args, kwargs: Kwargs, span: Span) -> Value:
    at = _number(args, 0, -1)
    if not -len(items) <= at < len(items):
        raise Failed("exception", "IndexError", "pop index out of range", span)
    return items.pop(at)


def _sort(run: Run, items: list[Value], args: Args, kwargs: Kwargs, span: Span) -> Value:
    key, backwards = kwargs.get("key"), truth(kwargs.get("reverse", False))
    if args or isinstance(backwards, Unknown):
        raise _UnclearError
    sizes = [v if key is None else run.machine.call(run, key, (v,), {}, span) for v in items]
    order = in_order(sizes, bool(backwards), span)
    if isinstance(order, Unknown):
        raise _UnclearError
    items[:] = [items[at] for at in order]
    return None


def _extend(run: Run, items: list[Value], args: Args, kwargs: Kwargs, span: Span) -> Value:
    more = _all(args[0], span)
    if len(items) + len(more) > LONGEST:
        raise Unsupported("a list too long to follow", span)
    items.extend(more)
    return None


def _insert(run: Run, items: list[Value], args: Args, kwargs: Kwargs, span: Span) -> Value:
    items.insert(_number(args, 0, 0), args[1])
    return None


def _reverse(run: Run, items: list[Value], args: Args, kwargs: Kwargs, span: Span) -> Value:
    items.reverse()
    return None


def _clear(run: Run, items: Value, args: Args, kwargs: Kwargs, span: Span) -> Value:
    items.clear()
    return None


Method = Callable[["Run", Value, Args, Kwargs, Span], Value]
_LIST: dict[str, tuple[int, Method]] = {
    "remove": (1, _remove),
    "pop": (0, _pop),
    "sort": (0, _sort),
    "extend": (1, _extend),
    "insert": (2, _insert),
    "reverse": (0, _reverse),
    "clear": (0, _clear),
}
"""(how many arguments it takes at least, what it does)."""


def _key(mapping: dict[Value, Value], key: Value, span: Span) -> tuple[bool, Value]:
    """Whether a dict has a key, and the value at it."""
    found, value = entry_of(mapping, key, span)
    if isinstance(found, Unknown):
        raise _UnclearError
    return bool(found), value


def _setdefault(
    run: Run, mapping: dict[Value, Value], args: Args, kwargs: Kwargs, span: Span
) -> Value:
    there, value = _key(mapping, args[0], span)
    if there:
        return value
    value = args[1] if len(args) > 1 else None
    if put_entry(mapping, args[0], value, span) is not None:
        raise _UnclearError
    return value


def _pop_key(
    run: Run, mapping: dict[Value, Value], args: Args, kwargs: Kwargs, span: Span
) -> Value:
    there, value = _key(mapping, args[0], span)
    if there:
        drop(mapping, args[0], span)
        return value
    if len(args) > 1:
        return args[1]
    raise Failed("exception", "KeyError", repr(plain(args[0])), span)


def drop(mapping: dict[Value, Value], key: Value, span: Span) -> None:
    """Removes the entry of a key that is there."""
    key = plain(key)
    for known in tuple(mapping):
        if equals(key, known, span) is True:
            del mapping[known]
            return


def _popitem(
    run: Run, mapping: dict[Value, Value], args: Args, kwargs: Kwargs, span: Span
) -> Value:
    if not mapping:
        raise Failed("exception", "KeyError", "popitem(): dictionary is empty", span)
    return mapping.popitem()


def _update(run: Run, mapping: dict[Value, Value], args: Args, kwargs: Kwargs, span: Span) -> Value:
    for other in (*args, kwargs):
        pairs = other
        if not isinstance(other, dict):
            pairs = {}
            for pair in _all(other, span):
                if not isinstance(pair, (tuple, list)) or len(pair) != 2:
                    raise _UnclearError
                if put_entry(pairs, pair[0], pair[1], span) is not None:
                    raise _UnclearError
        result = joined(dict(mapping), pairs, span)
        if isinstance(result, Unknown):
            raise _UnclearError
        mapping.clear()
        mapping.update(result)
    return None


_DICT: dict[str, tuple[int, Method]] = {
    "setdefault": (1, _setdefault),
    "pop": (1, _pop_key),
    "popitem": (0, _popitem),
    "update": (0, _update),
    "clear": (0, _clear),
}


def changing_method(obj: Value, name: str, otherwise: Builtin) -> Builtin | None:
    """A method that changes a list or a dict, as something that can be called. ``otherwise`` is
    what it does where that is not known."""
    found = (_LIST if isinstance(obj, list) else _DICT).get(name)
    if found is None or rest_of(obj) is not None:
        return None
    least, does = found

    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        if len(args) < least or (kwargs and name not in ("sort", "update")):
            return otherwise.call(run, args, kwargs, span)
        run.changes(obj, span)
        try:
            return does(run, obj, args, kwargs, span)
        except _UnclearError:
            return otherwise.call(run, args, kwargs, span)

    return Builtin(name, call, symbolic=True)


def removed(run: Run, obj: Value, key: Value, span: Span) -> None:
    """``del obj[key]``.

    Raises:
        Failed: there is no such element.
    """
    key = plain(key)
    run.changes(obj, span)
    known = isinstance(obj, (list, dict)) and rest_of(obj) is None
    if known and isinstance(obj, dict):
        found, _ = entry_of(obj, key, span)
        if found is True:
            return drop(obj, key, span)
        if found is False:
            raise Failed("exception", "KeyError", repr(key), span)
    elif known and (isinstance(key, slice) or type(key) in (int, bool)):
        try:
            del obj[key]
        except IndexError:
            raise Failed("exception", "IndexError", "index out of range", span) from None
        return None
    if not isinstance(obj, (list, dict)):
        raise Unsupported("an element is deleted of something that is not followed", span)
    havoc(obj, "an element that is not known is deleted", span)
    return None
