"""Parts of schemas that several rule files have in common."""

from __future__ import annotations

from mlaprobe.rulefiles.loader import Place, RuleList
from mlaprobe.rulefiles.schema import Checked, Flag, ListOf, Record, Schema, Text, whole

REFERENCES = ListOf(Text(pattern=r"https://\S+", form="an address"), at_least=1, unique=True)
SLUG = Text(pattern=r"[a-z0-9][a-z0-9.-]*", form="an id like aiter-4363")


def unique_by(key: str, what: str, item: Schema) -> Schema:
    """A list of at least one mapping, no two of which have the same text under a key.

    Args:
        what: what has the key, for the message.
    """

    def differ(value: RuleList, place: Place, where: str) -> None:
        lines: dict[str, int] = {}
        for each in value:
            at, name = each.places[key], each[key]
            if name in lines:
                hint = f"it stands in line {lines[name]} already"
                raise at.error(f"the {what} {name!r} is there twice", hint)
            lines[name] = at.line

    return Checked(ListOf(item, at_least=1), differ)


def unique_by_id(item: Schema) -> Schema:
    """A list of at least one mapping, each with an ``id`` of its own."""
    return unique_by("id", "id", item)


def planner_overrides(least_split: int) -> Record:
    """The overrides of a planner call besides the launch.

    Args:
        least_split: the smallest limit of splits per batch.
    """
    return Record(
        optional={
            "fast_mode": Flag(),
            "intra_batch_mode": Flag(),
            "max_split_per_batch": whole(least_split),
            "cp_round_robin": Flag(),
        }
    )
