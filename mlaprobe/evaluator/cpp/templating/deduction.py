"""Template parameters of a function that follow from its arguments."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from mlaprobe.evaluator.cpp.forms.templates import PACK
from mlaprobe.evaluator.cpp.types import template_of
from mlaprobe.evaluator.ir import CType, Function, Param
from mlaprobe.evaluator.stl.containers import Container
from mlaprobe.evaluator.stl.numberpacks import SEQUENCES, NumberPack
from mlaprobe.evaluator.values import Args, Value


def explicit(function: Function, types: Args) -> dict[str, Value]:
    """The parameters that template arguments give, by name. A pack that the function's own
    parameters mention takes more from these, and has no value here."""
    names = function.template
    if not names or not names[-1].endswith(PACK):
        return dict(zip(names, types, strict=False))
    at, pack = len(names) - 1, names[-1].removesuffix(PACK)
    found = dict(zip(names[:at], types, strict=False))
    if len(types) >= at and types and not _mentions(function.params, pack):
        found[pack] = types[at:]
    return found


def _mentions(params: Iterable[Param], name: str) -> bool:
    kinds = [p.type.name for p in params if p.type is not None and p.kind != "*"]
    return any(re.search(rf"\b{re.escape(name)}\b", kind) for kind in kinds)


def deduced(function: Function, args: Mapping[str, Value]) -> dict[str, Value]:
    """The parameters that follow from arguments, which are given by the names of the function's
    parameters: numbers in the types of these, where that is followed."""
    names = {name.removesuffix(PACK): name.endswith(PACK) for name in function.template}
    found: dict[str, Value] = {}
    for param in function.params:
        if param.type is not None and param.name in args:
            for name, value in _numbers(param.type, args[param.name]):
                packed = names.get(name.removesuffix(PACK))
                if packed is not None and packed is name.endswith(PACK):
                    found.setdefault(name.removesuffix(PACK), value)
    return found


def _numbers(ctype: CType, value: Value) -> Iterable[tuple[str, Value]]:
    """The numbers that a type is written with, by the text that stands for them."""
    head, types = template_of(ctype.name)
    if isinstance(value, NumberPack) and head in SEQUENCES and types:
        yield types[-1], value.numbers
    elif isinstance(value, Container) and head == "std::array" and len(types) == 2:
        length = value.shape.length
        yield from () if length is None else ((types[1], length),)
