"""What is different about the layouts of a batch: how its values and works are made."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from mlaprobe.core.enums import Layout
from mlaprobe.emulation.batches.batch import Batch
from mlaprobe.emulation.batches.headvalues import HeadValues
from mlaprobe.emulation.batches.headworks import head_works
from mlaprobe.emulation.batches.holding import Tensors
from mlaprobe.emulation.batches.packedvalues import PackedValues
from mlaprobe.emulation.batches.values import Values
from mlaprobe.emulation.batches.works import Cutting, Works, own_works


class Laid(NamedTuple):
    """A layout."""

    values: Callable[[Batch, int], Tensors]
    """Random values of a batch, by a seed."""
    works: Callable[[Batch, Cutting, str | None], Works]
    """Work metadata of our own design, and why it is not AITER's."""


LAYOUTS = {
    Layout.LATENT: Laid(Values.random, own_works),
    Layout.HEADS: Laid(HeadValues.random, head_works),
    Layout.PACKED: Laid(PackedValues.random, own_works),
}
