"""Data types as the stages hand them to AITER's code, in both languages."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from mlaprobe.core.caches import Cache, cached
from mlaprobe.evaluator.engine.runs import Run
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.values import Args, Kwargs, Unknown, Value
from mlaprobe.evaluator.values.kinds import Builtin, EnumMember, Model
from mlaprobe.rulefiles.layouts import layouts

_BYTES = {
    **dict.fromkeys(("fp8", "fp8_e8m0", "fp4x2", "i4x2", "byte", "i8"), 1),
    **dict.fromkeys(("bf16", "fp16", "i16"), 2),
    **dict.fromkeys(("i64", "u64", "f64"), 8),
}
_FLOATS = {"fp8", "fp8_e8m0", "fp4x2", "bf16", "fp16", "fp32", "f64"}
_UNSIGNED = {"byte", "u16", "u32", "u64", "fp8_e8m0"}


class DtypeToken(Model):
    """A data type; ``variant`` is the fp8 encoding, where it is known."""

    __slots__ = ("kind", "variant")

    def __init__(self, kind: str, variant: str = "") -> None:
        self.kind = kind
        self.variant = variant

    @property
    def identity(self) -> Hashable:
        return ("dtype", self.kind, self.variant)

    def equals(self, other: Any) -> bool | None:
        if isinstance(other, EnumMember):
            other = named_dtypes().get(other.name)
        if other is None:
            return False
        if not isinstance(other, DtypeToken):
            return None
        same = self.kind == other.kind
        return same and (self.variant == other.variant or not (self.variant and other.variant))

    def get(self, name: str, span: Span) -> Any:
        if name in ("itemsize", "element_size"):
            return Builtin(name, lambda run, a, k, s: self.bytes)
        if name in ("value", "has_value"):
            return Builtin(name, lambda run, a, k, s: self if name == "value" else True)
        return Unknown(f"attribute {name} of a dtype", span, foreign=True)

    def read_in_python(self, run: Run, name: str, span: Span) -> Value:
        if name == "itemsize":
            return self.bytes
        if name == "is_floating_point":
            return self.floating
        if name == "is_signed":
            return self.kind not in _UNSIGNED
        return self.get(name, span)

    def call(self, run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        """C++ writes ``Q.dtype()`` where Python writes ``q.dtype``."""
        return self

    @property
    def text(self) -> str | None:
        """What Python shows it as, where the encoding is known."""
        known = named_dtypes().items()
        names = [n for n, t in known if n.startswith("torch.") and t.identity == self.identity]
        sized = [n for n in names if any(map(str.isdigit, n))]  # torch.float16, also torch.half
        return sized[0] if len(sized) == 1 else None

    @property
    def floating(self) -> bool:
        """Whether it is one of floating numbers."""
        return self.kind in _FLOATS

    @property
    def bytes(self) -> int:
        """Size of an element."""
        return _BYTES.get(self.kind, 4)

    def __repr__(self) -> str:
        return f"{self.kind}/{self.variant}" if self.variant else self.kind


@cached(Cache.NAMES)
def named_dtypes() -> dict[str, DtypeToken]:
    """Every name of a dtype in AITER's code."""
    found: dict[str, DtypeToken] = {}
    for key, names in layouts().data["dtypes"].items():
        kind, _, variant = key.partition("/")
        for name in names:
            found[name] = DtypeToken(kind, variant)
    return found


@cached(Cache.NAMES, 64)
def dtype_for(kind: str, arch: str) -> DtypeToken:
    """The dtype of a question on an arch."""
    return DtypeToken(kind, layouts().fp8_variant(arch) if kind == "fp8" else "")
