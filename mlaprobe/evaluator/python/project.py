"""Python's modules: which text a name stands for, through imports, without importing anything.

:class:`PyProject` holds the modules of one source. :class:`PyModule` answers what a top-level
name is; values that depend on the question are kept with the run's shared state, texts and trees
in the project.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from mlaprobe.core.elsewhere import SetElsewhere
from mlaprobe.evaluator import ir
from mlaprobe.evaluator.engine.runs import Run
from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.objects.classes import PyClass
from mlaprobe.evaluator.python.imports import missing_import, needed_by
from mlaprobe.evaluator.python.module import PyModule
from mlaprobe.evaluator.python.names.chain import Chain
from mlaprobe.evaluator.python.names.patches import Patches
from mlaprobe.evaluator.python.reading.files import FILES, opening
from mlaprobe.evaluator.python.reading.keeping import KEEPING
from mlaprobe.evaluator.python.reading.modulenames import names_of
from mlaprobe.evaluator.python.settle import MISSING
from mlaprobe.evaluator.python.state import changes, sort_of
from mlaprobe.evaluator.python.stdlib import STANDARD, find_spec
from mlaprobe.evaluator.python.values import (
    CircularName,
    EntryPoint,
    External,
    ExternalModule,
    MissingName,
    ModuleRef,
)
from mlaprobe.evaluator.values import Unknown, Value
from mlaprobe.evaluator.values.kinds import Model

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.modules import Module

_WITH_TORCH = {"filelock", "fsspec", "jinja2", "networkx", "sympy", "typing_extensions"}
_DECLARED = {"einops", "ninja", "packaging", "pandas", "psutil", "pybind11", "setuptools", "yaml"}
INSTALLED = frozenset(sys.stdlib_module_names | _WITH_TORCH | _DECLARED) | {
    "numpy",
    "torch",
    "triton",
}
"""Packages outside the source that are taken as installed, by default."""


class PyProject:
    """The Python modules of one source, by their dotted names."""

    def __init__(
        self,
        read: Callable[[str], str | None],
        *,
        externals: Mapping[str, Value],
        externals_installed: Iterable[str] = INSTALLED,
        overrides: Mapping[str, Value] | None = None,
        entry_packages: Iterable[str] = (),
        roots: Iterable[str] = ("aiter",),
        transparent: Iterable[str] = (),
        entry_decorators: Iterable[str] = (),
        elsewhere: SetElsewhere | None = None,
    ) -> None:
        self.read = read
        spec = find_spec(lambda dotted: self.locate(dotted, None))
        standard = {**STANDARD, **FILES, **KEEPING, "importlib.util.find_spec": spec}
        standard["builtins.open"] = opening(read, tuple(roots))
        self.externals: Mapping[str, Value] = {**standard, **externals}
        self.installed = frozenset(externals_installed)
        self.overrides: Mapping[str, Value] = overrides or {}
        """Values for functions of the source, by name or by dotted name."""
        self.entry_packages = tuple(entry_packages)
        """Packages whose functions make and launch kernels: calls of them are entry points."""
        self.roots = tuple(roots)
        """Packages that are taken as importable."""
        self.transparent = frozenset(transparent)
        """Decorators of the source, by name, of functions that compute what their bodies do."""
        self.entry_decorators = frozenset(entry_decorators)
        """Decorators of the source, by name, that make entry points."""
        self._elsewhere = elsewhere or SetElsewhere()
        self._modules: dict[str, PyModule | None] = {}

    @cached_property
    def needed(self) -> frozenset[str]:
        """The packages outside the source that the root packages cannot do without."""
        return needed_by(self, self.roots)

    @cached_property
    def chain(self) -> Chain:
        """The modules that importing the packages may run."""
        found = Chain(self)
        for root in self.roots:
            found.extend(root)
        return found

    @cached_property
    def patches(self) -> Patches:
        """Where a module of the source sets a name of another."""
        return Patches(self)

    # --- finding modules ---

    def module(self, dotted: str) -> PyModule | None:
        """A module of the source."""
        found = self._modules.get(dotted, self)
        if not isinstance(found, PyProject):
            return found
        result: PyModule | None = None
        base = dotted.replace(".", "/")
        if all(part.isidentifier() for part in dotted.split(".")):
            for path in (f"{base}/__init__.py", f"{base}.py"):
                text = self.read(path)
                if text is not None:
                    result = PyModule(self, dotted, path, text)
                    break
        self._modules[dotted] = result
        return result

    def locate(self, dotted: str, importer: PyModule | None) -> Value:
        """What an absolute import finds: a module, or ``None`` where it is not installed."""
        value = self.externals.get(dotted, MISSING)
        if value is not MISSING:
            return value
        found = self.module(dotted)
        if found is not None:
            return found
        if dotted.split(".")[0] in self.installed:
            return ExternalModule(self, dotted)
        return self._beside(dotted, importer) if importer is not None else None

    def _beside(self, dotted: str, importer: PyModule) -> PyModule | None:
        """A module in the importer's folder, or in one that the importer puts on the path."""
        package = importer.dotted if importer.is_package else importer.dotted.rpartition(".")[0]
        for piece in ("", *importer.index.path_pieces):
            prefix = [package, *piece.split("/")] if piece else [package]
            found = self.module(".".join([*prefix, dotted]))
            if found is not None:
                return found
        return None

    def may_define(self, module: PyModule, name: str, seen: frozenset[str] = frozenset()) -> bool:
        """Whether a look at the text leaves it possible that a module has a name."""
        text = module.index.text
        if name in text or "globals()" in text or "exec(" in text or "__getattr__" in text:
            return True
        seen = seen | {module.dotted}
        for source in module.index.star_imports:
            if source not in seen:
                found = self.locate(source, module)
                if found is None:
                    continue
                if not isinstance(found, PyModule) or self.may_define(found, name, seen):
                    return True
        return False

    # --- values ---

    def external(self, dotted: str, span: Span) -> Value:
        """A name outside the source."""
        value = self.externals.get(dotted, MISSING)
        return External(self, dotted, span) if value is MISSING else value

    def builtin(self, module: str, name: str, span: Span) -> Value:
        """One of Python's own names.

        Raises:
            MissingName: Python has no such name.
        """
        own = self.module(module) if name == "globals" else None
        if own is not None:
            return names_of(own)
        if not hasattr(builtins, name) and f"builtins.{name}" not in self.externals:
            raise MissingName(module, name, span)
        return self.external(f"builtins.{name}", span)

    def attribute(self, run: Run, dotted: str, name: str, span: Span) -> Value:
        """An attribute of a module of the source.

        Raises:
            MissingName: there is certainly no such attribute.
        """
        module = self.module(dotted)
        inside = self.module(f"{dotted}.{name}")
        if module is None:
            if inside is not None:
                return ModuleRef(self, inside.dotted)
            return Unknown(f"{dotted} has no text of its own", span)
        try:
            return module.member(run, name, span)
        except MissingName:
            if inside is None:
                raise
            return ModuleRef(self, inside.dotted)

    def import_name(
        self,
        run: Run,
        importer: PyModule | None,
        module: str,
        name: str | None,
        span: Span,
        *,
        strict: bool = True,
    ) -> Value:
        """What ``from module import name`` or ``import module`` binds.

        Raises:
            Failed: ``ModuleNotFoundError`` or ``ImportError`` where it certainly fails.
        """
        found = self.locate(module, importer)
        entry = self._kernel(found, name)
        if entry is not None:
            return entry
        if found is None and name is not None and self.module(f"{module}.{name}") is not None:
            return ModuleRef(self, f"{module}.{name}")
        missing = module if found is None else None
        if strict and isinstance(found, PyModule):
            missing = missing_import(self, found)
        if missing is not None:
            message = f"No module named {missing!r}"
            raise Failed("exception", "ModuleNotFoundError", message, span)
        if not isinstance(found, PyModule):
            return found if name is None else self._from_outside(run, found, module, name, span)
        if name is None:
            return ModuleRef(self, found.dotted)
        try:
            return self.attribute(run, found.dotted, name, span)
        except CircularName:
            raise
        except MissingName:
            message = f"cannot import name {name!r} from {module!r}"
            raise Failed("exception", "ImportError", message, span) from None

    def _kernel(self, module: Module, name: str | None) -> EntryPoint | None:
        """A function of a package that makes kernels."""
        if not isinstance(module, PyModule) or name not in module.functions:
            return None
        if not any(f"{module.dotted}.".startswith(f"{p}.") for p in self.entry_packages):
            return None
        function = module.function_ir(module.functions[name])
        return EntryPoint(name, module, function, ())

    def _from_outside(self, run: Run, found: Value, module: str, name: str, span: Span) -> Value:
        dotted = f"{module}.{name}"
        if isinstance(found, Model) and dotted not in self.externals:
            return found.get_in(run, name, span)
        return self.external(dotted, span)

    def patched(self, module: str, name: str) -> Unknown | None:
        """Why a name of a module may be another than its own text makes it."""
        own = self.module(module)
        if own is not None and self._elsewhere.rules_out(own.path, name):
            return None
        span = self.patches.of(module, name)
        if span is None:
            return None
        return Unknown(f"{name} of {module} is set by another module", span)

    def changed_elsewhere(self, module: PyModule, name: str, value: Value) -> Unknown | None:
        """Why the value of a name may be another than the module's text makes of it."""
        if isinstance(value, PyClass):
            span = self.patches.giving(module.dotted, name, value.attributes)
        elif changes(value, module.index):
            span = self.patches.changing(module.dotted, name, sort_of(value, module.index))
        else:
            return None
        why = f"{name} of {module.dotted} may be changed by another module"
        return None if span is None else Unknown(why, span)

    # --- helpers for stages ---

    def function(self, dotted: str, name: str) -> ir.Function | None:
        """A top-level function of a module."""
        module = self.module(dotted)
        node = module.functions.get(name) if module is not None else None
        return module.function_ir(node) if module is not None and node is not None else None
