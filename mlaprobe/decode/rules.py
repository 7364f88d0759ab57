"""What a decode run goes by: ``rules/decode.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from mlaprobe.rulebook import load_rules
from mlaprobe.ruleparts import REFERENCES
from mlaprobe.schema import Number, Record
from mlaprobe.shape import Dtype

_LIMITS = Record(
    required={
        "value": Number(0),
        "share": Number(0, 1),
        "rmse": Number(0),
        "reference": REFERENCES,
    }
)
SCHEMA = Record(required={"tolerance": Record(required={"bf16": _LIMITS, "fp8": _LIMITS})})


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """How far a result may be from the reference."""

    value: float
    """By so much may an output value differ, plus by that share of the reference; so may a
    log-sum-exp, absolutely."""
    share: float
    """The part of all values that may differ by more."""
    rmse: float
    """The largest relative RMSE."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The rules, as values."""

    tolerances: Mapping[Dtype, Tolerance]
    """By data type."""

    def tolerance(self, q_dtype: Dtype, kv_dtype: Dtype) -> Tolerance:
        """How far a result may be from the reference: that of the coarser data type."""
        return max((self.tolerances[d] for d in (q_dtype, kv_dtype)), key=lambda t: t.value)


@lru_cache(maxsize=1)
def rules() -> Rules:
    """The rules.

    Raises:
        RuleError: they are wrong.
    """
    found = load_rules("decode", SCHEMA)["tolerance"]
    return Rules(
        tolerances={
            dtype: Tolerance(
                **{name: float(found[dtype.value][name]) for name in ("value", "share", "rmse")}
            )
            for dtype in (Dtype.BF16, Dtype.FP8)
        }
    )
