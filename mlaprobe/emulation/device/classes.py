"""Classes from their definitions: layout, static constants, methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlaprobe.emulation.device import naming
from mlaprobe.emulation.device.kinds import Member, Struct, Type, align_of
from mlaprobe.emulation.device.scopes import (
    Argument,
    ClassTemplate,
    Functions,
    Meaning,
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
from mlaprobe.emulation.device.values import Value, uniform

if TYPE_CHECKING:
    from mlaprobe.emulation.device.machine import Machine

_CLASSES = ("struct_specifier", "class_specifier", "union_specifier")


def same(left: Argument, right: Argument) -> bool:
    """Whether two template arguments are the same."""
    if isinstance(left, TypeName) and isinstance(right, TypeName):
        return left.type == right.type
    if isinstance(left, Value) and isinstance(right, Value):
        return uniform(left, "a template argument") == uniform(right, "a template argument")
    return left is right


def _key(given: Argument) -> Any:
    if isinstance(given, Value):
        return uniform(given, "a template argument")
    return given.type if isinstance(given, TypeName) else id(given.definitions[0])


def bind(
    machine: Machine,
    definition: Definition,
    given: tuple[Argument, ...],
    scope: Scope,
    known: dict[str, Argument] | None = None,
) -> None:
    """Put the arguments of a template into the scope of its instance, defaults included.
    ``known`` are those that a call's arguments tell."""
    piece = definition.piece
    for at, parameter in enumerate(definition.parameters or ()):
        if parameter.type == "comment":
            continue
        name = parameter_name(piece, parameter)
        if at < len(given):
            scope.names[name] = _as_declared(machine, piece, parameter, given[at], scope)
        elif known is not None and name in known:
            scope.names[name] = known[name]
        else:
            scope.names[name] = _default(machine, piece, parameter, scope)
    if definition.parameters is not None and len(given) > len(definition.parameters):
        raise NotFollowed(f"{definition.name} with {len(given)} template arguments")


def parameter_name(piece: Piece, parameter: Syntax) -> str:
    """The name of a template parameter."""
    if parameter.type == "template_template_parameter_declaration":
        parameter = parameter.named_children[-1]
    name = parameter.child_by_field_name("name") or parameter.child_by_field_name("declarator")
    if name is None:
        types = [c for c in parameter.named_children if c.type == "type_identifier"]
        name = types[0] if types and parameter.type.startswith("type_parameter") else None
    if "variadic" in parameter.type:
        raise NotFollowed("a parameter pack")
    return piece.text(name) if name is not None else ""


def _as_declared(
    machine: Machine, piece: Piece, parameter: Syntax, given: Argument, scope: Scope
) -> Argument:
    """A constant has the type of its parameter."""
    kind = parameter.child_by_field_name("type")
    if not isinstance(given, Value) or kind is None:
        return given
    if kind.type == "placeholder_type_specifier":
        return given
    return machine.converted(given, naming.type_of(machine, piece, kind, scope))


def _default(machine: Machine, piece: Piece, parameter: Syntax, scope: Scope) -> Argument:
    given = parameter.child_by_field_name("default_value")
    if given is not None:
        return _as_declared(machine, piece, parameter, machine.evaluate(piece, given, scope), scope)
    given = parameter.child_by_field_name("default_type")
    if given is None:
        raise NotFollowed(f"the template argument {piece.text(parameter)} is not given")
    return TypeName(naming.type_of(machine, piece, given, scope))


def _given(scope: Scope, name: str) -> Argument:
    found = scope.names[name]
    assert isinstance(found, (Value, TypeName, ClassTemplate))
    return found


def instance(machine: Machine, template: ClassTemplate, given: tuple[Argument, ...]) -> Struct:
    """The class that a template makes of its arguments."""
    primary = [d for d in template.definitions if d.arguments is None]
    if len(primary) != 1:
        raise NotFollowed(f"which {template.name} is meant is not known")
    bound = Scope(template.scope.unit, primary[0].namespace, template.scope)
    bind(machine, primary[0], given, bound)
    names = [parameter_name(primary[0].piece, p) for p in primary[0].parameters or ()]
    arguments = tuple(_given(bound, name) for name in names if name)
    chosen = _specialised(machine, template, arguments) or primary[0]
    key = (id(chosen), *(_key(a) for a in arguments))
    known = template.scope.unit.classes.get(key)
    if known is None:
        scope = (
            bound if chosen is primary[0] else Scope(bound.unit, chosen.namespace, template.scope)
        )
        known = template.scope.unit.classes[key] = Struct(
            template.name, template=template, arguments=arguments
        )
        try:
            _fill(machine, known, chosen, scope)
        except BaseException:
            del template.scope.unit.classes[key]  # it is not complete
            raise
    return known


def _specialised(
    machine: Machine, template: ClassTemplate, given: tuple[Argument, ...]
) -> Definition | None:
    """The specialisation for arguments. A partial one is not matched: that there is one ends the
    run."""
    for definition in template.definitions:
        if definition.arguments is None:
            continue
        if definition.parameters:
            raise NotFollowed(f"{template.name} has partial specialisations")
        parts = definition.arguments.named_children
        theirs = [naming.argument(machine, definition.piece, p, template.scope) for p in parts]
        if len(theirs) == len(given) and all(map(same, theirs, given)):
            return definition
    return None


def _fill(machine: Machine, struct: Struct, definition: Definition, outer: Scope) -> None:
    """Members, methods and constructors of a class."""
    if any(c.type == "base_class_clause" for c in definition.node.children):
        raise NotFollowed(f"{struct.name} is derived from another class")
    scope = Scope(outer.unit, definition.namespace, outer, struct)
    struct.scope = scope
    scope.names[struct.name] = TypeName(struct)
    body = definition.node.child_by_field_name("body")
    methods: dict[str, list[Definition]] = {}
    for child in body.named_children:
        parameters = None
        if child.type == "template_declaration":
            parameters = tuple(child.child_by_field_name("parameters").named_children)
            child = child.named_children[-1]
        if child.type == "function_definition":
            method = _method(definition, child, parameters)
            methods.setdefault(method.name, []).append(method)
        elif child.type == "alias_declaration":
            _alias(machine, definition.piece, child, scope)
    struct.constructors = tuple(methods.pop(struct.name, ()))
    _refuse_special(struct, methods)
    for name, found in methods.items():
        scope.names[name] = Functions(name, tuple(found), scope)
    union = definition.node.type == "union_specifier"
    _lay_out(machine, struct, definition.piece, body, scope, union)


def _refuse_special(struct: Struct, methods: dict[str, list[Definition]]) -> None:
    """Objects are copied member by member and end without a trace; a class for which that is not
    so is not followed."""
    for name in (f"~{struct.name}", "operator="):
        bodies = [d.node.child_by_field_name("body") for d in methods.get(name, ())]
        if any(body is not None for body in bodies):
            raise NotFollowed(f"{struct.name} has {name}")
    for constructor in struct.constructors:
        declarator = function_declarator(constructor.node.child_by_field_name("declarator"))
        given = [] if declarator is None else declarator.child_by_field_name("parameters").children
        kinds = [p.child_by_field_name("type") for p in given if p.type.endswith("declaration")]
        copies = len(kinds) == 1 and constructor.piece.text(kinds[0]) == struct.name
        if copies and constructor.node.child_by_field_name("body") is not None:
            raise NotFollowed(f"{struct.name} has a copy constructor")


def _method(owner: Definition, node: Syntax, parameters: tuple[Syntax, ...] | None) -> Definition:
    declarator = function_declarator(node.child_by_field_name("declarator"))
    name = declarator.child_by_field_name("declarator") if declarator is not None else None
    text = owner.piece.text(name).replace(" ", "") if name is not None else "<conversion>"
    return Definition(
        kind="function",
        name=text,
        node=node,
        piece=owner.piece,
        namespace=owner.namespace,
        parameters=parameters,
    )


def _alias(machine: Machine, piece: Piece, node: Syntax, scope: Scope) -> None:
    name, kind = node.child_by_field_name("name"), node.child_by_field_name("type")
    scope.names[piece.text(name)] = TypeName(naming.type_of(machine, piece, kind, scope))


def _is_static(piece: Piece, field: Syntax) -> bool:
    return any(
        c.type == "storage_class_specifier" and piece.text(c) == "static" for c in field.children
    )


def _lay_out(
    machine: Machine, struct: Struct, piece: Piece, body: Syntax, scope: Scope, union: bool
) -> None:
    """Offsets by the natural alignment of the members."""
    end = 0
    for at, field in enumerate(f for f in body.named_children if f.type == "field_declaration"):
        if _is_static(piece, field):
            declared = declared_name(field.child_by_field_name("declarator"))
            struct.statics[piece.text(declared)] = (piece, field)
            continue
        overlaid = union and at > 0
        inner = field.child_by_field_name("type")
        if inner.type in _CLASSES and inner.child_by_field_name("name") is None:
            nested = Struct("unnamed")
            inside = inner.child_by_field_name("body")
            _lay_out(machine, nested, piece, inside, scope, inner.type == _CLASSES[2])
            start = 0 if union else -(-end // nested.align) * nested.align
            for each in nested.members.values():
                hidden = overlaid or each.overlaid
                made = Member(each.name, each.type, start + each.offset, hidden, each.default)
                struct.members[each.name] = made
            struct.align = max(struct.align, nested.align)
            end = max(end, start + nested.size)
            continue
        for name, kind, default in _declared(machine, piece, field, scope):
            start = 0 if union else -(-end // align_of(kind)) * align_of(kind)
            struct.members[name] = Member(name, kind, start, overlaid, default)
            struct.align = max(struct.align, align_of(kind))
            end = max(end, start + kind.size)
    struct.size = max(1, -(-end // struct.align) * struct.align)


def _declared(
    machine: Machine, piece: Piece, field: Syntax, scope: Scope
) -> list[tuple[str, Type, Syntax | None]]:
    found: list[tuple[str, Type, Syntax | None]] = []
    if any(c.type in ("bitfield_clause", "alignas_qualifier") for c in field.children):
        raise NotFollowed(f"how {piece.text(field)} lies in memory")
    default = field.child_by_field_name("default_value")
    for at, child in enumerate(field.children):
        if field.field_name_for_child(at) != "declarator" or function_declarator(child) is not None:
            continue
        kind = naming.type_of(machine, piece, field.child_by_field_name("type"), scope)
        if naming.is_reference(child):
            raise NotFollowed(f"the reference {piece.text(child)} as a member")
        kind = naming.declared_type(machine, piece, kind, child, scope)
        name = declared_name(child)
        found.append((piece.text(name), kind, default))
    return found


def static(machine: Machine, struct: Struct, name: str) -> Meaning | None:
    """A static constant of a class; it may depend on the class's other constants."""
    known = struct.statics.get(name)
    if known is None:
        return None
    piece, field = known
    default = field.child_by_field_name("default_value")
    if default is None:
        raise NotFollowed(f"the value of {struct.name}::{name}")
    scope: Scope = struct.scope
    value = machine.evaluate(piece, default, scope)
    kind = field.child_by_field_name("type")
    if kind.type != "placeholder_type_specifier":
        value = machine.converted(value, naming.type_of(machine, piece, kind, scope))
    scope.names[name] = value
    return value
