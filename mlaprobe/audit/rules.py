"""What is known of the places in engines: ``rules/audit.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mlaprobe.core.caches import Cache, cached
from mlaprobe.core.enums import TextEnum
from mlaprobe.core.shape import DecodeShape, Route
from mlaprobe.rulefiles.loader import load_rules
from mlaprobe.rulefiles.parts import SLUG, unique_by_id
from mlaprobe.rulefiles.schema import Flag, ListOf, Record, Text, whole


class Claim(TextEnum):
    """What a constant says about AITER; ``rules/audit.yaml`` has the meanings."""

    HEADS = "heads"
    LENGTHS = "lengths"
    LONGEST = "longest"
    SHORTEST = "shortest"
    LEAST = "least"
    MOST = "most"
    BYTES = "bytes"
    PAGE = "page"
    MERGED = "merged"
    TEXT = "text"


_NAMES = ListOf(Text(), at_least=1, unique=True)
_SHAPE = Record(
    required={"arch": _NAMES, "dtype": Text(pattern="[a-z0-9]+/[a-z0-9]+", form="a dtype pair")},
    optional={
        **dict.fromkeys(("heads", "qlen"), whole(1)),
        **dict.fromkeys(("lse", "persistent", "causal", "cp_round_robin"), Flag()),
        "route": Text(choices=tuple(map(str, Route))),
    },
)
SCHEMA = Record(
    required={
        "calls": _NAMES,
        "places": unique_by_id(
            Record(
                required={
                    "id": SLUG,
                    "names": _NAMES,
                    "text": Text(),
                    "claim": Text(choices=tuple(map(str, Claim))),
                },
                optional={"shape": _SHAPE, "unfolded": Flag(), "file": Text()},
            )
        ),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceRule:
    """A kind of place."""

    id: str
    names: tuple[str, ...]
    """Of the constant; of a claim about a text, the text."""
    text: str
    """What it decides, in words."""
    claim: Claim
    archs: tuple[str, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Of the shape besides its arch."""
    unfolded: bool = False
    file: str = ""
    """Of AITER, where a text is looked for."""

    def shape(self, arch: str, **more: Any) -> DecodeShape:
        """The shape that is claimed to run, with the arch and other numbers."""
        return DecodeShape(**{"num_heads": 16, **self.fields, "arch": arch, **more})


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRules:
    """The whole file."""

    calls: tuple[str, ...]
    places: tuple[PlaceRule, ...]

    def of(self, name: str) -> PlaceRule | None:
        """The rule for a constant or a text."""
        return next((rule for rule in self.places if name in rule.names), None)


@cached(Cache.RULES)
def audit_rules() -> AuditRules:
    """The rules.

    Raises:
        RuleError: the file is wrong.
    """
    data = load_rules("audit", SCHEMA)
    return AuditRules(calls=tuple(data["calls"]), places=tuple(map(_rule, data["places"])))


def _rule(entry: Mapping[str, Any]) -> PlaceRule:
    shape = dict(entry.get("shape", {}))
    archs = tuple(shape.pop("arch", ()))
    fields: dict[str, Any] = {"num_heads" if k == "heads" else k: v for k, v in shape.items()}
    if "dtype" in fields:
        fields["q_dtype"], fields["kv_dtype"] = fields.pop("dtype").split("/")
    return PlaceRule(
        id=entry["id"],
        names=tuple(entry["names"]),
        text=entry["text"],
        claim=Claim(entry["claim"]),
        archs=archs,
        fields=fields,
        unfolded=entry.get("unfolded", False),
        file=entry.get("file", ""),
    )
