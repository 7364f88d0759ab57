"""What a run depends on: the machine, PyTorch, AITER, the environment."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from typing import Any

from mlaprobe.core.releases import distribution_version
from mlaprobe.decode.tensors import torch
from mlaprobe.sources.directory import DISTRIBUTION

VARIABLES = ("AITER_", "HIP_", "ROCR_", "CUDA_VISIBLE_DEVICES", "TRITON_INTERPRET")
"""How the names of environment variables begin that may change a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """The environment of a run."""

    mlaprobe: str
    python: str
    system: str
    torch: str
    rocm: str | None
    """The version of ROCm's HIP that PyTorch was built for; ``None``: it was not."""
    cuda: str | None
    device: str
    """The GPU's name, or the CPU's kind."""
    arch: str | None
    """The GPU's, as ROCm calls it."""
    compute_units: int | None
    memory_bytes: int | None
    aiter: str | None
    """The version of the installed distribution."""
    environment: tuple[tuple[str, str], ...]
    """Variables that are set and may matter, sorted by name."""


def environment_of(device: str) -> Environment:
    """The environment of a run on a torch device."""
    t = torch()
    gpu: Any = None
    if t.device(device).type == "cuda":
        gpu = t.cuda.get_device_properties(device)
    arch = str(getattr(gpu, "gcnArchName", "")).split(":")[0]
    return Environment(
        mlaprobe=distribution_version("mlaprobe") or "unknown",
        python=platform.python_version(),
        system=platform.platform(),
        torch=str(t.__version__),
        rocm=t.version.hip,
        cuda=t.version.cuda,
        device=platform.machine() if gpu is None else gpu.name,
        arch=arch if t.version.hip and arch else None,
        compute_units=None if gpu is None else gpu.multi_processor_count,
        memory_bytes=None if gpu is None else gpu.total_memory,
        aiter=distribution_version(DISTRIBUTION),
        environment=tuple(sorted((n, v) for n, v in os.environ.items() if n.startswith(VARIABLES))),
    )


def default_device() -> str:
    """The first GPU that PyTorch can use, else the CPU."""
    return "cuda:0" if torch().cuda.is_available() else "cpu"
