"""``globals()``: the names of a module by their texts, to be read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.python.values import CircularName, MissingName
from mlaprobe.evaluator.symbolic.symbols import plain
from mlaprobe.evaluator.values import Args, Kwargs, Unknown, Value
from mlaprobe.evaluator.values.kinds import Builtin, Model

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.runs import Run
    from mlaprobe.evaluator.python.module import PyModule


@dataclass(slots=True, eq=False)
class ModuleNames(Model):
    """The dictionary of a module's names. What writes to it is seen where a name is looked up."""

    module: PyModule

    def get_in(self, run: Run, name: str, span: Span) -> Value:
        if name == "get":
            return Builtin("globals().get", self._get)
        return Unknown(f"globals().{name} is not followed", span)

    def index_in(self, run: Run, key: Value, span: Span) -> Value:
        try:
            return self._value(run, key, span)
        except MissingName:
            raise Failed("exception", "KeyError", repr(key), span) from None

    def contains_in(self, run: Run, item: Value, span: Span) -> Value:
        try:
            value = self._value(run, item, span)
        except MissingName:
            return False
        return value.derive("in", item) if isinstance(value, Unknown) else True

    def _get(self, run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        if kwargs or not 1 <= len(args) <= 2:
            return Unknown("this call of globals().get is not followed", span)
        try:
            return self._value(run, args[0], span)
        except MissingName:
            return args[1] if len(args) > 1 else None

    def _value(self, run: Run, key: Value, span: Span) -> Value:
        """The value of a name.

        Raises:
            MissingName: the module certainly has none of that name.
        """
        name = plain(key)
        if not isinstance(name, str) or name.startswith("__"):
            return Unknown("a name of the module that is not known", span)
        written = (id(self.module), name)
        if run.globals and written in run.globals:
            return run.globals[written]
        try:
            return run.own(self.module.named(run, name, span))
        except CircularName:
            return Unknown(f"{name} depends on itself", span)


def names_of(module: PyModule) -> Builtin:
    """The function ``globals`` as the code of a module has it."""

    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        if args or kwargs:
            raise Failed("exception", "TypeError", "globals() takes no arguments", span)
        return ModuleNames(module)

    return Builtin("globals", call)
