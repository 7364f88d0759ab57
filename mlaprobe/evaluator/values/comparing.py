"""Comparisons, membership and look-up over known and unknown values."""

from __future__ import annotations

from collections.abc import Sequence

from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.symbolic.formulas import COMPARE
from mlaprobe.evaluator.symbolic.symbols import Condition, Sym, number_of
from mlaprobe.evaluator.values import Unknown, Value, rest_of, unknown_in
from mlaprobe.evaluator.values.arithmetic import (
    NUMBERS,
    arithmetic,
    kind_of,
    plain_number,
)
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


def compare(op: str, left: Value, right: Value, span: Span) -> Value:
    """A comparison; unequal kinds that the language would convert are unknown, not unequal."""
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
        return COMPARE[op](left, right)
    if type(left) is type(right) and isinstance(left, (str, tuple, list, set, frozenset)):
        unknown = unknown_in((left, right))
        if unknown is not None:
            return unknown.another()
        try:
            return COMPARE[op](left, right)
        except TypeError:
            pass
    return Unknown(f"{kind_of(left)} {op} {kind_of(right)}", span)


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


def membership(container: Value, item: Sym) -> Condition | bool | None:
    """``item in container`` for plain numbers, not written down yet; ``None`` for anything else."""
    if isinstance(container, (tuple, list, set, frozenset, dict)) and all(
        type(element) is int for element in container
    ):
        return item.among(tuple(sorted(set(container))))
    return None


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
    if isinstance(left, Model):
        return _from_model(left.equals(right), span)
    if isinstance(right, Model):
        return _from_model(right.equals(left), span)
    left, right = plain_number(left), plain_number(right)
    if isinstance(left, NUMBERS) and isinstance(right, NUMBERS):
        return left == right
    rest = next((r for r in (rest_of(left), rest_of(right)) if r is not None), None)
    if rest is not None:
        return rest.another()
    if isinstance(left, SEQUENCES) and type(left) is type(right):
        return _equal_sequences(left, right, span)
    if isinstance(left, dict) and isinstance(right, dict):
        return _equal_mappings(left, right, span)
    if type(left) is type(right) and isinstance(left, (str, set, frozenset, range)):
        return left == right
    return Unknown(f"{kind_of(left)} == {kind_of(right)}", span)


def _steady(value: Value) -> bool:
    """Whether a value is equal to itself: of what may have changed it is not known."""
    if isinstance(value, tuple):
        return all(map(_steady, value))
    return not isinstance(value, Model) or value.steady


def _equals_none(other: Value, span: Span) -> Value:
    if isinstance(other, Model):
        known = other.equals(None)
        return False if known is None else known
    if isinstance(other, int) and not isinstance(other, bool):
        return Unknown("an integer compared with a null pointer", span)
    return False


def _equal_members(left: EnumMember, right: EnumMember, span: Span) -> Value:
    if left.value is not None and right.value is not None:
        return left.value == right.value
    if left.enum == right.enum and left.name == right.name:
        return True
    if left.enum == right.enum:
        return False
    return Unknown(f"{left!r} == {right!r}", span)


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
    return Unknown("identity of two values", span)


def contains(container: Value, item: Value, span: Span) -> Value:
    """``item in container``."""
    if isinstance(container, Unknown):
        return container.derive("contains", item)
    if isinstance(container, str) and isinstance(item, str):
        return item in container
    if isinstance(container, range) and type(item) in (int, bool):
        return item in container
    if type(item) is Sym:
        if isinstance(container, range):
            return _in_range(container, item, span)
        stated = membership(container, item)
        if stated is not None:
            return stated.ask() if type(stated) is Condition else stated
    if isinstance(container, (dict, set, frozenset)) and isinstance(item, (list, dict)):
        return Unknown(f"a {kind_of(item)} is nothing that can be looked up", span)
    if isinstance(container, dict):
        container = tuple(container)
    elif isinstance(container, Model):
        elements = container.members()
        if elements is None:
            return Unknown("the elements of a container are not known", span)
        container = tuple(elements)
    if not isinstance(container, (tuple, list, set, frozenset, range)):
        return Unknown(f"membership in a {kind_of(container)}", span)
    return settled(True, (equals(item, element, span) for element in container))


def _in_range(container: range, item: Sym, span: Span) -> bool:
    """Membership of a symbol in a range, as the comparisons that make it."""
    if not container:
        return False
    low, high = min(container[0], container[-1]), max(container[0], container[-1])
    if not item.fits(low, high):
        return False
    offset = arithmetic("-", item, low, span)
    rest = arithmetic("%", offset, abs(container.step), span)
    return bool(compare("==", rest, 0, span))


def entry_of(mapping: dict[Value, Value], key: Value, span: Span) -> tuple[Value, Value]:
    """Whether a dict has a key (maybe unknown), and the value at it."""
    if type(key) in PLAIN:
        try:
            return True, mapping[key]
        except KeyError:
            pass
    unknown: Unknown | None = None
    for known, value in mapping.items():
        same = equals(key, known, span)
        if same is True:
            return True, value
        if isinstance(same, Unknown):
            unknown = unknown or same
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
