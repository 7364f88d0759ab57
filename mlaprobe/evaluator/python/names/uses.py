"""What the code of a module may do to the value of one of its names, by how the text uses it.

Every place where a name is read is followed: what is only looked at stays as it is; what is given
to a function of the module, bound to another name, put into something or returned is followed from
there. What goes where the text does not show what happens to it may be changed there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from mlaprobe.evaluator.python.names.calling import READERS
from mlaprobe.evaluator.python.names.followcalls import FollowingCalls
from mlaprobe.evaluator.python.names.following import Rule
from mlaprobe.evaluator.python.names.scopes import FUNCTIONS
from mlaprobe.evaluator.python.names.sorts import CHANGE, ESCAPE, NOTHING, READ, Found, Sort, worst
from mlaprobe.evaluator.python.place import is_globals

if TYPE_CHECKING:
    from mlaprobe.evaluator.python.index import Index

_STORED = (ast.Store, ast.Del)


class Uses(FollowingCalls):
    """The uses of values in one module."""

    def __init__(self, index: Index) -> None:
        super().__init__(index)
        self._busy: set[tuple[object, ...]] = set()
        self._known: dict[tuple[object, ...], Found] = {}

    def rules(self) -> dict[type[ast.AST], Rule]:
        """The rules, by the kind of node that is around."""
        assigning = (ast.Assign, ast.AnnAssign, ast.NamedExpr)
        return {
            **self.own_rules(),
            **self.call_rules(),
            **dict.fromkeys(assigning, self._assigned),
            **dict.fromkeys((ast.For, ast.comprehension), self._iterated),
            ast.AugAssign: self._augmented,
            ast.Match: self._augmented,
            ast.arguments: self._default,
            ast.Return: self._returned,
        }

    def of_name(self, name: str, sort: Sort) -> ast.AST | None:
        """A place where the value of a top-level name may be changed, other than the top-level
        statements that do so by this name."""
        self.steps = 0
        nodes = [*self.scopes.of_module(name)]
        if sort.grows and all(self._looks_up(node) or self._seen(node, name) for node in nodes):
            sort = replace(sort, grows=False)
        for node in nodes:
            kind, where = self.use(node, sort, 0)
            if kind == ESCAPE or (kind == CHANGE and not self._seen(node, name)):
                return where or node
        return next(self._by_text(name, sort), None)

    def _seen(self, node: ast.AST, name: str) -> bool:
        """Whether a change stands in a top-level statement that is run for the name."""
        if self.scopes.function_of(node) is not None:
            return False
        statement = self.scopes.statement(node)
        names = self.index.names_of(statement)
        return name in names.changed | names.bound | names.called

    def _looks_up(self, node: ast.AST) -> bool:
        """Whether a place is a look-up, which gives the same whatever others have looked up."""
        parent = self.scopes.parent(node)
        return isinstance(parent, ast.Subscript) and parent.value is node

    def _by_text(self, name: str, sort: Sort) -> Iterator[ast.AST]:
        """Where what a text names may be changed: a look-up of names by text, or a text that is
        run."""
        if not (self.index.dictionaries.used or self.index.runs_texts):
            return
        aliases = (self.scopes.mentions_of(alias) for alias in self.index.dictionaries.aliases)
        for node in chain(self.scopes.calls_and_items, *aliases):
            dictionary = _is_dictionary(node) or isinstance(node, ast.Name)
            looked_up = dictionary and self._looked_up(node, name, sort)
            given = getattr(node, "attr", "") == "modules" and self._is_given_on(node)
            if looked_up or given or _runs_text_of(node, name):
                yield node

    def _is_given_on(self, node: ast.AST) -> bool:
        """Whether the dictionary of all modules goes where it is not followed."""
        parent = self.scopes.parent(node)
        called = isinstance(parent, ast.Call) and parent.func is node
        read = isinstance(parent, ast.Attribute) and parent.attr not in READERS
        return not (called or read or isinstance(parent, (ast.Subscript, ast.Compare)))

    def _looked_up(self, node: ast.AST, name: str, sort: Sort) -> bool:
        """Whether what a module, or the dictionary of its names, gives for a name is changed."""
        parent = self.scopes.parent(node)
        around = self.scopes.parent(parent) if parent is not None else None
        if isinstance(parent, ast.Subscript) and parent.value is node:
            key = parent.slice.value if isinstance(parent.slice, ast.Constant) else name
            read = isinstance(parent.ctx, ast.Load)
            return key == name and read and self.use(parent, sort, 0)[0] > READ
        if isinstance(parent, ast.Attribute) and not isinstance(around, ast.Call):
            named = parent.attr == name and isinstance(parent.ctx, ast.Load)
            return named and self.use(parent, sort, 0)[0] > READ
        if isinstance(parent, ast.Attribute) and parent.attr in READERS:
            assert around is not None
            if parent.attr in ("values", "copy"):
                sort = sort.held
            elif parent.attr == "items":
                sort = sort.held.held
            return parent.attr != "keys" and self.use(around, sort, 0)[0] > READ
        return self.use(node, sort, 0)[0] == ESCAPE

    def of_attribute(self, name: str, sort: Sort) -> ast.AST | None:
        """A place where the value of an attribute, of whatever object, may be changed."""
        self.steps = 0
        for node in self.scopes.attributes.get(name, ()):
            kind, where = self.use(node, sort, 0) if isinstance(node.ctx, ast.Load) else NOTHING
            if kind > READ:
                return where or node
        given = (n for n in self.scopes.of_module(name) if self.scopes.is_given_in_class(n))
        return next(given, None)

    def sources(self, node: ast.stmt) -> dict[str, ast.AST]:
        """Top-level names of which functions that a statement calls may give it the value, and
        where they are read."""
        found: dict[str, ast.AST] = {}
        todo: list[ast.AST] = [node]
        seen: set[int] = set()
        while todo:
            part = todo.pop()
            for inner in ast.walk(part) if id(part) not in seen else ():
                if not isinstance(inner, (ast.Name, ast.Attribute)):
                    continue
                name = inner.id if isinstance(inner, ast.Name) else inner.attr
                todo += self.scopes.functions_named(name)
                if isinstance(inner, ast.Name) and part is not node:
                    found.setdefault(name, inner)
            seen.add(id(part))
        return found

    def assigned(self, name: str) -> ast.AST | None:
        """A top-level statement that assigns an attribute of something."""
        stored = (n for n in self.scopes.attributes.get(name, ()) if isinstance(n.ctx, _STORED))
        return next((n for n in stored if self.scopes.function_of(n) is None), None)

    def _assigned(self, node: ast.AST, parent: ast.AST, sort: Sort, depth: int) -> Found:
        targets = getattr(parent, "targets", None) or [getattr(parent, "target", None)]
        found = NOTHING
        for target in targets:
            found = worst(found, self._bound(node, target, sort, depth))
        if isinstance(parent, ast.NamedExpr):
            found = worst(found, self.use(parent, sort, depth))
        return found

    def _bound(self, node: ast.AST, target: ast.AST | None, sort: Sort, depth: int) -> Found:
        """What is done under another name."""
        if isinstance(target, ast.Starred):
            return self._bound(node, target.value, sort.held, depth)
        if isinstance(target, (ast.Tuple, ast.List)):
            if sort.flat or sort.acting:
                return self.looked(node, sort)
            parts = [self._bound(node, t, sort.inside, depth) for t in target.elts]
            return max(parts, key=lambda part: part[0], default=NOTHING)
        if not isinstance(target, ast.Name):
            return ESCAPE, node
        scope = self.scopes.scope_of(target)
        found = self.variable(scope, target.id, sort, depth)
        if self.scopes.is_in_class(target):
            for each in self.scopes.attributes.get(target.id, ()):
                found = worst(found, self.use(each, sort, depth))
        return (ESCAPE, found[1]) if found[0] and scope is None else found

    def _augmented(self, node: ast.AST, parent: ast.AST, sort: Sort, depth: int) -> Found:
        return NOTHING if sort.flat and not sort.acting else (ESCAPE, node)

    def _iterated(self, node: ast.AST, parent: ast.AST, sort: Sort, depth: int) -> Found:
        assert isinstance(parent, (ast.For, ast.comprehension))
        if node is not parent.iter:
            return self.looked(node, sort)
        if sort.acting:
            return ESCAPE, node
        return NOTHING if sort.flat else self._bound(node, parent.target, sort.inside, depth)

    def variable(self, scope: ast.AST | None, name: str, sort: Sort, depth: int) -> Found:
        """What is done to the value of a variable of a function, or of the module."""
        key = (id(scope), name, sort)
        if key in self._known:
            return self._known[key]
        if key in self._busy:
            return NOTHING
        self._busy.add(key)
        try:
            found = NOTHING
            augmented = self.augmenting(scope, name)
            if augmented is not None and not sort.fresh:
                found = (CHANGE, augmented)
            for node in self.scopes.names_in(scope, name):
                if found[0] == ESCAPE:
                    break
                found = worst(found, self.use(node, sort, depth))
        finally:
            self._busy.discard(key)
        if not self._busy:
            self._known[key] = found
        return found

    def augmenting(self, scope: ast.AST | None, name: str) -> ast.AST | None:
        """Where what a variable holds is changed by ``+=`` and its kin."""
        return self.scopes.augmenting(scope, name)

    def _default(self, node: ast.AST, parent: ast.AST, sort: Sort, depth: int) -> Found:
        """It is what a parameter is without an argument."""
        assert isinstance(parent, ast.arguments)
        plain = [*parent.posonlyargs, *parent.args]
        pairs = [*zip(plain[len(plain) - len(parent.defaults) :], parent.defaults, strict=True)]
        pairs += [(a, d) for a, d in zip(parent.kwonlyargs, parent.kw_defaults, strict=True) if d]
        name = next((a.arg for a, d in pairs if d is node), None)
        function = self.scopes.parent(parent)
        if name is None or function is None:
            return ESCAPE, node
        return self.variable(function, name, sort, depth)

    def _returned(self, node: ast.AST, parent: ast.AST, sort: Sort, depth: int) -> Found:
        function = self.scopes.function_of(parent)
        if not isinstance(function, FUNCTIONS):
            return ESCAPE, node
        key = (id(function), "return", sort)
        if key in self._busy:
            return NOTHING
        self._busy.add(key)
        try:
            return self._results(function, sort, depth)
        finally:
            self._busy.discard(key)

    def _results(self, function: ast.AST, sort: Sort, depth: int) -> Found:
        """What is done to what calls of a function give."""
        found = NOTHING
        for mention in self.scopes.mentions(function):
            call = self.scopes.parent(mention)
            if not isinstance(call, ast.Call) or call.func is not mention:
                if self.scopes.is_read_property(mention, function):
                    call = mention
                else:
                    return ESCAPE, mention
            found = worst(found, self.use(call, sort, depth))
        return found


def _is_dictionary(node: ast.AST) -> bool:
    """Whether an expression may be a module, or the dictionary of its names, got at run time."""
    if isinstance(node, ast.Subscript):
        last = getattr(node.value, "attr", getattr(node.value, "id", ""))
        return last == "modules" or is_globals(node)
    return is_globals(node)


def _runs_text_of(node: ast.AST, name: str) -> bool:
    """Whether a call runs a text that may have a name in it."""
    if not isinstance(node, ast.Call) or getattr(node.func, "id", "") not in ("exec", "eval"):
        return False
    text = node.args[0] if node.args else None
    return not isinstance(text, ast.Constant) or name in str(text.value)
