"""What of ROCm, PyTorch and Triton is on this machine, found without importing any of it.

PyTorch alone is imported, and only where a build for ROCm is installed and nothing else knows of a
GPU.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mlaprobe.core.releases import distribution_version
from mlaprobe.system import gpu as local
from mlaprobe.system.gpu import Gpus

_BUILD = re.compile(r"^(hip|cuda|rocm)\b[^=\n]*=\s*['\"]([^'\"]+)['\"]", re.M)
ROCM_VARIABLES = ("ROCM_PATH", "ROCM_HOME")
ROCM_PACKAGES = ("rocm-sdk-core", "rocm")
TRITON_PACKAGES = ("triton", "triton-rocm", "pytorch-triton-rocm")


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where to look; other places in tests."""

    topology: Path = local.TOPOLOGY
    device: Path = Path("/dev/kfd")
    """The device that a program must open to use a GPU of AMD."""
    rocm: Path = Path("/opt/rocm")
    nvidia: Path = Path("/proc/driver/nvidia/version")
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rocm:
    """An installation of ROCm."""

    version: str | None
    """``None`` where it does not say."""
    how: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Torch:
    """The PyTorch of this environment."""

    version: str
    builds: tuple[tuple[str, str], ...]
    """What it is built for and its version: ``hip`` or ``cuda``; none: CPU only, or it does not
    say."""
    how: str

    @property
    def for_rocm(self) -> bool:
        """Whether it is a build for ROCm."""
        return any(name in ("hip", "rocm") for name, _ in self.builds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """ROCm, PyTorch, Triton and the GPUs of this machine."""

    gpus: Gpus
    device_there: bool
    """Whether the driver's device is there."""
    device_usable: bool
    """Whether this user may open it."""
    nvidia: bool
    """Whether a driver of NVIDIA is loaded."""
    rocm: Rocm | None
    torch: Torch | None
    triton: tuple[tuple[str, str], ...]
    """Packages that bring Triton, and their versions."""


def look(places: Places | None = None) -> Machine:
    """Looks at this machine."""
    places = places or Places()
    torch = find_torch()
    found = local.gpus(places.topology)
    if not found.archs and torch is not None and torch.for_rocm:
        found = gpus_of_torch()
    return Machine(
        gpus=found,
        device_there=places.device.exists(),
        device_usable=os.access(places.device, os.R_OK | os.W_OK),
        nvidia=places.nvidia.exists(),
        rocm=find_rocm(places),
        torch=torch,
        triton=tuple(
            (name, version)
            for name in TRITON_PACKAGES
            if (version := distribution_version(name)) is not None
        ),
    )


def find_rocm(places: Places) -> Rocm | None:
    """ROCm in the environment's directory, in its usual one, or as Python packages."""
    named = [(places.environ[v], v) for v in ROCM_VARIABLES if places.environ.get(v)]
    for path, how in (*named, (str(places.rocm), "its usual place")):
        folder = Path(path)
        version = _first_line(folder / ".info" / "version")
        if version is not None or (folder / "bin").is_dir():
            return Rocm(version=version, how=f"{path}, {how}")
    for name in ROCM_PACKAGES:
        version = distribution_version(name)
        if version is not None:
            return Rocm(version=version, how=f"the Python package {name}")
    hipcc = shutil.which("hipcc", path=places.environ.get("PATH"))
    return Rocm(version=None, how=f"{hipcc}, on the PATH") if hipcc else None


def _first_line(file: Path) -> str | None:
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return None
    return lines[0].strip() or None


def find_torch(find: Callable[[str], object] = importlib.util.find_spec) -> Torch | None:
    """PyTorch, by its own note of what it was built for."""
    version = distribution_version("torch")
    try:
        spec = find("torch")
    except (ImportError, ValueError):
        spec = None
    origin = getattr(spec, "origin", None)
    if version is None or origin is None:
        return None
    note = Path(origin).with_name("version.py")
    try:
        builds = _BUILD.findall(note.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        builds = []
    return Torch(version=version, builds=tuple(builds), how=str(note))


def gpus_of_torch() -> Gpus:
    """The GPUs that PyTorch sees. Imports it."""
    try:
        cuda = importlib.import_module("torch").cuda
        archs = [
            str(getattr(cuda.get_device_properties(at), "gcnArchName", "")).partition(":")[0]
            for at in range(cuda.device_count())
        ]
    except (ImportError, OSError, RuntimeError, AttributeError):
        return Gpus(archs=(), how="")
    found = tuple(filter(None, archs))
    return Gpus(archs=found, how="PyTorch" if found else "")


def python() -> str:
    """The version of this Python."""
    return ".".join(map(str, sys.version_info[:3]))
