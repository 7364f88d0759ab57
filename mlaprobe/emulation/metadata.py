"""The work that AITER's planner gives the persistent kernels for a concrete batch.

The planner is evaluated as a stage up to where it dispatches its device kernel; that dispatch and
the kernel are then run on the batch's own index vectors (:mod:`mlaprobe.emulation.device`).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlaprobe.core.shape import DecodeShape
from mlaprobe.deciding.capability import Capability
from mlaprobe.emulation.batches.batch import IndexVectors
from mlaprobe.emulation.batches.works import Ints, Works
from mlaprobe.emulation.device.launching import Raw, run_host, run_kernel, source_unit
from mlaprobe.emulation.device.memory import Block
from mlaprobe.emulation.device.signals import NotFollowed, OutsideAccess, Undetermined
from mlaprobe.emulation.device.source import SourceUnit
from mlaprobe.evaluator.engine.runs import Event, Outcome
from mlaprobe.evaluator.ir import NOWHERE, Span
from mlaprobe.evaluator.values.kinds import Record
from mlaprobe.stages.base import why_unknown
from mlaprobe.stages.environment.device import Device
from mlaprobe.stages.environment.dtypes import DtypeToken
from mlaprobe.stages.environment.tensors import Tensor
from mlaprobe.stages.planner import PlannerQuestion

logger = logging.getLogger("mlaprobe")
_GARBAGE = np.int32(0x5EADBEEF)
"""What the elements hold that the planner does not write."""
_FIELDS = {"work_info_set": "work_info"}
"""The fields of works that have another name than the buffer."""
OUTPUTS = {
    "work_metadata_ptrs": (8, ()),
    "work_indptr": (4, ()),
    "work_info_set": (4, (8,)),
    "reduce_indptr": (4, ()),
    "reduce_final_map": (4, (2,)),
    "reduce_partial_map": (4, ()),
}
"""Bytes of an element of each buffer that the planner writes, and what a row holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoWorks:
    """Why there is no work to run."""

    status: str
    """``rejected`` (by sizing or planner), ``outside`` (the device kernel accesses what lies beyond
    its inputs, or beyond a buffer of the size that sizing gives), ``undetermined`` (what it writes
    is not the same every time), ``absent`` (no persistent kernels in this source) or
    ``unknown``."""
    reason: str
    span: Span = NOWHERE


class BatchPlanner:
    """The planner of one source, for concrete batches."""

    def __init__(self, capability: Capability) -> None:
        self._session = capability.session
        self._planner, self._sizing = capability.planner, capability.sizing
        self._units: dict[tuple[str, str], SourceUnit] = {}
        """Translation units by file and architecture; none for the host."""

    def plan(self, shape: DecodeShape, requests: IndexVectors, device: Device) -> Works | NoWorks:
        """What the planner writes for the requests of a batch on a device.

        ``shape.planner`` is what it is told, where that is not the launch's own shape.
        """
        planner = self._planner
        if planner is None or self._sizing is None:
            return NoWorks(status="absent", reason="this AITER has no persistent kernels")
        question = replace(planner.question(shape), device=device)
        sizes = self._sizes(shape, len(requests.last_page), device)
        if isinstance(sizes, NoWorks):
            return sizes
        blocks = _blocks(requests, sizes)
        outcomes = planner.launches(question, {name: _tensor(name, blocks) for name in blocks})
        dispatch = _dispatch(outcomes)
        if isinstance(dispatch, NoWorks):
            return dispatch
        try:
            kernel = self._run(dispatch, blocks, question)
        except NotFollowed as stop:
            return NoWorks(status=_status(stop), reason=stop.reason, span=stop.span)
        except Exception as error:  # of mlaprobe's own: no answer
            logger.debug("the device code could not be run", exc_info=error)
            reason = f"running the device code failed: {type(error).__name__}: {error}"
            return NoWorks(status="unknown", reason=reason)
        return _works(blocks, f"for {device.compute_units} compute units ({kernel})")

    def _sizes(
        self, shape: DecodeShape, requests: int, device: Device
    ) -> Mapping[str, int] | NoWorks:
        """Elements of each buffer, as AITER's sizing gives them for so many requests."""
        assert self._sizing is not None
        asked = self._sizing.question(shape)
        asked = replace(asked, batch=requests, device=device)
        outcome = self._sizing.decide(asked)
        if outcome.status != "accepted":
            status = "rejected" if outcome.status == "rejected" else "unknown"
            return NoWorks(status=status, reason=outcome.message or "the sizes are not known")
        sizes = dict(outcome.sizes or ())
        missing = [name for name in OUTPUTS if name not in sizes]
        if missing:
            return NoWorks(status="unknown", reason=f"the size of {missing[0]} is not known")
        return sizes

    def _run(self, dispatch: Event, blocks: Mapping[str, Block], question: PlannerQuestion) -> str:
        """Runs what the planner dispatches; the kernel's name."""
        assert self._planner is not None
        given = tuple(_raw(argument, blocks) for argument in dispatch.args)
        device = question.device
        assert device is not None
        with self._session.exclusive:
            path = self._planner.file
            unit, how = self._unit(path, ""), dict(dispatch.kwargs)
            launches = run_host(
                dispatch.name.partition("<")[0],
                arguments=given,
                template=how["<>"],
                config=how.get("<<<>>>"),
                unit=unit,
                environment=dict(question.env),
            )
            if len(launches) != 1:
                raise NotFollowed(f"the planner launches {len(launches)} kernels")
            unit = self._unit(path, question.arch)
            size = device.wave_size
            run_kernel(launches[0], unit, wave_size=size, blocks=blocks.values())
        return launches[0].kernel.name

    def _unit(self, path: str, arch: str) -> SourceUnit:
        known = self._units.get((path, arch))
        if known is None:
            known = source_unit(self._session.translation_unit(path, device_macros(arch)))
            self._units[path, arch] = known
        return known


_LIBRARY_MACROS = ("CK_TILE_HOST", "CK_TILE_DEVICE", "CK_TILE_HOST_DEVICE")
"""Of Composable Kernel (``ck_tile/core/config.hpp``), which AITER's repository does not hold: where
a function runs, and ``inline``."""


def device_macros(arch: str) -> tuple[str, ...]:
    """What the compiler defines where it compiles for a device, nothing of it for the host (LLVM's
    AMDGPU target macros), and what libraries define."""
    if not arch:
        return _LIBRARY_MACROS
    family = "__GFX9__ 1" if arch.startswith("gfx9") else "__GFX12__ 1"
    here = ("__HIP_DEVICE_COMPILE__ 1", "__AMDGCN__ 1", f"__{arch}__ 1", family)
    return (*_LIBRARY_MACROS, *here)


def _blocks(requests: IndexVectors, sizes: Mapping[str, int]) -> dict[str, Block]:
    """The buffers that the planner is handed, by the name of its parameter."""
    blocks = {}
    inputs = {
        "seqlens_qo_indptr": requests.qo_indptr,
        "seqlens_kv_indptr": requests.kv_indptr,
        "kv_last_page_lens": requests.last_page,
    }
    for name, content in inputs.items():
        block = blocks[name] = Block(name, content.nbytes)
        block.bytes[:] = content.view(np.uint8)
        block.written[:] = True
    for name, (width, _) in OUTPUTS.items():
        blocks[name] = Block(name, width * sizes[name])
    return blocks


def _tensor(name: str, blocks: Mapping[str, Block]) -> Tensor:
    width, row = OUTPUTS.get(name, (4, ()))
    count = len(blocks[name].bytes) // width
    shape = (count // row[0], *row) if row else (count,)
    return Tensor(name, shape, DtypeToken("u64" if width == 8 else "i32"))


def _status(stop: NotFollowed) -> str:
    if isinstance(stop, OutsideAccess):
        return "outside"
    return "undetermined" if isinstance(stop, Undetermined) else "unknown"


def _dispatch(outcomes: tuple[Outcome, ...]) -> Event | NoWorks:
    """The launch of the device kernel, or the call of a template that launches it: what is handed
    its parameters."""
    if len(outcomes) != 1 or outcomes[0].kind == "unknown":
        reason, span = why_unknown(outcomes)
        return NoWorks(status="unknown", reason=reason, span=span)
    outcome = outcomes[0]
    if outcome.failure is not None:
        text = str(outcome.failure.message or outcome.failure.how)
        return NoWorks(status="rejected", reason=text, span=outcome.span)
    for event in reversed(outcome.events):
        launches = event.kind in ("template", "launch")
        if launches and any(isinstance(a, Record) for a in event.args):
            return event
    return NoWorks(status="unknown", reason="what the planner launches was not found")


def _raw(value: Any, blocks: Mapping[str, Block]) -> Raw:
    """A value of the evaluator as device code is handed it."""
    if isinstance(value, Tensor):
        return blocks.get(value.name)
    if isinstance(value, Record):
        return {name: _raw(field, blocks) for name, field in value.fields.items()}
    return value if isinstance(value, (int, float)) else None


def _works(blocks: Mapping[str, Block], how: str) -> Works:
    arrays: dict[str, Ints] = {}
    written: dict[str, NDArray[np.bool_]] = {}
    for name, (width, row) in OUTPUTS.items():
        if width == 4:
            field = _FIELDS.get(name, name)
            there = written[field] = blocks[name].written[::width].reshape(-1, *row)
            values = blocks[name].bytes.view(np.int32).reshape(-1, *row)
            arrays[field] = np.where(there, values, _GARBAGE)
    return Works(origin=f"AITER's planner, evaluated {how}", written=written, **arrays)
