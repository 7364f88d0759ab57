"""Functions that keep what they made as an attribute of their own: ``if not hasattr(f, "_kept")``
they make it, and they return it.

They are followed as their first call, which is said: a later one finds what that has made.
"""

from __future__ import annotations

import ast
import copy
from typing import TYPE_CHECKING

from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.values import Args, Kwargs, Value
from mlaprobe.evaluator.values.kinds import Builtin

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.runs import Run

FIRST_CALL = "<first call>"
"""The name of the function that notes that; no program can have it."""


def first_call(node: ast.FunctionDef) -> ast.FunctionDef:
    """The function as its first call, where it is such a one; else as it is."""
    name = _kept(node)
    if name is None:
        return node
    found = copy.deepcopy(node)
    at = _documented(found)
    test = found.body[at]
    assert isinstance(test, ast.If)
    noted = ast.Call(ast.Name(FIRST_CALL, ast.Load()), [ast.Constant(node.name)], [])
    note = ast.fix_missing_locations(ast.copy_location(ast.Expr(noted), test))
    found.body[at : at + 1] = [note, *test.body]
    changed = _Local(node.name, name).visit(found)
    assert isinstance(changed, ast.FunctionDef)
    return changed


def _note(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    text = f"{args[0]} is taken to be called for the first time: it keeps what it made"
    run.observations.append(("assumed", text))
    return None


KEEPING = {f"builtins.{FIRST_CALL}": Builtin(FIRST_CALL, _note)}
"""What such functions call, by its dotted name."""


def _kept(node: ast.FunctionDef) -> str | None:
    """The attribute that a function without parameters keeps; ``None`` where it is no such one."""
    args = node.args
    body = node.body[_documented(node) :]
    if any((args.posonlyargs, args.args, args.kwonlyargs, args.vararg, args.kwarg)):
        return None
    if len(body) < 2 or not isinstance(body[0], ast.If) or body[0].orelse:
        return None
    match body[0].test:
        case ast.UnaryOp(
            ast.Not(), ast.Call(ast.Name("hasattr"), [ast.Name(of), ast.Constant(str(name))], [])
        ) if of == node.name:
            uses = [n for part in body for n in ast.walk(part) if _names(n, of)]
            kept = [n for part in body for n in ast.walk(part) if _is_kept(n, of, name)]
            return name if len(uses) == len(kept) + 1 else None
    return None


def _documented(node: ast.FunctionDef) -> int:
    """1 where the function begins with a docstring."""
    return 1 if ast.get_docstring(node, clean=False) is not None else 0


def _names(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_kept(node: ast.AST, of: str, name: str) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == name and _names(node.value, of)


class _Local(ast.NodeTransformer):
    """Makes a local variable of an attribute."""

    def __init__(self, of: str, name: str) -> None:
        self._of, self._name = of, name

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """The attribute."""
        if _is_kept(node, self._of, self._name):
            return ast.copy_location(ast.Name(f"<{self._name}>", node.ctx), node)
        return self.generic_visit(node)
