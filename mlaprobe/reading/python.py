"""Python's syntax trees to the intermediate form.

Nothing in here fails on odd code: what is not followed becomes ``Opaque`` or ``OpaqueStmt``.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from mlaprobe.reading import ir
from mlaprobe.reading.pyplace import Place, own_nodes, written_names
from mlaprobe.reading.pystmt import TRANSPARENT_DECORATORS, Statements, decorator_name

__all__ = [
    "TRANSPARENT_DECORATORS",
    "Place",
    "decorator_name",
    "own_nodes",
    "translate_body",
    "translate_expr",
    "translate_function",
    "written_names",
]

TOO_DEEP = "nested too deeply"


def _place(file: str | Place) -> Place:
    return file if isinstance(file, Place) else Place(file)


def translate_function(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, file: str | Place
) -> ir.Function:
    """A function or lambda. Give a :class:`Place` for columns in non-ASCII text and for
    relative imports."""
    place = _place(file)
    statements = Statements(place)
    try:
        if isinstance(node, ast.Lambda):
            return statements.function(node)
        return statements.definition(node)
    except RecursionError:
        span = place.span(node)
        body = (
            ir.OpaqueStmt(span, TOO_DEEP, exits=True),
            ir.Return(span, ir.Opaque(span, TOO_DEEP)),
        )
        name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
        rest = (ir.Param(span, "args", kind="*"), ir.Param(span, "kwargs", kind="**"))
        return ir.Function(span, name, rest, body, lang="py")


def translate_expr(node: ast.expr, file: str | Place) -> ir.Node:
    """An expression."""
    place = _place(file)
    try:
        return Statements(place).expr(node)
    except RecursionError:
        return ir.Opaque(place.span(node), TOO_DEEP, written_names(node))


def translate_body(nodes: Sequence[ast.stmt], file: str | Place) -> tuple[ir.Node, ...]:
    """Statements, as they stand in a function or at module level."""
    return Statements(_place(file)).body(nodes)
