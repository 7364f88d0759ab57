"""The session of one source: its modules, what is outside them, and what is kept of runs.

A :class:`SourceSession` holds the machine and the modules of one source. A question gives the GPU's
architecture and the environment; values that depend on them are cached per such context. What an
evaluation needs for itself is in its runs and goes with them. What is kept for later ones (texts,
modules, compiled code, values of a context, answers) is filled in by one thread at a time, and
only with what is finished (``SourceSession.exclusive``).
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Hashable, Mapping
from functools import cached_property, partial
from typing import Any, TypeVar

from mlaprobe.core.caches import Cache, cache
from mlaprobe.core.elsewhere import SetElsewhere
from mlaprobe.errors import SourceError
from mlaprobe.evaluator.cpp.preprocess import TranslationUnit
from mlaprobe.evaluator.cpp.unit import CppModule
from mlaprobe.evaluator.engine.machine import Machine
from mlaprobe.evaluator.engine.runs import Outcome, Run
from mlaprobe.evaluator.engine.shared import SharedState
from mlaprobe.evaluator.ir import Node
from mlaprobe.evaluator.python.project import INSTALLED, PyProject
from mlaprobe.evaluator.python.values import Later
from mlaprobe.evaluator.symbolic.formulas import Expr, Tree
from mlaprobe.evaluator.symbolic.symbols import ConcretizationError, PathCondition, Sym
from mlaprobe.evaluator.values.kinds import Closure
from mlaprobe.rulefiles.layouts import layouts
from mlaprobe.sources import Source
from mlaprobe.sources.reads import Listing
from mlaprobe.stages.environment.bindings import Bindings, enum_ids
from mlaprobe.stages.environment.dtypes import named_dtypes
from mlaprobe.stages.environment.libraries import Library
from mlaprobe.stages.environment.outside import cpp_externals, device_functions, foreign
from mlaprobe.stages.environment.pybuiltins import python_externals
from mlaprobe.stages.environment.settings import settings_externals
from mlaprobe.stages.instantiate import Leaf, PathSummary, Solved

T = TypeVar("T")
Context = tuple[str, tuple[tuple[str, str], ...]]
_CPP = (".cu", ".cpp", ".hip", ".cuh", ".h", ".hpp")


class Exclusive:
    """One thread at a time, which may enter again. What the source holds open for reading is
    closed when the last one leaves."""

    __slots__ = ("_depth", "_lock", "_source")

    def __init__(self, source: Source) -> None:
        self._source = source
        self._lock = threading.RLock()
        self._depth = 0

    def __enter__(self) -> None:
        self._lock.acquire()
        if self._depth == 0:
            self._source.hold()
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        try:
            if self._depth == 0:
                self._source.rest()
        finally:
            self._lock.release()


class SourceSession:
    """One source, ready to be run."""

    def __init__(self, source: Source, elsewhere: SetElsewhere | None = None) -> None:
        """
        Args:
            elsewhere: what modules set of each other, where that was found before.
        """
        self.source = source
        self._elsewhere = elsewhere
        self.machine = Machine()
        self.names = layouts()
        self.watch: list[Callable[[Node], tuple[str, Node] | None]] = []
        """What the stages want to observe of branches (see ``Machine.watch``)."""
        self.machine.watch = self._watched
        self._modules: dict[str, CppModule] = {}
        self._functions: dict[str, Closure | None] = {}
        self._trees: dict[Hashable, Tree] = cache(Cache.PATHS)
        self._shared: dict[Context, SharedState] = {}
        self._knobs: dict[Context, set[str]] = {}
        self.exclusive = Exclusive(source)
        """Whoever evaluates, or looks at what evaluation keeps, does it within."""
        self.listed: dict[Listing, None] = {}
        """Folders whose files were listed: answers depend on what is in them."""
        self.tracing = False
        """Whether runs over symbols are traced, so that none is needed to find their evidence."""
        self.generated: dict[str, Any] = {}
        """Variables that AITER's build generates (kernel tables), by name."""

    def forget_runs(self) -> None:
        """Lets go of the runs over symbols: traced ones take a lot of room."""
        with self.exclusive:
            self._trees.clear()

    def _watched(self, branch: Node) -> tuple[str, Node] | None:
        return next((found for w in self.watch if (found := w(branch)) is not None), None)

    # --- text ------------------------------------------------------------------------------------

    def text(self, path: str) -> str | None:
        """The text of a file, ``None`` where there is none; one that is no text reads as empty."""
        try:
            file = self.source.read(path)
        except SourceError:
            return ""
        return None if file is None else "" if file.is_binary else file.text

    def files(self, folder: str, endings: tuple[str, ...]) -> tuple[str, ...]:
        """The files of a folder, and of those in it, that end so."""
        self.listed[folder, endings] = None
        return tuple(path for path in self.source.list(folder) if path.endswith(endings))

    # --- C++ -------------------------------------------------------------------------------------

    def cpp(self, path: str) -> CppModule:
        """The translation unit of a C++ file."""
        module = self._modules.get(path)
        if module is None:
            unit = self.translation_unit(path)
            module = CppModule(
                unit,
                externals=self.cpp_externals,
                foreign=partial(foreign, self.names.data["foreign"]),
                generated=self.generated,
            )
            self._modules[path] = module
        return module

    def translation_unit(self, path: str, macros: tuple[str, ...] = ()) -> TranslationUnit:
        """A C++ file with what it includes, and further macros of the compiler."""
        data = self.names.data
        return TranslationUnit(
            self.text,
            path,
            include_dirs=data["include_dirs"],
            predefined=(*data["predefined"], *macros),
        )

    def cpp_function(self, name: str, places: tuple[tuple[str, str], ...] = ()) -> Closure | None:
        """The C++ function of that name, in the files of ``places`` or anywhere in the source."""
        if name not in self._functions:
            near = [path for path, _ in places]
            paths = (p for p in self.files("csrc", _CPP) if p not in near)
            found = next(
                (f for p in (*near, *paths) if (f := self._defined(p, name)) is not None), None
            )
            self._functions[name] = self._exported(name) if found is None else found
        return self._functions[name]

    def _exported(self, name: str) -> Closure | None:
        """The C++ function that Python gets under a name: pybind's ``m.def("name", &function)``."""
        self._functions[name] = None  # it may be exported under its own name
        pattern = re.compile(rf'"{re.escape(name)}"[\s\\]*,[\s\\]*&[\s\\]*([\w:]+)')
        for path in self.files("csrc", _CPP):
            text = self.text(path)
            match = pattern.search(text) if text is not None and f'"{name}"' in text else None
            other = match[1].rpartition("::")[2] if match is not None else name
            if other != name:
                return self.cpp_function(other)
        return None

    def _defined(self, path: str, name: str) -> Closure | None:
        text = self.text(path)
        return self.cpp(path).function(name) if text is not None and name in text else None

    @cached_property
    def cpp_externals(self) -> dict[str, Any]:
        """What C++ code finds outside the source; a stage may add to it."""
        return {**cpp_externals(), **self.device_functions()}

    def device_functions(self) -> dict[str, Any]:
        """Functions that return properties of the device, in either language."""
        return device_functions(self.names.data)

    # --- Python ----------------------------------------------------------------------------------

    @cached_property
    def python(self) -> PyProject:
        """The Python modules of the source."""
        externals: dict[str, Any] = python_externals()
        externals.update({n: t for n, t in named_dtypes().items() if n.startswith("torch.")})
        externals.update(settings_externals(self.names.data["settings"]))
        overrides = self.device_functions()
        overrides.update({dotted: Library(dotted) for dotted in self.names.data["loggers"]})
        for dotted, rule in self.names.data["bindings"]["enums"].items():
            overrides[dotted] = Later(partial(enum_ids, self, rule))
        return PyProject(
            self.text,
            externals=externals,
            externals_installed=INSTALLED.union(self.names.data["required_packages"]),
            overrides=overrides,
            entry_packages=self.names.data["dispatcher"]["packages"],
            transparent=self.names.data["bindings"]["transparent"],
            entry_decorators=self.names.data["bindings"]["decorators"],
            elsewhere=self._elsewhere,
        )

    # --- running ---------------------------------------------------------------------------------

    def explore(
        self,
        start: Callable[[Run], Any],
        context: Context,
        *,
        trace: bool = False,
        limit: int = 64,
        facts: dict[str, Any] | None = None,
        decided: Mapping[Hashable, int] | None = None,
        on_entry: Callable[..., Any] | None = None,
        enough: Callable[[Outcome], bool] = lambda outcome: False,
        shared: SharedState | None = None,
    ) -> tuple[Outcome, ...]:
        """Every path of ``start`` on an arch, with an environment. ``decided`` is what is known of
        branches on unknown values before (see ``Outcome``). ``shared`` is the state of modules
        where ``facts`` make it another than that of the context."""
        arch, env = context
        known = {"arch": arch, **(facts or {})}
        variables = dict(env)

        def make(script: tuple[int, ...]) -> Run:
            return Run(
                self.machine,
                env=variables,
                shared=shared or self._shared.setdefault(context, SharedState()),
                script=script,
                facts=known,
                decisions=dict(decided or {}),
                trace=[] if trace else None,
                knobs=self._knobs.setdefault(context, set()),
                on_entry=on_entry or self.bindings.called,
            )

        with self.exclusive:
            return self.machine.explore(start, make, limit=limit, enough=enough)

    def solve(
        self,
        key: Hashable,
        inputs: Mapping[str, int],
        start: Callable[[Run, Mapping[str, Any]], Any],
        context: Context,
        read: Callable[[tuple[Outcome, ...], Mapping[str, Any]], T],
        **options: Any,
    ) -> Solved[T]:
        """What ``read`` makes of every path for certain inputs, from an earlier answer where one
        covers them.

        ``start`` and ``read`` get the inputs as symbols, and paths have symbols in them: what
        ``read`` compares of them (``symbols.same``, ``operators.binary``) is a condition of its
        answer like those of the code. Where one of the three cannot work with symbols, the
        question is answered with plain ones, for itself alone.

        Args:
            key: everything of the question but the inputs and the context.
            inputs: numbers and flags.
            options: of ``explore``.
        """
        with self.exclusive:
            tree = self._tree(key, tuple(inputs), context)
            numbers = tuple(inputs.values())
            found = tree.find(numbers)
            if found is not None:
                return Solved(found.answer(numbers), Leaf(numbers, found))

            def explore(given: Mapping[str, Any], trace: bool) -> tuple[Outcome, ...]:
                return self.explore(lambda r: start(r, given), context, trace=trace, **options)

            found, conditions = self._run(tree.names, inputs, explore, read)
            answer = found.answer(numbers)
            if conditions is None:
                return Solved(answer)
            tree.add(conditions, numbers, found)
            return Solved(answer, Leaf(numbers, found))

    def _run(
        self,
        names: tuple[str, ...],
        inputs: Mapping[str, int],
        explore: Callable[[Mapping[str, Any], bool], tuple[Outcome, ...]],
        read: Callable[[tuple[Outcome, ...], Mapping[str, Any]], Any],
    ) -> tuple[PathSummary, list[tuple[Expr, bool]] | None]:
        """A run over symbols and the conditions that it holds under, or one over plain inputs."""

        def retrace(numbers: tuple[int, ...]) -> tuple[Outcome, ...]:
            return explore(dict(zip(names, numbers, strict=True)), True)

        path_condition = PathCondition()
        symbols = {
            name: Sym(value, name if type(value) is int else ("!=", name, 0), path_condition)
            for name, value in inputs.items()
        }
        try:
            paths = explore(symbols, self.tracing)
            answer = read(paths, symbols)
        except ConcretizationError:
            paths = explore(inputs, False)
            return PathSummary(paths, names, answer=read(paths, inputs), retrace=retrace), None
        again = None if self.tracing else retrace
        found = PathSummary(paths, names, path_condition.parts, answer=answer, retrace=again)
        return found, path_condition.conditions

    def covering(
        self, key: Hashable, names: tuple[str, ...], context: Context
    ) -> Callable[[tuple[int, ...]], object | None]:
        """Finds the earlier run that answers for certain inputs, where there is one (see
        ``solve``)."""
        tree = self._tree(key, names, context)

        def find(inputs: tuple[int, ...]) -> PathSummary | None:
            with self.exclusive:
                return tree.find(inputs)  # type: ignore[no-any-return]

        return find

    def _tree(self, key: Hashable, names: tuple[str, ...], context: Context) -> Tree:
        tree = self._trees.get((key, context))
        if tree is None:
            tree = self._trees[key, context] = Tree(names)
        return tree

    @cached_property
    def bindings(self) -> Bindings:
        """The compiled functions that Python code calls."""
        return Bindings(self)

    @property
    def knobs(self) -> tuple[str, ...]:
        """Environment variables that anything evaluated so far has read."""
        with self.exclusive:
            return tuple(sorted(set().union(*self._knobs.values())))

    def knobs_in(self, context: Context) -> frozenset[str]:
        """Those that anything has read so far on an arch, with an environment."""
        with self.exclusive:
            return frozenset(self._knobs.get(context, ()))
