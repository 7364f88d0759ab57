"""What a launch needs beyond the right head count: ``rules/launch.yaml``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mlaprobe.core.caches import Cache, cached
from mlaprobe.core.needs import Setting as Setting
from mlaprobe.core.shape import DecodeShape
from mlaprobe.rulefiles.loader import load_rules
from mlaprobe.rulefiles.parts import REFERENCES, SLUG, unique_by_id
from mlaprobe.rulefiles.pattern import PATTERN, Pattern
from mlaprobe.rulefiles.schema import Either, Flag, MapOf, Record, Text, whole

_WORDS = ("$heads", "$q_dtype", "$kv_dtype", "$qlen", "$page_size", "$num_kv_splits")
VALUE = Either(
    Flag(),
    whole(-1),
    Text(pattern=r"[^$].*|" + "|".join(w.replace("$", r"\$") for w in _WORDS), form="a value"),
)
SCHEMA = Record(
    required={
        "needs": unique_by_id(
            Record(
                required={"id": SLUG, "text": Text(), "reference": REFERENCES},
                optional={
                    "when": PATTERN,
                    "padded": Flag(),
                    "one_split": Flag(),
                    "shown_by": SLUG,
                    "set": MapOf(VALUE),
                    "at_least": MapOf(VALUE),
                },
            )
        )
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchNeed:
    """One thing that a launch needs."""

    id: str
    text: str
    """What to do, and why."""
    settings: tuple[tuple[str, Setting], ...]
    """AITER's parameter names and what to pass; a tuple holds one value per query length."""
    reference: tuple[str, ...]
    shown_by: str | None = field(default=None, repr=False)
    """The variation that shows the same where it makes a difference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NeedRule:
    """When something is needed, and what."""

    id: str
    text: str
    reference: tuple[str, ...]
    pattern: Pattern
    padded: bool | None
    one_split: bool | None
    values: tuple[tuple[str, Any], ...]
    at_least: Mapping[str, Any]
    shown_by: str | None


@cached(Cache.RULES)
def need_rules() -> tuple[NeedRule, ...]:
    """All rules of the file, in their order."""
    return tuple(
        NeedRule(
            id=need["id"],
            text=need["text"],
            reference=tuple(need["reference"]),
            pattern=Pattern(need.get("when", {})),
            padded=need.get("padded"),
            one_split=need.get("one_split"),
            values=tuple(need.get("set", {}).items()),
            at_least=need.get("at_least", {}),
            shown_by=need.get("shown_by"),
        )
        for need in load_rules("launch", SCHEMA)["needs"]
    )


def needs(
    shape: DecodeShape,
    *,
    padded: bool = False,
    one_split: bool = False,
    qlens: tuple[int, ...] | None = None,
) -> tuple[LaunchNeed, ...]:
    """What it takes to launch a shape, in the order of the rules.

    Args:
        shape: the shape as launched, after padding.
        padded: whether its heads are padded.
        one_split: whether the log-sum-exp is lost where AITER comes to one KV split.
        qlens: all query lengths that the kernels of the run are launched with; left out: the
            shape's."""
    words = _words(shape, qlens)
    return tuple(
        LaunchNeed(
            id=rule.id,
            text=rule.text,
            settings=tuple(_settings(rule, words)),
            reference=rule.reference,
            shown_by=rule.shown_by,
        )
        for rule in need_rules()
        if rule.padded in (None, padded)
        and rule.one_split in (None, one_split)
        and rule.pattern.matches(shape)
    )


def meant_settings(
    written: Iterable[tuple[str, Any]], shape: DecodeShape
) -> tuple[tuple[str, Setting], ...]:
    """What a file sets, for a shape as launched."""
    words = _words(shape, None)
    return tuple((name, _meant(value, words)) for name, value in written)


def _words(shape: DecodeShape, qlens: tuple[int, ...] | None) -> Mapping[str, Setting]:
    return {
        "$heads": shape.num_heads,
        "$q_dtype": str(shape.q_dtype),
        "$kv_dtype": str(shape.kv_dtype),
        "$qlen": shape.qlen if qlens is None or len(qlens) == 1 else qlens,
        "$page_size": shape.page_size,
        "$num_kv_splits": shape.num_kv_splits or 0,
    }


def _settings(rule: NeedRule, words: Mapping[str, Setting]) -> Iterator[tuple[str, Setting]]:
    for name, written in rule.values:
        value = _meant(written, words)
        least = _meant(rule.at_least.get(name, value), words)
        if isinstance(value, int) and isinstance(least, int):
            value = max(value, least)
        yield name, value


def _meant(written: Any, words: Mapping[str, Setting]) -> Setting:
    found: Setting = words.get(written, written) if isinstance(written, str) else written
    return found


def settings(found: tuple[LaunchNeed, ...]) -> dict[str, Setting]:
    """All parameters that the needs set; a later need replaces the values of an earlier one."""
    return {name: value for need in found for name, value in need.settings}
