"""What a caller tells AITER's planner."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from mlaprobe.core.dtypes import Dtype
from mlaprobe.core.inputs import flag, shown, whole
from mlaprobe.errors import UsageError

_put = object.__setattr__


class _Same:
    """Marks "as the shape has it" where ``None`` already means "left out by the caller"."""

    def __repr__(self) -> str:
        return "SAME"

    def __reduce__(self) -> str:
        return "SAME"


SAME = _Same()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannerCall:
    """What the caller tells the planner, where that differs from what it launches.

    Numbers, flags and dtypes may be given as text, as configuration files have them.
    """

    q_dtype: Dtype | _Same | None = SAME
    """Query dtype; ``None`` when the caller leaves it out."""
    kv_dtype: Dtype | _Same | None = SAME
    """KV cache dtype; ``None`` when the caller leaves it out."""
    num_heads: int | _Same = SAME
    """Query heads given to sizing and planner."""
    qlen: int | _Same = SAME
    """``max_seqlen_qo`` given to sizing and planner."""
    uniform_qlen: int | _Same = SAME
    """AITER's ``uni_seqlen_qo``; -1 where the caller leaves it out, normally the qlen."""
    fast_mode: bool = True
    """AITER's ``fast_mode``: metadata that is quick to make."""
    intra_batch_mode: bool = False
    """AITER's ``intra_batch_mode``, also given to the dispatcher: every request is split alike."""
    max_split_per_batch: int = -1
    """The most parts that a request's KV is split into; -1: no limit."""
    cp_round_robin: bool | _Same = SAME
    """AITER's ``is_cp_round_robin``."""

    def __post_init__(self) -> None:
        for name, read in _READ.items():
            value = getattr(self, name)
            if value is not SAME:
                _put(self, name, read(value, f"planner {name}"))

    @property
    def overrides(self) -> dict[str, Any]:
        """The fields that are not as usual, in their order, with their values."""
        return {n: value for n, usual in _USUAL if (value := getattr(self, n)) != usual}

    @classmethod
    def of(cls, value: PlannerCall | Mapping[str, Any] | None) -> PlannerCall:
        """A ``PlannerCall`` from a mapping with any of its fields.

        Raises:
            UsageError: it is no mapping, a key is no field, or a value is none of its field.
        """
        if value is None:
            return cls()
        if isinstance(value, PlannerCall):
            return value
        if not isinstance(value, Mapping):
            raise UsageError(f"planner must be a mapping of its fields, got {shown(value)}")
        known = cls.__dataclass_fields__
        unknown = next((key for key in value if key not in known), None)
        if unknown is not None:
            raise UsageError(
                f"unknown planner field {shown(unknown)}",
                hint="planner takes " + ", ".join(known),
            )
        return cls(**value)


_Reader = Callable[[object, str], Any]
_READ: Mapping[str, _Reader] = {
    "q_dtype": lambda value, what: None if value is None else Dtype.of(value),
    "kv_dtype": lambda value, what: None if value is None else Dtype.of_cache(value),
    **dict.fromkeys(("num_heads", "qlen"), partial(whole, text=True)),
    **dict.fromkeys(("uniform_qlen", "max_split_per_batch"), partial(whole, unset=-1, text=True)),
    **dict.fromkeys(("fast_mode", "intra_batch_mode", "cp_round_robin"), partial(flag, text=True)),
}
_USUAL = tuple((name, spec.default) for name, spec in PlannerCall.__dataclass_fields__.items())
