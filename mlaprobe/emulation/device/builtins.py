"""What device code finds outside its source: thread indices, cross-lane operations, library
functions.

The meaning of the compiler's built-in functions is that of LLVM's AMDGPU documentation and of the
instructions behind them (AMD's CDNA3 ISA document: ``DS_BPERMUTE_B32``, ``V_MBCNT_LO_U32_B32``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mlaprobe.emulation.device.kinds import (
    BOOL,
    FLOAT,
    INT,
    UINT,
    Member,
    PointerTo,
    Scalar,
    Struct,
    Text,
    Type,
    Void,
    common,
)
from mlaprobe.emulation.device.scopes import Builtin, TypeName
from mlaprobe.emulation.device.signals import NotFollowed, Undetermined
from mlaprobe.emulation.device.values import (
    NONE,
    Address,
    Array,
    Undefined,
    Value,
    as_number,
    scalar,
    spread,
    storage,
    uniform,
)

if TYPE_CHECKING:
    from mlaprobe.emulation.device.machine import Machine, Operand

Call = Callable[["Machine", tuple[Any, ...], tuple[Any, ...]], Any]
_LEADING_INTEGER = re.compile(r"\s*([+-]?\d+)")


_ONE = Value(UINT, 1)
DIM3 = Struct("dim3", size=12, align=4)
DIM3.members = {n: Member(n, UINT, 4 * at, default=_ONE) for at, n in enumerate("xyz")}


def triple(x: Any, y: Any = 1, z: Any = 1) -> Value:
    """Three indices or sizes."""
    return Value(DIM3, {n: Value(UINT, v) for n, v in zip("xyz", (x, y, z), strict=True)})


# --- where a thread is ----------------------------------------------------------------------------


def _thread(m: Machine) -> Value:
    x, y, z = m.block
    if (y, z) == (1, 1):
        return triple(m.ids, 0, 0)
    return triple(m.ids % x, m.ids // x % y, m.ids // (x * y))


VARIABLES: dict[str, Callable[[Machine], Value]] = {
    "threadIdx": _thread,
    "blockIdx": lambda m: triple(*m.group),
    "blockDim": lambda m: triple(*m.block),
    "gridDim": lambda m: triple(*m.grid),
    "warpSize": lambda m: Value(INT, m.wave_size),
    "INFINITY": lambda m: Value(FLOAT, np.float32(math.inf)),
    "std::nullopt": lambda m: Value(NONE, Address(None)),
}


def _axis(name: str, axis: str) -> Call:
    def call(m: Machine, given: tuple[Any, ...], template: tuple[Any, ...]) -> Value:
        data = VARIABLES[name](m).data
        assert isinstance(data, dict)
        return data[axis]

    return call


def _lane(m: Machine, given: tuple[Any, ...], template: tuple[Any, ...]) -> Value:
    return Value(UINT, m.ids % m.wave_size)


def _mbcnt(low: int) -> Call:
    """How many lanes before this one, of 32, have their bit set, added to the second operand."""

    def call(m: Machine, given: tuple[Any, ...], template: tuple[Any, ...]) -> Value:
        bits = uniform(m.value(given[0]), "a mask of lanes") & 0xFFFFFFFF
        base = m.converted(given[1], UINT)
        lane = m.ids % m.wave_size
        before = np.clip(lane - low, 0, 32)
        counts = np.array([(bits & ((1 << n) - 1)).bit_count() for n in range(33)], np.int64)
        return Value(UINT, scalar(base)[1] + counts[before])

    return call


def _barrier(m: Machine, given: tuple[Any, ...], template: tuple[Any, ...]) -> Value:
    m.barrier()
    return Value(Void(), None)


def _nothing(m: Machine, given: tuple[Any, ...], template: tuple[Any, ...]) -> Value:
    return Value(Void(), None)


# --- between lanes --------------------------------------------------------------------------------


def gathered(m: Machine, value: Value, source: Array) -> Value:
    """The value that another lane of the wave has, by its number in the wave."""
    kind, data = scalar(value)
    thread = m.ids - m.ids % m.wave_size + source
    if ((source < 0) | (source >= m.wave_size))[m.mask].any():
        raise Undetermined("a lane is read that the wave does not have")
    thread = np.where(m.mask, thread, 0)
    if (~m.mask[thread[m.mask]]).any():
        raise Undetermined("a lane is read that does not take part")
    return Value(kind, data[thread]) if isinstance(data, np.ndarray) else value


def _bpermute(m: Machine, given: tuple[Any, ...], template: tuple[Any, ...]) -> Value:
    """The second operand of the lane that the first one names, in bytes; it wraps around."""
    at = spread(scalar(m.converted(given[0], INT))[1], INT, m.threads)
    return gathered(m, m.converted(given[1], INT), (at >> 2) & (m.wave_size - 1))


def _shuffle(pick: Callable[[Array, Array, int], Array]) -> Call:
    """``__shfl`` and its relatives: a lane outside of the group of ``width`` reads itself."""

    def call(m: Machine, given: tuple[Any, ...], template: tuple[Any, ...]) -> Value:
        width = uniform(m.value(given[2]), "a width") if len(given) > 2 else m.wave_size
        by = spread(scalar(m.converted(given[1], INT))[1], INT, m.threads)
        lane = m.ids % m.wave_size
        base = lane // width * width
        wanted = pick(lane - base, by, width)
        inside = (wanted >= 0) & (wanted < width)
        return gathered(m, m.value(given[0]), base + np.where(inside, wanted, lane - base))

    return call


def _across(lane: Array, by: Array, width: int) -> Array:
    """The lane that differs in some bits, within the group."""
    if ((by < 0) | (by >= width)).any():
        raise NotFollowed("a lane of another group")
    return lane ^ by


def _first_lane(m: Machine, given: tuple[Any, ...], template: tuple[Any, ...]) -> Value:
    """The value of the first lane of the wave that takes part."""
    kind, data = scalar(m.value(given[0]))
    if not isinstance(data, np.ndarray):
        return Value(kind, data)
    found = data.copy()
    for start in range(0, m.threads, m.wave_size):
        part = slice(start, start + m.wave_size)
        lanes = np.flatnonzero(m.mask[part])
        if len(lanes):
            found[part] = data[start + lanes[0]]
    return Value(kind, found)


def bit_cast(value: Value, kind: Type) -> Value:
    """The bits of a number as another number of that size."""
    source, data = scalar(value)
    if not isinstance(kind, Scalar) or kind.bits != source.bits:
        raise NotFollowed(f"the bits of a {source.name} as a {kind.name}")
    here, there = (np.dtype(f"{k.kind}{k.size}") for k in (source, kind))
    raw = np.asarray(data).astype(here).view(there)
    if isinstance(data, np.ndarray):
        return Value(kind, raw.astype(storage(kind)))
    return Value(kind, as_number(raw[()]))


# --- computing ------------------------------------------------------------------------------------


def _extreme(name: str, larger: bool) -> Builtin:
    def call(m: Machine, given: tuple[Any, ...], template: tuple[Any, ...]) -> Value:
        values = [m.value(g) for g in given]
        if len(values) != 2:
            raise NotFollowed(f"{name} of {len(values)} values")
        kind = common(scalar(values[0])[0], scalar(values[1])[0])
        if kind.kind == "f":
            raise NotFollowed(f"{name} of floats")
        a, b = (scalar(m.converted(v, kind))[1] for v in values)
        if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
            return Value(kind, np.maximum(a, b) if larger else np.minimum(a, b))
        return Value(kind, max(a, b) if larger else min(a, b))

    return Builtin(name, call, arithmetic=True)


def _of_integer(name: str, compute: Callable[[int], int]) -> Builtin:
    """A function of the bits of one integer, of 32 bits."""

    def call(m: Machine, given: tuple[Any, ...], template: tuple[Any, ...]) -> Value:
        data = scalar(m.converted(given[0], UINT))[1]
        if not isinstance(data, np.ndarray):
            return Value(INT, compute(int(data)))
        found = np.zeros(m.threads, np.int64)
        found[m.mask] = [compute(int(x)) for x in data[m.mask]]
        return Value(INT, found)

    return Builtin(name, call)


def _ctz(value: int) -> int:
    if not value:
        raise Undetermined("__builtin_ctz of 0")
    return (value & -value).bit_length() - 1


def _clz(value: int) -> int:
    if not value:
        raise Undetermined("__builtin_clz of 0")
    return 32 - value.bit_length()


def _tuple(m: Machine, given: tuple[Any, ...], template: tuple[Any, ...]) -> Value:
    parts = {str(at): m.value(g) for at, g in enumerate(given)}
    kind = Struct("std::tuple", {n: Member(n, v.type, 0) for n, v in parts.items()})
    return Value(kind, parts)


def _itself(m: Machine, given: tuple[Operand, ...], template: tuple[Any, ...]) -> Any:
    return given[0]


# --- on the host ----------------------------------------------------------------------------------


def _getenv(m: Machine, given: tuple[Any, ...], template: tuple[Any, ...]) -> Value:
    name = m.value(given[0]).data
    if not isinstance(name, str):
        raise NotFollowed("an environment variable whose name is not known")
    return Value(Text(), m.environment.get(name))


def _atoi(m: Machine, given: tuple[Any, ...], template: tuple[Any, ...]) -> Value:
    text = m.value(given[0]).data
    if isinstance(text, Undefined) or not isinstance(text, str):
        raise NotFollowed("atoi of what is no text")
    match = _LEADING_INTEGER.match(text)
    value = int(match.group(1)) if match else 0
    if not INT.bounds[0] <= value <= INT.bounds[1]:
        raise NotFollowed("what atoi makes of it is undefined")
    return Value(INT, value)


def _wave(m: Machine, given: tuple[Any, ...], template: tuple[Any, ...]) -> Value:
    return Value(INT, m.wave_size)


def _divide_ceil(m: Machine, given: tuple[Any, ...], template: tuple[Any, ...]) -> Value:
    from mlaprobe.emulation.device.arithmetic import binary

    a, b = (m.value(g) for g in given)
    above = binary("-", binary("+", a, b, m.mask), Value(INT, 1), m.mask)
    return binary("/", above, b, m.mask)


_CALLS: Mapping[str, Call] = {
    "__syncthreads": _barrier,
    "__builtin_amdgcn_s_barrier": _barrier,
    "__builtin_amdgcn_sched_barrier": _nothing,
    "__builtin_amdgcn_s_waitcnt": _nothing,
    "__builtin_amdgcn_mbcnt_lo": _mbcnt(0),
    "__builtin_amdgcn_mbcnt_hi": _mbcnt(32),
    "__builtin_amdgcn_ds_bpermute": _bpermute,
    "__builtin_amdgcn_readfirstlane": _first_lane,
    "__shfl": _shuffle(lambda lane, by, width: by % width),
    "__shfl_up": _shuffle(lambda lane, by, width: lane - by),
    "__shfl_down": _shuffle(lambda lane, by, width: lane + by),
    "__shfl_xor": _shuffle(_across),
    "std::make_tuple": _tuple,
    "std::make_pair": _tuple,
    "std::move": _itself,
    "std::forward": _itself,
    "getenv": _getenv,
    "std::getenv": _getenv,
    "atoi": _atoi,
    "std::atoi": _atoi,
    # of ROCm's Composable Kernel, which AITER builds with (include/ck_tile/core)
    "ck_tile::get_lane_id": _lane,
    "ck_tile::get_warp_size": _wave,
    "ck_tile::warp_shuffle_up": _shuffle(lambda lane, by, width: (lane - by) % width),
}


def _builtins() -> dict[str, Builtin]:
    calls = dict(_CALLS)
    for axis in "xyz":
        calls[f"__builtin_amdgcn_workitem_id_{axis}"] = _axis("threadIdx", axis)
        calls[f"__builtin_amdgcn_workgroup_id_{axis}"] = _axis("blockIdx", axis)
        calls[f"__builtin_amdgcn_workgroup_size_{axis}"] = _axis("blockDim", axis)
    found = {name: Builtin(name, call) for name, call in calls.items()}
    for prefix in ("", "std::", "ck_tile::"):
        found[f"{prefix}min"] = _extreme("min", larger=False)
        found[f"{prefix}max"] = _extreme("max", larger=True)
    name = "ck_tile::integer_divide_ceil"
    found[name] = Builtin(name, _divide_ceil, arithmetic=True)
    found["__builtin_ctz"] = _of_integer("__builtin_ctz", _ctz)
    found["__builtin_clz"] = _of_integer("__builtin_clz", _clz)
    found["__builtin_popcount"] = _of_integer("__builtin_popcount", int.bit_count)
    return found


BUILTINS = _builtins()
TYPES: dict[str, TypeName] = {
    "dim3": TypeName(DIM3),
    "hipStream_t": TypeName(PointerTo(Void())),
    "ck_tile::index_t": TypeName(INT),
    "bool": TypeName(BOOL),
    # HIP's types of 16 bits, of which nothing is computed
    **{
        name: TypeName(Struct(name, size=2, align=2))
        for name in ("half", "__half", "hip_bfloat16", "__hip_bfloat16")
    },
}
