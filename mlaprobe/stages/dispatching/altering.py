"""Arguments of a call that are not as a valid caller gives them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlaprobe.rulefiles.variations import Argument, Arguments
from mlaprobe.stages.environment.dtypes import dtype_for
from mlaprobe.stages.environment.tensors import Tensor


def altered_values(values: Mapping[str, Any], arguments: Arguments, arch: str) -> Mapping[str, Any]:
    """The arguments of a call by what they mean, with some of them otherwise."""
    changed = {role: _altered(values.get(role), other, arch) for role, other in arguments}
    return {**values, **changed}


def _altered(value: Any, other: Argument, arch: str) -> Any:
    if other.absent or other.number is not None:
        return other.number
    if not isinstance(value, Tensor):
        return value
    shape = value.shape if other.width is None else (*value.shape[:-1], other.width)
    dtype = value.dtype if other.dtype is None else dtype_for(other.dtype, arch)
    return Tensor(value.name, shape, dtype, sliced=other.sliced)
