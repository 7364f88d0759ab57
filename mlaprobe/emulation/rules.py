"""What emulated launches go by: ``rules/emulation.yaml``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from mlaprobe.rulefiles.loader import load_rules
from mlaprobe.rulefiles.schema import Record, whole

SCHEMA = Record(
    required={
        "cost": Record(
            required={
                "per_token": whole(1),
                "per_workgroup": whole(1),
                "us": whole(1),
                "most_seconds": whole(1),
                "most_seconds_auto": whole(1),
            }
        ),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The rules, as values."""

    per_token: int
    """Instructions for each KV token that a workgroup reads."""
    per_workgroup: int
    """Instructions for each workgroup besides."""
    us: int
    """Microseconds of an instruction on a slow core."""
    most_seconds: int
    """The longest emulation that is not refused."""
    most_seconds_auto: int
    """The longest one that nobody asked for."""


@lru_cache(maxsize=1)
def rules() -> Rules:
    """The rules.

    Raises:
        RuleError: they are wrong.
    """
    return Rules(**load_rules("emulation", SCHEMA)["cost"])
