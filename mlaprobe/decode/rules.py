"""What a decode run goes by: ``rules/decode.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mlaprobe.core.accuracy import Tolerance
from mlaprobe.core.caches import Cache, cached
from mlaprobe.core.shape import Dtype, Route
from mlaprobe.padding.request import Mode
from mlaprobe.rulefiles.loader import RuleMap, load_rules
from mlaprobe.rulefiles.parts import REFERENCES, SLUG, unique_by_id
from mlaprobe.rulefiles.schema import Flag, ListOf, Number, Record, Text, whole

_LIMITS = Record(
    required={
        "value": Number(0),
        "share": Number(0, 1),
        "rmse": Number(0),
        "reference": REFERENCES,
    }
)
_TEST = Record(
    required={
        "id": SLUG,
        "heads": whole(1),
        "dtype": Text(pattern="(?:bf16|fp8)/(?:bf16|fp8)", form="a dtype pair like fp8/fp8"),
        "batch": whole(1),
        "kv_lens": ListOf(whole(1), at_least=1),
    },
    optional={
        "qlen": whole(1),
        "page_size": whole(1),
        "lse": Flag(),
        "persistent": Flag(),
        "mode": Text(choices=tuple(map(str, Mode))),
        "route": Text(choices=tuple(map(str, Route))),
    },
)
SCHEMA = Record(
    required={
        "tolerance": Record(required={"bf16": _LIMITS, "fp8": _LIMITS}),
        "arch": Text(pattern="gfx[0-9a-f]+", form="an arch like gfx950"),
        "selftest": unique_by_id(_TEST),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfTest:
    """A shape of the self-test."""

    id: str
    heads: int
    q_dtype: Dtype
    kv_dtype: Dtype
    kv_lens: tuple[int, ...]
    """KV tokens of each request."""
    qlen: int = 1
    page_size: int = 1
    lse: bool = False
    persistent: bool = True
    mode: Mode = Mode.AUTO
    route: Route = Route.ASM


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The rules, as values."""

    tolerances: Mapping[Dtype, Tolerance]
    """By data type."""
    arch: str
    """Of plans, where nothing says another."""
    selftest: tuple[SelfTest, ...]

    def tolerance(self, q_dtype: Dtype, kv_dtype: Dtype) -> Tolerance:
        """How far a result may be from the reference: that of the coarser data type."""
        return max((self.tolerances[d] for d in (q_dtype, kv_dtype)), key=lambda t: t.value)


@cached(Cache.RULES)
def rules() -> Rules:
    """The rules."""
    loaded = load_rules("decode", SCHEMA)
    limits = loaded["tolerance"]
    return Rules(
        tolerances={
            dtype: Tolerance(
                **{name: float(limits[dtype.value][name]) for name in ("value", "share", "rmse")}
            )
            for dtype in (Dtype.BF16, Dtype.FP8)
        },
        arch=loaded["arch"],
        selftest=tuple(map(_test, loaded["selftest"])),
    )


def _test(entry: RuleMap) -> SelfTest:
    lengths, batch = entry["kv_lens"], entry["batch"]
    if len(lengths) not in (1, batch):
        raise entry.places["kv_lens"].error(
            f"{entry['id']}: {len(lengths)} KV lengths for a batch of {batch}"
        )
    q_dtype, kv_dtype = map(Dtype, entry["dtype"].split("/"))
    others = {
        name: entry[name] for name in ("qlen", "page_size", "lse", "persistent") if name in entry
    }
    return SelfTest(
        id=entry["id"],
        heads=entry["heads"],
        q_dtype=q_dtype,
        kv_dtype=kv_dtype,
        kv_lens=tuple(lengths) if len(lengths) == batch else (lengths[0],) * batch,
        mode=Mode(entry.get("mode", Mode.AUTO)),
        route=Route(entry.get("route", Route.ASM)),
        **others,
    )
