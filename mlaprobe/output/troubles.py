"""What of AITER does not fit together, as a person reads it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mlaprobe.core.numbers import ranges
from mlaprobe.core.reasons import reason
from mlaprobe.core.shape import Decision, Failure, Verdict
from mlaprobe.output import commands
from mlaprobe.output.cells import WORDS
from mlaprobe.output.style import Line, Span, line, paragraph
from mlaprobe.reports.survey import Trouble

_TITLES = (
    ("Contradictions: stages of AITER that do not fit together", False),
    ("Only without LSE: the same shapes do worse for a caller that needs the log-sum-exp", True),
)
_UNKNOWN = "Not known: the source could not be followed, and may be fine or not"
_FAILURES = {
    Failure.EXCEPTION: "raises a Python exception",
    Failure.ABORT: "aborts the process, which Python cannot catch",
}


def cells_in_words(cells: Sequence[tuple[int, int]]) -> str:
    """Head counts and query lengths, those with the same query lengths together."""
    by_heads: dict[int, list[int]] = {}
    for heads, qlen in cells:
        by_heads.setdefault(heads, []).append(qlen)
    by_qlens: dict[tuple[int, ...], list[int]] = {}
    for heads, qlens in by_heads.items():
        by_qlens.setdefault(tuple(qlens), []).append(heads)
    return "; ".join(
        f"{ranges(heads, ', ')} heads at qlen {ranges(qlens)}" for qlens, heads in by_qlens.items()
    )


def what_happens(decision: Decision) -> str:
    """How a decision ends for a caller: what the call does."""
    if decision.failure is not None:
        return _FAILURES[decision.failure]
    if decision.verdict is Verdict.INCOHERENT:
        return "gives no error and silently wrong results"
    if decision.verdict is Verdict.AMBIGUOUS:
        return "gives no error; which of the kernels runs depends on hash order"
    return ""


def troubles(found: Sequence[Trouble], width: int) -> list[Line]:
    """The sections about what does not fit, each only where there is something to say."""
    known = [trouble for trouble in found if trouble.verdict is not Verdict.UNKNOWN]
    lines: list[Line] = []
    for title, lse_only in _TITLES:
        lines += _section(title, [t for t in known if t.lse_only is lse_only], width)
    unknown = [trouble for trouble in found if trouble.verdict is Verdict.UNKNOWN]
    return lines + _section(_UNKNOWN, unknown, width)


def notes(decisions: Iterable[Decision], width: int) -> list[Line]:
    """What else there is to know of the shapes that run, each note once."""
    found: dict[str, dict[str, dict[str, None]]] = {}
    for decision in decisions:
        if decision.verdict.runs:
            for note in decision.notes:
                shape = decision.shape
                dtypes = found.setdefault(note, {}).setdefault(shape.arch, {})
                dtypes[shape.dtype] = None
    if not found:
        return []
    lines: list[Line] = [(), line(Span("Notes", "title"))]
    for note, where in list(found.items())[:_MOST_NOTES]:
        places = "; ".join(f"{arch} {', '.join(dtypes)}" for arch, dtypes in where.items())
        text = f"{note} ({places})"
        lines += paragraph(text, width, first="  - ")
    more = len(found) - _MOST_NOTES
    if more > 0:
        text = f"and {more} more: mlaprobe explain tells those of a shape"
        lines += paragraph(text, width, first="  ")
    return lines


_MOST_NOTES = 6


def _section(title: str, found: Iterable[Trouble], width: int) -> list[Line]:
    groups: dict[tuple[object, ...], list[Trouble]] = {}
    for trouble in found:
        groups.setdefault(_reason(trouble), []).append(trouble)
    lines = [each for group in groups.values() for each in _trouble(group, width)]
    return [(), *paragraph(title, width, style="title"), *lines] if lines else []


def _reason(trouble: Trouble) -> tuple[object, ...]:
    """What troubles have in common where they are one."""
    decision, clause = trouble.example, trouble.evidence
    place = clause and (clause.file, clause.line)
    return decision.verdict, decision.fold, decision.stage, decision.failure, place


def mode(trouble: Trouble) -> str:
    """The unusual fields of a trouble's shapes, as far as a survey varies them."""
    fields = commands.described(trouble.example.shape, defaults=False)
    for constant in ("route", "env", "planner", *(("lse",) if trouble.lse_only else ())):
        fields.pop(constant, None)
    return ", ".join(fields.values())


def places_of(found: Iterable[Trouble]) -> list[str]:
    """Where, and which shapes: ``gfx942 bf16/bf16, fp8/fp8: 16 heads at qlen 5-8``."""
    by_cells: dict[tuple[str, str, str], list[str]] = {}
    for trouble in found:
        key = (trouble.setting.arch, cells_in_words(trouble.cells), mode(trouble))
        by_cells.setdefault(key, []).append(trouble.setting.dtype)
    return [
        f"{arch} {', '.join(dict.fromkeys(dtypes))}{unusual and ', ' + unusual}: {cells}"
        for (arch, cells, unusual), dtypes in by_cells.items()
    ]


def reason_of(group: Sequence[Trouble]) -> str:
    """What AITER says, where it says the same of all, and what the call does."""
    messages = {reason(trouble.example) for trouble in group}
    message = messages.pop() if len(messages) == 1 else None
    return "; ".join(filter(None, (message, what_happens(group[0].example))))


def _trouble(group: Sequence[Trouble], width: int) -> list[Line]:
    first = group[0]
    why = reason_of(group)
    text = f"{_outcome(first.example)}{why and ': ' + why}"
    lines = paragraph(text, width, first="  ", style=WORDS[first.verdict].style)
    for where in places_of(group):
        lines += paragraph(where, width, first="    ")
    clause = first.evidence
    if clause is not None:
        lines.append(line("    --> ", Span(f"{clause.file}:{clause.line}", "place")))
    return lines


def _outcome(decision: Decision) -> str:
    if decision.verdict is Verdict.FOLDED:
        return f"fold {decision.fold}"
    return WORDS[decision.verdict].long
