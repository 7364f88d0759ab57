"""The pages of what people know: findings, changes, errata, launch needs and models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mlaprobe.core.numbers import ranges
from mlaprobe.findings.rules import FindingRule, Otherwise, finding_rules
from mlaprobe.output.escape import markdown
from mlaprobe.rulefiles.loader import load_rules
from mlaprobe.rulefiles.models import models

Words = Sequence[str]


def findings_page() -> str:
    """The rules about one AITER, and the classes of changes between two."""
    rules = finding_rules()
    lines = [
        "# Findings and changes",
        "",
        "What `mlaprobe findings` reports about one AITER, and what `mlaprobe compare` and "
        "`mlaprobe check` report about two. A rule is a file; "
        "[add a finding rule](../how-to/add-a-finding-rule.md) says how to write one.",
        "",
        *_table(
            ("rule", "level", "what"),
            (
                (f"[{r.rule.id}](#{r.rule.id.lower()})", str(r.rule.level), markdown(r.rule.title))
                for r in rules
            ),
        ),
        "## Findings",
        "",
    ]
    for rule in rules:
        lines += _finding(rule)
    lines += [
        "## Changes",
        "",
        "The worst first; `mlaprobe check --fail-on` takes their names.",
        "",
    ]
    for change in load_rules("changes")["changes"]:
        lines += [f"### {change['id']}", "", f"Level {change['level']}: {change['title']}.", ""]
        lines += [_line(change["why"]), "", f"**What to do.** {_line(change['fix'])}", ""]
    return _page(lines)


def _finding(rule: FindingRule) -> list[str]:
    lines = [f"### {rule.rule.id}", "", f"Level {rule.rule.level}: {markdown(rule.rule.title)}."]
    for otherwise in rule.otherwise:
        lines[-1] += f" Level {otherwise.level} {_when(otherwise)}."
    lines += ["", _line(rule.rule.why), "", f"**What to do.** {_line(rule.rule.fix)}", ""]
    if {"signature"} >= rule.about:
        lines += [
            "Only between two sources: `mlaprobe compare` and `mlaprobe check` report it.",
            "",
        ]
    return lines


def _when(otherwise: Otherwise) -> str:
    fields = (
        f"{name.replace('_', ' ')} is {' or '.join(map(str, values))}"
        for name, values in otherwise.match.fields
    )
    return "where " + ", ".join(markdown(each) for each in fields)


def errata_page() -> str:
    """Reports that source cannot show, what a launch needs, and what is tried to find out."""
    lines = [
        "# Errata and launch needs",
        "",
        "What people found out and AITER's source cannot say. "
        "[Write an erratum](../how-to/write-an-erratum.md) says how to add one.",
        "",
        "## Errata",
        "",
        "With the effect *avoid* a verdict that would run becomes `ERRATUM`, with *note* the "
        "decision carries the sentence. *none* is a report that was looked at and that something "
        "else covers.",
        "",
    ]
    for entry in load_rules("errata")["errata"]:
        lines += _erratum(entry)
    lines += ["## Launch needs", "", "What a plan asks of its launch beyond the head count.", ""]
    for need in load_rules("launch")["needs"]:
        lines += [f"### {need['id']}", "", f"{_line(need['text'])}.", ""]
        lines += _facts(
            ("launches", _shapes(need.get("when", {}))),
            ("passes", ", ".join(f"`{k}={v}`" for k, v in need.get("set", {}).items())),
            ("source", _links(need["reference"])),
        )
    return _page([*lines, *_variations()])


def _variations() -> list[str]:
    """What is tried on launches that run."""
    rows = (
        (
            f"`{entry['id']}`",
            markdown(_line(entry["change"])),
            markdown(_line(entry["need"])),
            _shapes(entry.get("when", {})),
            _links(entry.get("reference", ())),
        )
        for entry in load_rules("variations")["variations"]
    )
    return [
        *("## What is tried", ""),
        "`explain --needs` and plans change one thing at a time in a launch that runs. Where AITER "
        "then answers otherwise, the launch needs what was changed, and the clause that decides is "
        "shown. A row here says what is tried, not what happens: that is read from the source.",
        "",
        *_table(("id", "with", "what to do", "tried on", "reports"), rows),
    ]


def _erratum(entry: Mapping[str, Any]) -> list[str]:
    first, last = (entry.get("releases", {}).get(end) for end in ("first", "last"))
    releases = f"{first or 'the first'} to {last or 'the latest'}" if first or last else "all"
    return [
        *(f"### {entry['id']}", ""),
        f"{markdown(_line(entry['summary']))}. Instead: {markdown(_line(entry['instead']))}.",
        "",
        *_facts(
            ("effect", entry["effect"]),
            ("releases", releases),
            ("files", ", ".join(f"`{blob[:12]}`" for blob in entry.get("blobs", ()))),
            ("shapes", _shapes(entry.get("shapes", {}))),
            ("fails by", entry.get("failure", "")),
            ("source", _links(entry["reference"])),
        ),
        markdown(_line(entry["reason"])),
        "",
    ]


def models_page() -> str:
    """The models whose deployments ``mlaprobe models`` asks for."""
    rows = (
        (
            f"`{model.id}`",
            markdown(", ".join((model.name, *model.also))),
            str(model.heads),
            ranges(model.drafts),
            _links(model.reference),
        )
        for model in models()
    )
    lines = [
        "# Models",
        "",
        "What `mlaprobe models` and deployment files know by name. Heads are query heads of the "
        "whole model; drafts are the draft lengths that the published weights serve themselves. "
        "[Add a model](../how-to/add-a-model.md) says how to add one.",
        "",
        *_table(("id", "names", "heads", "drafts", "source"), rows),
    ]
    return _page(lines)


def _facts(*rows: tuple[str, str]) -> list[str]:
    shown = [f"- {name}: {text}" for name, text in rows if text]
    return [*shown, ""] if shown else []


def _shapes(shapes: Mapping[str, Any]) -> str:
    return "; ".join(f"`{name}` {_values(value)}" for name, value in shapes.items()) or "every"


def _values(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"`{name}` {_values(item)}" for name, item in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _links(addresses: Iterable[str]) -> str:
    return ", ".join(f"[{_short(each)}]({each})" for each in addresses)


def _short(address: str) -> str:
    """An address as people say it."""
    words = address.removeprefix("https://").rstrip("/").split("/")
    if words[0] == "github.com" and len(words) > 4 and words[3] in ("issues", "pull"):
        return f"{words[1]}/{words[2]}#{words[4].partition('#')[0]}"
    return f"{words[0]}: {words[-1]}" if len(words) > 1 else words[0]


def _table(head: Words, rows: Iterable[Words]) -> list[str]:
    rule = "|" + "---|" * len(head)
    body = ["| " + " | ".join(row) + " |" for row in rows]
    return ["| " + " | ".join(head) + " |", rule, *body, ""]


def _line(text: str) -> str:
    return " ".join(text.split())


def _page(lines: Iterable[str]) -> str:
    return "\n".join(lines).rstrip() + "\n"
