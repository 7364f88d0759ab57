"""PyTorch, imported late, and what of it has a name in mlaprobe."""

from __future__ import annotations

import importlib
import warnings
from functools import lru_cache
from typing import Any

from mlaprobe.core.shape import Dtype
from mlaprobe.errors import MlaprobeError, UsageError
from mlaprobe.rulefiles.layouts import layouts

HEAD_DIM = 576
"""Values per token of a query head and of the KV cache: 512 latent, 64 rope."""
LATENT_DIM = 512
"""Values per token of an output head: the latent part of the cache is also the value."""


class NoTorchError(MlaprobeError):
    """PyTorch is not installed. Whatever needs it may raise this."""

    def __init__(self) -> None:
        super().__init__(
            "running a decode needs PyTorch, which is not installed here",
            hint="pip install 'mlaprobe[torch]' (on a ROCm image, use the Python that has its "
            "PyTorch; everything but decode and bench works without)",
        )


@lru_cache(maxsize=1)
def torch() -> Any:
    """PyTorch.

    Raises:
        NoTorchError: it is not installed.
    """
    try:
        with warnings.catch_warnings():
            # Builds of PyTorch without numpy say so at import.
            warnings.simplefilter("ignore")
            return importlib.import_module("torch")
    except ImportError:
        raise NoTorchError from None


def torch_dtype(dtype: Dtype, arch: str) -> Any:
    """The torch dtype that a data type is on an arch; fp8 has two variants.

    Raises:
        UsageError: the driver does not run that data type.
        NoTorchError: PyTorch is not installed.
    """
    if dtype is Dtype.BF16:
        return torch().bfloat16
    if dtype is Dtype.FP8:
        return getattr(torch(), f"float8_{layouts().fp8_variant(arch)}")
    raise UsageError(f"the driver does not run {dtype}", hint="it runs bf16 and fp8")
