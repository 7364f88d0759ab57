"""The arch of this machine's GPU, without PyTorch and without starting a GPU runtime."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from mlaprobe.errors import UsageError

TOPOLOGY = Path("/sys/class/kfd/kfd/topology/nodes")
_VERSION = re.compile(r"^gfx_target_version\s+(\d+)\s*$", re.M)
_NAME = re.compile(r"^\s*Name:\s+(gfx[0-9a-f]+)\s*$", re.M)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpus:
    """The GPUs of AMD in this machine."""

    archs: tuple[str, ...]
    """The arch of each, in the order of ``how``."""
    how: str
    """The place or program that names them; empty where none does."""


def gpus(topology: Path = TOPOLOGY) -> Gpus:
    """This machine's GPUs, as the kernel driver or ``rocminfo`` lists them.

    Args:
        topology: where the kernel driver lists its nodes.
    """
    found = _from_topology(topology)
    if found:
        return Gpus(archs=tuple(found), how=f"the kernel driver ({topology})")
    found = _from_rocminfo()
    return Gpus(archs=tuple(found), how="rocminfo" if found else "")


def archs(topology: Path = TOPOLOGY) -> tuple[str, ...]:
    """The archs of this machine's GPUs, each once, in the order of the driver; none: no GPU of
    AMD is here, or its driver does not say."""
    return tuple(dict.fromkeys(gpus(topology).archs))


def arch(topology: Path = TOPOLOGY) -> str:
    """The arch of this machine's GPUs.

    Raises:
        UsageError: there is no GPU, or there are several kinds.
    """
    found = archs(topology)
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(
            f"this machine has GPUs of several archs: {', '.join(found)}",
            hint=f"name one, for example --arch {found[0]}",
        )
    raise UsageError(
        "no AMD GPU is here to take the arch from", hint="name one, for example --arch gfx950"
    )


def name_of(version: int) -> str | None:
    """The arch for a ``gfx_target_version``: 90402 is gfx942. ``None`` for 0, a CPU."""
    if version <= 0:
        return None
    major, rest = divmod(version, 10000)
    minor, step = divmod(rest, 100)
    return f"gfx{major}{minor:x}{step:x}"


def _from_topology(topology: Path) -> list[str]:
    try:
        nodes = sorted(
            (node for node in topology.iterdir() if node.name.isdigit()),
            key=lambda node: int(node.name),
        )
    except OSError:
        return []
    found = []
    for node in nodes:
        try:
            version = _VERSION.search((node / "properties").read_text(encoding="ascii"))
        except (OSError, UnicodeDecodeError):  # a node that this user may not see
            continue
        name = name_of(int(version[1])) if version else None
        if name is not None:
            found.append(name)
    return found


def _from_rocminfo() -> list[str]:
    program = shutil.which("rocminfo")
    if program is None:
        return []
    try:
        done = subprocess.run(
            [program], capture_output=True, text=True, timeout=10, check=False, errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return _NAME.findall(done.stdout)
