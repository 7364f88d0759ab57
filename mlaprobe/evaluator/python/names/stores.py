"""What a module's code sets of other modules: names, what these hold, and modules that it gives
to code which may set any name of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mlaprobe.evaluator.python.names.lookups import Lookups, is_handed_on
from mlaprobe.evaluator.python.names.writing import CHANGES

if TYPE_CHECKING:
    from mlaprobe.evaluator.python.module import PyModule
    from mlaprobe.evaluator.python.names.chain import Chain

ANY = "*"
"""Stands for names, or modules, that the text does not tell."""
_LOAD = ast.Load()
CONTENT = ""
"""Stands for what a value holds."""
_GLOBALS = "__globals__"
_READS = {"getattr", "hasattr", "setattr", "delattr", "isinstance", "print", "dir", "id", "type"}


class Stores:
    """The code of one module."""

    def __init__(self, chain: Chain, module: PyModule) -> None:
        self._chain = chain
        self._module = module
        self._nodes = [(s, n) for s in module.index.body for n in ast.walk(s)]
        self._known = {name: set(found) for name, found in chain.bound(module).items()}
        self._lookups = Lookups(node for _, node in self._nodes)
        self._alias()

    def _alias(self) -> None:
        """Follows names that are given the value of others."""
        given = [n for _, n in self._nodes if isinstance(n, (ast.Assign, ast.NamedExpr))]
        size = -1
        while size != (size := sum(map(len, self._known.values()))):
            for node in given:
                meant = self._dotted(node.value)
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets if meant else ():
                    if isinstance(target, ast.Name):
                        self._known.setdefault(target.id, set()).update(meant)

    def __iter__(self) -> Iterator[tuple[str, str, ast.stmt]]:
        """Other modules, the names that are set or whose values are changed, the statements."""
        for stmt, node in self._nodes:
            for base, name in (*_targets(node), *_by_text(node)):
                for module, of in self._owners(base):
                    if name == _GLOBALS:
                        yield module, ANY, stmt
                    elif of or name != CONTENT:
                        yield module, of or name, stmt
            through = _written_through(node)
            if through is None or not self._is_handed_on(node):
                continue
            for module, of in self._owners(through):
                if not of:
                    yield module, ANY, stmt

    def _parent(self, node: ast.AST | None) -> ast.AST | None:
        return None if node is None else self._module.index.scopes.parent(node)

    def _is_handed_on(self, node: ast.AST) -> bool:
        """Whether a module's dictionary of names, or its ``__setattr__``, goes where it is not
        followed."""
        parent = self._parent(node)
        around = self._parent(parent)
        if isinstance(node, ast.Attribute) and node.attr != "__dict__":
            return not (isinstance(parent, ast.Call) and parent.func is node)
        if isinstance(parent, ast.Subscript) and parent.value is node:
            return _constant(parent.slice) == ANY and isinstance(parent.ctx, ast.Load)
        if isinstance(parent, ast.Attribute):
            called = isinstance(around, ast.Call) and around.func is parent
            return not (called and parent.attr in (*CHANGES, "keys"))
        looked = isinstance(parent, ast.Call) and _reads(parent)
        return not (looked or isinstance(parent, (ast.Compare, ast.Expr)))

    def given(self) -> Iterator[tuple[str, ast.stmt]]:
        """Other modules that go where they are not followed, and the statements."""
        for stmt, node in self._escaping():
            for module, of in self._owners(node) if self._is_module(node) else ():
                if not of:
                    yield module, stmt
        for stmt, part in self._nodes:
            handed_on = self._lookups.is_list(part) and not self._is_looked_into(part)
            if handed_on or is_handed_on(part, self._parent(part)):
                yield ANY, stmt

    def _is_module(self, node: ast.expr) -> bool:
        """Whether an expression is more likely a module than one of its names: what is got of one
        by a computed name is not."""
        return not any(found.endswith(f".{ANY}") for found in self._dotted(node))

    def _is_looked_into(self, node: ast.AST) -> bool:
        """Whether one module is got of the list of all, or only its name is looked for."""
        parent = self._parent(node)
        if isinstance(parent, ast.Attribute):
            return parent.attr in ("get", "keys", "pop", "setdefault", "update")
        return isinstance(parent, (ast.Subscript, ast.Compare))

    def meaning(self, module: str, name: str) -> Iterator[ast.expr]:
        """The expressions that are read and stand for the value of a name of another module."""
        for _, node in self._nodes:
            read = isinstance(getattr(node, "ctx", None), ast.Load)
            if read and isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
                yield from (node for owner in self._owners(node) if owner == (module, name))
            elif isinstance(node, ast.Call) and (module, name) in self._owners(node):
                yield node

    def _owners(self, node: ast.expr) -> Iterator[tuple[str, str]]:
        for dotted in self._dotted(node):
            _, computed, rest = f".{dotted}.".partition(f".{ANY}.")
            found = {(ANY, rest.split(".")[0])} if computed else self._chain.owners(dotted)
            yield from (owner for owner in found if owner[0] != self._module.dotted)

    def _dotted(self, node: ast.expr) -> set[str]:
        """The dotted names that an expression may stand for."""
        if isinstance(node, ast.Name):
            if node.id not in self._known:
                own = any(node.id in names.bound for names in self._module.index.names)
                found = set() if own else self._chain.of_star(self._module, node.id)
                self._known[node.id] = found
            return self._known[node.id]
        if isinstance(node, ast.Attribute):
            return {f"{found}.{node.attr}" for found in self._dotted(node.value)}
        if isinstance(node, ast.Subscript):
            if _ends(node.value, "modules", *self._lookups.lists):
                return self._named(node.slice)
            base, key = _dictionary(node.value), _constant(node.slice)
            found = self._dotted(base) if base is not None and key != ANY else set()
            return {f"{each}.{key}" for each in found}
        if isinstance(node, ast.Call) and node.args:
            if _ends(node.func, *self._lookups.importers):
                # __import__ gives the package of what it is told.
                found = self._named(node.args[0])
                return found | {each.split(".")[0] for each in found}
            if _ends(node.func, "getattr") and len(node.args) > 1:
                name = _constant(node.args[1])
                return {f"{found}.{name}" for found in self._dotted(node.args[0])}
            by_name = isinstance(node.func, ast.Attribute) and node.func.attr == "get"
            if by_name and _ends(
                getattr(node.func, "value", node), "modules", *self._lookups.lists
            ):
                return self._named(node.args[0])
        return set()

    def _named(self, node: ast.expr) -> set[str]:
        """The module of that name."""
        if isinstance(node, ast.Name) and node.id == "__name__":
            return {self._module.dotted}
        name = _constant(node)
        return {ANY if name.startswith(".") else name}

    def _escaping(self) -> Iterator[tuple[ast.stmt, ast.expr]]:
        """Expressions whose values go where they are not followed."""
        kept: set[int] = set()
        classes = [n for _, n in self._nodes if isinstance(n, ast.ClassDef)]
        of_classes = {
            id(part) for n in classes for part in _body_of(n) if isinstance(part, ast.Assign)
        }
        for _, node in self._nodes:
            if id(node) in of_classes:
                continue
            if (
                (isinstance(node, ast.Attribute) and node.attr != "__dict__")
                or (isinstance(node, ast.Assign) and all(map(_is_name, node.targets)))
                or isinstance(node, (ast.NamedExpr, ast.Expr))
            ):
                kept.add(id(node.value))
            elif isinstance(node, ast.Call) and _reads(node):
                kept.update(map(id, node.args[:1]))
            elif isinstance(node, ast.Compare):
                kept.update(map(id, (node.left, *node.comparators)))
        for stmt, node in self._nodes:
            if not isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
                continue
            if id(node) not in kept and isinstance(getattr(node, "ctx", _LOAD), ast.Load):
                yield stmt, node


def stored_names(module: PyModule) -> frozenset[str]:
    """Attributes of what is not known that a module may set, or whose values it may change."""
    nodes = [node for stmt in module.index.body for node in ast.walk(stmt)]
    named: dict[str, set[str]] = {}
    for name, attribute in (pair for node in nodes for pair in _named_attributes(node)):
        named.setdefault(name, set()).add(attribute)
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    found: set[str] = set()
    if any(_sets(node) and id(node) not in called for node in nodes):
        found.add(ANY)
    for base, stored in (target for node in nodes for target in _targets(node)):
        found.update(_of_anything(base, stored))
        if stored == CONTENT and isinstance(base, ast.Name):
            found |= named.get(base.id, set())
    return frozenset(found)


def _body_of(node: ast.ClassDef) -> Iterator[ast.AST]:
    """The statements of a class, those of its methods left out."""
    todo: list[ast.AST] = [*node.body]
    while todo:
        part = todo.pop()
        yield part
        if not isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)):
            todo += [n for n in ast.iter_child_nodes(part) if isinstance(n, ast.stmt)]


def _sets(node: ast.AST) -> bool:
    """Whether it is Python's function that sets any attribute."""
    return isinstance(node, ast.Name) and node.id in ("setattr", "delattr")


def _named_attributes(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Names that get the value of an attribute of something."""
    if isinstance(node, (ast.Assign, ast.NamedExpr)) and isinstance(node.value, ast.Attribute):
        for target in node.targets if isinstance(node, ast.Assign) else (node.target,):
            if isinstance(target, ast.Name):
                yield target.id, node.value.attr


def is_given(parent: ast.AST | None, node: ast.AST) -> bool:
    """Whether a class goes where it is not followed: it is neither called nor looked into, nor
    compared, nor what something is an instance of."""
    if isinstance(parent, ast.Call):
        return parent.func is not node and not _reads(parent)
    read = (ast.Attribute, ast.Compare, ast.Expr, ast.arg, ast.AnnAssign, ast.ExceptHandler)
    annotated = isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef))
    return not (annotated or isinstance(parent, read))


def named_by(parent: ast.AST | None, node: ast.AST) -> set[str]:
    """Names that get a value where it stands."""
    if isinstance(parent, ast.Assign) and parent.value is node:
        return {target.id for target in parent.targets if isinstance(target, ast.Name)}
    if not isinstance(parent, (ast.NamedExpr, ast.AnnAssign)):
        return set()
    return {parent.target.id} if isinstance(parent.target, ast.Name) else set()


def _of_anything(base: ast.expr, stored: str) -> Iterator[str]:
    """The attribute that is set of something other than an object's own."""
    if stored == CONTENT and isinstance(base, ast.Attribute):
        stored, base = base.attr, base.value
    own = isinstance(base, ast.Name) and base.id in ("self", "cls")
    if stored != CONTENT and not own:
        yield ANY if stored == _GLOBALS else stored


def _targets(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """Of what a piece of code sets an attribute, and which, or changes the content."""
    if isinstance(node, ast.Attribute) and node.attr == _GLOBALS:
        yield node.value, _GLOBALS
    elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
        yield node.value, node.attr
    elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        if _ends(node.value, "modules") and _constant(node.slice) != ANY:
            yield node, ANY
        owner = _dictionary(node.value)
        yield (node.value, CONTENT) if owner is None else (owner, _constant(node.slice))
    elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        yield node.target, CONTENT
    elif isinstance(node, ast.Call) and node.args and _ends(node.func, "setattr", "delattr"):
        yield node.args[0], _constant(node.args[1] if len(node.args) > 1 else None)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in ("__setattr__", "__delattr__"):
            yield node.func.value, _constant(node.args[0] if node.args else None)
        elif node.func.attr in CHANGES:
            owner = _dictionary(node.func.value)
            yield (node.func.value, CONTENT) if owner is None else (owner, ANY)


def _by_text(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """What a call is given together with the name of an attribute: as ``mock.patch.object`` has it,
    it may be set."""
    if isinstance(node, ast.Call) and len(node.args) > 1 and not _reads(node):
        name = _constant(node.args[1])
        if name != ANY:
            yield node.args[0], name


def _reads(call: ast.Call) -> bool:
    """Whether a call leaves its first argument as it is."""
    return isinstance(call.func, ast.Name) and call.func.id in _READS


def _written_through(node: ast.AST) -> ast.expr | None:
    """The module that may be written through an expression: its dictionary of names, or the method
    that sets them."""
    if isinstance(node, ast.Attribute) and node.attr in ("__setattr__", "__delattr__"):
        return node.value
    return _dictionary(node) if isinstance(node, ast.expr) else None


def _dictionary(node: ast.expr) -> ast.expr | None:
    """The module whose dictionary of names an expression is."""
    if isinstance(node, ast.Attribute) and node.attr == "__dict__":
        return node.value
    if isinstance(node, ast.Call) and _ends(node.func, "vars") and node.args:
        return node.args[0]
    return None


def _constant(node: ast.expr | None) -> str:
    text = node.value if isinstance(node, ast.Constant) else None
    return text if isinstance(text, str) else ANY


def _ends(node: ast.expr, *names: str) -> bool:
    """Whether a name, or an attribute, is one of some."""
    return (isinstance(node, ast.Name) and node.id in names) or (
        isinstance(node, ast.Attribute) and node.attr in names
    )


def _is_name(node: ast.expr) -> bool:
    return isinstance(node, ast.Name)
