"""Python's syntax trees to the intermediate form.

Nothing in here fails on odd code: what is not followed becomes ``Opaque`` or ``OpaqueStmt``.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.python.place import Place, own_nodes, written_names
from mlaprobe.evaluator.python.statements import TRANSPARENT_DECORATORS, Statements, decorator_name

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


def _place(file: str | Place) -> Place:
    return file if isinstance(file, Place) else Place(file)


def translate_function(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, file: str | Place
) -> ir.Function:
    """A function or lambda. Give a :class:`Place` for columns in non-ASCII text and for
    relative imports.

    Raises:
        RecursionError: the stack is too short; so it is with the other two.
    """
    statements = Statements(_place(file))
    if isinstance(node, ast.Lambda):
        return statements.function(node)
    return statements.definition(node)


def translate_expr(node: ast.expr, file: str | Place) -> ir.Node:
    """An expression."""
    return Statements(_place(file)).expr(node)


def translate_body(nodes: Sequence[ast.stmt], file: str | Place) -> tuple[ir.Node, ...]:
    """Statements, as they stand in a function or at module level."""
    return Statements(_place(file)).body(nodes)
