"""What one call leaves behind changes no answer to another."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from mlaprobe.evaluator.engine.runs import Outcome, Run
from mlaprobe.evaluator.engine.shared import SharedState
from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.ir import NOWHERE, Span
from mlaprobe.evaluator.values.kinds import Builtin
from mlaprobe.evaluator.values.unknown import Unknown
from mlaprobe.stages.environment.pybuiltins import python_externals
from tests.evaluator.session import SourceSession

PROGRAMS = {
    "a key of a module's dict": """
        T = {1: "a"}
        def f(x):
            T[x] = "b"
            return len(T)
    """,
    "by another name": """
        T = {1: "a"}
        def f(x):
            t = T
            t[x] = "b"
            return len(t)
    """,
    "handed over": """
        L = [1, 2]
        def add(items, x):
            items.append(x)
            return len(items)
        def f(x):
            return add(L, x)
    """,
    "inside another": """
        N = {"x": [1]}
        def f(x):
            N["x"].append(x)
            return len(N["x"])
    """,
    "augmented": """
        L = [1, 2]
        def f(x):
            items = L
            items += [x]
            return len(items)
    """,
    "in a loop": """
        L = [1, 2]
        def f(x):
            for items in (L,):
                items.append(x)
            return len(L)
    """,
    "in a tuple": """
        P = ([1], 2)
        def f(x):
            items, _ = P
            items.append(x)
            return len(P[0])
    """,
    "a default": """
        def f(x, items=[]):
            items.append(x)
            return len(items)
    """,
    "a class": """
        class C:
            seen = 0
        def f(x):
            C.seen = x + 1
            return C.seen
    """,
    "a class's list": """
        class C:
            seen = [1]
        def f(x):
            C.seen.append(x)
            return len(C.seen)
    """,
    "a variable around": """
        def counter():
            count = 0
            def step():
                nonlocal count
                count += 1
                return count
            return step
        STEP = counter()
        def f(x):
            return STEP()
    """,
    "a list around": """
        def counter():
            seen = []
            def step(x):
                seen.append(x)
                return len(seen)
            return step
        STEP = counter()
        def f(x):
            return STEP(x)
    """,
    "a global": """
        N = 0
        def f(x):
            global N
            N += 1
            return N
    """,
    "a remembered list": """
        def made(n):
            return ([n], n)
        def f(x):
            items, _ = made(1)
            items.append(x)
            return len(made(1)[0])
    """,
    "filled while it is imported": """
        T = []
        def fill():
            for i in range(3):
                T.append(i)
        fill()
        def f(x):
            return len(T)
    """,
    "filled by a decorator": """
        T = {}
        def register(name):
            def keep(function):
                T[name] = function
                return function
            return keep
        @register("one")
        def one():
            return 1
        def f(x):
            return len(T)
    """,
    "filled through another name": """
        T = []
        def fill():
            items = T
            items.append(1)
        fill()
        def f(x):
            return len(T)
    """,
}


def outcomes(session: SourceSession, shared: SharedState, x: int) -> tuple[Outcome, ...]:
    def start(run: Run) -> Any:
        function = session.module().lookup(run, "f", NOWHERE)
        return session.machine.call(run, function, (x,), {}, NOWHERE)

    return session.machine.explore(
        start, lambda script: Run(session.machine, script=script, shared=shared)
    )


def known(paths: tuple[Outcome, ...]) -> list[Any] | None:
    """What all paths return, where that is known."""
    values = [path.value for path in paths]
    if any(path.kind != "returned" for path in paths):
        return None
    return None if any(isinstance(value, Unknown) for value in values) else values


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_a_known_answer_is_that_of_every_call(name: str) -> None:
    session = SourceSession(PROGRAMS[name], externals=python_externals())
    text = "\n".join(line[8:] for line in PROGRAMS[name].split("\n"))
    for order in itertools.permutations((2, 3, 5)):
        shared = SharedState()
        scope: dict[str, Any] = {}
        exec(text, scope)
        for x in order:
            found = known(outcomes(session, shared, x))
            assert found is None or set(found) == {scope["f"](x)}, (order, x)


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_the_order_of_the_questions_does_not_matter(name: str) -> None:
    session = SourceSession(PROGRAMS[name], externals=python_externals())
    alone = {x: known(outcomes(session, SharedState(), x)) for x in (2, 3)}
    shared = SharedState()
    for x in (2, 3, 2, 3):
        assert known(outcomes(session, shared, x)) == alone[x]


def test_what_nobody_changes_stays_known() -> None:
    session = SourceSession(
        """
        T = {"a": [1, 2]}
        def f(x):
            mine = list(T["a"])
            mine.append(x)
            return len(mine) + len(T["a"])
        """,
        externals=python_externals(),
    )
    shared = SharedState()
    assert [known(outcomes(session, shared, x)) for x in (1, 2)] == [[5], [5]]


def test_what_may_have_been_written_is_unknown_on_that_path_only() -> None:
    session = SourceSession(
        """
        import torch
        L = [1, 2]
        def size():
            return len(L)
        def f(x):
            if x > 2:
                torch.write(L)
            return size()
        """,
        externals=python_externals(),
        externals_installed=("torch",),
    )
    shared = SharedState()
    found = [known(outcomes(session, shared, x)) for x in (1, 3, 1)]
    assert found == [[2], None, [2]]


RAISING = {
    "after a handler inside has finished": """
        def f(x):
            try:
                raise ValueError("outer")
            except ValueError:
                try:
                    raise KeyError("inner")
                except KeyError:
                    pass
                raise
    """,
    "in a function that a handler calls": """
        def again():
            raise
        def f(x):
            try:
                raise ValueError("one")
            except ValueError:
                again()
    """,
    "after a function with a handler": """
        def quiet():
            try:
                raise KeyError("inner")
            except KeyError:
                return 1
        def f(x):
            try:
                raise ValueError("outer")
            except ValueError:
                quiet()
                raise
    """,
    "of the inner one": """
        def f(x):
            try:
                raise ValueError("outer")
            except ValueError:
                try:
                    raise KeyError("inner")
                except KeyError:
                    raise
    """,
    "in a finally": """
        def f(x):
            try:
                raise ValueError("outer")
            finally:
                try:
                    raise KeyError("inner")
                except KeyError:
                    pass
    """,
    "bare in a finally": """
        def f(x):
            try:
                try:
                    raise ValueError("outer")
                finally:
                    raise
            except KeyError:
                return 2
    """,
    "with two callers": """
        def again(n):
            raise
        def f(x):
            try:
                try:
                    raise ValueError("one")
                except ValueError:
                    again(1)
            except ValueError:
                try:
                    raise KeyError("two")
                except KeyError:
                    again(1)
    """,
}


@pytest.mark.parametrize("name", sorted(RAISING))
def test_a_bare_raise(name: str) -> None:
    session = SourceSession(RAISING[name], externals=python_externals())
    scope: dict[str, Any] = {}
    exec("\n".join(line[8:] for line in RAISING[name].split("\n")), scope)
    with pytest.raises(Exception) as caught:  # noqa: PT011 (whichever Python raises)
        scope["f"](1)
    (path,) = outcomes(session, SharedState(), 1)
    assert path.kind == "failed"
    assert path.failure is not None
    assert (path.failure.how, path.failure.message) == (
        type(caught.value).__name__,
        str(caught.value.args[0]),
    )


def test_a_bare_raise_that_nothing_answers() -> None:
    """Neither by itself nor after another function has handled something."""
    session = SourceSession(
        """
        def quiet():
            try:
                raise KeyError("inner")
            except KeyError:
                return 1
        def f(x):
            if x:
                quiet()
            raise
        """
    )
    shared = SharedState()
    for x in (0, 1, 0):
        (path,) = outcomes(session, shared, x)
        assert path.kind == "unknown"


def test_an_abort_is_not_the_end_of_a_finally() -> None:
    def stop(run: Run, args: tuple[Any, ...], kwargs: dict[str, Any], span: Span) -> None:
        raise Failed("abort", "abort", "the end", span)

    session = SourceSession(
        """
        def f(x):
            try:
                stop()
            finally:
                return 1
        """,
        overrides={"pkg.m.stop": Builtin("stop", stop)},
    )
    (path,) = outcomes(session, SharedState(), 1)
    assert path.kind == "failed"
    assert path.failure is not None
    assert path.failure.kind == "abort"
