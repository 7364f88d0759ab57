"""Float32 arithmetic by exact fractions: what vectorised code is compared with."""

from __future__ import annotations

import math
import struct
from fractions import Fraction

INFINITY, SIGN, QUIET_NAN = 0x7F800000, 0x80000000, 0x7FC00000


def value_of(bits: int) -> float:
    """The number that 32 bits are."""
    (value,) = struct.unpack("<f", struct.pack("<I", bits))
    return float(value)


def bits_of(value: float) -> int:
    """The bits of a number that float32 has."""
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    return int(bits)


def is_nan(bits: int) -> bool:
    return bits & ~SIGN > INFINITY


def nearest(exact: Fraction) -> float:
    """The float32 nearest to a fraction, ties to even; infinity where that is too large."""
    if exact == 0:
        return 0.0
    exponent = abs(exact.numerator).bit_length() - exact.denominator.bit_length()
    if Fraction(2) ** exponent > abs(exact):
        exponent -= 1
    place = Fraction(2) ** (max(exponent, -126) - 23)
    result = round(exact / place) * place
    if abs(result) >= Fraction(2) ** 128:
        return math.copysign(math.inf, exact)
    return math.copysign(float(result), exact)


def flushed(bits: int) -> int:
    """Zero of the same sign for a subnormal number."""
    return bits if bits & INFINITY else bits & SIGN


def multiply_add(a: int, b: int, c: int) -> int:
    """The bits of ``a * b + c``, rounded once; of any NaN, the quiet one."""
    x, y, z = value_of(a), value_of(b), value_of(c)
    if not (math.isfinite(x) and math.isfinite(y) and math.isfinite(z)):
        # Nothing is rounded where a term is infinite: doubles tell what comes out.
        total = x * y + z if math.isfinite(x) and math.isfinite(y) else _infinite(x, y, z)
        return QUIET_NAN if math.isnan(total) else bits_of(total)
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    if exact:
        return bits_of(nearest(exact))
    # -0 only where both terms are -0.
    negative = math.copysign(1, x) * math.copysign(1, y) < 0 and math.copysign(1, z) < 0
    product_is_zero = x == 0 or y == 0
    return SIGN if negative and product_is_zero else 0


def _infinite(x: float, y: float, z: float) -> float:
    if math.isnan(x) or math.isnan(y) or math.isnan(z) or x == 0 or y == 0:
        return math.nan
    return math.copysign(math.inf, math.copysign(1, x) * math.copysign(1, y)) + z


def add(a: int, b: int) -> int:
    """The bits of ``a + b``."""
    return multiply_add(a, 0x3F800000, b)


def multiply(a: int, b: int) -> int:
    """The bits of ``a * b``."""
    # A zero of the product's sign leaves its sign alone.
    return multiply_add(a, b, (a ^ b) & SIGN)


def larger(a: int, b: int, *, ieee: bool = False) -> int:
    """``v_max_f32`` as AMD's pseudocode has it; ``ieee`` is MODE.IEEE."""
    for bits in (a, b):
        if ieee and is_nan(bits) and not bits & 0x00400000:
            return bits | 0x00400000
    if is_nan(a):
        return b
    if is_nan(b):
        return a
    if {a, b} == {0, SIGN}:
        return 0
    return a if value_of(a) > value_of(b) else b


def smaller(a: int, b: int) -> int:
    """``v_min_f32`` as AMD's pseudocode has it without MODE.IEEE."""
    if is_nan(a):
        return b
    if is_nan(b):
        return a
    if {a, b} == {0, SIGN}:
        return SIGN
    return a if value_of(a) < value_of(b) else b


def same(found: list[int], expected: list[int]) -> bool:
    """Whether two lists of float32 bits are equal, all NaNs taken for one."""
    return [QUIET_NAN if is_nan(bits) else bits for bits in found] == [
        QUIET_NAN if is_nan(bits) else bits for bits in expected
    ]
