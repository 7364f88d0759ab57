"""What in a C++ function, or in what it calls, may refuse: for functions that plan on the host, in
loops over the batch that have too many paths to be followed.

It is looked for, not evaluated: a check, a throw, or a call of something whose code is not at hand.
Calls of the GPU runtime succeed, and what is behind a comparison with its codes is not reached.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.cpp.unit import CppModule
from mlaprobe.evaluator.values.kinds import Closure
from mlaprobe.evaluator.walk import children

ASSERT = "assert"
"""Runs evaluate it; it stands before the loops, or is about the work itself."""
_NAMES = """back begin cbegin cend clear copy_ cpu data data_ptr device dtype element_size emplace
    emplace_back empty end find front insert length numel options pop_back push_back reserve resize
    size stride to"""
_METHODS = frozenset(_NAMES.split())
"""Methods of containers and tensors: they return."""


def reached(function: Closure, foreign: tuple[str, ...]) -> tuple[Closure, ...]:
    """The function, and those of the source that it calls, each once. ``foreign`` begins the names
    of what is outside of it."""
    module, found = function.module, {function.function.name: function}
    waiting = [function]
    while waiting and isinstance(module, CppModule):
        for call in _calls(waiting.pop(), foreign):
            name = call.func.id if isinstance(call.func, ir.Name) else ""
            called = module.function(name) if name and name not in found else None
            if called is not None:
                found[name] = called
                waiting.append(called)
    return tuple(found.values())


def refusals(functions: Sequence[Closure], foreign: tuple[str, ...]) -> Iterator[ir.Span]:
    """The places in some functions, all that they call among them, that may refuse."""
    known = {each.function.name for each in functions}
    for each in functions:
        for node in _nodes(each.function.body):
            if isinstance(node, (ir.Throw, ir.Check, ir.Opaque, ir.OpaqueStmt, ir.Launch)):
                yield node.span
        for call in _calls(each, foreign):
            name = call.func.id if isinstance(call.func, ir.Name) else ""
            if name not in known and not _is_type(each.module, name):
                yield call.span


def _calls(function: Closure, foreign: tuple[str, ...]) -> Iterator[ir.Call]:
    """The calls in a function, but for harmless ones."""
    body = function.function.body
    local = {node.name for node in _nodes(body) if isinstance(node, ir.Decl)}
    for node in _nodes(body):
        if isinstance(node, ir.Call) and not _harmless(node, local, foreign):
            yield node


def _nodes(body: tuple[ir.Node, ...]) -> Iterator[ir.Node]:
    """Every node that can be reached while the GPU runtime succeeds."""
    stack = [*body]
    while stack:
        node = stack.pop()
        yield node
        failed = isinstance(node, ir.If) and _of_runtime(node.test)
        stack.extend(node.orelse if isinstance(node, ir.If) and failed else children(node))


def _of_runtime(test: ir.Node) -> bool:
    """Whether a test compares with a code of the GPU runtime: not equal to success."""
    if not isinstance(test, ir.Binary) or test.op != "!=":
        return False
    return any(isinstance(s, ir.Name) and s.id == "hipSuccess" for s in (test.left, test.right))


def _harmless(call: ir.Call, local: set[str], foreign: tuple[str, ...]) -> bool:
    if isinstance(call.func, ir.Attr):
        return call.func.name in _METHODS
    if not isinstance(call.func, ir.Name):
        return False
    name = call.func.id
    return name == ASSERT or name in local or name.startswith(foreign)


def _is_type(module: object, name: str) -> bool:
    """Whether it is a class without code of its own to make it: what is made of it is data."""
    pattern = rf"\b(?:struct|union)\s+{re.escape(name)}\b"
    if not name or not isinstance(module, CppModule):
        return False
    return any(re.search(pattern, module.unit.text(file.path)) for file in module.unit.files)
