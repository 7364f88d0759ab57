"""The names of a Python module and where they are bound, read from its text without running it."""

from __future__ import annotations

import ast
import builtins
import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.python.aliases import aliased, binding
from mlaprobe.evaluator.python.place import SCOPES, Place, dotted_name, root_name

_STAR = re.compile(r"^[ \t]*from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+\*", re.MULTILINE)
_IMPORT = re.compile(
    r"^(?:from[ \t]+(?P<dots>\.*)(?P<module>[\w.]*)[ \t]+import\b"
    r"|import[ \t]+(?P<plain>[\w. ,\t]+))",
    re.MULTILINE,
)
_MUTATORS = {"add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove"}
_MUTATORS |= {"reverse", "setdefault", "sort", "update"}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
BLOCKS = (ast.If, ast.Try, ast.With, ast.For, ast.While)


@dataclass(frozen=True, slots=True)
class SyntaxProblem:
    """Why a text is no Python module."""

    message: str
    span: Span


def parse(text: str, file: str) -> ast.Module | SyntaxProblem:
    """The syntax tree of a text, or why it has none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        line, column = error.lineno or 1, max(error.offset or 1, 1)
        span = Span(file, line, column, line, column + 1)
        version = ".".join(map(str, sys.version_info[:2]))
        return SyntaxProblem(f"syntax error for Python {version}: {error.msg}", span)
    except (ValueError, MemoryError) as error:  # the latter for what is nested too deeply
        return SyntaxProblem(f"cannot be parsed: {error}", Span(file, 1, 1, 1, 2))


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
        elif isinstance(item, ast.ExceptHandler) and item.name:
            names.bound.add(item.name)
        elif isinstance(item, ast.Call):
            _called(item, names, given)
        if not isinstance(item, SCOPES):
            todo.extend(ast.iter_child_nodes(item))
    return names


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
        if root:
            names.changed.add(root)
        names.dynamic |= not root
    elif isinstance(func, ast.Attribute) and func.attr in _MUTATORS:
        names.dynamic |= is_globals(func.value)
        root = root_name(func.value)
        if root:
            names.changed.add(root)
        names.anonymous |= isinstance(func.value, ast.Call) and not is_globals(func.value)
    if given and isinstance(func, ast.Name) and not hasattr(builtins, func.id):
        # a function of the module's may change what it is given
        passed = (*node.args, *(k.value for k in node.keywords))
        names.changed.update(n for n in map(root_name, passed) if n)


def _others(targets: list[ast.expr], name: str) -> set[str]:
    """The names that are bound to the same value."""
    return {t.id for t in targets if isinstance(t, ast.Name)} - {name}


def _changed_outside(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """What one function changes in place that is not its own."""
    names = Names()
    aliases: dict[str, set[str]] = {}
    for stmt in function.body:
        found = names_of(stmt, given=False)
        names.bound |= found.bound
        names.changed |= found.changed
        for node in ast.walk(stmt):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        aliases.setdefault(target.id, set()).add(node.value.id)
    arguments = function.args
    given = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    own = names.bound | {arg.arg for arg in given}
    also = {name for alias in names.changed for name in aliases.get(alias, ())}
    return (names.changed | also) - own


def is_globals(node: ast.AST) -> bool:
    """Whether an expression is the dictionary of the module's names."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("globals", "vars", "locals")
        and not node.args
    )


class Index:
    """The top-level statements of a module and the names they touch."""

    def __init__(self, text: str, place: Place) -> None:
        self.text = text
        self.place = place

    @cached_property
    def tree(self) -> ast.Module | SyntaxProblem:
        """The syntax tree; made when it is first needed."""
        return parse(self.text, self.place.file)

    @property
    def body(self) -> list[ast.stmt]:
        """The top-level statements."""
        return [] if isinstance(self.tree, SyntaxProblem) else self.tree.body

    @cached_property
    def names(self) -> list[Names]:
        """What each top-level statement touches."""
        return [names_of(node) for node in self.body]

    @cached_property
    def _by_name(self) -> dict[str, list[int]]:
        result: dict[str, list[int]] = {}
        for position, names in enumerate(self.names):
            for name in names.bound | names.changed | (names.called - self.aliases.keys()):
                result.setdefault(name, []).append(position)
        return result

    @cached_property
    def _wild(self) -> list[int]:
        return [i for i, names in enumerate(self.names) if names.stars or names.dynamic]

    def positions(self, name: str) -> list[int]:
        """The statements that may affect the value of ``name``, in order."""
        return sorted({*self._by_name.get(name, ()), *self._wild})

    def binds(self, name: str) -> bool:
        """Whether a statement names it outright."""
        return name in self._by_name

    @cached_property
    def _bound_from(self) -> dict[str, list[tuple[int, set[str]]]]:
        """Names, and the statements that give them the value of others."""
        found: dict[str, list[tuple[int, set[str]]]] = {}
        for position, node in enumerate(self.body):
            for part in ast.walk(node) if not isinstance(node, SCOPES) else ():
                source, targets = binding(part)
                for target in targets:
                    names = {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
                    for name in names if source is not None else ():
                        assert source is not None
                        given = aliased(source) | _others(targets, name)
                        found.setdefault(name, []).append((position, given))
        return found

    def changed_elsewhere(self, name: str, node: ast.stmt, position: int) -> ast.stmt | None:
        """A statement that may change a name's value under another name, after it was bound."""
        pairs = zip(self.body, self.names, strict=True)
        nameless = next((n for n, names in pairs if names.anonymous), None)
        if nameless is not None:
            return nameless
        for other, bindings in self._bound_from.items():
            for at, sources in bindings:
                same = name in sources if other != name else False
                mine = other == name and at == position
                for source in ({other} if same else set()) | (sources if mine else set()):
                    later = self._changing(source, at)
                    if later is not None and source != name:
                        return later
        return None

    def _changing(self, name: str, position: int) -> ast.stmt | None:
        """A statement from a place on, or a function, that changes a name's value in place."""
        start = position if isinstance(self.body[position], BLOCKS) else position + 1
        later = (p for p in self._by_name.get(name, ()) if p >= start)
        acting = (p for p in later if name in self.names[p].changed | self.names[p].called)
        found = next(acting, None)
        if found is not None:
            return self.body[found]
        return self.changed_by_functions.get(name)

    def final(self, name: str, position: int) -> bool:
        """Whether ``name`` is at a statement what it is at the end of the module."""
        positions = self.positions(name)
        return not positions or positions[-1] < position

    @cached_property
    def global_names(self) -> frozenset[str]:
        """Names that functions rebind."""
        if not re.search(r"^\s+global\s", self.text, re.MULTILINE) or not self.body:
            return frozenset()
        assert isinstance(self.tree, ast.Module)
        nodes = (n for n in ast.walk(self.tree) if isinstance(n, ast.Global))
        return frozenset(name for n in nodes for name in n.names)

    @cached_property
    def changed_by_functions(self) -> dict[str, ast.stmt]:
        """Names outside them whose values functions change in place, by the name or by another
        that they give it; and such a function."""
        if not self.body:
            return {}
        assert isinstance(self.tree, ast.Module)
        functions = [n for n in ast.walk(self.tree) if isinstance(n, FUNCTIONS)]
        return {name: function for function in functions for name in _changed_outside(function)}

    @cached_property
    def star_imports(self) -> tuple[str, ...]:
        """The modules of ``from module import *``, anywhere in the text."""
        found = _STAR.findall(self.text)
        return tuple(self.place.absolute(name, len(dots)) for dots, name in found)

    @cached_property
    def top_imports(self) -> tuple[str, ...]:
        """The modules that an import of this one certainly imports."""
        result: list[str] = []
        for match in _IMPORT.finditer(self.text):
            if match["plain"]:
                result += [part.split()[0] for part in match["plain"].split(",") if part.strip()]
            else:
                result.append(self.place.absolute(match["module"], len(match["dots"])))
        return tuple(name for name in result if name)

    def unguarded_imports(self) -> list[ast.Import | ast.ImportFrom]:
        """The imports that stand in no ``try``."""
        unguarded = flat(self.body, (ast.If, ast.With, ast.For, ast.While))
        return [node for node in unguarded if isinstance(node, (ast.Import, ast.ImportFrom))]

    @cached_property
    def aliases(self) -> dict[str, str]:
        """Imported names and the dotted names that they stand for."""
        result: dict[str, str] = {}
        for node in flat(self.body):
            if isinstance(node, ast.Import):
                for a in node.names:
                    result[a.asname or a.name.split(".")[0]] = (
                        a.name if a.asname else a.name.split(".")[0]
                    )
            elif isinstance(node, ast.ImportFrom):
                module = self.place.absolute(node.module, node.level)
                result.update({a.asname or a.name: f"{module}.{a.name}" for a in node.names})
        return result

    @cached_property
    def imported_functions(self) -> frozenset[str]:
        """The last parts of imported names, as they are called where they come from."""
        return frozenset(target.rpartition(".")[2] for target in self.aliases.values())

    def canonical(self, node: ast.expr) -> str:
        """The dotted name of an expression with its import resolved; ``?`` where it has none."""
        name = dotted_name(node)
        if name is None:
            return "?"
        root, dot, rest = name.partition(".")
        return self.aliases.get(root, root) + dot + rest

    @cached_property
    def path_pieces(self) -> tuple[str, ...]:
        """The folders, relative to the module's own, that it adds to ``sys.path``."""
        if "sys.path" not in self.text:
            return ()
        pieces: list[str] = []
        for node in self.body:
            call = node.value if isinstance(node, ast.Expr) else None
            if isinstance(call, ast.Call) and dotted_name(call.func) in _PATH_CALLS:
                parts = (n for a in call.args for n in ast.walk(a) if isinstance(n, ast.Constant))
                pieces += [p.value.strip("/") for p in parts if isinstance(p.value, str)]
        return tuple(piece for piece in pieces if piece)


_PATH_CALLS = ("sys.path.insert", "sys.path.append")
