"""Statements as closures. Which threads are left to go on is the machine's mask afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mlaprobe.emulation.device.declarations import compile_alias, compile_declaration
from mlaprobe.emulation.device.kinds import BOOL, Void
from mlaprobe.emulation.device.machine import Code, Loop, Machine, loaded
from mlaprobe.emulation.device.places import Place
from mlaprobe.emulation.device.scopes import Scope
from mlaprobe.emulation.device.signals import NotFollowed
from mlaprobe.emulation.device.source import Piece, Syntax
from mlaprobe.emulation.device.values import Mask, Value, blend, collapsed, scalar
from mlaprobe.evaluator.ir import NOWHERE


def compile_block(piece: Piece, node: Syntax) -> Code:
    """The statements of a block, in the scope that they are given."""
    children = [c for c in node.children if c.type not in ("{", "}", "comment", ";")]
    return _in_order([_statement(piece, c) for c in children])


def _in_order(steps: list[Code]) -> Code:
    def run(m: Machine, s: Scope) -> None:
        for step in steps:
            step(m, s)
            if m.mask is m.nobody:
                return

    return run


def _statement(piece: Piece, node: Syntax) -> Code:
    handler = _HANDLERS.get(node.type)
    if handler is None or node.is_missing or any(c.type == "ERROR" for c in node.children):
        code = _not_followed(node)
    else:
        code = handler(piece, node)
    nested = node.type in ("compound_statement", "if_statement", "for_statement")

    def run(m: Machine, s: Scope) -> None:
        if not nested:
            m.budget -= 1
            if m.budget < 0:
                raise NotFollowed("the run takes too many statements", piece.span(node))
        try:
            code(m, s)
        except NotFollowed as stop:
            if stop.span is NOWHERE:
                stop.span = piece.span(node)
            raise

    return run


def _not_followed(node: Syntax) -> Code:
    def run(m: Machine, s: Scope) -> None:
        raise NotFollowed(f"{node.type.replace('_', ' ')} is not followed")

    return run


def _expression(piece: Piece, node: Syntax) -> Code:
    parts = [c for c in node.named_children if c.type != "comment"]
    return piece.code(parts[0]) if parts else _nothing(piece, node)


def _nothing(piece: Piece, node: Syntax) -> Code:
    return lambda m, s: None


def _compound(piece: Piece, node: Syntax) -> Code:
    block: Code = piece.block(node)
    return lambda m, s: block(m, s.inner())


def _body(piece: Piece, node: Syntax | None) -> Code:
    """A statement that is the body of another, in a scope of its own."""
    if node is None:
        return lambda m, s: None
    if node.type == "compound_statement":
        return _compound(piece, node)
    inner = _statement(piece, node)
    return lambda m, s: inner(m, s.inner())


def _if(piece: Piece, node: Syntax) -> Code:
    condition = node.child_by_field_name("condition")
    value = condition.child_by_field_name("value")
    initial = condition.child_by_field_name("initializer")
    if initial is not None or (value is not None and value.type == "declaration"):
        return _not_followed(node)
    test = loaded(piece, value if value is not None else condition)
    then = _body(piece, node.child_by_field_name("consequence"))
    alternative = node.child_by_field_name("alternative")
    inner = None
    if alternative is not None:
        inner = next((c for c in alternative.named_children if c.type != "comment"), None)
    orelse = _body(piece, inner)

    def run(m: Machine, s: Scope) -> None:
        found = m.split(m.converted(test(m, s), BOOL))
        if isinstance(found, bool):
            (then if found else orelse)(m, s)
            return
        around, others = m.mask, m.mask & ~found
        m.mask = found
        then(m, s)
        left = m.mask
        m.mask = others
        orelse(m, s)
        if left is found and m.mask is others:
            m.mask = around
        else:
            m.mask = _some(m, left | m.mask)

    return run


def _some(m: Machine, mask: Mask) -> Mask:
    return mask if mask.any() else m.nobody


def _while(piece: Piece, node: Syntax) -> Code:
    condition = node.child_by_field_name("condition")
    value = condition.child_by_field_name("value") if condition is not None else None
    if value is not None and value.type == "declaration":
        return _not_followed(node)
    test = loaded(piece, value if value is not None else condition)
    body = _body(piece, node.child_by_field_name("body"))
    return _loop(test, body, None, first=node.type == "do_statement")


def _for(piece: Piece, node: Syntax) -> Code:
    initial = node.child_by_field_name("initializer")
    condition = node.child_by_field_name("condition")
    update = node.child_by_field_name("update")
    begin: Code = lambda m, s: None  # noqa: E731
    if initial is not None:
        declares = initial.type == "declaration"
        begin = compile_declaration(piece, initial) if declares else piece.code(initial)
    test = loaded(piece, condition) if condition is not None else None
    step = piece.code(update) if update is not None else None
    loop = _loop(test, _body(piece, node.child_by_field_name("body")), step)

    def run(m: Machine, s: Scope) -> None:
        inner = s.inner()
        begin(m, inner)
        loop(m, inner)

    return run


def _loop(
    test: Callable[[Machine, Scope], Value] | None,
    body: Code,
    step: Code | None,
    *,
    first: bool = False,
) -> Code:
    """A loop: threads leave it one after the other, and are together again behind it."""

    def run(m: Machine, s: Scope) -> None:
        around, loops = m.mask, m.frame.loops
        loops.append(Loop())
        asks = not first
        while True:
            if asks and test is not None and not _goes_on(m, m.converted(test(m, s), BOOL)):
                break
            asks = True
            m.budget -= 1
            if m.budget < 0:
                raise NotFollowed("a loop runs too long")
            body(m, s)
            if not _next_round(m, loops[-1]):
                break
            if step is not None:
                step(m, s)
        loops.pop()
        m.mask = _not_returned(m, around)

    return run


def _goes_on(m: Machine, test: Value) -> bool:
    """Whether any thread takes another round; those that do are the mask then."""
    found = m.split(test)
    if isinstance(found, bool):
        return found
    m.mask = found
    return True


def _next_round(m: Machine, loop: Loop) -> bool:
    """Threads that continued join the others at the end of a round."""
    if loop.continued is not None:
        m.mask = m.mask | loop.continued
        loop.continued = None
    return bool(m.mask.any())


def _not_returned(m: Machine, around: Mask) -> Mask:
    """Of the threads that came to a statement, those that are still in the function."""
    gone = m.frame.returned
    if gone is None or not (gone & around).any():
        return around
    return _some(m, around & ~gone)


def _jump(piece: Piece, node: Syntax) -> Code:
    leaves = node.type == "break_statement"

    def run(m: Machine, s: Scope) -> None:
        if not m.frame.loops:
            raise NotFollowed("a jump out of something that is no loop")
        loop = m.frame.loops[-1]
        if leaves:
            loop.left = m.mask if loop.left is None else loop.left | m.mask
        else:
            loop.continued = m.mask if loop.continued is None else loop.continued | m.mask
        m.mask = m.nobody

    return run


def _return(piece: Piece, node: Syntax) -> Code:
    parts = [c for c in node.named_children if c.type != "comment"]
    code = piece.code(parts[0]) if parts else None

    def run(m: Machine, s: Scope) -> None:
        frame = m.frame
        given = code(m, s) if code is not None else Value(Void(), None)
        if not (frame.by_reference and isinstance(given, Place)):
            kind = frame.result_type
            given = m.converted(given, kind) if kind is not None else _plain(m, given)
            if frame.result is not None:
                given = blend(m.mask, given, m.value(frame.result))
            else:
                given = collapsed(given, m.mask)
        elif frame.result is not None and frame.result is not given:
            raise NotFollowed("threads return references to different things")
        frame.result = given
        frame.returned = m.mask if frame.returned is None else frame.returned | m.mask
        m.mask = m.nobody

    return run


def _plain(m: Machine, given: Any) -> Any:
    return given.load(m) if isinstance(given, Place) else given


def _switch(piece: Piece, node: Syntax) -> Code:
    """A switch over a number that all threads share."""
    condition = node.child_by_field_name("condition")
    value = condition.child_by_field_name("value")
    test = loaded(piece, value if value is not None else condition)
    cases: list[tuple[Callable[[Machine, Scope], Value] | None, Code]] = []
    for case in node.child_by_field_name("body").named_children:
        if case.type == "comment":
            continue
        if case.type != "case_statement":
            return _not_followed(node)
        label = case.child_by_field_name("value")
        body = [
            _statement(piece, c)
            for c in case.named_children
            if c.type != "comment" and (label is None or c.id != label.id)
        ]
        cases.append((loaded(piece, label) if label is not None else None, _in_order(body)))

    def run(m: Machine, s: Scope) -> None:
        wanted = scalar(test(m, s))[1]
        if isinstance(wanted, np.ndarray):
            raise NotFollowed("a switch over what differs between threads")
        labels = [None if c is None else scalar(c(m, s))[1] for c, _ in cases]
        start = labels.index(wanted) if wanted in labels else None
        if start is None:
            start = labels.index(None) if None in labels else len(cases)
        around, inner = m.mask, s.inner()
        m.frame.loops.append(Loop())
        for _, body in cases[start:]:
            body(m, inner)
            if m.mask is m.nobody:
                break
        done = m.frame.loops.pop()
        if done.continued is not None:
            raise NotFollowed("a continue in a switch")
        m.mask = _not_returned(m, around)

    return run


_HANDLERS: dict[str, Callable[[Piece, Syntax], Code]] = {
    "compound_statement": _compound,
    "declaration": compile_declaration,
    "expression_statement": _expression,
    "if_statement": _if,
    "for_statement": _for,
    "while_statement": _while,
    "do_statement": _while,
    "switch_statement": _switch,
    "return_statement": _return,
    "break_statement": _jump,
    "continue_statement": _jump,
    "alias_declaration": compile_alias,
    "static_assert_declaration": _nothing,
    "using_declaration": _nothing,
}
