"""Which functions that yield can be run at once."""

from __future__ import annotations

import ast
import builtins

from mlaprobe.evaluator.python.place import SCOPES, own_nodes


def is_followed_generator(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function is a generator that only computes: it makes no difference then when it is
    run, as long as what it is given does not change meanwhile."""
    nodes = [n for stmt in node.body for n in own_nodes(stmt)]
    yields = [n for n in nodes if isinstance(n, (ast.Yield, ast.YieldFrom))]
    stated = [n.value for n in nodes if isinstance(n, ast.Expr)]
    if not yields or isinstance(node, ast.AsyncFunctionDef):
        return False
    return all(n in stated for n in yields) and all(_only_computes(n) for n in nodes)


def _only_computes(node: ast.AST) -> bool:
    if isinstance(node, (ast.Global, ast.Nonlocal, ast.Await, ast.Delete, ast.Try, ast.With)):
        return False
    if isinstance(node, SCOPES):
        return False
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        return isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and hasattr(builtins, node.func.id)
    return True
