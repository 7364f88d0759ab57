"""The collector's setting, while AITER is read."""

from __future__ import annotations

import contextlib
import gc

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
