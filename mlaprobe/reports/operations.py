"""The operations besides decode at a glance: which head counts run, and what becomes of others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from mlaprobe.core.grid import DtypePair
from mlaprobe.core.protocols import LiveAnswers, Opened
from mlaprobe.core.shape import Decision, DecodeShape, Status, Verdict
from mlaprobe.reports.knobs import Knob, knobs_of
from mlaprobe.rulefiles.operations import Entry, others
from mlaprobe.snapshot import NOT_TAKEN, OUTSIDE

MOST_HEADS = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """An entry point of an operation on an arch with a pair of dtypes."""

    entry: Entry
    setting: DecodeShape
    """Its head count means nothing."""
    runs: tuple[int, ...]
    """The head counts up to 128 that run."""
    fails: tuple[tuple[Verdict, tuple[int, ...]], ...]
    """The others, by what becomes of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """An entry point of which there is nothing to say but why."""

    entry: Entry
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """A variable of the environment that changes what becomes of a shape."""

    knob: Knob
    shape: DecodeShape
    """An example."""
    verdict: Verdict
    """Without."""


def variables(answers: LiveAnswers, decisions: Iterable[Decision]) -> tuple[Variable, ...]:
    """The variables that change the answer for an example of each arch, pair of dtypes and mode:
    of a head count that runs, where one does, else of the largest."""
    examples: dict[tuple[str, str, bool], Decision] = {}
    for each in decisions:
        shape = each.shape
        key = shape.arch, shape.dtype, shape.persistent
        if key not in examples or not examples[key].verdict.runs:
            examples[key] = each
    return tuple(
        Variable(knob=knob, shape=each.shape, verdict=each.verdict)
        for each in examples.values()
        for knob in knobs_of(answers, each)[0]
    )


def overviews(
    answers: Opened, archs: Sequence[str], dtypes: Sequence[DtypePair]
) -> tuple[Overview | Missing, ...]:
    """Every entry point of every operation."""
    entries = (entry for rule in others() for entry in rule.entries)
    return tuple(each for entry in entries for each in _overviews(answers, entry, archs, dtypes))


def _overviews(
    answers: Opened, entry: Entry, archs: Sequence[str], dtypes: Sequence[DtypePair]
) -> Iterator[Overview | Missing]:
    for arch in archs:
        for q_dtype, kv_dtype in dtypes:
            setting = DecodeShape(
                arch=arch,
                q_dtype=q_dtype,
                kv_dtype=kv_dtype,
                num_heads=1,
                op=entry.op,
                persistent=entry.mode,
            )
            why = missing(answers.decide(setting))
            if why is not None:
                yield Missing(entry=entry, why=why)
                return
            yield _overview(answers, entry, setting)


def missing(decision: Decision) -> str | None:
    """Why nothing can be said of an entry point, whatever the shape."""
    if decision.stage == OUTSIDE:
        message = decision.message or "not held"
        return f"not in this snapshot: {NOT_TAKEN}" if NOT_TAKEN in message else message
    absent = [o for _, o in decision.stages if o.status == Status.ABSENT]
    return "absent" if len(decision.stages) == 1 and absent else None


def _overview(answers: Opened, entry: Entry, setting: DecodeShape) -> Overview:
    fails: dict[Verdict, list[int]] = {}
    runs: list[int] = []
    counts = range(1, MOST_HEADS + 1)
    for heads, verdict in zip(counts, answers.verdicts(setting, counts), strict=True):
        (runs if verdict.runs else fails.setdefault(verdict, [])).append(heads)
    return Overview(
        entry=entry,
        setting=setting,
        runs=tuple(runs),
        fails=tuple((verdict, tuple(heads)) for verdict, heads in fails.items()),
    )
