"""What is forgotten is freed at once, without Python's garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from mlaprobe.stages.instantiate import PathSummary
from tests.stages.ask import FP8, opened, shape
from tests.trees import today


@pytest.fixture
def uncollected() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def _runs() -> int:
    return sum(type(thing) is PathSummary for thing in gc.get_objects())


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("tracing", [False, True])
def test_runs_do_not_hold_themselves(tmp_path: Path, tracing: bool) -> None:
    before = _runs()
    capability = opened(tmp_path, today.tree())
    capability.session.tracing = tracing
    stages = ("sizing", "planner", "dispatcher", "host")
    kept = [capability.ask(s, shape("gfx950", FP8, h, 1)) for s in stages for h in (16, 24, 32)]
    assert _runs() - before >= len(stages)
    assert all(outcome.evidence for outcome in kept)
    kept.clear()
    capability.forget()
    capability.session.forget_runs()
    assert _runs() == before
