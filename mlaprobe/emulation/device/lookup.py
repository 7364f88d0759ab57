"""Looking names up: in the blocks around, in classes, in namespaces, among what is built in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlaprobe.emulation.device.builtins import BUILTINS, TYPES, VARIABLES
from mlaprobe.emulation.device.kinds import INT, Struct, Type, builtin_type
from mlaprobe.emulation.device.scopes import (
    AliasTemplate,
    ClassTemplate,
    Functions,
    Meaning,
    Scope,
    TypeName,
)
from mlaprobe.emulation.device.signals import NotFollowed
from mlaprobe.emulation.device.source import Definition
from mlaprobe.emulation.device.values import Value, uniform

if TYPE_CHECKING:
    from mlaprobe.emulation.device.machine import Machine
    from mlaprobe.emulation.device.places import Place


def meaning(machine: Machine, scope: Scope, name: str) -> Meaning:
    """What an unqualified name means."""
    at: Scope | None = scope
    while at is not None:
        if at.struct is None:
            found = at.names.get(name)
            if found is None and at.this is not None:
                found = _of_object(at.this, name)
        else:
            found = of_class(machine, at.struct, name, _this(scope))
        if found is not None:
            return found
        at = at.parent
    return of_namespace(machine, scope, "", name)


def _this(scope: Scope | None) -> Place | None:
    while scope is not None:
        if scope.this is not None:
            return scope.this
        scope = scope.parent
    return None


def _of_object(this: Place, name: str) -> Meaning | None:
    kind = this.type
    if isinstance(kind, Struct) and name in kind.members:
        return this.member(name)
    return None


def of_class(
    machine: Machine, struct: Struct, name: str, this: Place | None = None
) -> Meaning | None:
    """A method, a static constant or a type of a class."""
    if struct.scope is None:  # of the machine's own
        return None
    found: Meaning | None = struct.scope.names.get(name)
    if isinstance(found, Functions) and this is not None:
        return Functions(found.name, found.definitions, found.scope, this)
    return machine.constant(struct, name) if found is None else found


def of_namespace(machine: Machine, scope: Scope, qualifier: str, name: str) -> Meaning:
    """What a name of a namespace means."""
    full = f"{qualifier}::{name}" if qualifier else name
    definitions = scope.unit.visible(name, qualifier, scope.namespace)
    if definitions:
        return _defined(machine, scope, name, definitions)
    if full in VARIABLES:
        return VARIABLES[full](machine)
    known = TYPES.get(full) or BUILTINS.get(full)
    if known is None:
        raise NotFollowed(f"{full} has no meaning here")
    return known


def _defined(
    machine: Machine, scope: Scope, name: str, definitions: tuple[Definition, ...]
) -> Meaning:
    kinds = {d.kind for d in definitions}
    first = definitions[0]
    outer = Scope(scope.unit, first.namespace)
    if kinds == {"function"}:
        return Functions(name, definitions, outer)
    if kinds == {"class"}:
        return ClassTemplate(name, definitions, outer)
    if kinds <= {"alias", "typedef"} and len(definitions) == 1:
        return AliasTemplate(first, outer)
    if kinds == {"enum"}:
        return TypeName(_underlying(first))
    if kinds == {"enumerator"} and len(definitions) == 1:
        return _enumerator(machine, first, outer)
    if kinds == {"variable"}:
        return _constant(machine, definitions, outer)
    raise NotFollowed(f"which {name} is meant is not known")


def _underlying(definition: Definition) -> Type:
    """The type that an enumeration is kept in; of one that names none, what holds ``int``."""
    base = definition.node.child_by_field_name("base")
    kind = INT if base is None else builtin_type(definition.piece.text(base))
    if kind != INT:
        raise NotFollowed(f"the enumeration {definition.name} of another type than int")
    return INT


def _enumerator(machine: Machine, definition: Definition, scope: Scope) -> Value:
    following = 0
    body = definition.node.child_by_field_name("body")
    for child in body.named_children:
        if child.type != "enumerator":
            continue
        given = child.child_by_field_name("value")
        if given is not None:
            following = uniform(machine.evaluate(definition.piece, given, scope), "an enumerator")
        if child == definition.declarator:
            break
        following += 1
    return Value(INT, following)


def _constant(machine: Machine, definitions: tuple[Definition, ...], scope: Scope) -> Value:
    """A variable of a namespace, which has to be constant."""
    given = [d for d in definitions if _initial(d) is not None]
    if len(given) != 1:
        raise NotFollowed(f"the value of {definitions[0].name}")
    definition = given[0]
    head = definition.piece.text(definition.node).partition("=")[0].split()
    if "const" not in head and "constexpr" not in head:
        raise NotFollowed(f"{definition.name} keeps its value between calls")
    if definition.parameters is not None:
        raise NotFollowed(f"the variable template {definition.name}")
    known = scope.unit.constants.get(id(definition))
    if known is None:
        known = machine.declared(definition.piece, definition.node, definition.declarator, scope)
        scope.unit.constants[id(definition)] = known
    return known


def _initial(definition: Definition) -> object:
    node = definition.declarator
    if node is None:
        return None
    return node.child_by_field_name("value") if node.type == "init_declarator" else None
