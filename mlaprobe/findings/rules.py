"""The rules about one AITER, ``rules/findings/*.yaml``, and which facts each of them means.

A rule says which kind of fact it is about, what the fact's fields must be, what makes two facts
one finding, and its message.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Any

from mlaprobe.core.caches import Cache, cached
from mlaprobe.core.enums import Operation
from mlaprobe.findings.facts import Fact
from mlaprobe.findings.model import Level, Rule
from mlaprobe.rulefiles.loader import Place, load_rules, rule_names
from mlaprobe.rulefiles.pattern import Numbers
from mlaprobe.rulefiles.schema import (
    Checked,
    Either,
    Flag,
    ListOf,
    MapOf,
    Nothing,
    Record,
    Text,
    whole,
)

FOLDER = "findings"
SETTINGS = "findings"
_NUMBER_RANGE = re.compile(r"[0-9]+(?:-[0-9]+|\+)")
_LEVELS = tuple(map(str, Level))
OPERATION = "operation"
"""The kind of facts about what is no decode."""
KINDS = ("chain", "shape", "row", "argument", "flag", "signature", "buffer", OPERATION)
"""What facts are about."""
_VALUE = Either(Text(), whole(), Flag(), Nothing())
_WHEN = MapOf(ListOf(_VALUE, at_least=1, unique=True))


def _is_template(value: str, place: Place, where: str) -> None:
    """Checks that a message is text with fields in braces."""
    try:
        list(Formatter().parse(value))
    except ValueError as error:
        raise place.error(f"{where}: no template: {error}") from None


SCHEMA = Record(
    required={
        "id": Text(pattern=r"MLA[0-9]{3}", form="an id like MLA001"),
        "title": Text(),
        "level": Text(choices=_LEVELS),
        "about": ListOf(Text(choices=KINDS), at_least=1, unique=True),
        "when": _WHEN,
        "message": Checked(Text(), _is_template),
        "why": Text(),
        "fix": Text(),
    },
    optional={
        "group": ListOf(Text(), at_least=1, unique=True),
        "levels": ListOf(
            Record(
                required={"when": _WHEN, "level": Text(choices=_LEVELS)},
                optional={"together": Flag()},
            ),
            at_least=1,
        ),
    },
)
_NAMED = ListOf(MapOf(Text()), at_least=1)
SETTINGS_SCHEMA = Record(
    required={
        "rows": Record(required={"module": Text(), "columns": MapOf(ListOf(whole(0)))}),
        "knobs": Record(required={"ignored": ListOf(Text(), unique=True)}),
        "arguments": _NAMED,
        "functions": _NAMED,
        "buffers": Record(
            required={
                "bound_bytes": whole(1),
                "batch": whole(1),
                "splits_per_batch": whole(1),
                "devices": MapOf(MapOf(whole(1))),
            }
        ),
    }
)


@dataclass(frozen=True, slots=True)
class Match:
    """Values that fields may have."""

    fields: tuple[tuple[str, tuple[Any, ...]], ...]

    @classmethod
    def of(cls, written: Mapping[str, Any]) -> Match:
        """As a rule file writes it."""
        return cls(tuple((name, tuple(values)) for name, values in written.items()))

    def __call__(self, values: Mapping[str, Any]) -> bool:
        return all(_allowed(_get(values, name), allowed) for name, allowed in self.fields)


def _get(values: Mapping[str, Any], name: str) -> Any:
    found: Any = values
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _allowed(value: Any, allowed: Iterable[Any]) -> bool:
    for each in allowed:
        if each == "*" and value is not None:
            return True
        if each == value and isinstance(each, bool) == isinstance(value, bool):
            return True
        if isinstance(each, str) and type(value) is int and _NUMBER_RANGE.fullmatch(each):
            return value in Numbers.of((each,))
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Otherwise:
    """Facts that a rule takes otherwise."""

    match: Match
    level: Level
    together: bool
    """Whether all of them are one finding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingRule:
    """A rule, ready to be applied."""

    rule: Rule
    about: frozenset[str]
    """The kinds of facts that it is about."""
    match: Match
    message: str
    group: tuple[str, ...]
    """Facts that differ in these fields are different findings."""
    otherwise: tuple[Otherwise, ...]

    def concerns(self, op: Operation) -> bool:
        """Whether it is about an operation: a rule is about decodes, or about all others."""
        return (OPERATION in self.about) is not (op is Operation.DECODE)

    def means(self, fact: Fact) -> bool:
        """Whether a fact is a finding."""
        return fact.about in self.about and self.match(fact.values)

    def looks_at(self, name: str) -> bool:
        """Whether a field decides."""
        return any(name == field for field, _ in self.match.fields)

    def otherwise_for(self, fact: Fact) -> Otherwise | None:
        """How this fact is taken otherwise."""
        return next((each for each in self.otherwise if each.match(fact.values)), None)

    def key(self, fact: Fact) -> tuple[Any, ...]:
        """What makes facts one finding."""
        return tuple(str(fact.values.get(name)) for name in self.group)

    def describe(self, values: Mapping[str, Any]) -> str:
        """The message."""
        return " ".join(self.message.format_map(_Fields(values)).split())


class _Fields(dict[str, Any]):
    """Fields of a message. One that a fact does not have is a fault of the rule, and is seen."""

    def __missing__(self, key: str) -> str:
        return f"{{{key}}}"


@cached(Cache.RULES)
def finding_rules() -> tuple[FindingRule, ...]:
    """All rules, by id."""
    return tuple(_rule(name) for name in rule_names(FOLDER))


def _rule(name: str) -> FindingRule:
    loaded = load_rules(name, SCHEMA)
    if name.rpartition("/")[2] != loaded["id"]:
        raise loaded.places["id"].error(f"the file of {loaded['id']} is named {name}")
    return FindingRule(
        rule=Rule.of(loaded),
        about=frozenset(loaded["about"]),
        match=Match.of(loaded["when"]),
        message=loaded["message"],
        group=tuple(loaded.get("group", ())),
        otherwise=tuple(
            Otherwise(
                match=Match.of(entry["when"]),
                level=Level(entry["level"]),
                together=entry.get("together", False),
            )
            for entry in loaded.get("levels", ())
        ),
    )


@cached(Cache.RULES)
def settings() -> Mapping[str, Any]:
    """What the facts are gathered with: ``rules/findings.yaml``."""
    return load_rules(SETTINGS, SETTINGS_SCHEMA)
