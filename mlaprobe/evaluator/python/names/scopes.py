"""Where the names of a module stand: in which function, and as which variable."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence
from functools import cached_property

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (*FUNCTIONS, ast.Lambda)
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Scopes:
    """The nodes of a module with those around them."""

    def __init__(self, body: Sequence[ast.stmt]) -> None:
        self._parents: dict[int, ast.AST] = {}
        self._names: dict[str, list[ast.Name]] = {}
        self._functions: dict[str, list[Function]] = {}
        self._classes: dict[str, list[ast.ClassDef]] = {}
        self._bound: dict[int, set[str]] = {}
        self.attributes: dict[str, list[ast.Attribute]] = {}
        """Reads and writes of attributes, by name."""
        self.methods: dict[str, list[Function]] = {}
        """Functions in classes, by name."""
        self._all: list[ast.AST] = list(body)
        for node in self._all:
            self._note(node)
            for child in ast.iter_child_nodes(node):
                if not isinstance(child, (ast.expr_context, ast.operator, ast.cmpop)):
                    self._parents[id(child)] = node
                    self._all.append(child)

    def _note(self, node: ast.AST) -> None:
        if isinstance(node, ast.Name):
            self._names.setdefault(node.id, []).append(node)
        elif isinstance(node, ast.Attribute):
            self.attributes.setdefault(node.attr, []).append(node)
        elif isinstance(node, FUNCTIONS):
            inside = isinstance(self.parent(node), ast.ClassDef)
            where = self.methods if inside else self._functions
            where.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.ClassDef):
            self._classes.setdefault(node.name, []).append(node)

    # --- around ---

    def parent(self, node: ast.AST) -> ast.AST | None:
        """The node around another; nothing around a statement of the module."""
        return self._parents.get(id(node))

    @cached_property
    def functions(self) -> list[Function]:
        """All functions, methods and those in functions among them."""
        found = (*self._functions.values(), *self.methods.values())
        return [node for each in found for node in each]

    @cached_property
    def class_statements(self) -> list[ast.ClassDef]:
        """All classes, those in functions among them."""
        return [node for found in self._classes.values() for node in found]

    def globals_named(self, name: str) -> list[ast.AST]:
        """Where functions say that they rebind a top-level name."""
        return [n for n in self._all if isinstance(n, ast.Global) and name in n.names]

    @cached_property
    def texts(self) -> dict[str, list[ast.AST]]:
        """Where the module has texts, which may name attributes."""
        found: dict[str, list[ast.AST]] = {}
        for node in self._all:
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.setdefault(node.value, []).append(node)
        return found

    def mentions_of(self, name: str) -> list[ast.AST]:
        """Where something of a name is read, as a variable or as an attribute."""
        nodes: list[ast.Name | ast.Attribute] = [*self._names.get(name, ())]
        nodes += self.attributes.get(name, ())
        return [node for node in nodes if isinstance(node.ctx, ast.Load)]

    @cached_property
    def calls_and_items(self) -> list[ast.AST]:
        """Calls, subscripts and attributes: what may give the dictionary of a module's names."""
        kinds = (ast.Call, ast.Subscript, ast.Attribute)
        return [node for node in self._all if isinstance(node, kinds)]

    def statement(self, node: ast.AST) -> ast.stmt:
        """The statement of the module that a node is in."""
        around = self.parent(node)
        while around is not None:
            node, around = around, self.parent(around)
        assert isinstance(node, ast.stmt)
        return node

    def is_given_in_class(self, node: ast.AST) -> bool:
        """Whether a name in the body of a class is given to another there."""
        parent = self.parent(node)
        return isinstance(parent, (ast.Assign, ast.AnnAssign)) and self.is_in_class(parent)

    def is_in_class(self, node: ast.AST) -> bool:
        """Whether code stands in the body of a class, in no function there."""
        child, around = node, self.parent(node)
        while around is not None and not isinstance(around, ast.ClassDef):
            if isinstance(around, _SCOPES) and _is_body(around, child):
                return False
            child, around = around, self.parent(around)
        return around is not None and child not in (*around.bases, *around.decorator_list)

    def function_of(self, node: ast.AST) -> ast.AST | None:
        """The function or lambda that the code of a node runs in: decorators, defaults and class
        bodies run outside."""
        child, around = node, self.parent(node)
        while around is not None:
            if isinstance(around, _SCOPES) and _is_body(around, child):
                return around
            child, around = around, self.parent(around)
        return None

    def scope_of(self, node: ast.Name) -> ast.AST | None:
        """The function that a name is a variable of; ``None``: the module."""
        around = self.function_of(node)
        while around is not None:
            if node.id in self._variables(around):
                return around
            around = self.function_of(around)
        return None

    def _variables(self, function: ast.AST) -> set[str]:
        found = self._bound.get(id(function))
        if found is None:
            found = self._bound[id(function)] = _bound_in(function)
        return found

    # --- names ---

    def of_module(self, name: str) -> Iterator[ast.Name]:
        """Where the value of a top-level name is read."""
        return self.names_in(None, name)

    def names_in(self, scope: ast.AST | None, name: str) -> Iterator[ast.Name]:
        """Where a variable of a function, or of the module, is read."""
        for node in self._names.get(name, ()):
            if isinstance(node.ctx, ast.Load) and self.scope_of(node) is scope:
                yield node

    def augmenting(self, scope: ast.AST | None, name: str) -> ast.AST | None:
        """Where what a variable holds is changed by ``+=`` and its kin."""
        for node in self._names.get(name, ()):
            parent = self.parent(node)
            augmented = isinstance(parent, ast.AugAssign) and parent.target is node
            if augmented and self.scope_of(node) is scope:
                return parent
        return None

    def functions_named(self, name: str) -> list[ast.AST]:
        """Functions and methods of a name, and lambdas that are bound to it."""
        bound = (self.parent(n) for n in self._names.get(name, ()) if isinstance(n.ctx, ast.Store))
        values = (getattr(node, "value", None) for node in bound)
        lambdas = [value for value in values if isinstance(value, ast.Lambda)]
        return [*self._functions.get(name, ()), *self.methods.get(name, ()), *lambdas]

    def is_local(self, node: ast.Name) -> bool:
        """Whether a name is a variable of a function."""
        return self.scope_of(node) is not None

    def binds(self, name: str) -> bool:
        """Whether the module binds a name anywhere."""
        stored = any(not isinstance(n.ctx, ast.Load) for n in self._names.get(name, ()))
        return stored or name in self._functions or name in self._classes

    # --- functions and classes ---

    def function(self, name: str) -> Function | None:
        """The one function of a name, where that is bound to nothing else."""
        found = self._functions.get(name, [])
        stored = any(not isinstance(n.ctx, ast.Load) for n in self._names.get(name, ()))
        one = len(found) == 1 and not stored and name not in self._classes
        return found[0] if one and not found[0].decorator_list else None

    def mentions(self, function: ast.AST) -> Iterator[ast.AST]:
        """Where a function is named."""
        assert isinstance(function, FUNCTIONS)
        if isinstance(self.parent(function), ast.ClassDef):
            yield from self.attributes.get(function.name, ())
        yield from self._names.get(function.name, ())
        if function.decorator_list and not _is_kind(function, _PROPERTIES | {"staticmethod"}):
            yield function

    def is_property(self, name: str) -> bool:
        """Whether the methods of a name are run when the attribute is read."""
        return all(_is_kind(f, _PROPERTIES) for f in self.methods[name])

    def is_read_property(self, mention: ast.AST, function: ast.AST) -> bool:
        """Whether a mention of a method is a read of the property that it is."""
        return isinstance(mention, ast.Attribute) and _is_kind(function, _PROPERTIES)

    def is_of_class(self, function: Function) -> bool:
        """Whether a method gets its class."""
        return _is_kind(function, {"classmethod"})

    def is_static(self, function: Function) -> bool:
        """Whether a method does not get its object."""
        return _is_kind(function, {"staticmethod"})

    def is_class(self, node: ast.AST) -> bool:
        """Whether an expression names a class, whose methods take their object by hand."""
        own = isinstance(node, ast.Name) and node.id in self._classes
        return own or (isinstance(node, ast.Name) and isinstance(vars(builtins).get(node.id), type))

    def makes_fields(self, name: str) -> bool:
        """Whether a class only keeps what it is made of: a dataclass or a named tuple."""
        classes = self._classes.get(name, [])
        return len(classes) == 1 and self._keeps(classes[0])

    def _keeps(self, node: ast.ClassDef) -> bool:
        names = {_last(d) for d in (*node.decorator_list, *node.bases)}
        own = {s.name for s in node.body if isinstance(s, FUNCTIONS)}
        plain = names <= {"dataclass", "NamedTuple", "Generic", "Protocol"} and names
        return bool(plain) and own.isdisjoint(_MAKERS)


_PROPERTIES = {"property", "cached_property"}
_MAKERS = {"__init__", "__post_init__", "__new__", "__setattr__"}


def _last(node: ast.expr) -> str:
    inner = node.func if isinstance(node, ast.Call) else node
    inner = inner.value if isinstance(inner, ast.Subscript) else inner
    return getattr(inner, "attr", getattr(inner, "id", "?"))


def _is_kind(function: ast.AST, kinds: set[str]) -> bool:
    decorators = getattr(function, "decorator_list", [])
    return bool(decorators) and all(_last(d) in kinds for d in decorators)


def _is_body(function: ast.AST, child: ast.AST) -> bool:
    if isinstance(function, ast.Lambda):
        return child is function.body
    return any(child is stmt for stmt in getattr(function, "body", ()))


def _bound_in(function: ast.AST) -> set[str]:
    """The variables of a function or lambda."""
    arguments = getattr(function, "args", None)
    found: set[str] = set()
    for arg in ast.walk(arguments) if isinstance(arguments, ast.arguments) else ():
        if isinstance(arg, ast.arg):
            found.add(arg.arg)
    outer: set[str] = set()
    body = getattr(function, "body", [])
    todo: list[ast.AST] = list(body) if isinstance(body, list) else [body]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            outer.update(node.names)
        elif isinstance(node, ast.alias):
            found.add(node.asname or node.name.split(".")[0])
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            found.add(node.name)
        elif isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            found.add(node.name)
            continue
        if not isinstance(node, ast.Lambda):
            todo += ast.iter_child_nodes(node)
    return found - outer
