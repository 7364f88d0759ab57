"""Whether the source answers, and which of the variables that are set here change its answers."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import chain

from mlaprobe.core.grid import Grid
from mlaprobe.core.protocols import Answers
from mlaprobe.core.shape import Decision, DecodeShape, Route, Verdict
from mlaprobe.findings.rules import settings
from mlaprobe.snapshot.answers import OUTSIDE
from mlaprobe.system.doctor.model import Check, Severity

ANSWERS, KNOBS = "answers", "knobs"
HEADS, QLENS = (16, 32, 48, 64, 128), (1, 4)
PLAIN_HEADS = (16, 128)
"""Without work metadata."""
Step = Callable[[], None]


def sample(archs: tuple[str, ...]) -> tuple[Grid, ...]:
    """Usual shapes, in both modes and by both routes."""
    asm = Grid(archs=archs, heads=HEADS, qlens=QLENS)
    plain = replace(asm, heads=PLAIN_HEADS, qlens=(1,), persistent=(False,))
    return asm, plain, replace(asm, heads=(8, 16), qlens=(1,), route=Route.GLUON)


def _shapes(grids: tuple[Grid, ...]) -> Iterator[DecodeShape]:
    return chain.from_iterable(grid.shapes() for grid in grids)


def answers_check(answers: Answers, grids: tuple[Grid, ...], step: Step) -> Check:
    """The verdicts of the sample."""
    counts = dict.fromkeys(Verdict, 0)
    unknown: Decision | None = None
    for shape in _shapes(grids):
        decision = answers.decide(shape)
        counts[decision.verdict] += 1
        if decision.verdict is Verdict.UNKNOWN:
            unknown = unknown or decision
        step()
    asked, runs = sum(counts.values()), sum(n for v, n in counts.items() if v.runs)
    lost = counts[Verdict.UNKNOWN]
    result = f"{counts[Verdict.NATIVE]} native, {counts[Verdict.FOLDED]} folded"
    result += f", {asked - runs - lost} that do not run" + (f", {lost} UNKNOWN" if lost else "")
    archs = ", ".join(grids[0].archs)
    return Check(
        topic=ANSWERS,
        severity=Severity.WARNING if lost else Severity.OK,
        found=f"{asked} usual shapes asked on {archs}: {result}",
        advice="look at the place that could not be followed" if unknown else "",
        shape=unknown.shape if unknown else None,
        detail={verdict.value: count for verdict, count in counts.items()},
    )


def knobs_check(
    answers: Answers, grids: tuple[Grid, ...], environ: Mapping[str, str], step: Step
) -> Check:
    """Which variables the deciding code reads, and what those that are set do to the sample.

    A variable that is set may bring others into play, so this is repeated until no new one
    turns up.
    """
    plain = {shape: _answer(answers.decide(shape)) for shape in _shapes(grids)}
    ignored = frozenset(settings()["knobs"]["ignored"])
    changed: dict[str, int | None] = {}
    while new := [n for n in answers.knobs if n in environ and n not in changed]:
        for name in new:
            changed[name] = _changed(answers, plain, name, environ[name], step)
    names = [name for name in answers.knobs if name not in ignored]
    acts = {name: environ[name] for name, count in changed.items() if count != 0}
    effects = [_effect(name, environ[name], count, len(plain)) for name, count in changed.items()]
    return Check(
        topic=KNOBS,
        severity=Severity.WARNING if acts else Severity.OK,
        found=_found(len(names), list(changed), list(acts), None in changed.values()),
        how="what the deciding code asks the environment for",
        more=(*effects, *([f"read: {', '.join(names)}"] if names else ())),
        advice=_advice(acts, None in changed.values()),
        detail={"read": names, "set": {n: environ[n] for n in changed}, "changed": changed},
    )


def _changed(
    answers: Answers,
    plain: Mapping[DecodeShape, tuple[object, ...]],
    name: str,
    value: str,
    step: Step,
) -> int | None:
    """How many answers are others with a variable set; ``None`` where that is not known, because
    a snapshot holds answers with none set."""
    count = 0
    for shape, before in plain.items():
        after = answers.decide(replace(shape, env=((name, value),)))
        if after.stage == OUTSIDE:
            return None
        count += _answer(after) != before
        step()
    return count


def _answer(decision: Decision) -> tuple[object, ...]:
    """What a caller would notice."""
    folds = decision.fold, decision.qlen_fold
    return decision.verdict, *folds, decision.kernels, decision.notes


def _found(read: int, given: list[str], acts: list[str], unknown: bool) -> str:
    if not read:
        return "the deciding code reads no environment variable"
    if not given:
        return f"none of the {read} variables that the deciding code reads is set here"
    if not acts:
        return f"{', '.join(given)} set here, without effect on the shapes asked"
    may = "may change" if unknown else "change"
    return f"answers {may} with what is set here: {', '.join(acts)}"


def _effect(name: str, value: str, count: int | None, asked: int) -> str:
    if count is None:
        return f"{name}={value}: a snapshot does not hold what that changes"
    return f"{name}={value} changes {count} of {asked} answers"


def _advice(acts: Mapping[str, str], unknown: bool) -> str:
    if not acts:
        return ""
    words = " ".join(f"--env {shlex.quote(f'{name}={value}')}" for name, value in acts.items())
    source = ", and an AITER whose source is at hand," if unknown else ""
    return f"mlaprobe asks with no variable set: give {words}{source} to ask for this environment"
