"""An AITER that never was, with something of everything that a real one has shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mlaprobe.core.behaviour import Numbering
from mlaprobe.core.enums import Status
from mlaprobe.core.grid import Grid
from mlaprobe.core.needs import Consequence, Need
from mlaprobe.core.protocols import NearestRow
from mlaprobe.core.shape import (
    Decision,
    DecodeShape,
    Evidence,
    Failure,
    Kernel,
    StageOutcome,
    Verdict,
)

PLANNER = "csrc/planner.cuh"
SIZING = "aiter/sizing.py"
DISPATCHER = "aiter/dispatch.py"
HOST = "csrc/host.cu"
ROUTER = "csrc/router.cu"
TABLE = "hsa/gfx950/mla/table.csv"

TEXTS = {
    PLANNER: "\n".join(
        [
            "// line 1",
            "void plan() {",
            "    const bool native = (heads == 16) || (heads == 64 && fp8);",
            "\tif (!native) { ratio = heads / 16; heads = 16; }",
            '    CHECK(heads == 16 || native, "the planner does not take that");',
            "}",
        ]
    ),
    SIZING: "def size(heads):\n    assert heads % 8 == 0, f'no room for {heads} heads'\n",
    DISPATCHER: "def decode(q):\n    if q.shape[1] in (16, 64):\n        return stage1(q)\n",
    HOST: "x\n" * 8 + '    CHECK(found, "no kernel for this key");\n',
    ROUTER: "#define ROUTER(...) \\\n    CASE(16) CASE(24) CASE(64) CASE(128)\n",
}
LONG_KNOB, QUIET_KNOB = "AITER_TRY_OTHER_KERNELS", "AITER_PRINT_MORE"
REDUCERS = (16, 24, 48, 64, 72, 128)


@dataclass(frozen=True)
class FakeSource:
    label: str = "installed"
    kind: str = "installed"
    release: str | None = "v9.9.9"
    commit: str | None = None
    location: str = "/opt/venv/lib/python3.11/site-packages"


def at(stage: str, file: str, line: int, column: int, text: str) -> Evidence:
    return Evidence(stage=stage, file=file, line=line, column=column, text=text)


SIZED = at("sizing", SIZING, 2, 5, "heads % 8 == 0")
NATIVE = at("planner", PLANNER, 3, 25, "(heads == 16) || (heads == 64 && fp8)")
FOLD = at("planner", PLANNER, 4, 17, "ratio = heads / 16")
SENT = at("dispatcher", DISPATCHER, 2, 8, "q.shape[1] in (16, 64)")
LOOKED_UP = at("host", HOST, 9, 11, "found")
MERGED = at("reducer", ROUTER, 2, 14, "CASE(24)")

_CHECKED = at("host", HOST, 9, 11, "found")
NEEDS = (
    Need(
        id="scale-absent",
        change="no scale",
        text="pass the scale",
        outcome=Consequence.REJECTED,
        failure=Failure.ABORT,
        stage="host",
        message="a scale is needed",
        reference=("https://example.org/1",),
        evidence=(_CHECKED,),
    ),
    Need(
        id="planner-limit",
        change="a limit of 16",
        text="leave the limit at -1",
        outcome=Consequence.OTHER_METADATA,
        stage="planner",
        message="the planner hands its device code another ratio",
        settings=(("limit", -1),),
        evidence=(FOLD,),
    ),
    Need(
        id="row-slices",
        change="a part of wider rows",
        text="make the rows contiguous",
        outcome=Consequence.UNKNOWN,
        stage="host",
        message="cannot follow the call of lookup()",
    ),
)


@dataclass
class Fake:
    """Answers like a capability, out of a few rules written in Python."""

    source: FakeSource = field(default_factory=FakeSource)
    archs: tuple[str, ...] = ("gfx942", "gfx950", "gfx1250")
    stage_status: tuple[tuple[str, str, str], ...] = (
        ("planner", "present", PLANNER),
        ("sizing", "present", SIZING),
        ("dispatcher", "present", DISPATCHER),
        ("host", "present", HOST),
        ("kernel table", "present", TABLE),
        ("reducer", "present", ROUTER),
        ("gluon", "absent", "this release has no such file"),
    )
    asked: list[DecodeShape] = field(default_factory=list)
    rules: dict[str, Callable[[DecodeShape], bool]] = field(default_factory=dict)
    """By dtype pair: what is native, where that is not what it usually is."""
    session = capability = erratum_release = None

    def takes(self, role: str) -> bool:
        return True

    def behaviour_rows(self, part: Grid, numbering: Numbering) -> None:
        """Each shape is asked for itself."""

    @property
    def knobs(self) -> tuple[str, ...]:
        return (LONG_KNOB, QUIET_KNOB) if self.asked else ()

    def knobs_read(self, shape: DecodeShape) -> frozenset[str] | None:
        return None

    def forget(self) -> None:
        """It remembers nothing."""

    def records_needs(self, shape: DecodeShape) -> bool:
        return True

    def needs(self, shape: DecodeShape) -> tuple[Need, ...]:
        """One of each kind, where it runs."""
        return NEEDS if self.decide(shape).verdict.runs else ()

    def verdicts(self, setting: DecodeShape, heads: Sequence[int]) -> list[Verdict]:
        return [self.decide(replace(setting, num_heads=count)).verdict for count in heads]

    def decide(self, shape: DecodeShape) -> Decision:
        self.asked.append(shape)
        sizing = self.ask("sizing", shape)
        if sizing.status == "rejected":
            return _failed(shape, Verdict.REJECTED, (sizing,))
        planner, dispatcher = self.ask("planner", shape), self.ask("dispatcher", shape)
        chain = (sizing, planner, dispatcher)
        if planner.status == "unknown":
            return _failed(shape, Verdict.UNKNOWN, chain, deciding=planner)
        if (planner.fold, shape.num_heads) == (1, 128) and shape.dtype == "bf16/fp8":
            wrong = replace(dispatcher, message="planner folds by 1, dispatcher by 8")
            return _failed(shape, Verdict.INCOHERENT, (sizing, planner, wrong))
        host = self.ask("host", shape)
        if host.status != "kernel":
            verdict = Verdict.NO_KERNEL if host.status == "no_kernel" else Verdict.REJECTED
            return _failed(shape, verdict, (*chain, host))
        reducer = _reducer(planner.final_heads or 0)
        if reducer.status == "missing":
            return _failed(shape, Verdict.NO_REDUCER, (*chain, host, reducer))
        return Decision(
            shape=shape,
            verdict=Verdict.FOLDED if planner.fold > 1 else Verdict.NATIVE,
            fold=planner.fold,
            kernels=host.kernels,
            key=host.key,
            stages=tuple((each.stage, each) for each in (*chain, host, reducer)),
            notes=("from batch 32 on it runs without work metadata",) if shape.lse else (),
        )

    def ask(self, stage: str, shape: DecodeShape, *, head_dim: int | None = None) -> StageOutcome:
        if stage in ("sizing", "gluon"):
            return _sizing(shape) if stage == "sizing" else _gluon(shape)
        planner = _planner(shape, self.rules.get(shape.dtype, _is_native))
        if stage == "planner":
            return planner
        return (_dispatcher if stage == "dispatcher" else _host)(shape, planner)

    def reducer_rows(self, heads: Sequence[int]) -> Iterable[tuple[int, int, StageOutcome]]:
        for count in heads:
            for head_dim in (128, 512):
                yield count, head_dim, _reducer(count if head_dim == 512 else 0)

    def source_text(self, file: str) -> str | None:
        return TEXTS.get(file)

    def nearest_rows(
        self, arch: str, key: tuple[tuple[str, Any], ...], limit: int = 3
    ) -> tuple[NearestRow, ...]:
        rows: tuple[NearestRow, ...] = (
            ("fp8,fp8,64,1,k_fp8_64_ps,k_fp8_64_ps.co", TABLE, 7, ("lse",)),
            ("fp8,fp8,16,1,k_fp8_16_ps,k_fp8_16_ps.co", TABLE, 5, ("Gqa", "lse")),
        )
        return rows[:limit]


def _sizing(shape: DecodeShape) -> StageOutcome:
    if shape.num_heads % 8 or shape.num_heads < 16:
        return StageOutcome(
            stage="sizing",
            status=Status.REJECTED,
            failure=Failure.EXCEPTION,
            message=f"no room for {shape.num_heads} heads",
            evidence=(SIZED,),
        )
    sizes = tuple((f"buffer_{at}", at * shape.num_heads) for at in range(6))
    return StageOutcome(stage="sizing", status=Status.ACCEPTED, sizes=sizes, evidence=(SIZED,))


def _is_native(shape: DecodeShape) -> bool:
    if dict(shape.env).get(LONG_KNOB) == "1" and shape.num_heads == 48:
        return True
    if shape.dtype == "fp8/fp8":
        return shape.num_heads in (16, 64, 128)
    return shape.num_heads in (16, 24, 40, 128)


def _planner(shape: DecodeShape, is_native: Callable[[DecodeShape], bool]) -> StageOutcome:
    if shape.arch == "gfx942" and shape.num_heads == 112:
        message = "cannot follow the call of lookup()"
        return StageOutcome(
            stage="planner", status=Status.UNKNOWN, message=message, evidence=(FOLD,)
        )
    if is_native(shape):
        return StageOutcome(
            stage="planner", status=Status.NATIVE, final_heads=shape.num_heads, evidence=(NATIVE,)
        )
    fold = max(1, shape.num_heads // 16)
    return StageOutcome(
        stage="planner", status=Status.FOLD, fold=fold, final_heads=16, evidence=(FOLD,)
    )


def _dispatcher(shape: DecodeShape, planner: StageOutcome) -> StageOutcome:
    return replace(
        planner,
        stage="dispatcher",
        persistent=shape.persistent,
        entry="asm",
        evidence=(SENT,),
    )


def _key(shape: DecodeShape, planner: StageOutcome) -> tuple[tuple[str, Any], ...]:
    return (
        ("qType", shape.q_dtype.value),
        ("kvType", shape.kv_dtype.value),
        ("Gqa", planner.final_heads),
        ("qSeqLen", shape.qlen),
        ("lse", int(shape.lse)),
    )


def _host(shape: DecodeShape, planner: StageOutcome) -> StageOutcome:
    if shape.arch == "gfx1250" and shape.page_size != 64:
        message = "only page size 64 is supported"
        return StageOutcome(
            stage="host",
            status=Status.REJECTED,
            failure=Failure.ABORT,
            message=message,
            evidence=(LOOKED_UP,),
        )
    missing = shape.num_heads == 128 and (shape.lse or shape.qlen > 4)
    if missing:
        return StageOutcome(
            stage="host",
            status=Status.NO_KERNEL,
            failure=Failure.ABORT,
            message="no kernel for this key",
            key=_key(shape, planner),
            evidence=(LOOKED_UP,),
        )
    symbol = f"k_{shape.q_dtype}_{planner.final_heads}_ps"
    kernel = Kernel(
        symbol=symbol, co=f"hsa/{shape.arch}/mla/{symbol}.co", co_present=True, has_symbol=True
    )
    return StageOutcome(
        stage="host",
        status=Status.KERNEL,
        key=_key(shape, planner),
        kernels=(kernel,),
        evidence=(LOOKED_UP,),
    )


def _gluon(shape: DecodeShape) -> StageOutcome:
    return StageOutcome(
        stage="gluon", status=Status.ABSENT, message="this release has no such file"
    )


def _reducer(heads: int) -> StageOutcome:
    if heads in REDUCERS:
        return StageOutcome(stage="reducer", status=Status.INSTANTIATED, evidence=(MERGED,))
    return StageOutcome(
        stage="reducer",
        status=Status.MISSING,
        failure=Failure.ABORT,
        message=f"no merge for {heads} heads",
        evidence=(MERGED,),
    )


def _failed(
    shape: DecodeShape,
    verdict: Verdict,
    chain: tuple[StageOutcome, ...],
    deciding: StageOutcome | None = None,
) -> Decision:
    last = deciding or chain[-1]
    return Decision(
        shape=shape,
        verdict=verdict,
        failure=last.failure,
        stage=last.stage,
        message=last.message,
        kernels=next((each.kernels for each in chain if each.kernels), ()),
        key=next((each.key for each in chain if each.key), None),
        stages=tuple((each.stage, each) for each in chain),
    )
