"""One answer as a word: the long one, the short one, and what it looks like."""

from __future__ import annotations

from dataclasses import dataclass

from mlaprobe.core.shape import Decision, Verdict
from mlaprobe.reports.survey import Answer


@dataclass(frozen=True, slots=True)
class Word:
    """How a verdict is written in a table."""

    long: str
    short: str
    style: str
    meaning: str


WORDS: dict[Verdict, Word] = {
    Verdict.NATIVE: Word("native", "N", "native", "a kernel of its own; the KV cache is read once"),
    Verdict.FOLDED: Word(
        "fold", "F", "fold", "runs as that many batches of 16 heads; each reads the KV cache again"
    ),
    Verdict.NO_KERNEL: Word("no kernel", "nk", "fail", "accepted, but no kernel ships for it"),
    Verdict.NO_REDUCER: Word(
        "no reducer", "nr", "fail", "decodes, and fails when the KV splits are merged"
    ),
    Verdict.AMBIGUOUS: Word(
        "ambiguous", "am", "wrong", "several kernels have its key; which one runs is chance"
    ),
    Verdict.REJECTED: Word("rejected", "-", "dim", "a check of AITER refuses it"),
    Verdict.INCOHERENT: Word(
        "incoherent", "!!", "wrong", "AITER's stages contradict each other: wrong results"
    ),
    Verdict.ERRATUM: Word("erratum", "er", "wrong", "would run, and is known to be bad"),
    Verdict.UNKNOWN: Word("unknown", "?", "unknown", "the source could not be followed"),
}
LSE_GAP = "*"
LSE_MEANING = "without LSE only: a caller that needs the log-sum-exp gets another answer"


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands in one cell."""

    long: str
    short: str
    style: str
    kind: Verdict
    lse_gap: bool = False


def _fold(decision: Decision, batch: str, query: str, separator: str) -> str:
    """The factors of a fold, of the batch or of the query length."""
    parts = []
    if decision.fold > 1 or decision.qlen_fold <= 1:
        parts.append(f"{batch}{decision.fold}")
    if decision.qlen_fold > 1:
        parts.append(f"{query}{decision.qlen_fold}")
    return separator.join(parts)


def cell(answer: Answer) -> Cell:
    """An answer as a cell."""
    decision = answer.decision
    word = WORDS[decision.verdict]
    long, short = word.long, word.short
    if decision.verdict is Verdict.FOLDED:
        long = _fold(decision, "fold ", "qfold ", "+")
        short = _fold(decision, "F", "Q", "")
    style = word.style
    if answer.lse_gap:
        long, short = long + LSE_GAP, short + LSE_GAP
        style = "partial" if decision.verdict is Verdict.NATIVE else style
    return Cell(long, short, style, decision.verdict, answer.lse_gap)
