"""Calls: overloads, template arguments, parameters, constructors, launches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlaprobe.emulation.device import lookup, naming
from mlaprobe.emulation.device.binding import (
    chosen,
    declarator_of,
    parameters_of,
    receive,
    result_type,
    template_scope,
)
from mlaprobe.emulation.device.builtins import bit_cast
from mlaprobe.emulation.device.kinds import Struct, Type, Void
from mlaprobe.emulation.device.machine import Code, Frame, Launch, Machine, Operand, not_followed
from mlaprobe.emulation.device.places import Object, Place, as_place, variable
from mlaprobe.emulation.device.scopes import (
    AliasTemplate,
    Builtin,
    ClassTemplate,
    Functions,
    Lambda,
    Scope,
    TypeName,
)
from mlaprobe.emulation.device.signals import NotFollowed, Undetermined
from mlaprobe.emulation.device.source import (
    Definition,
    Piece,
    Syntax,
)
from mlaprobe.emulation.device.values import Braced, Value, zero

if TYPE_CHECKING:
    from collections.abc import Callable

CASTS = ("static_cast", "const_cast", "reinterpret_cast", "__builtin_bit_cast")
MOST_CALLS = 60
"""Calls within calls."""


def template_head(piece: Piece, node: Syntax) -> str:
    """The name of a template that is called, nothing for other callees."""
    if node.type != "template_function":
        return ""
    return piece.text(node.child_by_field_name("name"))


def compile_call(piece: Piece, node: Syntax) -> Code:
    """A call expression."""
    function, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if given is None or any(c.type == "ERROR" or c.is_missing for c in given.children):
        return not_followed(piece, node)
    arguments = [piece.code(c) for c in given.named_children if c.type != "comment"]
    launch = next((c for c in node.children if c.type == "kernel_call_syntax"), None)
    if launch is not None:
        config = [piece.code(c) for c in launch.named_children if c.type != "comment"]
        return _launch(piece, function, config, arguments)
    if template_head(piece, function) in CASTS:
        return _cast(piece, function, arguments)
    callee = piece.code(function)
    braced = given.type == "initializer_list"

    def run(m: Machine, s: Scope) -> Operand:
        target = callee(m, s)
        values = tuple(argument(m, s) for argument in arguments)
        if braced and isinstance(target, (TypeName, ClassTemplate, AliasTemplate)):
            items = tuple(v if isinstance(v, Braced) else m.value(v) for v in values)
            return m.converted(Braced(items), naming.as_type(m, target))
        return call(m, target, values)  # type: ignore[no-any-return]

    return run


def _cast(piece: Piece, function: Syntax, arguments: list[Code]) -> Code:
    name = template_head(piece, function)
    kinds = function.child_by_field_name("arguments").named_children

    def run(m: Machine, s: Scope) -> Value:
        kind = naming.type_of(m, piece, kinds[0], s)
        value = m.value(arguments[0](m, s))
        if name == "__builtin_bit_cast":
            return _same_bits(value, kind)
        return m.cast(value, kind)

    return run


def _same_bits(value: Value, kind: Type) -> Value:
    if kind == value.type:
        return value
    return bit_cast(value, kind)


def _launch(piece: Piece, function: Syntax, config: list[Code], arguments: list[Code]) -> Code:
    def run(m: Machine, s: Scope) -> Value:
        if m.launch is None:
            raise NotFollowed("a kernel is launched by device code")
        found = naming.named(m, piece, function, s)
        if not isinstance(found, Functions):
            raise NotFollowed(f"the kernel {piece.text(function)}")
        values = tuple(m.value(a(m, s)) for a in arguments)
        settings = tuple(m.value(c(m, s)) for c in config[:3])
        m.launch(Launch(kernel=found, config=settings, arguments=values))
        return Value(Void(), None)

    return run


# --- what is called -------------------------------------------------------------------------------


def call(m: Machine, target: Operand, given: tuple[Operand, ...]) -> Any:
    """Call something."""
    if isinstance(target, Builtin):
        return target.call(m, given, ())
    if isinstance(target, Lambda):
        return _call_lambda(m, target, given)
    if isinstance(target, Functions):
        definition = chosen(target, len(given))
        kinds = [_type(g) for g in given]
        scope = template_scope(m, target, definition, kinds)
        return _enter(m, definition, scope, given, target.this)
    if isinstance(target, (TypeName, ClassTemplate, AliasTemplate)):
        return construct(m, naming.as_type(m, target), given)
    if isinstance(target, (Place, Value)) and isinstance(target.type, Struct):
        method = lookup.of_class(m, target.type, "operator()", as_place(m, target))
        if method is not None:
            return call(m, method, given)
    raise NotFollowed("something is called that is no function")


def _type(operand: Operand) -> Type | None:
    return operand.type if isinstance(operand, (Place, Value)) else None


def construct(m: Machine, kind: Type, given: tuple[Operand, ...]) -> Value:
    """``Type(...)``."""
    if isinstance(kind, Struct) and kind.constructors:
        return _constructed(m, kind, given)
    if not given:
        return zero(kind)
    if len(given) == 1:
        return m.cast(given[0], kind)
    if isinstance(kind, Struct):
        items = tuple(g if isinstance(g, Braced) else m.value(g) for g in given)
        return m.converted(Braced(items), kind)
    raise NotFollowed(f"a {kind.name} of {len(given)} values")


def _constructed(m: Machine, kind: Struct, given: tuple[Operand, ...]) -> Value:
    """An object as its constructor makes it."""
    if len(given) == 1 and _type(given[0]) is kind:
        return m.value(given[0])
    made = variable(kind, m.mask)
    assert isinstance(made, Object)
    functions = Functions(kind.name, kind.constructors, kind.scope, made)
    definition = chosen(functions, len(given))
    scope = template_scope(m, functions, definition, [_type(g) for g in given])
    _enter(m, definition, scope, given, made)
    return made.load(m)


def _call_lambda(m: Machine, target: Lambda, given: tuple[Operand, ...]) -> Any:
    declarator = target.node.child_by_field_name("declarator")
    parameters = parameters_of(target.piece, declarator) if declarator is not None else []
    scope = target.scope.inner()
    trailing = None
    if declarator is not None:
        trailing = next(
            (c for c in declarator.named_children if c.type == "trailing_return_type"), None
        )
    kind = None
    if trailing is not None:
        kind = naming.type_of(m, target.piece, trailing.named_children[0], scope)
    body = target.node.child_by_field_name("body")
    return _run(m, target.piece, body, parameters, scope, given, Frame(kind))


# --- choosing and binding -------------------------------------------------------------------------


def _enter(
    m: Machine,
    definition: Definition,
    scope: Scope,
    given: tuple[Operand, ...],
    this: Place | None,
) -> Any:
    """Run a function of the source."""
    declarator = definition.node.child_by_field_name("declarator")
    frame = Frame(result_type(m, definition, scope), naming.is_reference(_outside(declarator)))
    parameters = parameters_of(definition.piece, declarator_of(definition))
    body = definition.node.child_by_field_name("body")
    if body is None or body.type != "compound_statement":
        raise NotFollowed(f"{definition.name} has no body")
    before = next((c for c in definition.node.children if c.type == "field_initializer_list"), None)
    start = None
    if isinstance(this, Object) and definition.name == this.type.name:
        start = _initialisers(definition.piece, before, this)
    return _run(m, definition.piece, body, parameters, scope, given, frame, start)


def _outside(declarator: Syntax | None) -> Syntax | None:
    """A declarator, where what it declares to be a reference is the result."""
    inside = declarator is None or declarator.type == "function_declarator"
    return None if inside else declarator


def _initialisers(
    piece: Piece, node: Syntax | None, this: Object
) -> Callable[[Machine, Scope], None]:
    """What a constructor initialises before its body."""
    kind = this.type
    assert isinstance(kind, Struct)

    def run(m: Machine, s: Scope) -> None:
        done: set[str] = set()
        for each in node.named_children if node is not None else ():
            name, values = each.named_children[0], each.named_children[1]
            text = piece.text(name)
            if text not in kind.members:
                raise NotFollowed(f"a constructor initialises {text}")
            items = [piece.code(v)(m, s) for v in values.named_children]
            member = this.members[text]
            member.store(m, construct(m, member.type, tuple(items)))
            done.add(text)
        left = [n for n, member in kind.members.items() if member.default is not None]
        if set(left) - done:
            raise NotFollowed(f"the default of a member of {kind.name}")

    return run


def _run(
    m: Machine,
    piece: Piece,
    body: Syntax,
    parameters: list[Syntax],
    scope: Scope,
    given: tuple[Operand, ...],
    frame: Frame,
    start: Callable[[Machine, Scope], None] | None = None,
) -> Any:
    if m.depth >= MOST_CALLS:
        raise NotFollowed("calls are nested too deeply")
    for at, parameter in enumerate(parameters):
        receive(m, piece, parameter, given[at] if at < len(given) else None, scope)
    around, outer = m.mask, m.frame
    m.frame = frame
    m.depth += 1
    try:
        if start is not None:
            start(m, scope)
        piece.block(body)(m, scope)
    finally:
        m.mask, m.frame = around, outer
        m.depth -= 1
    return _result(m, frame)


def _result(m: Machine, frame: Frame) -> Any:
    if frame.result is None or isinstance(frame.result.type, Void):
        return Value(Void(), None)
    if frame.returned is not m.mask and frame.returned is not None:
        missing = m.mask & ~frame.returned
        if missing.any():
            raise Undetermined("some threads return nothing from a function that gives a value")
    return frame.result
