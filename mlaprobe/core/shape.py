"""The words of mlaprobe: questions, answers and the evidence for them.

Everything here is frozen data without logic beyond itself. The names are those of
``docs/ARCHITECTURE.md`` and of the machine interface, and other programs rely on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, TypeVar

from mlaprobe.core.dtypes import Dtype as Dtype
from mlaprobe.core.enums import Failure as Failure
from mlaprobe.core.enums import Operation as Operation
from mlaprobe.core.enums import Route as Route
from mlaprobe.core.enums import StageName as StageName
from mlaprobe.core.enums import Status as Status
from mlaprobe.core.enums import Verdict as Verdict
from mlaprobe.core.inputs import (
    LARGEST,
    arch_name,
    byte_count,
    closest,
    flag,
    shown,
    variables,
    whole,
)
from mlaprobe.core.plannercall import SAME as SAME
from mlaprobe.core.plannercall import PlannerCall as PlannerCall
from mlaprobe.errors import UsageError

T = TypeVar("T")
_put = object.__setattr__


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeShape:
    """The question: one MLA call, as a serving engine would make it; a decode unless ``op`` says
    otherwise."""

    arch: str
    """GPU architecture, for example ``gfx950``."""
    q_dtype: Dtype
    kv_dtype: Dtype
    num_heads: int
    """Query heads per rank, after any context-parallel gather."""
    qlen: int = 1
    """The most query tokens per request (AITER's ``max_seqlen_qo``)."""
    lse: bool = False
    """Whether the caller needs the log-sum-exp."""
    persistent: bool = True
    """Whether the caller passes work metadata."""
    causal: bool = True
    cp_round_robin: bool = False
    """Round-robin context parallelism."""
    batch: int | None = None
    """Requests in the batch; unset: gates on it are reported as notes, not applied."""
    page_size: int = 1
    """KV tokens per page."""
    kv_cache_bytes: int | None = None
    """Bytes of one layer's KV cache; unset: what fails in a large one is a note."""
    num_kv_splits: int | None = None
    """Parts that a request's KV is split into, AITER's ``num_kv_splits``; unset: AITER chooses."""
    sparse: bool = False
    """Whether the work metadata is made for the top-k tokens of sparse attention."""
    route: Route = Route.ASM
    env: tuple[tuple[str, str], ...] = ()
    """Environment variables that are set, sorted by name."""
    planner: PlannerCall = field(default=PlannerCall())
    op: Operation = Operation.DECODE
    """The operation."""
    num_kv_heads: int | None = None
    """KV heads per rank, of an operation that takes them; unset: as many as it usually has."""
    _hash: int = field(init=False, repr=False, compare=False, default=0)
    """Computed once: shapes are looked up far more often than they are made."""

    def __hash__(self) -> int:
        return self._hash

    def __post_init__(self) -> None:
        put = _put
        put(self, "arch", arch_name(self.arch))
        if type(self.q_dtype) is not Dtype:
            put(self, "q_dtype", Dtype.of(self.q_dtype))
        if type(self.kv_dtype) is not Dtype:
            put(self, "kv_dtype", Dtype.of_cache(self.kv_dtype, self.q_dtype))
        for name in ("num_heads", "qlen", "page_size"):
            value = getattr(self, name)
            if type(value) is not int or not 0 < value <= LARGEST:
                put(self, name, whole(value, name))
        for name in ("lse", "persistent", "causal", "cp_round_robin", "sparse"):
            value = getattr(self, name)
            if type(value) is not bool:
                put(self, name, flag(value, name))
        if self.batch is not None:
            put(self, "batch", whole(self.batch, "batch"))
        if self.kv_cache_bytes is not None:
            put(self, "kv_cache_bytes", byte_count(self.kv_cache_bytes, "kv_cache_bytes"))
        if self.num_kv_splits is not None:
            put(self, "num_kv_splits", whole(self.num_kv_splits, "num_kv_splits"))
        if type(self.route) is not Route:
            put(self, "route", _route(self.route))
        if self.env != ():
            put(self, "env", variables(self.env))
        if not isinstance(self.planner, PlannerCall):
            put(self, "planner", PlannerCall.of(self.planner))
        if type(self.op) is not Operation:
            put(self, "op", operation(self.op))
        if self.num_kv_heads is not None:
            put(self, "num_kv_heads", _kv_heads(self))
        put(self, "_hash", hash(_hashed(self)))

    @property
    def dtype(self) -> str:
        """The dtype pair as people write it, for example ``fp8/fp8``."""
        return f"{self.q_dtype}/{self.kv_dtype}"


_hashed = attrgetter(*(n for n in DecodeShape.__dataclass_fields__ if n != "_hash"))


def _route(name: object) -> Route:
    try:
        return Route(name)
    except ValueError:
        raise UsageError(f"unknown route {shown(name)}", hint="use one of asm, gluon") from None


def operation(name: object) -> Operation:
    """The operation of that name.

    Raises:
        UsageError: there is none.
    """
    try:
        return Operation(name)
    except ValueError:
        names = tuple(map(str, Operation))
        close = closest(str(name), names)
        hint = f"did you mean {close!r}? " if close else ""
        raise UsageError(
            f"unknown operation {shown(name)}", hint=f"{hint}use one of {', '.join(names)}"
        ) from None


def _kv_heads(shape: DecodeShape) -> int:
    """The KV heads of a shape, checked."""
    given = whole(shape.num_kv_heads, "num_kv_heads")
    if shape.op is Operation.DECODE:
        raise UsageError(
            "num_kv_heads is for other operations: a decode has one KV head",
            hint="leave it out, or name an operation that takes it, such as prefill",
        )
    if shape.num_heads % given:
        raise UsageError(
            f"{shape.num_heads} query heads cannot share {given} KV heads",
            hint="the query heads are a multiple of the KV heads",
        )
    return given


def altered(value: T, /, **changes: Any) -> T:
    """A frozen, slotted dataclass with some fields changed and nothing checked: as
    ``dataclasses.replace``, in a third of the time."""
    kind = type(value)
    found = object.__new__(kind)
    for name in kind.__dataclass_fields__:  # type: ignore[attr-defined]
        _put(found, name, changes[name] if name in changes else getattr(value, name))
    return found


def left_open(shape: DecodeShape, /, **flags: Any) -> DecodeShape:
    """A shape some of whose flags are open: whoever is asked goes on for any value of them. They
    are none of a caller's values, and nothing is checked."""
    return reshaped(shape, **flags)


def reshaped(shape: DecodeShape, /, **fields: Any) -> DecodeShape:
    """A shape with other values of some fields, which are known to be right: nothing is checked."""
    found = altered(shape, **fields)
    _put(found, "_hash", hash(_hashed(found)))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The place in AITER's source that decided something."""

    stage: str
    file: str
    """Path in AITER's repository layout."""
    line: int
    """1-based."""
    column: int = 1
    """1-based."""
    text: str
    """The clause as it stands there, white space folded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kernel:
    """A kernel that would be launched."""

    symbol: str
    """The mangled name that the host looks up."""
    co: str
    """The code object's path in AITER's repository layout."""
    co_present: bool | None
    """Whether that file is in the source; ``None`` where the source holds no code objects."""
    has_symbol: bool | None = None
    """Whether the file defines the symbol; ``None`` where its bytes are not at hand."""
    blob: str | None = None
    """The file's git blob id, also where the source is no git repository; ``None`` where the file
    is not at hand."""
    lds: int | None = None
    """Bytes of LDS that a workgroup of the kernel takes; ``None`` where that cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageOutcome:
    """What one stage answers, alone."""

    stage: str
    """A ``StageName``."""
    status: Status
    """One of those that the machine interface lists for this stage."""
    fold: int = 1
    """By how much the batch grows."""
    qlen_fold: int = 1
    """By how much the query length grows."""
    final_heads: int | None = None
    """Heads after any fold."""
    persistent: bool | None = None
    """Dispatcher only: after any downgrade."""
    entry: str | None = None
    """Dispatcher only: which entry point is reached (``asm``, ``hk``, ``opus``, ...)."""
    failure: Failure | None = None
    """How it fails, where it does."""
    message: str | None = None
    """The text of a failed check, or why the answer is unknown."""
    key: tuple[tuple[str, Any], ...] | None = None
    """Host only: the looked-up table key, by the table's own column names."""
    kernels: tuple[Kernel, ...] = ()
    """Host only: every kernel that matches."""
    sizes: tuple[tuple[str, int], ...] | None = None
    """Sizing only: elements of the six buffers, where they are known."""
    notes: tuple[str, ...] = ()
    evidence: Sequence[Evidence] = ()
    """The clauses that decided; a live source looks for them when they are asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The answer: all stages composed."""

    shape: DecodeShape
    verdict: Verdict
    fold: int = 1
    """1 unless folded."""
    qlen_fold: int = 1
    failure: Failure | None = None
    stage: str | None = None
    """What decided a verdict other than NATIVE and FOLDED: a ``StageName``, ``errata`` or
    ``snapshot``."""
    message: str | None = None
    """Why, in the source's own words where it has some."""
    kernels: tuple[Kernel, ...] = ()
    key: tuple[tuple[str, Any], ...] | None = None
    stages: tuple[tuple[str, StageOutcome], ...] = ()
    """Every stage that was asked, in call order."""
    notes: tuple[str, ...] = ()

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The clauses that decided, in call order."""
        return tuple(e for _, outcome in self.stages for e in outcome.evidence)

    def outcome(self, stage: str) -> StageOutcome | None:
        """The outcome of one stage, or ``None`` where it was not asked."""
        return dict(self.stages).get(stage)
