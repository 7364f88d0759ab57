"""Places in an engine's source at which something about AITER's MLA is decided by hand.

A file counts that mentions one of AITER's calls. In it, a place is a constant that a rule names, a
text that one names, and, not judged, every other constant or comparison that has to do with head
counts or query lengths.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from mlaprobe.audit.rules import AuditRules, PlaceRule

_ABOUT = re.compile(r"heads?(?!_?dim)|qlen|q_len|qo_len", re.I)
_LONGEST = 100
"""Characters of a value that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A place in an engine."""

    file: str
    line: int
    """1-based."""
    name: str
    """The constant, what is compared, or the text."""
    value: Any
    """As Python has it; ``None`` where it is no literal."""
    text: str
    """As it stands there."""
    rule: PlaceRule | None
    """``None``: it is not known what it claims."""


def find_places(files: Iterable[tuple[str, str]], rules: AuditRules) -> tuple[Place, ...]:
    """All places, in the order of the files. A file that this Python cannot parse has none."""
    found: list[Place] = []
    for file, text in files:
        if any(call in text for call in rules.calls):
            try:
                tree = ast.parse(text)
            except (SyntaxError, ValueError, RecursionError):
                continue
            found += sorted(_places(file, tree, rules), key=lambda place: place.line)
    return tuple(found)


def _places(file: str, tree: ast.Module, rules: AuditRules) -> Iterator[Place]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            name = _name(target)
            value = literal(node.value)
            rule = rules.of(name)
            if rule is not None or (name.isupper() and _decides(name, value)):
                yield _place(file, node, name, value, node.value, rule)
        elif isinstance(node, ast.Compare):
            yield from _compared(file, node, rules)


def _compared(file: str, node: ast.Compare, rules: AuditRules) -> Iterator[Place]:
    right, name = node.comparators[0], _name(node.left)
    value = literal(right)
    if isinstance(node.left, ast.Constant) and isinstance(node.left.value, str):
        rule = rules.of(node.left.value)
        if rule is not None:
            yield _place(file, node, node.left.value, node.left.value, node, rule)
    elif isinstance(node.ops[0], (ast.In, ast.NotIn, ast.Eq, ast.NotEq)) and _decides(name, value):
        yield _place(file, node, name, value, node, None)


def _place(
    file: str,
    node: ast.stmt | ast.expr,
    name: str,
    value: Any,
    shown: ast.AST,
    rule: PlaceRule | None,
) -> Place:
    text = ast.unparse(shown)
    return Place(
        file=file,
        line=node.lineno,
        name=name,
        value=value,
        text=text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "...",
        rule=rule,
    )


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""


def _decides(name: str, value: Any) -> bool:
    """Whether a value is a number, or some, above 1 (no flag and no index), by a name that has to
    do with head counts or query lengths."""
    if _ABOUT.search(name) is None:
        return False
    numbers = value if isinstance(value, (tuple, list, set, frozenset, dict)) else (value,)
    return bool(numbers) and all(type(n) is int for n in numbers) and max(numbers) > 1


_MAKERS = {"frozenset": frozenset, "set": set, "tuple": tuple, "list": list, "range": range}
_MOST = 4096
"""Numbers in a range."""


def literal(node: ast.expr) -> Any:
    """The value of a literal, collections that are made of literals included; else ``None``."""
    if isinstance(node, ast.Dict):
        pairs = [(k and literal(k), v) for k, v in zip(node.keys, node.values, strict=True)]
        return {key: literal(value) for key, value in pairs}
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        make, args = _MAKERS.get(node.func.id), [literal(arg) for arg in node.args]
        if make is None or node.keywords or None in args:
            return None
        try:
            made = make(*args)
            return tuple(made) if isinstance(made, range) and len(made) <= _MOST else made
        except (TypeError, ValueError):
            return None
    try:
        return _counted(node) if isinstance(node, ast.BinOp) else ast.literal_eval(node)
    except (ValueError, TypeError, MemoryError, RecursionError):
        return None


def _counted(node: ast.BinOp) -> int | None:
    """A sum of numbers, as in ``range(1, 6 + 1)``."""
    left, right = literal(node.left), literal(node.right)
    if isinstance(node.op, ast.Add) and type(left) is type(right) is int:
        return left + right
    return None
