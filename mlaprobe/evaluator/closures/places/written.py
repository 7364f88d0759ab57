"""What becomes of a value where something that is already there is written."""

from __future__ import annotations

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.cpp.types import SCALARS
from mlaprobe.evaluator.ir import CType
from mlaprobe.evaluator.stl.containers import Elsewhere, not_followed
from mlaprobe.evaluator.stl.optionals import Engaged, engaged, held
from mlaprobe.evaluator.stl.places import Elements, Parts
from mlaprobe.evaluator.symbolic.symbols import Sym
from mlaprobe.evaluator.values import Unknown, Value
from mlaprobe.evaluator.values.conversions import convert
from mlaprobe.evaluator.values.kinds import Ref


def referred_kind(bound: Ref, value: Value, span: ir.Span) -> Value:
    """A value as what a reference refers to holds it; a number that may not fit there is not
    known."""
    kind = getattr(bound, "kind", None)
    if kind is not None and kind.kind in SCALARS:
        return convert(value, kind, span)
    frame = bound.frame.whole.frame if isinstance(bound.frame, Parts) else bound.frame
    value = of_kind(bound.load(), value)
    if isinstance(frame, (Elements, Elsewhere)) or type(value) not in (int, Sym):
        return value
    fits = value.fits(0, 127) if type(value) is Sym else 0 <= value <= 127
    return value if fits else Unknown("how wide what is written is is not known", span)


def of_kind(before: Value, value: Value) -> Value:
    """A number or text converted for a variable whose type is known from its previous value
    only."""
    number = isinstance(value, (int, float, Sym))
    if number and not_followed(before):
        return before.another()
    if type(before) is Engaged or (before is None and (number or isinstance(value, str))):
        return engaged(held(value))
    kind = {bool: "bool", float: "float", int: "int"}.get(type(before)) if number else None
    return value if kind is None else convert(value, CType(kind, kind, 64), ir.NOWHERE)
