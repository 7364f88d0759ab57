"""C++ expressions without parts: literals, and what is not followed at all."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.cpp.conditions import parse_integer
from mlaprobe.evaluator.cpp.tree import Syntax, named
from mlaprobe.evaluator.ir import Node
from mlaprobe.evaluator.values.floats import single

if TYPE_CHECKING:
    from mlaprobe.evaluator.cpp.translate import Translator

Handler = Callable[["Translator", Syntax], Node]
"""The translation of one kind of syntax node."""
LITERAL = 'operator""'
"""What the name of a function begins with that makes something of a literal with a suffix."""
_ESCAPES = dict(zip("ntrabvf", "\n\t\r\a\b\v\f", strict=True))
_ESCAPED = re.compile(r"\\(x[0-9a-fA-F]+|[0-7]{1,3}|.)", re.DOTALL)
_FLOAT = re.compile(r"(?:\d[\d']*\.?[\d']*|\.\d[\d']*)(?:[eE][+-]?\d+)?[fFlL]?")
_LAST_ASCII = 127
_IDENTIFIER = re.compile(r"\b[A-Za-z_]\w*\b")


def names_in(text: str) -> tuple[str, ...]:
    """The identifiers in a piece of text."""
    return tuple(dict.fromkeys(_IDENTIFIER.findall(text)))


def opaque(tr: Translator, node: Syntax, reason: str) -> Node:
    """An expression that cannot be followed; what it mentions it may have written."""
    return ir.Opaque(tr.span(node), reason, names_in(tr.source(node)))


def _number(tr: Translator, node: Syntax) -> Node:
    text, span = tr.source(node), tr.span(node)
    digits = text.lstrip("+-").strip()
    value: int | float | None = parse_integer(digits)
    if value is None and _FLOAT.fullmatch(digits):
        value = float(digits.rstrip("fFlL").replace("'", ""))
        value = single(value) if digits[-1] in "fF" else value
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
        elif "l" in text.lower():
            tr.long_literals.add(literal)
    return literal


def _unescape(text: str) -> str | None:
    """A text with its escapes replaced; ``None`` where one is not followed."""
    strange: list[str] = []

    def one(match: re.Match[str]) -> str:
        escape = match.group(1)
        if escape[0] in "xuUNo" and not escape[1:]:
            strange.append(escape)
        if escape[0] == "x" and escape[1:]:
            code = int(escape[1:], 16)
        elif escape[0] in "01234567":
            code = int(escape, 8)
        else:
            return _ESCAPES.get(escape, escape)
        if code > _LAST_ASCII:
            strange.append(escape)
            return ""
        return chr(code)

    found = _ESCAPED.sub(one, text)
    return None if strange else found


def _string(tr: Translator, node: Syntax) -> Node:
    text = tr.source(node)
    found = _unescape(text[text.find('"') + 1 : -1])
    if found is None or "\0" in found:  # a C string ends there, others do not
        return opaque(tr, node, "the escapes of this text are not followed")
    return ir.Const(tr.span(node), found)


def _raw_string(tr: Translator, node: Syntax) -> Node:
    text = tr.source(node)
    inner = text[text.find("(") + 1 : text.rfind(")")]
    return ir.Const(tr.span(node), inner)


def _char(tr: Translator, node: Syntax) -> Node:
    text = _unescape(tr.source(node).split("'", 1)[-1].rsplit("'", 1)[0])
    if text is None or len(text) != 1:
        return opaque(tr, node, "a character")
    return ir.Character(tr.span(node), text)


def _constant(value: object) -> Handler:
    return lambda tr, node: ir.Const(tr.span(node), value)


def _unknown_value(reason: str) -> Handler:
    return lambda tr, node: ir.Opaque(tr.span(node), reason)


def _this(tr: Translator, node: Syntax) -> Node:
    return ir.Name(tr.span(node), "this")


def _own_literal(tr: Translator, node: Syntax) -> Node:
    """A literal with a suffix of the source's, which is a call."""
    parts, span = named(node), tr.span(node)
    if len(parts) != 2 or parts[1].type != "literal_suffix":
        return opaque(tr, node, "a literal with a suffix is not followed")
    name, value = ir.Name(span, LITERAL + tr.source(parts[1])), tr.expression(parts[0])
    args: tuple[Node, ...] = (value,)
    if isinstance(value, ir.Const) and type(value.value) is str and type(value) is ir.Const:
        args = (value, ir.Const(span, len(value.value)))
    return ir.Call(span, name, args)


LITERALS: dict[str, Handler] = {
    "user_defined_literal": _own_literal,
    "number_literal": _number,
    "string_literal": _string,
    "raw_string_literal": _raw_string,
    "char_literal": _char,
    "true": _constant(True),
    "false": _constant(False),
    "null": _constant(None),
    "nullptr": _constant(None),
    "this": _this,
    "alignof_expression": _unknown_value("an alignment"),
}
