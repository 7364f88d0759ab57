"""Loops as closures.

A loop over known elements or with a known test simply runs. One that depends on an unknown is
run for an arbitrary round: what the body may write is unknown before and after it, and a path
that skips the loop is taken as well. The order of a hash map is arbitrary: if several elements
make the body leave the loop, each of them is a path, and what rounds before it may have written
is unknown unless they write nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.closures.stores import compile_havoc
from mlaprobe.evaluator.closures.unit import Scope, Unit
from mlaprobe.evaluator.engine.frames import RUN, Eval, Frame, Store, around
from mlaprobe.evaluator.engine.runs import MAX_STEPS
from mlaprobe.evaluator.engine.signals import BREAK, CONTINUE, Failed, Returned, Unsupported
from mlaprobe.evaluator.stl.containers import Container
from mlaprobe.evaluator.values import Args, Unknown, Value
from mlaprobe.evaluator.values.kinds import IMMUTABLE
from mlaprobe.evaluator.values.truth import truth
from mlaprobe.evaluator.values.unordered import Unordered
from mlaprobe.evaluator.walk import walk, written_names

LOOKUP = "a look-up in a hash map"
"""What a traced run calls the start of a loop over a hash map."""


def havoc_of(unit: Unit, nodes: tuple[ir.Node, ...], scope: Scope, reason: str) -> Eval:
    """Makes everything unknown that the nodes may write outside themselves. Where they delete a
    variable, the path is given up: a value that is not known is no value that may be missing."""
    names = [name for name, _, _ in _writable(unit, nodes, scope)]
    span = nodes[0].span if nodes else ir.NOWHERE
    havocs = [compile_havoc(unit, (name,), scope, span) for name in names]
    removals = [node for node in walk(nodes) if isinstance(node, ir.Remove)]
    deleted = any(isinstance(target, ir.Name) for node in removals for target in node.targets)

    def run(e: Frame) -> Value:
        if deleted:
            why = "a variable is deleted in a loop whose rounds are not known"
            raise Unsupported(why, removals[0].span)
        for havoc_all in havocs:
            havoc_all(e, Unknown(reason, span))
        return None

    return run


def _writable(unit: Unit, nodes: tuple[ir.Node, ...], scope: Scope) -> list[tuple[str, int, str]]:
    """Variables around the nodes that they may write: name, frames up, slot."""
    found = []
    written = written_names(nodes, references=unit.lang == "cpp")
    if unit.lang == "py":
        written |= _rebound(scope)
    for name in sorted(written):
        place = scope.find(name)
        if place is None:
            continue
        ctype = place[2]
        if ctype is None or not ctype.fixed or ctype.ref or ctype.pointer:
            found.append((name, place[0], place[1]))
    return found


def _rebound(scope: Scope) -> frozenset[str]:
    """The variables of the functions around that a call may write."""
    names = scope.function.rebound
    outer = scope.function.outer
    return names if outer is None else names | _rebound(outer)


def some_round(unit: Unit, body: Eval, orelse: Eval, havoc: Eval, why: Unknown, e: Frame) -> Value:
    """An arbitrary round of a loop whose rounds are not known; the signal that leaves the
    function, if this path takes one. What breaks out of the loop misses its ``else``."""
    run = e[RUN]
    havoc(e)
    if run.decide(Unknown(why.reason, why.span, key=("round", why.key), free=why.free)):
        signal = loosely(body, e)
        if isinstance(signal, Returned):
            return signal
        havoc(e)
        if signal is BREAK:
            return None
    return orelse(e)


def loosely(body: Eval, e: Frame) -> Value:
    """A round of a loop of which not all rounds are known, or not their order."""
    run = e[RUN]
    run.loose += 1
    try:
        return body(e)
    finally:
        run.loose -= 1


def compile_while(unit: Unit, node: ir.While, scope: Scope) -> Eval:
    """``while``, ``do`` and C++ ``for`` (whose variable is declared in a block around it)."""
    test = unit.compile(node.test, scope)
    inner = unit.inner(scope)
    body = unit.block(node.body, inner)
    step = unit.compile(node.step, scope) if node.step is not None else None
    orelse = unit.block(node.orelse, scope)
    everything = (*node.body, *((node.step,) if node.step is not None else ()))
    havoc = havoc_of(unit, everything, scope, "written in a loop that cannot be followed")
    span, first = node.span, node.first

    def run(e: Frame) -> Value:
        again = first
        while True:
            if not again:
                known = truth(test(e))
                if isinstance(known, Unknown):
                    return some_round(unit, body, orelse, havoc, known, e)
                if not known:
                    return orelse(e)
            again = False
            e[RUN].steps += 1
            if e[RUN].steps > MAX_STEPS:
                raise Unsupported("a loop runs too long to follow", span)
            signal = body(e)
            if signal is BREAK:
                return None
            if signal is not None and signal is not CONTINUE:
                return signal
            if step is not None:
                step(e)

    return run


@dataclass(frozen=True, slots=True, eq=False)
class AnyOrder:
    """A loop over a hash map: every element may be the first that leaves it."""

    unit: Unit
    span: ir.Span
    store: Store
    body: Eval
    orelse: Eval
    written: Written

    def run(self, e: Frame, container: Unordered, values: list[Value]) -> Value:
        """The signal of the loop."""
        if container.matches:
            self._watch(e, container)
        written, run = self.written, e[RUN]
        start = written.save(e)
        leaving, steady = self._rounds(e, values, start)
        if not steady and len(values) > 1:
            start = None
            leaving, _ = self._rounds(e, values, start)
        if not leaving:
            if len(values) > 1:
                written.restore(e, start)
            return self.orelse(e)
        at = 0
        if container.matches:
            run.observations.append(("matched", len(leaving)))
        if len(leaving) > 1:
            why = Unknown("the order of a hash map", self.span, free="hash order")
            at = run.choose(len(leaving), why)
        signal, value = leaving[at]
        written.restore(e, start)
        self.store(e, value)
        if written.names:
            signal = self.body(e)
        elif isinstance(signal, Failed):
            raise signal
        return None if signal is BREAK else signal

    def _watch(self, e: Frame, container: Unordered) -> None:
        """Lets the extra element observe the loop's accesses to its elements."""
        if self.unit.traced:
            e[RUN].trace.append((ir.Launch(self.span, LOOKUP, ()), None))
        if container.probe is not None:
            before = self.written.save(e)
            self.store(e, container.probe(e[RUN]))
            with suppress(Failed):
                self.body(e)
            self.written.restore(e, before)

    def _rounds(
        self, e: Frame, values: list[Value], start: Value
    ) -> tuple[list[tuple[Value, Value]], bool]:
        """The elements that leave the loop, each tried as the first of its rounds, and whether
        all others leave the variables as they are: then any order has the same outcome."""
        leaving: list[tuple[Value, Value]] = []
        steady = True
        for value in values:
            self.written.restore(e, start)
            self.store(e, value)
            try:
                signal = self.body(e)
            except Failed as failure:
                signal = failure
            if signal is not None and signal is not CONTINUE:
                leaving.append((signal, value))
            elif not self.written.unchanged(e, start):
                steady = False
        return leaving, steady


class Written:
    """The variables that a loop may write, to be saved and put back."""

    def __init__(self, unit: Unit, nodes: tuple[ir.Node, ...], scope: Scope, reason: str) -> None:
        self.names = _writable(unit, nodes, scope)
        self._spoil = havoc_of(unit, nodes, scope, reason)

    def _frames(self, e: Frame) -> Iterator[tuple[Frame, str]]:
        for _, depth, slot in self.names:
            yield around(e, depth), slot

    def save(self, e: Frame) -> Args | None:
        """The values; ``None`` where one can be changed in place."""
        values = tuple(frame.get(slot, self) for frame, slot in self._frames(e))
        kept = (*IMMUTABLE, Unknown, Container, Written)
        return values if all(isinstance(v, kept) for v in values) else None

    def restore(self, e: Frame, saved: Args | None) -> None:
        """Put saved values back; without any, the variables are unknown."""
        if saved is None:
            self._spoil(e)
            return
        for (frame, slot), value in zip(self._frames(e), saved, strict=True):
            if value is self:
                frame.pop(slot, None)
            else:
                frame[slot] = value

    def unchanged(self, e: Frame, saved: Args | None) -> bool:
        """Whether the variables have their saved values."""
        if saved is None:
            return not self.names
        return all(
            frame.get(slot, self) is value
            for (frame, slot), value in zip(self._frames(e), saved, strict=True)
        )
