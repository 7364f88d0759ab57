"""Declarations inside functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlaprobe.emulation.device import naming
from mlaprobe.emulation.device.calls import construct
from mlaprobe.emulation.device.kinds import ArrayOf, Struct, Type
from mlaprobe.emulation.device.machine import loaded
from mlaprobe.emulation.device.memory import Block
from mlaprobe.emulation.device.places import InMemory, Place, variable
from mlaprobe.emulation.device.scopes import Builtin, Functions, Lambda, Scope, TypeName
from mlaprobe.emulation.device.signals import NotFollowed
from mlaprobe.emulation.device.source import Piece, Syntax, declared_name, function_declarator
from mlaprobe.emulation.device.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable

    from mlaprobe.emulation.device.machine import Code, Machine


def compile_declaration(piece: Piece, node: Syntax) -> Code:
    """A declaration of one or more variables."""
    parts = [
        declarator_of(piece, node, child)
        for at, child in enumerate(node.children)
        if node.field_name_for_child(at) == "declarator"
    ]

    def run(m: Machine, s: Scope) -> None:
        for part in parts:
            part(m, s)

    return run


def declarator_of(piece: Piece, node: Syntax, child: Syntax) -> Callable[[Machine, Scope], str]:
    """What one declarator of a declaration declares; running it gives the name."""
    words = {piece.text(c) for c in node.children if c.type.endswith(("qualifier", "specifier"))}
    binding = _binding(child)
    value = child.child_by_field_name("value") if child.type == "init_declarator" else None
    if binding is not None:
        return _unpacked(piece, binding, value)
    if function_declarator(child) is not None and child.type != "init_declarator":
        return lambda m, s: ""
    name_node = declared_name(child)
    name = piece.text(name_node) if name_node is not None else ""
    kind = node.child_by_field_name("type")
    if "__shared__" in words:
        return _shared(piece, kind, child, name, dynamic="extern" in words)
    if "static" in words and not words & {"constexpr", "const"}:
        return _refused(f"{name} keeps its value between calls")
    return _variable(piece, kind, child, name, value)


def _refused(reason: str) -> Callable[[Machine, Scope], str]:
    def run(m: Machine, s: Scope) -> str:
        raise NotFollowed(reason)

    return run


def _binding(node: Syntax) -> Syntax | None:
    while node is not None and node.type != "structured_binding_declarator":
        node = next((c for c in node.named_children if c.type.endswith("declarator")), None)
    return node


def _unpacked(piece: Piece, binding: Syntax, value: Syntax) -> Callable[[Machine, Scope], str]:
    """``auto [a, b] = ...``: of a tuple or an object."""
    names = [piece.text(c) for c in binding.named_children]
    code = loaded(piece, value)

    def run(m: Machine, s: Scope) -> str:
        data = code(m, s).data
        parts = tuple(data.values()) if isinstance(data, dict) else data
        if not isinstance(parts, tuple) or len(parts) != len(names):
            raise NotFollowed("the parts of what is unpacked")
        for name, part in zip(names, parts, strict=True):
            s.names[name] = variable(part.type, m.mask, part)
        return names[0]

    return run


def _shared(
    piece: Piece, kind: Syntax, child: Syntax, name: str, *, dynamic: bool
) -> Callable[[Machine, Scope], str]:
    """LDS: of the launch's size, or as declared."""
    key = (id(piece), child.id)

    def run(m: Machine, s: Scope) -> str:
        element = naming.type_of(m, piece, kind, s)
        if dynamic:
            if m.dynamic is None:
                raise NotFollowed("shared memory of a size that is not known")
            whole = ArrayOf(element, len(m.dynamic.bytes) // element.size)
            s.names[name] = InMemory(whole, m.dynamic, 0)
            return name
        known = m.shared.get(key)
        if known is None:
            kind_here = naming.declared_type(m, piece, element, child, s)
            block = Block(name, kind_here.size)
            m.blocks.append(block)
            known = m.shared[key] = InMemory(kind_here, block, 0)
        s.names[name] = known
        return name

    return run


def _variable(
    piece: Piece, kind: Syntax, child: Syntax, name: str, value: Syntax | None
) -> Callable[[Machine, Scope], str]:
    auto = kind.type == "placeholder_type_specifier"
    reference = naming.is_reference(child)
    parenthesised = value is not None and value.type == "argument_list"
    given = [value] if value is not None and not parenthesised else []
    if value is not None and parenthesised:
        given = [c for c in value.named_children if c.type != "comment"]
    codes = [piece.code(c) for c in given]

    def run(m: Machine, s: Scope) -> str:
        values = [code(m, s) for code in codes]
        if (reference and len(values) == 1 and isinstance(values[0], Place)) or (
            values and isinstance(values[0], (Lambda, Functions, Builtin))
        ):
            s.names[name] = values[0]
        elif auto:
            made = m.value(values[0])
            s.names[name] = variable(made.type, m.mask, made)
        else:
            whole = naming.declared_type(m, piece, naming.type_of(m, piece, kind, s), child, s)
            s.names[name] = variable(whole, m.mask, _initial(m, whole, values, parenthesised))
        return name

    return run


def _initial(m: Machine, kind: Type, values: list[Any], parenthesised: bool) -> Value | None:
    if parenthesised:
        return construct(m, kind, tuple(values))
    if values:
        return m.converted(values[0], kind)
    if isinstance(kind, Struct) and kind.constructors:
        return construct(m, kind, ())
    return None


def compile_alias(piece: Piece, node: Syntax) -> Code:
    """``using Name = Type;``."""
    name = piece.text(node.child_by_field_name("name"))
    kind = node.child_by_field_name("type")

    def run(m: Machine, s: Scope) -> None:
        s.names[name] = TypeName(naming.type_of(m, piece, kind, s))

    return run
