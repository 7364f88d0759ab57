"""One shape explained, as a person reads it: pure functions from data to lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mlaprobe.core.numbers import ranges
from mlaprobe.core.reasons import reason, stage_reason
from mlaprobe.core.shape import (
    Decision,
    DecodeShape,
    Kernel,
    Operation,
    StageName,
    StageOutcome,
    Status,
    Verdict,
)
from mlaprobe.output import commands
from mlaprobe.output.cells import WORDS
from mlaprobe.output.escape import printable
from mlaprobe.output.explaining.emulated import emulation_lines
from mlaprobe.output.explaining.excerpts import excerpt_lines as excerpt_lines
from mlaprobe.output.explaining.excerpts import place_of
from mlaprobe.output.explaining.nativeways import native_way_lines
from mlaprobe.output.explaining.needs import needs_lines
from mlaprobe.output.report import LEAST_WIDTH, MOST_WIDTH, where_found
from mlaprobe.output.rows import plain
from mlaprobe.output.style import Line, Span, broken, line, paragraph
from mlaprobe.output.troubles import what_happens
from mlaprobe.reports.emulated import emulations
from mlaprobe.reports.explanation import Alternative, Excerpt, Explanation
from mlaprobe.reports.knobs import Knob
from mlaprobe.rulefiles.operations import operations

_EMPTY: Line = ()
BLOB_DIGITS = 12
"""Of a blob id, as people are shown it: enough for git to find it."""
_MOST_EXCERPTS = 4
"""Clauses that are shown of one stage; the rest are named."""
_BAD = frozenset((Status.REJECTED, Status.MISSING, Status.NO_KERNEL, Status.UNKNOWN))


def explain(found: Explanation, *, width: int, spec: str, can_resolve: bool = False) -> list[Line]:
    """The whole explanation."""
    width = max(LEAST_WIDTH, min(width, MOST_WIDTH))
    lines = [*_headline(found.decision, width)]
    lines += paragraph(f"{where_found(found.source)}", width, first="  ", style="dim")
    for number, (stage, outcome) in enumerate(found.decision.stages, 1):
        excerpts = dict(found.excerpts).get(stage, ())
        lines += [_EMPTY, *_stage(number, outcome, excerpts, width)]
        if stage == StageName.REDUCER and found.reducer_heads is not None:
            text = f"it is instantiated for {ranges(found.reducer_heads)} heads at head_dim "
            text += str(found.head_dim)
            lines += paragraph(text, width, first="     ")
    lines += _kernels(found.decision, width)
    lines += _nearest(found, width)
    lines += _notes(found.decision, width)
    lines += [_EMPTY, *_verdict(found.decision, width)]
    lines += _knobs(found, width)
    lines += _alternatives(found, width, spec, can_resolve)
    lines += needs_lines(found, width)
    lines += native_way_lines(found.native_ways, width)
    return lines


def outcome_words(decision: Decision) -> str:
    """A verdict with its factors: ``FOLDED by 3``."""
    text = decision.verdict.value
    if decision.verdict is Verdict.FOLDED:
        if decision.fold > 1 or decision.qlen_fold <= 1:
            text += f" by {decision.fold}"
        if decision.qlen_fold > 1:
            text += f" (query length by {decision.qlen_fold})"
    return text


def _headline(decision: Decision, width: int) -> list[Line]:
    shape = decision.shape
    op = "" if shape.op is Operation.DECODE else f"{shape.op}, "
    what = f"{op}{shape.arch} {shape.dtype}, {shape.num_heads} heads, qlen {shape.qlen}"
    style = WORDS[decision.verdict].style
    return [
        *broken(
            line(Span(printable(f"{what}: "), "title"), Span(outcome_words(decision), style)),
            width,
            rest="  ",
        ),
        *_words(shape, width),
        *_operation(shape, width),
    ]


def _words(shape: DecodeShape, width: int) -> list[Line]:
    """What else the question says."""
    words = commands.in_words(shape, defaults=True)
    return paragraph(words, width, first="  ", style="dim") if words else []


def _operation(shape: DecodeShape, width: int) -> list[Line]:
    """The function that carries another operation out, and what its answer may depend on."""
    if shape.op is Operation.DECODE:
        return []
    entry = operations()[shape.op].entry(shape.persistent)
    question = ", ".join(axis.replace("_", " ") for axis in entry.axes)
    text = f"by {entry.name}: {entry.about}; nothing depends on more than {question}"
    return paragraph(text, width, first="  ", style="dim")


def _stage(
    number: int, outcome: StageOutcome, excerpts: Sequence[Excerpt], width: int
) -> list[Line]:
    style = "fail" if outcome.status in _BAD else ""
    style = "unknown" if outcome.status == Status.UNKNOWN else style
    title = Span(f"{number:>2} {printable(outcome.stage)}: ", "title")
    lines = broken(line(title, Span(printable(_status(outcome)), style)), width, rest="     ")
    why = stage_reason(outcome)
    if why:
        lines += paragraph(printable(why), width, first="     ")
    for excerpt in excerpts[:_MOST_EXCERPTS]:
        lines += excerpt_lines(excerpt, width)
    for excerpt in excerpts[_MOST_EXCERPTS:]:
        lines.append(line("   --> ", Span(place_of(excerpt), "place")))
    for note in outcome.notes:
        lines += paragraph(printable(note), width, first="     note: ")
    return lines


def _status(outcome: StageOutcome) -> str:
    """A stage's answer with what belongs to it."""
    text = outcome.status.replace("_", " ")
    if outcome.fold > 1:
        text += f" {outcome.fold}" if outcome.status == Status.FOLD else f", batch x {outcome.fold}"
    if outcome.qlen_fold > 1:
        text += f", query length x {outcome.qlen_fold}"
    if outcome.final_heads is not None:
        text += f", {outcome.final_heads} heads"
    if outcome.persistent is not None:
        text += ", persistent" if outcome.persistent else ", non-persistent"
    if outcome.entry is not None:
        text += f", through {outcome.entry}"
    return text


def key_words(key: Sequence[tuple[str, Any]]) -> str:
    """A table key in one line."""
    return printable(" ".join(f"{name}={plain(value)}" for name, value in key))


def _kernels(decision: Decision, width: int) -> list[Line]:
    lines: list[Line] = []
    if decision.key is not None:
        lines += [_EMPTY, line(Span("Key in the kernel table", "title"))]
        lines += paragraph(key_words(decision.key), width, first="  ")
    if decision.kernels:
        several = len(decision.kernels) > 1
        title = "Kernels, any of which may run" if several else "Kernel"
        lines += [_EMPTY, line(Span(title, "title"))]
        for kernel in decision.kernels:
            lines.append(line(f"  {printable(kernel.symbol)}"))
            where = line("  in ", Span(printable(kernel.co), "place"), _presence(kernel))
            lines += broken(where, width, rest="     ")
    return lines + emulation_lines(emulations(decision), width)


def _presence(kernel: Kernel) -> str:
    if kernel.co_present is None:
        return " (the source holds no code objects)"
    if not kernel.co_present:
        return " (MISSING from the source)"
    defines = {None: "", True: ", defines it", False: ", does NOT define it"}[kernel.has_symbol]
    file = f", blob {kernel.blob[:BLOB_DIGITS]}" if kernel.blob is not None else ""
    lds = f", {kernel.lds} bytes of LDS" if kernel.lds is not None else ""
    return f" (present{defines}{file}{lds})"


def _nearest(found: Explanation, width: int) -> list[Line]:
    if not found.nearest:
        return []
    lines = [_EMPTY, line(Span("Nearest rows of the kernel table", "title"))]
    for text, file, number, differs in found.nearest:
        lines += paragraph(printable(text.strip()), width, first="  ")
        differing = ", ".join(map(printable, differs)) or "nothing"
        place = Span(printable(f"{file}:{number}"), "place")
        lines.append(line("    --> ", place))
        lines += paragraph(f"differs in {differing}", width, first="    ")
    return lines


def _notes(decision: Decision, width: int) -> list[Line]:
    shown = {note for _, outcome in decision.stages for note in outcome.notes}
    notes = [note for note in decision.notes if note not in shown]
    if not notes:
        return []
    lines = [_EMPTY, line(Span("Notes", "title"))]
    for note in notes:
        lines += paragraph(printable(note), width, first="  - ")
    return lines


def _verdict(decision: Decision, width: int) -> list[Line]:
    style = WORDS[decision.verdict].style
    headline = line(Span("Verdict: ", "title"), Span(outcome_words(decision), style))
    if decision.stage and not decision.verdict.runs:
        headline += (Span(f", decided by {printable(decision.stage)}"),)
    lines = broken(headline, width, rest="  ")
    lines += paragraph(_meaning(decision), width, first="  ")
    why = reason(decision, place=True)
    if why:
        lines += paragraph(printable(why), width, first="  ")
    how = what_happens(decision)
    if how:
        lines += paragraph(f"At run time it {how}.", width, first="  ")
    return lines


def _meaning(decision: Decision) -> str:
    if decision.verdict is not Verdict.FOLDED:
        meaning = WORDS[decision.verdict].meaning
        return f"{meaning[0].upper()}{meaning[1:]}."
    times = decision.fold * decision.qlen_fold
    heads = next((o.final_heads for _, o in decision.stages if o.final_heads), None)
    of = f"of {heads} heads" if heads else "of fewer heads"
    return (
        f"It runs as {times} pseudo-batches {of}, and each of them reads the KV cache again: where "
        f"decode is bound by KV bandwidth, it takes up to {times} times as long."
    )


def _change(decision: Decision) -> str:
    stage = f" (by {printable(decision.stage)})" if decision.stage else ""
    return outcome_words(decision) + ("" if decision.verdict.runs else stage)


def _knobs(found: Explanation, width: int) -> list[Line]:
    if not found.knobs_tried:
        return []
    lines = [_EMPTY, line(Span("Knobs that would change the answer", "title"))]
    for knob in found.knobs:
        lines += broken(_knob(knob), width, rest="    ")
    named = {k.name for k in found.knobs}.union(found.knobs_unanswered)
    same = [name for name in found.knobs_tried if name not in named]
    if same:
        names = ", ".join(map(printable, same))
        text = f"no change from {names}" if found.knobs else f"none of {names}"
        lines += paragraph(text, width, first="  ", style="dim")
    if found.knobs_unanswered:
        names = ", ".join(map(printable, found.knobs_unanswered))
        text = f"not in a snapshot, ask the source itself: {names}"
        lines += paragraph(text, width, first="  ", style="dim")
    return lines


def _knob(knob: Knob) -> Line:
    name = printable(knob.name)
    setting = f"{name} unset" if knob.value is None else f"{name}={printable(knob.value)}"
    style = WORDS[knob.decision.verdict].style
    return line(f"  {setting}: ", Span(_change(knob.decision), style))


def _alternatives(found: Explanation, width: int, spec: str, can_resolve: bool) -> list[Line]:
    decision = found.decision
    if decision.verdict is Verdict.NATIVE:
        return []
    lines = [_EMPTY, line(Span("Nearest that do better", "title"))]
    for each in found.alternatives:
        style = WORDS[each.decision.verdict].style
        entry = line(
            f"  {what_differs(each, decision.shape)}: ", Span(_change(each.decision), style)
        )
        lines += broken(entry, width, rest="    ")
    if not found.alternatives:
        none = "none: no padding, query length, mode, page size or route that was tried"
        lines += paragraph(none, width, first="  ")
    if can_resolve:
        command = commands.resolve(decision.shape, spec)
        what = "What to launch instead:"
        # A command is never broken: it is there to be copied.
        if len(what) + 1 + len(command) <= width:
            lines += [_EMPTY, line(f"{what} ", Span(command, "command"))]
        else:
            lines += [_EMPTY, line(what), line("  ", Span(command, "command"))]
    return lines


def what_differs(alternative: Alternative, asked: DecodeShape) -> str:
    """What one would do differently."""
    shape = alternative.decision.shape
    more = f", padded to {shape.num_heads} heads" * (shape.num_heads != asked.num_heads)
    words = {
        "heads": f"padded to {shape.num_heads} heads",
        "qlen": f"at qlen {shape.qlen}",
        "planner": "with the planner told what is launched",
        "persistent": "persistent" if shape.persistent else "non-persistent",
        "lse": "with LSE" if shape.lse else "without LSE",
        "page_size": f"at page size {shape.page_size}",
        "route": f"by the {shape.route} route{more}",
    }
    return words[alternative.what]
