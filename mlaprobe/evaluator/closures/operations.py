"""Operators and assignments as closures."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.closures.stores import compile_store
from mlaprobe.evaluator.closures.unit import Scope, Unit
from mlaprobe.evaluator.engine.frames import RUN, Eval, Frame
from mlaprobe.evaluator.engine.signals import Unsupported
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.objects import objects
from mlaprobe.evaluator.objects.iterables import Cursor
from mlaprobe.evaluator.objects.objects import class_of
from mlaprobe.evaluator.stl.containers import Container
from mlaprobe.evaluator.stl.places import Elements, Iterator
from mlaprobe.evaluator.stl.shapes import Sort
from mlaprobe.evaluator.symbolic.formulas import ARITHMETIC, COMPARE
from mlaprobe.evaluator.symbolic.symbols import Sym, number_of, plain
from mlaprobe.evaluator.values import Unknown, Value
from mlaprobe.evaluator.values.arithmetic import kind_of, plain_number, shifted
from mlaprobe.evaluator.values.comparing import negate
from mlaprobe.evaluator.values.kinds import EnumMember, Model, Record
from mlaprobe.evaluator.values.operators import binary, unary

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.modules import Module
    from mlaprobe.evaluator.engine.runs import Run

ORDERED = ("<", "<=", ">", ">=")
OWN = (Record, EnumMember)
"""Values for which the source may define operators."""


def compile_unary(unit: Unit, node: ir.Unary, scope: Scope) -> Eval:
    """``- + ~ not``."""
    value, op, span = unit.compile(node.value, scope), node.op, node.span
    module, cpp = unit.module, unit.lang == "cpp"
    if op == "not":

        def invert(e: Frame) -> Value:
            v = value(e)
            if cpp and type(v) in OWN:
                found = module.defined(e[RUN], op, (v,), span)
                if found is not NotImplemented:
                    return found
            if objects.special(v, "__bool__", "__len__"):
                return not e[RUN].holds(v, span)
            if isinstance(v, Model) and not v.always_true:
                return negate(e[RUN].truth(v, span))
            return (not v) if v is True or v is False else negate(v)

        return invert

    def run(e: Frame) -> Value:
        v = value(e)
        found = module.defined(e[RUN], op, (v,), span) if cpp and type(v) in OWN else NotImplemented
        return unary(op, v, span) if found is NotImplemented else found

    return run


def compile_binary(unit: Unit, node: ir.Binary, scope: Scope) -> Eval:
    """``left op right``."""
    left = unit.compile(node.left, scope)
    right = unit.compile(node.right, scope)
    op, span = node.op, node.span
    unsigned = -node.unsigned if node.modulo else node.unsigned
    operate = _operation(unit, op, span, unsigned)
    if op in COMPARE:
        compare = COMPARE[op]
        equality, python = op in ("==", "!="), unit.lang == "py"

        def comparing(e: Frame) -> Value:
            a, b = left(e), right(e)
            kind = type(a)
            if kind is type(b) and (kind is int or (equality and (kind is str or kind is bool))):
                return compare(a, b)
            if equality and python and (a is None or b is None) and _plain(a) and _plain(b):
                return (a is b) is (op == "==")
            return operate(e, a, b)

        return comparing
    if op in ("+", "-") and unit.lang == "cpp" and not unsigned:
        return _moving(op, left, right, operate)
    if op in ("+", "-", "*") and not unsigned:
        compute = ARITHMETIC[op]

        def computing(e: Frame) -> Value:
            a, b = left(e), right(e)
            if type(a) is int and type(b) is int:
                return compute(a, b)
            return operate(e, a, b)

        return computing
    return lambda e: operate(e, left(e), right(e))


def _operation(
    unit: Unit, op: str, span: Span, unsigned: int
) -> Callable[[Frame, Value, Value], Value]:
    """An operator over two values, where the source may define what it does."""
    if unit.lang == "py":
        return lambda e, a, b: operated(e, op, a, b, span)
    module = unit.module

    def operate(e: Frame, a: Value, b: Value) -> Value:
        if type(a) in OWN or type(b) in OWN:
            found = module.defined(e[RUN], op, (a, b), span)
            if found is not NotImplemented:
                return found
            if op in ORDERED and type(a) is type(b) is EnumMember and a.enum == b.enum:
                a, b = (s if s.value is None else s.value for s in (a, b))
        if op in ("<<", ">>") and type(a) is str:
            raise Unsupported("what is done with a stream is not followed", span)
        return binary(op, a, b, span, unsigned=unsigned)

    return operate


def _plain(value: Value) -> bool:
    """Whether a value is one of Python's own, which compares itself."""
    return value is None or isinstance(value, (int, float, str, tuple, list, dict, set, Sym))


def operated(e: Frame, op: str, left: Value, right: Value, span: Span) -> Value:
    """``left op right``, where that may mean a method of one of them."""
    if type(right) is Cursor:
        e[RUN].effects += 1  # elements are taken from it
    ours = class_of(left) is not None or class_of(right) is not None
    if ours and objects.acts(op, left, right):
        return objects.applied(e[RUN], op, left, right, span)
    if op in ("in", "not in") and isinstance(right, Model):
        found = right.contains_in(e[RUN], left, span)
        if found is not NotImplemented:
            return found if op == "in" else negate(found)
    if op in ("<<", ">>"):
        sides = [plain_number(side) for side in (left, right)]
        if all(type(number_of(side)) is int for side in sides):
            return shifted(op, plain(sides[0]), plain(sides[1]), span)
    return binary(op, left, right, span)


def _moving(
    op: str, left: Eval, right: Eval, operate: Callable[[Frame, Value, Value], Value]
) -> Eval:
    """A sum or difference in C++, where an array is a pointer to its first element."""
    compute = ARITHMETIC[op]

    def run(e: Frame) -> Value:
        a, b = left(e), right(e)
        if type(a) is int and type(b) is int:
            return compute(a, b)
        if type(b) is int and _is_array(a):
            a = Iterator(Elements(None, a), 0)
        elif isinstance(a, Iterator) and _is_array(b):
            b = Iterator(Elements(None, b), 0)
        return operate(e, a, b)

    return run


def _is_array(value: Value) -> bool:
    array = type(value) is Container and value.shape.sort is Sort.ARRAY
    return array or type(value) in (list, tuple)


def compile_assignment(unit: Unit, node: ir.AssignExpr, scope: Scope) -> Eval:
    """``target = value``, ``target += value``."""
    store = compile_store(unit, node.target, scope)
    value = unit.compile(node.value, scope)
    if node.op is None:

        def assign(e: Frame) -> Value:
            v = value(e)
            store(e, v)
            return v

        return assign
    old = unit.compile(node.target, scope)
    op, span, postfix = node.op, node.span, node.postfix
    module, cpp = unit.module, unit.lang == "cpp"
    found = scope.find(node.target.id) if isinstance(node.target, ir.Name) else None
    ctype = None if found is None else found[2]
    in_text = ctype is not None and (ctype.kind, ctype.name) == ("string", "char")

    def update(e: Frame) -> Value:
        operand = value(e)  # C++17 evaluates the right side first
        before = old(e)
        if cpp and type(before) in OWN:
            return _updated(module, e[RUN], op, before, operand, span)
        if in_text and type(before) is str:
            after = _further_on(op, before, operand, span)
        else:
            after = binary(op, before, operand, span)
        store(e, after)
        return before if postfix else after

    return update


def _further_on(op: str, text: str, by: Value, span: Span) -> Value:
    """A pointer to a character further on in a C string."""
    if op == "+" and type(by) is int and 0 <= by <= len(text):
        return text[by:]
    return Unknown("a pointer into a text is moved", span)


def _updated(module: Module, run: Run, op: str, before: Value, operand: Value, span: Span) -> Value:
    """``object += value``, which only the source can define.

    Raises:
        Unsupported: it is not followed.
    """
    written = {"c/": "/", "c%": "%"}.get(op, op) + "="
    if isinstance(before, Record):
        found = module.defined(run, written, (before, operand), span)
        if found is not NotImplemented and not isinstance(found, Unknown):
            return found
    raise Unsupported(f"{written} of a {kind_of(before)} is not followed", span)
