"""Number formats of CDNA3 and CDNA4: what their bits mean, and how results are rounded to them.

Everything here is a pure function of arrays of any shape. Encodings are unsigned integers, values
are ``float32``, which holds every value of every narrower format exactly.

Sources: AMD Instinct MI300 (CDNA3) and MI350 (CDNA4) instruction set architecture, the chapters on
the MODE register and on data formats; OCP 8-bit floating point specification 1.0 (OFP8) and OCP
microscaling formats 1.0 (MX) for CDNA4; the "fnuz" encodings of CDNA3 as AMD publishes them:
exponent bias one higher, no infinity, no negative zero, and the pattern of negative zero for NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from mlaprobe.core.enums import TextEnum

Bits: TypeAlias = npt.NDArray[np.uint32]
"""32-bit register contents."""
Values: TypeAlias = npt.NDArray[np.float32]

LANES = 64
"""Lanes of a wave."""
SIGN = np.uint32(0x80000000)
_EXPONENT = np.uint32(0x7F800000)
_QUIET_16 = np.uint32(0x40)
_LOW_16 = np.uint32(0xFFFF)
_HIGH_16 = np.uint32(0xFFFF0000)
_HALF_16 = np.uint32(0x7FFF)
_INFINITE_16 = np.uint32(0x7F80)
_ONE = np.uint32(1)
_EIGHT = np.uint32(8)
_SIXTEEN = np.uint32(16)


class Specials(TextEnum):
    """What a format does with the encodings that IEEE 754 keeps for infinity and NaN."""

    IEEE = "ieee"
    """The largest exponent is infinity (mantissa 0) and NaN."""
    FN = "fn"
    """All ones is NaN, of either sign; there is no infinity."""
    FNUZ = "fnuz"
    """Negative zero's pattern is NaN; neither infinity nor negative zero exist."""
    FINITE = "finite"
    """Every encoding is a number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NarrowFormat:
    """A floating-point format of at most eight bits: sign, exponent, mantissa from the top."""

    name: str
    """As OCP and AMD write it."""
    exponent: int
    """Bits of exponent."""
    mantissa: int
    """Bits of mantissa, without the hidden one."""
    bias: int
    """What is subtracted from the exponent field."""
    specials: Specials
    """Which encodings are no numbers."""

    @property
    def width(self) -> int:
        """Bits of an element."""
        return 1 + self.exponent + self.mantissa

    @property
    def largest(self) -> int:
        """The encoding of the largest finite value."""
        top = (1 << (self.width - 1)) - 1
        if self.specials is Specials.IEEE:
            return top - (1 << self.mantissa)
        return top - 1 if self.specials is Specials.FN else top

    @property
    def overflow(self) -> int:
        """The encoding, less its sign, of what is too large, where nothing saturates."""
        if self.specials is Specials.FNUZ:
            return 1 << (self.width - 1)
        return self.largest if self.specials is Specials.FINITE else self.largest + 1

    @property
    def nan(self) -> int:
        """The encoding of a NaN, less its sign where it has one; the largest where none exists."""
        if self.specials is Specials.FNUZ:
            return 1 << (self.width - 1)
        return (1 << (self.width - 1)) - 1


E4M3 = NarrowFormat(name="e4m3", exponent=4, mantissa=3, bias=7, specials=Specials.FN)
E5M2 = NarrowFormat(name="e5m2", exponent=5, mantissa=2, bias=15, specials=Specials.IEEE)
E4M3_FNUZ = NarrowFormat(name="e4m3fnuz", exponent=4, mantissa=3, bias=8, specials=Specials.FNUZ)
E5M2_FNUZ = NarrowFormat(name="e5m2fnuz", exponent=5, mantissa=2, bias=16, specials=Specials.FNUZ)
E2M3 = NarrowFormat(name="e2m3", exponent=2, mantissa=3, bias=1, specials=Specials.FINITE)
E3M2 = NarrowFormat(name="e3m2", exponent=3, mantissa=2, bias=3, specials=Specials.FINITE)
E2M1 = NarrowFormat(name="e2m1", exponent=2, mantissa=1, bias=1, specials=Specials.FINITE)

FP8 = {"gfx942": E4M3_FNUZ, "gfx950": E4M3}
"""What instructions named ``fp8`` read and write, by arch."""
BF8 = {"gfx942": E5M2_FNUZ, "gfx950": E5M2}
"""What instructions named ``bf8`` read and write, by arch."""


def _value(form: NarrowFormat, code: int) -> float:
    magnitude = code & ((1 << (form.width - 1)) - 1)
    negative = code >> (form.width - 1)
    sign = -1.0 if negative else 1.0
    if form.specials is Specials.FNUZ and negative and not magnitude:
        return float("nan")
    if form.specials is Specials.FN and magnitude == form.nan:
        return float("nan")
    field, fraction = magnitude >> form.mantissa, magnitude & ((1 << form.mantissa) - 1)
    if form.specials is Specials.IEEE and field == (1 << form.exponent) - 1:
        return float("nan") if fraction else sign * float("inf")
    if field == 0:
        return float(sign * fraction * 2.0 ** (1 - form.bias - form.mantissa))
    return float(sign * (1 + fraction / (1 << form.mantissa)) * 2.0 ** (field - form.bias))


@cache
def decode_table(form: NarrowFormat) -> Values:
    """The value of each encoding, by encoding (read-only)."""
    codes = range(1 << form.width)
    table = np.array([_value(form, code) for code in codes], np.float32)
    table.flags.writeable = False
    return table


def _round_even(form: NarrowFormat, magnitude: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Encodings of non-negative numbers, to nearest, ties to even, with no largest exponent: what
    is too large for the format has an encoding beyond ``largest``."""
    exponents = np.where(magnitude == 0, 1 - form.bias, np.frexp(magnitude)[1] - 1)
    exponents = np.maximum(exponents, 1 - form.bias)
    # A power of two: exact. The last mantissa bit counts one, and rint takes ties to even.
    counted = np.rint(np.ldexp(magnitude, form.mantissa - exponents)).astype(np.int64)
    codes: npt.NDArray[np.int64] = (exponents + form.bias - 1).astype(np.int64) << form.mantissa
    codes += counted
    return codes


@cache
def _encode_table(form: NarrowFormat, saturate: bool) -> Bits:
    """The encoding of each float32, by its upper 16 bits with the lowest of them set where a lower
    bit is.

    Seven mantissa bits are more than any format keeps and its rounding looks at, so all that the
    lower bits can do is to tell a tie from what is just above it.
    """
    upper = np.arange(1 << 16, dtype=np.uint32)
    values = (upper << _SIXTEEN).view(np.float32)
    finite = np.where(np.isfinite(values), np.abs(values), np.float32(0)).astype(np.float64)
    codes = _round_even(form, finite)
    too_large = (codes > form.largest) | np.isinf(values)
    codes = np.where(too_large, form.largest if saturate else form.overflow, codes)
    codes = np.where(np.isnan(values), form.nan, codes)
    negative = 1 << (form.width - 1)
    if form.specials is Specials.FNUZ:
        # Neither zero nor NaN has a sign.
        unsigned = (codes == 0) | (codes == form.nan)
        codes = np.where(np.signbit(values) & ~unsigned, codes | negative, codes)
    else:
        codes = np.where(np.signbit(values), codes | negative, codes)
    table = codes.astype(np.uint32)
    table.flags.writeable = False
    return table


def _pair(low: Bits, high: Bits) -> Bits:
    """Two registers of a wave, or numbers that all its lanes share, as one array [2, 64]."""
    both = np.empty((2, LANES), np.uint32)
    both[0], both[1] = low, high
    return both


def narrow(bits: Bits, form: NarrowFormat, *, saturate: bool = False) -> Bits:
    """Encodings of float32 numbers (given by their bits) in a format of eight bits or fewer, to
    nearest, ties to even, one in the low bits of each result.

    Args:
        saturate: MODE.FP16_OVFL: what is too large, infinity included, becomes the largest finite
            value of its sign. Otherwise it becomes infinity, or NaN where the format has none.
            Formats in which every encoding is a number always saturate.
    """
    sticky = np.minimum(bits & _LOW_16, _ONE)
    codes: Bits = _encode_table(form, saturate).take((bits >> _SIXTEEN) | sticky)
    return codes


def pack_narrow(low: Bits, high: Bits, form: NarrowFormat, *, saturate: bool = False) -> Bits:
    """Two float32 registers of a wave as encodings of an eight-bit format: those of ``low`` in bits
    7 to 0 and those of ``high`` in bits 15 to 8 (``v_cvt_pk_fp8_f32`` and ``v_cvt_pk_bf8_f32``).

    Args:
        saturate: as in ``narrow``.
    """
    codes = narrow(_pair(low, high), form, saturate=saturate)
    packed: Bits = codes[0] | (codes[1] << _EIGHT)
    return packed


def widen(codes: npt.NDArray[np.unsignedinteger], form: NarrowFormat) -> Values:
    """The values of encodings of a format of eight bits or fewer."""
    values: Values = decode_table(form)[codes]
    return values


def bf16_from_f32(bits: Bits, *, saturate: bool = False) -> Bits:
    """bfloat16 encodings of float32 numbers (both by their bits), to nearest, ties to even, in the
    low half of each result.

    A NaN stays one and becomes quiet; which of the payload's bits survive is our choice.

    Args:
        saturate: MODE.FP16_OVFL: a finite number that would become infinite becomes the largest
            finite one.
    """
    upper = bits >> _SIXTEEN
    rounded: Bits = (bits + (_HALF_16 + (upper & _ONE))) >> _SIXTEEN
    nan = np.isnan(bits.view(np.float32))
    if np.count_nonzero(nan):
        rounded = np.where(nan, upper | _QUIET_16, rounded)
    if saturate:
        grown = (bits & ~SIGN < _EXPONENT) & ((rounded & _HALF_16) == _INFINITE_16)
        rounded = rounded - grown
    return rounded


def pack_bf16(low: Bits, high: Bits, *, saturate: bool = False) -> Bits:
    """Two float32 registers of a wave as bfloat16: those of ``low`` in the low half, those of
    ``high`` in the high half (``v_cvt_pk_bf16_f32``).

    Args:
        saturate: as in ``bf16_from_f32``.
    """
    codes = bf16_from_f32(_pair(low, high), saturate=saturate)
    packed: Bits = codes[0] | (codes[1] << _SIXTEEN)
    return packed


def f32_from_bf16(codes: npt.NDArray[np.unsignedinteger]) -> Values:
    """The values of bfloat16 encodings."""
    bits: Bits = codes.astype(np.uint32) << _SIXTEEN
    return bits.view(np.float32)
