"""Arithmetic of float32 lanes where numpy's own operators are not what the instructions do.

Sources: AMD Instinct MI300 (CDNA3) and MI350 (CDNA4) instruction set architecture, the pseudocode
of the instructions named here. What MODE says of subnormal numbers is for the caller to apply, and
what numpy warns of is for the caller to silence.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from mlaprobe.emulator.floats import Bits, Values

Reals: TypeAlias = npt.NDArray[np.float64]

_EXPONENT = np.uint32(0x7F800000)
_MAGNITUDE = np.uint32(0x7FFFFFFF)
_QUIET = np.uint32(0x00400000)
_TIE = np.uint32(4)
"""How far to shift the lower word of a float64 so that the 28 bits below half of a float32's last
place remain."""


def fma(a: Values, b: Values, c: Values) -> Values:
    """``a * b + c``, rounded once (``v_fma_f32``, and each half of ``v_pk_fma_f32``)."""
    # The product of two 24-bit numbers is exact in float64. Its sum with c is rounded to 53 bits,
    # which can be seen only where what it was rounded to lies half way between two float32.
    product: Reals = np.multiply(a, b, dtype=np.float64)
    total: Reals = np.add(product, c)
    low = np.atleast_1d(total).view(np.uint32)[..., 0::2]
    if np.count_nonzero(low << _TIE) != low.size:
        total = _sticky(total, product, c)
    result: Values = total.astype(np.float32)
    return result


def _sticky(total: Reals, product: Reals, addend: Values) -> Reals:
    """Rounded sums of which the even ones are moved by a last place toward the exact sum where they
    differ from it: rounding those again does what rounding the exact sum does (Boldo and
    Melquiond, "Emulation of FMA and correctly rounded sums", 2008)."""
    part = total - product
    error = (product - (total - part)) + (addend - part)
    even = (total.view(np.uint64) & np.uint64(1)) == 0
    moved = np.nextafter(total, np.copysign(np.inf, error))
    return np.where((error != 0) & np.isfinite(error) & even, moved, total)


def maximum(a: Values, b: Values, *, ieee: bool = False) -> Values:
    """The larger of two (``v_max_f32``). A NaN loses against a number, and +0 is larger than -0.

    Args:
        ieee: MODE.IEEE: a signaling NaN, the first of two, wins and becomes quiet.
    """
    result: Values = np.maximum(a, b)
    if np.count_nonzero(np.isnan(result)):
        # Not fmax, which may take a signaling NaN for the result.
        result = np.where(np.isnan(a), b, np.where(np.isnan(b), a, result))
        for values in (b, a) if ieee else ():
            bits = values.view(np.uint32)
            signaling = ((bits & _MAGNITUDE) > _EXPONENT) & ((bits & _QUIET) == 0)
            result = np.where(signaling, (bits | _QUIET).view(np.float32), result)
    if np.count_nonzero(result) != result.size:
        both = (a.view(np.uint32) & b.view(np.uint32)).view(np.float32)
        result = np.where((a == 0) & (b == 0), both, result)
    return result


def exp2(values: Values) -> Values:
    """Powers of two (``v_exp_f32``).

    By way of float64: rounded right but for a near tie in a hundred million, the same on every
    machine, and well within the one unit in the last place that AMD documents for the instruction.
    Which of the numbers within that unit a GPU gives is not known.

    The instruction takes subnormal operands for zero and makes zeros of subnormal results whatever
    MODE says, as ``log2`` and ``reciprocal`` do; that is for the caller.
    """
    result: Values = np.exp2(values, dtype=np.float64).astype(np.float32)
    return result


def log2(values: Values) -> Values:
    """Logarithms to base 2 (``v_log_f32``), as accurate as ``exp2``."""
    result: Values = np.log2(values, dtype=np.float64).astype(np.float32)
    return result


def reciprocal(values: Values) -> Values:
    """``1 / values`` (``v_rcp_f32``, ``v_rcp_iflag_f32``), correctly rounded: the instructions are
    within one unit in the last place."""
    result: Values = np.float32(1) / values
    return result


def u32_from_f32(values: Values) -> Bits:
    """Whole numbers, rounded toward zero (``v_cvt_u32_f32``): what is negative and NaN become 0,
    what is too large the largest there is."""
    limited = np.fmin(np.fmax(values.astype(np.float64), 0.0), float(0xFFFFFFFF))
    return limited.astype(np.uint32)


def classes(bits: Bits) -> Bits:
    """One bit a number for what it is, as ``v_cmp_class_f32`` counts them: 0 signaling NaN, 1 quiet
    NaN, 2 -infinity, 3 negative normal, 4 negative subnormal, 5 -0, 6 +0, 7 positive subnormal, 8
    positive normal, 9 +infinity."""
    magnitude = bits & _MAGNITUDE
    # From -infinity to -0 and back from +0: five kinds, mirrored.
    kind = np.full(bits.shape, 3, np.int64)
    kind[magnitude < np.uint32(0x00800000)] = 4
    kind[magnitude == 0] = 5
    kind[magnitude == _EXPONENT] = 2
    positive = bits == magnitude
    kind[positive] = 11 - kind[positive]
    nan = magnitude > _EXPONENT
    kind[nan] = ((bits[nan] & _QUIET) != 0).astype(np.int64)
    return np.left_shift(1, kind).astype(np.uint32)
