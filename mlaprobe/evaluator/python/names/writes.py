"""The writes and exceptions of single Python statements, as far as their text shows them."""

from __future__ import annotations

import ast
from typing import TypeGuard

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.python.place import is_globals
from mlaprobe.evaluator.values import Unknown, Value
from mlaprobe.evaluator.values.kinds import Record


def header_names(node: ast.stmt) -> set[str]:
    """The names that the first line of an ``if`` or ``with`` binds."""
    parts: list[ast.AST] = [node.test] if isinstance(node, ast.If) else []
    if isinstance(node, ast.With):
        parts += node.items
    names = (n for part in parts for n in ast.walk(part) if isinstance(n, ast.Name))
    return {n.id for n in names if isinstance(n.ctx, ast.Store)}


def raised_name(node: ast.Raise) -> str:
    """The name of the exception type that a statement raises."""
    exc = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    return exc.id if isinstance(exc, ast.Name) else getattr(exc, "attr", "Exception")


def target_path(target: ast.expr, name: str) -> tuple[int, ...] | None:
    """Where a name stands in an assignment target; ``None`` if it does not."""
    if isinstance(target, ast.Name):
        return () if target.id == name else None
    if isinstance(target, (ast.Tuple, ast.List)):
        for at, item in enumerate(target.elts):
            if isinstance(item, ast.Starred):
                return None
            path = target_path(item, name)
            if path is not None:
                return (at, *path)
    return None


def pick(value: Value, path: tuple[int, ...], span: ir.Span) -> Value:
    """A part of an unpacked value."""
    for at in path:
        if isinstance(value, Record):
            value = tuple(value.fields.values())
        if not isinstance(value, (tuple, list)) or at >= len(value):
            return value if isinstance(value, Unknown) else Unknown("an unpacked value", span)
        value = value[at]
    return value


Key = tuple[str, str, bool]
"""(how a name starts, how it ends, whether that is all of it)."""


def written_keys(node: ast.stmt) -> list[Key] | None:
    """What the names that a statement writes through ``globals()`` look like; ``None``: any."""
    keys: list[Key | None] = []
    for item in ast.walk(node):
        if isinstance(item, ast.Call) and isinstance(item.func, ast.Name):
            if item.func.id == "setattr" and len(item.args) > 1 and is_globals(item.args[0]):
                keys.append(_key(item.args[1]))
            elif item.func.id in ("exec", "eval", "setattr"):
                return None
        elif isinstance(item, ast.Call) and isinstance(item.func, ast.Attribute):
            if is_globals(item.func.value) and item.func.attr != "get":
                keys += _update_keys(item)
        elif _is_inside_global(item):
            return None
        elif _is_stored_global(item):
            keys.append(_key(item.slice))
    known = [key for key in keys if key is not None]
    return known if len(known) == len(keys) else None


def _is_inside_global(node: ast.AST) -> bool:
    """Whether something in the value of a name is written that is looked up by its text."""
    stored = isinstance(node, (ast.Subscript, ast.Attribute)) and not isinstance(node.ctx, ast.Load)
    if not stored or (isinstance(node, ast.Subscript) and is_globals(node.value)):
        return False
    return any(is_globals(part) for part in ast.walk(node))


def _is_stored_global(node: ast.AST) -> TypeGuard[ast.Subscript]:
    return (
        isinstance(node, ast.Subscript)
        and is_globals(node.value)
        and not isinstance(node.ctx, ast.Load)
    )


def _update_keys(call: ast.Call) -> list[Key | None]:
    assert isinstance(call.func, ast.Attribute)
    if call.func.attr in ("items", "keys", "values", "copy"):
        return []
    if call.func.attr != "update" or len(call.args) > 1:
        return [None]
    keys: list[Key | None] = [(k.arg, "", True) if k.arg else None for k in call.keywords]
    for arg in call.args:
        if isinstance(arg, ast.DictComp):
            keys.append(_key(arg.key))
        elif isinstance(arg, ast.Dict):
            keys += [None if k is None else _key(k) for k in arg.keys]
        else:
            keys.append(None)
    return keys


def _key(node: ast.expr) -> Key | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return (node.value, "", True)
    if isinstance(node, ast.JoinedStr) and node.values:
        first, last = node.values[0], node.values[-1]
        start = first.value if isinstance(first, ast.Constant) else ""
        end = last.value if isinstance(last, ast.Constant) and last is not first else ""
        return (str(start), str(end), False)
    return None


def key_matches(key: Key, name: str) -> bool:
    """Whether a key describes a name."""
    start, end, whole = key
    return name == start if whole else name.startswith(start) and name.endswith(end)
