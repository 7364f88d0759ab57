"""The clause that decided: from a traced run to a place in the source."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

from mlaprobe.core.shape import Evidence
from mlaprobe.errors import MlaprobeError
from mlaprobe.evaluator import ir
from mlaprobe.evaluator.engine.runs import Event, Outcome
from mlaprobe.evaluator.ir import Node, Span
from mlaprobe.evaluator.values.truth import truth
from mlaprobe.evaluator.walk import walk

logger = logging.getLogger("mlaprobe")


class LazyEvidence(Sequence[Evidence]):
    """Evidence that is computed when it is first accessed."""

    __slots__ = ("_args", "_find", "_found")

    def __init__(self, find: Callable[..., tuple[Evidence, ...]], *args: Any) -> None:
        """``find`` is called with ``args``."""
        self._find = find
        self._args = args
        self._found: tuple[Evidence, ...] | None = None

    def _all(self) -> tuple[Evidence, ...]:
        if self._found is None:
            try:
                self._found = self._find(*self._args)
            except MlaprobeError:
                raise
            except Exception:
                # The answer stands without its proof; the next access tries again.
                logger.debug("evidence could not be looked for", exc_info=True)
                return ()
        return self._found

    @overload
    def __getitem__(self, index: int) -> Evidence: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Evidence, ...]: ...
    def __getitem__(self, index: int | slice) -> Evidence | tuple[Evidence, ...]:
        return self._all()[index]

    def __len__(self) -> int:
        return len(self._all())

    def __iter__(self) -> Iterator[Evidence]:
        return iter(self._all())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (tuple, LazyEvidence)) and self._all() == tuple(other)

    def __hash__(self) -> int:
        return hash(self._all())

    def __repr__(self) -> str:
        return repr(self._all())

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self._all(),)


class Proof(LazyEvidence):
    """How the evidence of an answer is computed. Stands for it while the answer may have symbols in
    it; ``instantiate`` fills them in and makes evidence of it."""

    __slots__ = ("_first", "_path", "_pick", "_stage", "_text_of", "values")

    def __init__(
        self,
        stage: str,
        text_of: Callable[[str], str | None],
        pick: Callable[..., tuple[Span, ...]],
        *values: Any,
        path: Callable[[Sequence[Outcome]], Sequence[Outcome]] = lambda paths: paths,
        first: Callable[[], tuple[Evidence, ...]] = tuple,
    ) -> None:
        """
        Args:
            stage: whose evidence it is.
            text_of: the text of a file.
            pick: the places, by the trace of a path, the path and ``values``.
            values: what ``pick`` needs of the answer: numbers, or symbols for them.
            path: which of the paths of a traced run are looked at: the first of these.
            first: evidence that comes before the places.
        """
        super().__init__(tuple)
        self._stage = stage
        self._text_of = text_of
        self._pick = pick
        self._path = path
        self._first = first
        self.values = values

    def found(
        self,
        paths: Sequence[Outcome],
        values: tuple[Any, ...],
        filled: Callable[[Outcome], Outcome] = lambda outcome: outcome,
    ) -> tuple[Evidence, ...]:
        """The evidence in the traced paths of a question, ``values`` being its own; ``filled``
        fills in the path that is looked at."""
        spans: tuple[Span, ...] = ()
        for outcome in map(filled, tuple(self._path(paths))[:1]):
            spans = self._pick(Trace(outcome), outcome, *values)
        places = (evidence(self._stage, span, self._text_of) for span in dict.fromkeys(spans))
        return (*self._first(), *(place for place in places if place is not None))


class Trace:
    """What a traced run computed, by node."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self.items = tuple(outcome.trace)
        self.values: dict[Node, Any] = {}
        self.declared: dict[str, ir.Decl] = {}
        for node, value in self.items:
            self.values[node] = value
            if isinstance(node, ir.Decl):
                self.declared[node.name] = node

    def decisive(self, node: Node, depth: int = 0) -> Node:
        """The smallest part of a condition that made it what it was."""
        value = truth(self.values.get(node))
        if depth > 12:
            return node
        if isinstance(node, ir.Bool) and value is (node.op == "or"):
            for part in node.parts:
                if truth(self.values.get(part)) is value:
                    return self.decisive(part, depth + 1)
        if isinstance(node, ir.Unary) and node.op == "not":
            return self.decisive(node.value, depth + 1)
        if isinstance(node, ir.Name):
            declared = self.declared.get(node.id)
            if declared is not None and isinstance(declared.init, (ir.Bool, ir.Unary, ir.Binary)):
                return self.decisive(declared.init, depth + 1)
        return node

    def last_check(self) -> Node | None:
        """The last condition that was tested: what a failing run failed at."""
        for node, _ in reversed(self.items):
            if isinstance(node, (ir.Check, ir.If)):
                return self.decisive(node.test)
        return None

    def refusal(self) -> Span:
        """The place that a failing run of Python failed at: the condition of an assertion or of
        what raises; else the expression that failed."""
        failure, last = self.outcome.failure, self.last_check()
        where = self.outcome.span if failure is None else failure.span
        if last is None or isinstance(last, ir.Const):
            return where
        stated = (n.span for n, _ in self.items if isinstance(n, (ir.Check, ir.Throw)))
        return last.span if not where.file.endswith(".py") or where in stated else where

    def branch(self, number: int, before: Event | str | None = None) -> Node | None:
        """The last branch taken whose test reads a certain number (the head count), before an event
        or before the first one of a name."""
        found: Node | None = None
        for node, value in self.items:
            if isinstance(node, ir.Launch) and before in (value, node.name):
                break
            if isinstance(node, ir.If) and value is True and self._asks(node.test, number):
                found = node.test
        return self.decisive(found) if found is not None else None

    def last_branch(self, after: Event) -> Node | None:
        """The test of the last branch that is taken behind an event."""
        found: Node | None = None
        behind = False
        for node, value in self.items:
            behind = behind or (isinstance(node, ir.Launch) and value == after)
            if behind and isinstance(node, ir.If) and value is True:
                found = node.test
        return found

    def _asks(self, test: Node, number: int) -> bool:
        return any(
            isinstance(n, ir.Name) and _is_number(self.values.get(n), number) for n in walk((test,))
        )

    def conditions(self) -> Iterator[tuple[ir.If, Any]]:
        """Every branch that was taken, in order."""
        for node, value in self.items:
            if isinstance(node, ir.If):
                yield node, value


def _is_number(value: Any, number: int) -> bool:
    return type(value) is int and value == number


def line_of(span: Span, text_of: Callable[[str], str | None]) -> Span:
    """The whole line that a place is in, without its indentation and line continuation."""
    lines = (text_of(span.file) or "").split("\n")
    if not 1 <= span.line <= len(lines):
        return span
    text = lines[span.line - 1].rstrip(" \\")
    start = len(text) - len(text.lstrip())
    return Span(span.file, span.line, start + 1, span.line, len(text) + 1)


def evidence(stage: str, span: Span, text_of: Callable[[str], str | None]) -> Evidence | None:
    """A place as evidence, with its text."""
    text = text_of(span.file)
    if text is None or span.line < 1:
        return None
    lines = text.split("\n")
    if span.line > len(lines):
        return None
    picked = lines[span.line - 1 : min(span.end_line, span.line + 40)]
    if span.end_line == span.line and span.end_column > span.column:
        picked[0] = picked[0][: span.end_column - 1]
    elif span.end_line > span.line and len(picked) == span.end_line - span.line + 1:
        picked[-1] = picked[-1][: span.end_column - 1]
    picked[0] = picked[0][span.column - 1 :]
    folded = " ".join(" ".join(picked).split())
    return Evidence(
        stage=stage,
        file=span.file,
        line=span.line,
        column=span.column,
        text=folded if len(folded) <= 400 else folded[:397] + "...",
    )
