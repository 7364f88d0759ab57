"""Places in Python text, and the names that a syntax tree touches."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass

from mlaprobe.evaluator import ir

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


@dataclass(slots=True)
class Place:
    """Where a tree comes from.

    ``lines`` is ``None`` where the text is ASCII or not at hand: byte offsets are columns then.
    """

    file: str
    module: str = ""
    is_package: bool = False
    lines: tuple[bytes, ...] | None = None

    @classmethod
    def of(
        cls, file: str, text: str | None = None, module: str = "", is_package: bool = False
    ) -> Place:
        """The place for a text; without one, columns are exact on ASCII lines only."""
        lines = None
        if text is not None and not text.isascii():
            lines = tuple(
                line.encode("utf-8", "surrogatepass") for line in re.split("\r\n|\r|\n", text)
            )
        return cls(file, module, is_package, lines)

    def column(self, line: int, offset: int) -> int:
        """The 1-based column in characters of a byte offset in a line."""
        if self.lines is None or not 1 <= line <= len(self.lines):
            return offset + 1
        return len(self.lines[line - 1][:offset].decode("utf-8", "replace")) + 1

    def span(self, node: ast.AST) -> ir.Span:
        """The span of a node that has a place."""
        line = getattr(node, "lineno", 0)
        end = getattr(node, "end_lineno", None) or line
        start = getattr(node, "col_offset", -1)
        stop = getattr(node, "end_col_offset", None)
        column = self.column(line, start)
        end_column = column if stop is None else self.column(end, stop)
        return ir.Span(self.file, line, column, end, end_column)

    def absolute(self, module: str | None, level: int) -> str:
        """The absolute name of the module in a ``from`` import."""
        if level == 0:
            return module or ""
        parts = self.module.split(".")
        drop = level - 1 if self.is_package else level
        base = parts[: len(parts) - drop] if drop <= len(parts) else []
        return ".".join([*base, *([module] if module else [])])


def own_nodes(root: ast.AST) -> Iterable[ast.AST]:
    """The nodes of a tree, without what stands inside nested functions and classes."""
    todo: list[ast.AST] = [root]
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, SCOPES) or node is root:
            todo.extend(ast.iter_child_nodes(node))


def root_name(node: ast.AST) -> str | None:
    """The variable at the root of ``a.b[c].d``."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def dotted_name(node: ast.AST) -> str | None:
    """``a.b.c`` as text, or ``None`` for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


def is_globals(node: ast.AST) -> bool:
    """Whether an expression is a module, or the dictionary of its names, got at run time."""
    if isinstance(node, ast.Attribute):
        return node.attr == "__dict__" and is_globals(node.value)
    if isinstance(node, ast.Subscript):
        return (dotted_name(node.value) or "").split(".")[-2:] == ["sys", "modules"]
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Name) and node.func.id == "vars" and len(node.args) == 1:
        return is_globals(node.args[0])
    name = (dotted_name(node.func) or "").rpartition(".")[2]
    if name == "import_module":
        return bool(node.args) and isinstance(node.args[0], ast.Name)
    return name in ("globals", "vars", "locals") and not node.args


def is_own_dictionary(node: ast.AST) -> bool:
    """Whether an expression is the module that it stands in, or the dictionary of its names."""
    if isinstance(node, ast.Attribute):
        return node.attr == "__dict__" and is_own_dictionary(node.value)
    if isinstance(node, ast.Subscript):
        return is_globals(node) and getattr(node.slice, "id", "") == "__name__"
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    if node.func.id == "vars" and len(node.args) == 1:
        return is_own_dictionary(node.args[0])
    return node.func.id in ("globals", "vars") and not node.args


def written_names(*roots: ast.AST) -> tuple[str, ...]:
    """The variables that a tree may write, or whose value it may change, sorted."""
    names: set[str | None] = set()
    for node in (n for root in roots for n in own_nodes(root)):
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            if not isinstance(node.ctx, ast.Load):
                names.add(root_name(node))
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names.add(node.asname or node.name.split(".")[0])
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
            names.add(node.name)
        elif isinstance(node, ast.MatchMapping):
            names.add(node.rest)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            names.update(node.names)
        elif isinstance(node, ast.Call):
            names.update(_changed_by_call(node))
    return tuple(sorted(name for name in names if name))


def _changed_by_call(node: ast.Call) -> Iterable[str | None]:
    """What a call may change: the object of a method and the arguments."""
    if isinstance(node.func, ast.Attribute):
        yield root_name(node.func)
    for arg in (*node.args, *(k.value for k in node.keywords)):
        yield root_name(arg)


def is_pure(node: ast.AST) -> bool:
    """Whether evaluating an expression twice is the same as evaluating it once."""
    impure = (ast.Call, ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
    return not any(isinstance(n, impure) for n in ast.walk(node))


def called_name(node: ast.expr) -> str | None:
    """The dotted name of a decorator."""
    return dotted_name(node.func if isinstance(node, ast.Call) else node)


def type_names(nodes: Iterable[ast.expr]) -> tuple[str, ...]:
    """The last parts of exception types' names; ``?`` for what has no name."""
    names: list[str] = []
    for node in nodes:
        if isinstance(node, ast.Tuple):
            names += type_names(node.elts)
        else:
            names.append((dotted_name(node) or "?").split(".")[-1])
    return tuple(names)
