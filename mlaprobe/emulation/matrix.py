"""Every kernel of a table, each run at shapes that lead to it."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from mlaprobe.core.accuracy import Tolerance
from mlaprobe.core.blobs import blob_hash
from mlaprobe.core.enums import Layout
from mlaprobe.core.shape import DecodeShape, Dtype, Operation, Verdict
from mlaprobe.deciding.capability import Capability
from mlaprobe.emulation import prompts
from mlaprobe.emulation.case import Case, CaseResult, layout_of
from mlaprobe.emulation.outcome import Emulated, Standing
from mlaprobe.emulation.padding import Padding
from mlaprobe.emulation.planned import Options, emulate_launch, launch_seconds, refuse_long
from mlaprobe.emulation.prompts import HEADS, QLENS
from mlaprobe.emulation.shipped import code_objects
from mlaprobe.emulation.wording import details, outside_line, race_line
from mlaprobe.errors import SourceError
from mlaprobe.rulefiles.operations import operations

DTYPES = ((Dtype.BF16, Dtype.BF16), (Dtype.FP8, Dtype.FP8), (Dtype.BF16, Dtype.FP8))
EDGES = (1, *(edge + past for edge in (16, 32, 64, 96, 128, 192, 256) for past in range(4)))
"""KV lengths at which tiles of 16, 32, 64 and 128 tokens end, and 1, 2 and 3 tokens behind that."""
AUTO = "auto"
"""How launches are run again if nothing is said: one of each kernel as ``races``."""
SCALES = 0.5, 1.5
"""What fp8 query and cache are multiplied with in the last launch of a kernel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What is to be run. A filter that is ``None`` takes few shapes of each kernel."""

    arch: str
    kv_lens: tuple[int, ...]
    """KV tokens of each request; of a round-robin launch, those of this rank."""
    op: Operation = Operation.DECODE
    dtypes: tuple[tuple[Dtype, Dtype], ...] = DTYPES
    """Query and KV dtypes."""
    heads: tuple[int, ...] | None = None
    qlens: tuple[int, ...] | None = None
    lse: tuple[bool, ...] | None = None
    persistent: tuple[bool, ...] = (True, False)
    causal: tuple[bool, ...] = (True, False)
    page_size: int = 1
    kv_cache_bytes: int = 0
    """The size of a cache that pages lie scattered over; 0: a small one."""
    names: str = ""
    """Part of the names of code objects."""
    scales: tuple[float, float] | None = None
    """What fp8 query and cache are multiplied with; ``None``: 1, and something else in one launch
    of each kernel of which few shapes are run."""
    edges: bool = False
    """Whether launches have the lengths and cuts of ``edges`` and not ``kv_lens``."""


def cases(capability: Capability, scope: Scope) -> tuple[tuple[Case, ...], tuple[str, ...]]:
    """The launches of a scope, and the code objects of the table that none of them leads to."""
    found: dict[str, list[Case]] = {}
    for shape in _shapes(capability, scope):
        decision = capability.decide(shape)
        launched = decision.verdict.runs or decision.verdict is Verdict.ERRATUM
        if len(decision.kernels) != 1 or not launched or decision.fold != 1:
            continue
        kernel = decision.kernels[0]
        if kernel.co_present and scope.names in kernel.co:
            case = Case(
                symbol=kernel.symbol,
                co=kernel.co,
                shape=shape,
                # They include the query tokens.
                kv_lens=tuple(max(length, shape.qlen) for length in scope.kv_lens),
                kv_cache_bytes=scope.kv_cache_bytes,
            )
            found.setdefault(kernel.co, []).append(case)
    narrow = scope.heads is not None or scope.qlens is not None
    picked = [
        case
        for each in found.values()
        for case in _launches(each if narrow else extremes(each), scope, narrow)
    ]
    reached = {case.co for case in picked}
    known = code_objects(capability, scope.op, scope.arch)
    rest = (co for co in known if co not in reached and scope.names in co)
    return tuple(picked), tuple(rest)


def _launches(shapes: Sequence[Case], scope: Scope, narrow: bool) -> Iterator[Case]:
    """The launches of one kernel."""
    found = [launch for case in shapes for launch in _cut(case, scope)]
    if found and _takes_scales(found[0].shape):
        if scope.scales is not None:
            found = [replace(case, scales=scope.scales) for case in found]
        elif not narrow:
            other = replace(found[-1], scales=SCALES)
            found = [*(found[:-1] or found), other]
    for at, case in enumerate(found):
        yield replace(case, first=True) if at == 0 else case


def _takes_scales(shape: DecodeShape) -> bool:
    """Whether a scale is passed for the query or the cache as a whole."""
    packed = layout_of(shape) is Layout.PACKED
    return Dtype.FP8 in (shape.q_dtype, shape.kv_dtype) and not packed


def _cut(case: Case, scope: Scope) -> Iterator[Case]:
    """The launches of one shape."""
    if operations()[case.shape.op].entry(case.shape.persistent).prompts:
        return prompts.edges(case, EDGES) if scope.edges else prompts.batches(case, scope.qlens)
    return edges(case) if scope.edges else _splits(case)


def edges(case: Case) -> Iterator[Case]:
    """Launches of a batch whose lengths end at and just behind the edges of tiles, in 1 to 4 parts
    each: as AITER's ``num_kv_splits`` says, or as its planner cuts for so many compute units."""
    qlen = case.shape.qlen
    lens = tuple(dict.fromkeys(max(length, qlen) for length in EDGES))
    shape = replace(case.shape, batch=len(lens))
    for parts, units, world in ((1, 0, 2), (2, 1, 4), (3, 3, 8), (4, 5, 2)):
        one = replace(case, shape=shape, kv_lens=lens, world=world)
        if shape.persistent:
            yield replace(one, units=max(1, units * len(lens)))
        else:
            yield replace(one, kv_splits=parts)


def _shapes(capability: Capability, scope: Scope) -> Iterator[DecodeShape]:
    """The shapes of a scope; a flag that the release does not take is left as it is usually."""
    if scope.op is not Operation.DECODE:
        yield from prompts.shapes(
            scope.op,
            scope.arch,
            scope.dtypes,
            scope.heads,
            scope.qlens,
            page_size=scope.page_size,
            batch=len(scope.kv_lens),
        )
        return
    host = capability.host
    takes = {role: host is not None and host.takes(role) for role in ("lse", "causal", "rank")}
    for (q, kv), heads, qlen, persistent, causal in itertools.product(
        scope.dtypes, scope.heads or HEADS, scope.qlens or QLENS, scope.persistent, scope.causal
    ):
        if not causal and len(scope.causal) > 1 and (qlen == 1 or not takes["causal"]):
            continue  # the mask of one token hides nothing
        plain = (False, True) if persistent and takes["lse"] else (False,)
        for lse, shared in itertools.product(
            scope.lse or plain, (False, True) if takes["rank"] else (False,)
        ):
            yield DecodeShape(
                arch=scope.arch,
                q_dtype=q,
                kv_dtype=kv,
                num_heads=heads,
                qlen=qlen,
                lse=lse,
                persistent=persistent,
                causal=causal,
                cp_round_robin=shared,
                page_size=scope.page_size,
                batch=len(scope.kv_lens),
            )


def extremes(found: Sequence[Case]) -> list[Case]:
    """The least and the largest query of those that lead to a kernel."""
    ordered = sorted(found, key=lambda case: case.shape.num_heads * case.shape.qlen)
    return [ordered[0]] if len(ordered) == 1 else [ordered[0], ordered[-1]]


def _splits(case: Case) -> Iterator[Case]:
    yield case
    if not case.shape.persistent:
        yield replace(case, kv_splits=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """How cases are run."""

    tolerances: Mapping[tuple[Dtype, Dtype], Tolerance]
    """By query and KV dtype."""
    schedules: str = AUTO
    """One of ``planned.SCHEDULES``, or ``auto``."""

    def of(self, case: Case) -> str:
        """How a launch is run again."""
        if self.schedules != AUTO:
            return self.schedules
        return "races" if case.first else "one"


def run_case(capability: Capability, case: Case, how: How) -> CaseResult:
    """Runs a case."""
    shape, start = case.shape, time.process_time()
    batch, padding = case.batch, _padding(case)
    decision = capability.decide(shape)
    try:
        run = emulate_launch(
            capability, batch, padding, decision, _options(case, how), case.kv_splits
        )
    except SourceError as error:
        run = Emulated(
            batch=batch, padding=padding, standing=Standing.UNKNOWN, message=error.message
        )
    seconds = time.process_time() - start
    return replace(
        _result(case, run, blob_of(capability, case.co)),
        schedules=how.of(case),
        seconds=round(seconds, 3),
    )


def check_times(capability: Capability, wanted: Sequence[Case], how: How) -> None:
    """Refuses cases of which one takes longer than anybody waits.

    Raises:
        UsageError: says how long it would take.
    """
    for case in wanted:
        decision, batch = capability.decide(case.shape), case.batch
        takes = launch_seconds(decision, batch, _padding(case), _options(case, how))
        refuse_long(batch, takes)


def _padding(case: Case) -> Padding:
    return Padding(heads=case.shape.num_heads, qlen=case.shape.qlen)


def _options(case: Case, how: How) -> Options:
    return Options(
        tolerance=how.tolerances[case.shape.q_dtype, case.shape.kv_dtype],
        schedules=how.of(case),
        compute_units=case.units,
    )


def blob_of(capability: Capability, co: str) -> str | None:
    """The git blob id of a file of the source."""
    file = capability.source.read(co)
    return None if file is None else blob_hash(file.data)


def _result(case: Case, run: Emulated, blob: str | None) -> CaseResult:
    said = [] if run.message is None else [run.message]
    error = run.error
    if run.kernel is not None and run.kernel.symbol != case.symbol:
        said.append(f"launched was {run.kernel.symbol}")
    return CaseResult(
        symbol=case.symbol,
        co=case.co,
        blob=blob,
        case=case.id,
        standing=run.standing.value,
        said=(*said, *(error.complaints if error is not None else ()), *details(run)),
        max_abs=None if error is None else error.max_abs,
        rmse=None if error is None else error.rmse,
        lse_max_abs=None if error is None else error.lse_max_abs,
        outside=tuple(map(outside_line, run.outside)),
        differs=tuple(check.schedule for check in run.checks if not check.same),
        races=tuple(map(race_line, run.races)),
        metadata=run.metadata,
        instructions=run.instructions,
    )
