"""Which function a call means, and what its parameters are bound to."""

from __future__ import annotations

from typing import Any

from mlaprobe.emulation.device import classes, naming
from mlaprobe.emulation.device.kinds import PointerTo, Scalar, Type
from mlaprobe.emulation.device.machine import Machine, Operand
from mlaprobe.emulation.device.places import Place, variable
from mlaprobe.emulation.device.scopes import (
    Argument,
    Builtin,
    Functions,
    Lambda,
    Scope,
    TypeName,
)
from mlaprobe.emulation.device.signals import NotFollowed
from mlaprobe.emulation.device.source import (
    Definition,
    Piece,
    Syntax,
    declared_name,
    function_declarator,
)

_PARAMETERS = ("parameter_declaration", "optional_parameter_declaration")


def parameters_of(piece: Piece, declarator: Syntax) -> list[Syntax]:
    """The parameters in a function's declarator."""
    found: list[Syntax] = piece.once("parameters", declarator, lambda: _parameters(declarator))
    return found


def _parameters(declarator: Syntax) -> list[Syntax]:
    given = declarator.child_by_field_name("parameters")
    found = [] if given is None else [c for c in given.named_children if c.type != "comment"]
    if any(p.type not in _PARAMETERS for p in found):
        raise NotFollowed("a variable number of parameters")
    voids = [p for p in found if p.child_by_field_name("declarator") is None]
    return [] if len(found) == 1 and voids and voids[0].text == b"void" else found


def declarator_of(definition: Definition) -> Syntax:
    """What declares a function: its name and parameters."""
    node = definition.node

    def find() -> Syntax:
        found = function_declarator(node.child_by_field_name("declarator"))
        assert found is not None
        return found

    return definition.piece.once("declarator", node, find)


def chosen(functions: Functions, count: int) -> Definition:
    """The overload for a number of arguments, specialisations left out."""
    fitting: list[Definition] = []
    for definition in functions.definitions:
        if definition.arguments is not None:
            continue
        parameters = parameters_of(definition.piece, declarator_of(definition))
        needed = sum(p.type == _PARAMETERS[0] for p in parameters)
        if needed <= count <= len(parameters):
            fitting.append(definition)
    if len(fitting) != 1:
        raise NotFollowed(f"which {functions.name} is called is not known")
    return fitting[0]


def template_scope(
    m: Machine, functions: Functions, definition: Definition, kinds: list[Any]
) -> Scope:
    """The scope of a function's body, with its template arguments."""
    outer = functions.scope
    scope = Scope(outer.unit, definition.namespace, outer)
    scope.this = functions.this
    if definition.parameters is not None:
        deduced = _deduced(definition, kinds, len(functions.arguments))
        classes.bind(m, definition, functions.arguments, scope, deduced)
        _refuse_specialised(m, functions, definition, scope)
    elif functions.arguments:
        raise NotFollowed(f"{functions.name} with template arguments")
    return scope


def _refuse_specialised(
    m: Machine, functions: Functions, definition: Definition, scope: Scope
) -> None:
    """A specialisation of a function template for these arguments is not what was chosen."""
    names = [classes.parameter_name(definition.piece, p) for p in definition.parameters or ()]
    given = [scope.names[name] for name in names if name]
    for other in functions.definitions:
        if other.arguments is None:
            continue
        parts = other.arguments.named_children
        theirs = [naming.argument(m, other.piece, p, functions.scope) for p in parts]
        pairs = zip(theirs, given, strict=False)
        if all(classes.same(a, b) for a, b in pairs):  # type: ignore[arg-type]
            raise NotFollowed(f"a specialisation of {functions.name}")


def _deduced(definition: Definition, kinds: list[Any], given: int) -> dict[str, Argument]:
    """Template arguments, behind those that are given, from the types of arguments: of parameters
    ``T``, ``T&`` and ``T*``."""
    piece = definition.piece
    names = {classes.parameter_name(piece, p) for p in (definition.parameters or ())[given:]}
    found: dict[str, Argument] = {}
    for parameter, kind in zip(
        parameters_of(definition.piece, declarator_of(definition)), kinds, strict=False
    ):
        text = piece.text(parameter.child_by_field_name("type"))
        if text not in names or kind is None:
            continue
        pointers = piece.text(parameter).partition("=")[0].count("*")
        for _ in range(pointers):
            if not isinstance(kind, PointerTo):
                raise NotFollowed(f"a {kind.name} for {piece.text(parameter)}")
            kind = kind.target
        known = found.setdefault(text, TypeName(kind))
        if not classes.same(known, TypeName(kind)):
            raise NotFollowed(f"{text} of {definition.name} means two types")
    return found


def parameter_types(m: Machine, definition: Definition, scope: Scope) -> list[Type]:
    """The types of a function's parameters, references left out."""
    piece, found = definition.piece, []
    for parameter in parameters_of(definition.piece, declarator_of(definition)):
        kind = naming.type_of(m, piece, parameter.child_by_field_name("type"), scope)
        declarator = parameter.child_by_field_name("declarator")
        found.append(naming.declared_type(m, piece, kind, declarator, scope))
    return found


def result_type(m: Machine, definition: Definition, scope: Scope) -> Type | None:
    """The type that a function returns; ``None`` for ``auto``."""
    piece, node = definition.piece, definition.node.child_by_field_name("type")
    trailing = next(
        (c for c in declarator_of(definition).children if c.type == "trailing_return_type"), None
    )
    if trailing is not None:
        return naming.type_of(m, piece, trailing.named_children[0], scope)
    if node is None or node.type == "placeholder_type_specifier":
        return None
    kind = naming.type_of(m, piece, node, scope)
    outer = definition.node.child_by_field_name("declarator")
    while outer is not None and outer.type != "function_declarator":
        if "pointer" in outer.type:
            kind = PointerTo(kind)
        outer = outer.child_by_field_name("declarator") or outer.named_children[-1]
    return kind


def receive(
    m: Machine, piece: Piece, parameter: Syntax, given: Operand | None, scope: Scope
) -> None:
    """Bind one argument to its parameter."""
    if given is None:
        default = parameter.child_by_field_name("default_value")
        given = piece.code(default)(m, scope)
    declarator = parameter.child_by_field_name("declarator")
    text = _name(piece, parameter, declarator)
    node = parameter.child_by_field_name("type")
    if isinstance(given, (Lambda, Functions, Builtin)):
        scope.names[text] = given
        return
    auto = node.type == "placeholder_type_specifier"
    if naming.is_reference(declarator) and isinstance(given, Place):
        if not auto:
            kind = naming.declared_type(
                m, piece, naming.type_of(m, piece, node, scope), declarator, scope
            )
            if kind != given.type:
                given = _bound(m, piece, parameter, given, kind)
        scope.names[text] = given
        return
    if auto:
        value = m.value(given)
    else:
        kind = naming.type_of(m, piece, node, scope)
        kind = naming.declared_type(m, piece, kind, declarator, scope)
        value = m.converted(given, kind)
    scope.names[text] = variable(value.type, m.mask, value)


def _name(piece: Piece, parameter: Syntax, declarator: Syntax | None) -> str:
    def find() -> str:
        name = declared_name(declarator)
        return piece.text(name) if name is not None else ""

    return str(piece.once("name", parameter, find))


def _bound(m: Machine, piece: Piece, parameter: Syntax, given: Place, kind: Type) -> Place:
    """A constant reference to something of another type: to a converted copy."""
    constant = any(piece.text(c) == "const" for c in parameter.children)
    if not constant or not isinstance(kind, Scalar):
        raise NotFollowed(f"a {given.type.name} for {piece.text(parameter)}")
    return variable(kind, m.mask, m.converted(given, kind))
