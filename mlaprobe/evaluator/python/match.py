"""The ``match`` statement as branches, where its patterns are plain enough."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.python.expressions import MAX_DEPTH, Expressions

Subject = ir.Node | tuple[ir.Node, ...]
"""What is matched: a variable, or the variables of a tuple display."""


class PatternError(ValueError):
    """A pattern that is not lowered."""


class Patterns(Expressions, ABC):
    """Lowers literals, values, alternatives, wildcards, captures and tuples of these."""

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
        subject = self._subject(node.subject, before)
        chain: tuple[ir.Node, ...] = ()
        try:
            for case in reversed(node.cases):
                chain = self._case(case, subject, chain)
        except PatternError as error:
            return (self.opaque_stmt(node, str(error)),)
        return (*before, *chain)

    def _subject(self, node: ast.expr, before: list[ir.Node]) -> Subject:
        if isinstance(node, ast.Tuple) and not any(isinstance(e, ast.Starred) for e in node.elts):
            return tuple([self._subject_part(e, before) for e in node.elts])
        return self._subject_part(node, before)

    def _subject_part(self, node: ast.expr, before: list[ir.Node]) -> ir.Node:
        value = self.expr(node)
        name = ir.Name(value.span, self.temporary())
        before.append(ir.Assign(value.span, (name,), value))
        return name

    def _case(
        self, case: ast.match_case, subject: Subject, orelse: tuple[ir.Node, ...]
    ) -> tuple[ir.Node, ...]:
        captures: list[ir.Node] = []
        tests = self._tests(case.pattern, subject, captures)
        if case.guard is not None:
            if captures:
                raise PatternError("a guard on a captured name is not followed")
            tests.append(self.expr(case.guard))
        body = (*captures, *self.body(case.body))
        if not tests:
            return body
        span = tests[0].span
        test = tests[0] if len(tests) == 1 else ir.Bool(span, "and", tuple(tests))
        return (ir.If(span, test, body, orelse),)

    def _tests(
        self, pattern: ast.pattern, subject: Subject, captures: list[ir.Node]
    ) -> list[ir.Node]:
        """What must hold for a pattern to match; nothing where it always does."""
        span = self.span(pattern)
        if isinstance(pattern, ast.MatchAs):
            return self._capture(pattern, subject, captures)
        if isinstance(pattern, ast.MatchOr):
            return self._alternatives(pattern, subject)
        if isinstance(subject, tuple):
            return self._elements(pattern, subject, captures)
        if isinstance(pattern, ast.MatchValue):
            return [ir.Binary(span, "==", subject, self.expr(pattern.value))]
        if isinstance(pattern, ast.MatchSingleton):
            return [ir.Binary(span, "is", subject, ir.Const(span, pattern.value))]
        raise PatternError(f"{type(pattern).__name__} is not followed")

    def _elements(
        self, pattern: ast.pattern, subject: tuple[ir.Node, ...], captures: list[ir.Node]
    ) -> list[ir.Node]:
        if not isinstance(pattern, ast.MatchSequence) or len(pattern.patterns) != len(subject):
            raise PatternError(f"{type(pattern).__name__} is not followed")
        pairs = zip(pattern.patterns, subject, strict=True)
        return [test for p, s in pairs for test in self._tests(p, s, captures)]

    def _capture(
        self, pattern: ast.MatchAs, subject: Subject, captures: list[ir.Node]
    ) -> list[ir.Node]:
        span, tests = self.span(pattern), []
        if pattern.pattern is not None:
            tests = self._tests(pattern.pattern, subject, captures)
        if pattern.name is not None:
            value = ir.Sequence(span, "tuple", subject) if isinstance(subject, tuple) else subject
            captures.append(ir.Assign(span, (ir.Name(span, pattern.name),), value))
        return tests

    def _alternatives(self, pattern: ast.MatchOr, subject: Subject) -> list[ir.Node]:
        span, captures, parts = self.span(pattern), list[ir.Node](), list[ir.Node]()
        for part in pattern.patterns:
            tests = self._tests(part, subject, captures)
            if captures:
                raise PatternError("alternatives that capture are not followed")
            if not tests:
                return []
            parts.append(tests[0] if len(tests) == 1 else ir.Bool(span, "and", tuple(tests)))
        return [ir.Bool(span, "or", tuple(parts))]
