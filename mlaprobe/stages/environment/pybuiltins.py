"""Python's built-in functions, on values that may be unknown."""

from __future__ import annotations

from typing import Any

from mlaprobe.evaluator.closures.displays import as_mapping, as_set, elements
from mlaprobe.evaluator.engine.runs import Run
from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.symbolic import symbols
from mlaprobe.evaluator.symbolic.symbols import Sym, SymText
from mlaprobe.evaluator.values import Args, Kwargs, SomeText, Unknown, Value
from mlaprobe.evaluator.values.comparing import extreme
from mlaprobe.evaluator.values.kinds import Builtin, plain
from mlaprobe.evaluator.values.operators import binary
from mlaprobe.evaluator.values.truth import settled, truth
from mlaprobe.stages.environment.libraries import Call, Library, library_externals
from mlaprobe.stages.environment.tensors import Tensor


def _len(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    if args and isinstance(args[0], Tensor):
        return args[0].shape[0]
    values = elements(args[0], span) if args else Unknown("len of nothing", span)
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
    if isinstance(value, Unknown) or (type(value) is Sym and type(value.value) is int):
        return value
    if isinstance(value, (int, float)):
        return int(value)
    if isinstance(value, str):
        try:
            return int(value, *[a for a in args[1:] if isinstance(a, int)])
        except ValueError:
            raise Failed("exception", "ValueError", f"int({value!r})", span) from None
    return Unknown("int of this value", span)


def _bool(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    return truth(args[0]) if args else False


def _str(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    value = args[0] if args else ""
    if isinstance(value, (str, int, float, bool)) or value is None:
        return str(value)
    if isinstance(value, SomeText):
        return value
    if type(value) in (Sym, SymText):
        return SymText((value,)) if type(value) is Sym else value
    return Unknown("the text of this value", span)


def _format(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    if len(args) < 2 or args[1] == "":
        return _str(run, args[:1], {}, span)
    value, spec = symbols.plain(args[0]), args[1]
    if not isinstance(value, (str, int, float)) or not isinstance(spec, str):
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
        values = elements(args[0], span) if len(args) == 1 else list(args)
        if isinstance(values, Unknown):
            return values
        return extreme(name, op, values, _measured(run, values, kwargs, span), span)

    return call


def _quantifier(stop: bool) -> Call:
    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        values = elements(args[0], span)
        if isinstance(values, Unknown):
            return values.derive(f"any {stop}", values)
        return settled(stop, map(truth, values))

    return call


def _sequence(kind: type) -> Call:
    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        values = elements(args[0], span) if args else []
        if isinstance(values, Unknown):
            return values
        return as_set(values, span) if kind is frozenset else kind(values)

    return call


def _sum(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    values = elements(args[0], span)
    if isinstance(values, Unknown):
        return values
    total: Any = args[1] if len(args) > 1 else 0
    for value in values:
        total = binary("+", total, value, span)
    return total


def _enumerate(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    values = elements(args[0], span)
    start = args[1] if len(args) > 1 else kwargs.get("start", 0)
    if isinstance(values, Unknown) or not isinstance(start, int):
        return Unknown("an enumeration", span)
    return tuple(enumerate(values, start))


def _zip(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    lists = [elements(a, span) for a in args]
    unknown = next((x for x in lists if isinstance(x, Unknown)), None)
    return unknown if unknown is not None else tuple(zip(*lists, strict=False))


def _sorted(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    values = elements(args[0], span)
    if isinstance(values, Unknown):
        return values
    sizes, reverse = _measured(run, values, kwargs, span), truth(kwargs.get("reverse", False))
    unknown = next((s for s in (*sizes, reverse) if isinstance(s, Unknown)), None)
    if unknown is not None:
        return unknown.derive("sorted")
    try:
        order = sorted(range(len(values)), key=sizes.__getitem__, reverse=reverse)
    except TypeError:
        return Unknown("a sorted list", span)
    return [values[at] for at in order]


_TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (float,),
    "str": (str,),
    "bool": (bool,),
    "list": (list,),
    "tuple": (tuple,),
    "dict": (dict,),
    "Tensor": (Tensor,),
}


def _isinstance(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    if len(args) != 2 or isinstance(args[0], Unknown):
        return Unknown("the type of a value", span)
    kinds = args[1] if isinstance(args[1], tuple) else (args[1],)
    for kind in kinds:
        names = _TYPES.get(getattr(kind, "name", ""))
        if names is None:
            return Unknown("the type of a value", span)
        if isinstance(args[0], names):
            return True
    return False


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
    "all": _quantifier(False),
    "any": _quantifier(True),
    "tuple": _sequence(tuple),
    "list": _sequence(list),
    "set": _sequence(frozenset),
    "frozenset": _sequence(frozenset),
    "sum": _sum,
    "enumerate": _enumerate,
    "zip": _zip,
    "sorted": _sorted,
    "isinstance": _isinstance,
    "getattr": _getattr,
    "hasattr": _hasattr,
    "dict": _dict,
    "print": lambda run, a, k, s: None,
}
_SYMBOLIC = frozenset(
    ("int", "bool", "min", "max", "repr", "str", "format", "len", "tuple", "list", "dict")
)
"""Built-in functions that can work with symbols."""
_PLAIN = (abs, round, float, divmod, bin, hex, oct, ord, chr)


def python_externals() -> dict[str, Any]:
    """Names outside AITER's Python, by their dotted names."""
    return {
        **{
            f"builtins.{name}": Builtin(name, call, symbolic=name in _SYMBOLIC)
            for name, call in _BUILTINS.items()
        },
        **{f"builtins.{each.__name__}": plain(each.__name__, each) for each in _PLAIN},
        **{f"builtins.{name}": Library(name) for name in ("Exception", "globals")},
        **library_externals(),
    }
