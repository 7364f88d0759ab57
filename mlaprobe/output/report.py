"""A survey as a person reads it in a terminal: pure functions from data to lines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from mlaprobe.core.axes import AXIS_NAMES, LAUNCH_AXES
from mlaprobe.core.grid import Grid
from mlaprobe.core.numbers import ranges
from mlaprobe.core.protocols import SourceInfo
from mlaprobe.core.reasons import deciding_clause, reason
from mlaprobe.core.shape import DecodeShape, Dtype, Operation, Status, Verdict
from mlaprobe.output import commands
from mlaprobe.output.cells import LSE_GAP, LSE_MEANING, WORDS, Cell, cell
from mlaprobe.output.escape import printable
from mlaprobe.output.explaining.emulated import overview_lines
from mlaprobe.output.grid import INDENT, Table, fits, render, table_of, width_of
from mlaprobe.output.operations import function_texts, variable_lines
from mlaprobe.output.operations import overview_lines as operations_in_short
from mlaprobe.output.style import Line, Span, broken, line, paragraph
from mlaprobe.output.troubles import notes, troubles
from mlaprobe.reports.emulated import overview
from mlaprobe.reports.survey import Block, Others, Survey

LEAST_WIDTH, MOST_WIDTH = 40, 120
_KINDS = {
    "installed": "installed in this environment",
    "directory": "from a directory",
    "git": "from a git revision",
    "archive": "from an archive",
    "release": "from a bundled release",
}
_EMPTY: Line = ()


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A block with its answers as cells, the lines that say nothing set apart."""

    settings: tuple[DecodeShape, ...]
    block: Block
    table: Table
    same: tuple[tuple[Cell, tuple[int, ...]], ...]
    """Head counts that fail alike at every query length."""
    reasons: tuple[tuple[str, str, tuple[int, ...]], ...]
    """Where nothing runs: why, the place, and the head counts concerned."""


def report(
    survey: Survey, *, width: int, spec: str, banner: str = "", can_resolve: bool = False
) -> list[Line]:
    """The whole report.

    Args:
        survey: what to show.
        width: columns of the terminal.
        spec: how the user named the source, for commands to copy.
        banner: what to know before anything else.
        can_resolve: whether there is a command that says what to launch instead.
    """
    width = max(LEAST_WIDTH, min(width, MOST_WIDTH))
    drawn = _merge(survey.blocks)
    tables = [each.table for each in drawn if each.table.rows]
    # All blocks alike, so that they can be compared.
    short = not all(fits(table, width) for table in tables)
    merge = any(width_of(table, short=short) > width for table in tables)
    lines = [*paragraph(printable(banner), width, style="fail"), _EMPTY] if banner else []
    lines += header(survey, width)
    for each in drawn:
        lines += [_EMPTY, *_block(survey, each, width, short=short, merge=merge)]
    if survey.others in _OTHERS:
        lines += [_EMPTY, *paragraph(_OTHERS[survey.others], width, style="dim")]
    lines += operations_in_short(survey.operations, width)
    lines += variable_lines(survey.variables, width)
    lines += _legend(drawn, width, short=short)
    lines += troubles(survey.troubles, width)
    lines += notes(survey.decisions, width)
    lines += overview_lines(overview(survey.decisions), width)
    lines += [_EMPTY, *_next_steps(survey, width, spec, can_resolve)]
    return lines


_OTHERS = {
    Others.NOT_ASKED: "Head counts not listed were not asked: --heads 1-128 asks them all.",
    Others.NOT_NATIVE: (
        "No other head count up to 128 is native: it would need a reducer of its own (head_dim "
        "512). --heads 1-128 shows what becomes of each."
    ),
}


def where_found(source: SourceInfo) -> str:
    """The sentence that says which AITER this is."""
    release = f"AITER {source.release}" if source.release else "AITER of an unknown release"
    return printable(f"{release}, {_KINDS.get(source.kind, source.kind)}")


def header(survey: Survey, width: int) -> list[Line]:
    """Which AITER, where it is, which of its stages were read, and the settings."""
    source = survey.source
    lines = paragraph(where_found(source), width, style="title")
    lines += paragraph(printable(source.location), width, first="  at      ")
    if source.commit:
        lines.append(line(f"  commit  {printable(source.commit)}"))
    present = [stage for stage, status, _ in survey.stage_status if status == Status.PRESENT]
    if present:
        lines += paragraph(", ".join(map(printable, present)), width, first="  stages  ")
    for stage, status, text in survey.stage_status:
        if status != Status.PRESENT:
            absent = printable(f"{stage}: {text}" if text else stage)
            lines += paragraph(absent, width, first="  absent  ")
    for text in function_texts(survey.grid):
        lines += paragraph(text, width, first="  op      ")
    lines += paragraph(_asked(survey), width, first="  asked   ")
    return lines


def _asked(survey: Survey) -> str:
    """The settings that are the same everywhere."""
    if not survey.blocks:
        return "nothing"
    settings = commands.described(survey.blocks[0].setting, defaults=True)
    if survey.grid.lse == (False,) and survey.grid.op is Operation.DECODE:
        settings["lse"] = "without LSE, and with it where that runs"
    for name in varying(survey):
        settings.pop(name, None)
    return ", ".join(settings.values())


_SWITCHES = tuple(axis.field for axis in LAUNCH_AXES)


def values_of(grid: Grid, field: str) -> tuple[Any, ...]:
    """The values of one axis of a grid."""
    return grid.axes[AXIS_NAMES.index(field)]


def varying(survey: Survey) -> tuple[str, ...]:
    """The fields of a setting, arch and dtypes apart, that have several values."""
    return tuple(field for field in _SWITCHES if len(values_of(survey.grid, field)) > 1)


def block_title(survey: Survey, settings: Sequence[DecodeShape]) -> tuple[str, str]:
    """The arch, and what else tells this block from the others."""
    first = settings[0]
    dtypes = ", ".join(each.dtype for each in settings)
    words = commands.described(first, defaults=True)
    named = [words[field] for field in varying(survey) if field in words]
    return printable(first.arch), ", ".join([dtypes, *named])


def _merge(blocks: Iterable[Block]) -> list[_Drawn]:
    """Blocks as cells; neighbours of one arch that differ in their dtypes only, as one."""
    found: list[_Drawn] = []
    for block in blocks:
        drawn = _draw(block)
        last = found[-1] if found else None
        if last and _alike(last, drawn):
            found[-1] = replace(last, settings=(*last.settings, block.setting))
        else:
            found.append(drawn)
    return found


def _alike(one: _Drawn, other: _Drawn) -> bool:
    if (one.table, one.same, one.reasons) != (other.table, other.same, other.reasons):
        return False
    ours, theirs = one.settings[0], other.settings[0]
    if _undtyped(ours) != _undtyped(theirs):
        return False
    return _undtyped(one.block.runs_with) == _undtyped(other.block.runs_with)


def _undtyped(setting: DecodeShape | None) -> DecodeShape | None:
    """A setting without what tells the dtype pairs apart."""
    return setting and replace(setting, q_dtype=Dtype.BF16, kv_dtype=Dtype.BF16)


def _draw(block: Block) -> _Drawn:
    rows = [(heads, tuple(map(cell, answers))) for heads, answers in block.rows]
    kept = [row for row in rows if not _fails_alike(row[1])]
    same: dict[Cell, list[int]] = {}
    for heads, cells in rows:
        if _fails_alike(cells):
            same.setdefault(cells[0], []).append(heads)
    return _Drawn(
        (block.setting,),
        block,
        table_of(kept, block.qlens),
        tuple((each, tuple(heads)) for each, heads in same.items()),
        () if block.runs else _reasons(block),
    )


def _reasons(block: Block) -> tuple[tuple[str, str, tuple[int, ...]], ...]:
    """Why nothing in a block is known to run, each reason once, what is not known first: by the
    first query length that is not known, or else by the first."""
    found: dict[tuple[str, str], list[int]] = {}
    for heads, answers in sorted(block.rows, key=lambda row: row[0] not in block.unknown):
        decisions = [answer.decision for answer in answers]
        unknown = (each for each in decisions if each.verdict is Verdict.UNKNOWN)
        decision = next(unknown, decisions[0])
        clause = deciding_clause(decision)
        place = printable(f"{clause.file}:{clause.line}") if clause else ""
        text = WORDS[decision.verdict].long
        if decision.stage:
            text += f" ({decision.stage})"
        why = reason(decision)
        if why:
            text += f": {why}"
        found.setdefault((printable(text), place), []).append(heads)
    return tuple((text, place, tuple(heads)) for (text, place), heads in found.items())


def _fails_alike(cells: Sequence[Cell]) -> bool:
    return len(set(cells)) == 1 and not cells[0].kind.runs


def _block(survey: Survey, drawn: _Drawn, width: int, *, short: bool, merge: bool) -> list[Line]:
    arch, rest = block_title(survey, drawn.settings)
    lines = broken(line(Span(f"{arch}  {rest}", "title")), width, rest=INDENT)
    if not drawn.block.runs:
        return lines + _nothing_runs(drawn, width)
    lines += paragraph(native_summary(drawn.block), width, first=INDENT, style="native")
    lines += render(drawn.table, width, short=short, merge=merge)
    for each, heads in drawn.same:
        word = WORDS[each.kind].long
        text = f"{word} at {_every(drawn.block.qlens)}: {ranges(heads, ', ')}"
        lines += paragraph(text, width, first=INDENT, style=each.style)
    return lines


def _every(qlens: Sequence[int]) -> str:
    return f"qlen {qlens[0]}" if len(qlens) == 1 else "every qlen"


def native_summary(block: Block) -> str:
    """The native head counts of a block in one sentence."""
    always: list[tuple[int, str]] = []
    sometimes: list[tuple[int, str]] = []
    for heads, answers in block.rows:
        native = [each for each in answers if each.decision.verdict is Verdict.NATIVE]
        if native:
            gap = LSE_GAP if any(each.lse_gap for each in native) else ""
            (always if len(native) == len(answers) else sometimes).append((heads, gap))
    parts = []
    if always:
        parts.append(f"native at {_every(block.qlens)}: {_marked(always)}")
    if sometimes:
        parts.append(f"native at some: {_marked(sometimes)}")
    none = "no head count is known to be native" if block.unknown else "no head count is native"
    return "; ".join(parts) or none


def _marked(counts: Sequence[tuple[int, str]]) -> str:
    """Head counts and their marks: ``1-4, 5-8*``."""
    groups = groupby(counts, key=lambda each: each[1])
    texts = (ranges([heads for heads, _ in same], f"{mark}, ") + mark for mark, same in groups)
    return ", ".join(texts)


def _nothing_runs(drawn: _Drawn, width: int) -> list[Line]:
    """Why a whole block fails, or is not known to run, each reason once."""
    unknown, rows = len(drawn.block.unknown), len(drawn.block.rows)
    sentence = "nothing runs"
    if unknown:
        sentence = f"nothing is known to run: not known for {unknown} of {rows} head counts"
    style = "unknown" if unknown else "fail"
    lines = paragraph(sentence, width, first=INDENT, style=style)
    for text, place, heads in drawn.reasons[:_MOST_REASONS]:
        whose = f"{ranges(heads, ', ')} heads" if len(drawn.reasons) > 1 else "every head count"
        lines += paragraph(f"{whose}: {text}", width, first=INDENT * 2)
        if place:
            lines.append(line(INDENT * 3 + "--> ", Span(place, "place")))
    more = len(drawn.reasons) - _MOST_REASONS
    if more > 0:
        lines += paragraph(f"and {more} more: mlaprobe explain tells each", width, first=INDENT * 2)
    other = drawn.block.runs_with
    if other is not None:
        words = {
            "--no-persistent": not other.persistent and drawn.settings[0].persistent,
            f"--page-size {other.page_size}": other.page_size != drawn.settings[0].page_size,
        }
        text = f"some of it runs with {' '.join(word for word, new in words.items() if new)}"
        lines += paragraph(text, width, first=INDENT)
    return lines


_MOST_REASONS = 3


def _legend(drawn: Sequence[_Drawn], width: int, *, short: bool) -> list[Line]:
    """The meaning of the words in use."""
    tables = [each for each in drawn if each.block.runs]
    cells = [c for each in tables for _, row in each.table.rows for c in row]
    cells += [c for each in tables for c, _ in each.same]
    kinds = {c.kind for c in cells}
    if not kinds:
        return []
    entries = [
        (_entry(verdict, short=short), word.meaning)
        for verdict, word in WORDS.items()
        if verdict in kinds
    ]
    if any(c.lse_gap for c in cells):
        entries.append((LSE_GAP, LSE_MEANING))
    room = max(len(name) for name, _ in entries)
    lines = [_EMPTY, line(Span("Legend", "title"))]
    for name, meaning in entries:
        lines += paragraph(meaning, width, first=f"{INDENT}{name.ljust(room)}  ")
    return lines


def _entry(verdict: Verdict, *, short: bool) -> str:
    word = WORDS[verdict]
    suffix = ("3" if short else " 3") if verdict is Verdict.FOLDED else ""
    return f"{word.short}{suffix} {word.long}" if short else f"{word.long}{suffix}"


def _next_steps(survey: Survey, width: int, spec: str, can_resolve: bool) -> list[Line]:
    """Commands to go on with, for a shape out of the data."""
    steps: list[tuple[str, str]] = []
    shape = commands.worth_explaining(survey.decisions)
    if shape is not None:
        about = f"{shape.num_heads} heads on {shape.arch} {shape.dtype}"
        steps.append((f"why {about} get this answer", commands.explain(shape, spec)))
        if can_resolve:
            steps.append(("what to launch instead", commands.resolve(shape, spec)))
    source = "".join(f" {word}" for word in commands.source_words(spec))
    steps.append(
        (
            "every answer, for programs",
            f"mlaprobe table{source} {commands.every_answer(survey.grid)}",
        )
    )
    lines = [line(Span("Next", "title"))]
    for what, command in steps:
        lines += paragraph(printable(what), width, first=INDENT)
        lines.append(line(INDENT * 2, Span(command, "command")))
    return lines
