"""Work metadata for a launch: what AITER's planner writes, evaluated, or else some of our own."""

from __future__ import annotations

from dataclasses import dataclass

from mlaprobe.core.enums import Layout
from mlaprobe.core.shape import DecodeShape
from mlaprobe.deciding.capability import Capability
from mlaprobe.emulation.batches.batch import Batch
from mlaprobe.emulation.batches.laying import LAYOUTS
from mlaprobe.emulation.batches.works import Cutting, Works
from mlaprobe.emulation.metadata import BatchPlanner, NoWorks
from mlaprobe.stages.environment.device import Device
from mlaprobe.stages.launching import NotLaunchedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Planning:
    """How work metadata is made."""

    device: Device
    cutting: Cutting
    """Of metadata of our own."""
    own: bool = False
    """Whether it is to be of our own in any case."""


def works_for(
    capability: Capability, shape: DecodeShape, batch: Batch, planning: Planning
) -> Works:
    """Work metadata for a batch as launched.

    Args:
        shape: what is launched, and what the planner is told of it.

    Raises:
        NotLaunchedError: AITER's planner refuses the batch, or goes wrong with it.
        NotFollowedError: metadata of our own cannot say what the batch needs.
    """
    own = LAYOUTS[batch.layout].works
    if planning.own:
        return own(batch, planning.cutting, None)
    found = _planned(capability, shape, batch, planning.device)
    if isinstance(found, Works):
        return found
    if found.status in ("rejected", "outside"):
        what = "refuses this" if found.status == "rejected" else "goes wrong"
        raise NotLaunchedError(f"AITER's planner {what}: {found.reason}", found.span, refused=True)
    return own(batch, planning.cutting, f"AITER's planner: {found.reason}")


def _planned(
    capability: Capability, shape: DecodeShape, batch: Batch, device: Device
) -> Works | NoWorks:
    if batch.layout is Layout.HEADS:
        return NoWorks(status="unknown", reason="its loops are not followed")
    return BatchPlanner(capability).plan(shape, batch.vectors, device)
