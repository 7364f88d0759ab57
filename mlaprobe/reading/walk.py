"""Looking through the intermediate form: what a piece of code may write or do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mlaprobe.reading import ir
from mlaprobe.reading.ir import Node

_FIELDS: dict[type, tuple[str, ...]] = {}


def children(node: Node) -> Iterator[Node]:
    """The nodes directly below one."""
    kind = type(node)
    fields = _FIELDS.get(kind)
    if fields is None:
        fields = tuple(f for f in kind.__dataclass_fields__ if f != "span")
        _FIELDS[kind] = fields
    for name in fields:
        yield from _nodes(getattr(node, name))


def _nodes(value: object) -> Iterator[Node]:
    if isinstance(value, Node):
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _nodes(part)


def walk(nodes: Iterable[Node], *, into_functions: bool = True) -> Iterator[Node]:
    """Every node at or below the given ones."""
    stack = list(nodes)[::-1]
    while stack:
        node = stack.pop()
        yield node
        if into_functions or not isinstance(node, (ir.Function, ir.Define)):
            stack.extend(children(node))


def _root(node: Node) -> str | None:
    while isinstance(node, (ir.Attr, ir.Index, ir.Deref, ir.AddressOf)):
        node = node.obj if isinstance(node, (ir.Attr, ir.Index)) else node.value
    return node.id if isinstance(node, ir.Name) else None


def _targets(node: Node) -> Iterator[str]:
    if isinstance(node, ir.Sequence):
        for item in node.items:
            yield from _targets(item)
    elif isinstance(node, ir.Star):
        yield from _targets(node.value)
    else:
        name = _root(node)
        if name is not None:
            yield name


def written_names(
    body: Iterable[Node], *, through_pointers: bool = True, references: bool = False
) -> set[str]:
    """Names of variables that a piece of code may write, also through members and pointers.

    Without ``through_pointers`` a pointer that is taken and no more does not count. With
    ``references`` (C++) every call may write the variables that are its arguments.
    """
    names: set[str] = set()
    for node in walk(body):
        if isinstance(node, ir.AssignExpr):
            names.update(_targets(node.target))
        elif isinstance(node, ir.Assign):
            for target in node.targets:
                names.update(_targets(target))
        elif isinstance(node, ir.AddressOf) and through_pointers:
            names.update(_targets(node.value))
        elif isinstance(node, ir.ExprStmt) and isinstance(node.value, ir.Call):
            names.update(_by_call(node.value))
        elif isinstance(node, ir.Call) and references and not _library(node.func):
            names.update(_arguments(node))
        elif isinstance(node, (ir.Opaque, ir.OpaqueStmt)):
            names.update(node.writes)
        elif isinstance(node, ir.ForEach):
            names.update(_targets(node.target))
    return names


def _by_call(node: ir.Call) -> Iterator[str]:
    """A call made for its own sake may change the object whose method it is, and its arguments."""
    if isinstance(node.func, ir.Attr):
        yield from _targets(node.func.obj)
    yield from _arguments(node)


def _library(callee: Node) -> bool:
    """Whether a function takes what it is given by value or as a constant."""
    return isinstance(callee, ir.Name) and callee.id in _READING


_READING = {f"std::{n}" for n in ("min", "max", "abs", "size", "to_string", "move", "get", "ceil")}
_READING |= {"min", "max", "abs", "strcmp", "std::strcmp", "getenv", "std::getenv", "std::atoi"}


def _arguments(node: ir.Call) -> Iterator[str]:
    """Variables that a call is given (a C++ reference looks like a value)."""
    for arg in node.args:
        if isinstance(arg, (ir.Name, ir.Attr, ir.Index)):
            yield from _targets(arg)


def assigned_names(body: Iterable[Node]) -> list[str]:
    """Python: the names that a function body binds, in order."""
    names: dict[str, None] = {}
    for node in walk(body, into_functions=False):
        if isinstance(node, ir.Assign):
            for target in node.targets:
                names.update(dict.fromkeys(_bound(target)))
        elif isinstance(node, (ir.AssignExpr, ir.ForEach)):
            names.update(dict.fromkeys(_bound(node.target)))
        elif isinstance(node, ir.Define):
            names[node.function.name] = None
        elif isinstance(node, ir.LocalClass):
            names[node.name] = None
        elif isinstance(node, ir.Import):
            names[node.alias] = None
        elif isinstance(node, ir.OpaqueStmt):
            names.update(dict.fromkeys(node.writes))
        elif isinstance(node, ir.Try):
            names.update(dict.fromkeys(h[1] for h in node.handlers if h[1] is not None))
    return list(names)


def _bound(target: Node) -> Iterator[str]:
    if isinstance(target, ir.Name):
        yield target.id
    elif isinstance(target, ir.Star):
        yield from _bound(target.value)
    elif isinstance(target, ir.Sequence):
        for item in target.items:
            yield from _bound(item)


def declared_names(body: Iterable[Node]) -> set[str]:
    """C++: names that a piece of code declares anywhere inside."""
    names: set[str] = set()
    for node in walk(body):
        if isinstance(node, ir.Decl):
            names.add(node.name)
        elif isinstance(node, ir.Unpack):
            names.update(node.names)
        elif isinstance(node, ir.Param):
            names.add(node.name)
    return names
