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


MANAGED = "<managed>"
"""The name of the function that runs the body of a ``with``; no program can have it."""


def is_manager(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function is a generator that is decorated to be a context manager: it is run around
    the body of a ``with``, which stands where it yields."""
    names = [getattr(d, "attr", getattr(d, "id", "")) for d in node.decorator_list]
    nodes = [n for stmt in node.body for n in own_nodes(stmt)]
    yields = [n for n in nodes if isinstance(n, (ast.Yield, ast.YieldFrom, ast.Await))]
    stated = [n.value for n in nodes if isinstance(n, ast.Expr)]
    alone = names == ["contextmanager"] and isinstance(node, ast.FunctionDef)
    return alone and all(isinstance(n, ast.Yield) and n in stated for n in yields)


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
