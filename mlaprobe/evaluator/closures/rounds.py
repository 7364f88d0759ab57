"""Loops over the elements of something as closures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.closures.displays import elements
from mlaprobe.evaluator.closures.loops import AnyOrder, Written, havoc_of, loosely, some_round
from mlaprobe.evaluator.closures.order import keeps_no_order
from mlaprobe.evaluator.closures.places.lvalues import Lvalue, compile_place, holds_text, references
from mlaprobe.evaluator.closures.places.onceonly import Once, compile_once
from mlaprobe.evaluator.closures.stores import compile_store
from mlaprobe.evaluator.closures.unit import Scope, Unit
from mlaprobe.evaluator.engine.frames import RUN, Eval, Frame, Store
from mlaprobe.evaluator.engine.runs import MAX_STEPS, UNCLEAR
from mlaprobe.evaluator.engine.signals import BREAK, CONTINUE, Failed, Unsupported
from mlaprobe.evaluator.ir import CType
from mlaprobe.evaluator.objects.iterables import Cursor, UnclearError
from mlaprobe.evaluator.stl.containers import Container, Elsewhere, copied
from mlaprobe.evaluator.stl.places import Chars, Elements, Parts
from mlaprobe.evaluator.values import Unknown, Value, rest_of
from mlaprobe.evaluator.values.kinds import Pointer, Ref
from mlaprobe.evaluator.values.unordered import Unordered
from mlaprobe.evaluator.walk import bound_names, writes_target

REASON = "written in a loop that cannot be followed"


def compile_foreach(unit: Unit, node: ir.ForEach, scope: Scope) -> Eval:
    """A loop over elements."""
    source = unit.compile(node.iterable, scope)
    cpp = unit.lang == "cpp"
    place = compile_place(unit, node.iterable, scope) if cpp else None
    refers = cpp and node.ref and place is None
    once = compile_once(unit, node.iterable, scope) if refers else None
    inner = unit.inner(scope)
    if cpp:
        kind = _referred_kind(node) if node.ref else _kind(node)
        for name in bound_names(node.target):
            inner.declare(name, kind)
    store = compile_store(unit, node.target, inner)
    if cpp:
        store = _anew(store, [inner.names[name] for name in bound_names(node.target)])
    bind = _binding(node, inner) if cpp and node.ref else store
    body = unit.block(node.body, inner)
    orelse = unit.block(node.orelse, scope)
    around = (node,) if cpp and node.ref and writes_target(node) else node.body
    return _Loop(
        node=node,
        source=source,
        place=place,
        once=once,
        store=bind,
        body=body,
        orelse=orelse,
        havoc=havoc_of(unit, around, scope, REASON),
        any_order=AnyOrder(
            unit,
            node.span,
            bind,
            body,
            orelse,
            Written(unit, around, scope, "written in the order of a hash map"),
        ),
        cpp=cpp,
        free=cpp and keeps_no_order(node),
        text=cpp and holds_text(node.iterable, scope),
    ).run


def _referred_kind(node: ir.ForEach) -> CType:
    """The type of what a reference to an element refers to."""
    kind = _kind(node)
    return CType("auto", ref=True) if kind is None else replace(kind, ref=True)


def _kind(node: ir.ForEach) -> CType | None:
    """The declared type of what each round is given, where it is one name."""
    kind = node.type
    if kind is None or not isinstance(node.target, ir.Name):
        return None
    return CType(kind.kind, kind.name, kind.bits, pointer=kind.pointer)


def _binding(node: ir.ForEach, scope: Scope) -> Store:
    """Binds the target of a loop to a reference."""
    found = [scope.find(name) for name in bound_names(node.target)]
    slots = [place[1] for place in found if place is not None]
    single, span = isinstance(node.target, ir.Name), node.span

    def bind(e: Frame, value: Value) -> None:
        if single:
            e[slots[0]] = value
            return
        whole = value if type(value) is Ref else None
        parts = references(value.load() if whole is not None else value, whole)
        if parts is None or len(parts) != len(slots):
            why = Unknown("the parts of an element are not known", span)
            parts = [Ref(Elsewhere(why, writable=False), None) for _ in slots]
        for slot, part in zip(slots, parts, strict=True):
            e[slot] = part

    return bind


@dataclass(frozen=True, slots=True, eq=False)
class _Loop:
    """A compiled loop over elements."""

    node: ir.ForEach
    source: Eval
    place: Lvalue | None
    once: Once | None
    """Finds elements that are referred to, where that does something."""
    store: Store
    body: Eval
    orelse: Eval
    havoc: Eval
    any_order: AnyOrder
    cpp: bool
    free: bool
    """Whether the order of the rounds makes no difference."""
    text: bool
    """Whether it goes through a variable that holds a text."""

    def run(self, e: Frame) -> Value:
        """The signal of the loop."""
        span = self.node.span
        container, place = self._found(e)
        if place is UNCLEAR and writes_target(self.node):
            raise Unsupported("what a loop refers to is not followed", span)
        place = None if place is UNCLEAR else place
        if type(container) is Container:
            return self._container(e, container, place)
        if isinstance(container, Cursor) and not container.unordered:
            try:
                return _taking(container, self.store, self.body, self.orelse, e, span)
            except UnclearError as error:
                return self._unknown(e, error.why)
        if isinstance(container, (set, frozenset)) and len(container) > 1:
            container = Unordered(tuple(container))
        values = elements(container, span)
        if isinstance(values, Unknown):
            return self._unknown(e, values)
        if isinstance(container, Unordered):
            return self._loosely(e, container, values)
        return self._rounds(e, self._values(e, container, values, place))

    def _loosely(self, e: Frame, container: Unordered, values: list[Value]) -> Value:
        return loosely(lambda frame: self.any_order.run(frame, container, values), e)

    def _found(self, e: Frame) -> tuple[Value, Pointer | None]:
        """What the loop goes through, and where that is stored."""
        if self.once is None:
            return self.source(e), self.place(e) if self.place is not None else None
        place, value = self.once(e)
        return (value if place is None or place is UNCLEAR else place.load()), place

    def _unknown(self, e: Frame, why: Unknown) -> Value:
        element = Unknown("an element of " + why.reason, why.span)
        writable = not self.node.ref
        self.store(e, element if writable else Ref(Elsewhere(element, writable=False), None))
        return some_round(self.any_order.unit, self.body, self.orelse, self.havoc, why, e)

    def _values(
        self, e: Frame, container: Value, values: list[Value], place: Pointer | None
    ) -> Iterator[Value]:
        """The elements, each as it is when its round begins."""
        if not self.cpp:
            live = isinstance(container, (list, dict))
            yield from _live(container, e, self.node.span) if live else values
        elif isinstance(container, list):
            for at in range(len(values)):
                if rest_of(container) is not None or at >= len(container):
                    raise Unsupported("an array is changed while a loop runs", self.node.span)
                yield Ref(container, at) if self.node.ref else copied(container[at])
        elif self.node.ref and isinstance(container, str):
            yield from (
                Ref(Chars(place if self.text else None, container), at) for at in range(len(values))
            )
        elif self.node.ref and place is not None and isinstance(container, tuple):
            yield from (Ref(Parts(place), at) for at in range(len(values)))
        else:
            yield from map(copied, values) if self.node.ref else values

    def _container(self, e: Frame, container: Container, place: Pointer | None) -> Value:
        """The signal of a loop over a container."""
        if not container.known:
            if self.node.ref and place is not None and container.items is not None:
                place.store(container.lost(Unknown("written in a loop", self.node.span)))
            return self._unknown(e, container.unknown("the elements", self.node.span))
        items = container.items or ()
        if container.shape.hashed and len(items) > 1 and not self.free:
            values = list(self._elements(container, place))
            return self.any_order.run(e, Unordered(tuple(values), matches=False), values)
        return self._rounds(e, self._elements(container, place))

    def _elements(self, container: Container, place: Pointer | None) -> Iterator[Value]:
        for at in range(len(container.items or ())):
            now = container if place is None else place.load()
            if not isinstance(now, Container) or now.layout is not container.layout:
                why = "a container is changed while a loop goes through it"
                raise Unsupported(why, self.node.span)
            if self.node.ref and place is not None:
                yield Ref(Elements(place, container), at)
            else:
                yield copied((now.items or ())[at])

    def _rounds(self, e: Frame, values: Iterator[Value]) -> Value:
        run = e[RUN]
        for value in values:
            if self.cpp:
                run.steps += 1
                if run.steps > MAX_STEPS:
                    raise Unsupported("a loop runs too long to follow", self.node.span)
            else:
                run.goes_on(self.node.span)
            self.store(e, value)
            signal = self.body(e)
            if signal is BREAK:
                return None
            if signal is not None and signal is not CONTINUE:
                return signal
        return self.orelse(e)


def _live(container: Value, e: Frame, span: ir.Span) -> Iterator[Value]:
    """The elements of a list or dict, which the loop may change.

    Raises:
        Failed: a dict has got more or fewer.
        Unsupported: it is not known any more what they are, or they are too many.
    """
    if isinstance(container, dict):
        count = len(container)
        for key in tuple(container):
            yield key
            _unspoilt(container, span)
            if len(container) != count:
                raise Failed("exception", "RuntimeError", "dictionary changed size", span)
        return
    at, count = 0, len(container)
    while at < len(container):
        e[RUN].steps += at >= count
        if e[RUN].steps > MAX_STEPS:
            raise Unsupported("a loop runs too long to follow", span)
        yield container[at]
        _unspoilt(container, span)
        at += 1


def _unspoilt(container: Value, span: ir.Span) -> None:
    if rest_of(container) is not None:
        raise Unsupported("what a loop goes through is changed in an unknown way", span)


def _anew(store: Store, slots: list[str]) -> Store:
    """The variables of a round, which are not those of the round before."""

    def run(e: Frame, value: Value) -> None:
        for slot in slots:
            e.pop(slot, None)
        store(e, value)

    return run


def _taking(
    cursor: Cursor, store: Store, body: Eval, orelse: Eval, e: Frame, span: ir.Span
) -> Value:
    """A loop over an iterator, which leaves what it does not come to."""
    e[RUN].changes(cursor, span)
    for value in cursor.steps():
        e[RUN].steps += 1
        if e[RUN].steps > MAX_STEPS:
            raise Unsupported("a loop runs too long to follow", span)
        store(e, value)
        signal = body(e)
        if signal is BREAK:
            return None
        if signal is not None and signal is not CONTINUE:
            return signal
    return orelse(e)
