"""From pieces of a Python syntax tree to the intermediate form."""

from __future__ import annotations

import ast

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.python.place import Place
from mlaprobe.evaluator.python.statements import Statements


def translate_function(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, place: Place
) -> ir.Function:
    """A function or lambda.

    Raises:
        RecursionError: the stack is too short; so it is with the other two.
    """
    statements = Statements(place)
    if isinstance(node, ast.Lambda):
        return statements.function(node)
    return statements.definition(node)


def translate_class(node: ast.ClassDef, place: Place) -> ir.Class:
    """A class."""
    return Statements(place).class_statement(node)


def translate_statement(node: ast.stmt, place: Place) -> tuple[ir.Node, ...]:
    """A statement, as the body of a function has it."""
    return Statements(place).stmt(node)


def translate_expr(node: ast.expr, place: Place) -> ir.Node:
    """An expression; what is not followed of it is ``Opaque``."""
    return Statements(place).expr(node)
