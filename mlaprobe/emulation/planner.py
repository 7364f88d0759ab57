"""Work metadata for a launch: what AITER's planner writes, evaluated, or else some of our own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mlaprobe.core.shape import DecodeShape
from mlaprobe.deciding.capability import Capability
from mlaprobe.emulation import metadata
from mlaprobe.emulation.batch import Batch
from mlaprobe.emulation.works import Cutting, Ints, Works, own_works
from mlaprobe.stages.environment.device import Device
from mlaprobe.stages.launching import NotLaunchedError

_GARBAGE = np.int32(0x5EADBEEF)
"""What the elements hold that the planner does not write."""


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
    if planning.own:
        return own_works(batch, planning.cutting)
    found = metadata.BatchPlanner(capability).plan(
        shape,
        metadata.Batch(
            kv_lens=batch.kv_lens,
            qlens=(batch.qlen,) * batch.requests,
            page_size=batch.page_size,
        ),
        planning.device,
    )
    if isinstance(found, metadata.Works):
        return _planned(found, planning.device)
    if found.status in ("rejected", "outside"):
        what = "refuses this" if found.status == "rejected" else "goes wrong"
        raise NotLaunchedError(f"AITER's planner {what}: {found.reason}", found.span, refused=True)
    return own_works(batch, planning.cutting, why=f"AITER's planner: {found.reason}")


def _planned(found: metadata.Works, device: Device) -> Works:
    def filled(name: str, values: Ints) -> Ints:
        written = found.written.get(name)
        return values if written is None else np.where(written, values, _GARBAGE)

    return Works(
        origin=(
            f"AITER's planner, evaluated for {device.compute_units} compute units ({found.kernel})"
        ),
        work_indptr=filled("work_indptr", found.work_indptr),
        work_info=filled("work_info_set", found.work_info_set),
        reduce_indptr=filled("reduce_indptr", found.reduce_indptr),
        reduce_final_map=filled("reduce_final_map", found.reduce_final_map),
        reduce_partial_map=filled("reduce_partial_map", found.reduce_partial_map),
    )
