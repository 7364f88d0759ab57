"""The collector's setting, while AITER is read."""

from __future__ import annotations

import contextlib
import gc
import re
import subprocess
import sys
import weakref

import pytest

from mlaprobe.cli import main
from mlaprobe.cli.support import common
from mlaprobe.errors import SourceError
from mlaprobe.system.collecting import THRESHOLDS, collect_rarely


def test_the_setting_ends_with_the_reading() -> None:
    before = gc.get_threshold()
    assert before[0] < THRESHOLDS[0]
    with contextlib.suppress(RuntimeError), collect_rarely():
        assert gc.get_threshold() == THRESHOLDS
        raise RuntimeError
    assert gc.get_threshold() == before


def test_a_command_reads_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    before, seen = gc.get_threshold(), []

    def load(spec: str, **_: object) -> None:
        seen.append(gc.get_threshold())
        raise SourceError(spec)

    monkeypatch.setattr(common, "load", load)
    assert main(["report", "--aiter", "somewhere"]) == 1
    assert seen == [THRESHOLDS]
    assert gc.get_threshold() == before


def test_what_was_made_meanwhile_is_collected_later_all_the_same() -> None:
    class Node:
        other: Node

    with collect_rarely():
        one, other = Node(), Node()
        one.other, other.other = other, one
        gone = weakref.ref(one)
        del one, other
        assert gone() is not None
    assert not gc.get_freeze_count()
    gc.collect()
    assert gone() is None


def test_what_a_caller_has_frozen_stays_frozen() -> None:
    gc.freeze()
    try:
        with collect_rarely():
            pass
        assert gc.get_freeze_count()
    finally:
        gc.unfreeze()


@pytest.mark.parametrize(("times", "looks"), [(0, True), (1, False), (2, False)])
def test_a_process_ends_without_a_look_at_what_it_has(times: int, looks: bool) -> None:
    program = f"""
import gc
from mlaprobe.system.collecting import end_without_collecting

for _ in range({times}):
    end_without_collecting()
gc.disable()
for _ in range(5000):
    itself = []
    itself.append(itself)
gc.set_debug(gc.DEBUG_STATS)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    found = [int(count) for count in re.findall(r"(\d+) unreachable", done.stderr)]
    assert any(count > 4000 for count in found) == looks
