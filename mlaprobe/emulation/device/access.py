"""What is reached through pointers, subscripts and members."""

from __future__ import annotations

from mlaprobe.emulation.device import lookup, naming
from mlaprobe.emulation.device.kinds import INT, ArrayOf, PointerTo, Struct
from mlaprobe.emulation.device.machine import Code, Machine, Operand, loaded, not_followed
from mlaprobe.emulation.device.places import Place, as_place, moved
from mlaprobe.emulation.device.scopes import Scope
from mlaprobe.emulation.device.signals import NotFollowed
from mlaprobe.emulation.device.source import Piece, Syntax
from mlaprobe.emulation.device.values import Braced, Value, address, uniform


def compile_pointer(piece: Piece, node: Syntax) -> Code:
    """``*pointer`` or ``&variable``."""
    code = piece.code(node.child_by_field_name("argument"))
    if piece.text(node.child_by_field_name("operator")) == "&":

        def take(m: Machine, s: Scope) -> Value:
            operand = code(m, s)
            if not isinstance(operand, Place):
                raise NotFollowed("the address of something that is no variable")
            return Value(PointerTo(operand.type), operand.address())

        return take
    return lambda m, s: followed(m, m.value(code(m, s)))


def followed(m: Machine, value: Value) -> Place:
    """What a pointer points to."""
    if not isinstance(value.type, PointerTo):
        raise NotFollowed(f"a {value.type.name} is followed as a pointer")
    return moved(m, address(value), value.type.target, Value(INT, 0))


def compile_subscript(piece: Piece, node: Syntax) -> Code:
    """``base[index]``."""
    code = piece.code(node.child_by_field_name("argument"))
    keys = node.child_by_field_name("indices").named_children
    if len(keys) != 1:
        return not_followed(piece, node)
    key = loaded(piece, keys[0])

    def run(m: Machine, s: Scope) -> Operand:
        operand, index = code(m, s), key(m, s)
        if isinstance(operand, Place) and isinstance(operand.type, ArrayOf):
            return operand.element(m, index)
        if isinstance(operand, (Place, Value)) and isinstance(operand.type, Struct):
            method = lookup.of_class(m, operand.type, "operator[]", as_place(m, operand))
            if method is None:
                raise NotFollowed(f"a subscript of a {operand.type.name}")
            return m.call(method, (index,))  # type: ignore[no-any-return]
        value = m.value(operand)
        if isinstance(value.data, tuple):
            return value.data[uniform(index, "a subscript")]
        if not isinstance(value.type, PointerTo):
            raise NotFollowed(f"a subscript of a {value.type.name}")
        return moved(m, address(value), value.type.target, index)

    return run


def member(m: Machine, operand: Operand, name: str) -> Operand:
    """A member of an object, or of what a pointer points to."""
    if not isinstance(operand, (Place, Value)):
        raise NotFollowed(f"{name} of a {type(operand).__name__}")
    if isinstance(operand.type, PointerTo):
        operand = followed(m, m.value(operand))
    kind = operand.type
    if not isinstance(kind, Struct):
        raise NotFollowed(f"{name} of a {kind.name}")
    if name in kind.members:
        if isinstance(operand, Place):
            return operand.member(name)
        if isinstance(operand.data, dict) and name in operand.data:
            return operand.data[name]
    found = lookup.of_class(m, kind, name, as_place(m, operand))
    if found is None:
        raise NotFollowed(f"{kind.name} has no {name} that is followed")
    return found


def compile_field(piece: Piece, node: Syntax) -> Code:
    """``object.member`` or ``pointer->member``."""
    code = piece.code(node.child_by_field_name("argument"))
    field = node.child_by_field_name("field")
    if field.type == "dependent_name":
        field = field.named_children[0]
    if field.type == "template_method":
        name = piece.text(field.child_by_field_name("name"))

        def applied(m: Machine, s: Scope) -> Operand:
            found = member(m, code(m, s), name)
            if isinstance(found, Braced):
                raise NotFollowed(f"{name} with template arguments")
            return naming.applied(m, found, naming.arguments(m, piece, field, s))

        return applied
    name = piece.text(field)
    return lambda m, s: member(m, code(m, s), name)


def compile_this(piece: Piece, node: Syntax) -> Code:
    """``this``."""

    def run(m: Machine, s: Scope) -> Value:
        at: Scope | None = s
        while at is not None:
            if at.this is not None:
                return Value(PointerTo(at.this.type), at.this.address())
            at = at.parent
        raise NotFollowed("this outside a class")

    return run
