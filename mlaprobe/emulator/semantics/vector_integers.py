"""Vector arithmetic on integers and bits: VOP1, VOP2, VOP3.

Source: AMD, "CDNA3 Instruction Set Architecture", chapter "Instructions", sections on these
formats. Every function here leaves its sources as they are until it has read them, for the
destination may be one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from mlaprobe.emulator.decoding import Instruction
from mlaprobe.emulator.fusion.lanewise import Kind
from mlaprobe.emulator.fusion.lanewise import Source as LaneSource
from mlaprobe.emulator.operands import (
    SCALARS,
    Source,
    scalar_destination,
    scalar_pair,
    vector,
)
from mlaprobe.emulator.program import Compiled, Context, Rule, Step
from mlaprobe.emulator.semantics.vectors import (
    SECOND,
    Binary,
    Ternary,
    Unary,
    check_absolute,
    check_modifiers,
    lanewise,
    move,
    operand,
    put,
    step_of,
    target,
)
from mlaprobe.emulator.wave import LANES, VCC, Mask, Row, Wave

_LOW_5 = np.uint32(31)
_LOW_24 = np.uint32(0xFF_FFFF)
_EIGHT = np.uint32(8)
_ONE = np.uint32(1)
_SLOW = 16
"""Cycles of instructions at a quarter of the rate."""


def _signed(row: Row) -> npt.NDArray[np.int32]:
    return row.view(np.int32)


def _unsigned_24(row: Row) -> Row:
    low: Row = row & _LOW_24
    return low


def _signed_24(row: Row) -> Row:
    extended: Row = (_signed(row << _EIGHT) >> np.int32(8)).view(np.uint32)
    return extended


def _shift_right_signed(a: Row, b: Row, out: Row) -> None:
    np.right_shift(_signed(b), _signed(a & _LOW_5), out=_signed(out))


def _multiply_high(a: Row, b: Row, out: Row) -> None:
    product = np.multiply(a, b, dtype=np.uint64)
    out[:] = product >> np.uint64(32)


def _mask_field(width: Row) -> Row:
    mask: Row = (_ONE << (width & _LOW_5)) - _ONE
    return mask


def _bit_field_signed(a: Row, b: Row, c: Row, out: Row) -> None:
    width = c & _LOW_5
    beyond = _signed((np.uint32(32) - width) & _LOW_5)
    field = (_signed(a) >> _signed(b & _LOW_5)) << beyond >> beyond
    out[:] = np.where(width == 0, np.uint32(0), field.view(np.uint32))


def _align_bits(a: Row, b: Row, c: Row, out: Row) -> None:
    both = a.astype(np.uint64) << np.uint64(32) | b
    out[:] = (both >> (c & _LOW_5).astype(np.uint64)) & np.uint64(0xFFFF_FFFF)


def _bytes(row: Row, shape: tuple[int, ...]) -> npt.NDArray[np.uint8]:
    """The bytes of each number, of as many numbers as ``shape`` says."""
    return np.ascontiguousarray(np.broadcast_to(row, shape)).view(np.uint8).reshape(*shape, 4)


_SELECTED = np.array([*range(8), 8, 9, 10, 11, 12, *([13] * 243)], np.intp)
"""What each selector picks: eight bytes, four signs, 0, 0xff for the rest."""


def _permute(a: Row, b: Row, c: Row, out: Row) -> None:
    """Each byte of the selector picks one of the eight bytes of both sources, or a constant."""
    if c.size == 1:
        picked = int(c[0]).to_bytes(4, "little")
        if all(byte < 8 or byte > 11 for byte in picked):
            _permute_alike(a, b, picked, out)
            return
    shape = out.shape
    table = np.empty((*shape, 14), np.uint8)
    table[..., 12], table[..., 13] = 0, 0xFF
    low, high = _bytes(b, shape), _bytes(a, shape)
    table[..., 0:4] = low
    table[..., 4:8] = high
    for column, source, byte in ((8, low, 1), (9, low, 3), (10, high, 1), (11, high, 3)):
        table[..., column] = (source[..., byte] >> 7) * np.uint8(0xFF)
    found = np.take_along_axis(table, _SELECTED[_bytes(c, shape)], axis=-1)
    out[:] = found.view(np.uint32)[..., 0]


def _permute_alike(a: Row, b: Row, picked: bytes, out: Row) -> None:
    """The same where all lanes pick the same, and no sign."""
    both = np.empty((*out.shape, 2), np.uint32)
    both[..., 0], both[..., 1] = b, a
    low, high = picked[0], picked[2]
    if low % 2 == high % 2 == 0 and max(picked) < 8 and picked[1::2] == bytes((low + 1, high + 1)):
        halves, found = both.view(np.uint16), out.view(np.uint16)
        found[..., 0::2], found[..., 1::2] = halves[..., low // 2], halves[..., high // 2]
        return
    sources, places = both.view(np.uint8), out.view(np.uint8)
    for place, byte in enumerate(picked):
        constant = 0 if byte == 12 else 0xFF
        places[..., place::4] = sources[..., byte] if byte < 8 else constant


def _add_3(a: Row, b: Row, c: Row, out: Row) -> None:
    np.add(a + b, c, out=out)


_UNARY: dict[str, Unary] = {
    "v_mov_b32": move,
    "v_not_b32": lambda a, out: np.invert(a, out=out),
}

_BINARY: dict[str, Binary] = {
    "v_add_u32": np.add,
    "v_sub_u32": np.subtract,
    "v_subrev_u32": lambda a, b, out: np.subtract(b, a, out=out),
    "v_add_i32": np.add,
    "v_sub_i32": np.subtract,
    "v_and_b32": np.bitwise_and,
    "v_or_b32": np.bitwise_or,
    "v_xor_b32": np.bitwise_xor,
    "v_xnor_b32": lambda a, b, out: np.invert(a ^ b, out=out),
    "v_lshlrev_b32": lambda a, b, out: np.left_shift(b, a & _LOW_5, out=out),
    "v_lshrrev_b32": lambda a, b, out: np.right_shift(b, a & _LOW_5, out=out),
    "v_ashrrev_i32": _shift_right_signed,
    "v_min_u32": lambda a, b, out: np.minimum(a, b, out=out),
    "v_max_u32": lambda a, b, out: np.maximum(a, b, out=out),
    "v_min_i32": lambda a, b, out: np.minimum(_signed(a), _signed(b), out=_signed(out)),
    "v_max_i32": lambda a, b, out: np.maximum(_signed(a), _signed(b), out=_signed(out)),
    "v_mul_u32_u24": lambda a, b, out: np.multiply(_unsigned_24(a), _unsigned_24(b), out=out),
    "v_mul_i32_i24": lambda a, b, out: np.multiply(_signed_24(a), _signed_24(b), out=out),
    "v_mul_lo_u32": np.multiply,
    "v_mul_hi_u32": _multiply_high,
    "v_bfm_b32": lambda a, b, out: np.left_shift(_mask_field(a), b & _LOW_5, out=out),
}

_TERNARY: dict[str, Ternary] = {
    "v_add3_u32": _add_3,
    "v_bfe_u32": lambda a, b, c, out: np.bitwise_and(a >> (b & _LOW_5), _mask_field(c), out=out),
    "v_bfe_i32": _bit_field_signed,
    "v_bfi_b32": lambda a, b, c, out: np.bitwise_or(a & b, ~a & c, out=out),
    "v_alignbit_b32": _align_bits,
    "v_perm_b32": _permute,
    "v_lshl_add_u32": lambda a, b, c, out: np.add(a << (b & _LOW_5), c, out=out),
    "v_add_lshl_u32": lambda a, b, c, out: np.left_shift(a + b, c & _LOW_5, out=out),
    "v_lshl_or_b32": lambda a, b, c, out: np.bitwise_or(a << (b & _LOW_5), c, out=out),
    "v_and_or_b32": lambda a, b, c, out: np.bitwise_or(a & b, c, out=out),
    "v_or3_b32": lambda a, b, c, out: np.bitwise_or(a | b, c, out=out),
    "v_xad_u32": lambda a, b, c, out: np.add(a ^ b, c, out=out),
    "v_mad_u32_u24": lambda a, b, c, out: np.add(_unsigned_24(a) * _unsigned_24(b), c, out=out),
    "v_mad_i32_i24": lambda a, b, c, out: np.add(_signed_24(a) * _signed_24(b), c, out=out),
}

_QUARTER_RATE = frozenset({"v_mul_lo_u32", "v_mul_hi_u32"})


def _rule(function: Callable[..., object], count: int) -> Rule:
    def rule(instruction: Instruction, context: Context) -> Compiled:
        check_modifiers(instruction, real=False)
        names = ("src0", SECOND.get(instruction.format, ""), "src2")[:count]
        sources = tuple(operand(instruction, name, context) for name in names)
        return Compiled(
            step=step_of(function, sources, target(instruction, context)),
            cycles=_SLOW if instruction.mnemonic in _QUARTER_RATE else 4,
            lanewise=lanewise(instruction, context, function, names),
        )

    return rule


def _move_64(instruction: Instruction, context: Context) -> Compiled:
    """``v_mov_b64``: two registers at once."""
    check_modifiers(instruction, real=False, dpp=False)
    check_absolute(instruction, context)
    register = instruction.fields["vdst"]
    code = instruction.fields["src0"]
    if code >= 256 or code < 128:
        low, high = vector(instruction, "src0"), vector(instruction, "src0", high=True)

        def step(wave: Wave) -> None:
            first, second = low(wave).copy(), high(wave).copy()
            put(wave, register, first)
            put(wave, register + 1, second)

        return Compiled(step=step)
    pair = scalar_pair(instruction, "src0")

    def constant(wave: Wave) -> None:
        value = pair(wave)
        put(wave, register, np.full(1, value & 0xFFFF_FFFF, np.uint32))
        put(wave, register + 1, np.full(1, value >> 32, np.uint32))

    return Compiled(step=constant)


def _select(instruction: Instruction, context: Context) -> Compiled:
    """``v_cndmask_b32``: the second source where the mask is set."""
    check_modifiers(instruction, real=False, dpp=False)
    check_absolute(instruction, context)
    a, b = vector(instruction, "src0"), vector(instruction, SECOND[instruction.format])
    out = instruction.fields["vdst"]
    register = instruction.fields["src2"] if instruction.format == "VOP3" else VCC
    if register >= SCALARS - 1:
        raise instruction.unmodelled("a mask that is no scalar register has no rule")

    def step(wave: Wave) -> None:
        put(wave, out, np.where(wave.pair(register), b(wave), a(wave)))

    names = ("src0", SECOND[instruction.format])
    alike = lanewise(instruction, context, _selected, names)
    if alike is not None:
        alike = replace(alike, sources=(*alike.sources, LaneSource(Kind.MASK, register)))
    return Compiled(step=step, lanewise=alike)


def _selected(a: Row, b: Row, mask: Mask, out: Row) -> None:
    out[:] = np.where(mask, b, a)


def _carry(*, with_carry: bool) -> Rule:
    """``v_add_co_u32`` and ``v_addc_co_u32``: a sum, and its carries as a mask."""

    def rule(instruction: Instruction, context: Context) -> Compiled:
        check_modifiers(instruction, real=False, dpp=False)
        check_absolute(instruction, context)
        second = SECOND[instruction.format]
        a, b = vector(instruction, "src0"), vector(instruction, second)
        register = instruction.fields["vdst"]
        long = instruction.format == "VOP3SD"
        carries = scalar_destination(instruction, "sdst", words=2) if long else VCC
        taken = instruction.fields["src2"] if long else VCC
        if with_carry and taken >= SCALARS - 1:
            raise instruction.unmodelled("a carry that is no scalar register has no rule")
        return Compiled(step=_carrying(a, b, register, carries, taken if with_carry else None))

    return rule


def _carrying(a: Source, b: Source, register: int, carries: int, taken: int | None) -> Step:
    def step(wave: Wave) -> None:
        first, second = a(wave), b(wave)
        total = first + second
        over = total < first
        if taken is not None:
            carry = wave.pair(taken)
            with_carry = total + carry
            over = over | (with_carry < total)
            total = with_carry
        if len(over) != LANES:
            over = over.repeat(LANES)
        if not wave.full:
            over &= wave.exec_mask
        put(wave, register, total)
        wave.set_pair(carries, over)

    return step


RULES: dict[str, Rule] = {
    **{name: _rule(function, 1) for name, function in _UNARY.items()},
    **{name: _rule(function, 2) for name, function in _BINARY.items()},
    **{name: _rule(function, 3) for name, function in _TERNARY.items()},
    "v_mov_b64": _move_64,
    "v_cndmask_b32": _select,
    "v_add_co_u32": _carry(with_carry=False),
    "v_addc_co_u32": _carry(with_carry=True),
}
