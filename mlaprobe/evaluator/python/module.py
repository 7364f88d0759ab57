"""One Python module: what its names are, and its functions and classes as values."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.engine.modules import Module
from mlaprobe.evaluator.engine.runs import Run
from mlaprobe.evaluator.engine.signals import Unsupported
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.objects.classes import PyClass
from mlaprobe.evaluator.python.index import Index, SyntaxProblem
from mlaprobe.evaluator.python.managers import ManagerFunction
from mlaprobe.evaluator.python.names.touched import FUNCTIONS, flat
from mlaprobe.evaluator.python.place import Place
from mlaprobe.evaluator.python.reading.keeping import first_call
from mlaprobe.evaluator.python.reading.replay import replayed
from mlaprobe.evaluator.python.resolve import Resolver
from mlaprobe.evaluator.python.settle import MISSING, Settled, limit_of, settle
from mlaprobe.evaluator.python.state import (
    changes,
    has_unsteady_members,
    keeps_a_place,
    unsettle,
    unsteady,
)
from mlaprobe.evaluator.python.statements import TRANSPARENT_DECORATORS
from mlaprobe.evaluator.python.stdlib import Partial
from mlaprobe.evaluator.python.translate import translate_class, translate_expr, translate_function
from mlaprobe.evaluator.python.values import CircularName, EntryPoint, Later, MissingName
from mlaprobe.evaluator.values import PathText, Unknown, Value
from mlaprobe.evaluator.values.kinds import Builtin, Closure

if TYPE_CHECKING:
    from mlaprobe.evaluator.python.project import PyProject

_MODULE_NAMES = ("__path__", "__spec__", "__loader__", "__doc__", "__package__")


class PyModule(Module):
    """One module of the source."""

    def __init__(self, project: PyProject, dotted: str, path: str, text: str) -> None:
        self.project = project
        self.dotted = dotted
        self.path = path
        self.is_package = path.endswith("/__init__.py")
        text = text.removeprefix("\ufeff")
        self.place = Place.of(path, text, dotted, self.is_package)
        self.index = Index(text, self.place)
        self._functions: dict[int, ir.Function] = {}
        self._classes: dict[int, ir.Class] = {}

    def __repr__(self) -> str:
        return f"PyModule({self.dotted})"

    # --- names ---

    def lookup(self, run: Run, name: str, span: Span) -> Value:
        """What a name means to the code of this module: its own, or one of Python's.

        Raises:
            MissingName: there is certainly no such name.
        """
        try:
            return self.named(run, name, span)
        except CircularName:
            return Unknown(f"{name} depends on itself", span)
        except MissingName:
            return self.project.builtin(self.dotted, name, span)

    def named(self, run: Run, name: str, span: Span) -> Value:
        """What a name of this module means to its own code.

        Raises:
            MissingName: the module certainly has no such name.
            CircularName: the name is being looked up already.
        """
        limit = limit_of(run, self.dotted)
        if limit is not None and not self.index.final(name, limit):
            return self.before(run, name, limit, span)
        return self.member(run, name, span, inside=True)

    def before(self, run: Run, name: str, limit: int, span: Span) -> Value:
        """A top-level name as it is before one of the module's statements.

        Raises:
            MissingName: it has no value there.
        """
        value = self.resolve(run, name, limit)
        return self._special(run, name, span, inside=True) if value is MISSING else value

    def member(self, run: Run, name: str, span: Span, *, inside: bool = False) -> Value:
        """The value of a top-level name of this module; unknown where it is not followed.
        ``inside``: as the module's own code finds it, which does not ask ``__getattr__``.

        Raises:
            MissingName: the module certainly has no such name.
            CircularName: the name is being looked up already.
        """
        value = self.cached(run, name)
        if value is MISSING and ("pymodule", self.dotted, name) in run.resolving:
            raise CircularName(self.dotted, name, span)
        return self._special(run, name, span, inside=inside) if value is MISSING else value

    def _special(self, run: Run, name: str, span: Span, *, inside: bool) -> Value:
        if name == "__name__":
            return self.dotted
        if name == "__file__":
            return PathText(self.path, span)
        if name in _MODULE_NAMES:
            return Unknown(f"{name} of a module is not known", span, key=(name, self.dotted))
        if name != "__getattr__" and not inside:
            getter = self.cached(run, "__getattr__")
            if getter is not MISSING:
                return self._asked(run, getter, name, span)
        raise MissingName(self.dotted, name, span)

    def _asked(self, run: Run, getter: Value, name: str, span: Span) -> Value:
        """What the module's ``__getattr__`` gives.

        Raises:
            MissingName: it certainly gives nothing.
        """
        if not isinstance(getter, Closure):
            return Unknown(f"{self.dotted} makes attributes when asked", span)
        made = settle(run, lambda child: child.machine.call(child, getter, (name,), {}, span))
        if made.failure is not None and made.failure.how == "AttributeError":
            raise MissingName(self.dotted, name, span)
        return made.value

    def cached(self, run: Run, name: str) -> Value:
        """A top-level name, or ``MISSING``; ``MISSING`` also while the same name is looked up."""
        key = ("pymodule", self.dotted, name)
        names = run.shared.finished.names
        found = names.get(key, run)
        if found is not run:
            return found
        busy = run.resolving
        if key in busy:
            busy[key] += 1
            return MISSING
        before = sum(busy.values())
        busy[key] = 0
        try:
            value = self.resolve(run, name)
        finally:
            busy.pop(key)
        # A value may be incomplete where a name further out was taken as missing meanwhile.
        if sum(busy.values()) == before:
            names[key] = value
        return value

    def resolve(self, run: Run, name: str, limit: int | None = None) -> Value:
        """A name as the statements before ``limit`` bind it, or ``MISSING``."""
        override = self.project.overrides.get(f"{self.dotted}.{name}", MISSING)
        if override is not MISSING:
            return override.make(run) if isinstance(override, Later) else override
        problem = self.index.tree
        if isinstance(problem, SyntaxProblem):
            return Unknown(f"{self.path} has a {problem.message}", problem.span)
        patched = self.project.patched(self.dotted, name) if limit is None else None
        if patched is not None:
            return patched
        made = replayed(self, run) if limit is None else {}
        if name in made:
            return made[name]
        if name in self.index.global_names:
            return Unknown(f"{name} is rebound by a function", self.index.rebinding(name))
        dictionaries = self.index.dictionaries
        writer = dictionaries.writer(name) if limit is None else dictionaries.given
        if writer is not None:
            return Unknown(f"{name} may be set by name here", self.place.span(writer))
        value = Resolver(self, run, name, limit).resolve()
        if isinstance(value, (Closure, EntryPoint)):
            # one that is imported, too, and is defined anew is made of that
            anew = name in self.index.imported_functions
            return value if anew else self.project.overrides.get(name, value)
        value = self._steady(run, name, value)
        changed = self.project.changed_elsewhere(self, name, value) if limit is None else None
        return value if changed is None else changed

    def _steady(self, run: Run, name: str, value: Value) -> Value:
        """A value that nothing changes which is not run for its name."""
        if isinstance(value, (list, dict, set)):
            changing = self.index.changed_by_functions.get(name)
            if changing is not None:
                reason = f"{name} is changed in place by a function"
                return Unknown(reason, self.place.span(changing))
        if keeps_a_place(value) or has_unsteady_members(value, self.index):
            return Unknown(f"what has been taken from {name}, or put into it", self._bound_at(name))
        where = unsteady(self.index, name, value) or self._changed_source(run, name, value)
        if where is not None:
            return Unknown(f"{name} may be changed here", self.place.span(where))
        return value

    def _changed_source(self, run: Run, name: str, value: Value) -> ast.AST | None:
        """Where what a function gave a name may be changed under the name that it has it from."""
        if not changes(value, self.index):
            return None
        body = self.index.body
        for position in self.index.positions(name):
            for source in self.index.uses.sources(body[position]):
                if source == name or not self.index.is_variable(source):
                    continue
                where = self.index.changed_at(source)
                if where is not None and changes(self.cached(run, source), self.index):
                    return where
        return None

    def _bound_at(self, name: str) -> Span:
        """The last statement that binds a name."""
        return self.place.span(self.index.body[self.index.positions(name)[-1]])

    # --- for the resolver ---

    def view(self, names: Iterable[str], position: int) -> PyModule | View:
        """The module as it is where a statement stands."""
        if all(self.index.final(name, position) for name in names):
            return self
        return View(self, position)

    def evaluate(self, run: Run, node: ast.expr, position: int) -> Settled:
        """An expression of the statement at ``position``."""
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, str, float, type(None))):
            return Settled(value=node.value)
        expression = translate_expr(node, self.place)
        limit = (self.dotted, position)
        return settle(run, lambda child: child.machine.evaluate(child, expression, self), limit)

    def value_of(self, run: Run, node: ir.Node) -> Value:
        """An expression or a function in the module's scope."""
        if isinstance(node, ir.Function):
            return Closure(node, self)
        return settle(run, lambda child: child.machine.evaluate(child, node, self)).value

    def function_value(
        self, run: Run, node: ast.FunctionDef | ast.AsyncFunctionDef, position: int
    ) -> Value:
        """What a function statement binds."""
        function = self.function_ir(node)
        decorators = self.decorator_names(node)
        own = self.transparent(decorators)
        if own.issuperset(decorators):
            return Closure(function, self, defaults=self._defaults(run, node, position))
        made = self._decorated(run, function, decorators, own, position)
        if made is not None:
            return made
        names = (n.id for d in node.decorator_list for n in ast.walk(d) if isinstance(n, ast.Name))
        gives = not (node.returns is None or getattr(node.returns, "value", self) is None)
        return EntryPoint(node.name, self.view(names, position), function, decorators, gives)

    def decorator_names(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[str, ...]:
        """The dotted names of a function's decorators."""
        plain = (d.func if isinstance(d, ast.Call) else d for d in node.decorator_list)
        return tuple(map(self.index.canonical, plain))

    def transparent(self, names: tuple[str, ...]) -> frozenset[str]:
        """Decorators that leave what a function computes as it is; these, and those of Python."""
        own = (d for d in names if d.rpartition(".")[2] in self.project.transparent)
        return TRANSPARENT_DECORATORS.union(own)

    def _defaults(
        self, run: Run, node: ast.FunctionDef | ast.AsyncFunctionDef, position: int
    ) -> dict[str, Value] | None:
        """The values of parameters that are made of names which have others later."""
        args = node.args
        plain = [*args.posonlyargs, *args.args]
        pairs = [*zip(plain[len(plain) - len(args.defaults) :], args.defaults, strict=True)]
        pairs += [(a, d) for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True) if d]
        found: dict[str, Value] = {}
        for arg, default in pairs:
            parts = [n.id for n in ast.walk(default) if isinstance(n, ast.Name)]
            if not all(self.index.final(name, position) for name in parts):
                found[arg.arg] = self.evaluate(run, default, position).value
        return found or None

    def _decorated(
        self,
        run: Run,
        function: ir.Function,
        names: tuple[str, ...],
        own: frozenset[str],
        position: int,
    ) -> Value | None:
        """What decorators of the source make of a function; ``None`` where they are others, or
        that is not followed."""
        if any(name.rpartition(".")[2] in self.project.entry_decorators for name in names):
            return None
        pairs = [*zip(function.decorators, names, strict=True)]
        view = self.view((), position)

        def start(child: Run) -> Value:
            value: Value = Closure(function, self)
            for node, name in reversed(pairs):
                if name in own:
                    continue
                decorator = child.machine.evaluate(child, node, view)
                manager = isinstance(decorator, Builtin) and decorator.name == "contextmanager"
                if not manager and not isinstance(decorator, (Closure, Partial)):
                    raise Unsupported(f"{name} is no function of the source", node.span)
                value = child.machine.call(child, decorator, (value,), {}, node.span)
            return value

        made = settle(run, start, (self.dotted, position)).value
        return made if isinstance(made, (Closure, Partial, ManagerFunction)) else None

    def function_ir(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ir.Function:
        """The function of a statement; always the same object."""
        found = self._functions.get(id(node))
        if found is None:
            plain = first_call(node) if isinstance(node, ast.FunctionDef) else node
            found = self._functions[id(node)] = translate_function(plain, self.place)
        return found

    def class_value(self, run: Run, node: ast.ClassDef, position: int) -> Value:
        """What a class statement binds."""
        found = self._classes.get(id(node))
        if found is None:
            found = self._classes[id(node)] = translate_class(node, self.place)
        limit = (self.dotted, position)
        made = settle(run, lambda child: child.machine.evaluate(child, found, self), limit).value
        if isinstance(made, PyClass):
            unsettle(self.index, made)
        return made

    def import_name(
        self, run: Run, module: str, name: str | None, span: Span, *, strict: bool = True
    ) -> Value:
        """What an import binds. ``strict``: the imported module's own imports count, too.

        Raises:
            Failed: ``ModuleNotFoundError`` or ``ImportError`` where it certainly fails.
        """
        try:
            return self.project.import_name(run, self, module, name, span, strict=strict)
        except CircularName:
            if not strict:
                raise
            return Unknown(f"{module}.{name} depends on itself", span)

    def from_star(self, run: Run, source: str, name: str, span: Span) -> Value:
        """What ``from source import *`` gives ``name``, or ``MISSING``."""
        found = self.project.locate(source, self)
        if not isinstance(found, PyModule):
            # A module outside the source: what it exports is not known.
            return MISSING if found is None else Unknown(f"{source} may export {name}", span)
        if not self.project.may_define(found, name):
            return MISSING
        exported = found.exports(run, name, span)
        if exported is False:
            return MISSING
        value = found.cached(run, name)
        if isinstance(exported, Unknown) and value is not MISSING:
            return exported
        return value

    def exports(self, run: Run, name: str, span: Span) -> Value:
        """Whether ``from module import *`` takes a name: true, false or unknown."""
        if not self.index.binds("__all__"):
            return not name.startswith("_")
        listed = self.cached(run, "__all__")
        if isinstance(listed, (list, tuple)) and all(isinstance(x, str) for x in listed):
            return name in listed
        return Unknown(f"__all__ of {self.dotted} is not known", span)

    @cached_property
    def functions(self) -> dict[str, ast.FunctionDef | ast.AsyncFunctionDef]:
        """The top-level functions, the last of a name, conditional ones too."""
        nodes = (n for n in flat(self.index.body) if isinstance(n, FUNCTIONS))
        return {node.name: node for node in nodes}


class View(Module):
    """A module as it is before one of its statements."""

    def __init__(self, module: PyModule, position: int) -> None:
        self.module = module
        self.position = position
        self.dotted = module.dotted

    def lookup(self, run: Run, name: str, span: Span) -> Value:
        """What a name means to the code of that statement."""
        if self.module.index.final(name, self.position):
            return self.module.lookup(run, name, span)
        try:
            return self.module.before(run, name, self.position, span)
        except MissingName:
            return self.module.project.builtin(self.dotted, name, span)

    def import_name(self, run: Run, module: str, name: str | None, span: Span) -> Value:
        """What an import binds."""
        return self.module.import_name(run, module, name, span)
