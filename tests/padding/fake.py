"""Capabilities that answer from a few lines of Python, for tests of what is built on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import cast

from mlaprobe.core.behaviour import Numbering
from mlaprobe.core.grid import Grid
from mlaprobe.core.protocols import Opened
from mlaprobe.core.shape import (
    Decision,
    DecodeShape,
    Failure,
    Kernel,
    Route,
    StageOutcome,
    Status,
    Verdict,
)
from mlaprobe.padding.api import plan
from mlaprobe.padding.plan import PadPlan
from mlaprobe.rulefiles import errata

DTYPES = ("bf16/bf16", "bf16/fp8", "fp8/fp8")
ARCHS = ("gfx942", "gfx950", "gfx1250")
Rule = Callable[[DecodeShape], bool]


def no(shape: DecodeShape) -> bool:
    """A rule that nothing meets."""
    return False


@dataclass(frozen=True)
class Source:
    """Where a capability says that it is from."""

    label: str = "fake"
    kind: str = "directory"
    release: str | None = None
    commit: str | None = None
    location: str = "fake"


@dataclass(eq=False)
class Fake:
    """A source whose rules are Python functions. Multiples of 16 that are not native fold; every
    other count is rejected."""

    native: Rule = no
    unknown: Rule = no
    no_kernel: Rule = no
    missing: Rule = no
    """Native, on a code object that is not there."""
    gluon: Rule = no
    archs: tuple[str, ...] = ("gfx942", "gfx950")
    release: str | None = None
    errata: bool = False
    """Whether errata are applied."""
    entries: Mapping[int, str] = field(default_factory=dict)
    """Head counts that reach another entry point."""
    knobs: tuple[str, ...] = ()
    asked: list[DecodeShape] = field(default_factory=list)

    session = capability = None

    def knobs_read(self, shape: DecodeShape) -> frozenset[str] | None:
        return None

    @property
    def source(self) -> Source:
        return Source(release=self.release)

    @property
    def erratum_release(self) -> str | None:
        return self.release

    @property
    def opened(self) -> Opened:
        """As what commands open."""
        return cast(Opened, self)

    def behaviour_rows(self, part: Grid, numbering: Numbering) -> None:
        """It has no tables."""

    def ask(self, stage: str, shape: DecodeShape, *, head_dim: int | None = None) -> StageOutcome:
        return StageOutcome(stage=stage, status=Status.UNKNOWN)

    def has_route(self, route: Route) -> bool:
        return route is Route.ASM or self.gluon is not no

    def decide(self, shape: DecodeShape) -> Decision:
        self.asked.append(shape)
        decision = self._decide(shape)
        return errata.apply(decision, release=self.release) if self.errata else decision

    def _decide(self, shape: DecodeShape) -> Decision:
        if shape.route is Route.GLUON:
            return self._gluon(shape)
        if self.unknown(shape):
            return Decision(
                shape=shape, verdict=Verdict.UNKNOWN, stage="planner", message="cannot follow f()"
            )
        native = self.native(shape)
        if not native and shape.num_heads % 16:
            return Decision(
                shape=shape,
                verdict=Verdict.REJECTED,
                failure=Failure.EXCEPTION,
                stage="planner",
                message="heads % 16",
            )
        if self.no_kernel(shape):
            return Decision(
                shape=shape, verdict=Verdict.NO_KERNEL, failure=Failure.ABORT, stage="table"
            )
        kernel = Kernel(symbol="k", co="hsa/k.co", co_present=not self.missing(shape))
        entry = self.entries.get(shape.num_heads, "asm")
        outcome = StageOutcome(stage="dispatcher", status=Status.NATIVE, entry=entry)
        return Decision(
            shape=shape,
            verdict=Verdict.NATIVE if native else Verdict.FOLDED,
            fold=1 if native else shape.num_heads // 16,
            kernels=(kernel,),
            stages=(("dispatcher", outcome),),
        )

    def _gluon(self, shape: DecodeShape) -> Decision:
        if self.gluon(shape):
            return Decision(shape=shape, verdict=Verdict.NATIVE)
        return Decision(
            shape=shape,
            verdict=Verdict.REJECTED,
            failure=Failure.EXCEPTION,
            stage="gluon",
            message="requires gfx950",
        )


def _fp8(shape: DecodeShape) -> bool:
    return shape.dtype == "fp8/fp8"


def _bf16(shape: DecodeShape) -> bool:
    return shape.dtype == "bf16/bf16"


def later_native(shape: DecodeShape) -> bool:
    """AITER v0.1.21 as the facts describe it, by its published rules."""
    n, qlen = shape.num_heads, shape.qlen
    if n == 16:
        return True
    if shape.arch == "gfx950":
        if _bf16(shape):
            return n in (24, *range(16, 129, 16))
        if not _fp8(shape):
            return False
        return n in (32, 64, 128) or (n == 96 and qlen <= 6) or (n == 8 and qlen == 4)
    return shape.arch == "gfx942" and _fp8(shape) and (n == 128 or (n == 64 and qlen == 1))


def later_no_kernel(shape: DecodeShape) -> bool:
    """gfx942 ships no 128-head kernel with the log-sum-exp."""
    return shape.arch == "gfx942" and shape.num_heads == 128 and shape.lse


def small_gluon(shape: DecodeShape) -> bool:
    """A gluon kernel for up to 16 heads, bf16 at any batch, fp8 for one request."""
    if shape.arch != "gfx950" or shape.num_heads > 16 or str(shape.q_dtype) != "bf16":
        return False
    return str(shape.kv_dtype) == "bf16" or shape.batch == 1


def later(**changes: object) -> Fake:
    """A source with those rules and a gluon route."""
    rules: dict[str, object] = {
        "native": later_native,
        "no_kernel": later_no_kernel,
        "gluon": small_gluon,
    }
    return Fake(**{**rules, **changes})  # type: ignore[arg-type]


def ask(source: Fake, num_heads: int, where: str, **more: object) -> PadPlan:
    """A plan for ``arch q/kv``."""
    arch, dtype = where.split()
    q_dtype, kv_dtype = dtype.split("/")
    found: PadPlan = plan(
        num_heads,
        capability=source,
        arch=arch,
        q_dtype=q_dtype,
        kv_dtype=kv_dtype,
        **{"route": "asm", **more},  # type: ignore[arg-type]
    )
    return found
