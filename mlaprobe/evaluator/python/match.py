"""The ``match`` statement as branches: what a pattern asks is a condition, and what it captures is
stored when all of it holds."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.python.expressions import MAX_DEPTH, Expressions
from mlaprobe.evaluator.python.types import (
    HAS_ATTRIBUTE,
    IS_MAPPING,
    IS_SEQUENCE,
    MATCH_ARGUMENT,
    MIDDLE,
    REMAINING,
    TYPES,
)
from mlaprobe.evaluator.values.kinds import Builtin

Subject = ir.Node | tuple[ir.Node, ...]
"""What is matched: a variable, or the variables of a tuple display."""
Captures = dict[str, ir.Name]
"""The names that a pattern captures, and the variables that hold what they get meanwhile."""
_THEMSELVES = frozenset((*TYPES, "bytearray", "bytes")) - {"type"}
"""Built-in classes whose one positional pattern is for the object itself."""


class PatternError(ValueError):
    """A pattern that is not lowered."""


class Patterns(Expressions, ABC):
    """Lowers patterns to conditions."""

    @abstractmethod
    def body(self, nodes: list[ast.stmt]) -> tuple[ir.Node, ...]:
        """A list of statements."""

    @abstractmethod
    def opaque_stmt(self, node: ast.stmt, reason: str) -> ir.OpaqueStmt:
        """A statement that is not followed."""

    def _match(self, node: ast.Match) -> tuple[ir.Node, ...]:
        if len(node.cases) > MAX_DEPTH:
            return (self.opaque_stmt(node, "too many cases"),)
        before: list[ir.Node] = []
        subject = self._subject(node, before)
        chain: tuple[ir.Node, ...] = ()
        try:
            for case in reversed(node.cases):
                chain = self._case(case, subject, chain)
        except PatternError as error:
            return (self.opaque_stmt(node, str(error)),)
        return (*before, *chain)

    def _subject(self, node: ast.Match, before: list[ir.Node]) -> Subject:
        value = node.subject
        items = value.elts if isinstance(value, ast.Tuple) else []
        apart = all(_takes_apart(case.pattern, len(items)) for case in node.cases)
        if items and apart and not any(isinstance(e, ast.Starred) for e in items):
            return tuple([self._kept(self.expr(e), before) for e in items])
        return self._kept(self.expr(value), before)

    def _kept(self, value: ir.Node, before: list[ir.Node]) -> ir.Node:
        name = ir.Name(value.span, self.temporary())
        before.append(ir.Assign(value.span, (name,), value))
        return name

    def _case(
        self, case: ast.match_case, subject: Subject, orelse: tuple[ir.Node, ...]
    ) -> tuple[ir.Node, ...]:
        captures: Captures = {}
        tests = self._tests(case.pattern, subject, captures)
        span = self.span(case.pattern)
        stores = [ir.Assign(span, (ir.Name(span, n),), held) for n, held in captures.items()]
        body = self.body(case.body)
        if case.guard is None:
            body = (*stores, *body)
        else:
            tests += [_holding(ir.AssignExpr(span, s.targets[0], s.value)) for s in stores]
            tests.append(self.expr(case.guard))
        if not tests:
            return body
        return (ir.If(tests[0].span, _all(tests), body, orelse),)

    # --- patterns ---

    def _tests(self, pattern: ast.pattern, subject: Subject, captures: Captures) -> list[ir.Node]:
        """What must hold for a pattern to match; nothing where it always does."""
        span = self.span(pattern)
        if isinstance(pattern, ast.MatchAs):
            return self._capture(pattern, subject, captures)
        if isinstance(pattern, ast.MatchOr):
            return self._alternatives(pattern, subject, captures)
        if isinstance(subject, tuple):
            assert isinstance(pattern, ast.MatchSequence)
            pairs = zip(pattern.patterns, subject, strict=True)
            return [test for p, s in pairs for test in self._tests(p, s, captures)]
        if isinstance(pattern, ast.MatchValue):
            return [ir.Binary(span, "==", subject, self.expr(pattern.value))]
        if isinstance(pattern, ast.MatchSingleton):
            return [ir.Binary(span, "is", subject, ir.Const(span, pattern.value))]
        if isinstance(pattern, ast.MatchSequence):
            return self._sequence(pattern, subject, captures)
        if isinstance(pattern, ast.MatchMapping):
            return self._mapping(pattern, subject, captures)
        if isinstance(pattern, ast.MatchClass):
            return self._class_pattern(pattern, subject, captures)
        raise PatternError(f"{type(pattern).__name__} is not followed")

    def _capture(self, pattern: ast.MatchAs, subject: Subject, captures: Captures) -> list[ir.Node]:
        tests: list[ir.Node] = []
        if pattern.pattern is not None:
            tests = self._tests(pattern.pattern, subject, captures)
        if pattern.name is not None:
            tests += self._held(pattern.name, subject, pattern, captures)
        return tests

    def _held(
        self, name: str, value: Subject, pattern: ast.pattern, captures: Captures
    ) -> list[ir.Node]:
        """Keeps what a name gets. A variable needs no other to keep it."""
        span = self.span(pattern)
        if isinstance(value, tuple):
            value = ir.Sequence(span, "tuple", value)
        if isinstance(value, ir.Name) and name not in captures:
            captures[name] = value
            return []
        held = captures.setdefault(name, ir.Name(span, self.temporary()))
        return [_holding(ir.AssignExpr(span, held, value))]

    def _alternatives(
        self, pattern: ast.MatchOr, subject: Subject, captures: Captures
    ) -> list[ir.Node]:
        span = self.span(pattern)
        names = [n.name for n in ast.walk(pattern) if isinstance(n, (ast.MatchAs, ast.MatchStar))]
        for name in filter(None, names):
            captures.setdefault(name, ir.Name(span, self.temporary()))
        parts = [self._tests(part, subject, captures) for part in pattern.patterns]
        if any(not part for part in parts):
            parts = parts[: next(at for at, part in enumerate(parts) if not part)]
            parts.append([ir.Const(span, True)])
        return [ir.Bool(span, "or", tuple([_all(part) for part in parts]))]

    def _inside(self, pattern: ast.pattern, value: ir.Node, captures: Captures) -> list[ir.Node]:
        """What must hold of a part of the subject."""
        if isinstance(pattern, ast.MatchAs) and pattern.pattern is None and pattern.name is None:
            return []
        name = ir.Name(value.span, self.temporary())
        keep = _holding(ir.AssignExpr(value.span, name, value))
        return [keep, *self._tests(pattern, name, captures)]

    def _sequence(
        self, pattern: ast.MatchSequence, subject: ir.Node, captures: Captures
    ) -> list[ir.Node]:
        span, parts = self.span(pattern), pattern.patterns
        stars = [at for at, p in enumerate(parts) if isinstance(p, ast.MatchStar)]
        star = stars[0] if stars else len(parts)
        count = ir.Const(span, len(parts) - len(stars))
        tests = [_call(span, IS_SEQUENCE, subject, count, ir.Const(span, bool(stars)))]
        for at, part in enumerate(parts):
            if isinstance(part, ast.MatchStar):
                if part.name is not None:
                    ends = (ir.Const(span, at), ir.Const(span, len(parts) - at - 1))
                    middle = _call(span, MIDDLE, subject, *ends)
                    tests += self._held(part.name, middle, part, captures)
                continue
            place = at if at < star else at - len(parts)
            value = ir.Index(self.span(part), subject, ir.Const(span, place))
            tests += self._inside(part, value, captures)
        return tests

    def _mapping(
        self, pattern: ast.MatchMapping, subject: ir.Node, captures: Captures
    ) -> list[ir.Node]:
        span = self.span(pattern)
        keys = self.exprs(pattern.keys)
        tests = [_call(span, IS_MAPPING, subject)]
        for key, part in zip(keys, pattern.patterns, strict=True):
            tests.append(ir.Binary(key.span, "in", key, subject))
            tests += self._inside(part, ir.Index(key.span, subject, key), captures)
        if pattern.rest is not None:
            rest = _call(span, REMAINING, subject, *keys)
            tests += self._held(pattern.rest, rest, pattern, captures)
        return tests

    def _class_pattern(
        self, pattern: ast.MatchClass, subject: ir.Node, captures: Captures
    ) -> list[ir.Node]:
        span, cls = self.span(pattern), self.expr(pattern.cls)
        isinstance_ = ir.Name(span, "isinstance")
        tests: list[ir.Node] = [ir.Call(span, isinstance_, (subject, cls))]
        itself = isinstance(pattern.cls, ast.Name) and pattern.cls.id in _THEMSELVES
        if itself and pattern.patterns:
            if len(pattern.patterns) > 1:
                raise PatternError("a built-in class with several patterns is not followed")
            tests += self._tests(pattern.patterns[0], subject, captures)
        else:
            for at, part in enumerate(pattern.patterns):
                value = _call(span, MATCH_ARGUMENT, subject, cls, ir.Const(span, at))
                tests += self._inside(part, value, captures)
        for name, part in zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True):
            tests.append(_call(span, HAS_ATTRIBUTE, subject, ir.Const(span, name)))
            tests += self._inside(part, ir.Attr(span, subject, name), captures)
        return tests


def _takes_apart(pattern: ast.pattern, count: int) -> bool:
    """Whether a pattern only asks for the items of a tuple of so many."""
    if isinstance(pattern, ast.MatchAs):
        return pattern.pattern is None or _takes_apart(pattern.pattern, count)
    if isinstance(pattern, ast.MatchOr):
        return all(_takes_apart(part, count) for part in pattern.patterns)
    if not isinstance(pattern, ast.MatchSequence) or len(pattern.patterns) != count:
        return False
    return not any(isinstance(part, ast.MatchStar) for part in pattern.patterns)


def _call(span: ir.Span, function: Builtin, *args: ir.Node) -> ir.Node:
    return ir.Call(span, ir.Const(span, function), args)


def _holding(node: ir.Node) -> ir.Node:
    """An expression that is evaluated for what it does, as a condition that holds."""
    return ir.Sequence(node.span, "tuple", (node,))


def _all(tests: list[ir.Node]) -> ir.Node:
    return tests[0] if len(tests) == 1 else ir.Bool(tests[0].span, "and", tuple(tests))
