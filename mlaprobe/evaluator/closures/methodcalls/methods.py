"""Methods of strings, numbers and containers, in both languages."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mlaprobe.evaluator.closures.displays import elements
from mlaprobe.evaluator.closures.methodcalls.listmethods import changing_method
from mlaprobe.evaluator.engine.signals import Failed, Unsupported
from mlaprobe.evaluator.ir import NOWHERE, Span
from mlaprobe.evaluator.objects.iterables import DefaultDict, View
from mlaprobe.evaluator.symbolic.symbols import SymText, plain
from mlaprobe.evaluator.values import Args, Kwargs, Unknown, Value, rest_of, unknown_in
from mlaprobe.evaluator.values.arithmetic import LONGEST, WIDE
from mlaprobe.evaluator.values.comparing import entry_of, negate
from mlaprobe.evaluator.values.kinds import Builtin
from mlaprobe.evaluator.values.truth import truth

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.runs import Run

NPOS = 2**64 - 1
"""``std::string::npos``."""


class _OutOfRange(Exception):
    """What C++ throws for a place that is not in a text."""


def _find(text: str, part: str, start: int = 0) -> int:
    at = text.find(part, start) if start >= 0 else -1
    return at if at >= 0 else NPOS


def _at(text: str, at: int) -> str:
    if not 0 <= at < len(text):
        raise _OutOfRange
    return text[at]


def _substr(text: str, start: int = 0, count: int = NPOS) -> str:
    if not 0 <= start <= len(text):
        raise _OutOfRange
    return text[start:] if count < 0 else text[start : start + count]


def _rfind(text: str, part: str, last: int = NPOS) -> int:
    at = text.rfind(part, 0, min(last, len(text)) + len(part))
    return at if at >= 0 else NPOS


def _compare(text: str, *args: Value) -> int:
    """``compare`` of a text, or of a part of it, with another."""
    other: str = args[-1]
    if len(args) == 3 and not isinstance(args[0], str):
        if not 0 <= args[0] <= len(text) or args[1] < 0:
            raise _OutOfRange
        text = text[args[0] : args[0] + args[1]]
    elif len(args) != 1:
        raise ValueError("a comparison of parts")
    return (text > other) - (text < other)


def _join(text: str, parts: Value) -> str:
    items = elements(parts, NOWHERE)
    if isinstance(items, Unknown) or unknown_in(items) is not None:
        raise TypeError("what is joined is not known")
    parts = plain(items)
    if sum(len(p) + len(text) for p in parts if isinstance(p, str)) > LONGEST:
        raise ValueError("a text too long to follow")
    return text.join(parts)


def _replace(text: str, old: str, new: str, *count: int) -> str:
    if (len(text) + 1) * len(new) > LONGEST:
        raise ValueError("a text too long to follow")
    return text.replace(old, new, *count)


def _formatted(text: str, *args: Value, **kwargs: Value) -> str:
    if not all(type(a) in (int, str, float, bool) for a in (*args, *kwargs.values())):
        raise TypeError("what is formatted is not known")
    if WIDE.search(text):
        raise ValueError("a text too long to follow")
    return text.format(*args, **kwargs)


def _among(*, wanted: bool, last: bool) -> Callable[..., int]:
    """Where the first or last character is that is one of some, or none of them."""

    def find(text: str, chars: str) -> int:
        found = [at for at, char in enumerate(text) if (char in chars) is wanted]
        return found[-1 if last else 0] if found else NPOS

    return find


def _data(text: str) -> str:
    if not text:
        raise ValueError("an empty text may have none")
    return text


_TEXT: dict[str, Callable[..., Value]] = {
    # C++
    "empty": lambda s: not s,
    "size": len,
    "length": len,
    "c_str": lambda s: s,
    "data": _data,
    "substr": _substr,
    "compare": _compare,
    "rfind": _rfind,
    "find_first_of": _among(wanted=True, last=False),
    "find_last_of": _among(wanted=True, last=True),
    "find_first_not_of": _among(wanted=False, last=False),
    "find_last_not_of": _among(wanted=False, last=True),
    "starts_with": str.startswith,
    "ends_with": str.endswith,
    "front": lambda s: s[0],
    "back": lambda s: s[-1],
    "at": _at,
    "contains": lambda s, part: part in s,
    # Python
    "startswith": str.startswith,
    "endswith": str.endswith,
    "lower": str.lower,
    "upper": str.upper,
    "strip": str.strip,
    "lstrip": str.lstrip,
    "rstrip": str.rstrip,
    "split": str.split,
    "join": _join,
    "format": _formatted,
    "replace": _replace,
    "isdigit": str.isdigit,
    "removeprefix": str.removeprefix,
    "removesuffix": str.removesuffix,
    "count": str.count,
    "zfill": str.zfill,
    "partition": str.partition,
    "rpartition": str.rpartition,
    "rsplit": str.rsplit,
    "isalpha": str.isalpha,
    "isdecimal": str.isdecimal,
    "isnumeric": str.isnumeric,
    "islower": str.islower,
    "isupper": str.isupper,
    "casefold": str.casefold,
    "title": str.title,
    "capitalize": str.capitalize,
}


_NUMBER: dict[str, Callable[..., Value]] = {
    "bit_length": int.bit_length,
    "bit_count": lambda n: bin(n).count("1"),
}


def method(obj: Value, name: str, span: Span, *, python: bool) -> Value:
    """A method of a plain value, as something that can be called."""
    if type(obj) is SymText:
        obj = plain(obj)
    if isinstance(obj, str):
        if name == "find" and python:
            return _safe(name, obj, str.find, span)
        if name == "find":
            return Builtin("find", lambda run, a, k, s: _text_find(obj, a, s))
        function = _TEXT.get(name)
        return _safe(name, obj, function, span) if function else _missing(obj, name, span)
    if isinstance(obj, dict):
        return _dict_method(obj, name, span, python=python)
    if isinstance(obj, (list, tuple)):
        return _sequence_method(obj, name, span, python=python)
    number = plain(obj) if name in _NUMBER else None
    if isinstance(number, int):
        return _safe(name, number, _NUMBER[name], span)
    return _missing(obj, name, span)


def _text_find(text: str, args: Args, span: Span) -> Value:
    if not args or not all(isinstance(a, (str, int)) for a in args):
        return _first_unknown(args, "find", span)
    return _find(text, *args)


def _missing(obj: Value, name: str, span: Span) -> Unknown:
    return Unknown(f"{type(obj).__name__}.{name} is not modelled", span)


def _first_unknown(args: Args, name: str, span: Span) -> Unknown:
    found = next((a for a in args if isinstance(a, Unknown)), None)
    return found if found is not None else Unknown(f"{name} of these values", span)


def _safe(name: str, obj: Value, function: Callable[..., Value], span: Span) -> Builtin:
    def call(run: Run, args: Args, kwargs: Kwargs, where: Span) -> Value:
        unknown = unknown_in((obj, args, tuple(kwargs.values())))
        if unknown is not None or (kwargs and function is not _formatted):
            found = _first_unknown((unknown, *args), name, where)
            if function in (_at, _substr) and run.decide(found.derive("out of range", obj, *args)):
                raise Failed("exception", "std::out_of_range", name, where)
            return found
        try:
            return function(obj, *args, **kwargs)
        except _OutOfRange:
            raise Failed("exception", "std::out_of_range", name, where) from None
        except Exception as error:
            return Unknown(f"{name}: {error}", where)

    return Builtin(name, call)


def _dict_method(obj: dict[Value, Value], name: str, span: Span, *, python: bool) -> Value:
    if name == "get":

        def get(run: Run, args: Args, kwargs: Kwargs, where: Span) -> Value:
            if not args or kwargs or isinstance(args[0], Unknown):
                return _first_unknown(args, "get", where)
            found, value = entry_of(obj, args[0], where)
            if found is True:
                return value
            return found if isinstance(found, Unknown) else (args[1] if len(args) > 1 else None)

        return Builtin("get", get, symbolic=True)
    rest = rest_of(obj)
    found = changing_method(obj, name, _mutation(obj, name, span))
    if found is not None:
        return found
    if name == "copy":
        if isinstance(obj, DefaultDict):
            return Builtin(name, lambda run, a, k, s: DefaultDict(obj.factory, obj), symbolic=True)
        return Builtin(name, lambda run, a, k, s: dict(obj), symbolic=True)
    if name in ("keys", "values", "items") and rest is not None and not python:
        return Builtin(name, lambda run, a, k, s: rest.another())
    if name in ("keys", "values", "items"):
        parts = {"keys": tuple(obj), "values": tuple(obj.values()), "items": tuple(obj.items())}
        if python:
            return Builtin(name, lambda run, a, k, s: View(obj, name))
        return Builtin(name, lambda run, a, k, s: parts[name])
    return _mutation(obj, name, span)


def _sequence_method(obj: Value, name: str, span: Span, *, python: bool) -> Value:
    rest = rest_of(obj)
    found = changing_method(obj, name, _mutation(obj, name, span)) if python else None
    if found is not None and isinstance(obj, list):
        return found
    if name == "copy" and isinstance(obj, list) and python:
        return Builtin(name, lambda run, a, k, s: list(obj), symbolic=True)
    if name in ("size", "length"):
        return Builtin(name, lambda run, a, k, s: len(obj) if rest is None else rest.another())
    if name == "empty":
        return Builtin(name, lambda run, a, k, s: negate(truth(obj)))
    if name == "at" and rest is None:
        return Builtin(name, lambda run, a, k, s: _element(run, obj, a, s))
    if name in ("append", "push_back", "emplace_back") and isinstance(obj, list):

        def append(run: Run, args: Args, kwargs: Kwargs, where: Span) -> Value:
            run.changes(obj, where)
            obj.append(args[0] if args else None)
            return None

        return Builtin(name, append, symbolic=True)
    if name in ("index", "count"):
        return _safe(name, obj, getattr(type(obj), name), span)
    return _mutation(obj, name, span)


def _element(run: Run, obj: Value, args: Args, span: Span) -> Value:
    """``at`` of an array."""
    at = args[0] if len(args) == 1 else None
    if type(at) is int and 0 <= at < len(obj):
        return obj[at]
    beyond = Unknown("whether an element is there", span)
    if type(at) is int or run.decide(beyond):
        raise Failed("exception", "std::out_of_range", "at", span)
    return Unknown("an element at an unknown place", span)


_KEEPS_LENGTH = {"data", "begin", "end", "cbegin", "cend", "rbegin", "rend", "front", "back", "at"}
_KEEPS_LENGTH |= {"reserve", "capacity", "shrink_to_fit", "sort", "reverse", "copy"}
"""Methods of a list or vector that may change its elements and not how many there are."""
_ASKS = {"cbegin", "cend", "at", "front", "back", "max_size"}
"""Methods that do not change what cannot be made unknown in place: a tuple or a set."""


def _mutation(obj: Value, name: str, span: Span) -> Value:
    """A method that is not modelled may change the container: its contents become unknown."""

    def call(run: Run, args: Args, kwargs: Kwargs, where: Span) -> Value:
        from mlaprobe.evaluator.engine.calls import havoc

        run.effects += 1
        run.havocs(obj, where)
        reason = f"{type(obj).__name__}.{name} is not modelled"
        if isinstance(obj, list) and name in _KEEPS_LENGTH and rest_of(obj) is None:
            obj[:] = [Unknown(reason, where) for _ in obj]
        elif isinstance(obj, (list, dict)):
            havoc(obj, reason, where)
        elif name not in _ASKS:
            raise Unsupported(reason, where)
        return Unknown(reason, where)

    return Builtin(name, call)
