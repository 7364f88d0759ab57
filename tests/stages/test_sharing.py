"""One capability that many threads share gives the answers that it gives to one.

``MLAPROBE_THREAD_ROUNDS`` says how often each test is run with new capabilities.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mlaprobe.core.shape import DecodeShape
from mlaprobe.deciding.capability import Capability
from mlaprobe.opening import bundled
from mlaprobe.opening.shortcut import KnownSource
from mlaprobe.padding import api as resolve
from mlaprobe.padding.api import plan
from mlaprobe.snapshot import Snapshot
from tests.crowd import everything, wrong_answers
from tests.sources.trees import write_git
from tests.stages.ask import grid, opened
from tests.trees import following, old, today
from tests.trees.common import Tree

ROUNDS = int(os.environ.get("MLAPROBE_THREAD_ROUNDS", "1"))
SHAPES = list(grid(heads=(8, 16, 24, 32, 48, 128), qlens=(1, 2)))
"""144 of them."""
TREES: dict[str, Callable[[], Tree]] = {
    "today": today.tree,
    "following": following.tree,
    "old": old.tree,
}


def told_by(answers: Capability | Snapshot | KnownSource) -> Callable[[DecodeShape], Any]:
    return lambda shape: everything(answers.decide(shape))


def check(make: Callable[[], Capability | Snapshot | KnownSource]) -> None:
    one = make()
    expected = list(map(told_by(one), SHAPES))
    assert len(set(expected)) > 10
    one.close()
    for _ in range(ROUNDS):
        with make() as shared:
            assert not wrong_answers(SHAPES, expected, told_by(shared))


@pytest.mark.parametrize("name", sorted(TREES))
def test_a_directory(tmp_path: Path, name: str) -> None:
    opened(tmp_path, TREES[name]()).close()
    check(lambda: Capability.open(str(tmp_path)))


def test_a_git_revision(tmp_path: Path) -> None:
    root = write_git(tmp_path, today.tree(), tag="v9.9.9")
    check(lambda: Capability.open(f"{root}@v9.9.9"))


def test_a_bundled_release() -> None:
    check(lambda: bundled.load("v0.1.20"))


def test_stages_alone(tmp_path: Path) -> None:
    opened(tmp_path, today.tree()).close()
    stages = ("planner", "sizing", "dispatcher", "host", "gluon", "reducer")
    questions = [(stage, shape) for stage in stages for shape in SHAPES[::9]]

    def asked(capability: Capability) -> Callable[[tuple[str, DecodeShape]], object]:
        def ask(question: tuple[str, DecodeShape]) -> object:
            outcome = capability.ask(*question)
            return (outcome.status, outcome.message, outcome.fold, tuple(outcome.evidence))

        return ask

    with Capability.open(str(tmp_path)) as one, Capability.open(str(tmp_path)) as shared:
        expected = list(map(asked(one), questions))
        assert not wrong_answers(questions, expected, asked(shared))


def test_plans(tmp_path: Path) -> None:
    opened(tmp_path, today.tree()).close()
    questions = [
        {"num_heads": n, "arch": arch, "q_dtype": "fp8", "kv_dtype": "fp8", "qlens": q, "lse": lse}
        for arch in ("gfx942", "gfx950")
        for n in (12, 24, 32, 48, 96, 128)
        for q, lse in (((1,), False), ((1, 2), True), ((4,), False))
    ]

    def planned(capability: Capability | Snapshot | KnownSource) -> Callable[[Any], Any]:
        def ask(question: dict[str, Any]) -> Any:
            found = plan(capability=capability, **question)
            shown = (found.line, found.reason, found.rejected, found.settings)
            return (*shown, [everything(decision) for decision in found.decisions])

        return ask

    with Capability.open(str(tmp_path)) as one, Capability.open(str(tmp_path)) as shared:
        expected = list(map(planned(one), questions))
        assert not wrong_answers(questions, expected, planned(shared))


def test_the_default_capability(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Made once by whichever of the threads asks first."""
    opened(tmp_path, today.tree()).close()
    made: list[Capability] = []

    def installed() -> tuple[Capability, None]:
        made.append(Capability.open(str(tmp_path)))
        return made[-1], None

    monkeypatch.setattr("mlaprobe.opening.shortcut.installed_or_bundled", installed)
    resolve.default_capability.cache_clear()
    question = {"arch": "gfx950", "q_dtype": "fp8", "kv_dtype": "fp8"}

    def ask(heads: int) -> str:
        return plan(heads, **question).line  # type: ignore[arg-type]

    with Capability.open(str(tmp_path)) as one:
        counts = list(range(1, 129, 3))
        lines = [plan(heads, capability=one, **question).line for heads in counts]  # type: ignore[arg-type]
        assert not wrong_answers(counts, lines, ask)
    assert len(made) == 1
    resolve.default_capability.cache_clear()


def test_real_releases(aiter_git: Path) -> None:
    for release in ("v0.1.7.post3", "v0.1.20"):
        check(lambda source=f"{aiter_git}@{release}": Capability.open(source))  # type: ignore[misc]
