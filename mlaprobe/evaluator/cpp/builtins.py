"""Functions of the C++ standard library that host code computes with."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from mlaprobe.evaluator.closures.methodcalls.methods import NPOS
from mlaprobe.evaluator.cpp.types import TYPE, bytes_of, parse_type
from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.library.algorithms import algorithms, least
from mlaprobe.evaluator.library.objects import library
from mlaprobe.evaluator.library.texts import texts
from mlaprobe.evaluator.library.transfers import transfers
from mlaprobe.evaluator.stl.containers import copied
from mlaprobe.evaluator.stl.numberpacks import number_packs
from mlaprobe.evaluator.stl.optionals import engaged
from mlaprobe.evaluator.symbolic.symbols import Sym, SymText, joined
from mlaprobe.evaluator.values import Args, Kwargs, Unknown, Value
from mlaprobe.evaluator.values.floats import Single, single
from mlaprobe.evaluator.values.kinds import Builtin, EnumMember, EnumType, StructType, plain

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.runs import Run

_LEADING_INTEGER = re.compile(r"\s*([+-]?\d+)")


def _first_unknown(name: str, args: Args, span: Span) -> Unknown:
    for value in args:
        if isinstance(value, Unknown):
            return value.derive(name, *args)
    return Unknown(f"{name} of these values", span)


def _atoi(text: str) -> int:
    match = _LEADING_INTEGER.match(text)
    value = int(match.group(1)) if match else 0
    if not -(2**31) <= value < 2**31:
        raise OverflowError("what atoi makes of it is undefined")
    return value


def _stoi(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    """``std::stoi``, which throws where ``atoi`` shrugs."""
    if len(args) != 1 or not isinstance(args[0], str):
        return _first_unknown("stoi", args, span)
    if _LEADING_INTEGER.match(args[0]) is None:
        raise Failed("exception", "std::invalid_argument", "stoi", span)
    try:
        return _atoi(args[0])
    except OverflowError:
        raise Failed("exception", "std::out_of_range", "stoi", span) from None


def _extreme(name: str, op: str) -> Builtin:
    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        return least(name, op, args, span)

    return Builtin(name, call, symbolic=True)


def _getenv(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    if len(args) == 1 and isinstance(args[0], str):
        return run.getenv(args[0])
    return Unknown("an environment variable whose name is not known", span)


def _identity(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    return args[0] if args else Unknown("nothing", span)


def _engaged(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    return engaged(args[0]) if len(args) == 1 else Unknown("an optional that is made", span)


def _unknown(reason: str) -> Callable[..., Unknown]:
    """A function whose result is not followed."""
    return lambda run, args, kwargs, span: Unknown(reason, span)


def size_of_type(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    """``sizeof`` of what a template parameter stands for."""
    kind = args[0] if args else None
    if isinstance(kind, (StructType, EnumType)) and len(args) == 2:
        kind = TYPE + kind.name
    if not isinstance(kind, str) or not kind.startswith(TYPE):
        kind = ""
    name = kind.removeprefix(TYPE)
    size = bytes_of(name)
    if size is None and name and len(args) == 2:
        size = args[1](parse_type(name))
    return Unknown("the size of this is not followed", span) if size is None else size


def _abort(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    raise Failed("abort", "abort", "", span)


def check(how: str, kind: str) -> Builtin:
    """A check that fails where its first argument is false; the others are its message."""

    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        if not args or run.holds(args[0]):
            return None
        raise Failed(kind, how, message_of(args[1:]), span)

    return Builtin(how, call)


def message_of(args: Args) -> Value:
    """The text that a check writes, as far as it is known."""
    parts = [
        a.name if isinstance(a, EnumMember) else a
        for a in args
        if isinstance(a, (str, int, float, EnumMember, Sym, SymText))
    ]
    while parts and isinstance(parts[0], str) and not parts[0].strip(" :"):
        parts.pop(0)
    if parts and isinstance(parts[0], str):
        parts[0] = parts[0].lstrip(" :")
    text = joined(parts)
    return text.strip() if isinstance(text, str) else text


def _strncmp(one: str, other: str, count: int) -> int:
    if not isinstance(one, str) or not isinstance(other, str) or count < 0:
        raise TypeError("texts are compared")
    one, other = one[:count], other[:count]
    return (one > other) - (one < other)


def _to_string(value: Value) -> str:
    if isinstance(value, float):
        return f"{value:.6f}"
    return str(ord(value) if isinstance(value, str) else int(value))


def _bits(value: int) -> int:
    """An int as the 32 bits that it is of."""
    if not -(2**31) <= value < 2**32:
        raise OverflowError("more than 32 bits")
    return value & 0xFFFFFFFF


def _natural(value: int) -> int:
    """A number of an unsigned type, whatever that is."""
    if value < 0:
        raise ValueError("a negative number")
    return value


def _clz(value: int) -> int:
    return 32 - _set(value).bit_length()


def _ctz(value: int) -> int:
    return (_set(value) & -_set(value)).bit_length() - 1


def _set(value: int) -> int:
    if not _bits(value):
        raise ValueError("undefined for 0")
    return _bits(value)


def _as(given: float, value: float) -> float:
    """A result of a function of the type that it is given."""
    return single(value) if type(given) is Single else value


_PLAIN: dict[str, Callable[..., Value]] = {
    "atoi": _atoi,
    "strcmp": lambda a, b: (a > b) - (a < b),
    "strncmp": _strncmp,
    "strlen": len,
    "abs": lambda v: _as(v, abs(v)),
    "to_string": _to_string,
    "log2f": lambda v: single(math.log2(v)),
    "log2": lambda v: _as(v, math.log2(v)),
    "sqrt": lambda v: _as(v, math.sqrt(v)),
    "sqrtf": lambda v: single(math.sqrt(v)),
    # of a floating type in C++, whatever they are of in Python
    "ceil": lambda v: _as(v, float(math.ceil(v))),
    "floor": lambda v: _as(v, float(math.floor(v))),
    "__builtin_ctz": _ctz,
    "__builtin_clz": _clz,
    "__builtin_popcount": lambda v: _bits(v).bit_count(),
    "popcount": lambda v: _natural(v).bit_count(),
    "has_single_bit": lambda v: _natural(v).bit_count() == 1,
    "bit_width": lambda v: _natural(v).bit_length(),
}
_IN_BOTH: dict[str, Builtin] = {
    **{name: plain(name, function) for name, function in _PLAIN.items()},
    **{name: _extreme(name, op) for name, op in (("min", "<"), ("max", ">"))},
    "stoi": Builtin("stoi", _stoi),
    **{name: Builtin(name, _getenv) for name in ("getenv", "secure_getenv")},
    **{
        name: Builtin(name, _abort)
        for name in ("abort", "terminate", "exit", "_exit", "quick_exit")
    },
    **{
        name: Builtin(name, _unknown("the result of writing text"), symbolic=True)
        for name in ("printf", "fprintf", "puts", "fputs", "fflush", "fwrite", "snprintf")
    },
}
"""Functions with and without ``std::``."""
_IDENTITIES = ("ref", "cref", "as_const")


def builtins() -> dict[str, Value]:
    """Names and values of what the language and its library provide."""
    return {
        **_IN_BOTH,
        **{f"std::{name}": function for name, function in _IN_BOTH.items()},
        **{f"std::{name}": Builtin(name, _identity, symbolic=True) for name in _IDENTITIES},
        **{
            name: Builtin(name, lambda run, args, kwargs, span: copied(args))
            for name in ("std::make_tuple", "std::make_pair")
        },
        "std::tie": Builtin("std::tie", lambda run, args, kwargs, span: args),
        **algorithms(),
        **library(),
        **transfers(),
        **texts(),
        **number_packs(),
        "sizeof": Builtin("sizeof", size_of_type, symbolic=True),
        "std::make_optional": Builtin("make_optional", _engaged, symbolic=True),
        "assert": check("assert", "abort"),
        "std::nullopt": None,
        "NULL": None,
        "__func__": None,
        "__FILE__": None,
        "__LINE__": None,
        "std::string::npos": NPOS,
        "INT_MAX": 2**31 - 1,
        "INT32_MAX": 2**31 - 1,
    }
