"""Emulated launches as a person reads them: pure functions from data to lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from mlaprobe.core.protocols import SourceInfo
from mlaprobe.emulation.wording import details, outside_line, race_line, unset_names
from mlaprobe.output.report import LEAST_WIDTH, MOST_WIDTH, where_found
from mlaprobe.output.runs.decode_text import INDENT, error_lines, plan_lines, title
from mlaprobe.output.style import Line, Span, labelled, line, paragraph

if TYPE_CHECKING:
    from mlaprobe.decode.problem import Problem
    from mlaprobe.decode.selftest_emulated import EmulatedTest
    from mlaprobe.emulation.outcome import Emulated
    from mlaprobe.padding.plan import PadPlan

_EMPTY: Line = ()
STYLES = {"PASSED": "native", "UNKNOWN": "unknown"}
"""By standing; all others are failures."""
_MOST = 6
"""Places of outside accesses, and pairs of instructions, that are shown."""


def emulated(
    source: SourceInfo, problem: Problem, plan: PadPlan, run: Emulated, *, width: int
) -> list[Line]:
    """A run: what was launched, and what became of it."""
    width = max(LEAST_WIDTH, min(width, MOST_WIDTH))
    return [
        line(Span(title(problem), "title")),
        *paragraph(where_found(source), width, first="  ", style="dim"),
        _EMPTY,
        *plan_lines(plan, width),
        *_what_ran(run, width),
        _EMPTY,
        *_standing(run, width),
    ]


def _what_ran(run: Emulated, width: int) -> Iterator[Line]:
    text = "emulate: AITER's kernel, emulated; nothing was run on a GPU"
    yield from paragraph(text, width, first="  back end  ")
    if run.kernel is None:
        return
    yield from paragraph(run.kernel.symbol, width, first="  kernel    ")
    where = f"{run.kernel.co}, blob {(run.blob or '')[:12]}"
    yield from paragraph(where, width, first=INDENT, style="dim")
    if run.grid is not None and run.block is not None:
        text = (
            f"{' x '.join(map(str, run.grid))} workgroups, {run.block.size} bytes of arguments, "
            f"{run.instructions} instructions"
        )
        yield from paragraph(text, width, first="  launch    ")
    if run.metadata is not None:
        yield from paragraph(f"work metadata: {run.metadata}", width, first=INDENT)
    if run.merged is not None:
        text = f"merge: mlaprobe's own, where AITER calls {run.merged}"
        yield from paragraph(text, width, first=INDENT)
    if run.block is not None and run.block.uninitialised:
        text = f"the host stores nothing in {unset_names(run.block)}: garbage is there"
        yield from paragraph(text, width, first=INDENT)


def _standing(run: Emulated, width: int) -> Iterator[Line]:
    word = run.standing.value
    yield line("  verified  ", Span(word, STYLES.get(word, "fail")))
    if run.message is not None:
        yield from paragraph(run.message, width, first=INDENT)
    if run.error is not None:
        yield from error_lines(run.error, width)
    for text in details(run):
        yield from paragraph(text, width, first=INDENT, style="fail")
    for access in run.outside[:_MOST]:
        yield from paragraph(outside_line(access), width, first=INDENT, style="fail")
    if len(run.outside) > _MOST:
        yield from paragraph(f"and {len(run.outside) - _MOST} places more", width, first=INDENT)
    if run.checks:
        yield from _checks(run, width)
    if run.races:
        yield from _races(run, width)


def _checks(run: Emulated, width: int) -> Iterator[Line]:
    same = sum(check.same for check in run.checks)
    how = "" if same == len(run.checks) else f" {same} times"
    text = f"run again {len(run.checks)} times with other garbage or another schedule: "
    yield from paragraph(f"{text}bitwise the same{how}", width, first=INDENT)
    for check in run.checks:
        if not check.same:
            how = "right" if check.passed else "wrong"
            kind = "" if check.plausible else ", which no hardware has"
            where = f"under the schedule {check.schedule}{kind}"
            if check.zeros:
                where = "with zeros where the host stores nothing"
            text = f"{how}, not the same, {where}"
            style = "fail" if check.plausible and not check.passed else ""
            yield from paragraph(text, width, first=INDENT + "  ", style=style)


def _races(run: Emulated, width: int) -> Iterator[Line]:
    """What makes the result hang on timing."""
    yield from paragraph("what the result hangs on:", width, first=INDENT)
    for race in run.races[:_MOST]:
        yield from paragraph(race_line(race), width, first=INDENT + "  ")
    if len(run.races) > _MOST:
        text = f"and {len(run.races) - _MOST} pairs of instructions more"
        yield from paragraph(text, width, first=INDENT + "  ")


def selftest(
    source: SourceInfo, arch: str, results: Sequence[EmulatedTest], *, width: int
) -> list[Line]:
    """A self-test: a line per shape."""
    width = max(LEAST_WIDTH, min(width, MOST_WIDTH))
    text = f"self-test for {arch}: AITER's kernels, emulated; nothing was run on a GPU"
    lines = [line(Span(text, "title"))]
    lines += [*paragraph(where_found(source), width, first="  ", style="dim"), _EMPTY]
    wide = max((len(each.test.id) for each in results), default=0)
    for each in results:
        run, text = each.run, each.message or ""
        word = "not run" if run is None else run.standing.value
        if run is not None:
            facts = [f"{each.problem.num_heads} heads as {run.padding.heads}"]
            if run.error is not None:
                facts += [f"max error {run.error.max_abs:.2g}", *run.error.complaints]
            text = ", ".join(filter(None, (*facts, run.message)))
        style = "" if run is None else STYLES.get(word, "fail")
        label = line(f"  {each.test.id.ljust(wide)}  ", Span(word.ljust(10), style))
        lines += labelled(label, text, width)
    return lines
