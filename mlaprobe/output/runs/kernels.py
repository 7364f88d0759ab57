"""Kernels of a source, what is in them and what became of running them: as text, JSON and JUnit.
Pure functions from data to texts.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from mlaprobe.core.protocols import SourceInfo
from mlaprobe.emulator.schedules import ADVERSARIAL
from mlaprobe.output import SCHEMA
from mlaprobe.output.escape import printable
from mlaprobe.output.report import LEAST_WIDTH, MOST_WIDTH, where_found
from mlaprobe.output.report_data import source_row
from mlaprobe.output.runs.emulated_text import STYLES
from mlaprobe.output.style import Line, Span, labelled, line, paragraph

if TYPE_CHECKING:
    from mlaprobe.emulation.case import CaseResult
    from mlaprobe.emulation.inspecting import KernelFacts

_MOST = 3
"""Places of outside accesses, and pairs of instructions, of a launch that are shown."""
_IMPLAUSIBLE = frozenset(schedule.name for schedule in ADVERSARIAL)


def kernels_text(source: SourceInfo, facts: Sequence[KernelFacts], *, width: int) -> list[Line]:
    """What is in code objects, a few lines for each kernel."""
    width = max(LEAST_WIDTH, min(width, MOST_WIDTH))
    lines = [*paragraph(where_found(source), width, style="dim"), ()]
    for each in facts:
        lines.append(line(Span(each.co, "title")))
        if each.symbol:
            lines += paragraph(each.symbol, width, first="  ")
            text = (
                f"{each.lds_bytes} bytes of LDS, {each.vgprs} vector registers "
                f"({each.accumulation} of them for accumulation), {each.argument_bytes} bytes of "
                f"arguments, {each.workgroup_size} lanes; {each.instructions} instructions of "
                f"{len(each.mnemonics)} kinds"
            )
            lines += paragraph(text, width, first="  ")
        if each.problem is not None:
            lines += paragraph(each.problem, width, first="  ", style="fail")
        if each.without_rule:
            text = f"the emulator has no rule for {', '.join(each.without_rule)}"
            lines += paragraph(text, width, first="  ", style="unknown")
    known = sum(each.runs for each in facts)
    lines += [(), line(f"{len(facts)} kernels; the emulator knows all of {known}")]
    return lines


def kernels_json(source: SourceInfo, facts: Sequence[KernelFacts]) -> str:
    """The same as one JSON object."""
    rows = [
        {**asdict(each), "mnemonics": dict(each.mnemonics), "runs": each.runs} for each in facts
    ]
    row = {"schema": SCHEMA, "source": source_row(source), "kernels": rows}
    return json.dumps(row, indent=1) + "\n"


def runs_text(
    source: SourceInfo,
    results: Sequence[CaseResult],
    rest: Sequence[str],
    *,
    width: int,
) -> list[Line]:
    """What became of running kernels, a line for each launch."""
    width = max(LEAST_WIDTH, min(width, MOST_WIDTH))
    lines = [line(Span("AITER's kernels, emulated; nothing was run on a GPU", "title"))]
    lines += [*paragraph(where_found(source), width, style="dim"), ()]
    for co in dict.fromkeys(result.co for result in results):
        lines.append(line(Span(co, "title")))
        for result in results:
            if result.co == co:
                lines += _result(result, width)
    if rest:
        lines += [(), line(f"{len(rest)} code objects that no launch of the scope leads to:")]
        for co in rest:
            lines += paragraph(co, width, first="  ", style="dim")
    counts = Counter(result.standing for result in results)
    text = ", ".join(f"{count} {standing}" for standing, count in sorted(counts.items()))
    return [*lines, (), line(f"{len(results)} launches: {text or 'none'}")]


def _result(result: CaseResult, width: int) -> list[Line]:
    word = result.standing
    numbers = "" if result.max_abs is None else f": max error {result.max_abs:.2g}"
    if result.rmse is not None:
        numbers += f", RMSE {result.rmse:.2g}"
    if result.lse_max_abs is not None:
        numbers += f", log-sum-exp {result.lse_max_abs:.2g}"
    label = line(Span("  " + word.ljust(10), STYLES.get(word, "fail")))
    lines = labelled(label, result.case + numbers, width)
    for text in _remarks(result):
        lines += paragraph(text, width, first=" " * 12, style="dim")
    return lines


def _remarks(result: CaseResult) -> list[str]:
    """What is to be said of a launch."""
    remarks = [*result.said, *_shown(result.outside, "places")]
    for names, which in (
        ([name for name in result.differs if name not in _IMPLAUSIBLE], ""),
        ([name for name in result.differs if name in _IMPLAUSIBLE], ", which no hardware has"),
    ):
        if names:
            remarks.append(f"another result under {', '.join(names)}{which}")
    return [*remarks, *_shown(result.races, "pairs of instructions")]


def _shown(texts: Sequence[str], what: str) -> list[str]:
    """The first few, and how many there are besides."""
    shown, more = list(texts[:_MOST]), len(texts) - _MOST
    return [*shown, f"and {more} {what} more"] if more > 0 else shown


def runs_json(source: SourceInfo, results: Sequence[CaseResult], rest: Sequence[str]) -> str:
    """The same as one JSON object."""
    row = {
        "schema": SCHEMA,
        "source": source_row(source),
        "how": "emulated",
        "results": [result.row() for result in results],
        "not_reached": list(rest),
    }
    return json.dumps(row, indent=1) + "\n"


def runs_junit(results: Sequence[CaseResult]) -> str:
    """The same as JUnit XML: a case per launch."""
    failures = sum(result.standing not in STYLES for result in results)
    unknown = sum(result.standing == "UNKNOWN" for result in results)
    counts = f'tests="{len(results)}" failures="{failures}" errors="{unknown}" skipped="0"'
    head = f'name="mlaprobe kernels" {counts}'
    cases = "".join(map(_case, results))
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<testsuites {head} time="0">\n<testsuite {head} time="0">\n{cases}'
        "</testsuite>\n</testsuites>\n"
    )


def _case(result: CaseResult) -> str:
    group, name = (quoteattr(printable(text)) for text in (result.co, result.case))
    head = f'<testcase classname={group} name={name} time="{result.seconds:.3f}"'
    if result.standing == "PASSED":
        return f"{head}/>\n"
    kind = "error" if result.standing == "UNKNOWN" else "failure"
    said = _remarks(result) or [result.standing]
    text = escape("\n".join(map(printable, said)))
    message = quoteattr(printable(said[0]))
    inside = f"<{kind} message={message} type={quoteattr(result.standing)}>{text}</{kind}>\n"
    return f"{head}>\n{inside}</testcase>\n"
