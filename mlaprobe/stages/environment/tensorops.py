"""Operations of torch that make a tensor of others: its shape and dtype, and how it was made, by
the names of numpy. What it holds is not known, but for the tensors of an emulated launch.

One of which the shape is not known is an unknown that names the place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mlaprobe.evaluator.engine.runs import Run
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.values import Args, Kwargs, Something, Value
from mlaprobe.evaluator.values.kinds import Builtin
from mlaprobe.evaluator.values.operators import binary
from mlaprobe.stages.environment import parting, shaping
from mlaprobe.stages.environment.dtypes import DtypeToken
from mlaprobe.stages.environment.sizes import at_least, is_one, is_size, product, same_size
from mlaprobe.stages.environment.tensors import METHODS, Tensor
from mlaprobe.stages.numbers import calculate, is_whole

Given = Mapping[str, Any]
Operation = Callable[[Tensor, Given, Span], Any]
"""Makes a tensor of another and arguments by name; ``None`` where it is not followed."""
_DEFAULT = "the default"


def _called(name: str, names: Sequence[str], operation: Operation) -> Callable[..., Any]:
    """A call with these parameters behind the tensor; one that has others is unknown."""

    def call(tensor: Any, args: Args, kwargs: Kwargs, span: Span) -> Value:
        found = None
        known = len(args) <= len(names) and not kwargs.keys() - set(names)
        if isinstance(tensor, Tensor) and known:
            given = dict.fromkeys(names, _DEFAULT) | dict(zip(names, args, strict=False)) | kwargs
            found = operation(tensor, given, span)
        if found is not None:
            return found
        what = tensor.name if isinstance(tensor, Tensor) else "what is not followed"
        return Something(f"the shape of {name} of {what}", span, foreign=True, free="data")

    return call


def _sized(name: str, operation: Operation) -> Callable[..., Any]:
    """A call with sizes, one by one or in a list."""
    call = _called(name, ("sizes",), operation)

    def with_sizes(tensor: Any, args: Args, kwargs: Kwargs, span: Span) -> Value:
        listed = len(args) == 1 and isinstance(args[0], (tuple, list))
        return call(tensor, args if listed else ((args,) if args else ()), kwargs, span)

    return with_sizes


def _get(given: Given, name: str, default: Any) -> Any:
    return default if given[name] is _DEFAULT else given[name]


def _at(tensor: Tensor, given: Given, name: str = "dim", default: Any = None) -> int | None:
    return shaping.dimension(_get(given, name, default), len(tensor.shape))


def _with_size(tensor: Tensor, at: int, size: Any) -> tuple[Any, ...]:
    return (*tensor.shape[:at], size, *tensor.shape[at + 1 :])


# --- along a dimension ---------------------------------------------------------------------------


def _cumsum(tensor: Tensor, given: Given, span: Span) -> Any:
    at, dtype = _at(tensor, given), _get(given, "dtype", None)
    if at is None or not (dtype is None or isinstance(dtype, DtypeToken)):
        return None
    if dtype is None:
        dtype = DtypeToken("i64") if shaping.is_integer(tensor.dtype.kind) else tensor.dtype
    return tensor.derived("cumsum", tensor.shape, dtype, (at,))


def _diff(tensor: Tensor, given: Given, span: Span) -> Any:
    at = _at(tensor, given, default=-1)
    if _get(given, "n", 1) != 1 or at is None or at_least(tensor.shape[at], 1) is not True:
        return None
    less = binary("-", tensor.shape[at], 1, span)
    return tensor.derived("diff", _with_size(tensor, at, less), tensor.dtype, (at,))


def _index_select(tensor: Tensor, given: Given, span: Span) -> Any:
    at, index = _at(tensor, given), given["index"]
    if at is None or not isinstance(index, Tensor) or len(index.shape) != 1:
        return None
    shape = _with_size(tensor, at, index.shape[0])
    return tensor.derived("take", shape, tensor.dtype, (index, at))


def _repeat_interleave(tensor: Tensor, given: Given, span: Span) -> Any:
    """By one number, or by a tensor of counts where the length of the result is given."""
    times, total = given["repeats"], _get(given, "output_size", None)
    flat = _get(given, "dim", None) is None
    at = None if flat else _at(tensor, given)
    if not flat and at is None:
        return None
    before = product(tensor.shape, span) if at is None else tensor.shape[at]
    if isinstance(times, Tensor):
        after = total
    elif is_whole(times) and calculate(">=", times, 0):
        after = binary("*", before, times, span)
        if total is not None and same_size(total, after) is not True:
            return None
    else:
        return None
    if not is_size(after):
        return None
    shape = (after,) if at is None else _with_size(tensor, at, after)
    return tensor.derived("repeat", shape, tensor.dtype, (times, at))


def _narrow(tensor: Tensor, given: Given, span: Span) -> Any:
    at, start, length = _at(tensor, given), given["start"], given["length"]
    if at is None or not (is_whole(start) and is_size(length)) or not calculate(">=", start, 0):
        return None
    part = slice(start, binary("+", start, length, span))
    found = tensor.index((*[slice(None)] * at, part), span)
    fits = isinstance(found, Tensor) and same_size(found.shape[at], length)
    return found if fits else None


def _select(tensor: Tensor, given: Given, span: Span) -> Any:
    at, index = _at(tensor, given), given["index"]
    return None if at is None else tensor.index((*[slice(None)] * at, index), span)


# --- other dimensions ----------------------------------------------------------------------------


def _unsqueeze(tensor: Tensor, given: Given, span: Span) -> Any:
    at = shaping.dimension(given["dim"], len(tensor.shape) + 1)
    if at is None:
        return None
    return _reshaped(tensor, (*tensor.shape[:at], 1, *tensor.shape[at:]))


def _squeeze(tensor: Tensor, given: Given, span: Span) -> Any:
    at = _at(tensor, given)
    if at is None or same_size(tensor.shape[at], 1) is None:
        return None
    gone = is_one(tensor.shape[at])
    return _reshaped(tensor, tensor.shape[:at] + tensor.shape[at + 1 :]) if gone else tensor


def _flatten(tensor: Tensor, given: Given, span: Span) -> Any:
    first, last = _at(tensor, given, "start_dim", 0), _at(tensor, given, "end_dim", -1)
    if first is None or last is None or first > last:
        return None
    whole = product(tensor.shape[first : last + 1], span)
    shape = (*tensor.shape[:first], whole, *tensor.shape[last + 1 :])
    return tensor.derived("reshape", shape, tensor.dtype, shape)


def _unflatten(tensor: Tensor, given: Given, span: Span) -> Any:
    at, sizes = _at(tensor, given), given["sizes"]
    if at is None or not isinstance(sizes, (tuple, list)):
        return None
    one = Tensor(tensor.name, (tensor.shape[at],), tensor.dtype)
    parts = METHODS["view"](one, tuple(sizes), {}, span)  # the sizes have to fit
    if not isinstance(parts, Tensor) or not all(map(is_size, parts.shape)):
        return None
    return _reshaped(tensor, (*tensor.shape[:at], *parts.shape, *tensor.shape[at + 1 :]))


def _reshaped(tensor: Tensor, shape: tuple[Any, ...]) -> Tensor:
    return tensor.derived("reshape", shape, tensor.dtype, shape, contiguous=tensor.contiguous)


def _transpose(tensor: Tensor, given: Given, span: Span) -> Any:
    one, other = _at(tensor, given, "dim0"), _at(tensor, given, "dim1")
    if one is None or other is None:
        return None
    order = list(range(len(tensor.shape)))
    order[one], order[other] = order[other], order[one]
    return METHODS["permute"](tensor, tuple(order), {}, span)


def _pad(tensor: Tensor, given: Given, span: Span) -> Any:
    """With one value: the other modes are for images."""
    widths, mode = given["pad"], _get(given, "mode", "constant")
    if mode != "constant" or not isinstance(widths, (tuple, list)):
        return None
    shape = shaping.padded(tensor.shape, widths)
    if shape is None:
        return None
    value = _get(given, "value", None) or 0
    return tensor.derived("pad", shape, tensor.dtype, (tuple(widths), value))


def _new(kind: str) -> Callable[..., Any]:
    """``new_empty`` and its kin: a tensor of another shape and this dtype."""

    def call(tensor: Tensor, args: Args, kwargs: Kwargs, span: Span) -> Value:
        full = kind == "full"
        value = [*args[1:2], *(kwargs[n] for n in ("fill_value",) if n in kwargs)] if full else []
        sizes = args[0] if args and (full or isinstance(args[0], (tuple, list))) else args
        dtype = kwargs.get("dtype") or tensor.dtype
        known = isinstance(sizes, (tuple, list)) and all(map(is_size, sizes))
        if not known or not isinstance(dtype, DtypeToken) or len(value) != full:
            return Something(f"the shape of new_{kind}", span, foreign=True, free="data")
        made = tensor.derived(kind, tuple(sizes), dtype)
        made.filled(kind, tuple(value))
        return made

    return call


def _clone(tensor: Tensor, given: Given, span: Span) -> Any:
    return tensor.derived("copy", tensor.shape, tensor.dtype, contiguous=tensor.contiguous)


# --- several tensors -----------------------------------------------------------------------------


def _arithmetic(op: str) -> Operation:
    def operation(tensor: Tensor, given: Given, span: Span) -> Any:
        other, alpha = given["other"], _get(given, "alpha", 1)
        return tensor.operate(op, other, reflected=False, span=span) if alpha == 1 else None

    return operation


def _several(name: str, make: Callable[[list[Tensor], Any, Span], Any]) -> Callable[..., Any]:
    """A call with a list of tensors and a dimension."""

    def call(tensors: Any, args: Args, kwargs: Kwargs, span: Span) -> Value:
        known = isinstance(tensors, (tuple, list)) and all(isinstance(t, Tensor) for t in tensors)
        given = dict(zip(("dim",), args, strict=False)) | kwargs
        given.setdefault("dim", given.pop("axis", 0))
        found = None
        if known and tensors and len(args) <= 1 and given.keys() == {"dim"}:
            found = make(list(tensors), given["dim"], span)
        return found or Something(f"the shape of {name} of these", span, foreign=True, free="data")

    return call


def _cat(tensors: list[Tensor], dim: Any, span: Span) -> Any:
    longest = max(len(tensor.shape) for tensor in tensors)
    if longest > 1:  # empty vectors are left out, whatever else there is
        tensors = [t for t in tensors if len(t.shape) > 1 or same_size(t.shape[0], 0) is not True]
    at, dtype = shaping.dimension(dim, longest), _promoted(tensors)
    shape = None if at is None else shaping.together([t.shape for t in tensors], at)
    if shape is None or dtype is None:
        return None
    return tensors[0].derived("concatenate", shape, dtype, (tuple(tensors[1:]), at))


def _stack(tensors: list[Tensor], dim: Any, span: Span) -> Any:
    first, dtype = tensors[0], _promoted(tensors)
    at = shaping.dimension(dim, len(first.shape) + 1)
    if at is None or dtype is None or not all(_alike(first, other) for other in tensors):
        return None
    shape = (*first.shape[:at], len(tensors), *first.shape[at:])
    return first.derived("stack", shape, dtype, (tuple(tensors[1:]), at))


def _alike(one: Tensor, other: Tensor) -> bool:
    pairs = zip(one.shape, other.shape, strict=False)
    return len(one.shape) == len(other.shape) and all(same_size(*pair) for pair in pairs)


def _promoted(tensors: list[Tensor]) -> DtypeToken | None:
    first, *others = tensors
    found = first.dtype
    for other in others:
        if found.identity != other.dtype.identity:
            kind = shaping.promoted(found.kind, other.dtype.kind)
            if kind is None:
                return None
            found = DtypeToken(kind)
    return found


# --- by name -------------------------------------------------------------------------------------


def _converted(kind: str) -> Operation:
    return lambda tensor, given, span: METHODS["to"](tensor, (DtypeToken(kind),), {}, span)


_OPERATIONS: dict[str, tuple[tuple[str, ...], Operation]] = {
    "cumsum": (("dim", "dtype"), _cumsum),
    "index_select": (("dim", "index"), _index_select),
    "repeat_interleave": (("repeats", "dim", "output_size"), _repeat_interleave),
    "narrow": (("dim", "start", "length"), _narrow),
    "select": (("dim", "index"), _select),
    "unsqueeze": (("dim",), _unsqueeze),
    "squeeze": (("dim",), _squeeze),
    "flatten": (("start_dim", "end_dim"), _flatten),
    "unflatten": (("dim", "sizes"), _unflatten),
    "transpose": (("dim0", "dim1"), _transpose),
    "clone": ((), _clone),
    "split": (("split_size", "dim"), parting.split),
    "chunk": (("chunks", "dim"), parting.chunk),
    "unbind": (("dim",), parting.unbind),
    "add": (("other", "alpha"), _arithmetic("+")),
    "sub": (("other", "alpha"), _arithmetic("-")),
    "mul": (("other", "alpha"), _arithmetic("*")),
    "diff": (("n", "dim"), _diff),
}
"""Those that are methods, and functions with the tensor in front."""
_CONVERSIONS = {"int": "i32", "long": "i64", "float": "fp32", "half": "fp16", "bfloat16": "bf16"}
METHODS.update({n: _called(n, names, make) for n, (names, make) in _OPERATIONS.items()})
METHODS["expand"] = _sized("expand", parting.expand)
METHODS["repeat"] = _sized("repeat", parting.repeat)
METHODS.update({f"new_{kind}": _new(kind) for kind in ("empty", "zeros", "ones", "full")})
METHODS.update({n: _called(n, (), _converted(kind)) for n, kind in _CONVERSIONS.items()})
_FUNCTIONS = {
    **{name: METHODS[name] for name in _OPERATIONS},
    "nn.functional.pad": _called("pad", ("pad", "mode", "value"), _pad),
    "cat": _several("cat", _cat),
    "concat": _several("concat", _cat),
    "concatenate": _several("concatenate", _cat),
    "stack": _several("stack", _stack),
}


def _function(name: str, function: Callable[..., Any]) -> Builtin:
    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        rest = dict(kwargs)
        first = args[0] if args else rest.pop("tensors" if "cat" in name else "input", None)
        found = function(first, args[1:], rest, span)
        if isinstance(found, Tensor) and found is not first:
            found.span = span
        return found

    return Builtin(f"torch.{name}", call, symbolic=True)


FUNCTIONS = {f"torch.{name}": _function(name, made) for name, made in _FUNCTIONS.items()}
"""By their dotted names."""
