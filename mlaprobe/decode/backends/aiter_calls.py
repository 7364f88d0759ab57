"""Calls functions of the installed AITER by what their parameters mean.

Their parameter lists changed several times, order included. So every argument is passed by name,
and only those that the installed function has: which parameter means what is in
``rules/layouts.yaml``, the same table that the stages are read with.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from mlaprobe.decode.interface import DecodeError
from mlaprobe.rulefiles.layouts import layouts


class Functions(Protocol):
    """Where AITER's functions come from."""

    def find(self, name: str) -> Callable[..., Any] | None:
        """``sizing``, ``planner``, ``dispatcher``, ``gluon`` or ``shape_support``; ``None`` where
        this AITER has no such function."""


class InstalledFunctions:
    """The functions of the AITER in this environment, imported when they are first wanted."""

    def find(self, name: str) -> Callable[..., Any] | None:
        """See ``Functions``.

        Raises:
            DecodeError: AITER cannot be imported.
        """
        for module_name, function in layouts().python_places(name):
            try:
                module = importlib.import_module(module_name)
            except ModuleNotFoundError as error:
                if error.name is not None and module_name.startswith(error.name):
                    continue
                raise _broken(error) from error
            except Exception as error:
                raise _broken(error) from error
            found: Callable[..., Any] | None = getattr(module, function, None)
            if found is not None:
                return found
        return None


def _broken(error: Exception) -> DecodeError:
    lines = str(error).strip().splitlines() or ["no message"]
    return DecodeError(
        f"AITER is installed and cannot be imported: {type(error).__name__}: {lines[0]}",
        hint="python -c 'import aiter' shows the whole error",
    )


class Call:
    """One function of AITER, with its parameters by meaning."""

    def __init__(self, stage: str, function: Callable[..., Any]) -> None:
        self._stage = stage
        self._function = function
        roles = layouts().call_roles(stage)
        names = inspect.signature(function).parameters
        self._roles = {name: roles[name] for name in names if name in roles}

    def takes(self, role: str) -> bool:
        """Whether it has a parameter of that meaning."""
        return role in self._roles.values()

    def bind(self, values: Mapping[str, Any], *open_roles: str) -> Callable[..., Any]:
        """A function of what is left open, in that order, with all else fixed.

        Args:
            values: by meaning; those that the function has no parameter for are left out.
            open_roles: what each call passes, by meaning.

        Raises:
            DecodeError: the function needs something that neither gives.
        """
        fixed = {name: values[role] for name, role in self._roles.items() if role in values}
        names = [(n, open_roles.index(r)) for n, r in self._roles.items() if r in open_roles]
        self._check(frozenset(fixed).union(name for name, _ in names))
        function = self._function

        def call(*given: Any) -> Any:
            return function(**fixed, **{name: given[at] for name, at in names})

        return call

    def __call__(self, **values: Any) -> Any:
        """Calls it once, with values by meaning."""
        return self.bind(values)()

    def _check(self, given: frozenset[str]) -> None:
        for name, parameter in inspect.signature(self._function).parameters.items():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            if parameter.default is parameter.empty and name not in given:
                function = getattr(self._function, "__name__", self._stage)
                raise DecodeError(
                    f"the installed AITER's {function} needs {name}, and mlaprobe does not know "
                    "what to pass for it",
                    hint="add its meaning to rules/layouts.yaml (parameters)",
                )


def call_of(functions: Functions, stage: str) -> Call:
    """A function of AITER.

    Raises:
        DecodeError: this AITER has none.
    """
    found = functions.find(stage)
    if found is None:
        names = " or ".join(".".join(place) for place in layouts().python_places(stage))
        raise DecodeError(f"the installed AITER has no {names}")
    return Call(stage, found)
