"""The shapes of the self-test on the emulator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlaprobe.core.protocols import LiveAnswers
from mlaprobe.decode.backends.emulate import How, emulated
from mlaprobe.decode.problem import Problem
from mlaprobe.decode.rules import SelfTest
from mlaprobe.decode.selftest import plan_of, problem_of
from mlaprobe.errors import MlaprobeError
from mlaprobe.padding.plan import PadPlan

if TYPE_CHECKING:
    from mlaprobe.emulation.outcome import Emulated

MOST_REQUESTS, MOST_TOKENS = 2, 256
"""Of a shape: an emulation of all of it would take minutes and show no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmulatedTest:
    """A shape of the self-test, emulated."""

    test: SelfTest
    problem: Problem
    """What was run."""
    plan: PadPlan
    run: Emulated | None = None
    """``None`` where nothing could be run,"""
    message: str | None = None
    """and why."""


def emulate_test(answers: LiveAnswers, test: SelfTest, arch: str, schedules: str) -> EmulatedTest:
    """Runs a shape with at most 2 requests of at most 256 KV tokens."""
    lens = tuple(min(length, MOST_TOKENS) for length in test.kv_lens[:MOST_REQUESTS])
    problem = problem_of(test, arch, lens)
    plan = plan_of(answers, test, problem)
    try:
        run = emulated(answers, plan, problem, How(schedules=schedules))
    except MlaprobeError as error:
        return EmulatedTest(test=test, problem=problem, plan=plan, message=error.message)
    return EmulatedTest(test=test, problem=problem, plan=plan, run=run)
