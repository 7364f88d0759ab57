"""A survey for programs (JSON, JSON lines, CSV) and for documents (Markdown)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mlaprobe.core.protocols import SourceInfo
from mlaprobe.core.reasons import reason
from mlaprobe.core.shape import Status, Verdict
from mlaprobe.output import SCHEMA
from mlaprobe.output.cells import LSE_GAP, LSE_MEANING, WORDS, cell
from mlaprobe.output.escape import markdown, markdown_code
from mlaprobe.output.explaining.emulated import overview_row
from mlaprobe.output.operations import overview_rows, variable_rows
from mlaprobe.output.report import block_title, native_summary, where_found
from mlaprobe.output.rows import Row, decision_row, picked, plain
from mlaprobe.output.tabular import table_text
from mlaprobe.output.troubles import cells_in_words, what_happens
from mlaprobe.reports.emulated import overview
from mlaprobe.reports.survey import Block, Survey, Trouble


def source_row(source: SourceInfo) -> Row:
    """Which AITER this is."""
    return picked(source, ("label", "kind", "release", "commit"))


def stage_rows(stages: Iterable[tuple[str, str, str]]) -> list[Row]:
    """Which stages a source has."""
    names = ("stage", "status", "text")
    return [dict(zip(names, stage, strict=True)) for stage in stages]


def report_text(format: str, survey: Survey) -> Iterator[str]:
    """A survey as ``json``, ``jsonl``, ``csv`` or ``markdown``."""
    if format == "markdown":
        return markdown_report(survey)
    rows = (decision_row(decision) for decision in survey.decisions)
    return table_text(format, rows, head_row(survey))


def head_row(survey: Survey) -> Row:
    """Everything of a report but its rows."""
    return {
        "schema": SCHEMA,
        "source": source_row(survey.source),
        "stages": stage_rows(survey.stage_status),
        "knobs": list(survey.knobs),
        "other_heads": survey.others.value,
        "troubles": [trouble_row(trouble) for trouble in survey.troubles],
        **({"operations": overview_rows(survey.operations)} if survey.operations else {}),
        **({"variables": variable_rows(survey.variables)} if survey.variables else {}),
        "emulated": overview_row(overview(survey.decisions)),
    }


def trouble_row(trouble: Trouble) -> Row:
    """One thing that does not fit together."""
    example, clause = trouble.example, trouble.evidence
    return {
        "verdict": plain(trouble.verdict),
        **picked(trouble.setting, ("arch", "q_dtype", "kv_dtype")),
        "lse": example.shape.lse,
        "lse_only": trouble.lse_only,
        "persistent": trouble.setting.persistent,
        "cells": [{"num_heads": heads, "qlen": qlen} for heads, qlen in trouble.cells],
        **picked(example, ("stage", "message", "failure")),
        "file": clause.file if clause else None,
        "line": clause.line if clause else None,
    }


def markdown_report(survey: Survey) -> Iterator[str]:
    """A survey for a job summary or an issue."""
    yield f"# {markdown(where_found(survey.source))}\n\n"
    yield f"Source: {markdown_code(survey.source.label)}"
    if survey.source.commit:
        yield f", commit {markdown_code(survey.source.commit)}"
    yield "\n"
    for stage, status, text in survey.stage_status:
        if status != Status.PRESENT:
            yield f"\nThe stage {markdown(stage)} is absent: {markdown(text)}\n"
    for block in survey.blocks:
        yield from _markdown_block(survey, block)
    yield from _markdown_troubles(survey.troubles)
    yield "\n## Legend\n\n"
    for verdict, word in WORDS.items():
        name = f"{word.long} 3" if verdict is Verdict.FOLDED else word.long
        yield f"- **{name}**: {word.meaning}\n"
    yield f"- **{markdown(LSE_GAP)}**: {LSE_MEANING}\n"


def _markdown_block(survey: Survey, block: Block) -> Iterator[str]:
    arch, rest = block_title(survey, [block.setting])
    yield f"\n## {markdown(arch)} {markdown(rest)}\n\n"
    yield f"{markdown(native_summary(block).capitalize())}.\n\n"
    yield "| heads | " + " | ".join(f"qlen {qlen}" for qlen in block.qlens) + " |\n"
    yield "| ---: |" + " --- |" * len(block.qlens) + "\n"
    for heads, answers in block.rows:
        cells = [cell(answer) for answer in answers]
        words = [markdown(c.long) for c in cells]
        words = [
            f"**{w}**" if c.kind is Verdict.NATIVE else w for c, w in zip(cells, words, strict=True)
        ]
        yield f"| {heads} | " + " | ".join(words) + " |\n"


def _markdown_troubles(found: tuple[Trouble, ...]) -> Iterator[str]:
    if not found:
        return
    yield "\n## What does not fit together\n\n"
    for trouble in found:
        setting, decision, clause = trouble.setting, trouble.example, trouble.evidence
        word = WORDS[trouble.verdict].long
        if trouble.verdict is Verdict.FOLDED:
            word += f" {decision.fold}"
        where = f"{setting.arch} {setting.dtype}, {cells_in_words(trouble.cells)}"
        lse = " with LSE only" if trouble.lse_only else ""
        why = "; ".join(filter(None, (reason(decision), what_happens(decision))))
        place = f" ({markdown_code(f'{clause.file}:{clause.line}')})" if clause else ""
        yield f"- **{word}**{lse}: {markdown(where)}. {markdown(why)}{place}\n"
