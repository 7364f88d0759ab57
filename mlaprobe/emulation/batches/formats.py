"""Tensors of bf16 and fp8 as numpy holds them: their bits, and the numbers that these stand for."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from mlaprobe.core.enums import Layout
from mlaprobe.core.shape import Dtype
from mlaprobe.emulator.floats import FP8, bf16_from_f32, f32_from_bf16, narrow, widen
from mlaprobe.errors import UsageError

Array: TypeAlias = npt.NDArray[Any]
HEAD_DIM = 576
"""Values per token of a query head and of the KV cache: 512 latent, 64 rope."""
LATENT_DIM = 512
"""Values per token of an output head."""
WIDTHS = {
    Layout.LATENT: (HEAD_DIM, LATENT_DIM),
    Layout.HEADS: (192, 128),
    Layout.PACKED: (512, 512),
}
"""Values per token of a key, and of an output head."""


def encoded(values: npt.NDArray[np.float32], dtype: Dtype, arch: str) -> Array:
    """Values rounded to a data type: uint16 with bf16's bits, uint8 with those of the arch's fp8,
    of the largest value where it is exceeded.

    Raises:
        UsageError: the emulator does not decode that data type, or knows no such arch.
    """
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    if dtype is Dtype.BF16:
        return bf16_from_f32(bits).astype(np.uint16)
    if dtype is Dtype.FP8 and arch in FP8:
        return narrow(bits, FP8[arch], saturate=True).astype(np.uint8)
    raise _unsupported(dtype, arch)


def decoded(stored: Array, dtype: Dtype, arch: str) -> npt.NDArray[np.float32]:
    """The numbers that bits stand for.

    Raises:
        UsageError: the emulator does not decode that data type, or knows no such arch.
    """
    if dtype is Dtype.BF16:
        return f32_from_bf16(stored)
    if dtype is Dtype.FP8 and arch in FP8:
        return widen(stored, FP8[arch])
    raise _unsupported(dtype, arch)


def _unsupported(dtype: Dtype, arch: str) -> UsageError:
    return UsageError(
        f"{dtype} on {arch} is not emulated",
        hint=f"it runs bf16 and fp8 on {' and '.join(FP8)}",
    )
