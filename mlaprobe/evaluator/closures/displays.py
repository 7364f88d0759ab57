"""Displays, comprehensions and formatted strings as closures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.closures.stores import compile_store
from mlaprobe.evaluator.closures.unit import Scope, Unit
from mlaprobe.evaluator.engine.frames import RUN, Eval, Frame, Store
from mlaprobe.evaluator.engine.signals import Unsupported
from mlaprobe.evaluator.objects.enums import enum_text, members_of
from mlaprobe.evaluator.objects.iterables import MAX_ELEMENTS, Cursor, UnclearError
from mlaprobe.evaluator.objects.mappings import as_set, put_entry
from mlaprobe.evaluator.objects.mappings import joined as joined_dicts
from mlaprobe.evaluator.objects.objects import class_name, special
from mlaprobe.evaluator.stl.making import Maker
from mlaprobe.evaluator.symbolic.symbols import Sym, SymText, joined, plain
from mlaprobe.evaluator.values import PathText, SomeText, Unknown, Value, rest_of
from mlaprobe.evaluator.values.arithmetic import LONGEST
from mlaprobe.evaluator.values.kinds import Braced, EnumMember, EnumType, Model
from mlaprobe.evaluator.values.truth import truth
from mlaprobe.evaluator.walk import bound_names


def elements(value: Value, span: ir.Span, *, any_order: bool = False) -> list[Value] | Unknown:
    """The elements of an iterable, or why they are not known. Those of an iterator are taken from
    it. ``any_order``: it does not matter in which order they come."""
    if isinstance(value, Unknown):
        return value
    if isinstance(value, (tuple, list, dict, str, set, frozenset, range)):
        if len(value) > MAX_ELEMENTS:
            raise Unsupported("a sequence is too long to follow", span)
        rest = rest_of(value)
        if isinstance(value, (set, frozenset)) and len(value) > 1 and not any_order:
            return Unknown("the order of a set is not known", span)
        return list(value) if rest is None else rest.another()
    if isinstance(value, Cursor):
        return _taken(value, span, any_order)
    if isinstance(value, EnumType):
        members = members_of(value)
        return members if isinstance(members, Unknown) else list(members)
    if isinstance(value, Model):
        found = value.iterate()
        if found is not None:
            return list(found)
    if special(value, "__iter__", "__getitem__"):  # what gives the elements may do more
        raise Unsupported(f"how a {class_name(value)} is gone through is not followed", span)
    return Unknown("the elements of a value are not known", span)


def _taken(cursor: Cursor, span: ir.Span, any_order: bool) -> list[Value] | Unknown:
    """What is left of an iterator, which is at its end then."""
    found = cursor.take(span)
    if isinstance(found, list) and cursor.unordered and len(found) > 1 and not any_order:
        return Unknown("the order of a set is not known", span)
    return found


def stream(value: Value, span: ir.Span) -> Iterator[Value]:
    """The elements of an iterable, each taken when it is asked for.

    Raises:
        UnclearError: what comes next is not known.
    """
    if isinstance(value, Cursor):
        yield from value.steps()
        return
    found = elements(value, span, any_order=True)
    if isinstance(found, Unknown):
        raise UnclearError(found)
    yield from found


def is_unordered(value: Value) -> bool:
    """Whether the order of an iterable's elements is not known."""
    if isinstance(value, Cursor):
        return value.unordered
    return isinstance(value, (set, frozenset)) and len(value) > 1


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
    items = compile_items(unit, node.items, scope)
    sizes = tuple(None if s is None else unit.compile(s, scope) for s in node.sizes)
    compiler, module, span = unit.compiler, unit.module, node.span
    kind = tuple if node.const else list

    def made(make: Maker, values: tuple[Value, ...], counts: tuple[Value, ...]) -> Value:
        inner, count = counts[1:], counts[0]
        count = count.value if isinstance(count, EnumMember) and not count.scoped else count
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
        values = items(e)
        if isinstance(values, Unknown):
            return values
        counts = tuple(None if s is None else s(e) for s in sizes)
        return made(Maker(compiler, e[RUN], module, span), tuple(values), counts)

    return run


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
        result: Value = {}
        for key, value in pairs:
            v = value(e)
            if key is None:
                if not isinstance(v, dict) or rest_of(v) is not None:
                    return Unknown("a mapping is not known", span)
                result = joined_dicts(result, v, span)
                if isinstance(result, Unknown):
                    return result
                continue
            why = put_entry(result, key(e), v, span)
            if why is not None:
                return why.another()
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
        source = clauses[0].source(e)
        loose = [source] if is_unordered(source) else []
        if kind == "generator":
            values = _each(clauses, element, e, source, loose)
            return Cursor(values, unordered=bool(loose) or len(clauses) > 1)
        try:
            out = _bounded(_each(clauses, element, e, source, loose), span)
        except UnclearError as error:
            # what it depends on is not what it is
            why = error.why
            return Unknown(why.reason, why.span, free=why.free, foreign=why.foreign)
        if not loose or len(out) < 2 or kind == "set":
            return _collect(kind, out, span)
        return Unknown("the order of a set is not known", span)

    return run


def _bounded(values: Iterator[Value], span: ir.Span) -> list[Value]:
    out: list[Value] = []
    for value in values:
        out.append(value)
        if len(out) > MAX_ELEMENTS:
            raise Unsupported("a sequence is too long to follow", span)
    return out


def _clause(
    unit: Unit, clause: tuple[ir.Node, ir.Node, tuple[ir.Node, ...]], scope: Scope
) -> _Clause:
    target, iterable, conditions = clause
    source = unit.compile(iterable, scope)
    for name in bound_names(target):
        scope.declare(name)
    store = compile_store(unit, target, scope)
    return _Clause(source, store, tuple(unit.compile(c, scope) for c in conditions), iterable.span)


def _each(
    clauses: Sequence[_Clause], element: Eval, e: Frame, source: Value, loose: list[Value]
) -> Iterator[Value]:
    """The elements that clauses make, each when it is asked for. ``loose`` gets the iterables
    whose order is not known. Variables are set again for each: others may have set them meanwhile.

    Raises:
        UnclearError: what comes next is not known.
    """
    yield from (element(e) for _ in _rounds(clauses, e, source, loose, ()))


def _rounds(
    clauses: Sequence[_Clause],
    e: Frame,
    source: Value,
    loose: list[Value],
    before: tuple[tuple[Store, Value], ...],
) -> Iterator[None]:
    first, inner = clauses[0], clauses[1:]
    for value in stream(source, first.span):
        e[RUN].goes_on(first.span)
        held = (*before, (first.store, value))
        for store, known in held:
            store(e, known)
        keep = _all_true(first.tests, e)
        if isinstance(keep, Unknown):
            raise UnclearError(keep)
        if not keep:
            continue
        if not inner:
            yield None
            continue
        further = inner[0].source(e)
        if is_unordered(further):
            loose.append(further)
        yield from _rounds(inner, e, further, loose, held)


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
        why = put_entry(result, pair[0], pair[1], span)
        if why is not None:
            return why
    return result


def compile_format(unit: Unit, node: ir.Format, scope: Scope) -> Eval:
    """A formatted string; what has no known text is shown as its expression."""
    parts = tuple(unit.compile(p, scope) for p in node.parts)
    labels, span = node.labels, node.span

    def run(e: Frame) -> Value:
        values = [_shown(part(e)) for part in parts]
        shown = joined([text_of(v, label) for v, label in zip(values, labels, strict=True)])
        if isinstance(shown, str) and len(shown) > LONGEST:
            raise Unsupported("a text too long to follow", span)
        if values and isinstance(values[0], PathText) and all(type(v) is str for v in values[1:]):
            return values[0].followed_by("".join(values[1:]))
        for value, label in zip(values, labels, strict=True):
            if isinstance(value, Unknown):
                return SomeText(shown, value.derive("text", *values))
            if not _has_text(value):
                return SomeText(shown, Unknown(f"the text of {label}", span, foreign=True))
        return shown

    return run


def _shown(value: Value) -> Value:
    """A value of which the text is known, as that text; any other as it is."""
    text = enum_text(value, formatted=True) if isinstance(value, EnumMember) else None
    return value if text is None else text


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
