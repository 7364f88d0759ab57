"""C++ expressions from the syntax tree to the intermediate form."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.cpp.forms.arithmetic import accumulated, arithmetic, comparison
from mlaprobe.evaluator.cpp.forms.sizes import counted_array, size_of
from mlaprobe.evaluator.cpp.forms.streams import stream_method, streamed
from mlaprobe.evaluator.cpp.forms.templates import (
    expansion,
    fold,
    number_pack,
    qualified,
    specialised,
)
from mlaprobe.evaluator.cpp.forms.texts import into_text, moved_text, text_method
from mlaprobe.evaluator.cpp.forms.typing import static_type
from mlaprobe.evaluator.cpp.forms.widths import as_number, narrowed, wider, width
from mlaprobe.evaluator.cpp.literals import LITERALS, Handler, opaque
from mlaprobe.evaluator.cpp.tree import Syntax, field, named
from mlaprobe.evaluator.cpp.types import SCALARS
from mlaprobe.evaluator.ir import CType, Node
from mlaprobe.evaluator.stl.owners import METHODS
from mlaprobe.evaluator.stl.shapes import CONTAINERS
from mlaprobe.evaluator.walk import is_name

if TYPE_CHECKING:
    from mlaprobe.evaluator.cpp.translate import Translator

_CASTS = ("static_cast", "const_cast", "reinterpret_cast", "dynamic_cast")
_ARITHMETIC = {"+", "-", "*", "&", "|", "^", "<<", ">>"}
_COMPARE = {"==", "!=", "<", "<=", ">", ">="}


def expression(tr: Translator, node: Syntax) -> Node:
    """An expression; anything broken or unknown inside makes it opaque."""
    if node.is_missing or node.type == "ERROR":
        return opaque(tr, node, "the code could not be parsed")
    if any(c.type == "ERROR" or c.is_missing for c in node.children):
        return opaque(tr, node, "the code could not be parsed")
    handler = _HANDLERS.get(node.type)
    if handler is None:
        return opaque(tr, node, f"{node.type.replace('_', ' ')} is not followed")
    return handler(tr, node)


def expressions_in(tr: Translator, node: Syntax) -> tuple[Node, ...]:
    """The expressions that a node is a list of."""
    return tuple(expression(tr, child) for child in named(node))


def _identifier(tr: Translator, node: Syntax) -> Node:
    return ir.Name(tr.span(node), re.sub(r"\s+", "", tr.source(node)))


def _concatenated(tr: Translator, node: Syntax) -> Node:
    parts = [p.value for p in expressions_in(tr, node) if isinstance(p, ir.Const)]
    if len(parts) < len(named(node)) or not all(isinstance(p, str) for p in parts):
        return opaque(tr, node, "joined text")
    return ir.Const(tr.span(node), "".join(parts))


def _inner(tr: Translator, node: Syntax) -> Node:
    parts = named(node)
    return expression(tr, parts[0]) if len(parts) == 1 else opaque(tr, node, "parentheses")


def _binary(tr: Translator, node: Syntax) -> Node:
    op = tr.source(field(node, "operator"))
    left, right = expression(tr, field(node, "left")), expression(tr, field(node, "right"))
    span = tr.span(node)
    if op in ("&&", "||", "and", "or"):
        word = "and" if op in ("&&", "and") else "or"
        parts: tuple[Node, ...] = (tr.tested(left), tr.tested(right))
        if isinstance(left, ir.Bool) and left.op == word and not _parenthesised(node):
            parts = (*left.parts, tr.tested(right))
        return ir.Bool(span, word, parts, coerce=True)
    written = streamed(tr, span, op, left, right)
    if written is not None:
        return written
    if op in _COMPARE:
        return comparison(tr, span, op, left, right)
    if op == "/" and (array := counted_array(tr, node)):
        return ir.Call(span, ir.Name(span, "std::size"), (ir.Name(span, array),))
    if op in _ARITHMETIC or op in ("/", "%"):
        if op == "+" and (moved := moved_text(tr, span, left, right)) is not None:
            return moved
        return arithmetic(tr, span, "c" + op if op in ("/", "%") else op, left, right)
    return opaque(tr, node, f"the operator {op} is not followed")


def _parenthesised(node: Syntax) -> bool:
    left = field(node, "left")
    return left is not None and left.type == "parenthesized_expression"


def _unary(tr: Translator, node: Syntax) -> Node:
    op = tr.source(field(node, "operator"))
    value = expression(tr, field(node, "argument"))
    word = {"!": "not", "not": "not", "-": "-", "+": "+", "~": "~"}.get(op)
    if word is None:
        return opaque(tr, node, f"the operator {op} is not followed")
    span, bits = tr.span(node), tr.is_unsigned(value)
    if bits and word in ("-", "~"):
        whole = ir.Const(span, 0 if word == "-" else (1 << bits) - 1)
        return ir.Binary(span, "-", whole, value, bits, modulo=width(tr, value) is not None)
    return ir.Unary(span, word, tr.tested(value) if word == "not" else value)


def _pointer(tr: Translator, node: Syntax) -> Node:
    op = tr.source(field(node, "operator"))
    value = expression(tr, field(node, "argument"))
    span = tr.span(node)
    if op == "&" and into_text(tr, value):
        return opaque(tr, node, "a pointer into a text is not followed")
    return ir.AddressOf(span, value) if op == "&" else ir.Deref(span, value)


def _update(tr: Translator, node: Syntax) -> Node:
    op = tr.source(field(node, "operator"))
    argument = field(node, "argument")
    target = expression(tr, argument)
    one = ir.Const(target.span, 1)
    postfix = field(node, "operator").start_byte > argument.start_byte
    return ir.AssignExpr(tr.span(node), target, one, op[0], postfix)


def _assignment(tr: Translator, node: Syntax) -> Node:
    op = tr.source(field(node, "operator"))
    target = expression(tr, field(node, "left"))
    value = expression(tr, field(node, "right"))
    span = tr.span(node)
    if isinstance(target, ir.Call) and is_name(target.func, "std::tie"):
        target = ir.Sequence(target.span, "tuple", target.args)
    anywhere = isinstance(target, ir.Call) and not _gives_element(target)
    places = (ir.Name, ir.Attr, ir.Index, ir.Deref, ir.Sequence)
    if not anywhere and not isinstance(target, places):
        return opaque(tr, node, "an assignment to something that is not followed")
    if op == "=":
        return ir.AssignExpr(span, target, value)
    word = op[:-1]
    value = value if tr.is_text(target) else as_number(tr, value)
    word = "c" + word if word in ("/", "%") else word
    return ir.AssignExpr(span, target, value, word)


def _gives_element(call: ir.Call) -> bool:
    """Whether what a call refers to is a part of what it is called with, as in the library."""
    if isinstance(call.func, ir.Name):
        return call.func.id.startswith("std::")
    return isinstance(call.func, ir.Attr) and call.func.name in ("at", "front", "back", "value")


def _conditional(tr: Translator, node: Syntax) -> Node:
    test, then, orelse = (field(node, n) for n in ("condition", "consequence", "alternative"))
    if then is None:
        return opaque(tr, node, "a conditional without a middle")
    sides = [expression(tr, then), expression(tr, orelse)]
    if any(tr.is_float(side) for side in sides):
        wide = CType("float", "double", 64)
        sides = [s if tr.is_float(s) else ir.Cast(s.span, wide, s) for s in sides]
    found = wider(*(width(tr, side) for side in sides))
    if found is not None and found.unsigned:
        wide = CType("unsigned", "unsigned", found.bits)
        sides = [ir.Cast(s.span, wide, s) for s in sides]
    return ir.Cond(tr.span(node), tr.tested(expression(tr, test)), sides[0], sides[1])


def _member(tr: Translator, node: Syntax) -> Node:
    member = field(node, "field")
    name = tr.source(member)
    if member.type in ("template_method", "dependent_name"):
        name = name.removeprefix("template ").split("<")[0].strip()
    obj = expression(tr, field(node, "argument"))
    operator = field(node, "operator")
    if operator is not None and tr.source(operator) not in (".", "->"):
        return opaque(tr, node, "a member that a pointer names is not followed")
    if name in METHODS and tr.source(operator) == "->":
        obj = ir.Deref(obj.span, obj)  # a method of what is pointed to
    return ir.Attr(tr.span(node), obj, name)


def _subscript(tr: Translator, node: Syntax) -> Node:
    indices = field(node, "indices")
    keys = named(indices) if indices is not None else []
    obj = expression(tr, field(node, "argument"))
    if len(keys) != 1:
        return opaque(tr, node, "a subscript")
    return ir.Index(tr.span(node), obj, expression(tr, keys[0]))


def _cast(tr: Translator, node: Syntax) -> Node:
    ctype = tr.type_of(tr.source(field(node, "type")))
    operand = field(node, "value")
    signed = operand.type in ("unary_expression", "pointer_expression")
    if signed and ctype.kind == "other" and not ctype.pointer:
        return opaque(tr, node, "a cast, or arithmetic with something in parentheses")
    value = expression(tr, operand)
    if ctype.kind == "void":
        return ir.Const(tr.span(node), None)
    return _casted(tr, node, ctype, value)


def _casted(tr: Translator, node: Syntax, ctype: ir.CType, value: Node) -> Node:
    """A cast. One to a reference is followed where it is the type that the operand has, or one of
    a class: what other numbers show of the same bytes is not."""
    if ctype.ref and ctype.kind in SCALARS:
        kind = static_type(tr, value)
        if kind is None or kind.pointer or (kind.kind, kind.bits) != (ctype.kind, ctype.bits):
            why = "a reference to another type than the variable has is not followed"
            return opaque(tr, node, why)
    return ir.Cast(tr.span(node), ctype, narrowed(tr, value, ctype))


def _call(tr: Translator, node: Syntax) -> Node:
    function, arguments = field(node, "function"), field(node, "arguments")
    span = tr.span(node)
    if arguments is None or arguments.type not in ("argument_list", "initializer_list"):
        return opaque(tr, node, "a call without arguments")
    if any(c.type == "ERROR" or c.is_missing for c in arguments.children):
        return opaque(tr, node, "the arguments could not be parsed")
    args = expressions_in(tr, arguments)
    launch = next((c for c in node.children if c.type == "kernel_call_syntax"), None)
    if launch is not None:
        template = tuple(_template_argument(tr, c) for c in _template_arguments(function))
        config = expressions_in(tr, launch)
        return ir.Launch(span, tr.source(function), args, template, config)
    name = tr.source(function)
    if function.type == "primitive_type":
        return ir.Construct(span, tr.type_of(name), args)
    member = qualified(tr, function) if function.type == "qualified_identifier" else None
    if isinstance(member, ir.Specialised) and member.last:
        return ir.Call(span, member, args)
    member_name = field(function, "field") if function.type == "field_expression" else None
    if member_name is not None:
        templated = member_name.type == "template_method"
    else:
        templated = function.type not in _NO_NAMES and "<" in name.split("(")[0]
    if function.type == "template_function" or templated:
        return _template_call(tr, node, function, args)
    callee = expression(tr, function)
    if isinstance(callee, ir.Attr):
        of_stream = stream_method(tr, span, callee, args)
        if of_stream is not None:
            return of_stream
    if is_name(callee, "std::accumulate") and len(args) >= 3:
        return accumulated(tr, tr.span(node), callee, args)
    changed = text_method(tr, node, callee, args) if isinstance(callee, ir.Attr) else None
    return ir.Call(span, callee, args) if changed is None else changed


_NO_NAMES = frozenset(
    (
        "lambda_expression",
        "call_expression",
        "subscript_expression",
        "parenthesized_expression",
        "pointer_expression",
    )
)
"""Callees that are computed: a template in them is not the function."""


def _template_call(tr: Translator, node: Syntax, function: Syntax, args: tuple[Node, ...]) -> Node:
    text, span = re.sub(r"\s+", " ", tr.source(function)), tr.span(node)
    head, _, rest = text.partition("<")
    head, inner = head.strip().replace(" ", ""), rest.rpartition(">")[0].strip()
    if head in CONTAINERS:
        return ir.Construct(span, tr.type_of(text), args, braced=False)
    if head.removeprefix("std::") in _CASTS and len(args) == 1:
        kind = tr.type_of(inner)
        if (kind.kind, kind.name) == ("string", "char") and not kind.const:
            return opaque(tr, node, "a text that is made one to be written is not followed")
        return _casted(tr, node, kind, args[0])
    if head in ("std::make_unique", "std::make_shared") and not inner.endswith("]"):
        made = ir.Construct(span, tr.type_of(inner), args, braced=False)
        return ir.New(span, made, owned=True)
    template = tuple(_template_argument(tr, c) for c in _template_arguments(function))
    if function.type == "field_expression":
        return ir.Call(span, expression(tr, function), args, (), template)
    return ir.Call(span, ir.Name(tr.span(function), head), args, (), template)


def _template_arguments(function: Syntax) -> list[Syntax]:
    """The arguments of the last template name in a callee."""
    nodes = [function]
    found: list[Syntax] = []
    while nodes:
        node = nodes.pop()
        if node.type == "template_argument_list":
            found = named(node)
        else:
            nodes.extend(reversed(node.named_children))
    return found


def _template_argument(tr: Translator, node: Syntax) -> Node:
    """A template argument: a value, or a type as a name."""
    if node.type == "type_descriptor":
        return ir.Name(tr.span(node), re.sub(r"\s+", "", tr.source(node)))
    return expression(tr, node)


def _new(tr: Translator, node: Syntax) -> Node:
    """``new Type(arguments)``, or with a braced list."""
    kind, args = field(node, "type"), field(node, "arguments")
    if args is None or any(field(node, n) is not None for n in ("placement", "declarator")):
        return opaque(tr, node, "a new object is not followed")
    span, ctype = tr.span(node), tr.type_of(tr.source(kind))
    braced = args.type == "initializer_list"
    if ctype.kind == "other" and braced:
        return ir.New(span, listed(tr, args, ctype))
    return ir.New(span, ir.Construct(span, ctype, expressions_in(tr, args), braced))


def _delete(tr: Translator, node: Syntax) -> Node:
    span = tr.span(node)
    return ir.Call(span, ir.Name(span, "operator delete"), expressions_in(tr, node))


def _compound_literal(tr: Translator, node: Syntax) -> Node:
    numbers = number_pack(tr, field(node, "type"))
    if numbers is not None and not named(field(node, "value")):
        return numbers
    ctype = tr.type_of(tr.source(field(node, "type")))
    return listed(tr, field(node, "value"), ctype)


def _braced(tr: Translator, node: Syntax) -> Node:
    parts = named(node)
    if any(c.type == "initializer_pair" for c in parts):
        return _designated(tr, node, parts)
    return ir.Sequence(tr.span(node), "braced", expressions_in(tr, node))


def listed(tr: Translator, node: Syntax, ctype: CType) -> Node:
    """An object of a type from a braced list."""
    parts = named(node)
    if any(c.type == "initializer_pair" for c in parts):
        inner = _designated(tr, node, parts)
        return inner if isinstance(inner, ir.Opaque) else ir.Cast(tr.span(node), ctype, inner)
    return ir.Construct(tr.span(node), ctype, expressions_in(tr, node))


def _designated(tr: Translator, node: Syntax, parts: list[Syntax]) -> Node:
    """``{.member = value}``: the members by name."""
    pairs = []
    for part in parts:
        names = part.children_by_field_name("designator")
        value = field(part, "value")
        if part.type != "initializer_pair" or len(names) != 1 or value is None:
            return opaque(tr, node, "designated initialisers")
        if names[0].type != "field_designator":
            return opaque(tr, node, "designated initialisers")
        name = tr.source(names[0]).removeprefix(".").strip()
        pairs.append((ir.Const(tr.span(part), name), expression(tr, value)))
    return ir.Members(tr.span(node), tuple(pairs))


def _comma(tr: Translator, node: Syntax) -> Node:
    left, right = expression(tr, field(node, "left")), expression(tr, field(node, "right"))
    both = ir.Sequence(tr.span(node), "tuple", (left, right))
    return ir.Index(tr.span(node), both, ir.Const(right.span, 1))


_HANDLERS: dict[str, Handler] = {
    **LITERALS,
    "new_expression": _new,
    "delete_expression": _delete,
    "identifier": _identifier,
    "qualified_identifier": lambda tr, node: qualified(tr, node) or _identifier(tr, node),
    "template_function": specialised,
    "fold_expression": fold,
    "parameter_pack_expansion": expansion,
    "field_identifier": _identifier,
    "type_identifier": _identifier,
    "concatenated_string": _concatenated,
    "parenthesized_expression": _inner,
    "condition_clause": _inner,
    "binary_expression": _binary,
    "unary_expression": _unary,
    "pointer_expression": _pointer,
    "update_expression": _update,
    "assignment_expression": _assignment,
    "conditional_expression": _conditional,
    "field_expression": _member,
    "subscript_expression": _subscript,
    "cast_expression": _cast,
    "call_expression": _call,
    "compound_literal_expression": _compound_literal,
    "initializer_list": _braced,
    "lambda_expression": lambda tr, node: tr.lambda_function(node),
    "comma_expression": _comma,
    "sizeof_expression": size_of,
}
