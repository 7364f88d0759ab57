"""Pages about an AITER that never was, with something of everything, and with hostile text."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache

from mlaprobe.compare.results import compared
from mlaprobe.core.grid import Grid
from mlaprobe.core.shape import Decision, DecodeShape, Dtype, Evidence, Verdict
from mlaprobe.output.html import Page
from mlaprobe.reports.deployments import Assessment, assess
from mlaprobe.reports.survey import Survey, survey
from mlaprobe.rulefiles.models import deployments, models
from tests.output.fake import Fake, FakeSource
from tests.output.results import MISSING, NASTY, comparison, found
from tests.padding import fake as resolver

HEADS = (1, 2, 3, 7, 8, 16, 24, 32, 40, 48, 64, 80, 96, 112, 128)
HOSTILE = (
    "</script><script>document.title='taken'</script><img src=x onerror=document.title='taken'>"
    "<!--<script>]]>&lt;\"'`${alert(1)}\u202e\u2028\x00\x1b[31m"
)
"""What ends elements, strings and comments, and what nobody sees."""


SHAPE = DecodeShape(arch="gfx950", q_dtype=Dtype.FP8, kv_dtype=Dtype.FP8, num_heads=48)
_HARM = FakeSource(label=HOSTILE, release=HOSTILE, commit=HOSTILE, location=HOSTILE)


def grid() -> Grid:
    """What a page asks."""
    return Grid(
        archs=("gfx942", "gfx950"),
        heads=HEADS,
        qlens=tuple(range(1, 9)),
        lse=(False, True),
        persistent=(True, False),
    )


def assessed() -> tuple[Assessment, ...]:
    """Deployments on a source with native tiles of 16 and 64 heads."""
    answers = resolver.Fake(native=lambda shape: shape.num_heads in (16, 64))
    wanted = (
        each
        for model in models()
        for each in deployments([model], tps=(1, 2, 8), dcps=(1, 2), drafts=model.drafts)
    )
    return assess(answers, wanted, archs=("gfx942", "gfx950"), dtypes=grid().dtypes)


@dataclass
class Older(Fake):
    """The release before: 64 heads were not native."""

    source: FakeSource = field(default_factory=lambda: FakeSource(release="v9.9.8"))

    def decide(self, shape: DecodeShape) -> Decision:
        decision = super().decide(shape)
        if shape.num_heads == 64 and decision.verdict is Verdict.NATIVE:
            return replace(decision, verdict=Verdict.FOLDED, fold=4)
        return decision


@dataclass
class Hostile(Fake):
    """Everything that comes from its source means harm."""

    source: FakeSource = field(default_factory=lambda: _HARM)
    stage_status: tuple[tuple[str, str, str], ...] = (
        ("planner", "present", HOSTILE),
        (HOSTILE, "absent", HOSTILE),
    )

    @property
    def knobs(self) -> tuple[str, ...]:
        return (HOSTILE,)

    def decide(self, shape: DecodeShape) -> Decision:
        decision = super().decide(shape)
        clause = Evidence(stage=HOSTILE, file=HOSTILE, line=1, text=HOSTILE)
        stages = tuple(
            (name, replace(outcome, message=HOSTILE, entry=HOSTILE, evidence=(clause,)))
            for name, outcome in decision.stages
        )
        kernels = tuple(replace(k, symbol=HOSTILE, co=HOSTILE) for k in decision.kernels)
        key = None if decision.key is None else ((HOSTILE, HOSTILE),)
        return replace(
            decision, message=HOSTILE, notes=(HOSTILE,), stages=stages, kernels=kernels, key=key
        )


def asked(answers: Fake, wanted: Grid | None = None) -> Survey:
    """What a source answers."""
    return survey(answers, wanted or grid())


@lru_cache(maxsize=1)
def page() -> Page:
    """A page with everything on it."""
    return Page(
        survey=asked(Fake()),
        spec="src/aiter@v9.9.9",
        assessments=assessed(),
        findings=found(MISSING),
        changes=compared(comparison(), (MISSING,)),
        before=asked(Older()),
    )


@lru_cache(maxsize=1)
def hostile() -> Page:
    """The same of a source that means harm."""
    few = replace(grid(), archs=("gfx950",), heads=(1, 2, 16, 48, 64, 128), qlens=(1, 2))
    return Page(
        survey=asked(Hostile(), few),
        spec=HOSTILE,
        banner=HOSTILE,
        findings=found(NASTY, MISSING),
        changes=compared(comparison(), (NASTY,)),
        before=asked(Hostile(), few),
    )
