"""The decisions of a survey as compact data: every text, clause, outcome and decision once, and
cells as numbers."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import fields, replace
from typing import Any

from mlaprobe.core.axes import AXES
from mlaprobe.core.numbers import Interner
from mlaprobe.core.reasons import reason, stage_reason
from mlaprobe.core.shape import Decision, DecodeShape, Evidence, Kernel, StageOutcome
from mlaprobe.output import commands
from mlaprobe.output.cells import WORDS, cell
from mlaprobe.output.escape import printable
from mlaprobe.output.report import values_of, varying
from mlaprobe.output.rows import picked, plain
from mlaprobe.reports.survey import Answer, Block, Survey

NONE = -1
"""In place of a number that stands for something."""
HEADS, QLEN, ROWS = "\1", "\2", "\3"
"""In a text, in place of the shape's head count, its query length, and one times the other. No
other text holds these characters."""
_NUMBER = re.compile(r"(?<![\w.])(?:0|[1-9][0-9]{0,8})(?![\w.])")


class Shared:
    """What cells refer to, each once: a cell has numbers that stand for it."""

    def __init__(self) -> None:
        self.texts: Interner[str] = Interner()
        self.clauses: Interner[tuple[int, ...]] = Interner()
        self.kernels: Interner[tuple[int, ...]] = Interner()
        self.outcomes: Interner[tuple[Hashable, ...]] = Interner()
        self.records: Interner[tuple[Hashable, ...]] = Interner()

    def text(self, text: object) -> int:
        """A text from the source, harmless; ``NONE`` for none."""
        return NONE if text is None else self.texts.number(printable(str(text)))

    def about(self, text: object, shape: DecodeShape) -> int:
        """A text about a shape: its numbers that equal those of the shape are left open, so that
        what says the same of many shapes is there once."""
        if text is None:
            return NONE
        rows = shape.num_heads * shape.qlen
        # The first that fits: the page fills in what each mark stands for.
        marks = {rows: ROWS, shape.qlen: QLEN, shape.num_heads: HEADS}
        plain = printable(str(text))
        return self.texts.number(
            _NUMBER.sub(lambda found: marks.get(int(found[0]), found[0]), plain)
        )

    def clause(self, evidence: Evidence) -> int:
        """A place in the source."""
        file, text = self.text(evidence.file), self.text(evidence.text)
        return self.clauses.number((self.text(evidence.stage), file, evidence.line, text))

    def _kernel(self, kernel: Kernel) -> int:
        there = {True: 1, False: 0, None: NONE}
        present, defined = there[kernel.co_present], there[kernel.has_symbol]
        return self.kernels.number(
            (self.text(kernel.symbol), self.text(kernel.co), present, defined)
        )

    def _outcome(self, outcome: StageOutcome, shape: DecodeShape, *, proven: bool) -> int:
        same = outcome.final_heads == shape.num_heads
        return self.outcomes.number(
            (
                self.text(outcome.stage),
                self.text(outcome.status),
                outcome.fold,
                outcome.qlen_fold,
                NONE if same else outcome.final_heads or 0,
                self.text(outcome.entry),
                tuple(map(self.clause, outcome.evidence)) if proven else (),
                self.about(stage_reason(outcome) if proven else outcome.message, shape),
            )
        )

    def _outcomes(self, decision: Decision) -> Iterator[int]:
        """The stages; clauses up to the one that decided, since finding them takes time."""
        proven = True
        for name, outcome in decision.stages:
            yield self._outcome(outcome, decision.shape, proven=proven)
            proven = proven and name != decision.stage

    def record(self, decision: Decision) -> int:
        """The number of a cell's text and of its details."""
        shape, key = decision.shape, decision.key
        pairs = None if key is None else ", ".join(f"{name}={plain(each)}" for name, each in key)
        shown = cell(Answer(decision=decision))
        return self.records.number(
            (
                self.text(decision.verdict.value),
                self.text(shown.short),
                max(decision.fold, 1) * max(decision.qlen_fold, 1),
                self.text(decision.failure),
                self.text(decision.stage),
                self.about(reason(decision), shape),
                tuple(map(self._kernel, decision.kernels)),
                self.about(pairs, shape),
                tuple(self._outcomes(decision)),
                tuple(self.about(note, shape) for note in decision.notes),
            )
        )

    @property
    def data(self) -> dict[str, Any]:
        """Everything that was written down."""
        return {
            "texts": self.texts.by_number,
            "clauses": self.clauses.by_number,
            "kernels": self.kernels.by_number,
            "outcomes": self.outcomes.by_number,
            "records": self.records.by_number,
        }


def map_data(survey: Survey, shared: Shared, before: Survey | None = None) -> dict[str, Any]:
    """The maps: a block for each arch and pair of dtypes, in it a plane for each setting of what
    can be switched.

    Args:
        before: the same survey of another source, to mark what is different.
    """
    switches = varying(survey)
    blocks: dict[tuple[str, str], dict[str, Any]] = {}
    earlier = {} if before is None else {block.setting: block for block in before.blocks}
    for block in survey.blocks:
        setting = block.setting
        found = blocks.setdefault(
            (setting.arch, setting.dtype),
            {
                "arch": printable(setting.arch),
                "dtype": printable(setting.dtype),
                "heads": [heads for heads, _ in block.rows],
                "planes": {},
                "before": {},
            },
        )
        place = _place(survey, setting, switches)
        found["planes"][place] = runs(_records(block, shared))
        if setting in earlier:
            found["before"][place] = runs(_shorts(earlier[setting], shared))
    return {
        "qlens": list(survey.grid.qlens),
        "switches": [_switch(survey, name) for name in switches],
        "blocks": list(blocks.values()),
        "words": _words(),
    }


def _records(block: Block, shared: Shared) -> Iterable[int]:
    return (shared.record(answer.decision) for answer in block.answers)


def _shorts(block: Block, shared: Shared) -> Iterable[int]:
    """What another source's cells show."""
    return (shared.text(cell(Answer(decision=a.decision)).short) for a in block.answers)


def _words() -> dict[str, dict[str, str]]:
    names = ("long", "short", "style", "meaning")
    return {verdict.value: picked(word, names) for verdict, word in WORDS.items()}


_TITLES = {
    "lse": "Log-sum-exp",
    "persistent": "Mode",
    "causal": "Mask",
    "cp_round_robin": "Context parallel",
    "batch": "Batch",
    "page_size": "Page size",
    "kv_cache_bytes": "KV cache",
    "num_kv_splits": "KV splits",
    "sparse": "Sparse attention",
}
_DEFAULTS: dict[str, Any] = {
    each.name: each.default for each in fields(DecodeShape) if each.name in _TITLES
}


def _place(survey: Survey, setting: DecodeShape, switches: Sequence[str]) -> str:
    """Which plane a setting is: the place of its value along each switch."""
    at = (values_of(survey.grid, name).index(getattr(setting, name)) for name in switches)
    return ",".join(map(str, at))


def _switch(survey: Survey, name: str) -> dict[str, Any]:
    return {
        "name": name,
        "title": _TITLES[name],
        "values": [_in_words(name, value) for value in values_of(survey.grid, name)],
        "options": [_option(name, value) for value in values_of(survey.grid, name)],
    }


def _in_words(name: str, value: Any) -> str:
    """A value of a switch as people say it."""
    if name == "cp_round_robin":
        return "round robin" if value else "no round robin"
    if name in _NUMBERED:
        return next(
            axis.describe((value,)) for axis in AXES if axis.field == name and axis.describe
        )
    words = {
        "lse": ("without LSE", "with LSE"),
        "persistent": ("non-persistent", "persistent"),
        "causal": ("not causal", "causal"),
        "sparse": ("dense", "sparse"),
    }
    return words[name][value]


_NUMBERED = ("batch", "page_size", "kv_cache_bytes", "num_kv_splits")


def _option(name: str, value: Any) -> str:
    """The words that ask for a value on the command line; none for the default."""
    option = name.replace("_", "-")
    if value == _DEFAULTS[name]:
        return ""
    if name in _NUMBERED:
        return f"--{option} {value}"
    return f"--{option}" if value else f"--no-{option}"


def fixed_words(survey: Survey) -> tuple[str, str]:
    """What is the same for every cell: as people say it, and as options of a command."""
    if not survey.blocks:
        return "", ""
    setting = survey.blocks[0].setting
    fixed = commands.described(setting, defaults=True)
    for name in varying(survey):
        fixed.pop(name, None)
    # Arch, dtypes and heads are the cell's own, and a switch adds its words itself.
    plain = replace(setting, **{name: _DEFAULTS[name] for name in varying(survey)})
    words = commands.shape_words(plain)[len(("--arch", "", "--dtype", "", "--heads", "")) :]
    return ", ".join(fixed.values()), " ".join(words)


_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def base36(number: int) -> str:
    """A number of no sign in few characters, as JavaScript's ``parseInt(text, 36)`` reads it."""
    digits = ""
    while True:
        number, rest = divmod(number, 36)
        digits = _DIGITS[rest] + digits
        if not number:
            return digits


def runs(numbers: Iterable[int]) -> str:
    """Numbers with equal neighbours written once: ``3*8 0 12*2``, in base 36."""
    parts: list[str] = []
    last, count = -1, 0
    for number in (*numbers, -1):
        if number == last:
            count += 1
            continue
        if count:
            parts.append(base36(last) + (f"*{base36(count)}" if count > 1 else ""))
        last, count = number, 1
    return " ".join(parts)
