"""Timing, as far as it does not depend on time."""

from __future__ import annotations

import pytest

from mlaprobe.decode import timing
from tests.padding.tensors import torch_or_skip


@pytest.fixture(autouse=True)
def _torch() -> None:
    torch_or_skip()


def test_calls_take_turns() -> None:
    seen: list[str] = []
    calls = (lambda: seen.append("a"), lambda: seen.append("b"))
    first, second = timing.time_calls(calls, "cpu", budget_s=10)
    assert seen == ["a", "b"] * (1 + timing.WARM_UP + timing.MOST_RUNS)
    for found in (first, second):
        assert found.low_us <= found.us <= found.high_us
        assert (found.runs, found.clock, found.cold) == (timing.MOST_RUNS, "host", False)


def test_what_takes_long_is_run_once(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(100))
    monkeypatch.setattr("time.perf_counter", lambda: float(next(now)))
    seen: list[int] = []
    found = timing.time_call(lambda: seen.append(1), "cpu", budget_s=0.5)
    assert len(seen) == found.runs == 1
    assert found.us == found.low_us == 1e6
