"""How far the resolver goes: ``rules/policy.yaml``."""

from __future__ import annotations

from dataclasses import dataclass

from mlaprobe.core.caches import Cache, cached
from mlaprobe.core.shape import Dtype
from mlaprobe.rulefiles.cost import MODEL, CostModel, model_of
from mlaprobe.rulefiles.loader import load_rules
from mlaprobe.rulefiles.parts import REFERENCES
from mlaprobe.rulefiles.schema import ListOf, Number, Record, Text, whole

_WHOLES = ListOf(whole(1), at_least=1, unique=True)
SCHEMA = Record(
    required={
        "heads": Record(
            required={
                "multiple": whole(1),
                "largest": whole(1),
                "growth": Number(1),
                "reference": REFERENCES,
            }
        ),
        "gluon": Record(
            required={
                "heads": _WHOLES,
                "qlens": _WHOLES,
                "kv_dtype": Text(choices=tuple(map(str, Dtype))),
                "batches": _WHOLES,
                "reference": REFERENCES,
            }
        ),
        "rows": Record(required={"lengths": _WHOLES, "reference": REFERENCES}),
        "cost": MODEL,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The policy, as values."""

    multiple: int
    """The unpadded rule: up to the next multiple of this."""
    largest: int
    """Nothing is padded above so many heads, nor to more."""
    growth: float
    """``auto`` pads to at most so many times the heads launched otherwise."""
    gluon_heads: frozenset[int]
    """Head counts that take gluon by themselves."""
    gluon_qlens: frozenset[int]
    gluon_kv_dtype: Dtype
    gluon_batches: tuple[int, ...]
    """Batch sizes that must be accepted where the caller names none."""
    ride_lengths: tuple[int, ...]
    """Kernel lengths that shorter queries may be padded to on request; ascending."""
    cost: CostModel

    def unpadded(self, num_heads: int) -> int:
        """The head count launched without any padding to a native one."""
        return -(-num_heads // self.multiple) * self.multiple


@cached(Cache.RULES)
def policy() -> Policy:
    """The policy."""
    rules = load_rules("policy", SCHEMA)
    heads, gluon = rules["heads"], rules["gluon"]
    return Policy(
        multiple=heads["multiple"],
        largest=heads["largest"],
        growth=heads["growth"],
        gluon_heads=frozenset(gluon["heads"]),
        gluon_qlens=frozenset(gluon["qlens"]),
        gluon_kv_dtype=Dtype(gluon["kv_dtype"]),
        gluon_batches=tuple(gluon["batches"]),
        ride_lengths=tuple(sorted(rules["rows"]["lengths"])),
        cost=model_of(rules["cost"]),
    )
