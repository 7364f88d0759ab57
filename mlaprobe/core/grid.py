"""Many questions at once: the product of what each field may be, in a fixed order."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any

from mlaprobe.core.axes import AXES, shape_of
from mlaprobe.core.shape import DecodeShape, Dtype, Operation, PlannerCall, Route

DtypePair = tuple[Dtype, Dtype]

DEFAULT_DTYPES: tuple[DtypePair, ...] = (
    (Dtype.BF16, Dtype.BF16),
    (Dtype.BF16, Dtype.FP8),
    (Dtype.FP8, Dtype.FP8),
)
DEFAULT_HEADS = tuple(range(1, 129))
_ARCH = re.compile(r"gfx([0-9a-f]+)", re.ASCII)


def by_generation(archs: Iterable[str]) -> tuple[str, ...]:
    """Archs as people list them: gfx90a, gfx942, gfx950, gfx1250; other names last."""

    def key(arch: str) -> tuple[int, str]:
        number = _ARCH.fullmatch(arch)
        return (int(number[1], 16) if number else sys.maxsize, arch)

    return tuple(sorted(archs, key=key))


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The values that each field of a shape takes. Nothing of it is expanded ahead of use."""

    archs: tuple[str, ...]
    dtypes: tuple[DtypePair, ...] = DEFAULT_DTYPES
    heads: tuple[int, ...] = DEFAULT_HEADS
    qlens: tuple[int, ...] = (1,)
    lse: tuple[bool, ...] = (False,)
    persistent: tuple[bool, ...] = (True,)
    causal: tuple[bool, ...] = (True,)
    cp_round_robin: tuple[bool, ...] = (False,)
    batches: tuple[int | None, ...] = (None,)
    page_sizes: tuple[int, ...] = (1,)
    kv_cache_sizes: tuple[int | None, ...] = (None,)
    kv_splits: tuple[int | None, ...] = (None,)
    sparse: tuple[bool, ...] = (False,)
    route: Route = Route.ASM
    env: tuple[tuple[str, str], ...] = ()
    planner: PlannerCall = field(default_factory=PlannerCall)
    op: Operation = Operation.DECODE
    kv_heads: tuple[int | None, ...] = (None,)

    @property
    def axes(self) -> tuple[tuple[Any, ...], ...]:
        """The values of each axis, in the order of ``AXES``."""
        return tuple(
            (getattr(self, axis.grid),) if axis.fixed else getattr(self, axis.grid) for axis in AXES
        )

    @property
    def size(self) -> int:
        """How many shapes there are."""
        return prod(map(len, self.axes))

    def shapes(self) -> Iterator[DecodeShape]:
        """Every combination once, the arch slowest and ``sparse`` fastest."""
        return map(shape_of, product(*self.axes))
