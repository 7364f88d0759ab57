"""The statements of a module that make what its functions register while it is imported.

A decorator, a base class or a helper puts something into a table of the module or of a class. What
the table holds at the end is what these statements make of it, one after the other: they are a
slice of the module. Every statement that reads a name of the slice, or of what such a statement
binds, is in it; so nothing else can reach what is in the table.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from mlaprobe.evaluator.python.names.attributes import (
    MUTATORS,
    changed_attributes,
    written_attributes,
)
from mlaprobe.evaluator.python.names.importing import ImportCode
from mlaprobe.evaluator.python.names.scopes import FUNCTIONS, Function
from mlaprobe.evaluator.python.names.sorts import CHANGE, NOTHING, Found, Sort
from mlaprobe.evaluator.python.names.touched import Names
from mlaprobe.evaluator.python.names.uses import Uses
from mlaprobe.evaluator.python.place import is_globals, root_name

if TYPE_CHECKING:
    from mlaprobe.evaluator.python.index import Index


class LaterUses(Uses):
    """The uses of values by code that runs when the module has been imported."""

    def __init__(self, index: Index) -> None:
        super().__init__(index)
        self.code = ImportCode(self.scopes)
        self._functions = False

    def hold_functions(self, only: bool) -> None:
        """Says whether what can be called in the value that is asked for are functions and classes:
        what these do to it they do by names, and that is followed where these stand."""
        self._functions = only
        self._known.clear()

    def called(self, node: ast.AST, call: ast.Call, sort: Sort, depth: int) -> Found:
        """The value itself, or something in it, is called."""
        return NOTHING if self._functions else super().called(node, call, sort, depth)

    def use(self, node: ast.AST, sort: Sort, depth: int) -> Found:
        """What is done to the value of an expression, other than while the module is imported."""
        return self._later(super().use(node, sort, depth))

    def writing(self, name: str) -> ast.AST | None:
        """Later code that assigns an attribute of what may be a class."""
        of_self = "(type)" in self.index.text
        return next(
            (f for f in self._later_code if name in written_attributes([f], of_self=of_self)), None
        )

    def changing(self, name: str) -> ast.AST | None:
        """Later code that changes the value of an attribute in place."""
        return next((f for f in self._later_code if name in changed_attributes([f])), None)

    @cached_property
    def _later_code(self) -> list[ast.AST]:
        return [f for f in self.scopes.functions if not self.code.is_of_import(f)]

    def _later(self, found: Found) -> Found:
        kind, where = found
        of_import = kind == CHANGE and where is not None and self.code.covers(where)
        return NOTHING if of_import else found

    def augmenting(self, scope: ast.AST | None, name: str) -> ast.AST | None:
        """Where later code changes what a variable holds by ``+=`` and its kin."""
        return self._later((CHANGE, super().augmenting(scope, name)))[1]


@dataclass(frozen=True, slots=True, eq=False)
class Slice:
    """The statements, by their places, and the names that they bind or change."""

    positions: tuple[int, ...]
    names: frozenset[str]
    guarded: frozenset[str]
    """Names through which others could register something: these, and functions that do."""
    uses: LaterUses


def slice_of(index: Index) -> Slice | None:
    """The slice of a module; ``None`` where nothing registers anything, or it is not followed."""
    seeds = {name for names in index.names if names.anonymous for name in names.changed}
    own = {n for names in index.names for n in names.bound} - index.aliases.keys()
    if not seeds and not any(_may_register(node, own) for node in index.body):
        return None
    uses = LaterUses(index)
    registrars = [f for f in uses.scopes.functions if _registers(f, uses)]
    seeds |= set(_used(uses, registrars))
    seeds |= {name for f in registrars for name in _named(f) if index.is_variable(name)}
    if not seeds or any(is_globals(node) for node in uses.scopes.calls_and_items):
        return None
    return _closed(index, uses, seeds, frozenset(_by_name(registrars, uses)))


def _may_register(node: ast.stmt, own: set[str]) -> bool:
    """Whether a statement calls something of the module's own, decorates with it, or says what is
    done with subclasses."""
    if isinstance(node, ast.ClassDef):
        methods = {s.name for s in node.body if isinstance(s, FUNCTIONS)}
        if node.keywords or not methods.isdisjoint(("__init_subclass__", "__set_name__")):
            return True
    if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
        parts: list[ast.AST] = [*node.decorator_list]
    else:
        parts = [n.func for n in ast.walk(node) if isinstance(n, ast.Call)]
    return any(_root(part) in own for part in parts)


def _root(node: ast.AST) -> str | None:
    """The name at the root of a decorator or of what is called."""
    while isinstance(node, ast.Call):
        node = node.func
    return root_name(node)


def _registers(function: Function, uses: LaterUses) -> bool:
    """Whether a function runs while the module is imported and changes what may be others'."""
    if not uses.code.is_of_import(function):
        return False
    changed = (node for node in ast.walk(function) if _changes(node))
    return any(not _is_own(node, function, uses) for node in changed)


def _is_own(node: ast.AST, function: Function, uses: LaterUses) -> bool:
    """Whether a function changes a variable of its own, or the object that it makes."""
    target = node.target if isinstance(node, ast.AugAssign) else node
    name = target.func if isinstance(target, ast.Call) else target
    while isinstance(name, (ast.Attribute, ast.Subscript)):
        name = name.value
    if not isinstance(name, ast.Name) or uses.scopes.scope_of(name) is None:
        return False
    arguments = function.args
    given = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    outside = uses.scopes.scope_of(name) is not function or name.id in given
    return not outside or (function.name == "__init__" and name.id == given[0])


def _changes(node: ast.AST) -> bool:
    """Whether code may change a value in place, or write a name of the module."""
    if isinstance(node, (ast.Subscript, ast.Attribute)):
        return not isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        return name in MUTATORS or name == "setattr"
    return isinstance(node, (ast.Global, ast.AugAssign))


def _used(uses: LaterUses, registrars: list[Function]) -> Iterator[str]:
    """Names by which the module's statements come to functions: their own, those of their
    classes."""
    for function in registrars:
        around = uses.scopes.parent(function)
        while around is not None and not isinstance(around, (*FUNCTIONS, ast.ClassDef)):
            around = uses.scopes.parent(around)
        if not isinstance(around, FUNCTIONS):
            yield function.name if around is None else around.name


def _by_name(registrars: list[Function], uses: LaterUses) -> Iterator[str]:
    """The names by which other modules could call the functions."""
    for function in registrars:
        inside = uses.scopes.function_of(function) is not None
        if not inside and not function.name.startswith("__"):
            yield function.name


def _named(function: Function) -> set[str]:
    """The names in a function."""
    nodes = [*ast.walk(function)]
    found = {n.id for n in nodes if isinstance(n, ast.Name)}
    return found | {name for n in nodes if isinstance(n, ast.Global) for name in n.names}


def _closed(
    index: Index, uses: LaterUses, seeds: set[str], registrars: frozenset[str]
) -> Slice | None:
    """All statements that read, bind or change one of the names, or one that such a statement
    binds."""
    if any(names.stars or names.dynamic for names in index.names):
        return None
    touched = [
        _touched(node, names, index) for node, names in zip(index.body, index.names, strict=True)
    ]
    read = [{n.id for n in ast.walk(node) if isinstance(n, ast.Name)} for node in index.body]
    names, chosen, size = set(seeds), set[int](), -1
    while size != (size := len(chosen)):
        for at in range(len(index.body)):
            if at not in chosen and not names.isdisjoint(read[at] | touched[at]):
                chosen.add(at)
                names |= touched[at]
    run = tuple(at for at in sorted(chosen) if not _is_plain(index.body[at]))
    if any(isinstance(index.body[at], (ast.Import, ast.ImportFrom)) for at in run):
        return None
    live = frozenset(name for at in run for name in index.names[at].bound)
    return Slice(run, live, live | registrars, uses)


def _touched(node: ast.stmt, names: Names, index: Index) -> set[str]:
    """The names that a statement binds, and those of the module's own that it changes."""
    if _is_plain(node):
        return names.bound
    return names.bound | {name for name in names.changed if name not in index.aliases}


def _is_plain(node: ast.stmt) -> bool:
    """Whether a statement only defines a function: what it computes is seen when it is called."""
    if not isinstance(node, FUNCTIONS) or node.decorator_list:
        return False
    defaults = (*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None))
    return not any(isinstance(n, ast.Name) for d in defaults for n in ast.walk(d))
