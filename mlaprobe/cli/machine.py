"""What commands that run decodes share: the device, the arch to plan for, the source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlaprobe.cli.support import common, emit, shapes
from mlaprobe.errors import UsageError

if TYPE_CHECKING:
    from mlaprobe.core.protocols import LiveAnswers


def device(named: str | None) -> str:
    """The torch device that was named, or a GPU where there is one.

    Raises:
        UsageError: it cannot be used.
    """
    from mlaprobe.decode.environment import default_device
    from mlaprobe.decode.tensors import torch

    if named is None:
        return default_device()
    t = torch()
    try:
        found = t.device(named)
        t.empty(0, device=found)
    except (RuntimeError, AssertionError) as error:
        reason = (str(error).splitlines() or ["no reason given"])[0]
        raise UsageError(
            f"--device: {named} cannot be used: {reason}", hint="use cpu, cuda or cuda:1"
        ) from None
    return "cuda:0" if found.type == "cuda" and found.index is None else str(found)


def arch(given: dict[str, Any]) -> str:
    """The arch that was named, or this machine's, or one to plan for where it has none."""
    from mlaprobe.decode.rules import rules
    from mlaprobe.system.gpu import arch as local_arch
    from mlaprobe.system.gpu import archs

    if (named := shapes.parse_arch(given)) is not None:
        return named
    if archs():
        return local_arch()
    emit.warn(
        f"no AMD GPU is here: the plan is for {rules().arch} (--arch names another)",
        quiet=given["quiet"],
    )
    return rules().arch


def answers(given: dict[str, Any], *, quick: bool = False) -> LiveAnswers:
    """The source that was named; where no AITER is installed, the newest bundled release.

    Raises:
        SourceError: it cannot be read, or there is none.
    """
    from mlaprobe.opening.probing import or_bundled

    source, instead = or_bundled(given["aiter"])
    if instead is not None:
        emit.warn(f"{instead}: the plan is made by {source}", quiet=given["quiet"])
    return common.reading(source, quiet=given["quiet"], quick=quick)
