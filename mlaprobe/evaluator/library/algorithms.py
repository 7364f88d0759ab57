"""Algorithms of the C++ library over what is in containers and arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from mlaprobe.evaluator.engine.runs import MAX_STEPS
from mlaprobe.evaluator.engine.signals import Failed, Unsupported
from mlaprobe.evaluator.ir import CType, Span
from mlaprobe.evaluator.library.ranges import Range, ranged, spoil
from mlaprobe.evaluator.stl.containers import Container, less
from mlaprobe.evaluator.values import Args, Kwargs, Something, Unknown, Value
from mlaprobe.evaluator.values.comparing import equals, extreme
from mlaprobe.evaluator.values.conversions import convert
from mlaprobe.evaluator.values.kinds import Braced, Builtin, EnumMember, Record, Ref
from mlaprobe.evaluator.values.operators import binary
from mlaprobe.evaluator.values.truth import truth

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.runs import Run

_SORTED = 256
"""The most elements that are put in order one by one."""


@dataclass(frozen=True, slots=True)
class Use:
    """A use of an algorithm: the run, the range, and the other arguments."""

    run: Run
    range: Range
    args: Args
    span: Span
    kind: CType | None = None
    """The type of the result, where the call says so."""

    def calls(self, function: Value, *args: Value) -> Value:
        """The result of a function that the algorithm is given."""
        return self.run.machine.call(self.run, function, args, {}, self.span)

    def equal(self, one: Value, other: Value) -> Value:
        """Whether two values are equal, as the source says where it does."""
        base = self.range.frame.base
        if isinstance(one, (Record, EnumMember)) and isinstance(base, Container) and base.module:
            found = base.module.defined(self.run, "==", (one, other), self.span)
            if found is not NotImplemented:
                return self.run.holds(found)
        return equals(one, other, self.span)

    def unknown(self, what: str) -> Unknown:
        """A result that is not known."""
        return Unknown(f"{what} is not followed here", self.span)


Algorithm = Callable[[Use], Value]


def _quantified(stop: bool, result: bool) -> Algorithm:
    """``any_of`` and its like: over when a test comes out as ``stop``."""

    def ask(use: Use) -> Value:
        if len(use.args) != 1:
            return use.unknown("what is asked of all elements")
        run = use.run
        unknowns: list[Unknown] = []
        for element in use.range.elements():
            before = run.effects - len(run.taken)
            try:
                known = truth(use.calls(use.args[0], element))
            except Failed:
                if any(run.decide(u) is stop for u in unknowns):
                    return result
                raise
            if unknowns and run.effects - len(run.taken) != before:
                raise Unsupported("a test that does something itself", use.span)
            if known is stop:
                return result
            if isinstance(known, Unknown):
                unknowns.append(known)
        if not unknowns:
            return not result
        found = unknowns[0].derive("any" if stop else "all", *unknowns)
        return found if result is stop else found.derive("none")

    return ask


def _find(use: Use) -> Value:
    """``std::find``: where the first element is that equals a value."""
    if len(use.args) != 1 or use.range.pointers:
        return use.unknown("find")
    return _first(use, lambda element: use.equal(element, use.args[0]))


def _find_if(wanted: bool) -> Algorithm:
    def find(use: Use) -> Value:
        if len(use.args) != 1:
            return use.unknown("find_if")
        return _first(use, lambda e: truth(use.calls(use.args[0], e)), wanted)

    return find


def _first(use: Use, test: Callable[[Value], Value], wanted: bool = True) -> Value:
    """The iterator to the first element that fits; in any order, to one of them."""
    found: list[int] = []
    for at, element in enumerate(use.range.elements()):
        known = test(element)
        if isinstance(known, Unknown):
            known = use.run.decide(known)
        if known is wanted:
            if use.range.ordered:
                return use.range.at(at)
            found.append(at)
    if not found:
        return use.range.end()
    slot = found[0] if len(found) == 1 else None
    if slot is not None:
        return use.range.at(slot, ordered=True)
    return use.range.at(Something("the order of a hash map", use.span))


def _count(use: Use) -> Value:
    return _counted(use, lambda e: use.equal(e, use.args[0]))


def _count_if(use: Use) -> Value:
    return _counted(use, lambda e: truth(use.calls(use.args[0], e)))


def _counted(use: Use, test: Callable[[Value], Value]) -> Value:
    if len(use.args) != 1 or use.range.pointers:
        return use.unknown("count")
    return sum(bool(use.run.holds(test(e))) for e in use.range.elements())


def _accumulate(use: Use) -> Value:
    """A sum, or what a function makes of the elements one after the other."""
    args = use.args
    if not 1 <= len(args) <= 2:
        return use.unknown("accumulate")
    total = args[0]
    if not use.range.ordered and (len(args) == 2 or isinstance(total, float)):
        return Unknown("what is accumulated in the order of a hash map", use.span)
    whole, kind = type(total) is int, use.kind
    for element in use.range.elements():
        if len(args) == 2:
            total = use.calls(args[1], total, element)
            total = total if kind is None else convert(total, kind, use.span)
        else:
            total = binary("+", total, element, use.span)
        if (whole and isinstance(total, float)) or (
            whole and not isinstance(total, Unknown) and type(total) is bool
        ):
            total = int(total)
    return total


def _outermost(op: str, name: str) -> Algorithm:
    """``min_element`` and ``max_element``: of equal ones the first."""

    def find(use: Use) -> Value:
        elements = use.range.elements()
        if use.args or not elements:
            return use.unknown(name) if use.args else use.range.end()
        best = 0
        for at in range(1, len(elements)):
            one, other = elements[at], elements[best]
            better = less(one, other, use.span) if op == "<" else less(other, one, use.span)
            if isinstance(better, Unknown):
                return use.range.at(Something(better.reason, better.span, free=better.free))
            best = at if better else best
        return use.range.at(best, ordered=True)

    return find


def _in_order(use: Use) -> bool:
    """Whether the elements are known to be in order, as searching in halves needs it."""
    elements = use.range.elements()
    if not use.range.ordered:
        return False
    return all(less(b, a, use.span) is False for a, b in pairwise(elements))


def _binary_search(use: Use) -> Value:
    if len(use.args) != 1 or not _in_order(use):
        return use.unknown("binary_search of what is not known to be in order")
    return use.range.has(use.args[0], use.span)


def _bound(upper: bool) -> Algorithm:
    def find(use: Use) -> Value:
        if len(use.args) == 2:
            return _bound_by(use, upper)
        if len(use.args) != 1 or not _in_order(use):
            return use.unknown("a bound in what is not known to be in order")
        key = use.args[0]
        for at, other in enumerate(use.range.elements()):
            beyond = less(key, other, use.span) if upper else less(other, key, use.span)
            if use.run.holds(beyond) is upper:
                return use.range.at(at)
        return use.range.end()

    return find


def _bound_by(use: Use, upper: bool) -> Value:
    """A bound by a function, which is asked of all elements: where it is not true of the first ones
    and false of the others, what halving finds is not followed."""
    run, (key, function) = use.run, use.args
    before = run.effects - len(run.taken)
    found = []
    for element in use.range.elements():
        pair = (key, element) if upper else (element, key)
        found.append(run.holds(use.calls(function, *pair)) is not upper)
    if run.effects - len(run.taken) != before:
        raise Unsupported("a comparison that does something itself", use.span)
    at = found.index(False) if False in found else len(found)
    if not use.range.ordered or True in found[at:]:
        return use.unknown("a bound in what is not in that order")
    return use.range.at(at)


def _sort(use: Use) -> Value:
    elements = list(use.range.elements())
    if len(elements) > _SORTED or len(use.args) > 1 or not use.range.ordered:
        return spoil(use.range, "sort", use.span)
    done: list[Value] = []
    for element in elements:
        at = len(done)
        while at > 0:
            before = _before(use, element, done[at - 1])
            if isinstance(before, Unknown):
                return spoil(use.range, "sort", use.span)
            if not before:
                break
            at -= 1
        done.insert(at, element)
    return use.range.replaced(tuple(done), use.span)


def _before(use: Use, one: Value, other: Value) -> Value:
    if use.args:
        return truth(use.calls(use.args[0], one, other))
    return less(one, other, use.span)


def _reverse(use: Use) -> Value:
    return use.range.replaced(use.range.elements()[::-1], use.span)


def _fill(use: Use) -> Value:
    if len(use.args) != 1:
        return spoil(use.range, "fill", use.span)
    return use.range.replaced(tuple(use.args[0] for _ in use.range.elements()), use.span)


def _iota(use: Use) -> Value:
    first, elements = use.args[0] if use.args else None, use.range.elements()
    values = tuple(binary("+", first, at, use.span) for at in range(len(elements)))
    return use.range.replaced(values, use.span)


def _removing(tested: bool) -> Algorithm:
    """``remove``: what stays goes to the front, and what is behind it is left open."""

    def remove(use: Use) -> Value:
        stays: list[Value] = []
        for element in use.range.elements():
            out = use.calls(use.args[0], element) if tested else equals(
                element, use.args[0], use.span
            )  # fmt: skip
            if not use.run.holds(out):
                stays.append(element)
        rest = [use.unknown("what remove leaves behind") for _ in use.range.elements()]
        now = use.range.replaced((*stays, *rest[len(stays) :]), use.span, again=True)
        return now.at(len(stays)) if isinstance(now, Range) else now

    return remove


def _for_each(use: Use) -> Value:
    if len(use.args) != 1 or not use.range.ordered:
        return spoil(use.range, "for_each", use.span)
    for at, element in enumerate(use.range.elements()):
        place = use.range.reference(at)
        use.calls(use.args[0], element if place is None else place)
    return use.args[0]


def _distance(use: Use) -> Value:
    return len(use.range.elements())


ALGORITHMS: dict[str, Algorithm] = {
    "any_of": _quantified(True, True),
    "all_of": _quantified(False, False),
    "none_of": _quantified(True, False),
    "find": _find,
    "find_if": _find_if(True),
    "find_if_not": _find_if(False),
    "count": _count,
    "count_if": _count_if,
    "accumulate": _accumulate,
    "min_element": _outermost("<", "min_element"),
    "max_element": _outermost(">", "max_element"),
    "binary_search": _binary_search,
    "lower_bound": _bound(False),
    "upper_bound": _bound(True),
    "sort": _sort,
    "stable_sort": _sort,
    "reverse": _reverse,
    "fill": _fill,
    "iota": _iota,
    "remove": _removing(False),
    "remove_if": _removing(True),
    "for_each": _for_each,
    "distance": _distance,
}
_CHANGES = ("sort", "stable_sort", "reverse", "fill", "iota", "remove", "remove_if", "for_each")
_OF_CONTAINERS: tuple[str, ...] = (
    "any_of",
    "all_of",
    "none_of",
    "find",
    "find_if",
    "count",
    "count_if",
)
_OF_CONTAINERS += ("count_if", "binary_search", "lower_bound", "sort", "reverse")
_OF_CONTAINERS += ("max_element", "min_element")


def algorithms() -> Mapping[str, Value]:
    """Names of algorithms and what they do."""
    found = {f"std::{name}": _given(name, function) for name, function in ALGORITHMS.items()}
    for name in _OF_CONTAINERS:
        found[f"std::ranges::{name}"] = _given(name, ALGORITHMS[name], whole=True)
    return found


def _given(name: str, function: Algorithm, *, whole: bool = False) -> Builtin:
    """An algorithm, given two iterators or (``whole``) maybe a container."""

    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        found, rest = ranged(args, whole=whole)
        rest = tuple(a.load() if type(a) is Ref else a for a in rest)
        if found is None or any(isinstance(a, Braced) for a in rest):
            why = Unknown(f"what std::{name} goes through is not known", span)
            return _not_known(run, name, args, why)
        run.steps += found.last - found.first
        if run.steps > MAX_STEPS:
            raise Unsupported(f"std::{name} goes through too much to follow", span)
        kinds = kwargs.get("<>", ())
        kind = kinds[0] if kinds and isinstance(kinds[0], CType) else None
        return function(Use(run, found, rest, span, kind))

    return Builtin(name, call, symbolic=True, by_place=True, takes_template=name == "accumulate")


def _not_known(run: Run, name: str, args: Args, why: Unknown) -> Value:
    """An algorithm over what is not known: what it may write becomes unknown."""
    from mlaprobe.evaluator.engine.calls import havoc, result_of_unknown

    values = tuple(a.load() if type(a) is Ref else a for a in args)
    if name in _CHANGES:
        for value in args:
            havoc(value, why.reason, why.span)
    free = next((v for v in values if isinstance(v, Unknown)), why)
    why = Unknown(why.reason, why.span, free=free.free, foreign=free.foreign)
    return result_of_unknown(run, why, f"std::{name}", values[2:], {}, why.span, returns=True)


def least(name: str, op: str, args: Args, span: Span) -> Value:
    """``std::min`` and ``std::max`` of two numbers, or of a list."""
    if len(args) == 1 and isinstance(args[0], Braced):
        args = args[0].items
    if any(isinstance(a, Braced) for a in args):
        return Unknown(f"{name} of these values", span)
    return extreme(name, op, args, args, span)
