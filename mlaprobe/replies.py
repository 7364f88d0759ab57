"""What a caller would notice of an answer, asked as cheaply as the answer allows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mlaprobe.compose import TAKEN
from mlaprobe.interface import Answers
from mlaprobe.shape import Decision, DecodeShape, Failure, Route, StageOutcome, Verdict

_GOES_ON = (*TAKEN, "accepted", "absent")
"""Statuses of a stage that leave the verdict to the ones after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A decision without its proof: two that are equal are the same to a caller."""

    verdict: Verdict
    fold: int = 1
    qlen_fold: int = 1
    failure: Failure | None = None
    kernels: tuple[str, ...] = ()
    """Symbols, where it runs."""
    entry: str | None = None
    """The entry point that is reached, where it runs."""
    persistent: bool | None = None
    """Whether the persistent path is run, where it runs."""

    @property
    def passes(self) -> int:
        """How often the KV cache is read."""
        return self.fold * self.qlen_fold

    @property
    def words(self) -> str:
        """The answer as a person says it: ``native``, ``fold 2``, ``no kernel``."""
        if self.verdict is not Verdict.FOLDED:
            words: str = self.verdict.value.lower().replace("_", " ")
            return words
        parts = [f"fold {self.fold}"] * (self.fold > 1 or self.qlen_fold <= 1)
        parts += [f"query length fold {self.qlen_fold}"] * (self.qlen_fold > 1)
        return " and ".join(parts)


def reply_of(decision: Decision) -> Reply:
    """What a caller notices of a decision."""
    if not decision.verdict.runs:
        return Reply(verdict=decision.verdict, failure=decision.failure)
    dispatcher = decision.outcome("dispatcher")
    return Reply(
        verdict=decision.verdict,
        fold=decision.fold,
        qlen_fold=decision.qlen_fold,
        kernels=tuple(kernel.symbol for kernel in decision.kernels),
        entry=None if dispatcher is None else dispatcher.entry,
        persistent=None if dispatcher is None else dispatcher.persistent,
    )


class Side:
    """One of two sources that are compared. Where its stages can be asked apart, most head counts
    are refused by the first ones, and the rest of the chain need not be evaluated."""

    def __init__(self, answers: Answers) -> None:
        self.answers = answers
        self._ask: Callable[..., StageOutcome] | None = getattr(answers, "ask", None)

    def decide(self, shape: DecodeShape) -> Decision:
        """The whole answer, with its proof."""
        return self.answers.decide(shape)

    def reply(self, shape: DecodeShape) -> Reply:
        """What a caller notices."""
        if self._ask is not None and shape.route is Route.ASM and not shape.persistent:
            refused = self._first(shape, ("dispatcher",))
            if refused is not None:
                return refused
        return reply_of(self.answers.decide(shape))

    def refusal(self, shape: DecodeShape, stages: tuple[str, ...]) -> Reply | None:
        """The reply where one of the first stages (of ``sizing``, ``planner``) refuses; ``None``
        where none does, or that is not known."""
        if self._ask is None or shape.route is not Route.ASM or not shape.persistent:
            return None
        return self._first(shape, stages)

    def _first(self, shape: DecodeShape, stages: tuple[str, ...]) -> Reply | None:
        """The reply where one of these stages, the first in call order, refuses."""
        assert self._ask is not None
        for stage in stages:
            outcome = self._ask(stage, shape)
            if outcome.status == "rejected":
                return Reply(verdict=Verdict.REJECTED, failure=outcome.failure)
            if outcome.status not in _GOES_ON:
                return None
        return None
