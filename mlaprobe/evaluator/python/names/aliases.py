"""Which names may have one value, by the text that binds them."""

from __future__ import annotations

import ast

from mlaprobe.evaluator.python.place import root_name

_COPYING = {"list", "dict", "set", "frozenset", "tuple", "sorted", "len", "max", "min", "sum"}
_COPYING |= {"copy", "range", "str", "int", "bool", "any", "all", "union", "split"}
"""Functions that give no part of what they are given, as far as that is flat."""


def aliased(node: ast.expr) -> set[str]:
    """The names whose value, or something in it, an expression may give."""
    if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Starred)):
        root = root_name(node)
        return {root} if root else set()
    parts: list[ast.expr] = []
    if isinstance(node, ast.IfExp):
        parts = [node.body, node.orelse]
    elif isinstance(node, ast.BoolOp):
        parts = node.values
    elif isinstance(node, ast.NamedExpr):
        parts = [node.value]
    elif isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        parts = node.elts
    elif isinstance(node, ast.Dict):
        parts = node.values
    elif isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
        parts = [node.elt, *(g.iter for g in node.generators)]
    elif isinstance(node, ast.DictComp):
        parts = [node.value, *(g.iter for g in node.generators)]
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in _COPYING:
            return set()
        parts = [*node.args, *(k.value for k in node.keywords)]
        if isinstance(node.func, ast.Attribute) and node.func.attr not in _COPYING:
            parts.append(node.func.value)
    return set().union(*map(aliased, parts))


def binding(node: ast.AST) -> tuple[ast.expr | None, list[ast.expr]]:
    """What a piece of code gives to which targets."""
    if isinstance(node, ast.Assign):
        return node.value, node.targets
    if isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
        return node.value, [node.target]
    if isinstance(node, (ast.For, ast.comprehension)):
        return node.iter, [node.target]
    if isinstance(node, ast.withitem) and node.optional_vars is not None:
        return node.context_expr, [node.optional_vars]
    return None, []
