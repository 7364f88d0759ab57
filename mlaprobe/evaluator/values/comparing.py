"""Comparisons and look-up over known and unknown values."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key

from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.objects.objects import (
    Instance,
    ObjectType,
    class_name,
    class_of,
    special,
)
from mlaprobe.evaluator.symbolic.formulas import COMPARE
from mlaprobe.evaluator.symbolic.symbols import Condition, Sym, SymText, number_of, plain
from mlaprobe.evaluator.values import Unknown, Value, rest_of, unknown_in
from mlaprobe.evaluator.values.arithmetic import (
    NUMBERS,
    SETS,
    kind_of,
    plain_number,
)
from mlaprobe.evaluator.values.floats import Single, in_one_type
from mlaprobe.evaluator.values.kinds import EnumMember, Model, Pointer
from mlaprobe.evaluator.values.truth import settled, truth

PLAIN = frozenset((int, bool, str, float, EnumMember))
SEQUENCES = (tuple, list)


def extreme(
    name: str, op: str, values: Sequence[Value], sizes: Sequence[Value], span: Span
) -> Value:
    """The value whose size comes first by ``op``; of equal ones the first."""
    if not values:
        return Unknown(f"{name} of nothing", span)
    best = 0
    for at in range(1, len(values)):
        better = compare(op, sizes[at], sizes[best], span)
        if isinstance(better, Unknown):
            return better.derive(name, *(v for v in values if not isinstance(v, list)))
        best = at if better else best
    return values[best]


def in_order(sizes: Sequence[Value], reverse: bool, span: Span) -> list[int] | Unknown:
    """The places of some values, sorted by them; equal ones stay in order."""
    unclear: list[Unknown] = []

    def before(one: int, other: int) -> int:
        for sign, pair in ((-1, (one, other)), (1, (other, one))):
            less = compare("<", sizes[pair[0]], sizes[pair[1]], span)
            if isinstance(less, Unknown):
                unclear.append(less)
                return 0
            if less:
                return sign
        return 0

    order = sorted(range(len(sizes)), key=cmp_to_key(before), reverse=reverse)
    return unclear[0].another() if unclear else order


def compare(op: str, left: Value, right: Value, span: Span) -> Value:
    """A comparison; unequal kinds that the language would convert are unknown, not unequal."""
    if Single in (type(left), type(right)):
        left, right = plain(left), plain(right)
    if type(left) is Sym or type(right) is Sym:
        left, right = plain_number(left), plain_number(right)
        if _are_numbers(left, right):
            return (left if type(left) is Sym else right).compare(op, left, right)
        if isinstance(left, Unknown) or isinstance(right, Unknown):
            return _compare_unknown(op, left, right)
        if op in ("==", "!=") and any(isinstance(s, Model) for s in (left, right)):
            same = equals(left, right, span)
            return negate(same) if op == "!=" else same
        return compare(op, number_of(left), number_of(right), span)
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return _compare_unknown(op, left, right)
    if op == "==":
        return equals(left, right, span)
    if op == "!=":
        return negate(equals(left, right, span))
    left, right = plain_number(left), plain_number(right)
    if isinstance(left, NUMBERS) and isinstance(right, NUMBERS):
        if Single in (type(left), type(right)):
            left, right = in_one_type(left, right)
        return COMPARE[op](left, right)
    if isinstance(left, SETS) and isinstance(right, SETS):
        lost = next((r for r in (rest_of(left), rest_of(right)) if r is not None), None)
        return COMPARE[op](left, right) if lost is None else lost.another()
    if isinstance(left, str) and isinstance(right, str):
        return COMPARE[op](left, right)
    if isinstance(left, Instance) and isinstance(right, Instance):
        if left.cls is not right.cls or not left.cls.ordered:
            return Unknown(f"{class_name(left)} {op} {class_name(right)}", span)
        return _in_order(op, left.parts, right.parts, span)
    for kind in SEQUENCES:
        if isinstance(left, kind) and isinstance(right, kind):
            return _in_order(op, left, right, span)
    return Unknown(f"{kind_of(left)} {op} {kind_of(right)}", span)


def _in_order(op: str, left: Value, right: Value, span: Span) -> Value:
    """The order of two sequences: that of the first items that differ."""
    rest = next((r for r in (rest_of(left), rest_of(right)) if r is not None), None)
    if rest is not None:
        return rest.another()
    for one, other in zip(left, right, strict=False):
        same = equals(one, other, span)
        if isinstance(same, Unknown):
            return same.another()
        if not same:
            return compare(op, one, other, span)
    return COMPARE[op](len(left), len(right))


def condition(op: str, left: Value, right: Value) -> Condition | bool | None:
    """A comparison with a symbol, not written down yet; ``None`` where numbers do not settle it."""
    left, right = plain_number(left), plain_number(right)
    if not _are_numbers(left, right):
        return None
    sym: Sym = left if type(left) is Sym else right
    return sym.condition(op, left, right)


def _are_numbers(*values: Value) -> bool:
    """Whether all are numbers, plain ones or symbols."""
    return all(type(number_of(value)) in (int, bool, float) for value in values)


def _compare_unknown(op: str, left: Value, right: Value) -> Value:
    known = left if isinstance(left, Unknown) else right
    if known.present and (left is None or right is None) and op in ("==", "!="):
        return op == "!="
    if isinstance(left, Unknown) and isinstance(right, Unknown) and left.key == right.key:
        return op in ("==", "<=", ">=")
    if op == "!=":
        return negate(known.derive("==", left, right))
    if op == ">=":
        return negate(known.derive("<", left, right))
    if op == ">":
        return known.derive("<", right, left)
    if op == "<=":
        return negate(known.derive("<", right, left))
    return known.derive(op, left, right)


def equals(left: Value, right: Value, span: Span) -> Value:
    """``left == right``."""
    if type(left) is Sym or type(right) is Sym:
        for one, other in ((left, right), (right, left)):
            if isinstance(one, Model):
                return _from_model(one.equals(other), span)
        return compare("==", left, right, span)
    if type(left) is SymText or type(right) is SymText:
        left, right = plain(left), plain(right)
    if class_of(left) is not None or class_of(right) is not None:
        return _equal_objects(left, right, span)
    if left is right and _steady(left):
        return True
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return _compare_unknown("==", left, right)
    if isinstance(left, EnumMember) and isinstance(right, EnumMember):
        return _equal_members(left, right, span)
    if left is None or right is None:
        return _equals_none(right if left is None else left, span)
    if isinstance(left, Pointer) and isinstance(right, Pointer):
        return _from_model(left.same(right), span)
    if any(_no_value(side) for side in (left, right)):
        return False
    if isinstance(left, Model) or isinstance(right, Model):
        return _equal_models(left, right, span)
    left, right = plain_number(left), plain_number(right)
    if isinstance(left, NUMBERS) and isinstance(right, NUMBERS):
        if Single in (type(left), type(right)):
            left, right = in_one_type(left, right)
        return left == right
    rest = next((r for r in (rest_of(left), rest_of(right)) if r is not None), None)
    if rest is not None:
        return rest.another()
    if isinstance(left, SETS) and isinstance(right, SETS):
        return left == right
    if isinstance(left, SEQUENCES) and type(left) is type(right):
        return _equal_sequences(left, right, span)
    if isinstance(left, dict) and isinstance(right, dict):
        return _equal_mappings(left, right, span)
    if type(left) is type(right) and isinstance(left, (str, range)):
        return left == right
    return Unknown(f"{kind_of(left)} == {kind_of(right)}", span)


def _no_value(side: Value) -> bool:
    """Whether a value is a member of a Python enum, which equals nothing else."""
    kind = side.kind if isinstance(side, EnumMember) and side.scoped else None
    return isinstance(kind, ObjectType) and not kind.defines("__eq__")


def _equal_objects(left: Value, right: Value, span: Span) -> Value:
    """Equality where one is an object of a class of the source."""
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return _compare_unknown("==", left, right)
    if special(left, "__eq__") or special(right, "__eq__"):
        return Unknown(f"how a {class_name(left)} is compared is not followed here", span)
    if left is right:
        return True
    if isinstance(left, tuple) and isinstance(right, tuple):
        return _equal_sequences(left, right, span)
    one, other = class_of(left), class_of(right)
    if isinstance(left, Instance) and isinstance(right, Instance) and one is other:
        return _equal_sequences(left.parts, right.parts, span) if left.cls.compared else False
    if any(isinstance(side, Model) and side.equals(left) is None for side in (left, right)):
        return Unknown("these values cannot be compared", span)
    return False


def _steady(value: Value) -> bool:
    """Whether a value is equal to itself: of what may have changed it is not known."""
    if isinstance(value, tuple):
        return all(map(_steady, value))
    if isinstance(value, float):
        return value == value  # what is no number is not
    return not isinstance(value, Model) or value.steady


def _equals_none(other: Value, span: Span) -> Value:
    if isinstance(other, Model):
        known = other.equals(None)
        return False if known is None else known
    if isinstance(other, int) and not isinstance(other, bool):
        return Unknown("an integer compared with a null pointer", span)
    return False


def _equal_members(left: EnumMember, right: EnumMember, span: Span) -> Value:
    if any(_no_value(side) for side in (left, right)):
        if left.enum != right.enum:
            return False
        left, right = left.alias or left, right.alias or right
    if left.value is not None and right.value is not None:
        return left.value == right.value
    if left.enum == right.enum and left.name == right.name:
        return True
    if left.enum == right.enum:
        return False
    return Unknown(f"{left!r} == {right!r}", span)


def _equal_models(left: Value, right: Value, span: Span) -> Value:
    model, other = (left, right) if isinstance(left, Model) else (right, left)
    if isinstance(other, Model) and model.by_element and other.by_element:
        raise Failed("unknown", "unknown", "these are compared element by element", span)
    return _from_model(model.equals(other), span)


def _from_model(answer: bool | None, span: Span) -> Value:
    return Unknown("these values cannot be compared", span) if answer is None else answer


def _equal_sequences(left: Value, right: Value, span: Span) -> Value:
    if len(left) != len(right):
        return False
    return settled(False, (equals(a, b, span) for a, b in zip(left, right, strict=True)))


def _equal_mappings(left: dict[Value, Value], right: dict[Value, Value], span: Span) -> Value:
    keys = unknown_in((*left, *right))
    if keys is not None:
        return keys.another()
    if left.keys() != right.keys():
        return False
    return _equal_sequences(tuple(left.values()), tuple(right[k] for k in left), span)


def identical(left: Value, right: Value, span: Span) -> Value:
    """Python's ``is``: only for singletons and models, where it equals ``==``."""
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return _compare_unknown("==", left, right)
    if left is right:
        return True
    for a, b in ((left, right), (right, left)):
        if a is None or isinstance(a, bool):
            if isinstance(b, Model):
                return _from_model(b.equals(a), span) if b.equals(a) is not None else False
            return False
    if isinstance(left, EnumMember) and isinstance(right, EnumMember):
        return _equal_members(left, right, span)
    for a, b in ((left, right), (right, left)):
        if isinstance(a, Model) and a.one_of_a_kind:
            return _from_model(a.equals(b), span)
    if class_of(left) is not None and class_of(right) is not None and not isinstance(left, tuple):
        return False
    return Unknown("identity of two values", span)


def entry_of(mapping: dict[Value, Value], key: Value, span: Span) -> tuple[Value, Value]:
    """Whether a dict has a key (maybe unknown), and the value at it."""
    if type(key) in PLAIN:
        try:
            return True, mapping[key]
        except KeyError:
            pass
    if type(key) is Sym and all(type(known) is int for known in mapping):
        if not key.concretize_among(tuple(sorted(mapping))):
            return False, None
        return True, mapping[key.value]
    unknown: Unknown | None = None
    for known, value in mapping.items():
        same = equals(key, known, span)
        if same is True:
            return True, value
        if isinstance(same, Unknown):
            unknown = same if unknown is None else unknown
    return (False if unknown is None else unknown), None


def negate(value: Value) -> Value:
    """``not value``."""
    known = truth(value)
    if isinstance(known, Unknown):
        key = known.key
        if isinstance(key, tuple) and len(key) == 2 and key[0] == "not":
            return Unknown(known.reason, known.span, key=key[1], free=known.free, depth=known.depth)
        return Unknown(
            known.reason, known.span, key=("not", key), free=known.free, depth=known.depth
        )
    return not known
