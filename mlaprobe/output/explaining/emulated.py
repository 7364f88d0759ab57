"""What emulated launches show of kernels, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from mlaprobe.core.enums import Standing
from mlaprobe.core.shape import Decision, DecodeShape
from mlaprobe.output.rows import Row, picked, plain
from mlaprobe.output.style import Line, Span, line, paragraph
from mlaprobe.output.troubles import cells_in_words
from mlaprobe.reports.emulated import Emulation, Fault, Overview, emulations
from mlaprobe.rulefiles.outcomes import KernelRun

_GIB = 1 << 30
_ONE = (1.0, 1.0)
_MOST_FAULTS = 8
_TITLE = Span("Emulated, nothing was run on a GPU", "title")
_STYLES = {Standing.PASSED: "native", Standing.UNKNOWN: "unknown", Standing.REFUSED: "unknown"}


def emulation_lines(found: Iterable[Emulation], width: int) -> list[Line]:
    """What is known of some kernels: of each how launches like the decision's went, and the
    circumstances that were not right. Nothing where no file was emulated."""
    known = {(each.kernel.co, each.alike): each for each in found if each.record is not None}
    lines: list[Line] = [(), line(_TITLE)] if known else []
    for each in known.values():
        indent = "  "
        if len(known) > 1:
            lines.append(line("  ", Span(each.kernel.co, "place")))
            indent = "    "
        for text, style in [_alike(each), *_otherwise(each)]:
            lines += paragraph(text, width, first=indent, style=style)
    return lines


def _alike(found: Emulation) -> tuple[str, str]:
    assert found.record is not None
    outcome = found.outcome
    if outcome is None:
        return "the file was run, but not with such a launch", "dim"
    how = f"as {found.record.release} launches it"
    if outcome is Standing.PASSED:
        return f"right at {_tokens(found.alike)}, {how}", _style(outcome)
    bad = [run for run in found.alike if run.outcome is outcome]
    return f"{outcome} at {_tokens(bad)}, {how}: {bad[0].text}", _style(outcome)


def _style(outcome: Standing) -> str:
    return _STYLES.get(outcome, "fail")


def _tokens(runs: Sequence[KernelRun]) -> str:
    lens = [tokens for run in runs for kv in run.kv for tokens in kv]
    low, high = min(lens), max(lens)
    return f"{low} KV tokens" if low == high else f"{low} to {high} KV tokens"


def _otherwise(found: Emulation) -> list[tuple[str, str]]:
    """Other circumstances, those with one outcome together. Scales are named only where they make a
    difference."""
    groups: dict[Standing, dict[str, str]] = {}
    plain = {(circumstances(run, found.page_size), run.outcome) for run in found.otherwise}
    plain |= {("", run.outcome) for run in found.alike}
    for run in found.otherwise:
        without = circumstances(replace(run, scales=_ONE), found.page_size)
        if run.scales == _ONE or (without, run.outcome) not in plain:
            groups.setdefault(run.outcome, {}).setdefault(
                circumstances(run, found.page_size), run.text
            )
    lines = []
    for outcome in sorted(groups, key=list(Standing).index, reverse=True):
        where, texts = "; ".join(groups[outcome]), list(groups[outcome].values())
        label = "right also" if outcome is Standing.PASSED else str(outcome)
        style = "dim" if outcome is Standing.PASSED else _style(outcome)
        lines.append((f"{label} {where}{texts[0] and ': ' + texts[0]}", style))
    return lines


def circumstances(run: KernelRun, page_size: int) -> str:
    """What is particular to a launch: ``with 1 KV split, in a cache of 5 GiB``."""
    words = []
    if run.page_size != page_size:
        words.append(f"at page size {run.page_size}")
    if run.kv_splits is not None:
        words.append(f"with {run.kv_splits} KV split{'s' * (run.kv_splits > 1)}")
    if run.kv_cache_bytes:
        words.append(f"in a cache of {run.kv_cache_bytes / _GIB:g} GiB")
    if run.scales != _ONE:
        words.append("with scales {:g} and {:g}".format(*run.scales))
    return ", ".join(words)


def overview_lines(found: Overview, width: int) -> list[Line]:
    """What emulation shows of the kernels behind a report; nothing where none was emulated."""
    if found.not_run == found.kernels:
        return []
    counts = [f"{found.right} right where they were run"]
    wrong = found.kernels - found.right - found.not_run
    counts += [f"{wrong} not"] * (wrong > 0)
    counts += [f"{found.not_run} not run"] * (found.not_run > 0)
    text = f"of {found.kernels} code objects behind these answers {', '.join(counts)}"
    lines: list[Line] = [(), line(_TITLE)]
    lines += paragraph(text, width, first="  ")
    for fault in found.faults[:_MOST_FAULTS]:
        lines += _fault(fault, width)
    more = len(found.faults) - _MOST_FAULTS
    if more > 0:
        lines += paragraph(
            f"and {more} more: mlaprobe explain tells those of a shape", width, first="  "
        )
    return lines


def _fault(fault: Fault, width: int) -> list[Line]:
    text = f"{fault.outcome}{fault.text and ': ' + fault.text}"
    lines = paragraph(text, width, first="  ", style=_style(fault.outcome))
    for where in _places(fault.shapes):
        lines += paragraph(where, width, first="    ")
    return [*lines, line("    in ", Span(fault.kernel.co, "place"))]


def _places(shapes: Iterable[DecodeShape]) -> list[str]:
    groups: dict[str, dict[tuple[int, int], None]] = {}
    for shape in shapes:
        groups.setdefault(f"{shape.arch} {shape.dtype}", {})[shape.num_heads, shape.qlen] = None
    return [f"{where}: {cells_in_words(tuple(cells))}" for where, cells in groups.items()]


def emulation_rows(decision: Decision) -> list[Row]:
    """What is known of each kernel of a decision, for programs."""
    return [_row(found) for found in emulations(decision) if found.record is not None]


def _row(found: Emulation) -> Row:
    assert found.record is not None
    return {
        **picked(found.kernel, ("symbol", "blob")),
        "launched_as": found.record.release,
        "outcome": found.outcome,
        "runs": [_run(run) for run in (*found.alike, *found.otherwise)],
    }


def _run(run: KernelRun) -> Row:
    return {
        **picked(run, ("page_size", "kv_splits")),
        "kv_cache_bytes": run.kv_cache_bytes or None,
        "scales": list(run.scales),
        "kv_lens": plain(run.kv),
        **picked(run, ("outcome", "text")),
    }


def overview_row(found: Overview) -> Row:
    """The overview for programs."""
    return {
        **picked(found, ("kernels", "right", "not_run")),
        "faults": [
            {
                **picked(fault.kernel, ("symbol", "co", "blob")),
                **picked(fault, ("outcome", "text", "shapes")),
            }
            for fault in found.faults
        ],
    }
