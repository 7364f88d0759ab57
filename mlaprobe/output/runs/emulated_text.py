"""Emulated launches as a person reads them: pure functions from data to lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mlaprobe.core.protocols import SourceInfo
from mlaprobe.emulation.wording import details, outside_line, race_line, unset_names
from mlaprobe.output.cells import WORDS
from mlaprobe.output.escape import printable
from mlaprobe.output.report import LEAST_WIDTH, MOST_WIDTH, where_found
from mlaprobe.output.runs.decode_text import title
from mlaprobe.output.style import Line, Span, line, paragraph

if TYPE_CHECKING:
    from mlaprobe.decode.problem import Problem
    from mlaprobe.decode.selftest_emulated import EmulatedTest
    from mlaprobe.emulation.outcome import Emulated
    from mlaprobe.padding.plan import PadPlan

_EMPTY: Line = ()
_INDENT = " " * 12
STYLES = {"PASSED": "native", "UNKNOWN": "unknown"}
"""By standing; all others are failures."""
_MOST = 6
"""Places of outside accesses, and pairs of instructions, that are shown."""


def emulated(
    source: SourceInfo, problem: Problem, plan: PadPlan, run: Emulated, *, width: int
) -> list[Line]:
    """A run: what was launched, and what became of it."""
    width = max(LEAST_WIDTH, min(width, MOST_WIDTH))
    launch = f"  plan      launch {plan.padded_num_heads} heads on the {plan.route} route, "
    return [
        line(Span(printable(title(problem)), "title")),
        *paragraph(where_found(source), width, first="  ", style="dim"),
        _EMPTY,
        line(launch, Span(plan.verdict.value, WORDS[plan.verdict].style)),
        *paragraph(printable(plan.reason), width, first=_INDENT, style="dim"),
        *_what_ran(run, width),
        _EMPTY,
        *_standing(run, width),
    ]


def _what_ran(run: Emulated, width: int) -> list[Line]:
    text = "emulate: AITER's kernel, emulated; nothing was run on a GPU"
    lines = paragraph(text, width, first="  back end  ")
    if run.kernel is None:
        return lines
    lines += paragraph(printable(run.kernel.symbol), width, first="  kernel    ")
    where = f"{run.kernel.co}, blob {(run.blob or '')[:12]}"
    lines += paragraph(printable(where), width, first=_INDENT, style="dim")
    if run.grid is not None and run.block is not None:
        grid = " x ".join(map(str, run.grid))
        text = (
            f"{grid} workgroups, {run.block.size} bytes of arguments, "
            f"{run.instructions} instructions"
        )
        lines += paragraph(text, width, first="  launch    ")
    if run.metadata is not None:
        lines += paragraph(f"work metadata: {run.metadata}", width, first=_INDENT)
    if run.merged is not None:
        text = f"merge: mlaprobe's own, where AITER calls {run.merged}"
        lines += paragraph(printable(text), width, first=_INDENT)
    if run.block is not None and run.block.uninitialised:
        text = f"the host stores nothing in {unset_names(run.block)}: garbage is there"
        lines += paragraph(printable(text), width, first=_INDENT)
    return lines


def _standing(run: Emulated, width: int) -> list[Line]:
    word = run.standing.value
    lines = [line("  verified  ", Span(word, STYLES.get(word, "fail")))]
    if run.message is not None:
        lines += paragraph(printable(run.message), width, first=_INDENT)
    error = run.error
    if error is not None:
        lse = "" if error.lse_max_abs is None else f", log-sum-exp within {error.lse_max_abs:.2g}"
        text = (
            f"against float32: max error {error.max_abs:.2g}, relative RMSE {error.rmse:.2g}, "
            f"cosine {error.cosine:.6f}{lse}; {error.beyond} of {error.values} values beyond "
            f"{error.tolerance.value:g}"
        )
        lines += paragraph(text, width, first=_INDENT)
        for complaint in error.complaints:
            lines += paragraph(complaint, width, first=_INDENT, style="fail")
    for text in details(run):
        lines += paragraph(printable(text), width, first=_INDENT, style="fail")
    for access in run.outside[:_MOST]:
        lines += paragraph(printable(outside_line(access)), width, first=_INDENT, style="fail")
    if len(run.outside) > _MOST:
        lines += paragraph(f"and {len(run.outside) - _MOST} places more", width, first=_INDENT)
    return [*lines, *_checks(run, width), *_races(run, width)]


def _checks(run: Emulated, width: int) -> list[Line]:
    if not run.checks:
        return []
    same = sum(check.same for check in run.checks)
    text = f"run again {len(run.checks)} times with other garbage or another schedule: "
    if same == len(run.checks):
        return paragraph(text + "bitwise the same", width, first=_INDENT)
    lines = paragraph(text + f"bitwise the same {same} times", width, first=_INDENT)
    for check in run.checks:
        if not check.same:
            how = "right" if check.passed else "wrong"
            kind = "" if check.plausible else ", which no hardware has"
            where = f"under the schedule {check.schedule}{kind}"
            if check.zeros:
                where = "with zeros where the host stores nothing"
            text = f"{how}, not the same, {where}"
            style = "fail" if check.plausible and not check.passed else ""
            lines += paragraph(text, width, first=_INDENT + "  ", style=style)
    return lines


def _races(run: Emulated, width: int) -> list[Line]:
    """What makes the result hang on timing."""
    if not run.races:
        return []
    lines = paragraph("what the result hangs on:", width, first=_INDENT)
    texts = [race_line(race) for race in run.races[:_MOST]]
    if len(run.races) > _MOST:
        texts.append(f"and {len(run.races) - _MOST} pairs of instructions more")
    for text in texts:
        lines += paragraph(printable(text), width, first=_INDENT + "  ")
    return lines


def selftest(
    source: SourceInfo, arch: str, results: Sequence[EmulatedTest], *, width: int
) -> list[Line]:
    """A self-test: a line per shape."""
    width = max(LEAST_WIDTH, min(width, MOST_WIDTH))
    text = f"self-test for {arch}: AITER's kernels, emulated; nothing was run on a GPU"
    lines = [line(Span(printable(text), "title"))]
    lines += [*paragraph(where_found(source), width, first="  ", style="dim"), _EMPTY]
    wide = max((len(each.test.id) for each in results), default=0)
    for each in results:
        run, said = each.run, each.message or ""
        word = "not run" if run is None else run.standing.value
        if run is not None:
            facts = [f"{each.problem.num_heads} heads as {run.padding.heads}"]
            if run.error is not None:
                facts += [f"max error {run.error.max_abs:.2g}", *run.error.complaints]
            said = ", ".join(filter(None, (*facts, run.message)))
        head = f"  {each.test.id.ljust(wide)}  "
        first, *rest = paragraph(printable(said), width, first=head + word.ljust(10))
        style = "" if run is None else STYLES.get(word, "fail")
        body = first[0].text.removeprefix(head + word)
        lines += [line(head, Span(word, style), body), *rest]
    return lines
