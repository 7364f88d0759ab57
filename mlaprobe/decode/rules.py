"""What a decode run goes by: ``rules/decode.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from mlaprobe.rulebook import load_rules
from mlaprobe.ruleparts import REFERENCES
from mlaprobe.schema import MapOf, Number, Record, Text
from mlaprobe.shape import Dtype

_VARIANT = Text(choices=("float8_e4m3fn", "float8_e4m3fnuz"))
_ARCH = Text(pattern="gfx[0-9a-f]+", form="an arch like gfx950")
SCHEMA = Record(
    required={
        "fp8": Record(
            required={
                "otherwise": _VARIANT,
                "archs": MapOf(_VARIANT, _ARCH),
                "reference": REFERENCES,
            }
        ),
        "tolerance": Record(
            required={"bf16": Number(0), "fp8": Number(0), "reference": REFERENCES}
        ),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The rules, as values."""

    fp8: Mapping[str, str]
    """By arch, which of torch's dtypes fp8 is."""
    fp8_otherwise: str
    tolerances: Mapping[Dtype, float]
    """By data type, how far an output may be from the reference."""

    def fp8_of(self, arch: str) -> str:
        """The name of torch's dtype that fp8 is on an arch."""
        return self.fp8.get(arch, self.fp8_otherwise)

    def tolerance(self, q_dtype: Dtype, kv_dtype: Dtype) -> float:
        """How far an output may be from the reference: that of the coarser data type."""
        return max(self.tolerances[dtype] for dtype in (q_dtype, kv_dtype))


@lru_cache(maxsize=1)
def rules() -> Rules:
    """The rules.

    Raises:
        RuleError: they are wrong.
    """
    loaded = load_rules("decode", SCHEMA)
    tolerance = loaded["tolerance"]
    return Rules(
        fp8=dict(loaded["fp8"]["archs"]),
        fp8_otherwise=loaded["fp8"]["otherwise"],
        tolerances={dtype: tolerance[dtype.value] for dtype in (Dtype.BF16, Dtype.FP8)},
    )
