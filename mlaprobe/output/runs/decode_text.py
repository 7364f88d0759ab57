"""Decode runs as a person reads them: pure functions from data to lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mlaprobe.core.protocols import SourceInfo
from mlaprobe.decode.launched import short_name
from mlaprobe.output.cells import WORDS
from mlaprobe.output.report import LEAST_WIDTH, MOST_WIDTH, where_found
from mlaprobe.output.runs.decode_data import winner
from mlaprobe.output.style import Line, Span, labelled, line, paragraph

if TYPE_CHECKING:
    from mlaprobe.core.accuracy import Error
    from mlaprobe.decode.environment import Environment
    from mlaprobe.decode.problem import Problem
    from mlaprobe.decode.running import Run
    from mlaprobe.decode.selftest import Report, Result
    from mlaprobe.decode.timing import Timing
    from mlaprobe.padding.plan import PadPlan

NOT_ON_AMD = (
    "Nothing of this has run on AMD hardware yet; mlaprobe decode --selftest --json FILE on one "
    "tells whether it works there."
)
INDENT = " " * 12


def decode(
    source: SourceInfo, run: Run, unpadded: Run | str | None, around: Environment, *, width: int
) -> list[Line]:
    """A run: what was run on what, how long it took, how far it is from the reference."""
    width = max(LEAST_WIDTH, min(width, MOST_WIDTH))
    lines = [line(Span(title(run.problem), "title"))]
    lines += paragraph(where_found(source), width, first="  ", style="dim")
    lines += [(), *_what_ran(run, around, width), ()]
    lines += _table(run, unpadded if not isinstance(unpadded, str) else None, width)
    lines += _comparison(run, unpadded, width)
    word = Span("PASSED", "native") if run.passed else Span("FAILED", "fail")
    verified = line("  verified  ", word)
    return [*lines, (), *_kernels(run, width), verified, *error_lines(run.error, width)]


def title(problem: Problem) -> str:
    """A problem in a line."""
    lens = problem.kv_lens
    kv = f"{lens[0]}" if len(set(lens)) == 1 else f"{min(lens)} to {max(lens)}"
    text = (
        f"{problem.arch} {problem.q_dtype}/{problem.kv_dtype}, {problem.num_heads} heads, "
        f"qlen {problem.qlen}, batch {problem.batch}, {kv} KV tokens"
    )
    if problem.page_size > 1:
        text += f", pages of {problem.page_size}"
    if problem.scales != (1.0, 1.0):
        text += f", scales {problem.scales[0]:g} and {problem.scales[1]:g}"
    return text + (", with log-sum-exp" if problem.lse else "")


def _what_ran(run: Run, around: Environment, width: int) -> Iterator[Line]:
    yield from plan_lines(run.plan, width)
    where = f"{run.backend}, on {around.device} ({run.problem.device}), torch {around.torch}"
    yield from paragraph(where, width, first="  back end  ")
    for reason in run.passed_over:
        yield from paragraph(reason, width, first=f"{INDENT}not ", style="dim")
    if run.backend != "aiter":
        text = "a stand-in: it carries out the plan, and AITER's kernels were not run"
        yield from paragraph(text, width, first=INDENT)
        if not run.plan.verdict.runs:
            text = "by its verdict, AITER would not run this launch, or not rightly"
            yield from paragraph(text, width, first=INDENT, style="fail")


def plan_lines(plan: PadPlan, width: int) -> Iterator[Line]:
    """What is launched, and why."""
    launch = f"  plan      launch {plan.padded_num_heads} heads on the {plan.route} route, "
    yield line(launch, Span(plan.verdict, WORDS[plan.verdict].style))
    yield from paragraph(plan.reason, width, first=INDENT, style="dim")


_COLUMNS = ("", "heads", "fold", "us", "middle half", "GB/s", "of peak", "max error", "rel. RMSE")


def _table(run: Run, unpadded: Run | None, width: int) -> list[Line]:
    rows = [_row("plan", run)]
    if unpadded is not None:
        rows.append(_row("unpadded", unpadded))
    widths = [max(len(row[at]) for row in (_COLUMNS, *rows)) for at in range(len(_COLUMNS))]
    return [
        line(Span("  " + _cells(_COLUMNS, widths), "dim")),
        *(line("  " + _cells(row, widths)) for row in rows),
    ]


def _cells(row: tuple[str, ...], widths: list[int]) -> str:
    name, *rest = (cell.rjust(wide) for cell, wide in zip(row, widths, strict=True))
    return "  ".join((name.strip().ljust(widths[0]), *rest))


def _row(name: str, run: Run) -> tuple[str, ...]:
    timing, error = run.timing, run.error
    return (
        name,
        str(run.plan.padded_num_heads),
        f"{run.fold}x" if run.fold > 1 else "no",
        "-" if timing is None else _us(timing.us),
        "-" if timing is None else f"{_us(timing.low_us)}-{_us(timing.high_us)}",
        "-" if run.bandwidth is None else _gigabytes(run.bandwidth),
        "-" if run.share is None else f"{run.share:.0%}",
        f"{error.max_abs:.2g}",
        f"{error.rmse:.2g}",
    )


def _gigabytes(bytes_: float) -> str:
    found = bytes_ / 1e9
    return f"{found:.0f}" if found >= 100 else f"{found:.3g}"


def _us(us: float) -> str:
    return f"{us:.1f}" if us < 1000 else f"{us:.0f}"


def _comparison(run: Run, unpadded: Run | str | None, width: int) -> list[Line]:
    if unpadded is None:
        return []
    if isinstance(unpadded, str):
        return paragraph(unpadded, width, first="  compare   ")
    found, ours, theirs = winner(run, unpadded), run.timing, unpadded.timing
    if found is None or ours is None or theirs is None:
        return paragraph("neither wins: their times overlap", width, first="  compare   ")
    ratio = theirs.us / ours.us
    best = f"{found} wins, {ratio if found == 'pad' else 1 / ratio:.2f}x as fast"
    return paragraph(f"{best} here, by {_clock(ours)}", width, first="  compare   ")


def _clock(timing: Timing) -> str:
    caches = ", caches cold" if timing.cold else ""
    return f"the {timing.clock}'s clock{caches}, medians of {timing.runs}"


def _kernels(run: Run, width: int) -> Iterator[Line]:
    label = "  predicted " if run.backend == "aiter" else "  in AITER  "
    predicted = ", ".join(run.predicted) or "none that the source names"
    yield from paragraph(predicted, width, first=label)
    if run.launched is None:
        text = "not seen: there is no profile of kernels here"
        yield from paragraph(text, width, first="  launched  ")
        return
    names = ", ".join(dict.fromkeys(map(short_name, run.launched.kernels)))
    yield from paragraph(names, width, first="  launched  ")
    if run.launched.as_predicted is False:
        text = f"not what was predicted: no {', '.join(run.launched.missing)}"
        yield from paragraph(text, width, first=INDENT, style="fail")
    elif run.launched.as_predicted and run.backend == "aiter":
        yield line(INDENT, Span("as predicted", "native"))


def error_lines(error: Error, width: int) -> Iterator[Line]:
    """How far a result is from the reference, and what is wrong with it."""
    lse = "" if error.lse_max_abs is None else f", log-sum-exp within {error.lse_max_abs:.2g}"
    facts = (
        f"against float32: max error {error.max_abs:.2g}, relative RMSE {error.rmse:.2g}, cosine "
        f"{error.cosine:.6f}{lse}; {error.beyond} of {error.values} values beyond "
        f"{error.tolerance.value:g}"
    )
    yield from paragraph(facts, width, first=INDENT)
    for complaint in error.complaints:
        yield from paragraph(complaint, width, first=INDENT, style="fail")


def selftest(source: SourceInfo, report: Report, *, width: int) -> list[Line]:
    """A self-test: a line per shape, and what to do with it."""
    width = max(LEAST_WIDTH, min(width, MOST_WIDTH))
    around = report.environment
    where = f"self-test for {report.arch} on {around.device}, torch {around.torch}"
    lines = [line(Span(where, "title"))]
    lines += paragraph(where_found(source), width, first="  ", style="dim")
    lines.append(())
    wide = max(len(result.test.id) for result in report.results)
    for result in report.results:
        lines += _result(result, wide, width)
    lines.append(())
    counts = [
        f"{report.count(outcome)} {outcome.value}"
        for outcome in dict.fromkeys(result.outcome for result in report.results)
    ]
    lines += paragraph(", ".join(counts), width, first="  ")
    lines += _agreement(report, width)
    if around.rocm is None:
        lines += paragraph(NOT_ON_AMD, width, first="  ")
    return lines


_STYLES = {"passed": "native", "failed": "fail", "refused": "unknown"}


def _result(result: Result, wide: int, width: int) -> list[Line]:
    outcome, text, run = result.outcome, "", result.run
    if run is not None:
        time = "" if run.timing is None else f", {_us(run.timing.us)} us"
        text = (
            f"{run.plan.num_heads} heads as {run.plan.padded_num_heads}, {run.plan.verdict.value}, "
            f"on {run.backend}: max error {run.error.max_abs:.2g}, RMSE {run.error.rmse:.2g}{time}"
        )
        if run.launched is not None and run.launched.as_predicted is False:
            text += "; launched other kernels than predicted"
    sentence = "; ".join(filter(None, (text, result.message)))
    label = f"  {result.test.id.ljust(wide)}  ", Span(outcome.ljust(9), _STYLES.get(outcome, ""))
    return labelled(line(*label), sentence, width)


def _agreement(report: Report, width: int) -> Iterator[Line]:
    label, found = "  AITER's own query: ", report.agreement
    if report.agreement_problem is not None:
        yield from paragraph(report.agreement_problem, width, first=label)
    elif found is not None:
        count = len(found.disagreements)
        text = f"asked for {found.asked} shapes, says something else in {count} places"
        yield from paragraph(text, width, first=label)
        for each in found.disagreements:
            sentence = (
                f"{each.shape.dtype}, {each.shape.num_heads} heads, qlen {each.shape.qlen}: "
                f"{each.field} is {each.aiter}, and the source says {each.mlaprobe}"
            )
            yield from paragraph(sentence, width, first="    ")
        for failure in found.failures:
            yield from paragraph(failure, width, first="    ", style="fail")
