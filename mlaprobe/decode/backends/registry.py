"""Finds back ends by name, and chooses one."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from mlaprobe.decode.interface import Backend, DecodeError
from mlaprobe.decode.problem import Problem
from mlaprobe.errors import UsageError
from mlaprobe.padding.plan import PadPlan

AUTO = "auto"
NAMES = ("aiter", "triton", "torch")
"""In the order in which ``auto`` looks at them; each is a module of this package."""


class UnfitError(DecodeError):
    """No back end, or not the one that was named, can run a problem here."""


def backend(name: str) -> Backend:
    """A back end.

    Raises:
        UsageError: there is none of that name.
        DecodeError: what it is made with is not installed.
    """
    if name not in NAMES:
        raise UsageError(
            f"unknown back end {name!r}", hint=f"use one of {', '.join((AUTO, *NAMES))}"
        )
    try:
        return _loaded(name)
    except ImportError as error:
        raise DecodeError(f"the {name} back end cannot be used: {_lacks(error)}") from None


def _loaded(name: str) -> Backend:
    found: Backend = import_module(f"mlaprobe.decode.backends.{name}").BACKEND
    return found


def _lacks(error: ImportError) -> str:
    return f"it needs {error.name or 'a package'}, which is not installed here"


def choose(name: str, problem: Problem, plan: PadPlan) -> tuple[Backend, tuple[str, ...]]:
    """The back end to use, and why those before it were not: the named one, or for ``auto`` the
    first that can run the problem.

    Raises:
        UsageError: there is none of that name.
        UnfitError: it cannot run the problem; for ``auto``: none can.
    """
    if name != AUTO:
        found = backend(name)
        reason = found.unfit(problem, plan)
        if reason is not None:
            raise UnfitError(
                f"the {name} back end cannot run this: {reason}",
                hint="--backend auto takes one that can",
            )
        return found, ()
    passed: list[str] = []
    for each, reason in _candidates(problem, plan):
        if reason is None and each is not None:
            return each, tuple(passed)
        passed.append(str(reason))
    raise UnfitError("no back end can run this: " + "; ".join(passed))


def _candidates(problem: Problem, plan: PadPlan) -> Iterator[tuple[Backend | None, str | None]]:
    for name in NAMES:
        try:
            found = _loaded(name)
        except ImportError as error:
            yield None, f"{name}: {_lacks(error)}"
            continue
        reason = found.unfit(problem, plan)
        yield found, None if reason is None else f"{name}: {reason}"
