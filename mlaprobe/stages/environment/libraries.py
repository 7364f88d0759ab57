"""What of torch, triton and logging the dispatch code computes with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mlaprobe.evaluator.engine.runs import Run
from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.symbolic.symbols import Sym
from mlaprobe.evaluator.values import Args, Kwargs, Something, Unknown, Value
from mlaprobe.evaluator.values.kinds import Builtin, Model, plain
from mlaprobe.evaluator.values.operators import binary
from mlaprobe.stages.environment import device
from mlaprobe.stages.environment.dtypes import DtypeToken
from mlaprobe.stages.environment.sizes import at_least, is_size, stepped
from mlaprobe.stages.environment.tensorops import FUNCTIONS
from mlaprobe.stages.environment.tensors import Tensor
from mlaprobe.stages.numbers import calculate, is_whole

NEW_TENSOR = "new tensor"
"""The fact of a run that makes its tensors, where they are more than shapes."""
Call = Callable[[Any, tuple[Any, ...], dict[str, Any], Span], Any]


def _new_tensor(name: str) -> Call:
    """``torch.empty`` and its kin: a tensor of the given shape."""

    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
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


def _arange(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    dtype = kwargs.get("dtype")
    known = dtype if isinstance(dtype, DtypeToken) else DtypeToken("i64")
    length: Any = Unknown("the length of a range", span, free="data", foreign=True)
    bounds = _bounds(args, kwargs)
    if bounds is not None:
        start, end, step = bounds
        length = binary("-", end, start, span)
        if at_least(length, 0) is False:
            raise Failed("exception", "RuntimeError", "a range that ends before it starts", span)
        length = stepped(length, step, span)
    return _made(run, "arange", (length,), known, bounds or args)


def _bounds(args: Args, kwargs: Kwargs) -> tuple[Any, Any, Any] | None:
    """Start, end and step of a range, where they can be computed with."""
    named: dict[str, Any] = {
        name: kwargs[name] for name in ("start", "end", "step") if name in kwargs
    }
    names = ("end",) if len(args) == 1 and not named else ("start", "end", "step")
    given: dict[str, Any] = dict(zip(names, args, strict=False))
    if given.keys() & named.keys():
        return None
    given |= named
    start, end, step = given.get("start", 0), given.get("end"), given.get("step", 1)
    forward = is_whole(step) and calculate(">=", step, 1)
    if len(args) > 3 or not forward or not is_size(start) or not is_size(end):
        return None
    return start, end, step


_ON_ROCM = {"torch.version.cuda": None}
"""Constants that PyTorch has where it is built for ROCm, as AITER needs it."""


@dataclass(slots=True, eq=False)
class Library(Model):
    """A function or module of torch or triton of which nothing else is known: calls return."""

    name: str

    @property
    def always_true(self) -> bool:  # type: ignore[override]
        """It may be a constant; of those, ``torch.version.hip`` is a text on ROCm."""
        return self.name == "torch.version.hip"

    def get(self, name: str, span: Span) -> Any:
        dotted = f"{self.name}.{name}"
        if dotted in _ON_ROCM:
            return _ON_ROCM[dotted]
        return FUNCTIONS.get(dotted) or Library(dotted)

    def index(self, key: Any, span: Span) -> Any:
        return Library(f"{self.name}[]")

    def call(self, run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        if self.name == "torch.cuda.get_device_properties" and device.is_named(run):
            return device.Properties(run)
        made = Something if self.name.startswith("torch.nn.functional.") else Unknown
        return made(f"{self.name}() is known at run time only", span, foreign=True, free="data")


class Limits(Model):
    """``torch.finfo`` or ``torch.iinfo`` of a dtype."""

    __slots__ = ("_dtype",)

    def __init__(self, dtype: DtypeToken) -> None:
        self._dtype = dtype

    def get(self, name: str, span: Span) -> Any:
        largest = _LARGEST.get((self._dtype.kind, self._dtype.variant))
        if name == "bits":
            return self._dtype.bytes * 8
        if largest is not None and name in ("max", "min"):
            return largest if name == "max" else -largest
        return Unknown(f"{name} of the limits of {self._dtype!r} is not followed", span)


_LARGEST = {("fp8", "e4m3fn"): 448.0, ("fp8", "e4m3fnuz"): 240.0, ("fp16", ""): 65504.0}


def _limits(floating: bool) -> Call:
    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        name = "finfo" if floating else "iinfo"
        if len(args) != 1 or kwargs or not isinstance(args[0], DtypeToken):
            return Unknown(f"what torch.{name} is asked for is not known", span)
        if args[0].floating is not floating:
            message = f"torch.{name}() of another kind of dtype"
            raise Failed("exception", "TypeError", message, span)
        return Limits(args[0])

    return call


def _cdiv(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    """``triton.cdiv``: the quotient, rounded up."""
    given = {**dict(zip(("x", "y"), args, strict=False)), **kwargs}
    if len(args) > 2 or given.keys() != {"x", "y"}:
        return Unknown("triton.cdiv of these arguments", span)
    above = binary("-", binary("+", given["x"], given["y"], span), 1, span)
    return binary("//", above, given["y"], span)


_next_power = plain("triton.next_power_of_2", lambda n: next_power_of_two(n))


def _next_power_of_two(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    """``triton.next_power_of_2``. All numbers between two powers have one answer."""
    number = args[0] if len(args) == 1 and not kwargs else None
    if type(number) is not Sym or type(number.value) is not int:
        return _next_power.call(run, args, kwargs, span)
    power = next_power_of_two(number.value)
    if power and power <= _LARGEST_POWER:
        number.fits(power // 2 + 1, power)
        return power
    return _next_power.call(run, args, kwargs, span)


def next_power_of_two(n: int) -> int:
    """What Triton computes: it sets all bits below the highest of ``n - 1``, and adds one. For what
    is not positive that is 0."""
    n -= 1
    for bits in (1, 2, 4, 8, 16, 32):
        n |= n >> bits
    return n + 1


_LARGEST_POWER = 1 << 62


_LIBRARIES = (
    *("torch.cuda", "torch.nn", "torch.version", "torch.compiler", "warnings"),
    *("torch.nn.functional", "torch.device", "torch.where", "torch.exp", "torch.log", "torch.log2"),
    *("torch.max", "torch.sum", "torch.isnan", "torch.tensor"),
    *("logging.debug", "logging.info", "logging.warning", "logging.error"),
)
"""What is there, and is not followed."""


def library_externals() -> dict[str, Any]:
    """What of torch, triton and logging there is, by dotted names."""
    made = {name: name for name in ("empty", "zeros", "ones", "full")}
    made |= {f"{name}_like": "like" for name in tuple(made)}
    values: dict[str, Any] = {
        f"torch.{name}": Builtin(f"torch.{name}", _new_tensor(kind), symbolic=True)
        for name, kind in made.items()
    }
    values |= {name: Library(name) for name in _LIBRARIES}
    values |= FUNCTIONS
    for name, call in (("cdiv", _cdiv), ("next_power_of_2", _next_power_of_two)):
        values[f"triton.{name}"] = Builtin(f"triton.{name}", call, symbolic=True)
    values["triton.__version__"] = Unknown("triton's version", key=("version",), free="device")
    values["torch.arange"] = Builtin("torch.arange", _arange, symbolic=True)
    values["torch.dtype"] = Builtin("dtype", lambda run, a, k, s: Unknown("a dtype", s))
    values["torch.finfo"] = Builtin("torch.finfo", _limits(floating=True))
    values["torch.iinfo"] = Builtin("torch.iinfo", _limits(floating=False))
    values["torch.Tensor"] = Builtin("Tensor", lambda run, a, k, s: Unknown("a tensor", s))
    return values
