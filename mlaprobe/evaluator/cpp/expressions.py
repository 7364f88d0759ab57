"""C++ expressions from the syntax tree to the intermediate form."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.cpp.conditions import parse_integer
from mlaprobe.evaluator.cpp.types import parse_type
from mlaprobe.evaluator.ir import CType, Node

if TYPE_CHECKING:
    from mlaprobe.evaluator.cpp.translate import Translator

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\\": "\\", '"': '"', "'": "'"}
_FLOAT = re.compile(r"(?:\d[\d']*\.?[\d']*|\.\d[\d']*)(?:[eE][+-]?\d+)?[fFlL]?")
_CASTS = ("static_cast", "const_cast", "reinterpret_cast", "dynamic_cast")
_ARITHMETIC = {"+", "-", "*", "&", "|", "^", "<<", ">>"}
_COMPARE = {"==", "!=", "<", "<=", ">", ">="}
_IDENTIFIER = re.compile(r"\b[A-Za-z_]\w*\b")


def names_in(text: str) -> tuple[str, ...]:
    """The identifiers in a piece of text."""
    return tuple(dict.fromkeys(_IDENTIFIER.findall(text)))


def opaque(tr: Translator, node: Any, reason: str) -> Node:
    """An expression that cannot be followed; what it mentions it may have written."""
    return ir.Opaque(tr.tree.span(node), reason, names_in(tr.tree.source(node)))


def expression(tr: Translator, node: Any) -> Node:
    """An expression; anything broken or unknown inside makes it opaque."""
    if node.is_missing or node.type == "ERROR":
        return opaque(tr, node, "the code could not be parsed")
    if any(c.type == "ERROR" or c.is_missing for c in node.children):
        return opaque(tr, node, "the code could not be parsed")
    handler = _HANDLERS.get(node.type)
    if handler is None:
        return opaque(tr, node, f"{node.type.replace('_', ' ')} is not followed")
    return handler(tr, node)


def _field(node: Any, name: str) -> Any:
    return node.child_by_field_name(name)


def _named(node: Any) -> list[Any]:
    return [c for c in node.named_children if c.type != "comment"]


def _identifier(tr: Translator, node: Any) -> Node:
    return ir.Name(tr.tree.span(node), re.sub(r"\s+", "", tr.tree.source(node)))


def _number(tr: Translator, node: Any) -> Node:
    text, span = tr.tree.source(node), tr.tree.span(node)
    digits = text.lstrip("+-").strip()
    value: Any = parse_integer(digits)
    if value is None and _FLOAT.fullmatch(digits):
        value = float(digits.rstrip("fFlL").replace("'", ""))
    if value is not None and text.startswith("-"):
        value = -value
    if value is None:
        return opaque(tr, node, f"the number {text} is not followed")
    literal = ir.Const(span, value)
    if isinstance(value, int):
        bits = 64 if "l" in text.lower() or value >= 2**32 else 32
        based = digits[:1] == "0" and 2**31 <= value < 2**32
        if "u" in text.lower().removeprefix("0x") or based:
            tr.unsigned_literals[literal] = bits
    return literal


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m.group(1), m.group(1)), text)


def _string(tr: Translator, node: Any) -> Node:
    text = tr.tree.source(node)
    start = text.find('"')
    return ir.Const(tr.tree.span(node), _unescape(text[start + 1 : -1]))


def _raw_string(tr: Translator, node: Any) -> Node:
    text = tr.tree.source(node)
    inner = text[text.find("(") + 1 : text.rfind(")")]
    return ir.Const(tr.tree.span(node), inner)


def _concatenated(tr: Translator, node: Any) -> Node:
    parts = [expression(tr, c) for c in _named(node)]
    if all(isinstance(p, ir.Const) and isinstance(p.value, str) for p in parts):
        return ir.Const(tr.tree.span(node), "".join(p.value for p in parts))  # type: ignore[attr-defined]
    return opaque(tr, node, "joined text")


def _char(tr: Translator, node: Any) -> Node:
    text = _unescape(tr.tree.source(node).split("'", 1)[-1].rsplit("'", 1)[0])
    if len(text) != 1:
        return opaque(tr, node, "a character")
    return ir.Const(tr.tree.span(node), text)


def _constant(value: Any) -> Callable[[Translator, Any], Node]:
    return lambda tr, node: ir.Const(tr.tree.span(node), value)


def _inner(tr: Translator, node: Any) -> Node:
    parts = _named(node)
    return expression(tr, parts[0]) if len(parts) == 1 else opaque(tr, node, "parentheses")


def _binary(tr: Translator, node: Any) -> Node:
    op = tr.tree.source(_field(node, "operator"))
    left, right = expression(tr, _field(node, "left")), expression(tr, _field(node, "right"))
    span = tr.tree.span(node)
    if op in ("&&", "||", "and", "or"):
        word = "and" if op in ("&&", "and") else "or"
        parts: tuple[Node, ...] = (tr.tested(left), tr.tested(right))
        if isinstance(left, ir.Bool) and left.op == word and not _parenthesised(node):
            parts = (*left.parts, tr.tested(right))
        return ir.Bool(span, word, parts, coerce=True)
    if op in _COMPARE:
        return _comparison(tr, node, op, left, right)
    if op in ("/", "%"):
        return ir.Binary(span, "c" + op, left, right, tr.is_unsigned(left, right))
    if op in _ARITHMETIC:
        return ir.Binary(span, op, left, right, tr.is_unsigned(left, right))
    return opaque(tr, node, f"the operator {op} is not followed")


def _parenthesised(node: Any) -> bool:
    left = _field(node, "left")
    return left is not None and left.type == "parenthesized_expression"


def _comparison(tr: Translator, node: Any, op: str, left: Node, right: Node) -> Node:
    """A comparison; signed with unsigned compares as unsigned, which a negative value shows."""
    span = tr.tree.span(node)
    if bool(tr.is_unsigned(left)) == bool(tr.is_unsigned(right)):
        return ir.Binary(span, op, left, right)
    wide = CType("unsigned", "unsigned", 64)
    left, right = (s if tr.is_unsigned(s) else ir.Cast(s.span, wide, s) for s in (left, right))
    return ir.Binary(span, op, left, right)


def _unary(tr: Translator, node: Any) -> Node:
    op = tr.tree.source(_field(node, "operator"))
    value = expression(tr, _field(node, "argument"))
    word = {"!": "not", "not": "not", "-": "-", "+": "+", "~": "~"}.get(op)
    if word is None:
        return opaque(tr, node, f"the operator {op} is not followed")
    span, bits = tr.tree.span(node), tr.is_unsigned(value)
    if bits and word in ("-", "~"):
        whole = ir.Const(span, 0 if word == "-" else (1 << bits) - 1)
        return ir.Binary(span, "-", whole, value, bits)
    return ir.Unary(span, word, tr.tested(value) if word == "not" else value)


def _pointer(tr: Translator, node: Any) -> Node:
    op = tr.tree.source(_field(node, "operator"))
    value = expression(tr, _field(node, "argument"))
    span = tr.tree.span(node)
    return ir.AddressOf(span, value) if op == "&" else ir.Deref(span, value)


def _update(tr: Translator, node: Any) -> Node:
    op = tr.tree.source(_field(node, "operator"))
    argument = _field(node, "argument")
    target = expression(tr, argument)
    one = ir.Const(target.span, 1)
    postfix = _field(node, "operator").start_byte > argument.start_byte
    return ir.AssignExpr(tr.tree.span(node), target, one, op[0], postfix)


def _assignment(tr: Translator, node: Any) -> Node:
    op = tr.tree.source(_field(node, "operator"))
    target = expression(tr, _field(node, "left"))
    value = expression(tr, _field(node, "right"))
    span = tr.tree.span(node)
    if isinstance(target, ir.Call) and getattr(target.func, "id", "") == "std::tie":
        target = ir.Sequence(target.span, "tuple", target.args)
    if not isinstance(target, (ir.Name, ir.Attr, ir.Index, ir.Deref, ir.Sequence)):
        return opaque(tr, node, "an assignment to something that is not followed")
    if op == "=":
        return ir.AssignExpr(span, target, value)
    word = op[:-1]
    word = "c" + word if word in ("/", "%") else word
    return ir.AssignExpr(span, target, value, word)


def _conditional(tr: Translator, node: Any) -> Node:
    test, then, orelse = (_field(node, n) for n in ("condition", "consequence", "alternative"))
    if then is None:
        return opaque(tr, node, "a conditional without a middle")
    sides = [expression(tr, then), expression(tr, orelse)]
    if any(tr.is_float(side) for side in sides):
        wide = CType("float", "double", 64)
        sides = [s if tr.is_float(s) else ir.Cast(s.span, wide, s) for s in sides]
    return ir.Cond(tr.tree.span(node), tr.tested(expression(tr, test)), sides[0], sides[1])


def _member(tr: Translator, node: Any) -> Node:
    field = _field(node, "field")
    name = tr.tree.source(field)
    if field.type in ("template_method", "dependent_name"):
        name = name.removeprefix("template ").split("<")[0].strip()
    obj = expression(tr, _field(node, "argument"))
    return ir.Attr(tr.tree.span(node), obj, name)


def _subscript(tr: Translator, node: Any) -> Node:
    indices = _field(node, "indices")
    keys = _named(indices) if indices is not None else []
    obj = expression(tr, _field(node, "argument"))
    if len(keys) != 1:
        return opaque(tr, node, "a subscript")
    return ir.Index(tr.tree.span(node), obj, expression(tr, keys[0]))


def _cast(tr: Translator, node: Any) -> Node:
    ctype = tr.type_of(tr.tree.source(_field(node, "type")))
    operand = _field(node, "value")
    signed = operand.type in ("unary_expression", "pointer_expression")
    if signed and ctype.kind == "other" and not ctype.pointer:
        return opaque(tr, node, "a cast, or arithmetic with something in parentheses")
    value = expression(tr, operand)
    if ctype.kind == "void":
        return ir.Const(tr.tree.span(node), None)
    return ir.Cast(tr.tree.span(node), ctype, value)


def _call(tr: Translator, node: Any) -> Node:
    function, arguments = _field(node, "function"), _field(node, "arguments")
    span = tr.tree.span(node)
    if arguments is None or arguments.type not in ("argument_list", "initializer_list"):
        return opaque(tr, node, "a call without arguments")
    if any(c.type == "ERROR" or c.is_missing for c in arguments.children):
        return opaque(tr, node, "the arguments could not be parsed")
    args = tuple(expression(tr, a) for a in _named(arguments))
    launch = next((c for c in node.children if c.type == "kernel_call_syntax"), None)
    if launch is not None:
        template = tuple(_template_argument(tr, c) for c in _template_arguments(function))
        config = tuple(expression(tr, c) for c in _named(launch))
        return ir.Launch(span, tr.tree.source(function), args, template, config)
    name = tr.tree.source(function)
    if function.type == "primitive_type":
        return _functional_cast(tr, node, name, args)
    if function.type == "template_function" or "<" in name.split("(")[0]:
        return _template_call(tr, node, function, args)
    callee = expression(tr, function)
    if isinstance(callee, ir.Attr) and callee.name in _TEXT_CHANGES and tr.is_text(callee.obj):
        return _changed_text(tr, node, callee, args)
    return ir.Call(span, callee, args)


_TEXT_CHANGES = {"clear", "append", "push_back", "pop_back", "assign", "insert", "erase", "resize"}
_TEXT_CHANGES |= {"replace", "swap"}
"""Methods of ``std::string`` that change it."""


def _changed_text(tr: Translator, node: Any, callee: ir.Attr, args: tuple[Node, ...]) -> Node:
    """A method that changes a string: an assignment to it."""
    span, name = tr.tree.span(node), callee.name
    if name == "clear" and not args:
        return ir.AssignExpr(span, callee.obj, ir.Const(span, ""))
    if name in ("append", "push_back", "assign") and len(args) == 1:
        return ir.AssignExpr(span, callee.obj, args[0], None if name == "assign" else "+")
    return opaque(tr, node, f"{name} of a string is not followed")


def _functional_cast(tr: Translator, node: Any, name: str, args: tuple[Node, ...]) -> Node:
    return ir.Construct(tr.tree.span(node), tr.type_of(name), args)


def _template_call(tr: Translator, node: Any, function: Any, args: tuple[Node, ...]) -> Node:
    text, span = re.sub(r"\s+", " ", tr.tree.source(function)), tr.tree.span(node)
    head, _, rest = text.partition("<")
    head, inner = head.strip().replace(" ", ""), rest.rpartition(">")[0].strip()
    if head.removeprefix("std::") in _CASTS and len(args) == 1:
        return ir.Cast(span, tr.type_of(inner), args[0])
    template = tuple(_template_argument(tr, c) for c in _template_arguments(function))
    if function.type == "field_expression":
        return ir.Call(span, expression(tr, function), args, (), template)
    return ir.Call(span, ir.Name(tr.tree.span(function), head), args, (), template)


def _template_arguments(function: Any) -> list[Any]:
    """The arguments of the last template name in a callee."""
    nodes = [function]
    found: list[Any] = []
    while nodes:
        node = nodes.pop()
        if node.type == "template_argument_list":
            found = _named(node)
        else:
            nodes.extend(reversed(node.named_children))
    return found


def _template_argument(tr: Translator, node: Any) -> Node:
    """A template argument: a value, or a type as a name."""
    if node.type == "type_descriptor":
        return ir.Name(tr.tree.span(node), re.sub(r"\s+", "", tr.tree.source(node)))
    return expression(tr, node)


def _compound_literal(tr: Translator, node: Any) -> Node:
    ctype = parse_type(tr.tree.source(_field(node, "type")))
    value = _field(node, "value")
    return ir.Construct(tr.tree.span(node), ctype, tuple(expression(tr, c) for c in _named(value)))


def _braced(tr: Translator, node: Any) -> Node:
    parts = _named(node)
    if any(c.type == "initializer_pair" for c in parts):
        return opaque(tr, node, "designated initialisers")
    return ir.Sequence(tr.tree.span(node), "braced", tuple(expression(tr, c) for c in parts))


def _lambda(tr: Translator, node: Any) -> Node:
    return tr.lambda_function(node)


def _unknown_value(reason: str) -> Callable[[Translator, Any], Node]:
    return lambda tr, node: ir.Opaque(tr.tree.span(node), reason)


def _sizeof(tr: Translator, node: Any) -> Node:
    """``sizeof...(pack)`` is the number of arguments; that of an object is what ``sizeof`` says."""
    span = tr.tree.span(node)
    if tr.pack and tr.tree.source(node).replace(" ", "").startswith("sizeof..."):
        return ir.Call(span, ir.Name(span, "std::size"), (ir.Name(span, tr.pack),))
    inner = _field(node, "type") or _field(node, "value")
    name = tr.tree.source(inner).strip("() ") if inner is not None else ""
    element = tr.array_of(name)
    if element is not None:
        count = ir.Call(span, ir.Name(span, "std::size"), (ir.Name(span, name),))
        return ir.Binary(span, "*", count, ir.Const(span, element.bits // 8))
    ctype = parse_type(name)
    if ctype.kind in ("int", "unsigned") and not ctype.pointer and not ctype.ref:
        return ir.Const(span, ctype.bits // 8)
    if name.isidentifier() and ctype.kind == "other":
        return ir.Call(span, ir.Name(span, "sizeof"), (ir.Name(span, name),))
    return ir.Opaque(span, f"the size of {name[:60] or 'something'} is not followed")


def _comma(tr: Translator, node: Any) -> Node:
    left, right = expression(tr, _field(node, "left")), expression(tr, _field(node, "right"))
    both = ir.Sequence(tr.tree.span(node), "tuple", (left, right))
    return ir.Index(tr.tree.span(node), both, ir.Const(right.span, 1))


_HANDLERS: dict[str, Callable[[Any, Any], Node]] = {
    "identifier": _identifier,
    "qualified_identifier": _identifier,
    "field_identifier": _identifier,
    "type_identifier": _identifier,
    "this": _unknown_value("this"),
    "number_literal": _number,
    "string_literal": _string,
    "raw_string_literal": _raw_string,
    "concatenated_string": _concatenated,
    "char_literal": _char,
    "true": _constant(True),
    "false": _constant(False),
    "null": _constant(None),
    "nullptr": _constant(None),
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
    "template_function": _unknown_value("a template"),
    "compound_literal_expression": _compound_literal,
    "initializer_list": _braced,
    "lambda_expression": _lambda,
    "comma_expression": _comma,
    "sizeof_expression": _sizeof,
    "alignof_expression": _unknown_value("an alignment"),
    "new_expression": _unknown_value("a new object"),
    "delete_expression": _constant(None),
    "fold_expression": _unknown_value("a fold expression"),
    "parameter_pack_expansion": _unknown_value("a parameter pack"),
}
