"""Why one shape gets its answer, and what would change it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from mlaprobe.core.needs import Need, Needing
from mlaprobe.core.protocols import LiveAnswers, NearestRow, SourceInfo
from mlaprobe.core.shape import (
    Decision,
    DecodeShape,
    Evidence,
    Operation,
    PlannerCall,
    Route,
    StageName,
    Status,
    Verdict,
)
from mlaprobe.reports.knobs import Knob, knobs_of
from mlaprobe.reports.nativeways import NativeWay, native_ways
from mlaprobe.reports.survey import DECODE_HEAD_DIM, MOST_HEADS, TRIED_PAGE_SIZE
from mlaprobe.rulefiles.operations import entry_of

NEAREST = 3
MOST_QLEN = 8
_NEVER = float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """A shape close by that does better."""

    what: str
    decision: Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """The source line of a clause."""

    evidence: Evidence
    text: str | None
    """The line as it stands there; ``None`` where the source's text is not at hand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownNeed:
    """What a launch needs, with the source lines of its evidence."""

    need: Need
    excerpts: tuple[Excerpt, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Everything that there is to say about one shape."""

    source: SourceInfo
    decision: Decision
    excerpts: tuple[tuple[str, tuple[Excerpt, ...]], ...]
    """Per stage, in call order."""
    nearest: tuple[NearestRow, ...]
    """Where no kernel matches: the table rows that come closest."""
    reducer_heads: tuple[int, ...] | None
    """The head counts that the merge is instantiated for, where it was asked and refuses."""
    head_dim: int
    """The values per head that it merges."""
    knobs: tuple[Knob, ...]
    """Only those that change the answer."""
    knobs_tried: tuple[str, ...]
    knobs_unanswered: tuple[str, ...]
    """Those of which a snapshot says nothing: it holds what happens without any."""
    alternatives: tuple[Alternative, ...]
    needs: tuple[ShownNeed, ...] | None = None
    """What the launch needs, found by asking; ``None`` where that was not wanted, or is not
    recorded."""
    needs_missing: str | None = None
    """Why it is wanted and not there."""
    native_ways: tuple[NativeWay, ...] = ()
    """Of a native shape: what else is native, and what is known of the speed."""


def explain(
    answers: LiveAnswers,
    shape: DecodeShape,
    step: Callable[[], None] = lambda: None,
    *,
    needs: bool = False,
) -> Explanation:
    """Asks a shape, and everything around it, with ``needs`` also what the launch needs. ``step``
    is called now and then."""
    decision = answers.decide(shape)
    step()
    knobs, tried, unanswered = knobs_of(answers, decision)
    step()
    return Explanation(
        source=answers.source,
        decision=decision,
        excerpts=tuple(
            (stage, tuple(_excerpt(answers, each) for each in outcome.evidence))
            for stage, outcome in decision.stages
        ),
        nearest=_nearest(answers, decision),
        reducer_heads=_reducer_heads(answers, decision),
        head_dim=_head_dim(shape),
        knobs=knobs,
        knobs_tried=tried,
        knobs_unanswered=unanswered,
        alternatives=tuple(_alternatives(answers, decision)),
        **(_needs(answers, decision) if needs else {}),
        native_ways=native_ways(answers, decision),
    )


def _needs(answers: LiveAnswers, decision: Decision) -> dict[str, Any]:
    """What the launch needs, or why that is not there."""
    if not decision.verdict.runs:
        return {"needs_missing": "the shape does not run as it is, so nothing was tried"}
    if decision.shape.route is not Route.ASM:
        return {"needs_missing": "nothing is tried on the gluon route"}
    if not isinstance(answers, Needing) or not answers.records_needs(decision.shape):
        return {"needs_missing": "not recorded in this snapshot; ask the source itself"}
    return {
        "needs": tuple(
            ShownNeed(need=need, excerpts=tuple(_excerpt(answers, e) for e in need.evidence))
            for need in answers.needs(decision.shape)
        )
    }


def _excerpt(answers: LiveAnswers, evidence: Evidence) -> Excerpt:
    text = answers.source_text(evidence.file)
    lines = text.split("\n") if text is not None else []
    at = evidence.line - 1
    return Excerpt(evidence=evidence, text=lines[at] if 0 <= at < len(lines) else None)


def _nearest(answers: LiveAnswers, decision: Decision) -> tuple[NearestRow, ...]:
    host = decision.outcome(StageName.HOST)
    if decision.key is None or host is None or host.status != Status.NO_KERNEL:
        return ()
    return tuple(answers.nearest_rows(decision.shape.arch, decision.key, NEAREST))


def _head_dim(shape: DecodeShape) -> int:
    found = None if shape.op is Operation.DECODE else entry_of(shape).head_dim
    return found or DECODE_HEAD_DIM


def _reducer_heads(answers: LiveAnswers, decision: Decision) -> tuple[int, ...] | None:
    outcome = decision.outcome(StageName.REDUCER)
    if outcome is None or outcome.status != Status.MISSING:
        return None
    return tuple(
        heads
        for heads, head_dim, found in answers.reducer_rows(range(1, MOST_HEADS + 1))
        if head_dim == _head_dim(decision.shape) and found.status == Status.INSTANTIATED
    )


def _cost(decision: Decision) -> float:
    """How often the KV cache is read; what does not run costs more than anything."""
    if not decision.verdict.runs:
        return _NEVER
    return float(decision.fold * decision.qlen_fold)


def _alternatives(answers: LiveAnswers, decision: Decision) -> Iterator[Alternative]:
    """Shapes near by that do better: of each kind the nearest that runs, and the nearest that
    is native."""
    if decision.verdict is Verdict.NATIVE:
        return
    cost = _cost(decision)
    for what, others in _neighbours(decision.shape):
        if not _asked(decision.shape, what):
            continue
        best = cost
        for other in others:
            found = answers.decide(other)
            # Folding less is no gain to rely on; running at all is.
            if found.verdict is Verdict.NATIVE or (_cost(found) < best == _NEVER):
                yield Alternative(what=what, decision=found)
                best = _cost(found)
            if found.verdict is Verdict.NATIVE:
                break


def _asked(shape: DecodeShape, what: str) -> bool:
    """Whether an operation's question has something that would be changed; another mode of it is
    another function, with a question of its own."""
    if shape.op is Operation.DECODE:
        return True
    return what != "persistent" and entry_of(shape).asks(what)


def _neighbours(shape: DecodeShape) -> Iterator[tuple[str, Iterator[DecodeShape]]]:
    more = range(shape.num_heads + 1, MOST_HEADS + 1)
    yield "heads", (replace(shape, num_heads=heads) for heads in more)
    qlens = sorted(range(1, MOST_QLEN + 1), key=lambda qlen: (abs(qlen - shape.qlen), qlen))
    yield "qlen", (replace(shape, qlen=qlen) for qlen in qlens if qlen != shape.qlen)
    if shape.planner != PlannerCall():
        yield "planner", iter([replace(shape, planner=PlannerCall())])
    yield "persistent", iter([replace(shape, persistent=not shape.persistent)])
    if shape.lse:
        yield "lse", iter([replace(shape, lse=False)])
    pages = {1, TRIED_PAGE_SIZE} - {shape.page_size}
    yield "page_size", (replace(shape, page_size=size) for size in sorted(pages))
    # Gluon takes a count as it is or not at all; the asm route is padded to.
    gluon = shape.route is Route.GLUON
    counts = range(shape.num_heads, MOST_HEADS + 1) if gluon else (shape.num_heads,)
    other = replace(shape, route=Route.ASM if gluon else Route.GLUON)
    yield "route", (replace(other, num_heads=heads) for heads in counts)
