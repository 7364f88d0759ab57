"""A package in memory, for tests."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import dedent
from typing import Any

import pytest

from mlaprobe.evaluator.closures.attributes import attribute
from mlaprobe.evaluator.engine.machine import Machine
from mlaprobe.evaluator.engine.runs import Outcome, Run
from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.ir import NOWHERE
from mlaprobe.evaluator.python.module import PyModule
from mlaprobe.evaluator.python.project import PyProject
from mlaprobe.evaluator.values.kinds import Builtin
from mlaprobe.evaluator.values.unknown import Unknown

KNOWN: dict[str, Any] = {
    "builtins.int": Builtin("int", lambda run, args, kwargs, span: _int(args[0])),
    "torch.bfloat16": "bf16",
}


def _int(value: Any) -> Any:
    try:
        return int(value)
    except (TypeError, ValueError) as error:
        return Unknown(f"int: {error}")


class SourceSession:
    """A package in memory, seen from one module."""

    def __init__(
        self, files: Mapping[str, str] | str, env: Mapping[str, str] | None = None, **options: Any
    ) -> None:
        if isinstance(files, str):
            files = {"pkg/m.py": files}
        texts = {path: dedent(text) for path, text in files.items()}
        self.asked: list[str] = []

        def read(path: str) -> str | None:
            self.asked.append(path)
            return texts.get(path)

        options.setdefault("externals", KNOWN)
        self.project = PyProject(read, roots=("pkg",), **options)
        self.machine = Machine()
        self.run = Run(self.machine, env=env or {})

    def module(self, dotted: str = "pkg.m") -> PyModule:
        found = self.project.module(dotted)
        assert found is not None
        return found

    def get(self, path: str, module: str = "pkg.m") -> Any:
        """The value of ``a`` or ``a.b.c`` as the module's code sees it."""
        name, *rest = path.split(".")
        value = self.module(module).lookup(self.run, name, NOWHERE)
        for part in rest:
            value = attribute(self.run, None, value, part, NOWHERE, python=True)
        return value

    def call(self, path: str, *args: Any, **kwargs: Any) -> Any:
        """Call a value of ``pkg.m``."""
        return self.machine.call(self.run, self.get(path), args, kwargs, NOWHERE)

    def paths(self, path: str, *args: Any) -> tuple[Outcome, ...]:
        """Every path of such a call."""
        return self.machine.explore(
            lambda run: self.machine.call(run, self.get(path), args, {}, NOWHERE),
            lambda script: Run(self.machine, script=script),
        )


def missing(session: SourceSession, path: str, module: str = "pkg.m") -> str:
    """How looking up something that is certainly not there fails."""
    with pytest.raises(Failed) as caught:
        session.get(path, module)
    assert caught.value.kind == "exception"
    return caught.value.how


def in_python(code: str, name: str, *args: Any) -> tuple[str, object]:
    """What Python does with a function of some code: how it ends, and its result or its error."""
    scope: dict[str, Any] = {}
    exec(code, scope)
    try:
        return "returned", scope[name](*args)
    except Exception as error:
        return "failed", type(error).__name__
