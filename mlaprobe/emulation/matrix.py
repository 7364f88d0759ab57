"""Every kernel of a table, each run at shapes that lead to it."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from mlaprobe.core.accuracy import Tolerance
from mlaprobe.core.blobs import blob_hash
from mlaprobe.core.shape import DecodeShape, Dtype, Verdict
from mlaprobe.deciding.capability import Capability
from mlaprobe.emulation.batch import Batch
from mlaprobe.emulation.outcome import Emulated, Standing
from mlaprobe.emulation.outside import outside_line
from mlaprobe.emulation.padding import Padding
from mlaprobe.emulation.planned import Options, emulate_launch
from mlaprobe.errors import SourceError

HEADS = (8, 16, 32, 64, 128)
QLENS = tuple(range(1, 9))
DTYPES = ((Dtype.BF16, Dtype.BF16), (Dtype.FP8, Dtype.FP8), (Dtype.BF16, Dtype.FP8))
WORLD, RANK = 2, 1
"""Of a round-robin launch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What is to be run. A filter that is ``None`` takes few shapes of each kernel."""

    arch: str
    kv_lens: tuple[int, ...]
    """KV tokens of each request; of a round-robin launch, those of this rank."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A launch of one kernel."""

    symbol: str
    co: str
    """The code object's path in AITER's repository layout."""
    shape: DecodeShape
    kv_lens: tuple[int, ...]
    kv_splits: int | None = None
    """AITER's ``num_kv_splits``; ``None`` leaves it to AITER."""
    kv_cache_bytes: int = 0

    @property
    def id(self) -> str:
        """The launch in a few words."""
        shape = self.shape
        flags = (
            ("lse", shape.lse),
            ("non-causal", not shape.causal),
            ("round robin", shape.cp_round_robin),
            ("no metadata", not shape.persistent),
            ("one split", self.kv_splits == 1),
        )
        words = [shape.dtype, f"{shape.num_heads} heads", f"qlen {shape.qlen}"]
        if shape.page_size > 1:
            words.append(f"pages of {shape.page_size}")
        words += [word for word, there in flags if there]
        if self.kv_cache_bytes:
            words.append(f"a cache of {self.kv_cache_bytes} bytes")
        return ", ".join([*words, "KV " + ",".join(map(str, self.kv_lens))])


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """What became of a case: plain values, which go to a file and come back."""

    symbol: str
    co: str
    blob: str | None
    """The git blob id of the code object."""
    case: str
    standing: str
    """A ``Standing``, as text."""
    said: tuple[str, ...] = ()
    """What is wrong, or why it is not known."""
    max_abs: float | None = None
    rmse: float | None = None
    lse_max_abs: float | None = None
    outside: tuple[str, ...] = ()
    """Accesses outside any buffer: what, of which argument, at which bytes, by what."""
    differs: tuple[str, ...] = ()
    """Schedules under which the result is another."""
    metadata: str | None = None
    instructions: int = 0
    seconds: float = 0.0
    """Of processor time."""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> CaseResult:
        """A result from what ``row`` gives."""
        lists = {name: tuple(row[name]) for name in ("said", "outside", "differs")}
        return cls(**{**row, **lists})

    def row(self) -> dict[str, Any]:
        """Its fields as plain values."""
        return asdict(self)

    @property
    def key(self) -> tuple[str | None, str, str]:
        """What tells it from other results."""
        return self.blob, self.symbol, self.case


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
    picked = [case for each in found.values() for case in (each if narrow else _few(each))]
    reached = {case.co for case in picked}
    rest = (co for co in _code_objects(capability, scope) if co not in reached)
    return tuple(itertools.chain.from_iterable(map(_splits, picked))), tuple(rest)


def _shapes(capability: Capability, scope: Scope) -> Iterator[DecodeShape]:
    """The shapes of a scope; a flag that the release does not take is left as it is usually."""
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


def _few(found: Sequence[Case]) -> list[Case]:
    """The least and the largest query of those that lead to a kernel."""
    ordered = sorted(found, key=lambda case: case.shape.num_heads * case.shape.qlen)
    return [ordered[0]] if len(ordered) == 1 else [ordered[0], ordered[-1]]


def _splits(case: Case) -> Iterator[Case]:
    yield case
    if not case.shape.persistent:
        yield replace(case, kv_splits=1)


def _code_objects(capability: Capability, scope: Scope) -> Iterator[str]:
    """The code objects of the decode kernels of an arch's table."""
    named = {
        row.co: row
        for table in capability.tables.modules.values()
        for row in table.rows
        if row.arch == scope.arch and not row.fields.get("prefill")
    }
    return (co for co in named if scope.names in co)


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """How cases are run."""

    tolerances: Mapping[tuple[Dtype, Dtype], Tolerance]
    """By query and KV dtype."""
    schedules: str = "one"
    """One of ``planned.SCHEDULES``."""


def run_case(capability: Capability, case: Case, how: How) -> CaseResult:
    """Runs a case."""
    shape, start = case.shape, time.process_time()
    batch = Batch(
        arch=shape.arch,
        q_dtype=shape.q_dtype,
        kv_dtype=shape.kv_dtype,
        num_heads=shape.num_heads,
        kv_lens=case.kv_lens,
        qlen=shape.qlen,
        page_size=shape.page_size,
        lse=shape.lse,
        causal=shape.causal,
        world=WORLD if shape.cp_round_robin else 1,
        rank=RANK if shape.cp_round_robin else 0,
        global_lens=tuple(n * WORLD for n in case.kv_lens) if shape.cp_round_robin else (),
        kv_cache_bytes=case.kv_cache_bytes,
    )
    padding = Padding(heads=shape.num_heads, qlen=shape.qlen)
    options = Options(
        tolerance=how.tolerances[shape.q_dtype, shape.kv_dtype], schedules=how.schedules
    )
    decision = capability.decide(shape)
    try:
        run = emulate_launch(capability, batch, padding, decision, options, case.kv_splits)
    except SourceError as error:
        run = Emulated(
            batch=batch, padding=padding, standing=Standing.UNKNOWN, message=error.message
        )
    return _result(case, run, blob_of(capability, case.co), time.process_time() - start)


def blob_of(capability: Capability, co: str) -> str | None:
    """The git blob id of a file of the source."""
    file = capability.source.read(co)
    return None if file is None else blob_hash(file.data)


def _result(case: Case, run: Emulated, blob: str | None, seconds: float) -> CaseResult:
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
        said=(*said, *(error.complaints if error is not None else ())),
        max_abs=None if error is None else error.max_abs,
        rmse=None if error is None else error.rmse,
        lse_max_abs=None if error is None else error.lse_max_abs,
        outside=tuple(map(outside_line, run.outside)),
        differs=tuple(check.schedule for check in run.checks if not check.same),
        metadata=run.metadata,
        instructions=run.instructions,
        seconds=round(seconds, 3),
    )
