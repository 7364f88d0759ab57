"""What the code of a module may do to the value of one of its names, by how the text uses it.

Every place where a name is read is followed: what is only looked at stays as it is; what is given
to a function of the module, bound to another name, put into something or returned is followed from
there. What goes where the text does not show what happens to it may be changed there.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mlaprobe.evaluator.python.names.calling import (
    APPLYING,
    LOOKING,
    READERS,
    RETURNING,
    SHOWING,
    SHOWN,
    argument_of,
    parameter_at,
)
from mlaprobe.evaluator.python.names.scopes import FUNCTIONS, Scopes
from mlaprobe.evaluator.python.place import is_globals

if TYPE_CHECKING:
    from mlaprobe.evaluator.python.index import Index

READ, CHANGE, ESCAPE = range(3)
Found = tuple[int, ast.AST | None]
"""The worst that is done to a value, and where."""
NOTHING: Found = (READ, None)
_DEPTH = 24


_MOST = 9
"""Stands for any number of levels."""


@dataclass(frozen=True, slots=True)
class Sort:
    """What a value is like, as far as it matters to what may change it."""

    levels: int = _MOST
    """How many values that can be changed are inside one another, itself among them."""
    fresh: int = 0
    """How many new containers are around it: what is done to these does nothing to it."""
    acting: bool = False
    """Whether looking at it runs methods of the source that change something."""
    grows: bool = False
    """Whether a look-up makes what is missing."""
    plain: bool = False
    """Whether no objects of classes of the source are in it: what is a key cannot be changed."""
    keys: frozenset[object] = frozenset()
    """The keys that it has."""

    @property
    def flat(self) -> bool:
        """Whether nothing that it holds can be changed."""
        return self.levels <= 1 and not self.fresh

    @property
    def inside(self) -> Sort:
        """Something that the value holds."""
        if self.fresh:
            return replace(self, fresh=self.fresh - 1)
        levels = self.levels if self.levels == _MOST else self.levels - 1
        return Sort(levels=levels, acting=self.acting, plain=self.plain)

    @property
    def held(self) -> Sort:
        """The value in a new container."""
        return replace(self, fresh=self.fresh + 1)


INSIDE = Sort()
"""Something of which nothing is known."""


class Uses:
    """The uses of values in one module."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.scopes = Scopes(index.body)
        self._busy: set[tuple[object, ...]] = set()
        self._known: dict[tuple[object, ...], Found] = {}

    # --- what is asked ---

    def of_name(self, name: str, sort: Sort) -> ast.AST | None:
        """A place where the value of a top-level name may be changed, other than the top-level
        statements that do so by this name."""
        nodes = [*self.scopes.of_module(name)]
        if sort.grows and all(self._looks_up(node) or self._seen(node, name) for node in nodes):
            sort = replace(sort, grows=False)
        for node in nodes:
            kind, where = self._use(node, sort, 0)
            if kind == ESCAPE or (kind == CHANGE and not self._seen(node, name)):
                return where or node
        return next(self._by_text(name, sort.inside), None)

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
        """Where what a module's dictionary of names gives for a text may be changed."""
        for node in self.scopes.calls_and_items if self.index.has_dictionaries else ():
            parent = self.scopes.parent(node) if is_globals(node) else None
            if isinstance(parent, ast.Subscript) and parent.value is node:
                key = parent.slice
                if isinstance(key, ast.Constant) and key.value != name:
                    continue
                if isinstance(parent.ctx, ast.Load) and self._use(parent, sort, 0)[0] > READ:
                    yield parent
            elif parent is not None and self._use(node, sort, 0)[0] == ESCAPE:
                yield node

    def of_attribute(self, name: str, sort: Sort) -> ast.AST | None:
        """A place where the value of an attribute, of whatever object, may be changed."""
        for node in self.scopes.attributes.get(name, ()):
            kind, where = self._use(node, sort, 0) if isinstance(node.ctx, ast.Load) else NOTHING
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

    @property
    def acts(self) -> bool:
        """Whether an operator or a built-in function may run a method that changes its object."""
        return any(
            self._method(name, 0)[0] > READ
            for name in self.scopes.methods
            if name.startswith("__") and name not in _AT_BIRTH
        )

    # --- one use ---

    def _use(self, node: ast.AST, sort: Sort, depth: int) -> Found:
        """What is done to the value of an expression where it stands."""
        if depth > _DEPTH:
            return ESCAPE, node
        parent = self.scopes.parent(node)
        rule = _RULES.get(type(parent))
        if rule is None:
            harmless = isinstance(parent, _HARMLESS)
            return self._looked(node, sort) if harmless else (ESCAPE, node)
        return rule(self, node, parent, sort, depth + 1)

    def _looked(self, node: ast.AST, sort: Sort) -> Found:
        return (ESCAPE, node) if sort.acting else NOTHING

    def _part(self, node: ast.AST, whole: ast.AST, sort: Sort, depth: int) -> Found:
        """``whole`` gives something that the value of ``node`` holds."""
        return worst(self._looked(node, sort), self._out_of(whole, sort, depth))

    def _out_of(self, whole: ast.AST, sort: Sort, depth: int, fresh: int = 0) -> Found:
        """What is done to what a value holds, with so many new containers around it."""
        if sort.flat:
            return NOTHING
        inside = sort.inside
        return self._use(whole, replace(inside, fresh=inside.fresh + fresh), depth)

    def _test(self, node: ast.AST, parent: ast.AST, sort: Sort, depth: int) -> Found:
        if node is getattr(parent, "test", None):
            return self._looked(node, sort)
        return self._use(parent, sort, depth)

    def _operand(self, node: ast.AST, parent: ast.AST, sort: Sort, depth: int) -> Found:
        """``and``, ``or``, conditions: the value itself may come out."""
        return worst(self._looked(node, sort), self._use(parent, sort, depth))

    def _binary(self, node: ast.AST, parent: ast.AST, sort: Sort, depth: int) -> Found:
        return worst(self._looked(node, sort), self._out_of(parent, sort, depth, 1))

    def _display(self, node: ast.AST, parent: ast.AST, sort: Sort, depth: int) -> Found:
        """It is put into a list, a tuple, a dict, or what a comprehension makes."""
        if sort.plain and (isinstance(parent, ast.Set) or node is getattr(parent, "key", None)):
            return NOTHING
        return self._use(parent, sort.held, depth)

    def _dict(self, node: ast.AST, parent: ast.AST, sort: Sort, depth: int) -> Found:
        assert isinstance(parent, ast.Dict)
        if sort.plain and any(k is node for k in parent.keys):
            return NOTHING
        spread = any(k is None and v is node for k, v in zip(parent.keys, parent.values, strict=True))
        if spread:
            return self._binary(node, parent, sort, depth)
        return self._use(parent, sort.held, depth)

    def _starred(self, node: ast.AST, parent: ast.AST, sort: Sort, depth: int) -> Found:
        return self._part(node, parent, sort, depth)

    def _subscript(self, node: ast.AST, parent: ast.AST, sort: Sort, depth: int) -> Found:
        assert isinstance(parent, ast.Subscript)
        if node is parent.slice:
            return self._looked(node, sort)
        if not isinstance(parent.ctx, ast.Load):
            return NOTHING if sort.fresh else (CHANGE, node)
        key = parent.slice.value if isinstance(parent.slice, ast.Constant) else None
        if sort.grows and not sort.fresh and (key is None or key not in sort.keys):
            return CHANGE, node
        return self._part(node, parent, sort, depth)

    def _slice(self, node: ast.AST, parent: ast.AST, sort: Sort, depth: int) -> Found:
        return self._looked(node, sort)

    # --- attributes and methods ---

    def _attribute(self, value: ast.AST, node: ast.AST, sort: Sort, depth: int) -> Found:
        """``value.name``."""
        assert isinstance(node, ast.Attribute)
        if not isinstance(node.ctx, ast.Load):
            return NOTHING if sort.fresh else (CHANGE, node)
        parent = self.scopes.parent(node)
        called = isinstance(parent, ast.Call) and parent.func is node
        if node.attr in self.scopes.methods:
            if not called and not self.scopes.is_property(node.attr):
                return ESCAPE, node
            found = self._method(node.attr, depth)
            return worst(found, (CHANGE, node)) if node.attr in _MUTATING else found
        if isinstance(parent, ast.Call) and called:
            return self._python_method(node, parent, sort, depth)
        if node.attr.startswith("__") or node.attr in READERS or node.attr in _MUTATING:
            return ESCAPE, node
        return NOTHING if sort.flat else self._use(node, sort.inside, depth)

    def _python_method(
        self, node: ast.Attribute, call: ast.Call, sort: Sort, depth: int
    ) -> Found:
        """A call of a method of what Python has."""
        if node.attr not in _MUTATING and node.attr not in READERS:
            return ESCAPE, node
        fresh = SHOWN.get(node.attr, 0)
        found = worst(self._looked(node, sort), self._out_of(call, sort, depth, fresh))
        if node.attr in ("keys", "values", "items"):
            found = worst(found, self._use(call, sort, depth))  # a view is the dict itself
        changed = node.attr in _MUTATING and not sort.fresh
        return worst((CHANGE, node), found) if changed else found

    def _method(self, name: str, depth: int) -> Found:
        """What the methods of a name do to their object."""
        found = NOTHING
        for function in self.scopes.methods[name]:
            arguments = [*function.args.posonlyargs, *function.args.args]
            if arguments and not self.scopes.is_static(function):
                found = worst(found, self._variable(function, arguments[0].arg, INSIDE, depth))
        return found

    # --- calls ---

    def _call(self, node: ast.AST, parent: ast.AST, sort: Sort, depth: int) -> Found:
        assert isinstance(parent, ast.Call)
        if node is parent.func:
            return self._called(node, sort, depth)
        name = self._callee(parent)
        if name in LOOKING:
            return self._looked(node, sort)
        if name in SHOWING or name in APPLYING:
            chosen = self._chosen_by(parent, name, depth) if not sort.flat else NOTHING
            found = worst(self._looked(node, sort), chosen)
            return worst(found, self._out_of(parent, sort, depth, SHOWING.get(name, 1)))
        if name in ("setattr", "getattr", "delattr") and node is not parent.args[0]:
            last = name == "setattr" and node is parent.args[-1] and len(parent.args) == 3
            return (ESCAPE, node) if last else self._looked(node, sort)
        if name.partition(".")[0] in RETURNING:
            return self._looked(node, sort)
        if isinstance(parent.func, ast.Name):
            return self._given(node, parent, parent.func.id, sort, depth)
        if isinstance(parent.func, ast.Attribute):
            return self._to_method(node, parent, parent.func, sort, depth)
        return ESCAPE, node

    def _chosen_by(self, call: ast.Call, name: str, depth: int) -> Found:
        """What the function does that such a call gives the parts to."""
        keys = [k.value for k in call.keywords if k.arg == "key"]
        keys += call.args[:1] if name in APPLYING else []
        found = NOTHING
        for key in keys:
            if not isinstance(key, ast.Lambda):
                return ESCAPE, key
            for arg in (*key.args.posonlyargs, *key.args.args):
                found = worst(found, self._variable(key, arg.arg, INSIDE, depth))
        return found

    def _callee(self, call: ast.Call) -> str:
        """The dotted name of what is called, where it is nothing of the module's."""
        name = self.index.canonical(call.func)
        root = name.partition(".")[0]
        own = self.scopes.binds(root) and root not in self.index.aliases
        local = isinstance(call.func, ast.Name) and self.scopes.is_local(call.func)
        return "" if own or local else name

    def _called(self, node: ast.AST, sort: Sort, depth: int) -> Found:
        """The value itself is called."""
        if sort.flat and not sort.acting and "__call__" not in self.scopes.methods:
            return NOTHING
        return worst(
            self._method("__call__", depth) if "__call__" in self.scopes.methods else (ESCAPE, node),
            (ESCAPE, node) if sort.acting else NOTHING,
        )

    def _given(
        self, node: ast.AST, call: ast.Call, name: str, sort: Sort, depth: int
    ) -> Found:
        """It is an argument of a function, or makes an object of a class, of the module."""
        if self.scopes.makes_fields(name):
            return self._use(call, sort.held, depth)
        function = self.scopes.function(name)
        assert isinstance(call.func, ast.Name)
        if function is None or self.scopes.is_local(call.func):
            return ESCAPE, node
        parameter = parameter_at(function, argument_of(call, node), 0)
        if parameter is None:
            return ESCAPE, node
        return self._variable(function, parameter, sort, depth)

    def _to_method(
        self, node: ast.AST, call: ast.Call, func: ast.Attribute, sort: Sort, depth: int
    ) -> Found:
        """It is an argument of a method."""
        if func.attr in self.scopes.methods:
            found = NOTHING
            for function in self.scopes.methods[func.attr]:
                skipped = 0 if self.scopes.is_static(function) else 1
                parameter = parameter_at(function, argument_of(call, node), skipped)
                if parameter is None:
                    return ESCAPE, node
                found = worst(found, self._variable(function, parameter, sort, depth))
            return found
        if func.attr in _TAKING and not self.scopes.is_class(func.value):
            return self._part(node, call, sort, depth) if sort.flat else (ESCAPE, node)
        return ESCAPE, node

    # --- bindings ---

    def _assigned(self, node: ast.AST, parent: ast.AST, sort: Sort, depth: int) -> Found:
        targets = getattr(parent, "targets", None) or [getattr(parent, "target", None)]
        found = NOTHING
        for target in targets:
            found = worst(found, self._bound(node, target, sort, depth))
        if isinstance(parent, ast.NamedExpr):
            found = worst(found, self._use(parent, sort, depth))
        return found

    def _bound(self, node: ast.AST, target: ast.AST | None, sort: Sort, depth: int) -> Found:
        """What is done under another name."""
        if isinstance(target, ast.Starred):
            return self._bound(node, target.value, sort.held, depth)
        if isinstance(target, (ast.Tuple, ast.List)):
            if sort.flat or sort.acting:
                return self._looked(node, sort)
            parts = [self._bound(node, t, sort.inside, depth) for t in target.elts]
            return max(parts, key=lambda part: part[0], default=NOTHING)
        if not isinstance(target, ast.Name):
            return ESCAPE, node
        scope = self.scopes.scope_of(target)
        found = self._variable(scope, target.id, sort, depth)
        return (ESCAPE, found[1]) if found[0] and scope is None else found

    def _augmented(self, node: ast.AST, parent: ast.AST, sort: Sort, depth: int) -> Found:
        return NOTHING if sort.flat and not sort.acting else (ESCAPE, node)

    def _iterated(self, node: ast.AST, parent: ast.AST, sort: Sort, depth: int) -> Found:
        assert isinstance(parent, (ast.For, ast.comprehension))
        if node is not parent.iter:
            return self._looked(node, sort)
        if sort.acting:
            return ESCAPE, node
        return NOTHING if sort.flat else self._bound(node, parent.target, sort.inside, depth)

    def _matched(self, node: ast.AST, parent: ast.AST, sort: Sort, depth: int) -> Found:
        return NOTHING if sort.flat and not sort.acting else (ESCAPE, node)

    def _variable(
        self, scope: ast.AST | None, name: str, sort: Sort, depth: int
    ) -> Found:
        """What is done to the value of a variable of a function, or of the module."""
        key = (id(scope), name, sort)
        if key in self._known:
            return self._known[key]
        if key in self._busy:
            return NOTHING
        self._busy.add(key)
        try:
            found = NOTHING
            augmented = self.scopes.augmenting(scope, name)
            if augmented is not None and not sort.fresh:
                found = (CHANGE, augmented)
            for node in self.scopes.names_in(scope, name):
                if found[0] == ESCAPE:
                    break
                found = worst(found, self._use(node, sort, depth))
        finally:
            self._busy.discard(key)
        if not self._busy:
            self._known[key] = found
        return found

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
        return self._variable(function, name, sort, depth)

    # --- what leaves a function ---

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
            found = worst(found, self._use(call, sort, depth))
        return found


def worst(one: Found, other: Found) -> Found:
    """The worse of two."""
    return one if one[0] >= other[0] else other


_STORED = (ast.Store, ast.Del)
_AT_BIRTH = {"__init__", "__post_init__", "__new__", "__init_subclass__", "__set_name__"}
_AT_BIRTH |= {"__class_getitem__"}
_MUTATING = {"add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove"}
_MUTATING |= {"reverse", "setdefault", "sort", "update", "appendleft", "popleft", "extendleft"}
_MUTATING |= {"rotate", "move_to_end", "subtract", "difference_update", "intersection_update"}
_MUTATING |= {"symmetric_difference_update"}
_TAKING = {"union", "intersection", "difference", "symmetric_difference", "issubset", "issuperset"}
_TAKING |= {"isdisjoint", "join", "fromkeys", "index", "count", "extend", "update", "get"}
"""Methods that only go through what they are given."""
_HARMLESS = (
    ast.Expr,
    ast.Compare,
    ast.UnaryOp,
    ast.If,
    ast.While,
    ast.Assert,
    ast.FormattedValue,
    ast.JoinedStr,
    ast.Delete,
)
Rule = Callable[[Uses, ast.AST, ast.AST, Sort, int], Found]
_RULES: dict[type[ast.AST] | type[None], Rule] = {
    ast.BoolOp: Uses._operand,
    ast.IfExp: Uses._test,
    ast.BinOp: Uses._binary,
    ast.List: Uses._display,
    ast.Tuple: Uses._display,
    ast.Set: Uses._display,
    ast.Dict: Uses._dict,
    ast.ListComp: Uses._display,
    ast.SetComp: Uses._display,
    ast.GeneratorExp: Uses._display,
    ast.DictComp: Uses._display,
    ast.Starred: Uses._starred,
    ast.Subscript: Uses._subscript,
    ast.Slice: Uses._slice,
    ast.Attribute: Uses._attribute,
    ast.Match: Uses._matched,
    ast.Call: Uses._call,
    ast.Assign: Uses._assigned,
    ast.AnnAssign: Uses._assigned,
    ast.NamedExpr: Uses._assigned,
    ast.AugAssign: Uses._augmented,
    ast.For: Uses._iterated,
    ast.comprehension: Uses._iterated,
    ast.arguments: Uses._default,
    ast.Return: Uses._returned,
}


def _keyword(uses: Uses, node: ast.AST, parent: ast.AST, sort: Sort, depth: int) -> Found:
    """A keyword argument: the call decides."""
    call = uses.scopes.parent(parent)
    if not isinstance(call, ast.Call) or getattr(parent, "arg", None) is None:
        return (ESCAPE, node) if not sort.flat else NOTHING
    return uses._call(node, call, sort, depth)


_RULES[ast.keyword] = _keyword


