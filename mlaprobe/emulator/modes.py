"""How a kernel computes with float32: the MODE register as its descriptor sets it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from mlaprobe.emulator.wave import Reals, Row

_EXPONENT = np.uint32(0x7F80_0000)
_SIGN = np.uint32(0x8000_0000)
_ONE = np.uint32(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class FloatMode:
    """The fields of MODE that float32 instructions obey.

    Source: "CDNA3 Instruction Set Architecture", section "Mode register"; their values at the start
    of a kernel: LLVM's "User Guide for AMDGPU Backend", ``compute_pgm_rsrc1``.
    """

    round_32: int
    """0: to nearest even; 1, 2, 3: up, down, to zero, for which the engine has no rule."""
    flush_inputs: bool
    """Whether a subnormal float32 operand counts as zero."""
    flush_results: bool
    """Whether a subnormal float32 result becomes zero."""
    saturate: bool
    """FP16_OVFL: whether conversions to f16 and fp8 saturate."""
    ieee: bool = False
    """Whether minimum and maximum quiet a signalling NaN."""

    @classmethod
    def of(cls, float_mode: int, *, fp16_overflow: bool, ieee: bool) -> FloatMode:
        """The mode of a descriptor's FLOAT_MODE field."""
        denormals = float_mode >> 4 & 3
        return cls(
            round_32=float_mode & 3,
            flush_inputs=not denormals & 1,
            flush_results=not denormals & 2,
            saturate=fp16_overflow,
            ieee=ieee,
        )


def is_subnormal(bits: int) -> bool:
    """Whether a float32 is subnormal, by its bits."""
    return 0 < bits & 0x7FFF_FFFF < 0x0080_0000


class Subnormals:
    """Finds and flushes subnormal float32 numbers in arrays of some shape; reuses a buffer."""

    __slots__ = ("_bits", "_exponents", "_parts", "_size")

    def __init__(self, shape: tuple[int, ...], *, parts: int = 1) -> None:
        self._exponents: Row = np.empty((parts, *shape), np.uint32)
        self._parts: list[Row] = list(self._exponents)
        self._bits: Row = np.full(shape, _EXPONENT, np.uint32)
        self._size = self._exponents.size

    def among(self, *arrays: Row) -> bool:
        """Whether there is one in any of as many arrays as there are parts."""
        for bits, exponents in zip(arrays, self._parts, strict=True):
            np.bitwise_and(bits, self._bits, exponents)
        normal = int(np.count_nonzero(self._exponents))
        if normal == self._size:
            return False
        # A number is zero or its exponent is not zero, unless it is subnormal.
        return normal != sum(int(np.count_nonzero(bits << _ONE)) for bits in arrays)

    def flush(self, bits: Row) -> None:
        """Replaces each in an array by the zero of its sign."""
        if self.among(bits):
            np.bitwise_and(bits, _SIGN, out=bits, where=self._parts[0] == 0)


def flushed(values: Reals) -> Reals:
    """``values`` with the zero of its sign for each subnormal; the same array if there is none."""
    bits = values.view(np.uint32)
    exponents = bits & _EXPONENT
    normal = np.count_nonzero(exponents)
    if normal == exponents.size or normal == np.count_nonzero(bits << _ONE):
        return values
    return np.where(exponents == 0, bits & _SIGN, bits).view(np.float32)


def subnormal_among(arrays: Iterable[Row]) -> bool:
    """Whether there is a subnormal number in any of some arrays of bits."""
    for bits in arrays:
        normal = np.count_nonzero(bits & _EXPONENT)
        if normal != bits.size and normal != np.count_nonzero(bits << _ONE):
            return True
    return False
