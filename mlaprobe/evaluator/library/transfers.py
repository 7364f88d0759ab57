"""Functions of the C++ library that put elements somewhere else, or take them out."""

from __future__ import annotations

from collections.abc import Iterator as Iterates
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlaprobe.evaluator.engine.signals import Unsupported
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.library.ranges import Range, ranged
from mlaprobe.evaluator.stl.asking import On
from mlaprobe.evaluator.stl.containers import Container, spoiled
from mlaprobe.evaluator.stl.methods import bound
from mlaprobe.evaluator.stl.places import Iterator
from mlaprobe.evaluator.values import Args, Kwargs, Unknown, Value
from mlaprobe.evaluator.values.comparing import equals
from mlaprobe.evaluator.values.kinds import Builtin, Model, Ref

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.runs import Run


@dataclass(frozen=True, slots=True, eq=False)
class Inserter(Model):
    """What puts a value into a container when it is written."""

    place: Ref
    method: str

    def lose(self, reason: str, span: Span) -> None:
        self.place.store(spoiled(self.place.load(), Unknown(reason, span)))

    def put_in(self, run: Run, value: Value, span: Span) -> None:
        """Puts a value into the container."""
        box = self.place.load()
        if not isinstance(box, Container):
            raise Unsupported("what is inserted into is not known", span)
        bound(run, box, self.place, self.method).call(run, (value,), {}, span)


def _inserter(name: str, method: str) -> Builtin:
    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        place = args[0] if args else None
        if not isinstance(place, Ref) or not isinstance(place.load(), Container):
            raise Unsupported(f"{name} of this is not followed", span)
        return Inserter(place, method)

    return Builtin(name, call, symbolic=True, by_place=True)


def _values(run: Run, name: str, found: Range, rest: Args, span: Span) -> Iterates[Value]:
    """What an algorithm writes, one after the other."""
    for element in found.elements():
        if name == "transform":
            yield run.machine.call(run, rest[1], (element,), {}, span)
        elif name == "copy" or run.holds(run.machine.call(run, rest[1], (element,), {}, span)):
            yield element


def _transfer(name: str) -> Builtin:
    """``std::copy`` and its like, which write to where an iterator points."""

    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        found, rest = ranged(args, whole=False)
        rest = tuple(a.load() if type(a) is Ref else a for a in rest)
        wanted = 1 if name == "copy" else 2
        if found is None or not found.ordered or len(rest) != wanted:
            raise Unsupported(f"std::{name} over this is not followed", span)
        at = rest[0]
        for value in tuple(_values(run, name, found, rest, span)):
            if isinstance(at, Inserter):
                at.put_in(run, value, span)
                continue
            after = at.moved(1) if isinstance(at, Iterator) else None
            if after is None:
                raise Unsupported(f"where std::{name} writes is not followed", span)
            run.effects += 1
            at.store(value)
            at = after
        return at

    return Builtin(f"std::{name}", call, symbolic=True, by_place=True)


def _combination(name: str) -> Builtin:
    """``std::set_intersection`` and its like, of two ranges in order, at an inserter."""

    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        one, others = ranged(args, whole=False)
        other, rest = ranged(others, whole=False)
        at = rest[0].load() if rest and type(rest[0]) is Ref else rest[0] if rest else None
        if one is None or other is None or len(rest) != 1 or not isinstance(at, Inserter):
            raise Unsupported(f"std::{name} over this is not followed", span)
        for value in _combined(name, one, other, span):
            at.put_in(run, value, span)
        return at

    return Builtin(f"std::{name}", call, symbolic=True, by_place=True)


def _combined(name: str, one: Range, other: Range, span: Span) -> list[Value]:
    """What is in both, in one of them, or in the first alone: of plain numbers or texts, each once
    and in order."""
    sides = [one.elements(), other.elements()]
    for side in sides:
        same = len({type(v) for s in sides for v in s}) < 2 and all(type(v) in _PLAIN for v in side)
        if not same or list(side) != sorted(set(side)):
            raise Unsupported(f"std::{name} of what is not known to be in order", span)
    mine, theirs = map(set, sides)
    found = {
        "set_intersection": mine & theirs,
        "set_difference": mine - theirs,
        "set_symmetric_difference": mine ^ theirs,
        "set_union": mine | theirs,
    }
    return sorted(found[name])


_PLAIN = (int, str)
_COMBINATIONS = ("intersection", "union", "difference", "symmetric_difference")


def _erase(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    return _taken_out(run, args, span, tested=False)


def _erase_if(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    return _taken_out(run, args, span, tested=True)


def _taken_out(run: Run, args: Args, span: Span, *, tested: bool) -> Value:
    """``std::erase`` and ``std::erase_if``: how many elements went."""
    place = args[0] if len(args) == 2 else None
    box = place.load() if isinstance(place, Ref) else None
    what = args[1].load() if len(args) == 2 and type(args[1]) is Ref else args[-1]
    if not isinstance(place, Ref) or not isinstance(box, Container) or not box.known:
        raise Unsupported("what is erased from is not followed", span)
    if box.shape.fixed:
        raise Unsupported("what is erased from has a fixed number of elements", span)
    stays = []
    for element in box.items or ():
        goes = (
            run.machine.call(run, what, (element,), {}, span)
            if tested
            else equals(element, what, span)
        )
        if not run.holds(goes):
            stays.append(element)
    before = len(box.items or ())
    On(run, box, place, span).store(box.with_items(tuple(stays), span))
    return before - len(stays)


def transfers() -> Mapping[str, Value]:
    """Names of functions and what they do."""
    return {
        "std::back_inserter": _inserter("std::back_inserter", "push_back"),
        "std::front_inserter": _inserter("std::front_inserter", "push_front"),
        "std::inserter": _inserter("std::inserter", "insert"),
        **{f"std::{n}": _transfer(n) for n in ("copy", "copy_if", "transform")},
        **{f"std::set_{n}": _combination(f"set_{n}") for n in _COMBINATIONS},
        "std::erase": Builtin("std::erase", _erase, symbolic=True, by_place=True),
        "std::erase_if": Builtin("std::erase_if", _erase_if, symbolic=True, by_place=True),
    }
