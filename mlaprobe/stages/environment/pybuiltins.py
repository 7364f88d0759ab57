"""Python's built-in functions, on values that may be unknown."""

from __future__ import annotations

import builtins
from typing import Any

from mlaprobe.evaluator.closures.displays import as_mapping, elements
from mlaprobe.evaluator.engine.calls import result_of_unknown
from mlaprobe.evaluator.engine.runs import Run
from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.objects.classes import PyClass
from mlaprobe.evaluator.objects.enums import enum_text
from mlaprobe.evaluator.objects.iterables import Cursor
from mlaprobe.evaluator.objects.mappings import as_set, concrete
from mlaprobe.evaluator.objects.objects import Instance, called, special
from mlaprobe.evaluator.python.types import TYPES, instance_of, type_of
from mlaprobe.evaluator.symbolic import symbols
from mlaprobe.evaluator.symbolic.symbols import Sym, SymText
from mlaprobe.evaluator.values import Args, Kwargs, SomeText, Unknown, Value
from mlaprobe.evaluator.values.arithmetic import WIDE, plain_number
from mlaprobe.evaluator.values.comparing import extreme, in_order
from mlaprobe.evaluator.values.handled import ErrorType
from mlaprobe.evaluator.values.kinds import Builtin, EnumMember, plain
from mlaprobe.evaluator.values.operators import binary
from mlaprobe.evaluator.values.truth import truth
from mlaprobe.stages.environment.dtypes import DtypeToken
from mlaprobe.stages.environment.libraries import Call, library_externals
from mlaprobe.stages.environment.tensors import Tensor


def _len(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    if args and isinstance(args[0], Tensor):
        return args[0].shape[0]
    if args and special(args[0], "__len__"):
        return called(run, args[0], "__len__", (), span)
    if args and isinstance(args[0], EnumMember):
        return Unknown("len() of a flag, which Python counts from 3.11 on only", span)
    if not args or isinstance(args[0], (Cursor, Instance)):
        raise Failed("exception", "TypeError", "len() of what has none", span)
    values = elements(concrete(args[0], span), span, any_order=True)
    return values if isinstance(values, Unknown) else len(values)


def _range(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    unknown = next((a for a in args if isinstance(a, Unknown)), None)
    if unknown is not None:
        return unknown.derive("range", *args)
    if args and all(type(a) in (int, bool) for a in args) and args[2:] != (0,):
        return range(*args)
    return Unknown("this range", span)


def _int(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    value = args[0] if args else 0
    value = plain_number(value)
    if isinstance(value, Unknown) or (type(value) is Sym and type(value.value) is int):
        return value
    if type(value) is Sym:  # a float
        value = value.concretize()
    if isinstance(value, float) and not abs(value) < 2**63:
        return Unknown("a float out of range of an integer", span)
    if isinstance(value, (int, float)):
        return int(value)
    if isinstance(value, str):
        try:
            return int(value, *[a for a in args[1:] if isinstance(a, int)])
        except ValueError:
            raise Failed("exception", "ValueError", f"int({value!r})", span) from None
    return Unknown("int of this value", span)


def _bool(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    if args and special(args[0], "__bool__", "__len__"):
        return run.holds(args[0], span)
    return run.truth(args[0], span) if args else False


def _str(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    value = args[0] if args else ""
    if isinstance(value, (str, int, float, bool)) or value is None:
        return str(value)
    if isinstance(value, SomeText):
        return value
    text = enum_text(value, formatted=False) if isinstance(value, EnumMember) else None
    if isinstance(value, DtypeToken):
        text = value.text
    if text is not None:
        return text
    if type(value) in (Sym, SymText):
        return SymText((value,)) if type(value) is Sym else value
    return Unknown("the text of this value", span)


def _format(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    if len(args) < 2 or args[1] == "":
        return _str(run, args[:1], {}, span)
    value, spec = symbols.plain(args[0]), args[1]
    if not isinstance(value, (str, int, float)) or not isinstance(spec, str) or WIDE.search(spec):
        return Unknown("the text of this value", span, foreign=True)
    try:
        return format(value, spec)
    except ValueError as error:
        raise Failed("exception", "ValueError", str(error), span) from None


def _dict(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    values = elements(args[0], span) if args else []
    if isinstance(values, Unknown):
        return values
    given = args[0] if args and isinstance(args[0], dict) else as_mapping(values, span)
    return given if isinstance(given, Unknown) else {**given, **kwargs}


def _repr(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    value = args[0] if args else ""
    if isinstance(value, (str, int, float, bool)) or value is None:
        return repr(value)
    if type(value) is Sym:
        return SymText((value,))
    return Unknown("the text of this value", span, foreign=True)


def _measured(run: Run, values: list[Value], kwargs: Kwargs, span: Span) -> list[Value]:
    """What the values are ordered by."""
    key = kwargs.get("key")
    return values if key is None else [run.machine.call(run, key, (v,), {}, span) for v in values]


def _extreme(name: str, op: str) -> Call:
    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        sized = "key" in kwargs
        values = elements(args[0], span, any_order=not sized) if len(args) == 1 else list(args)
        if isinstance(values, Unknown):
            return values
        if not values and "default" in kwargs:
            return kwargs["default"]
        if not values:
            raise Failed("exception", "ValueError", f"{name}() of nothing", span)
        return extreme(name, op, values, _measured(run, values, kwargs, span), span)

    return call


def _sequence(kind: type) -> Call:
    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        unordered = kind in (set, frozenset)
        values = elements(args[0], span, any_order=unordered) if args else []
        if isinstance(values, Unknown):
            return values
        if not unordered:
            return kind(values)
        made = as_set(values, span)
        return frozenset(made) if kind is frozenset and isinstance(made, set) else made

    return call


def _sum(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    values = elements(args[0], span, any_order=True)
    if isinstance(values, Unknown):
        return values
    total: Any = args[1] if len(args) > 1 else 0
    for value in values:
        total = binary("+", total, value, span)
    return total


def _sorted(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    values = elements(args[0], span, any_order="key" not in kwargs)
    if isinstance(values, Unknown):
        return values
    sizes, reverse = _measured(run, values, kwargs, span), truth(kwargs.get("reverse", False))
    unknown = next((s for s in (*sizes, reverse) if isinstance(s, Unknown)), None)
    if unknown is not None:
        return unknown.derive("sorted")
    order = in_order(sizes, bool(reverse), span)
    return order if isinstance(order, Unknown) else [values[at] for at in order]


_TYPES = {**TYPES, "Tensor": (Tensor,), "dtype": (DtypeToken,)}


def _isinstance(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    if len(args) != 2:
        return Unknown("the type of a value", span)
    return instance_of(args[0], args[1], span, _TYPES)


def _getattr(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    from mlaprobe.evaluator.closures.attributes import attribute

    if len(args) < 2 or not isinstance(args[1], str):
        return Unknown("an attribute without a known name", span)
    try:
        return attribute(run, None, args[0], args[1], span, python=True)
    except Failed as failure:
        if failure.how == "AttributeError" and len(args) > 2:
            return args[2]
        raise


def _setattr(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    known = len(args) == 3 and not kwargs and isinstance(args[1], str)
    if known and isinstance(args[0], Instance):
        args[0].cls.write(run, args[0], args[1], args[2], span)
        return None
    if known and isinstance(args[0], PyClass):
        run.effects += 1
        args[0].assign_in(run, args[1], args[2], span)
        return None
    why = Unknown("what setattr does to this value is not followed", span)
    return result_of_unknown(run, why, "setattr", args, kwargs, span)


def _hasattr(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    try:
        found = _getattr(run, args[:2], {}, span)
    except Failed as failure:
        if failure.how == "AttributeError":
            return False
        raise
    return found if isinstance(found, Unknown) else True


_BUILTINS: dict[str, Call] = {
    "len": _len,
    "range": _range,
    "int": _int,
    "bool": _bool,
    "str": _str,
    "format": _format,
    "repr": _repr,
    "ascii": _repr,
    "min": _extreme("min", "<"),
    "max": _extreme("max", ">"),
    "tuple": _sequence(tuple),
    "list": _sequence(list),
    "set": _sequence(set),
    "frozenset": _sequence(frozenset),
    "sum": _sum,
    "sorted": _sorted,
    "isinstance": _isinstance,
    "type": type_of,
    "getattr": _getattr,
    "hasattr": _hasattr,
    "setattr": _setattr,
    "dict": _dict,
    "print": lambda run, a, k, s: None,
}
_ALL_VALUES = ("tuple", "list", "dict", "set", "frozenset", "len", "min", "max", "any", "all")
_TYPED = (
    "int",
    "bool",
    "repr",
    "str",
    "format",
    "isinstance",
    "type",
    "getattr",
    "hasattr",
    "setattr",
)
_SYMBOLIC = frozenset((*_ALL_VALUES, *_TYPED))
"""Built-in functions that can work with symbols."""
_ERRORS = tuple(
    (name, value.__name__)
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
)
_PLAIN = (abs, round, float, divmod, bin, hex, oct, ord, chr)


def python_externals() -> dict[str, Any]:
    """Names outside AITER's Python, by their dotted names."""
    return {
        **{
            f"builtins.{name}": Builtin(name, call, symbolic=name in _SYMBOLIC)
            for name, call in _BUILTINS.items()
        },
        **{f"builtins.{each.__name__}": plain(each.__name__, each) for each in _PLAIN},
        **{f"builtins.{name}": ErrorType(own) for name, own in _ERRORS},
        **library_externals(),
    }
