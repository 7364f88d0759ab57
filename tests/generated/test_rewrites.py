"""Python modules in many constructs against Python itself: known arguments, arguments that are
symbols, and one argument that may be anything."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Any
from unittest.mock import patch

import pytest

from mlaprobe.evaluator.engine.machine import Machine
from mlaprobe.evaluator.engine.runs import Outcome, Run
from mlaprobe.evaluator.engine.shared import SharedState
from mlaprobe.evaluator.ir import NOWHERE
from mlaprobe.evaluator.python.project import PyProject
from mlaprobe.evaluator.symbolic.formulas import Tree
from mlaprobe.evaluator.symbolic.symbols import ConcretizationError, PathCondition, Sym
from mlaprobe.evaluator.values.unknown import Unknown
from mlaprobe.stages.environment.pybuiltins import python_externals
from mlaprobe.stages.instantiate import PathSummary
from tests.generated.rewrites import CASES, CHANGED, LASTING, REWRITES, WRITTEN

HEADS = (1, 8, 12, 16, 17, 32, 48, 64, 128, 144)
QLENS = (1, 2, 3)
UNKNOWN = "?"
FAILS = "!"


class Asked:
    """A module as mlaprobe reads it."""

    def __init__(self, text: str) -> None:
        self.machine = Machine()
        files = {"pkg/__init__.py": "", "pkg/m.py": text}
        self.project = PyProject(files.get, roots=("pkg",), externals=python_externals())
        module = self.project.module("pkg.m")
        assert module is not None
        self.module = module
        self.state = SharedState()
        self.tree = Tree(("heads", "qlen"))

    def paths(self, args: tuple[Any, ...]) -> tuple[Outcome, ...]:
        """Every path."""

        def start(run: Run) -> Any:
            function = self.module.lookup(run, "native", NOWHERE)
            return self.machine.call(run, function, args, {}, NOWHERE)

        return self.machine.explore(
            start, lambda script: Run(self.machine, script=script, shared=self.state)
        )

    def shared(self, args: tuple[int, int]) -> tuple[Outcome, ...]:
        """Every path, from an earlier run where one covers the arguments."""
        found = self.tree.find(args)
        if found is None:
            recorder = PathCondition()
            names = ("heads", "qlen")
            symbols = tuple(Sym(v, n, recorder) for n, v in zip(names, args, strict=True))
            try:
                paths = self.paths(symbols)
                found = PathSummary(paths, names, answer=paths)
            except ConcretizationError:
                return self.paths(args)
            self.tree.add(recorder.conditions, args, found)
        outcomes: tuple[Outcome, ...] = found.answer(args)
        return outcomes


def python(text: str, pairs: Iterable[tuple[int, int]]) -> dict[tuple[int, int], Any]:
    """What Python makes of a module."""
    module = ModuleType("rewritten")
    found: dict[tuple[int, int], Any] = {}
    with patch.dict(sys.modules, {module.__name__: module}):  # dataclasses look there
        exec(text, module.__dict__)
        for pair in pairs:
            try:
                found[pair] = shown(module.native(*pair))
            except Exception as error:
                found[pair] = FAILS + type(error).__name__
    return found


def shown(value: Any) -> str:
    """A value as text, ``?`` where something in it is not known; a list is shown as a tuple."""
    if isinstance(value, (list, tuple)):
        parts = [shown(v) for v in value]
        return UNKNOWN if UNKNOWN in parts else f"({', '.join(parts)})"
    if isinstance(value, (int, float, str)) or value is None:
        return repr(value)
    return UNKNOWN


def result(outcomes: tuple[Outcome, ...]) -> str:
    """What all paths agree on, ``?`` where they do not or something is unknown."""
    texts = set()
    for outcome in outcomes:
        if outcome.kind == "failed":
            assert outcome.failure is not None
            texts.add(FAILS + outcome.failure.how)
        else:
            texts.add(shown(outcome.value) if outcome.kind == "returned" else UNKNOWN)
    return texts.pop() if len(texts) == 1 else UNKNOWN


PAIRS = tuple((heads, qlen) for heads in HEADS for qlen in QLENS)
OPEN_QLEN = Unknown("a query length", key=("qlen",), free="qlen")
OPEN_HEADS = Unknown("a head count", key=("heads",), free="heads")
UNFOLLOWED = Unknown("something that is not followed")


@pytest.mark.parametrize("name", sorted(REWRITES))
def test_a_module_says_what_python_says(name: str) -> None:
    wanted, asked = python(REWRITES[name], PAIRS), Asked(REWRITES[name])
    told = {pair: (result(asked.paths(pair)), result(asked.shared(pair))) for pair in PAIRS}
    wrong = {pair: answers for pair, answers in told.items() if set(answers) != {wanted[pair]}}
    assert not wrong, next((pair, *answers, wanted[pair]) for pair, answers in wrong.items())


@pytest.mark.parametrize("name", sorted({**CASES, **WRITTEN}))
def test_a_module_never_says_anything_else(name: str) -> None:
    text = {**CASES, **WRITTEN}[name]
    wanted, asked = python(text, PAIRS), Asked(text)
    for pair in PAIRS:
        for answer in (result(asked.paths(pair)), result(asked.shared(pair))):
            assert answer in (UNKNOWN, wanted[pair]), pair


def test_most_of_the_cases_are_followed() -> None:
    unclear = [n for n, text in CASES.items() if UNKNOWN in _told(Asked(text))]
    assert len(unclear) < len(CASES) / 3, unclear


def _told(asked: Asked) -> set[str]:
    return {result(asked.paths(pair)) for pair in PAIRS}


@pytest.mark.parametrize("name", sorted({**CASES, **REWRITES}))
def test_what_holds_for_any_input_holds_for_each(name: str) -> None:
    text = {**CASES, **REWRITES}[name]
    wanted, asked = python(text, PAIRS), Asked(text)
    for unclear in (OPEN_QLEN, UNFOLLOWED):
        for heads in HEADS:
            answer = result(asked.paths((heads, unclear)))
            assert answer == UNKNOWN or {wanted[heads, q] for q in QLENS} == {answer}, heads
    for unclear in (OPEN_HEADS, UNFOLLOWED):
        for qlen in QLENS:
            answer = result(asked.paths((unclear, qlen)))
            assert answer == UNKNOWN or {wanted[h, qlen] for h in HEADS} == {answer}, qlen


@pytest.mark.parametrize("name", sorted(LASTING))
def test_what_earlier_calls_have_left_is_not_known(name: str) -> None:
    """What a module says depends on what it was asked before."""
    alone = {pair: python(LASTING[name], [pair])[pair] for pair in PAIRS}
    assert python(LASTING[name], (*PAIRS, *PAIRS)) != alone
    asked = Asked(LASTING[name])
    assert {result(asked.paths(pair)) for pair in PAIRS} == {UNKNOWN}
    assert {result(asked.shared(pair)) for pair in PAIRS} == {UNKNOWN}


@pytest.mark.parametrize("name", sorted(CHANGED))
def test_what_is_changed_unseen_is_not_claimed(name: str) -> None:
    wanted, asked = python(CHANGED[name], PAIRS), Asked(CHANGED[name])
    for pair in PAIRS:
        assert result(asked.paths(pair)) in (UNKNOWN, wanted[pair]), pair
