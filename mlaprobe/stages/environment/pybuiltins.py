"""Python's built-in functions and what of torch and triton the dispatch code computes with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mlaprobe.evaluator.engine.displays import as_mapping, as_set, elements
from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.python.stdlib import plain
from mlaprobe.evaluator.symbolic import symbols
from mlaprobe.evaluator.symbolic.symbols import Sym, SymText
from mlaprobe.evaluator.values.comparing import compare
from mlaprobe.evaluator.values.kinds import Builtin, Model
from mlaprobe.evaluator.values.operators import binary
from mlaprobe.evaluator.values.truth import truth
from mlaprobe.evaluator.values.unknown import SomeText, Something, Unknown
from mlaprobe.stages.environment import device
from mlaprobe.stages.environment.tensors import DtypeToken, Tensor

NEW_TENSOR = "new tensor"
"""The fact of a run that makes its tensors, where they are more than shapes."""
Call = Callable[[Any, tuple[Any, ...], dict[str, Any], Span], Any]


def _len(run: Any, args: tuple[Any, ...], kwargs: dict[str, Any], span: Span) -> Any:
    if args and isinstance(args[0], Tensor):
        return args[0].shape[0]
    values = elements(args[0], span) if args else Unknown("len of nothing", span)
    return values if isinstance(values, Unknown) else len(values)


def _range(run: Any, args: tuple[Any, ...], kwargs: dict[str, Any], span: Span) -> Any:
    unknown = next((a for a in args if isinstance(a, Unknown)), None)
    if unknown is not None:
        return unknown.derive("range", *args)
    if args and all(type(a) in (int, bool) for a in args) and args[2:] != (0,):
        return range(*args)
    return Unknown("this range", span)


def _int(run: Any, args: tuple[Any, ...], kwargs: dict[str, Any], span: Span) -> Any:
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


def _bool(run: Any, args: tuple[Any, ...], kwargs: dict[str, Any], span: Span) -> Any:
    return truth(args[0]) if args else False


def _str(run: Any, args: tuple[Any, ...], kwargs: dict[str, Any], span: Span) -> Any:
    value = args[0] if args else ""
    if isinstance(value, (str, int, float, bool)) or value is None:
        return str(value)
    if isinstance(value, SomeText):
        return value
    if type(value) in (Sym, SymText):
        return SymText((value,)) if type(value) is Sym else value
    return Unknown("the text of this value", span)


def _format(run: Any, args: tuple[Any, ...], kwargs: dict[str, Any], span: Span) -> Any:
    if len(args) < 2 or args[1] == "":
        return _str(run, args[:1], {}, span)
    value, spec = symbols.plain(args[0]), args[1]
    if not isinstance(value, (str, int, float)) or not isinstance(spec, str):
        return Unknown("the text of this value", span, foreign=True)
    try:
        return format(value, spec)
    except ValueError as error:
        raise Failed("exception", "ValueError", str(error), span) from None


def _dict(run: Any, args: tuple[Any, ...], kwargs: dict[str, Any], span: Span) -> Any:
    values = elements(args[0], span) if args else []
    if isinstance(values, Unknown):
        return values
    given = args[0] if args and isinstance(args[0], dict) else as_mapping(values, span)
    return given if isinstance(given, Unknown) else {**given, **kwargs}


def _repr(run: Any, args: tuple[Any, ...], kwargs: dict[str, Any], span: Span) -> Any:
    value = args[0] if args else ""
    if isinstance(value, (str, int, float, bool)) or value is None:
        return repr(value)
    if type(value) is Sym:
        return SymText((value,))
    return Unknown("the text of this value", span, foreign=True)


def _extreme(name: str, op: str) -> Call:
    def call(run: Any, args: tuple[Any, ...], kwargs: dict[str, Any], span: Span) -> Any:
        values = elements(args[0], span) if len(args) == 1 else list(args)
        key = kwargs.get("key")
        if isinstance(values, Unknown) or not values:
            return values if isinstance(values, Unknown) else Unknown(f"{name} of nothing", span)
        best, measure = None, None
        for value in values:
            size = run.machine.call(run, key, (value,), {}, span) if key is not None else value
            better = True if measure is None else compare(op, size, measure, span)
            if isinstance(better, Unknown):
                return better.derive(name, *(v for v in values if not isinstance(v, list)))
            if better:
                best, measure = value, size
        return best

    return call


def _quantifier(stop: bool) -> Call:
    def call(run: Any, args: tuple[Any, ...], kwargs: dict[str, Any], span: Span) -> Any:
        values = elements(args[0], span)
        if isinstance(values, Unknown):
            return values.derive(f"any {stop}", values)
        unknown: Unknown | None = None
        for value in values:
            known = truth(value)
            if known is stop:
                return stop
            if isinstance(known, Unknown):
                unknown = known if unknown is None else unknown
        return (not stop) if unknown is None else unknown

    return call


def _sequence(kind: type) -> Call:
    def call(run: Any, args: tuple[Any, ...], kwargs: dict[str, Any], span: Span) -> Any:
        values = elements(args[0], span) if args else []
        if isinstance(values, Unknown):
            return values
        return as_set(values, span) if kind is frozenset else kind(values)

    return call


def _sum(run: Any, args: tuple[Any, ...], kwargs: dict[str, Any], span: Span) -> Any:
    values = elements(args[0], span)
    if isinstance(values, Unknown):
        return values
    total: Any = args[1] if len(args) > 1 else 0
    for value in values:
        total = binary("+", total, value, span)
    return total


def _enumerate(run: Any, args: tuple[Any, ...], kwargs: dict[str, Any], span: Span) -> Any:
    values = elements(args[0], span)
    start = args[1] if len(args) > 1 else kwargs.get("start", 0)
    if isinstance(values, Unknown) or not isinstance(start, int):
        return Unknown("an enumeration", span)
    return tuple(enumerate(values, start))


def _zip(run: Any, args: tuple[Any, ...], kwargs: dict[str, Any], span: Span) -> Any:
    lists = [elements(a, span) for a in args]
    unknown = next((x for x in lists if isinstance(x, Unknown)), None)
    return unknown if unknown is not None else tuple(zip(*lists, strict=False))


def _sorted(run: Any, args: tuple[Any, ...], kwargs: dict[str, Any], span: Span) -> Any:
    values = elements(args[0], span)
    if isinstance(values, Unknown):
        return values
    key, reverse = kwargs.get("key"), truth(kwargs.get("reverse", False))
    sizes = [v if key is None else run.machine.call(run, key, (v,), {}, span) for v in values]
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


def _isinstance(run: Any, args: tuple[Any, ...], kwargs: dict[str, Any], span: Span) -> Any:
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


def _getattr(run: Any, args: tuple[Any, ...], kwargs: dict[str, Any], span: Span) -> Any:
    from mlaprobe.evaluator.engine.attributes import attribute

    if len(args) < 2 or not isinstance(args[1], str):
        return Unknown("an attribute without a known name", span)
    try:
        return attribute(run, None, args[0], args[1], span, python=True)
    except Failed as failure:
        if failure.how == "AttributeError" and len(args) > 2:
            return args[2]
        raise


def _hasattr(run: Any, args: tuple[Any, ...], kwargs: dict[str, Any], span: Span) -> Any:
    try:
        found = _getattr(run, args[:2], {}, span)
    except Failed as failure:
        if failure.how == "AttributeError":
            return False
        raise
    return found if isinstance(found, Unknown) else True


def _new_tensor(name: str) -> Call:
    """``torch.empty`` and its kin: a tensor of the given shape."""

    def call(run: Any, args: tuple[Any, ...], kwargs: dict[str, Any], span: Span) -> Any:
        shape = args[0] if args else kwargs.get("size", ())
        if type(shape) in (int, Sym) or (isinstance(shape, Unknown) and name != "like"):
            dims = [a for a in args if type(a) in (int, Sym) or isinstance(a, Unknown)]
            shape = (dims[0],) if name == "full" else tuple(dims)
        if name == "like" and isinstance(args[0], Tensor):
            shape = args[0].shape
        dtype = kwargs.get("dtype")
        if dtype is None:
            dtype = args[0].dtype if args and isinstance(args[0], Tensor) else DtypeToken("fp32")
        if not isinstance(shape, (tuple, list)) or not isinstance(dtype, DtypeToken):
            return Unknown("a new tensor", span, foreign=True, free="data")
        value = args[1] if name == "full" and len(args) > 1 else kwargs.get("fill_value")
        return _made(run, name, tuple(shape), dtype, (value,) if name == "full" else ())

    return call


def _made(
    run: Any, name: str, shape: tuple[Any, ...], dtype: DtypeToken, values: tuple[Any, ...]
) -> Tensor:
    """A new tensor, by a function of torch's."""
    make = run.facts.get(NEW_TENSOR, Tensor)
    made: Tensor = make(f"torch.{name}", shape, dtype)
    made.filled(name, values)
    return made


def _arange(run: Any, args: tuple[Any, ...], kwargs: dict[str, Any], span: Span) -> Any:
    dtype = kwargs.get("dtype")
    known = dtype if isinstance(dtype, DtypeToken) else DtypeToken("i64")
    length: Any = Unknown("the length of a range", span, free="data", foreign=True)
    named = {"start", "end", "step"} & kwargs.keys()
    if not named and 0 < len(args) <= 3 and all(type(a) is int for a in args) and args[2:] != (0,):
        length = len(range(*args))
    return _made(run, "arange", (length,), known, args)


class Library(Model):
    """A function or module of torch or triton of which nothing else is known: calls return."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def get(self, name: str, span: Span) -> Any:
        return Library(f"{self.name}.{name}")

    def index(self, key: Any, span: Span) -> Any:
        return Library(f"{self.name}[]")

    def call(self, run: Any, args: tuple[Any, ...], kwargs: dict[str, Any], span: Span) -> Any:
        if self.name == "torch.cuda.get_device_properties" and device.is_named(run):
            return device.Properties(run)
        made = Something if self.name.startswith("torch.nn.functional.") else Unknown
        return made(f"{self.name}() is known at run time only", span, foreign=True, free="data")


def _cdiv(a: int, b: int) -> int:
    return -(-a // b)


def _next_power_of_two(value: int) -> int:
    return 1 if value <= 1 else 1 << (value - 1).bit_length()


def python_externals() -> dict[str, Any]:
    """Names outside AITER's Python, by their dotted names."""
    calls: dict[str, Call] = {
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
        "print": lambda run, a, k, s: None,
    }
    values: dict[str, Any] = {f"builtins.{n}": Builtin(n, c) for n, c in calls.items()}
    for name in ("int", "bool", "min", "max", "repr", "str", "format", "len", "tuple", "list"):
        values[f"builtins.{name}"] = replace(values[f"builtins.{name}"], symbolic=True)
    for function in (abs, round, float, divmod, bin, hex, oct, ord, chr):
        values[f"builtins.{function.__name__}"] = plain(function.__name__, function)
    values["builtins.dict"] = Builtin("dict", _dict, symbolic=True)
    for name in ("empty", "zeros", "ones", "full"):
        values[f"torch.{name}"] = Builtin(f"torch.{name}", _new_tensor(name), symbolic=True)
    for name in ("empty_like", "zeros_like", "ones_like", "full_like"):
        values[f"torch.{name}"] = Builtin(f"torch.{name}", _new_tensor("like"), symbolic=True)
    values["torch.arange"] = Builtin("torch.arange", _arange, symbolic=True)
    values["torch.Tensor"] = Builtin("Tensor", lambda run, a, k, s: Unknown("a tensor", s))
    values["triton.cdiv"] = plain("triton.cdiv", _cdiv)
    values["triton.next_power_of_2"] = plain("triton.next_power_of_2", _next_power_of_two)
    values["triton.__version__"] = Unknown("triton's version", key=("version",), free="device")
    for name in ("torch.cuda", "torch.nn", "torch.version", "torch.compiler", "warnings"):
        values[name] = Library(name)
    for name in (
        "cumsum",
        "device",
        "where",
        "exp",
        "log",
        "max",
        "sum",
        "isnan",
        "tensor",
        "log2",
    ):
        values[f"torch.{name}"] = Library(f"torch.{name}")
    for name in ("debug", "info", "warning", "error"):
        values[f"logging.{name}"] = Library(f"logging.{name}")
    values["builtins.Exception"] = Library("Exception")
    values["builtins.globals"] = Library("globals")
    return values
