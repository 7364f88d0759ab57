"""Which of several functions of one name a call means, by the types of its arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mlaprobe.evaluator.cpp.types import SCALARS
from mlaprobe.evaluator.ir import CType, Function, Param
from mlaprobe.evaluator.values import Value
from mlaprobe.evaluator.values.kinds import EnumMember, Overloaded, Pointer, Record

Rank = tuple[int, int]
"""How well an argument fits a parameter, between two bounds: 0 exactly, 1 by a promotion, 2 by a
conversion, 3 by one that a class defines."""
_EXACT, _PROMOTED, _CONVERTED, _DEFINED = ((n, n) for n in range(4))
_SOMEHOW: Rank = (0, 4)
"""It fits, or not."""
_FAR: Rank = (3, 4)


def chosen(
    overloaded: Overloaded, values: Sequence[Value], types: Sequence[CType | None]
) -> Function | None:
    """The function that is meant; ``None`` where that is not known. ``types`` are those that the
    arguments are declared with, where it is known."""
    fitting = [f for f in overloaded.functions if takes(f, len(values))]
    if len(fitting) < 2:
        return fitting[0] if fitting else None
    if not overloaded.one_place or any(f.template for f in fitting):
        return None
    ranked = []
    for function in fitting:
        ranks = _ranks(function, values, types)
        if ranks is not None:
            ranked.append((function, ranks))
    best = [
        function
        for function, ranks in ranked
        if all(_better(ranks, other) for f, other in ranked if f is not function)
    ]
    return best[0] if len(best) == 1 else None


def takes(function: Function, count: int) -> bool:
    """Whether a function can be called with so many arguments."""
    params = [p for p in function.params if p.kind == "normal"]
    least = sum(1 for p in params if p.default is None)
    return least <= count and (count <= len(params) or len(params) < len(function.params))


def _better(ranks: Sequence[Rank], others: Sequence[Rank]) -> bool:
    pairs = list(zip(ranks, others, strict=True))
    worse = any(mine[1] > other[0] for mine, other in pairs)
    return not worse and any(mine[1] < other[0] for mine, other in pairs)


def _ranks(
    function: Function, values: Sequence[Value], types: Sequence[CType | None]
) -> list[Rank] | None:
    """How well the arguments fit; ``None`` where one certainly does not."""
    found: list[Rank] = []
    for at, value in enumerate(values):
        ctype = types[at] if at < len(types) else None
        param = function.params[at] if at < len(function.params) else None
        rank = _rank(param, _given(value, ctype))
        if rank is None:
            return None
        found.append(rank)
    return found


@dataclass(frozen=True, slots=True)
class _Given:
    """What is known of an argument's type. A number of no known width has no ``bits``, a text that
    may be a character or of any class no ``name``."""

    kind: str
    name: str = ""
    bits: int = 0


def _given(value: Value, ctype: CType | None) -> _Given:
    if ctype is not None and ctype.kind != "auto":
        if ctype.pointer:
            return _Given("pointer")
        if ctype.kind in SCALARS:
            bits = ctype.bits if ctype.kind != "float" else 64 if "double" in ctype.name else 32
            return _Given(ctype.kind, ctype.name, bits)
        if ctype.kind == "string":
            return _Given("text", ctype.name.removeprefix("std::"))
    if isinstance(value, bool):
        return _Given("truth")
    if isinstance(value, int):
        return _Given("int")
    if isinstance(value, float):
        return _Given("float")
    if isinstance(value, str):
        return _Given("text")
    if isinstance(value, EnumMember):
        return _Given("scoped" if value.scoped else "enum", value.enum)
    if type(value) is Record:
        return _Given("derived" if value.derived else "object", value.type)
    return _Given("pointer" if isinstance(value, Pointer) else "")


def _rank(param: Param | None, given: _Given) -> Rank | None:
    """How well an argument fits; ``None`` where it certainly does not."""
    ctype = None if param is None else param.type
    if ctype is None or ctype.kind == "auto" or not given.kind:
        return _SOMEHOW
    if ctype.pointer:
        if given.kind == "pointer":
            return _SOMEHOW
        return None if given.kind in (*SCALARS, "enum", "scoped", "object") else _SOMEHOW
    handler = _RANKS.get(given.kind)
    return _SOMEHOW if handler is None else handler(ctype, given)


def _number(ctype: CType, given: _Given) -> Rank | None:
    if ctype.kind not in SCALARS:
        return None if ctype.kind == "string" else _FAR
    bits = ctype.bits if ctype.kind != "float" else 64 if "double" in ctype.name else 32
    if given.kind == "truth":
        return (0, 2) if ctype.kind == "bool" or (ctype.kind, bits) == ("int", 32) else _CONVERTED
    if not given.bits:
        same = ctype.kind in ("int", "unsigned") if given.kind == "int" else ctype.kind == "float"
        return (0, 2) if same else _CONVERTED
    if ctype.kind == given.kind and (bits == given.bits or ctype.kind == "bool"):
        return _EXACT
    if ctype.kind == given.kind == "float":
        return _PROMOTED if bits > given.bits else _CONVERTED
    narrow = given.kind == "bool" or (given.kind != "float" and given.bits < 32)
    return _PROMOTED if narrow and (ctype.kind, bits) == ("int", 32) else _CONVERTED


def _text(ctype: CType, given: _Given) -> Rank | None:
    name = ctype.name.removeprefix("std::") if ctype.kind == "string" else ""
    if not given.name:
        return _SOMEHOW
    if name == given.name:
        return _EXACT
    if given.name == "char":
        if name:
            return _DEFINED
        return _CONVERTED if ctype.kind == "bool" else None if ctype.kind in SCALARS else _FAR
    if ctype.kind in SCALARS or name == "char":
        return None
    if name:
        return _DEFINED if name == "string_view" else None
    return _FAR


def _enumerator(ctype: CType, given: _Given) -> Rank | None:
    if ctype.kind == "other":
        return _EXACT if ctype.name.rpartition("::")[2] == given.name else _FAR
    if ctype.kind in SCALARS and given.kind == "enum":
        return (1, 2)
    return None


def _object(ctype: CType, given: _Given) -> Rank | None:
    if ctype.kind == "other":
        same = ctype.name.rpartition("::")[2] == given.name.rpartition("::")[2]
        return _EXACT if same else (2, 4) if given.kind == "derived" else _FAR
    return _FAR


_RANKS = {
    **dict.fromkeys((*SCALARS, "truth"), _number),
    "text": _text,
    **dict.fromkeys(("enum", "scoped"), _enumerator),
    **dict.fromkeys(("object", "derived"), _object),
}
