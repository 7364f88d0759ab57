"""Variables of the environment that change an answer, found by asking with and without each."""

from __future__ import annotations

from dataclasses import dataclass, replace

from mlaprobe.core.protocols import LiveAnswers
from mlaprobe.core.shape import Decision
from mlaprobe.snapshot import OUTSIDE

KNOB_VALUE = "1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Knob:
    """An environment variable, and the answer where it is set otherwise."""

    name: str
    value: str | None
    """What it would be set to; ``None``: unset."""
    decision: Decision


def _answer(decision: Decision) -> tuple[object, ...]:
    """What a caller would notice of a decision."""
    return decision.verdict, decision.fold, decision.qlen_fold, decision.kernels


def knobs_of(
    answers: LiveAnswers, decision: Decision
) -> tuple[tuple[Knob, ...], tuple[str, ...], tuple[str, ...]]:
    """Each knob set, or unset where it is set: a knob may bring others into play. One that was not
    read for the answer does not change it, and is not asked about.

    Returns:
        The knobs that change the answer, all that were tried, and those without an answer.
    """
    shape = decision.shape
    read = answers.knobs_read(shape)
    changed: list[Knob] = []
    tried: list[str] = []
    unanswered: list[str] = []
    waiting = list(answers.knobs)
    while waiting:
        name = waiting.pop(0)
        tried.append(name)
        if read is not None and name not in read:
            continue
        env = dict(shape.env)
        value = None if name in env else KNOB_VALUE
        env.pop(name, None)
        if value is not None:
            env[name] = value
        other = answers.decide(replace(shape, env=tuple(sorted(env.items()))))
        if other.stage == OUTSIDE:
            unanswered.append(name)
        elif _answer(other) != _answer(decision):
            changed.append(Knob(name=name, value=value, decision=other))
        waiting += [n for n in answers.knobs if n not in tried and n not in waiting]
    return tuple(changed), tuple(tried), tuple(unanswered)
