"""Tensors and data types as the stages hand them to AITER's code.

One model serves both languages: ``q.shape`` and ``q.dtype`` of Python, ``Q->size(1)`` and
``Q.dtype()`` of C++. Contents are unknown; shapes, types and contiguity are the question's.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import reduce
from typing import Any

from mlaprobe.evaluator.engine.runs import Run
from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.ir import NOWHERE, Span
from mlaprobe.evaluator.symbolic.symbols import Sym, same
from mlaprobe.evaluator.values import Args, Kwargs, Something, Unknown, Unsure, Value
from mlaprobe.evaluator.values.kinds import Builtin, Model
from mlaprobe.evaluator.values.operators import binary
from mlaprobe.stages.environment.dtypes import DtypeToken
from mlaprobe.stages.environment.shaping import (
    broadcast,
    is_integer,
    promoted,
    subscripted,
    with_number,
)
from mlaprobe.stages.environment.sizes import is_size, same_size

ELEMENTWISE = {
    "+": "add",
    "-": "subtract",
    "*": "multiply",
    "/": "true_divide",
    "//": "floor_divide",
    "%": "remainder",
}
"""Operators that work on each element, by numpy's names."""
MADE = "torch."
"""Begins the names of tensors that a program makes, or moves: they may be on another device."""


class TheDevice(Model):
    """The device that all tensors of a question are on."""

    __slots__ = ()

    @property
    def identity(self) -> Hashable:
        return ("the device",)

    def equals(self, other: Any) -> bool | None:
        return True if isinstance(other, TheDevice) else None

    def get(self, name: str, span: Span) -> Any:
        return Unknown(f"{name} of a device", span, key=("device", name), foreign=True, free="data")


THE_DEVICE = TheDevice()


class Tensor(Model):
    """A tensor of known rank; a dimension may be unknown."""

    always_true = False
    by_element = True
    __slots__ = ("contiguous", "dtype", "name", "shape", "sliced", "span")

    def __init__(
        self,
        name: str,
        shape: tuple[Any, ...],
        dtype: DtypeToken,
        *,
        contiguous: bool = True,
        sliced: bool = False,
    ) -> None:
        self.name = name
        self.shape = shape
        self.dtype = dtype
        self.contiguous = contiguous and not sliced
        self.sliced = sliced
        """Whether it is a part of wider rows: not contiguous, but of evenly spaced rows."""
        self.span = NOWHERE
        """Where it was made of another."""

    def equals(self, other: Any) -> bool | None:
        return False if other is None else (True if other is self else None)

    def truth(self) -> Unknown:
        """That of its one element; of more there is none."""
        known = all(type(size) in (int, Sym) for size in self.shape)
        if known and all(same(size, 1) for size in self.shape):
            return super().truth()
        reason = f"the truth of {self.name}, a tensor that may have several elements"
        return Unsure(reason, self.span, key=("truth", self.identity))

    def exists(self) -> bool:
        """A tensor converts to nothing in C++: what is asked is a pointer or an optional."""
        return True

    def truth_in(self, run: Run, span: Span) -> Value:
        """One of several elements, or of none, has no truth in Python."""
        if not run.python:
            return self.exists()
        count = self.numel(span)
        many = run.holds(binary(">", count, 1, span))
        if many or run.holds(binary("<", count, 1, span)):
            what = "more than one value" if many else "no values"
            text = f"Boolean value of Tensor with {what} is ambiguous"
            raise Failed("exception", "RuntimeError", text, span)
        reason = f"the value of {self.name}, a tensor, is not known"
        return Unknown(reason, span, key=("truth", self.identity), free="data")

    def derived(
        self,
        how: str,
        shape: tuple[Any, ...],
        dtype: DtypeToken,
        values: tuple[Any, ...] = (),
        *,
        contiguous: bool = True,
    ) -> Tensor:
        """A tensor that is made from this one. ``how`` is a name of numpy's for it, and ``values``
        are its arguments."""
        return Tensor(self.name, shape, dtype, contiguous=contiguous)

    def resized(self, shape: tuple[Any, ...]) -> Tensor:
        """The same with other dimensions, or symbols for them."""
        return Tensor(self.name, shape, self.dtype, contiguous=self.contiguous, sliced=self.sliced)

    def filled(self, how: str, values: tuple[Any, ...]) -> None:
        """Notes what it starts with: what torch's function ``how`` fills it with."""

    def get(self, name: str, span: Span) -> Any:
        simple = {
            "shape": self.shape,
            "dtype": self.dtype,
            "scalar_type": self.dtype,
            "ndim": len(self.shape),
            "is_cuda": True,
        }
        if name == "device" and not self.name.startswith(MADE):
            return THE_DEVICE
        if name in simple:
            return simple[name]
        method = METHODS.get(name)
        if method is not None:
            return Builtin(name, lambda run, *call: self._made(method, *call), symbolic=True)
        key = ("tensor", self.name, name)
        return Unknown(f"{self.name}.{name} is data", span, key=key, foreign=True, free="data")

    def _made(self, method: Method, args: Args, kwargs: Kwargs, span: Span) -> Any:
        found = method(self, args, kwargs, span)
        if isinstance(found, Tensor) and found is not self:
            found.span = span
        return found

    def index(self, key: Any, span: Span) -> Any:
        """A part of the tensor; a single element is data."""
        part = None if isinstance(key, Unknown) else subscripted(*self._form, key, span)
        if part is None:
            text = f"the shape of a part of {self.name}"
            return Something(text, span, foreign=True, free="data")
        if not part.shape:
            return Something(f"an element of {self.name}", span, foreign=True, free="data")
        found = self.derived("getitem", part.shape, self.dtype, (key,), contiguous=part.contiguous)
        found.span = span
        return found

    @property
    def _form(self) -> tuple[tuple[Any, ...], bool]:
        return self.shape, self.contiguous

    def operate(self, op: str, other: Any, *, reflected: bool, span: Span) -> Any:
        """An operation element by element."""
        how, shape, kind = ELEMENTWISE.get(op), None, None
        if isinstance(other, Tensor):
            shape = broadcast(self.shape, other.shape)
            kind = promoted(self.dtype.kind, other.dtype.kind)
        else:
            shape, kind = self.shape, with_number(self.dtype.kind, other)
        if how is None or shape is None or kind is None:
            text = f"the shape of {op} of {self.name} and another value"
            return Something(text, span, foreign=True, free="data")
        kind = "fp32" if op == "/" and is_integer(kind) else kind
        dtype = self.dtype if kind == self.dtype.kind else DtypeToken(kind)
        found = self.derived(how, shape, dtype, (other, reflected))
        found.span = span
        return found

    def stride(self, at: int, span: Span) -> Any:
        """Elements between neighbours of one dimension."""
        if not self.contiguous:
            return Unknown(f"stride of {self.name}", span, free="data", foreign=True)
        return _product(self.shape[at + 1 :], span)

    def numel(self, span: Span) -> Any:
        """Number of elements."""
        return _product(self.shape, span)

    def __repr__(self) -> str:
        return f"Tensor({self.name}, {self.shape}, {self.dtype})"


def _product(dims: Iterable[Any], span: Span) -> Any:
    return reduce(lambda product, dim: binary("*", product, dim, span), dims, 1)


Method = Callable[[Tensor, tuple[Any, ...], dict[str, Any], Span], Any]


def _dimension(tensor: Tensor, args: Args, span: Span) -> int | None:
    if args and type(args[0]) is int and -len(tensor.shape) <= args[0] < len(tensor.shape):
        return args[0] % len(tensor.shape)
    return None


def _size(tensor: Tensor, args: Args, kwargs: Kwargs, span: Span) -> Value:
    if not args:
        return tensor.shape
    at = _dimension(tensor, args, span)
    return Unknown(f"a dimension of {tensor.name}", span) if at is None else tensor.shape[at]


def _stride(tensor: Tensor, args: Args, kwargs: Kwargs, span: Span) -> Value:
    if not args:
        return tuple(tensor.stride(at, span) for at in range(len(tensor.shape)))
    at = _dimension(tensor, args, span)
    return Unknown(f"a stride of {tensor.name}", span) if at is None else tensor.stride(at, span)


def _viewed(tensor: Tensor, args: Args, kwargs: Kwargs, span: Span) -> Value:
    """``view``/``reshape``: a dimension of -1 is what is left."""
    dims = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
    if len(dims) == 1 and isinstance(dims[0], DtypeToken):
        if tensor.sliced:
            return Unknown(f"a view of {tensor.name}, which is not contiguous", span, foreign=True)
        return tensor.derived("view", tensor.shape, dims[0], contiguous=tensor.contiguous)
    known: list[Any] = list(dims)
    if any(isinstance(d, DtypeToken) for d in known):
        return Unknown(f"a view of {tensor.name}", span, foreign=True, free="data")
    if sum(type(d) is int and d == -1 for d in known) > 1:
        raise Failed("exception", "RuntimeError", "only one dimension can be inferred", span)
    if any(type(d) is int and d == -1 for d in known):
        at = next(i for i, d in enumerate(known) if type(d) is int and d == -1)
        rest = _product((*known[:at], *known[at + 1 :]), span)
        known[at] = _divide(tensor.numel(span), rest, tensor, span)
    elif _differ(tensor.numel(span), _product(known, span), span):
        raise _no_view(tensor, span)
    if tensor.sliced:
        return _regrouped(tensor, tuple(known), span)
    return tensor.derived("reshape", tuple(known), tensor.dtype, tuple(known))


def _view(tensor: Tensor, args: Args, kwargs: Kwargs, span: Span) -> Value:
    """``view``, which makes no copy: of what is not contiguous it may be an error."""
    found = _viewed(tensor, args, kwargs, span)
    if tensor.contiguous or tensor.sliced or not isinstance(found, Tensor):
        return found
    one, other = found.shape, tensor.shape
    if len(one) == len(other) and all(map(same_size, one, other)):
        return found if found.dtype is not tensor.dtype else tensor
    text = f"whether {tensor.name}, which is not contiguous, can be seen in another shape"
    return Something(text, span, foreign=True, free="data")


def _regrouped(tensor: Tensor, dims: tuple[Any, ...], span: Span) -> Value:
    """A view of a part of wider rows: their spacing allows any grouping of the rows, none of what
    is in them."""
    if binary("==", dims[-1], tensor.shape[-1], span) is not True:
        return Unknown(f"a view of {tensor.name}, which is not contiguous", span, foreign=True)
    return Tensor(tensor.name, dims, tensor.dtype, sliced=True)


def _divide(total: Any, rest: Any, tensor: Tensor, span: Span) -> Any:
    if all(type(n) in (int, Sym) for n in (total, rest)):
        whole = binary(">", rest, 0, span) is True
        if whole and binary("==", binary("%", total, rest, span), 0, span) is True:
            return binary("//", total, rest, span)
        if whole:
            raise _no_view(tensor, span)
    elif is_size(total) and is_size(rest):  # of an open batch
        part = binary("//", total, rest, span)
        if is_size(part) and same_size(binary("*", part, rest, span), total):
            return part
    return Unknown(f"a dimension of a view of {tensor.name}", span, free="data", foreign=True)


def _differ(one: Any, other: Any, span: Span) -> bool:
    """Whether two known numbers are not the same."""
    known = all(type(n) in (int, Sym) for n in (one, other))
    return known and binary("!=", one, other, span) is True


def _no_view(tensor: Tensor, span: Span) -> Failed:
    message = f"the shape is invalid for a view of {tensor.name}"
    return Failed("exception", "RuntimeError", message, span)


def _permuted(tensor: Tensor, args: Args, kwargs: Kwargs, span: Span) -> Value:
    dims = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
    if sorted(d for d in dims if type(d) is int) != list(range(len(tensor.shape))):
        return Unknown(f"a permutation of {tensor.name}", span, foreign=True, free="data")
    shape = tuple(tensor.shape[d] for d in dims)
    return tensor.derived("transpose", shape, tensor.dtype, tuple(dims), contiguous=False)


def _contiguous(tensor: Tensor, args: Args, kwargs: Kwargs, span: Span) -> Value:
    return tensor.derived("ascontiguousarray", tensor.shape, tensor.dtype)


def _same(tensor: Tensor, args: Args, kwargs: Kwargs, span: Span) -> Value:
    return tensor


def _converted(tensor: Tensor, args: Args, kwargs: Kwargs, span: Span) -> Value:
    values = [*args, *kwargs.values()]
    dtype = next((v for v in values if isinstance(v, DtypeToken)), tensor.dtype)
    moved = not all(isinstance(value, DtypeToken) for value in values)
    if tensor.sliced and not moved and dtype.equals(tensor.dtype) is not False:
        return tensor
    found = tensor.derived("astype", tensor.shape, dtype, contiguous=tensor.contiguous)
    if type(found) is Tensor and moved:
        found.name = f"{MADE}to"  # a launch's tensors are told apart by their names
    return found


def _fact(read: Callable[[Tensor, Span], Any]) -> Method:
    return lambda tensor, args, kwargs, span: read(tensor, span)


METHODS: dict[str, Method] = {
    "size": _size,
    "stride": _stride,
    "view": _view,
    "reshape": _viewed,
    "permute": _permuted,
    "contiguous": _contiguous,
    "to": _converted,
    "data_ptr": _same,
    "value": _same,
    "value_or": _same,
    "detach": _same,
    "has_value": _fact(lambda t, s: True),
    "defined": _fact(lambda t, s: True),
    "dim": _fact(lambda t, s: len(t.shape)),
    "numel": _fact(lambda t, s: t.numel(s)),
    "is_contiguous": _fact(lambda t, s: t.contiguous),
    "itemsize": _fact(lambda t, s: t.dtype.bytes),
    "element_size": _fact(lambda t, s: t.dtype.bytes),
    "set_": _same,
}
"""By their names; ``tensorops`` adds those that compute."""
