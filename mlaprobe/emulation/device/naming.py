"""Types and template arguments from their syntax."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from mlaprobe.emulation.device import lookup
from mlaprobe.emulation.device.kinds import ArrayOf, PointerTo, Struct, Type, builtin_type
from mlaprobe.emulation.device.scopes import (
    AliasTemplate,
    Argument,
    Builtin,
    ClassTemplate,
    Functions,
    Meaning,
    Scope,
    TypeName,
)
from mlaprobe.emulation.device.signals import NotFollowed
from mlaprobe.emulation.device.source import Piece, Syntax
from mlaprobe.emulation.device.values import Value, uniform

if TYPE_CHECKING:
    from mlaprobe.emulation.device.machine import Machine

_WRAPPERS = ("dependent_type", "dependent_name", "template_method", "placeholder_type_specifier")


def named(machine: Machine, piece: Piece, node: Syntax, scope: Scope) -> Meaning:
    """What a name means, qualified or with template arguments."""
    if node.type in _WRAPPERS[:2] and len(node.named_children) == 1:
        return named(machine, piece, node.named_children[0], scope)
    if node.type == "qualified_identifier":
        return _qualified(machine, piece, node, scope)
    if node.type in ("template_type", "template_function"):
        found = named(machine, piece, node.child_by_field_name("name"), scope)
        return applied(machine, found, arguments(machine, piece, node, scope))
    return lookup.meaning(machine, scope, piece.text(node))


def _qualified(machine: Machine, piece: Piece, node: Syntax, scope: Scope) -> Meaning:
    outer, inner = node.child_by_field_name("scope"), node.child_by_field_name("name")
    path: list[Syntax] = []
    while True:
        if outer is not None:
            path.append(outer)
        if inner.type != "qualified_identifier":
            break
        outer, inner = inner.child_by_field_name("scope"), inner.child_by_field_name("name")
    if path:
        owner = _class(machine, piece, path, scope)
        if owner is not None:
            return _member(machine, piece, owner, inner, scope)
    qualifier = "::".join(piece.text(p) for p in path)
    bare = inner.child_by_field_name("name") if inner.type.startswith("template_") else inner
    found = lookup.of_namespace(machine, scope, qualifier, piece.text(bare))
    if bare is inner:
        return found
    return applied(machine, found, arguments(machine, piece, inner, scope))


def _class(machine: Machine, piece: Piece, path: list[Syntax], scope: Scope) -> Struct | None:
    """The class that a qualifier names, ``None`` if it is a namespace."""
    if len(path) > 1:
        return None
    try:
        found = named(machine, piece, path[0], scope)
    except NotFollowed:
        if path[0].type == "template_type":
            raise
        return None  # a namespace has no meaning of its own
    kind = as_type(machine, found)
    if not isinstance(kind, Struct):
        raise NotFollowed(f"a member of {piece.text(path[0])}")
    return kind


def _member(machine: Machine, piece: Piece, owner: Struct, node: Syntax, scope: Scope) -> Meaning:
    bare = node.child_by_field_name("name") if node.type.startswith("template_") else node
    found = lookup.of_class(machine, owner, piece.text(bare))
    if found is None:
        raise NotFollowed(f"{owner.name} has no {piece.text(bare)} that is followed")
    if bare is node:
        return found
    return applied(machine, found, arguments(machine, piece, node, scope))


def applied(machine: Machine, found: Meaning, given: tuple[Argument, ...]) -> Meaning:
    """A template with its arguments."""
    if isinstance(found, ClassTemplate):
        return TypeName(machine.instance(found, given))
    if isinstance(found, Functions):
        return Functions(found.name, found.definitions, found.scope, found.this, given)
    if isinstance(found, Builtin):
        call = found.call
        return Builtin(found.name, lambda machine, args, _: call(machine, args, given))
    raise NotFollowed("template arguments of something that is no template")


def arguments(machine: Machine, piece: Piece, node: Syntax, scope: Scope) -> tuple[Argument, ...]:
    """The template arguments that a name is given."""
    found = node.child_by_field_name("arguments")
    parts: Iterable[Syntax] = () if found is None else found.named_children
    return tuple(argument(machine, piece, p, scope) for p in parts if p.type != "comment")


def argument(machine: Machine, piece: Piece, node: Syntax, scope: Scope) -> Argument:
    """One template argument: a type, a template, or a constant."""
    if node.type != "type_descriptor":
        return machine.evaluate(piece, node, scope)
    declarator = node.child_by_field_name("declarator")
    inner = node.child_by_field_name("type")
    if declarator is not None and declarator.type == "abstract_function_declarator":
        # what reads as the type of a function is the call of one
        found = named(machine, piece, inner, scope)
        result = machine.call(found, ())
        if isinstance(result, Value):
            return result
        raise NotFollowed(f"the template argument {piece.text(node)}")
    if declarator is None and inner.type in ("type_identifier", "qualified_identifier"):
        found = named(machine, piece, inner, scope)
        if isinstance(found, ClassTemplate) and found.definitions[0].parameters is not None:
            return found
        if isinstance(found, Value):
            return found
        if not isinstance(found, (TypeName, AliasTemplate, ClassTemplate)):
            return machine.evaluate(piece, inner, scope)
    return TypeName(type_of(machine, piece, node, scope))


def as_type(machine: Machine, found: Meaning) -> Type:
    """The type that a name means."""
    if isinstance(found, TypeName):
        return found.type
    if isinstance(found, ClassTemplate):
        return machine.instance(found, ())
    if isinstance(found, AliasTemplate):
        definition = found.definition
        if definition.parameters is not None:
            raise NotFollowed(f"the alias template {definition.name}")
        node = definition.node.child_by_field_name("type")
        kind = type_of(machine, definition.piece, node, found.scope)
        if definition.declarator is not None:
            return declared_type(
                machine, definition.piece, kind, definition.declarator, found.scope
            )
        return kind
    raise NotFollowed("a type is needed where none stands")


def type_of(machine: Machine, piece: Piece, node: Syntax, scope: Scope) -> Type:
    """The type that a syntax node is."""
    known: Type | None = piece.codes.get(("type", node.id))
    if known is not None:
        return known
    if node.type in ("primitive_type", "sized_type_specifier"):
        found = builtin_type(piece.text(node))
        if found is None:
            raise NotFollowed(f"the type {piece.text(node)}")
        piece.codes["type", node.id] = found
        return found
    if node.type == "type_descriptor":
        kind = type_of(machine, piece, node.child_by_field_name("type"), scope)
        declarator = node.child_by_field_name("declarator")
        return declared_type(machine, piece, kind, declarator, scope)
    if node.type == "decltype":
        found = machine.type_of(piece, node.named_children[0], scope)
        if found is None:
            raise NotFollowed(f"the type {piece.text(node)}")
        return found
    if node.type in ("struct_specifier", "class_specifier", "union_specifier", "enum_specifier"):
        return type_of(machine, piece, node.child_by_field_name("name"), scope)
    known = builtin_type(piece.text(node)) if node.type == "type_identifier" else None
    if known is not None and not scope.unit.definitions(piece.text(node)):
        return known
    return as_type(machine, named(machine, piece, node, scope))


def declared_type(
    machine: Machine, piece: Piece, kind: Type, declarator: Syntax | None, scope: Scope
) -> Type:
    """The type that a declarator makes of the one in front of it; a reference is no part of it."""
    counts: list[int] = []
    node = declarator
    while node is not None and node.type.endswith("declarator"):
        if "pointer" in node.type:
            kind = PointerTo(kind)
        elif "function" in node.type:
            raise NotFollowed("a function type")
        elif "array" in node.type:
            size = node.child_by_field_name("size")
            if size is None:
                raise NotFollowed("an array whose length is not given")
            counts.append(uniform(machine.evaluate(piece, size, scope), "the length of an array"))
        node = _inner(node)
    for count in counts:
        kind = ArrayOf(kind, count)
    return kind


def _inner(node: Syntax) -> Any:
    inner = node.child_by_field_name("declarator")
    if inner is not None:
        return inner
    return next((c for c in node.named_children if c.type.endswith("declarator")), None)


def is_reference(node: Syntax | None) -> bool:
    """Whether a declarator declares a reference."""
    while node is not None and node.type.endswith("declarator"):
        if "reference" in node.type:
            return True
        node = _inner(node)
    return False
