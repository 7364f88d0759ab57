"""The operations and what decides in them: pure functions from data to text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mlaprobe.core.grid import Grid
from mlaprobe.core.numbers import ranges
from mlaprobe.core.shape import Operation, Verdict
from mlaprobe.output import SCHEMA
from mlaprobe.output.escape import printable
from mlaprobe.output.rows import Row, picked, to_json
from mlaprobe.output.style import Line, Span, labelled, line, paragraph
from mlaprobe.reports.operations import Missing, Overview, Variable
from mlaprobe.rulefiles.operations import Entry, OperationRule, operations

_EMPTY: Line = ()
_LEAST_WIDTH, _MOST_WIDTH = 40, 120


def operations_lines(found: Sequence[OperationRule], *, width: int) -> list[Line]:
    """Every operation with its functions and their stages."""
    width = max(_LEAST_WIDTH, min(width, _MOST_WIDTH))
    lines: list[Line] = []
    for rule in found:
        lines += [_EMPTY] if lines else []
        lines += paragraph(f"{rule.op}: {rule.about}", width, style="title")
        for entry in rule.entries:
            lines += _entry(entry, width)
    return lines


def _entry(entry: Entry, width: int) -> list[Line]:
    modes = {None: "", True: " (--persistent)", False: " (--no-persistent)"}
    lines = [line("  ", Span(entry.name, "title"), modes[entry.persistent])]
    lines += paragraph(entry.about, width, first="    ")
    lines += paragraph(f"question: {', '.join(entry.axes)}", width, first="    ", style="dim")
    for stage, text in entry.stages.items():
        lines += labelled(line(f"    {stage:<13} "), text, width)
    return lines


_FAILS = {
    Verdict.NO_REDUCER: "no reducer",
    Verdict.NO_KERNEL: "no kernel",
    Verdict.REJECTED: "rejected",
    Verdict.AMBIGUOUS: "ambiguous",
    Verdict.INCOHERENT: "incoherent",
    Verdict.ERRATUM: "known to be bad",
    Verdict.UNKNOWN: "not known",
}


def overview_lines(found: Sequence[Overview | Missing], width: int) -> list[Line]:
    """The operations of a report, a line for each entry point and setting in which some count
    runs."""
    if not found:
        return []
    lines = [_EMPTY, line(Span("Other operations", "title"))]
    for text in overview_texts(found):
        lines += paragraph(text, width, first="  ")
    return lines


def overview_texts(found: Sequence[Overview | Missing]) -> Iterator[str]:
    """The same as texts: settings alike are one, and entry points of which there is nothing to
    say for one reason."""
    texts: dict[tuple[str, str], dict[str, list[str]]] = {}
    missing: dict[str, list[str]] = {}
    for each in found:
        name = f"{each.entry.op} ({each.entry.name})"
        if isinstance(each, Missing):
            missing.setdefault(each.why, []).append(name)
        elif each.runs or any(verdict is Verdict.UNKNOWN for verdict, _ in each.fails):
            settings = texts.setdefault((name, _summary(each)), {})
            settings.setdefault(each.setting.arch, []).append(each.setting.dtype)
        else:
            texts.setdefault((name, ""), {}).setdefault(each.setting.arch, [])
    running = {name for name, text in texts if text}
    for (name, text), settings in texts.items():
        if text:
            where = "; ".join(f"{arch} {', '.join(dtypes)}" for arch, dtypes in settings.items())
            yield f"{name} {where}: {text}"
        elif name not in running:
            yield f"{name}: nothing runs on {', '.join(settings)}"
    for why, names in missing.items():
        yield f"{', '.join(names)}: {why}"


def _summary(found: Overview) -> str:
    parts = [f"runs at {ranges(found.runs, ', ')}"] if found.runs else []
    for at, (verdict, heads) in enumerate(found.fails):
        last = at == len(found.fails) - 1
        which = "any other" if last and found.runs else ranges(heads, ", ")
        parts.append(f"{_FAILS[verdict]} at {which}")
    return "; ".join(parts)


def function_texts(grid: Grid) -> Iterator[str]:
    """The functions that a report of another operation than decode is about."""
    if grid.op is Operation.DECODE:
        return
    for entry in operations()[grid.op].entries:
        if entry.mode in grid.persistent:
            yield f"{grid.op} by {entry.name}: {entry.about}"


def variable_lines(found: Sequence[Variable], width: int) -> list[Line]:
    """The variables of an operation that change its answers, with an example of each."""
    if not found:
        return []
    lines = [_EMPTY, line(Span("Variables that change answers", "title"))]
    for text in variable_texts(found):
        lines += paragraph(text, width, first="  ")
    return lines


def variable_texts(found: Sequence[Variable]) -> Iterator[str]:
    """The same as texts."""
    for each in found:
        knob, shape = each.knob, each.shape
        setting = f"{knob.name} unset" if knob.value is None else f"{knob.name}={knob.value}"
        example = f"{shape.arch} {shape.dtype}, {shape.num_heads} heads, qlen {shape.qlen}"
        yield printable(f"{setting}: {example}: {each.verdict} -> {knob.decision.verdict}")


def variable_rows(found: Sequence[Variable]) -> list[Row]:
    """The same for programs."""
    return [
        {
            **picked(each.knob, ("name", "value")),
            **picked(each.shape, ("arch", "q_dtype", "kv_dtype", "num_heads", "qlen")),
            "verdict": each.verdict.value,
            "changed": each.knob.decision.verdict.value,
        }
        for each in found
    ]


def overview_rows(found: Sequence[Overview | Missing]) -> list[Row]:
    """The same for programs."""
    rows: list[Row] = []
    for each in found:
        row: Row = {"op": each.entry.op.value, "function": each.entry.name}
        if isinstance(each, Missing):
            rows.append({**row, "missing": each.why})
            continue
        setting = picked(each.setting, ("arch", "q_dtype", "kv_dtype", "persistent"))
        fails = {verdict.value: list(heads) for verdict, heads in each.fails}
        rows.append({**row, **setting, "runs": list(each.runs), "fails": fails})
    return rows


def operations_json(found: Sequence[OperationRule]) -> str:
    """The same as one JSON object."""
    return to_json({"schema": SCHEMA, "operations": [_row(rule) for rule in found]}) + "\n"


def _row(rule: OperationRule) -> Row:
    entries = [
        {
            "function": entry.name,
            "module": entry.function.place[0],
            **picked(entry, ("persistent", "about")),
            "axes": list(entry.axes),
            "head_dim": entry.head_dim,
            "stages": dict(entry.stages),
        }
        for entry in rule.entries
    ]
    return {"op": rule.op.value, "about": rule.about, "entries": entries}
