"""``and`` and ``or``.

Over symbols, the comparisons among the operands become one formula, which goes into the path
condition as a whole: a clause over ten head counts splits the questions in two, not in eleven, and
a comparison that another operand settles is not in it. Operands that may do anything else than
compare are evaluated in their turn, when the ones before them are known. Without this a cold report
of v0.1.20 takes 5.1 s of CPU time in place of 3.5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.closures.unit import Scope, Unit
from mlaprobe.evaluator.engine.frames import RUN, Eval, Frame
from mlaprobe.evaluator.engine.signals import Failed, Unsupported
from mlaprobe.evaluator.engine.undecided import note_acting, undecided
from mlaprobe.evaluator.ir import NOWHERE, Node
from mlaprobe.evaluator.objects.iterables import Cursor
from mlaprobe.evaluator.objects.objects import ObjectType, class_of, special
from mlaprobe.evaluator.symbolic.formulas import COMPARE
from mlaprobe.evaluator.symbolic.symbols import LARGEST, Condition, Sym
from mlaprobe.evaluator.values import Args, Unknown, Value
from mlaprobe.evaluator.values.comparing import condition
from mlaprobe.evaluator.values.kinds import Builtin, EnumMember, Record
from mlaprobe.evaluator.values.membership import contains, membership
from mlaprobe.evaluator.values.operators import binary
from mlaprobe.evaluator.values.truth import truth
from mlaprobe.evaluator.walk import walk

Term = Callable[[Value], Value]
"""An operand as a term: ``True``, ``False``, a ``Condition`` that is not written down yet, or
``None`` for one that has to be evaluated in its turn."""
_TOTAL = frozenset((*COMPARE, "+", "-", "*", "&", "|", "^"))
"""Operators that neither fail nor choose, whatever their numbers are."""

_COMPARING = frozenset((*COMPARE, "is", "is not"))


@dataclass(frozen=True, slots=True)
class _Part:
    evaluate: Eval
    term: Term | None


def compile_bool(unit: Unit, node: ir.Bool, scope: Scope) -> Eval:
    """The closure for ``and`` or ``or``."""
    parts = tuple(
        _Part(
            unit.compile(part, scope),
            None if unit.traced else _term(unit, part, scope, node.coerce),
        )
        for part in node.parts
    )
    note_acting(unit.machine, node)
    return _in_turn(unit, node, parts)


def compile_test(unit: Unit, node: Node, scope: Scope) -> Eval:
    """The closure for an expression of which only the truth is wanted."""
    if isinstance(node, ir.Bool) and not unit.traced:
        return compile_bool(unit, replace(node, coerce=True), scope)
    return unit.compile(node, scope)


def _in_turn(unit: Unit, node: ir.Bool, parts: tuple[_Part, ...]) -> Eval:
    stop, coerce, machine, op = node.op == "or", node.coerce, unit.machine, node.op
    everything = tuple(p.evaluate for p in parts)

    def run(e: Frame) -> Value:
        so_far: Condition | None = None  # of the operands before, where it is not settled
        value: Value = not stop
        for at, part in enumerate(parts):
            value = part.term(e) if part.term is not None else None
            if value is None or type(value) is Condition:
                if so_far is not None and (value is None or so_far.size + value.size > LARGEST):
                    if so_far.ask() is stop:
                        return stop
                    so_far = None
                if value is not None:
                    so_far = value if so_far is None else so_far.joined(op, value)
                    continue
                value = part.evaluate(e)
            known = value
            if value is not True and value is not False:
                known = e[RUN].truth(value, node.parts[at].span)
            if isinstance(known, Unknown) and special(value, "__bool__", "__len__"):
                known = e[RUN].holds(value)
            if known is stop:
                return stop if coerce else value
            if isinstance(known, Unknown):
                return undecided(machine, node, known, everything, at + 1, e)
        if so_far is not None:
            return so_far.ask()
        return (not stop) if coerce else value

    return run


# --- operands as formulas ------------------------------------------------------------------------


def _term(unit: Unit, node: Node, scope: Scope, coerce: bool) -> Term | None:
    """The term of an operand that has no effect. ``coerce``: only its truth is wanted, not its
    value."""
    if isinstance(node, ir.Binary) and node.op in _COMPARING:
        return _comparison(unit, node, scope)
    if isinstance(node, ir.Binary) and node.op in ("in", "not in"):
        found = _membership(unit, node, scope)
        return found if node.op == "in" else _denied(found)
    if isinstance(node, ir.Bool):
        return _nested(unit, node, scope, coerce)
    if isinstance(node, ir.Unary) and node.op == "not":
        return _denied(_term(unit, node.value, scope, True))
    operand = _operand(unit, node, scope)
    return None if operand is None else _truth_of(operand, coerce)


def _operand(unit: Unit, node: Node, scope: Scope) -> Eval | None:
    """An expression that does nothing but compute, or ``None``. It raises ``Unsupported`` where
    more would have to be done."""
    if isinstance(node, ir.Call) and not (node.args or node.kwargs or node.template):
        return _constant_call(unit, node, scope) if _is_total(node.func) else None
    if not _is_total(node):
        return None
    value = unit.compile(node, scope)
    owners = [n.obj for n in walk((node,)) if isinstance(n, ir.Attr)] if unit.lang == "py" else []
    return _of_plain_attributes(unit, value, owners[::-1], scope) if owners else value


def _of_plain_attributes(unit: Unit, value: Eval, owners: list[Node], scope: Scope) -> Eval:
    """An expression with attributes: one of an object of the source may do anything."""
    objects = tuple(unit.compile(owner, scope) for owner in owners)

    def ask(e: Frame) -> Value:
        for owner in objects:
            found = owner(e)
            if class_of(found) is not None or isinstance(found, (EnumMember, ObjectType)):
                raise Unsupported("an attribute that may do more", NOWHERE)
        return value(e)

    return ask


def _constant_call(unit: Unit, node: ir.Call, scope: Scope) -> Eval:
    """A call without arguments of what does nothing but give a constant."""
    callee, span = unit.compile(node.func, scope), node.span

    def ask(e: Frame) -> Value:
        function = callee(e)
        if isinstance(function, Builtin) and function.constant:
            return function.call(e[RUN], (), {}, span)
        raise Unsupported("a call that may do more", span)

    return ask


def _is_total(node: Node) -> bool:
    """Whether evaluating an expression does nothing but compute: it may still not be possible."""
    if isinstance(node, (ir.Const, ir.Name)):
        return True
    if isinstance(node, ir.Attr):
        return _is_total(node.obj)
    if isinstance(node, ir.Binary):
        return node.op in _TOTAL and _is_total(node.left) and _is_total(node.right)
    return isinstance(node, ir.Cast) and _is_total(node.value)


def _comparison(unit: Unit, node: ir.Binary, scope: Scope) -> Term | None:
    left, right = _operand(unit, node.left, scope), _operand(unit, node.right, scope)
    if left is None or right is None:
        return None
    op, span, compare = node.op, node.span, COMPARE.get(node.op)
    module = unit.module

    def ask(e: Frame) -> Value:
        try:
            a, b = left(e), right(e)
            if compare is not None:
                if type(a) is Sym or type(b) is Sym:
                    return condition(op, a, b)
                if type(a) is int and type(b) is int:
                    return compare(a, b)
                if _is_own(a, b) and module.defines(op, (a, b)):
                    return None
            value = binary(op, a, b, span)
        except (Failed, Unsupported):
            return None
        return value if value is True or value is False else None

    return ask


def _is_own(left: Value, right: Value) -> bool:
    """Whether the source may say what an operator does with these, in C++."""
    own = (Record, EnumMember)
    return type(left) in own or type(right) in own


def _membership(unit: Unit, node: ir.Binary, scope: Scope) -> Term | None:
    items = node.right.items if isinstance(node.right, ir.Sequence) else (node.right,)
    if not all(_is_total(part) for part in (node.left, *items)):
        return None
    item = unit.compile(node.left, scope)
    container = unit.compile(node.right, scope)
    span = node.span

    def ask(e: Frame) -> Value:
        try:
            one, many = item(e), container(e)
            if isinstance(many, Cursor):
                return None  # elements are taken from it
            if type(one) is Sym:
                return membership(many, one)
            value = contains(many, one, span)
        except (Failed, Unsupported):
            return None
        return value if value is True or value is False else None

    return ask


def _truth_of(operand: Eval, coerce: bool) -> Term:
    """Whether something holds; without ``coerce`` only where it is a truth value itself."""

    def ask(e: Frame) -> Value:
        try:
            value = operand(e)
        except (Failed, Unsupported):
            return None
        if value is True or value is False or not coerce:
            return value if value is True or value is False else None
        if type(value) is Sym:
            return condition("!=", value, 0)
        known = truth(value)
        return known if known is True or known is False else None

    return ask


def _denied(term: Term | None) -> Term | None:
    if term is None:
        return None

    def ask(e: Frame) -> Value:
        value = term(e)
        if type(value) is Condition:
            return value.denied()
        return None if value is None else not value

    return ask


def _nested(unit: Unit, node: ir.Bool, scope: Scope, coerce: bool) -> Term | None:
    found = tuple(_term(unit, part, scope, coerce) for part in node.parts)
    if any(term is None for term in found):
        return None
    terms: Args = found
    stop, op = node.op == "or", node.op

    def ask(e: Frame) -> Value:
        so_far: Condition | None = None
        for term in terms:
            value = term(e)
            if value is stop or value is None:
                return value
            if type(value) is Condition:
                so_far = value if so_far is None else so_far.joined(op, value)
        return (not stop) if so_far is None else so_far

    return ask
