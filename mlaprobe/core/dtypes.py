"""Data types under the names that AITER, PyTorch and serving engines give them."""

from __future__ import annotations

from mlaprobe.core.enums import TextEnum
from mlaprobe.core.inputs import shown
from mlaprobe.errors import UsageError


class Dtype(TextEnum):
    """A data type of the query or the KV cache, by the name AITER's kernel table uses."""

    BF16 = "bf16"
    FP16 = "fp16"
    FP8 = "fp8"
    BYTE = "byte"

    @classmethod
    def of(cls, value: object) -> Dtype:
        """A ``Dtype`` from a name, a member or a torch dtype (recognised by its name, so that
        torch is never imported).

        Raises:
            UsageError: the value names no data type that MLA decode knows.
        """
        name = _name(value)
        known = _NAMES.get(name)
        if known is not None:
            return known
        if name == AUTO:
            raise UsageError(
                "the data type 'auto' stands for that of the query, and is for a KV cache only",
                hint=_HINT,
            )
        hint = _HINT
        if "e5m2" in name:
            hint = "AITER's MLA kernels read e4m3; serve with an fp8_e4m3 cache"
        raise UsageError(f"unknown data type {shown(value if name == '' else name)}", hint=hint)

    @classmethod
    def of_cache(cls, value: object, q_dtype: Dtype | None = None) -> Dtype:
        """The data type of a KV cache, as ``of``, and also under serving engines' names.

        ``auto`` is as the query. A pair holds the dtype of the cache's tensor and the engine's word
        for it, ``(torch.uint8, "fp8_e4m3")``: engines keep fp8 in tensors of bytes, and the word
        says what the bytes are. Bytes alone are bytes.

        Args:
            q_dtype: the query's; ``None``: there is none that ``auto`` could stand for.

        Raises:
            UsageError: it is no such data type, or tensor and word contradict each other.
        """
        if type(value) is cls:
            return value
        if isinstance(value, (tuple, list)):
            return cls._stored(value, q_dtype)
        if q_dtype is not None and _name(value) == AUTO:
            return q_dtype
        return cls.of(value)

    @classmethod
    def _stored(cls, pair: tuple[object, ...] | list[object], q_dtype: Dtype | None) -> Dtype:
        if len(pair) != 2:
            raise UsageError(
                f"unknown data type {shown(pair)}",
                hint="a pair holds the tensor's dtype and the engine's word: (uint8, \"fp8\")",
            )
        tensor, word = pair
        held = cls.of(tensor)
        if _name(word) == AUTO:  # nothing was converted
            return held
        meant = cls.of_cache(word, q_dtype)
        if held not in (meant, cls.BYTE) or (held is cls.BYTE and meant not in _IN_BYTES):
            raise UsageError(f"a KV cache of {held} does not hold {meant}", hint=_HINT)
        return meant


AUTO = "auto"
_HINT = "use one of bf16, fp16, fp8, byte"
_IN_BYTES = (Dtype.FP8, Dtype.BYTE)
_NAMES: dict[str, Dtype] = {
    **dict.fromkeys(("bf16", "bfloat16"), Dtype.BF16),
    **dict.fromkeys(("fp16", "float16", "half"), Dtype.FP16),
    **dict.fromkeys(("fp8", "fp8_e4m3", "fp8_e4m3fn", "fp8_e4m3fnuz"), Dtype.FP8),
    **dict.fromkeys(("float8_e4m3fn", "float8_e4m3fnuz"), Dtype.FP8),
    # fp8_ds_mla: values, scales and rope of a token in one row of bytes
    **dict.fromkeys(("byte", "uint8", "int8", "fp8_ds_mla"), Dtype.BYTE),
}
"""Of AITER's table, PyTorch, and the KV-cache types of vLLM and SGLang."""


def _name(value: object) -> str:
    """The name of what may be a data type; empty where it cannot be one."""
    plain = getattr(value, "value", value)
    if not isinstance(plain, str):
        plain = str(plain)
        if not plain.startswith("torch."):
            return ""
    return plain.strip().lower().removeprefix("torch.")
