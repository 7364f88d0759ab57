"""What is tried on launches that run, one thing at a time: ``rules/variations.yaml``."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from mlaprobe.core.caches import Cache, cached
from mlaprobe.core.needs import Consequence, Need
from mlaprobe.core.shape import DecodeShape
from mlaprobe.rulefiles.loader import RuleMap, load_rules
from mlaprobe.rulefiles.parts import REFERENCES, SLUG, planner_overrides, unique_by_id
from mlaprobe.rulefiles.pattern import PATTERN, Pattern
from mlaprobe.rulefiles.requirements import VALUE, meant_settings
from mlaprobe.rulefiles.schema import Either, Flag, ListOf, MapOf, Nothing, Record, Text, whole

_TENSOR = Record(
    optional={
        "dtype": Text(choices=("bf16", "fp16", "fp32", "fp8", "byte")),
        "width": whole(1),
        "sliced": Flag(),
    }
)
_PLANNER = Record(
    optional={
        **planner_overrides(-1).optional,
        "q_dtype": Nothing(),
        "kv_dtype": Nothing(),
        "qlen": whole(1),
        "uniform_qlen": whole(-1),
    }
)
SCHEMA = Record(
    required={
        "variations": unique_by_id(
            Record(
                required={"id": SLUG, "change": Text(), "need": Text()},
                optional={
                    "when": PATTERN,
                    "arguments": MapOf(Either(Text(choices=("absent",)), whole(0), _TENSOR)),
                    "planner": _PLANNER,
                    "shape": Record(optional={"lse": Flag()}),
                    "quiet": ListOf(Text(choices=("kernel",)), unique=True),
                    "unless": ListOf(SLUG, at_least=1, unique=True),
                    "set": MapOf(VALUE),
                    "reference": REFERENCES,
                },
            )
        )
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """What an argument of a call is instead of what a valid caller passes."""

    number: int | None = None
    """This number; ``None`` for a tensor."""
    absent: bool = False
    """Whether it is left out."""
    dtype: str | None = None
    """The tensor's; ``None``: as it is."""
    width: int | None = None
    """The tensor's last dimension; ``None``: as it is."""
    sliced: bool = False
    """Whether the tensor is a part of wider rows."""

    @classmethod
    def of(cls, written: Any) -> Argument:
        """As the file has it (checked before, by the schema)."""
        if isinstance(written, RuleMap):
            return cls(**written)
        return cls(absent=True) if written == "absent" else cls(number=written)


Arguments = tuple[tuple[str, Argument], ...]
"""By what the arguments mean (``layouts.yaml``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variation:
    """One thing that is otherwise."""

    id: str
    change: str
    """What is otherwise."""
    need: str
    """What to do where it makes a difference."""
    pattern: Pattern
    """The launches on which it is tried."""
    arguments: Arguments
    planner: Mapping[str, Any]
    """Fields of the planner call that are otherwise."""
    shape: Mapping[str, Any]
    """Fields of the shape that are otherwise."""
    quiet: frozenset[str]
    """Differences that count for nothing."""
    unless: frozenset[str]
    """Variations, any of which makes this one superfluous where it makes a difference."""
    settings: tuple[tuple[str, Any], ...]
    reference: tuple[str, ...]
    digest: str
    """The same for the same change, whatever is said of it."""

    def applied(self, shape: DecodeShape) -> DecodeShape:
        """The shape that is asked instead; arguments apart."""
        planner = replace(shape.planner, **self.planner) if self.planner else shape.planner
        return replace(shape, planner=planner, **self.shape)

    def shown(self, shape: DecodeShape) -> Need:
        """The need that it shows of a launch, of whose consequence nothing is known yet."""
        return Need(
            id=self.id,
            change=self.change,
            text=self.need,
            outcome=Consequence.UNKNOWN,
            settings=meant_settings(self.settings, shape),
            reference=self.reference,
        )

    def follows_from(self, needs: Collection[str]) -> bool:
        """Whether needs with these ids say as much already."""
        return not self.unless.isdisjoint(needs)

    def tried_on(self, shape: DecodeShape) -> bool:
        """Whether a launch is one to try it on, and would not be the same with it."""
        told = shape.planner.overrides
        if any(name in told for name in self.planner) or not self.pattern.matches(shape):
            return False
        return bool(self.arguments) or self.applied(shape) != shape


@cached(Cache.RULES)
def variations() -> tuple[Variation, ...]:
    """All variations, in the order of the file."""
    return tuple(
        Variation(
            id=entry["id"],
            change=entry["change"],
            need=entry["need"],
            pattern=Pattern(entry.get("when", {})),
            arguments=tuple(
                (role, Argument.of(written)) for role, written in entry.get("arguments", {}).items()
            ),
            planner=entry.get("planner", {}),
            shape=entry.get("shape", {}),
            quiet=frozenset(entry.get("quiet", ())),
            unless=frozenset(entry.get("unless", ())),
            settings=tuple(entry.get("set", {}).items()),
            reference=tuple(entry.get("reference", ())),
            digest=_digest(entry),
        )
        for entry in load_rules("variations", SCHEMA)["variations"]
    )


_TRIED = ("when", "arguments", "planner", "shape", "quiet", "unless")


def _digest(entry: Mapping[str, Any]) -> str:
    tried = json.dumps([entry.get(name) for name in _TRIED], sort_keys=True)
    return sha256(tried.encode()).hexdigest()[:6]


def variation(name: str) -> Variation | None:
    """The variation of that id, where there is one."""
    return next((each for each in variations() if each.id == name), None)
