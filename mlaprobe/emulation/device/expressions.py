"""Expressions as closures over the machine and a scope."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mlaprobe.emulation.device import arithmetic, lookup, naming
from mlaprobe.emulation.device.access import (
    compile_field,
    compile_pointer,
    compile_subscript,
    compile_this,
)
from mlaprobe.emulation.device.calls import compile_call
from mlaprobe.emulation.device.kinds import (
    BOOL,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    UINT,
    ULONG,
    Scalar,
    Text,
    common,
)
from mlaprobe.emulation.device.machine import Code, Machine, Operand, loaded, not_followed
from mlaprobe.emulation.device.places import Place, operate
from mlaprobe.emulation.device.scopes import Lambda, Scope, TypeName
from mlaprobe.emulation.device.signals import NotFollowed
from mlaprobe.emulation.device.source import Piece, Syntax
from mlaprobe.emulation.device.values import (
    NONE,
    Address,
    Braced,
    Mask,
    Value,
    blend,
    storage,
)
from mlaprobe.evaluator.cpp.conditions import parse_integer

_SIMPLE = {"+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"}
_COMPARE = {"==", "!=", "<", "<=", ">", ">="}


def compile_expression(piece: Piece, node: Syntax) -> Code:
    """The closure of an expression."""
    handler = _HANDLERS.get(node.type)
    if handler is None or node.is_missing or any(c.type == "ERROR" for c in node.children):
        return not_followed(piece, node)
    return handler(piece, node)


def _name(piece: Piece, node: Syntax) -> Code:
    if node.type == "identifier":
        text = piece.text(node)
        return lambda m, s: lookup.meaning(m, s, text)
    return lambda m, s: naming.named(m, piece, node, s)


def _constant(value: Value) -> Callable[[Piece, Syntax], Code]:
    return lambda piece, node: lambda m, s: value


def _number(piece: Piece, node: Syntax) -> Code:
    text = piece.text(node).replace("'", "").lower()
    negative, text = text.startswith("-"), text.lstrip("+- ")
    whole = parse_integer(text)
    if whole is not None:
        long = "l" in text or whole >= 2**32
        unsigned = "u" in text.removeprefix("0x") or (text.startswith("0") and whole >= 2**31)
        kind = (ULONG if unsigned else LONG) if long else UINT if unsigned else INT
        if not unsigned and whole > kind.bounds[1]:
            kind = LONG
        value = Value(kind, whole)
    else:
        real = FLOAT if text.endswith("f") else DOUBLE
        try:
            value = Value(real, storage(real).type(float(text.rstrip("fl"))))
        except ValueError:
            return not_followed(piece, node)
    if negative:
        return lambda m, s: arithmetic.unary("-", value, m.mask)
    return lambda m, s: value


def _string(piece: Piece, node: Syntax) -> Code:
    value = Value(Text(), piece.text(node).strip('"'))
    return lambda m, s: value


def _inner(piece: Piece, node: Syntax) -> Code:
    parts = [c for c in node.named_children if c.type != "comment"]
    return piece.code(parts[0]) if len(parts) == 1 else not_followed(piece, node)


def _binary(piece: Piece, node: Syntax) -> Code:
    op = piece.text(node.child_by_field_name("operator"))
    left = loaded(piece, node.child_by_field_name("left"))
    right = loaded(piece, node.child_by_field_name("right"))
    if op in ("&&", "and", "||", "or"):
        return _logical(op in ("&&", "and"), left, right)
    if op not in _SIMPLE and op not in _COMPARE:
        return not_followed(piece, node)
    return lambda m, s: operate(m, op, left(m, s), right(m, s))


Eval = Callable[[Machine, Scope], Value]


def _logical(conjunction: bool, left: Eval, right: Eval) -> Code:
    """``&&`` and ``||``: the right side is for the threads that the left one does not settle."""

    def run(m: Machine, s: Scope) -> Value:
        found = m.split(m.converted(left(m, s), BOOL))
        if isinstance(found, bool):
            if found is not conjunction:
                return Value(BOOL, not conjunction)
            return m.converted(right(m, s), BOOL)
        around = m.mask
        m.mask = found if conjunction else around & ~found
        try:
            other = m.split(m.converted(right(m, s), BOOL))
            some = (m.mask if other else m.nobody) if isinstance(other, bool) else other
        finally:
            m.mask = around
        return Value(BOOL, some if conjunction else found | some)

    return run


def _unary(piece: Piece, node: Syntax) -> Code:
    op = piece.text(node.child_by_field_name("operator"))
    value = loaded(piece, node.child_by_field_name("argument"))
    op = {"not": "!"}.get(op, op)

    def run(m: Machine, s: Scope) -> Value:
        given = value(m, s)
        if op == "!" and isinstance(given.data, Address):
            return Value(BOOL, given.data.block is None)
        return arithmetic.unary(op, given, m.mask)

    return run


def _assignment(piece: Piece, node: Syntax) -> Code:
    op = piece.text(node.child_by_field_name("operator"))[:-1]
    target = piece.code(node.child_by_field_name("left"))
    code = piece.code(node.child_by_field_name("right"))
    if op and op not in _SIMPLE:
        return not_followed(piece, node)

    def run(m: Machine, s: Scope) -> Operand:
        given = code(m, s)
        if isinstance(given, Place):
            given = given.load(m)
        place = target(m, s)
        if not isinstance(place, Place):
            raise NotFollowed("an assignment to something that is no variable")
        if op:
            given = operate(m, op, place.load(m), m.value(given))
        place.store(m, m.converted(given, place.type))
        return place

    return run


def _update(piece: Piece, node: Syntax) -> Code:
    operator, argument = (node.child_by_field_name(n) for n in ("operator", "argument"))
    op, target = piece.text(operator)[0], piece.code(argument)
    postfix = operator.start_byte > argument.start_byte

    def run(m: Machine, s: Scope) -> Operand:
        place = target(m, s)
        if not isinstance(place, Place):
            raise NotFollowed("something is counted that is no variable")
        before = place.load(m)
        place.store(m, m.converted(operate(m, op, before, Value(INT, 1)), place.type))
        return before if postfix else place

    return run


def _conditional(piece: Piece, node: Syntax) -> Code:
    parts = [node.child_by_field_name(n) for n in ("condition", "consequence", "alternative")]
    if any(p is None for p in parts):
        return not_followed(piece, node)
    test, then, orelse = loaded(piece, parts[0]), piece.code(parts[1]), piece.code(parts[2])

    def run(m: Machine, s: Scope) -> Operand:
        found = m.split(m.converted(test(m, s), BOOL))
        around = m.mask
        if isinstance(found, bool):
            operand = then(m, s) if found else orelse(m, s)
            return _of_both(m, operand, piece, parts[2] if found else parts[1], s)
        try:
            m.mask = found
            one = m.value(then(m, s))
            m.mask = around & ~found
            other = m.value(orelse(m, s))
        finally:
            m.mask = around
        return _blended(m, found, one, other)

    return run


def _of_both(m: Machine, operand: Operand, piece: Piece, other: Syntax, s: Scope) -> Operand:
    """The side that is taken, with the type that both sides have in common."""
    if not isinstance(operand, (Place, Value)) or not isinstance(operand.type, Scalar):
        return operand
    kind = m.type_of(piece, other, s)
    if kind is None:
        raise NotFollowed("a conditional of which one side has no known type")
    if not isinstance(kind, Scalar) or kind == operand.type:
        return operand
    return m.converted(operand, common(operand.type, kind))


def _blended(m: Machine, mask: Mask, one: Value, other: Value) -> Value:
    if isinstance(one.type, Scalar) and isinstance(other.type, Scalar):
        kind = common(one.type, other.type) if one.type != other.type else one.type
        one, other = m.converted(one, kind), m.converted(other, kind)
    return blend(mask, one, other)


def _cast(piece: Piece, node: Syntax) -> Code:
    code = piece.code(node.child_by_field_name("value"))
    kind = node.child_by_field_name("type")
    return lambda m, s: m.cast(code(m, s), naming.type_of(m, piece, kind, s))


def _braced(piece: Piece, node: Syntax) -> Code:
    if any(c.type == "initializer_pair" for c in node.named_children):
        return not_followed(piece, node)
    items = [piece.code(c) for c in node.named_children if c.type != "comment"]

    def run(m: Machine, s: Scope) -> Braced:
        made = [item(m, s) for item in items]
        return Braced(tuple(i if isinstance(i, Braced) else m.value(i) for i in made))

    return run


def _compound(piece: Piece, node: Syntax) -> Code:
    """``Type{...}``."""
    kind, value = node.child_by_field_name("type"), node.child_by_field_name("value")
    items = _braced(piece, value)
    return lambda m, s: m.converted(items(m, s), naming.type_of(m, piece, kind, s))


def _lambda(piece: Piece, node: Syntax) -> Code:
    captures = piece.text(node.child_by_field_name("captures")).strip("[] ")
    if captures and not all(part.strip().startswith("&") for part in captures.split(",")):
        return not_followed(piece, node)
    return lambda m, s: Lambda(node, piece, s)


def _comma(piece: Piece, node: Syntax) -> Code:
    first = piece.code(node.child_by_field_name("left"))
    second = piece.code(node.child_by_field_name("right"))

    def run(m: Machine, s: Scope) -> Any:
        first(m, s)
        return second(m, s)

    return run


def _sizeof(piece: Piece, node: Syntax) -> Code:
    inner = node.child_by_field_name("type") or node.child_by_field_name("value")
    while inner is not None and inner.type == "parenthesized_expression":
        inner = inner.named_children[0]
    if inner is None:
        return not_followed(piece, node)

    def run(m: Machine, s: Scope) -> Value:
        if inner.type in ("identifier", "qualified_identifier"):
            found = naming.named(m, piece, inner, s)
            kind = found.type if isinstance(found, (Place, Value)) else naming.as_type(m, found)
        else:
            kind = naming.type_of(m, piece, inner, s)
        return Value(ULONG, kind.size)

    return run


def _type(piece: Piece, node: Syntax) -> Code:
    return lambda m, s: TypeName(naming.type_of(m, piece, node, s))


_HANDLERS: dict[str, Callable[[Piece, Syntax], Code]] = {
    "identifier": _name,
    "qualified_identifier": _name,
    "template_function": _name,
    "type_identifier": _type,
    "primitive_type": _type,
    "number_literal": _number,
    "string_literal": _string,
    "true": _constant(Value(BOOL, True)),
    "false": _constant(Value(BOOL, False)),
    "null": _constant(Value(NONE, Address(None))),
    "nullptr": _constant(Value(NONE, Address(None))),
    "parenthesized_expression": _inner,
    "condition_clause": _inner,
    "binary_expression": _binary,
    "unary_expression": _unary,
    "pointer_expression": compile_pointer,
    "subscript_expression": compile_subscript,
    "field_expression": compile_field,
    "assignment_expression": _assignment,
    "update_expression": _update,
    "conditional_expression": _conditional,
    "cast_expression": _cast,
    "call_expression": compile_call,
    "initializer_list": _braced,
    "compound_literal_expression": _compound,
    "lambda_expression": _lambda,
    "comma_expression": _comma,
    "sizeof_expression": _sizeof,
    "this": compile_this,
}
