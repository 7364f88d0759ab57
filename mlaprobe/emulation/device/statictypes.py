"""Types of expressions that are not evaluated."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mlaprobe.emulation.device.binding import chosen, result_type, template_scope
from mlaprobe.emulation.device.calls import CASTS, template_head
from mlaprobe.emulation.device.kinds import (
    BOOL,
    ULONG,
    ArrayOf,
    PointerTo,
    Scalar,
    Struct,
    Type,
    common,
    promoted,
)
from mlaprobe.emulation.device.naming import named, type_of
from mlaprobe.emulation.device.places import Place
from mlaprobe.emulation.device.scopes import Builtin, Functions, Scope
from mlaprobe.emulation.device.source import Piece, Syntax
from mlaprobe.emulation.device.values import Value

if TYPE_CHECKING:
    from mlaprobe.emulation.device.machine import Machine


def static_type(m: Machine, piece: Piece, node: Syntax, s: Scope) -> Type | None:
    """The type of an expression, ``None`` where that takes more than is followed here."""
    handler = _HANDLERS.get(node.type)
    return None if handler is None else handler(m, piece, node, s)


def _literal(m: Machine, piece: Piece, node: Syntax, s: Scope) -> Type | None:
    return m.evaluate(piece, node, s).type


def _name(m: Machine, piece: Piece, node: Syntax, s: Scope) -> Type | None:
    found = named(m, piece, node, s)
    return found.type if isinstance(found, (Place, Value)) else None


def _inner(m: Machine, piece: Piece, node: Syntax, s: Scope) -> Type | None:
    parts = [c for c in node.named_children if c.type != "comment"]
    return static_type(m, piece, parts[0], s) if len(parts) == 1 else None


def _binary(m: Machine, piece: Piece, node: Syntax, s: Scope) -> Type | None:
    op = piece.text(node.child_by_field_name("operator"))
    if op in ("==", "!=", "<", "<=", ">", ">=", "&&", "||", "and", "or"):
        return BOOL
    left, right = (static_type(m, piece, node.child_by_field_name(n), s) for n in ("left", "right"))
    if isinstance(left, Scalar) and isinstance(right, Scalar):
        return promoted(left) if op in ("<<", ">>") else common(left, right)
    pointers = [t for t in (left, right) if isinstance(t, PointerTo)]
    return pointers[0] if len(pointers) == 1 and None not in (left, right) else None


def _unary(m: Machine, piece: Piece, node: Syntax, s: Scope) -> Type | None:
    if piece.text(node.child_by_field_name("operator")) in ("!", "not"):
        return BOOL
    kind = static_type(m, piece, node.child_by_field_name("argument"), s)
    return promoted(kind) if isinstance(kind, Scalar) else None


def _conditional(m: Machine, piece: Piece, node: Syntax, s: Scope) -> Type | None:
    names = ("consequence", "alternative")
    one, other = (static_type(m, piece, node.child_by_field_name(n), s) for n in names)
    if isinstance(one, Scalar) and isinstance(other, Scalar):
        return one if one == other else common(one, other)
    return one if one == other else None


def _field(m: Machine, piece: Piece, node: Syntax, s: Scope) -> Type | None:
    kind = static_type(m, piece, node.child_by_field_name("argument"), s)
    if isinstance(kind, PointerTo):
        kind = kind.target
    name = piece.text(node.child_by_field_name("field"))
    if not isinstance(kind, Struct) or name not in kind.members:
        return None
    return kind.members[name].type


def _subscript(m: Machine, piece: Piece, node: Syntax, s: Scope) -> Type | None:
    kind = static_type(m, piece, node.child_by_field_name("argument"), s)
    if isinstance(kind, PointerTo):
        return kind.target
    return kind.element if isinstance(kind, ArrayOf) else None


def _cast(m: Machine, piece: Piece, node: Syntax, s: Scope) -> Type | None:
    return type_of(m, piece, node.child_by_field_name("type"), s)


def _call(m: Machine, piece: Piece, node: Syntax, s: Scope) -> Type | None:
    function = node.child_by_field_name("function")
    if function.type == "primitive_type":
        return type_of(m, piece, function, s)
    if template_head(piece, function) in CASTS:
        given = function.child_by_field_name("arguments").named_children
        return type_of(m, piece, given[0], s) if len(given) == 1 else None
    if function.type not in ("identifier", "qualified_identifier", "template_function"):
        return None
    args = node.child_by_field_name("arguments").named_children
    kinds = [static_type(m, piece, a, s) for a in args if a.type != "comment"]
    found = named(m, piece, function, s)
    if isinstance(found, Builtin) and found.arithmetic:
        scalars = [k for k in kinds if isinstance(k, Scalar)]
        return common(*scalars) if len(scalars) == len(kinds) == 2 else None
    if isinstance(found, Functions):
        return _result(m, found, kinds)
    return None


def _result(m: Machine, functions: Functions, kinds: list[Type | None]) -> Type | None:
    """What a function returns, where its declaration says so."""
    if None in kinds:
        return None
    given = [k for k in kinds if k is not None]
    definition = chosen(functions, len(given))
    scope = template_scope(m, functions, definition, given)
    return result_type(m, definition, scope)


_HANDLERS: dict[str, Callable[[Machine, Piece, Syntax, Scope], Type | None]] = {
    "number_literal": _literal,
    "true": _literal,
    "false": _literal,
    "nullptr": _literal,
    "identifier": _name,
    "qualified_identifier": _name,
    "parenthesized_expression": _inner,
    "binary_expression": _binary,
    "unary_expression": _unary,
    "conditional_expression": _conditional,
    "field_expression": _field,
    "subscript_expression": _subscript,
    "cast_expression": _cast,
    "call_expression": _call,
    "sizeof_expression": lambda m, piece, node, s: ULONG,
}
