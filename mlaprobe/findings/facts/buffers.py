"""Facts about how much memory AITER asks for: the partial results of a split KV cache.

What the dispatcher allocates for them grows with the entries that sizing plans for. Both are read
from the source, for one device and one large batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from math import prod
from typing import Any

from mlaprobe.core.axes import cell_of
from mlaprobe.core.shape import DecodeShape, Evidence
from mlaprobe.deciding.capability import Capability
from mlaprobe.evaluator.values.kinds import Builtin
from mlaprobe.findings.facts import Fact
from mlaprobe.findings.facts.decisions import shape_values
from mlaprobe.sources import Source
from mlaprobe.stages.base import Absent
from mlaprobe.stages.dispatching.dispatcher import PLANNED
from mlaprobe.stages.environment.dtypes import DtypeToken
from mlaprobe.stages.environment.session import SourceSession
from mlaprobe.stages.environment.tensors import Tensor
from mlaprobe.stages.sizing import Sizing, SizingQuestion

PARTIALS = "reduce_partial_map"
_BYTES = {"fp32": 4, "bf16": 2, "fp16": 2}
_GIB = 2**30


class DeviceSession(SourceSession):
    """A source on a device whose properties are known."""

    def __init__(self, source: Source, device: Mapping[str, int]) -> None:
        super().__init__(source)
        self._device = device

    def device_functions(self) -> dict[str, Any]:
        found = super().device_functions()
        for name, value in self._device.items():
            found[name] = Builtin(name, _constant(value))
        return found


def _constant(value: int) -> Callable[..., int]:
    return lambda *_: value


def buffer_facts(
    capability: Capability, shapes: Iterable[DecodeShape], settings: Mapping[str, Any]
) -> Iterator[Fact]:
    """How many bytes of partial results a large batch of each shape asks for, where that is
    known."""
    batch, splits = settings["batch"], settings["splits_per_batch"]
    devices: Mapping[str, Mapping[str, int]] = settings["devices"]
    sizings: dict[str, Sizing | None] = {}
    for arch, device in devices.items():
        try:
            sizings[arch] = Sizing(DeviceSession(capability.source, device))
        except Absent:
            sizings[arch] = None
    for shape in shapes:
        sizing = sizings.get(shape.arch)
        if sizing is None:
            continue
        entries, places = _entries(sizing, replace(shape, batch=batch), splits)
        each = _bytes_per_entry(capability, shape)
        if entries is None or each is None:
            continue
        yield Fact(
            about="buffer",
            values={
                **shape_values(shape),
                "disagrees": entries * each >= settings["bound_bytes"],
                "words": f"a batch of {batch} with {splits} splits each asks for at least "
                f"{settings['bound_bytes'] / _GIB:g} GiB of partial results",
                "example": f" ({shape.num_heads} heads at qlen {shape.qlen} for "
                f"{entries * each / _GIB:g} GiB)",
            },
            cell=cell_of(shape),
            proof=lambda places=places: places,  # type: ignore[misc]
        )


def _entries(
    sizing: Sizing, shape: DecodeShape, splits: int
) -> tuple[int | None, tuple[Evidence, ...]]:
    outcome = sizing.decide(
        SizingQuestion(
            arch=shape.arch,
            q_dtype=shape.q_dtype,
            kv_dtype=shape.kv_dtype,
            num_heads=shape.num_heads,
            qlen=shape.qlen,
            batch=shape.batch,
            max_split_per_batch=splits,
        )
    )
    return dict(outcome.sizes or ()).get(PARTIALS), tuple(outcome.evidence)


def _bytes_per_entry(capability: Capability, shape: DecodeShape) -> int | None:
    """Bytes that the dispatcher allocates for each planned entry, where that is known."""
    dispatcher = capability.dispatcher
    if dispatcher is None:
        return None
    found = dispatcher.decide(shape)
    tensors = [arg for arg in found.reduce_args or () if isinstance(arg, Tensor)]
    if not tensors or not all(type(n) is int for n in tensors[0].shape):
        return None
    dtype = tensors[0].dtype
    width = _BYTES.get(dtype.kind) if isinstance(dtype, DtypeToken) else None
    total: int = prod(tensors[0].shape)
    entries = PLANNED * shape.num_heads
    return None if width is None or total % entries else total // entries * width
