"""The statements of a slice of a module, run in order: what they bind, as it is at the end."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.engine.frames import OUTER, RUN
from mlaprobe.evaluator.engine.runs import Run
from mlaprobe.evaluator.engine.signals import Unsupported
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.objects.classes import PyClass
from mlaprobe.evaluator.objects.objects import ObjectType
from mlaprobe.evaluator.python.names.importers import importer_of
from mlaprobe.evaluator.python.names.slices import Slice
from mlaprobe.evaluator.python.settle import SETTLE_PATHS, ImportRun
from mlaprobe.evaluator.python.state import changed_later, unsettle_later
from mlaprobe.evaluator.python.translate import translate_statement
from mlaprobe.evaluator.values import Unknown, Value
from mlaprobe.evaluator.values.kinds import Closure

if TYPE_CHECKING:
    from mlaprobe.evaluator.python.module import PyModule


@dataclass(eq=False, repr=False)
class ReplayRun(ImportRun):
    """A path of several statements: what they make is changed by those that follow."""

    def of_class(self, cls: ObjectType, value: Value) -> Value:
        """An attribute of a class: itself where the class is made on this path."""
        order = cls.order if isinstance(cls, PyClass) else ()
        owner = next((c for c in order if any(v is value for v in c.attributes.values())), None)
        return value if owner is not None and self.makes(owner) else self.own(value)

    def changes(self, value: Value, span: Span) -> None:
        """The program changes a value in place.

        Raises:
            Unsupported: the value is of another module, or the rounds of a loop are not known.
        """
        if self.loose:
            raise Unsupported("a loop in no known order changes what is registered", span)
        super().changes(value, span)


def replayed(module: PyModule, run: Run) -> dict[str, Value]:
    """The names that the slice of a module binds, and their values; nothing where there is no
    slice, or it is not followed."""
    plan = module.index.slice
    if plan is None:
        return {}
    key = ("replayed", module.dotted)
    names = run.shared.finished.names
    if key not in names:
        if key in run.resolving:
            run.resolving[key] += 1
            return {}
        run.resolving[key] = 0
        try:
            names[key] = _settled(module, run, plan)
        finally:
            run.resolving.pop(key)
    found: dict[str, Value] = names[key]
    return found


def _settled(module: PyModule, run: Run, plan: Slice) -> dict[str, Value]:
    """What the statements bind on their only path."""

    def child(script: tuple[int, ...]) -> Run:
        return ReplayRun(
            run.machine,
            env=run.env,
            shared=run.shared,
            facts=run.facts,
            script=script,
            knobs=run.knobs,
            resolving=run.resolving,
            on_entry=run.on_entry,
        )

    body = {at: translate_statement(module.index.body[at], module.place) for at in plan.positions}

    def start(path: Run) -> Value:
        assert isinstance(path, ReplayRun)
        for position, nodes in body.items():
            _step(module, path, position, nodes)
        keys = {name: (id(module), name) for name in plan.names}
        found = {name: path.globals[key] for name, key in keys.items() if key in path.globals}
        return found, path.classes

    outcomes = run.machine.explore(start, child, limit=SETTLE_PATHS)
    if len(outcomes) > 1 or outcomes[0].kind != "returned":
        return {}
    found, classes = outcomes[0].value
    return _steady(module, plan, found, classes)


def _step(module: PyModule, path: ReplayRun, position: int, nodes: tuple[ir.Node, ...]) -> None:
    """Runs one statement."""
    node = module.index.body[position]
    path.limit = (module.dotted, position)
    path.shared = path.shared.before(path.limit)
    key = (id(module), getattr(node, "name", ""))
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        path.globals[key] = _defined(module, path, node, position)
        return
    path.machine.compiler.statements(nodes, module)({OUTER: None, RUN: path})


def _defined(
    module: PyModule, path: ReplayRun, node: ast.FunctionDef | ast.AsyncFunctionDef, position: int
) -> Value:
    """What a function statement binds, whose decorators may do anything."""
    function = module.function_ir(node)
    given = ((p.name, p.default) for p in function.params if p.default is not None)
    defaults = {name: path.machine.evaluate(path, default, module) for name, default in given}
    value: Value = Closure(function, module, defaults=defaults)
    names = module.decorator_names(node)
    for decorator, name in reversed([*zip(function.decorators, names, strict=True)]):
        if name not in module.transparent(names):
            made = path.machine.evaluate(path, decorator, module)
            value = path.machine.call(path, made, (value,), {}, decorator.span)
    return value


def _steady(
    module: PyModule, plan: Slice, found: dict[str, Value], classes: Iterable[PyClass]
) -> dict[str, Value]:
    """The values, unknown where later code changes them; none where another module may add
    something."""
    if importer_of(module, plan.guarded) is not None:
        return {}
    for made in classes:
        unsettle_later(module.index, plan.uses, made)
    for name, value in found.items():
        changed = changed_later(module.index, plan.uses, name, value)
        if changed is not None:
            found[name] = Unknown(f"{name} may be changed here", module.place.span(changed))
    return found
