"""What the statements of a module do to its names."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass, field

from mlaprobe.evaluator.python.names.attributes import MUTATORS
from mlaprobe.evaluator.python.place import SCOPES, is_globals, root_name

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
BLOCKS = (ast.If, ast.Try, ast.With, ast.For, ast.While)


def block_parts(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The statement lists of an ``if``, ``try``, ``with`` or loop."""
    for name in ("body", "orelse", "finalbody"):
        part = getattr(node, name, None)
        if isinstance(part, list) and part:
            yield part
    if isinstance(node, ast.Try):
        for handler in node.handlers:
            yield handler.body


def flat(body: list[ast.stmt], blocks: tuple[type[ast.stmt], ...] = BLOCKS) -> Iterator[ast.stmt]:
    """Statements in order, with those inside these kinds of blocks for the blocks."""
    todo = body[::-1]
    while todo:
        node = todo.pop()
        if isinstance(node, blocks):
            todo += reversed([stmt for part in block_parts(node) for stmt in part])
        else:
            yield node


@dataclass(slots=True)
class Names:
    """What a top-level statement does to the names of its module."""

    bound: set[str] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)
    """Names whose value is changed in place, or of which an attribute is set."""
    called: set[str] = field(default_factory=set)
    """Names of which a method is called for its own sake: an object may be changed."""
    anonymous: bool = False
    """The result of a call is changed in place."""
    stars: bool = False
    dynamic: bool = False
    """It writes to ``globals()``, or runs text."""

    def touches(self, name: str) -> bool:
        """Whether the statement may affect the value of ``name``."""
        named = name in self.bound or name in self.changed or name in self.called
        return self.stars or self.dynamic or named


def names_of(node: ast.stmt, *, given: bool = True) -> Names:
    """What a statement, with the blocks inside it, does to the names of its module. ``given``:
    what it gives to functions may be changed by them."""
    names = Names()
    todo: list[ast.AST] = [node]
    while todo:
        item = todo.pop()
        if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.bound.add(item.name)
            if isinstance(item, ast.ClassDef):
                _in_class(item, names)
            continue
        if isinstance(item, ast.Lambda):
            continue
        if isinstance(item, ast.Expr) and isinstance(item.value, ast.Call):
            root = root_name(item.value.func)
            names.called.update(
                {root} if isinstance(item.value.func, ast.Attribute) and root else ()
            )
        if isinstance(item, ast.AugAssign):
            root = root_name(item.target)
            names.changed.update({root} if root else ())
        if isinstance(item, (ast.Name, ast.Attribute, ast.Subscript)):
            _stored(item, names)
        elif isinstance(item, ast.ImportFrom):
            _imported(item, names)
        elif isinstance(item, ast.Import):
            names.bound.update(a.asname or a.name.split(".")[0] for a in item.names)
        elif isinstance(item, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar, ast.MatchMapping)):
            bound = item.rest if isinstance(item, ast.MatchMapping) else item.name
            names.bound.update({bound} if bound else ())
        elif isinstance(item, ast.Call):
            _called(item, names, given)
        if not isinstance(item, SCOPES):
            todo.extend(ast.iter_child_nodes(item))
    return names


def _in_class(node: ast.ClassDef, names: Names) -> None:
    """What the body of a class does to names that it does not bind."""
    inside = Names()
    for stmt in node.body:
        found = names_of(stmt)
        inside.bound |= found.bound
        inside.changed |= found.changed
        names.dynamic |= found.dynamic
    names.changed |= inside.changed - inside.bound


def _stored(node: ast.Name | ast.Attribute | ast.Subscript, names: Names) -> None:
    if isinstance(node.ctx, ast.Load):
        return
    if isinstance(node, ast.Name):
        names.bound.add(node.id)
    elif any(is_globals(part) for part in ast.walk(node)):
        names.dynamic = True
    else:
        root = root_name(node)
        if root:
            names.changed.add(root)


def _imported(node: ast.ImportFrom, names: Names) -> None:
    for alias in node.names:
        if alias.name == "*":
            names.stars = True
        else:
            names.bound.add(alias.asname or alias.name)


def _called(node: ast.Call, names: Names, given: bool) -> None:
    func = node.func
    if isinstance(func, ast.Name) and func.id in ("exec", "eval"):
        names.dynamic = True
    elif isinstance(func, ast.Name) and func.id == "setattr" and node.args:
        root = root_name(node.args[0])
        names.dynamic |= not root or is_globals(node.args[0])
        if root:
            names.changed.add(root)
    elif isinstance(func, ast.Attribute) and func.attr in MUTATORS:
        names.dynamic |= is_globals(func.value)
        root = root_name(func.value)
        if root:
            names.changed.add(root)
        names.anonymous |= isinstance(func.value, ast.Call) and not is_globals(func.value)
    if given and isinstance(func, ast.Name) and not hasattr(builtins, func.id):
        # a function of the module's may change what it is given
        passed = (*node.args, *(k.value for k in node.keywords))
        names.changed.update(n for n in map(root_name, passed) if n)
