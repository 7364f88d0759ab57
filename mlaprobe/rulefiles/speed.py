"""What is known of the speed of two native ways: ``rules/speed.yaml``."""

from __future__ import annotations

from dataclasses import dataclass

from mlaprobe.core.caches import Cache, cached
from mlaprobe.core.enums import TextEnum
from mlaprobe.core.shape import DecodeShape
from mlaprobe.rulefiles.loader import load_rules
from mlaprobe.rulefiles.parts import REFERENCES, SLUG, unique_by_id
from mlaprobe.rulefiles.pattern import PATTERN, Pattern
from mlaprobe.rulefiles.schema import Record, Text


class Between(TextEnum):
    """What two ways differ in."""

    MODE = "mode"
    ROUTE = "route"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownSpeed:
    """What was measured of two ways."""

    id: str
    between: Between
    pattern: Pattern
    text: str
    reference: tuple[str, ...]


SCHEMA = Record(
    required={
        "known": unique_by_id(
            Record(
                required={
                    "id": SLUG,
                    "between": Text(choices=tuple(map(str, Between))),
                    "text": Text(),
                    "reference": REFERENCES,
                },
                optional={"shapes": PATTERN},
            )
        )
    }
)


@cached(Cache.RULES)
def _all() -> tuple[KnownSpeed, ...]:
    return tuple(
        KnownSpeed(
            id=entry["id"],
            between=Between(entry["between"]),
            pattern=Pattern(entry.get("shapes", {})),
            text=entry["text"],
            reference=tuple(entry["reference"]),
        )
        for entry in load_rules("speed", SCHEMA)["known"]
    )


def known_speeds(shape: DecodeShape, between: Between) -> tuple[KnownSpeed, ...]:
    """What is known of a shape's two ways.

    Raises:
        RuleError: the rules are wrong.
    """
    return tuple(e for e in _all() if e.between is between and e.pattern.matches(shape))
