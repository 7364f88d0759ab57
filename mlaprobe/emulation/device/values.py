"""Values of device code: of one type, and either shared by all threads or one for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Union

import numpy as np
from numpy.typing import NDArray

from mlaprobe.emulation.device.kinds import ArrayOf, PointerTo, Scalar, Struct, Type, Void
from mlaprobe.emulation.device.signals import NotFollowed, Undetermined

if TYPE_CHECKING:
    from mlaprobe.emulation.device.memory import Block
    from mlaprobe.emulation.device.places import Place

Array = NDArray[Any]
Mask = NDArray[np.bool_]
Number = int | bool | float | np.floating[Any]
NONE = PointerTo(Scalar("nullptr", "u", 8))
"""The type of ``nullptr``."""


class Undefined:
    """What a variable holds that nothing was stored in."""


UNDEFINED = Undefined()


class Address:
    """A pointer: an offset in bytes into a block of memory, or a variable of the program."""

    __slots__ = ("block", "offset")

    def __init__(self, block: Block | Place | None, offset: int | Array = 0) -> None:
        self.block = block
        """``None`` for a null pointer."""
        self.offset = offset


Data = Union[Number, Array, Address, str, None, "dict[str, Value]", "tuple[Value, ...]", Undefined]


class Value:
    """A value and its type.

    ``data`` is a number of Python or an array with one for each thread; of a pointer an
    :class:`Address`; of a class its members by name; of an array the elements.
    """

    __slots__ = ("data", "type")

    def __init__(self, kind: Type, data: Data) -> None:
        self.type = kind
        self.data = data


class Braced:
    """A braced list, whose type is that of the place that receives it."""

    __slots__ = ("items",)

    def __init__(self, items: tuple[Value | Braced, ...]) -> None:
        self.items = items


def scalar(value: Value) -> tuple[Scalar, Number | Array]:
    """Type and data of a number."""
    kind, data = value.type, value.data
    if isinstance(kind, Scalar) and isinstance(data, (int, float, np.ndarray, np.floating)):
        return kind, data
    if isinstance(data, Undefined):
        raise Undetermined("a value is used that nothing was stored in")
    raise NotFollowed(f"a number is needed where a {kind.name} stands")


def address(value: Value) -> Address:
    """The address that a pointer holds."""
    if isinstance(value.data, Address):
        return value.data
    if isinstance(value.data, Undefined):
        raise Undetermined("a pointer is used that nothing was stored in")
    raise NotFollowed(f"a pointer is needed where a {value.type.name} stands")


def uniform(value: Value, what: str) -> int:
    """An integer that all threads share."""
    kind, data = scalar(value)
    if isinstance(data, np.ndarray) or kind.kind == "f":
        raise NotFollowed(f"{what} is no number that all threads share")
    return int(data)


def storage(kind: Scalar) -> np.dtype[Any]:
    """The numpy type in which values of a type are kept: integers of up to 32 bits in 64."""
    if kind.kind == "f":
        return np.dtype(f"f{kind.bits // 8}")
    if kind.kind == "b":
        return np.dtype(np.bool_)
    return np.dtype(np.uint64 if kind.kind == "u" and kind.bits == 64 else np.int64)


def spread(data: Number | Array, kind: Scalar, lanes: int) -> Array:
    """One number for each thread."""
    if isinstance(data, np.ndarray):
        return data
    return np.full(lanes, data, storage(kind))


def blend(mask: Mask, new: Value, old: Value) -> Value:
    """The new value in the threads of a mask, the old one in the others; of one type."""
    a, b, kind = new.data, old.data, new.type
    if isinstance(a, dict) and isinstance(b, dict):
        return Value(kind, {name: blend(mask, a[name], b[name]) for name in a})
    if isinstance(a, tuple) and isinstance(b, tuple):
        pairs = zip(a, b, strict=True)
        return Value(kind, tuple(blend(mask, x, y) for x, y in pairs))
    if isinstance(a, Address) and isinstance(b, Address):
        if a.block is not b.block:
            raise NotFollowed("a pointer into different buffers in different threads")
        return Value(kind, Address(a.block, _mixed(mask, a.offset, b.offset, np.dtype(np.int64))))
    if isinstance(kind, Void):
        return new
    if isinstance(kind, Scalar):
        return Value(kind, _mixed(mask, scalar(new)[1], scalar(old)[1], storage(kind)))
    raise NotFollowed(f"a {kind.name} that differs between threads")


def _mixed(mask: Mask, new: Any, old: Any, kind: np.dtype[Any]) -> Any:
    if not isinstance(new, np.ndarray) and not isinstance(old, np.ndarray) and new == old:
        return new
    return np.where(mask, new, old).astype(kind, copy=False)


def collapsed(value: Value, mask: Mask) -> Value:
    """The same value, as one number where all threads of a mask have the same."""
    data = value.data
    if isinstance(data, np.ndarray):
        part = data[mask]
        if len(part) and (part == part[0]).all():
            return Value(value.type, as_number(part[0]))
    return value


def as_number(item: Any) -> Number:
    """An element of an array as a number that threads share."""
    if isinstance(item, np.bool_):
        return bool(item)
    return item if isinstance(item, np.floating) else int(item)


def zero(kind: Type) -> Value:
    """What value-initialisation gives."""
    if isinstance(kind, Scalar):
        if kind.kind == "f":
            return Value(kind, storage(kind).type(0))
        return Value(kind, False if kind.kind == "b" else 0)
    if isinstance(kind, PointerTo):
        return Value(kind, Address(None))
    if isinstance(kind, ArrayOf):
        return Value(kind, tuple(zero(kind.element) for _ in range(kind.count)))
    if isinstance(kind, Struct):
        own = (m for m in kind.members.values() if not m.overlaid)
        return Value(kind, {m.name: zero(m.type) for m in own})
    raise NotFollowed(f"the initial value of a {kind.name}")
