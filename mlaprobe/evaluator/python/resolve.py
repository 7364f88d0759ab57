"""What a top-level name of a Python module is: the module's statements, read backwards.

The last statement that binds the name wins. Conditions are evaluated; where one is unknown, the
name is unknown unless both sides agree.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.closures.exceptions import catches
from mlaprobe.evaluator.engine.runs import Run
from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.objects.iterables import View
from mlaprobe.evaluator.objects.objects import Instance
from mlaprobe.evaluator.python.effects import executed
from mlaprobe.evaluator.python.names.blocks import defines, rereads
from mlaprobe.evaluator.python.names.touched import BLOCKS
from mlaprobe.evaluator.python.names.writes import (
    header_names,
    key_matches,
    pick,
    raised_name,
    target_path,
    written_keys,
)
from mlaprobe.evaluator.python.place import type_names
from mlaprobe.evaluator.python.settle import MISSING, Settled, combine
from mlaprobe.evaluator.python.state import CHANGING, changes
from mlaprobe.evaluator.python.stdlib import Partial
from mlaprobe.evaluator.python.values import CircularName, EntryPoint, ExternalModule, ModuleRef
from mlaprobe.evaluator.values import Unknown, Value
from mlaprobe.evaluator.values.kinds import Builtin, Closure, EnumType
from mlaprobe.evaluator.values.truth import truth

if TYPE_CHECKING:
    from mlaprobe.evaluator.python.module import PyModule

Rest = Callable[[], Value]

SKIP: Value = object()
MOST_STATEMENTS = 40
"""How many statements may change a value one after the other."""


@dataclass(frozen=True, slots=True)
class Resolver:
    """Looks up one name of a module as it is before the statement ``limit``."""

    module: PyModule
    run: Run
    name: str
    limit: int | None = None

    def resolve(self) -> Value:
        """The value, or ``MISSING``."""
        positions = self.module.index.positions(self.name)
        if self.limit is not None:
            positions = [p for p in positions if p < self.limit]
        return self._from(positions)

    def _from(self, positions: list[int]) -> Value:
        """The top-level statements at these positions, backwards."""
        body = self.module.index.body
        for at in range(len(positions) - 1, -1, -1):
            position = positions[at]
            rest = partial(self._from, positions[:at])
            value = self._statement(body[position], rest, position)
            if value is not SKIP:
                return value
        return MISSING

    def _block(self, nodes: Sequence[ast.stmt], rest: Rest, position: int) -> Value:
        """A list of statements, backwards."""
        for at in range(len(nodes) - 1, -1, -1):
            if self.module.index.names_of(nodes[at]).touches(self.name):
                before = partial(self._block, nodes[:at], rest, position)
                value = self._statement(nodes[at], before, position)
                if value is not SKIP:
                    return value
        return rest()

    def _statement(self, node: ast.stmt, rest: Rest, position: int) -> Value:
        """What the name is after a statement; ``SKIP`` where the statement does not matter."""
        name = self.name
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
            return self.module.function_value(self.run, node, position)
        if isinstance(node, ast.ClassDef) and node.name == name:
            return self.module.class_value(self.run, node, position)
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            return self._import(node)
        if isinstance(node, BLOCKS):
            return self._compound(node, rest, position)
        names = self.module.index.names_of(node)
        if names.dynamic and self._may_set(node):
            return Unknown(f"{name} may be set by name here", self.module.place.span(node))
        if name in names.bound:
            return self._assigned(node, rest, position)
        if name in names.changed:
            return self._changed(node, rest(), position)
        if name in names.called:
            value = rest()
            return self._executed(node, value, position) if isinstance(value, Instance) else value
        return SKIP

    def _may_set(self, node: ast.stmt) -> bool:
        """Whether a statement that writes names by their text may write this one."""
        index = self.module.index
        keys = written_keys(node)
        own = not index.dictionaries.aliases.isdisjoint(index.names_of(node).changed)
        return own or keys is None or any(key_matches(key, self.name) for key in keys)

    # --- imports ---

    def _import(self, node: ast.Import | ast.ImportFrom) -> Value:
        span = self.module.place.span(node)
        for alias in reversed(node.names):
            if isinstance(node, ast.Import):
                top = alias.name.split(".")[0]
                if (alias.asname or top) == self.name:
                    target = alias.name if alias.asname else top
                    return self._imported(target, None, span)
                continue
            source = self.module.place.absolute(node.module, node.level)
            if alias.name == "*":
                value = self.module.from_star(self.run, source, self.name, span)
                if value is not MISSING:
                    return value
            elif (alias.asname or alias.name) == self.name:
                return self._imported(source, alias.name, span)
        return SKIP

    def _imported(self, source: str, name: str | None, span: ir.Span) -> Value:
        try:
            return self.module.import_name(self.run, source, name, span, strict=False)
        except CircularName:
            return MISSING
        except Failed as failure:
            return Unknown(f"import fails: {failure.message}", failure.span)

    # --- blocks ---

    def _compound(self, node: ast.stmt, rest: Rest, position: int) -> Value:
        if self.name in header_names(node):
            where = self.module.place.span(node)
            return Unknown(f"how {self.name} is bound is not followed", where)
        if self.module.index.names_of(node).touches(self.name) and rereads(node):
            return self._whole(node, rest, position)
        if isinstance(node, ast.If):
            return self._if(node, rest, position)
        if isinstance(node, ast.Try):
            return self._try(node, rest, position)
        if isinstance(node, ast.With):
            return self._block(node.body, rest, position)
        span = self.module.place.span(node)
        names = self.module.index.names_of(node)
        if self.name in names.bound:
            return self._executed(node, rest(), position)
        if self.name in names.changed:
            return self._changed(node, rest(), position)
        if names.dynamic and self._may_set(node):
            return Unknown(f"{self.name} may be set by name here", span)
        return rest()

    def _whole(self, node: ast.stmt, rest: Rest, position: int) -> Value:
        """A block whose statements use what others of it bind: it is run."""
        if defines(node):
            reason = f"{self.name} is bound in a block that uses what it binds"
            return Unknown(reason, self.module.place.span(node))
        return self._executed(node, rest(), position)

    def _if(self, node: ast.If, rest: Rest, position: int) -> Value:
        if not self.module.index.names_of(node).touches(self.name):
            return rest()
        known = truth(self._evaluate(node.test, position).value)
        if isinstance(known, Unknown):
            sides = [self._block(part, rest, position) for part in (node.body, node.orelse)]
            return combine(sides, known, self.name)
        return self._block(node.body if known else node.orelse, rest, position)

    def _try(self, node: ast.Try, rest: Rest, position: int) -> Value:
        if any(self.module.index.names_of(n).touches(self.name) for n in node.finalbody):
            value = self._block(node.finalbody, lambda: MISSING, position)
            if value is not MISSING:
                return value
        at, failure = self._failing(node.body, position)
        body = node.body if at is None else node.body[:at]

        def done() -> Value:
            return self._block(body, rest, position)

        if failure is None:
            return self._block([*body, *node.orelse], rest, position)
        answers = []
        for handler in node.handlers:
            types = None if handler.type is None else type_names([handler.type])
            caught = True if failure.kind == "unknown" else catches(types, failure.how)
            if caught is not False and not isinstance(handler.body[-1], ast.Raise):
                answers.append(self._block(handler.body, done, position))
            if caught is True and failure.kind != "unknown":
                break
        if failure.kind == "unknown":
            whole = [*node.body, *node.orelse]
            answers.insert(0, self._block(whole, rest, position))
        why = Unknown(failure.message, failure.span)
        return combine(answers, why, self.name) if answers else why

    # --- whether statements fail ---

    def _failing(
        self, nodes: Sequence[ast.stmt], position: int
    ) -> tuple[int | None, Failed | None]:
        """The first statement that fails, or may fail (kind ``unknown``)."""
        for at, node in enumerate(nodes):
            failure = self._failure(node, position)
            if failure is not None:
                return at, failure
        return None, None

    def _failure(self, node: ast.stmt, position: int) -> Failed | None:
        span = self.module.place.span(node)
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Pass)):
            return None
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            return self._import_failure(node, span)
        if isinstance(node, ast.Raise):
            how = raised_name(node)
            return Failed("exception", how, f"raises {how}", span)
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.Expr)) and node.value is not None:
            settled = self._evaluate(node.value, position)
            if settled.failure is not None:
                return settled.failure
            if settled.may_fail:
                return Failed("unknown", "unknown", settled.value.reason, span)
            return None
        if isinstance(node, ast.If):
            known = truth(self._evaluate(node.test, position).value)
            if not isinstance(known, Unknown):
                return self._failing(node.body if known else node.orelse, position)[1]
        return Failed("unknown", "unknown", "a statement that may fail", span)

    def _import_failure(self, node: ast.Import | ast.ImportFrom, span: ir.Span) -> Failed | None:
        try:
            for alias in node.names:
                if isinstance(node, ast.Import):
                    self.module.import_name(self.run, alias.name, None, span)
                else:
                    source = self.module.place.absolute(node.module, node.level)
                    name = None if alias.name == "*" else alias.name
                    self.module.import_name(self.run, source, name, span)
        except Failed as failure:
            return failure
        return None

    # --- assignments ---

    def _evaluate(self, node: ast.expr, position: int) -> Settled:
        return self.module.evaluate(self.run, node, position)

    def _assigned(self, node: ast.stmt, rest: Rest, position: int) -> Value:
        span = self.module.place.span(node)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            if node.value is not None:
                value = self._evaluate(node.value, position).value
                return self._alone(node, value, position)
            return Unknown(f"{self.name} is declared without a value", span)
        if isinstance(node, ast.Assign):
            for target in reversed(node.targets):
                path = target_path(target, self.name)
                if path is not None:
                    value = pick(self._evaluate(node.value, position).value, path, span)
                    return self._alone(node, value, position)
        if isinstance(node, ast.Delete):
            return MISSING
        if isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr)):
            return self._executed(node, rest(), position)
        return Unknown(f"how {self.name} is bound is not followed", span)

    def _alone(self, node: ast.stmt, value: Value, position: int) -> Value:
        """A value that is bound, where nothing changes it under another name later."""
        if not isinstance(value, (*CHANGING, View)):
            return value
        other = self.module.index.changed_elsewhere(self.name, node, position)
        if other is None:
            return value
        reason = f"{self.name} may be changed under another name"
        return Unknown(reason, self.module.place.span(other))

    def _executed(self, node: ast.stmt, before: Value, position: int) -> Value:
        """A value after a statement that is run."""
        span = self.module.place.span(node)
        if len(self.module.index.positions(self.name)) > MOST_STATEMENTS:
            return Unknown(f"{self.name} is changed by too many statements", span)
        if isinstance(before, Unknown):
            return before
        value = executed(self.module, self.run, node, self.name, before, position)
        return self._alone(node, value, position)

    def _changed(self, node: ast.stmt, value: Value, position: int) -> Value:
        """A value after a statement that may have changed it in place."""
        if isinstance(value, (Closure, EntryPoint, ModuleRef, ExternalModule, Builtin, EnumType)):
            return value
        if value is MISSING or isinstance(value, (int, float, str, type(None), Unknown)):
            return value
        if isinstance(value, tuple) and not changes(value, self.module.index):
            return value
        if isinstance(value, (*CHANGING, tuple)):
            return self._executed(node, value, position)
        if isinstance(value, Partial) and not any(isinstance(v, CHANGING) for v in value.held()):
            return value
        return Unknown(f"{self.name} is changed in place", self.module.place.span(node))
