"""What goes wrong inside mlaprobe costs the answer at hand, and nothing else."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from mlaprobe.core.shape import Verdict
from mlaprobe.deciding.capability import Capability
from tests.crowd import everything
from tests.generated.deep import examples
from tests.stages.ask import BF16, FP8, opened, shape
from tests.trees import following, today
from tests.trees.common import Tree

QUESTIONS = [
    shape(arch, dtypes, heads, qlen, lse=lse)
    for arch, dtypes in (("gfx942", BF16), ("gfx950", FP8))
    for heads, qlen, lse in ((16, 1, False), (48, 2, True), (128, 1, True), (24, 1, False))
]
TREES = {"today": today.tree, "following": following.tree}
_EVALUATION = ("/mlaprobe/evaluator/", "/mlaprobe/stages/", "/mlaprobe/deciding/")


class Interrupted(BaseException):
    """What a signal handler raises: nothing catches it."""


class Injection:
    """Raises at one of the calls that an evaluation makes, by its number."""

    def __init__(self, at: int, error: type[BaseException]) -> None:
        self.at = at
        self.error = error
        self.calls = 0

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        if event != "call" or not any(p in frame.f_code.co_filename for p in _EVALUATION):
            return
        # What lets a thread in and out has no answer to lose.
        # A generator that is let go of has nobody to raise to.
        if frame.f_code.co_name in ("__enter__", "__exit__", "<genexpr>"):
            return
        self.calls += 1
        if self.calls == self.at:
            sys.setprofile(None)
            raise self.error("injected")


@contextmanager
def injected(at: int, error: type[BaseException]) -> Iterator[Injection]:
    injection = Injection(at, error)
    sys.setprofile(injection)
    try:
        yield injection
    finally:
        sys.setprofile(None)


def calls_of(root: Path, number: int) -> int:
    """How many calls it takes a new capability to answer a question."""
    with Capability.open(str(root)) as capability, injected(0, RuntimeError) as counting:
        capability.decide(QUESTIONS[number])
        return counting.calls


def answered(capability: Capability) -> list[Any]:
    return [everything(capability.decide(q)) for q in QUESTIONS]


@pytest.mark.parametrize("error", [RuntimeError, KeyError, RecursionError, Interrupted])
@pytest.mark.parametrize("name", sorted(TREES))
def test_a_fault_anywhere_costs_one_answer(
    tmp_path: Path, name: str, error: type[BaseException]
) -> None:
    tree: Tree = TREES[name]()
    with opened(tmp_path, tree) as whole:
        expected = answered(whole)
    total = calls_of(tmp_path, 0)
    assert total > 1000
    seed = sum(map(ord, name + error.__name__))
    steps = examples(2, 60)
    for step in range(steps):
        at = (seed * 7919 + step * total // steps) % total + 1
        with Capability.open(str(tmp_path)) as capability:
            with injected(at, error):
                try:
                    found = capability.decide(QUESTIONS[0])
                except Interrupted:
                    assert error is Interrupted
                else:
                    right = everything(found)[:4] == expected[0][:4]
                    assert right or found.verdict is Verdict.UNKNOWN, at
            assert answered(capability) == expected, at


def test_a_fault_is_said_to_be_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("on purpose")

    with opened(tmp_path, today.tree()) as capability:
        planner = "mlaprobe.stages.planner.Planner._read"
        with monkeypatch.context() as patch:
            patch.setattr(planner, broken)
            decision = capability.decide(QUESTIONS[0])
            assert decision.verdict is Verdict.UNKNOWN
            assert decision.stage == "planner"
            assert decision.message == "the evaluator failed: ZeroDivisionError: on purpose"
            assert capability.ask("planner", QUESTIONS[0]).status == "unknown"
            dispatcher = decision.outcome("dispatcher")
            assert dispatcher is not None
            assert dispatcher.status == "native", "the other stages are asked as ever"
        with monkeypatch.context() as patch:
            patch.setattr("mlaprobe.deciding.capability.judge", broken)
            assert capability.decide(QUESTIONS[1]).verdict is Verdict.UNKNOWN
        assert capability.decide(QUESTIONS[0]).verdict is Verdict.NATIVE
        assert capability.decide(QUESTIONS[1]).verdict is not Verdict.UNKNOWN


def test_evidence_that_cannot_be_found_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path, today.tree()) as capability:
        decision = capability.decide(QUESTIONS[0])
        with monkeypatch.context() as patch:
            patch.setattr("mlaprobe.stages.evidence.Trace.__init__", None)
            assert decision.evidence == ()
        assert decision.evidence


def test_deep_in_a_program(tmp_path: Path) -> None:
    """Where little of the stack is left, an answer may be lost, and is found higher up."""
    with opened(tmp_path, today.tree()) as capability:
        expected = answered(capability)

    def below(depth: int, capability: Capability) -> list[Any]:
        return below(depth - 1, capability) if depth else answered(capability)

    for depth in range(500, 950, examples(100, 10)):
        with Capability.open(str(tmp_path)) as fresh:
            try:
                found = below(depth, fresh)
            except RecursionError:
                found = []
            for mine, right in zip(found, expected, strict=False):
                assert mine[:4] == right[:4] or mine[0] is Verdict.UNKNOWN
            assert answered(fresh) == expected, depth
