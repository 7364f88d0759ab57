"""Places in an engine's source at which something about AITER's MLA is decided by hand.

A file counts that mentions one of AITER's calls. In it, a place is a constant that a rule names, a
text that one names, and, not judged, every other constant or comparison that has to do with head
counts or query lengths.
"""

from __future__ import annotations

import ast
import operator
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
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
    """All places, in the order of the files. A file that this Python cannot parse is one itself."""
    found: list[Place] = []
    for file, text in files:
        if any(call in text for call in rules.calls):
            found += _in_file(file, text, rules)
    return tuple(found)


def _in_file(file: str, text: str, rules: AuditRules) -> list[Place]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the engine's text, not of ours
            tree = ast.parse(text)
        return sorted(_places(file, tree, rules), key=lambda place: place.line)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = (error.lineno if isinstance(error, SyntaxError) else None) or 1
        text = "this Python cannot parse the file"
        return [Place(file=file, line=line, name="", value=None, text=text, rule=None)]


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
    try:
        if isinstance(node, ast.Dict):
            return _mapping(node)
        if isinstance(node, ast.Call):
            return _made(node)
        return _counted(node) if isinstance(node, ast.BinOp) else ast.literal_eval(node)
    except (ValueError, TypeError, OverflowError, MemoryError, RecursionError):
        return None


def _mapping(node: ast.Dict) -> dict[Any, Any] | None:
    """A mapping, where all of it is known: ``None`` among its values is a value."""
    found = {}
    for key, value in zip(node.keys, node.values, strict=True):
        known = None if key is None else literal(key)
        held = literal(value)
        if known is None or (held is None and not _is_none(value)):
            return None
        found[known] = held
    return found


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _made(node: ast.Call) -> Any:
    """What a collection's own name makes of literals."""
    make = _MAKERS.get(node.func.id) if isinstance(node.func, ast.Name) else None
    if make is None or node.keywords:
        return None
    args = [literal(arg) for arg in node.args]
    if any(arg is None for arg in args):
        return None
    made = make(*args)
    if not isinstance(made, range):
        return made
    return tuple(made) if len(made) <= _MOST else None


_SIGNS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Mult: operator.mul,
    ast.LShift: operator.lshift,
}
_BITS = 64


def _counted(node: ast.BinOp) -> int | None:
    """A sum or product of numbers, as in ``range(1, 6 + 1)`` or ``1 << 31``."""
    left, right, sign = literal(node.left), literal(node.right), _SIGNS.get(type(node.op))
    if sign is None or not (type(left) is type(right) is int):
        return None
    if max(left.bit_length(), right.bit_length()) > _BITS:
        return None
    return sign(left, right) if sign is not operator.lshift or right <= _BITS else None
