"""Looking through the intermediate form: what a piece of code may write or do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from typing import Any

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.ir import Node

_PLAIN = frozenset(("str", "int", "float", "bool", "None", "tuple", "CType", "Span"))
"""What a field may be annotated with that holds no node."""
_WORD = re.compile(r"\w+")


def _holding(kind: type[Node]) -> tuple[str, ...]:
    """The fields of a kind of node that may hold others."""
    return tuple(f.name for f in fields(kind) if not _PLAIN.issuperset(_WORD.findall(str(f.type))))


def _kinds(kind: type[Node]) -> Iterator[type[Node]]:
    yield kind
    for narrower in kind.__subclasses__():
        yield from _kinds(narrower)


_FIELDS = {kind: _holding(kind) for kind in _kinds(Node)}


def children(node: Node) -> list[Node]:
    """The nodes directly below one."""
    found: list[Node] = []
    for name in _FIELDS[type(node)]:
        _collect(getattr(node, name), found)
    return found


def _collect(value: object, found: list[Node]) -> None:
    if isinstance(value, tuple):
        for part in value:
            _collect(part, found)
    elif isinstance(value, Node):
        found.append(value)


def walk(nodes: Iterable[Node], *, into_functions: bool = True) -> Iterator[Node]:
    """Every node at or below the given ones, once: what macros repeat is one node in several
    places."""
    stack = list(nodes)[::-1]
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        if into_functions or not isinstance(node, (ir.Function, ir.Define, ir.Class)):
            stack.extend(children(node))


def is_name(node: Node | None, name: str) -> bool:
    """Whether an expression is a variable of that name."""
    return isinstance(node, ir.Name) and node.id == name


def _root(node: Node) -> str | None:
    while isinstance(node, (ir.Attr, ir.Index, ir.Deref, ir.AddressOf)):
        node = node.obj if isinstance(node, (ir.Attr, ir.Index)) else node.value
    return node.id if isinstance(node, ir.Name) else None


def targets(node: Node) -> Iterator[str]:
    """The variables that something to be written is, or is part of."""
    if isinstance(node, ir.Sequence):
        for item in node.items:
            yield from targets(item)
    elif isinstance(node, ir.Star):
        yield from targets(node.value)
    else:
        name = _root(node)
        if name is not None:
            yield name


def referred(node: Node) -> Iterator[str]:
    """C++: the variables that something may refer to, also what a call gives or one of two."""
    if isinstance(node, ir.Cond):
        yield from (*referred(node.then), *referred(node.orelse))
    elif isinstance(node, ir.Call):
        for arg in node.args:
            yield from referred(arg)
        yield from referred(node.func) if isinstance(node.func, ir.Attr) else ()
    elif isinstance(node, (ir.Attr, ir.Index)):
        yield from referred(node.obj)
    elif isinstance(node, (ir.Deref, ir.AddressOf)):
        yield from referred(node.value)
    else:
        yield from targets(node)


def written_names(
    body: Iterable[Node],
    *,
    through_pointers: bool = True,
    references: bool = False,
    methods: bool = True,
) -> set[str]:
    """Names of variables that a piece of code may write, also through members and pointers.

    Without ``through_pointers`` a pointer that is taken and no more does not count. With
    ``references`` (C++) every call may write the variables that are its arguments, and with
    ``methods`` one that is part of an expression the object whose method it is.
    """
    names: set[str] = set()
    node: Any
    for node in walk(body):
        kind = type(node)
        writes = _WRITES.get(kind)
        if writes is not None:
            names.update(writes(node))
        elif kind is ir.AddressOf and through_pointers:
            names.update(targets(node.value))
        elif kind is ir.Call and references:
            names.update(_by_reference(node, methods))
        elif references and kind in (ir.Decl, ir.Unpack, ir.ForEach):
            names.update(_bound(node))
    return names


def _by_reference(node: ir.Call, methods: bool) -> Iterator[str]:
    """C++: what a call may write, or give access to."""
    func = node.func
    if methods and isinstance(func, ir.Attr) and func.name not in ASKING:
        yield from targets(func.obj)
    if not (isinstance(func, ir.Name) and func.id in READING):
        yield from _arguments(node)


_ASKING = """size empty count contains cbegin cend length c_str has_value value_or starts_with
ends_with compare substr dtype dim stride numel data_ptr scalar_type is_contiguous element_size
device sizes type"""
ASKING = frozenset(_ASKING.split())
"""Methods that change nothing and give no access to what can be changed."""


def _bound(node: Node) -> Iterator[str]:
    """C++: the variables to whose parts a declaration or a loop binds references."""
    if isinstance(node, ir.Decl):
        init = node.init if node.type.ref and not node.type.fixed else None
    elif isinstance(node, ir.Unpack):
        init = node.init if node.ref else None
    else:
        assert isinstance(node, ir.ForEach)
        init = node.iterable if node.ref and writes_target(node) else None
    while isinstance(init, ir.Cast):
        init = init.value
    if init is not None:
        yield from targets(init)
        if isinstance(init, ir.Call):
            yield from _arguments(init)
        if isinstance(init, ir.Cond):
            yield from (*targets(init.then), *targets(init.orelse))


def writes_target(node: ir.ForEach) -> bool:
    """Whether a loop may write the elements that its target refers to."""
    bound = set(bound_names(node.target))
    return bool(bound & written_names(node.body, references=True))


def _by_call(node: ir.Call) -> Iterator[str]:
    """A call made for its own sake may change the object whose method it is, and its arguments."""
    if isinstance(node.func, ir.Attr):
        yield from targets(node.func.obj)
    yield from _arguments(node)


_WRITES: dict[type[Node], Callable[[Any], Iterable[str]]] = {
    ir.AssignExpr: lambda node: referred(node.target),
    ir.Assign: lambda node: (name for target in node.targets for name in targets(target)),
    ir.ExprStmt: lambda node: _by_call(node.value) if isinstance(node.value, ir.Call) else (),
    ir.Opaque: lambda node: node.writes,
    ir.OpaqueStmt: lambda node: node.writes,
    ir.ForEach: lambda node: targets(node.target),
    ir.With: lambda node: () if node.target is None else targets(node.target),
    ir.Remove: lambda node: (name for target in node.targets for name in targets(target)),
}
"""The variables that a kind of node writes in either language."""


def assigned_whole(body: Iterable[Node]) -> set[str]:
    """C++: the variables that a piece of code may assign as a whole."""
    names: set[str] = set()
    for node in walk(body):
        if isinstance(node, ir.AssignExpr):
            parts = node.target.items if isinstance(node.target, ir.Sequence) else (node.target,)
            names.update(part.id for part in parts if isinstance(part, ir.Name))
        elif isinstance(node, (ir.Opaque, ir.OpaqueStmt)):
            names.update(node.writes)
    return names


_BY_VALUE = """min max abs size to_string move get ceil floor round pow sqrt log log2 exp gcd lcm
strlen isnan stoi string string_view vector optional make_pair make_tuple forward"""
READING = {f"std::{name}" for name in _BY_VALUE.split()}
READING |= {"min", "max", "abs", "strcmp", "std::strcmp", "getenv", "std::getenv", "std::atoi"}
"""Functions that take what they are given by value or as a constant."""


def _arguments(node: ir.Call) -> Iterator[str]:
    """Variables that a call is given (a C++ reference looks like a value)."""
    for arg in node.args:
        if isinstance(arg, (ir.Name, ir.Attr, ir.Index)):
            yield from targets(arg)


def assigned_names(body: Iterable[Node]) -> list[str]:
    """Python: the names that a function body binds, in order."""
    names: dict[str, None] = {}
    further: set[str] = set()
    for node in walk(body, into_functions=False):
        if isinstance(node, ir.Assign):
            for target in node.targets:
                names.update(dict.fromkeys(bound_names(target)))
        elif isinstance(node, (ir.AssignExpr, ir.ForEach, ir.With)):
            names.update(dict.fromkeys(bound_names(node.target)))
        elif isinstance(node, ir.Define):
            names[node.function.name] = None
        elif isinstance(node, ir.Import):
            names[node.alias] = None
        elif isinstance(node, ir.Remove):
            for target in node.targets:
                names.update(dict.fromkeys(bound_names(target)))
        elif isinstance(node, ir.Outer):
            further.update(node.names)
        elif isinstance(node, ir.OpaqueStmt):
            names.update(dict.fromkeys(node.writes))
        elif isinstance(node, ir.Try):
            names.update(dict.fromkeys(h[1] for h in node.handlers if h[1] is not None))
    return [name for name in names if name not in further]


def rebound_names(body: Iterable[Node]) -> frozenset[str]:
    """Python: the variables of a function that functions inside it write."""
    return frozenset(name for n in walk(body) if isinstance(n, ir.Outer) for name in n.names)


def bound_names(target: Node | None) -> Iterator[str]:
    """The variables that an assignment target binds."""
    if isinstance(target, ir.Name):
        yield target.id
    elif isinstance(target, ir.Star):
        yield from bound_names(target.value)
    elif isinstance(target, ir.Sequence):
        for item in target.items:
            yield from bound_names(item)
