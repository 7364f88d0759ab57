"""Displays, comprehensions and formatted strings as closures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.closures.stores import compile_store
from mlaprobe.evaluator.closures.unit import Scope, Unit
from mlaprobe.evaluator.engine.frames import RUN, Eval, Frame, Store
from mlaprobe.evaluator.engine.signals import Failed, Unsupported
from mlaprobe.evaluator.symbolic.symbols import Sym, SymText, joined, plain
from mlaprobe.evaluator.values import SomeText, Unknown, Value, rest_of, unknown_in
from mlaprobe.evaluator.values.comparing import equals
from mlaprobe.evaluator.values.kinds import Braced, EnumMember, LooseSet, Model
from mlaprobe.evaluator.values.making import Maker
from mlaprobe.evaluator.values.truth import truth
from mlaprobe.evaluator.walk import bound_names

MAX_ELEMENTS = 20_000


def elements(value: Value, span: ir.Span) -> list[Value] | Unknown:
    """The elements of an iterable, or why they are not known."""
    if isinstance(value, Unknown):
        return value
    if isinstance(value, (tuple, list, dict, str, set, frozenset, range)):
        if len(value) > MAX_ELEMENTS:
            raise Unsupported("a sequence is too long to follow", span)
        rest = rest_of(value)
        return list(value) if rest is None else rest.another()
    if isinstance(value, Model):
        found = value.iterate()
        if found is not None:
            return list(found)
    return Unknown("the elements of a value are not known", span)


def compile_items(
    unit: Unit, nodes: tuple[ir.Node, ...], scope: Scope
) -> Callable[[Frame], list[Value] | Unknown]:
    """The values of a display's items, ``*`` expanded."""
    parts = [(isinstance(n, ir.Star), unit.compile(_inner(n), scope), n.span) for n in nodes]
    if not any(star for star, _, _ in parts):
        plain = tuple(p for _, p, _ in parts)
        return lambda e: [p(e) for p in plain]

    def run(e: Frame) -> list[Value] | Unknown:
        values: list[Value] = []
        for star, part, span in parts:
            value = part(e)
            if not star:
                values.append(value)
                continue
            inner = elements(value, span)
            if isinstance(inner, Unknown):
                return inner
            values.extend(inner)
        return values

    return run


def _inner(node: ir.Node) -> ir.Node:
    return node.value if isinstance(node, ir.Star) else node


def compile_sequence(unit: Unit, node: ir.Sequence, scope: Scope) -> Eval:
    """A tuple, list or set display."""
    items = compile_items(unit, node.items, scope)
    kind, span = node.kind, node.span

    def make(e: Frame) -> Value:
        values = items(e)
        return values if isinstance(values, Unknown) else _collect(kind, values, span)

    return make


def compile_members(unit: Unit, node: ir.Members, scope: Scope) -> Eval:
    """A braced list that names members."""
    pairs = tuple((str(name.value), unit.compile(value, scope)) for name, value in node.items
                  if isinstance(name, ir.Const))  # fmt: skip
    return lambda e: Braced((), {name: value(e) for name, value in pairs})


def compile_array(unit: Unit, node: ir.ArrayInit, scope: Scope) -> Eval:
    """A C array: a tuple of constants, or a list."""
    items = tuple(unit.compile(i, scope) for i in node.items)
    sizes = tuple(None if s is None else unit.compile(s, scope) for s in node.sizes)
    compiler, module, span = unit.compiler, unit.module, node.span
    kind = tuple if node.const else list

    def made(make: Maker, values: tuple[Value, ...], counts: tuple[Value, ...]) -> Value:
        inner, count = counts[1:], counts[0]
        count = len(values) if count is None else plain(count)
        if type(count) is not int or not len(values) <= count <= MAX_ELEMENTS:
            return Unknown("how many elements an array has is not followed", span)
        if inner and not all(isinstance(v, Braced) for v in values):
            return Unknown("how an array is made is not followed", span)
        if inner:
            values = (*values, *(Braced(()) for _ in range(count - len(values))))
            return kind(made(make, v.items, inner) for v in values)
        missing = (make.empty(node.element) for _ in range(count - len(values)))
        return kind((*(make.part(v, node.element) for v in values), *missing))

    def run(e: Frame) -> Value:
        values = tuple(item(e) for item in items)
        counts = tuple(None if s is None else s(e) for s in sizes)
        return made(Maker(compiler, e[RUN], module, span), values, counts)

    return run


def as_set(values: list[Value], span: ir.Span) -> Value:
    """A set; of what cannot be hashed, a tuple without repetitions."""
    if all(isinstance(v, (int, str, float, EnumMember, type(None))) for v in values):
        return frozenset(values)
    kept: list[Value] = []
    for value in values:
        same = [equals(value, other, span) for other in kept]
        if any(isinstance(s, Unknown) for s in same):
            return LooseSet(tuple(values))
        if True not in same:
            kept.append(value)
    return tuple(kept)


def compile_mapping(unit: Unit, node: ir.Mapping, scope: Scope) -> Eval:
    """A dict display."""
    pairs = [
        (
            unit.compile(k, scope) if k is not None else None,
            unit.compile(v, scope),
        )
        for k, v in node.items
    ]
    span = node.span

    def run(e: Frame) -> Value:
        result: dict[Value, Value] = {}
        for key, value in pairs:
            v = value(e)
            if key is None:
                if not isinstance(v, dict) or rest_of(v) is not None:
                    return Unknown("a mapping is not known", span)
                result.update(v)
                continue
            k = key(e)
            unknown = unknown_in(k)
            if unknown is not None:
                return unknown.another()
            try:
                result[k] = v
            except TypeError:
                return Unknown("a key that cannot be hashed", span)
        return result

    return run


class _Clause(NamedTuple):
    """A compiled ``for target in source if tests`` of a comprehension."""

    source: Eval
    store: Store
    tests: tuple[Eval, ...]
    span: ir.Span


def compile_comprehension(unit: Unit, node: ir.Comprehension, scope: Scope) -> Eval:
    """A comprehension; generators are evaluated at once."""
    inner = Scope(scope.function, scope)
    clauses = [_clause(unit, clause, inner) for clause in node.clauses]
    element = unit.compile(node.element, inner)
    kind, span = node.kind, node.span

    def run(e: Frame) -> Value:
        out: list[Value] = []
        try:
            stop = _fill(out, clauses, element, e)
        except Failed:
            if kind != "tuple" or not out:
                raise
            # the receiver of a generator may not consume it that far
            return Unknown("a generator fails on the way", span)
        if stop is not None:
            # what it depends on is not what it is
            return Unknown(stop.reason, stop.span, free=stop.free, foreign=stop.foreign)
        return _collect(kind, out, span)

    return run


def _clause(
    unit: Unit, clause: tuple[ir.Node, ir.Node, tuple[ir.Node, ...]], scope: Scope
) -> _Clause:
    target, iterable, conditions = clause
    source = unit.compile(iterable, scope)
    for name in bound_names(target):
        scope.declare(name)
    store = compile_store(unit, target, scope)
    return _Clause(source, store, tuple(unit.compile(c, scope) for c in conditions), iterable.span)


def _fill(out: list[Value], clauses: Sequence[_Clause], element: Eval, e: Frame) -> Unknown | None:
    """Appends the elements that clauses make; what was not known, where that stopped it."""
    if not clauses:
        out.append(element(e))
        return None
    first, inner = clauses[0], clauses[1:]
    values = elements(first.source(e), first.span)
    if isinstance(values, Unknown):
        return values
    for value in values:
        first.store(e, value)
        keep = _all_true(first.tests, e)
        if isinstance(keep, Unknown):
            return keep
        stop = _fill(out, inner, element, e) if keep else None
        if stop is not None:
            return stop
    return None


def _all_true(tests: tuple[Eval, ...], e: Frame) -> Value:
    for test in tests:
        known = truth(test(e))
        if known is not True:
            return known
    return True


def _collect(kind: str, values: list[Value], span: ir.Span) -> Value:
    if kind == "list":
        return values
    if kind == "tuple":
        return tuple(values)
    if kind == "set":
        return as_set(values, span)
    return as_mapping(values, span)


def as_mapping(pairs: list[Value], span: ir.Span) -> Value:
    """A dict of pairs."""
    result: dict[Value, Value] = {}
    for pair in pairs:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or rest_of(pair) is not None:
            return Unknown("a mapping is not known", span)
        if unknown_in(pair[0]) is not None:
            return unknown_in(pair[0])
        try:
            result[pair[0]] = pair[1]
        except TypeError:
            return Unknown("a key that cannot be hashed", span)
    return result


def compile_format(unit: Unit, node: ir.Format, scope: Scope) -> Eval:
    """A formatted string; what has no known text is shown as its expression."""
    parts = tuple(unit.compile(p, scope) for p in node.parts)
    labels, span = node.labels, node.span

    def run(e: Frame) -> Value:
        values = [part(e) for part in parts]
        shown = joined([text_of(v, label) for v, label in zip(values, labels, strict=True)])
        for value, label in zip(values, labels, strict=True):
            if isinstance(value, Unknown):
                return SomeText(shown, value.derive("text", *values))
            if not _has_text(value):
                return SomeText(shown, Unknown(f"the text of {label}", span, foreign=True))
        return shown

    return run


def _has_text(value: Value) -> bool:
    """Whether the text that Python makes of a value is known."""
    if isinstance(value, (tuple, list)):
        return all(isinstance(v, (str, int, float, bool)) for v in value)
    return isinstance(value, (str, int, float, bool, Sym, SymText)) or value is None


def text_of(value: Value, label: str) -> Value:
    """A value as text for people, or its expression in angle brackets; a symbol stays one."""
    if type(value) in (Sym, SymText):
        return value
    if isinstance(value, SomeText):
        return value.shown
    if isinstance(value, (str, int, float, bool)) or value is None:
        return str(value)
    if isinstance(value, EnumMember):
        return value.name
    if isinstance(value, (tuple, list)) and all(
        isinstance(v, (str, int, float, bool)) for v in value
    ):
        return str(value)
    return f"<{label}>"
