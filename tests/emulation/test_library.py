"""The library call, and the words that it shares with the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

import mlaprobe
from mlaprobe.cli.support import options
from mlaprobe.decode.backends.emulate import SCHEDULES
from mlaprobe.emulation import planned
from mlaprobe.errors import UsageError
from mlaprobe.opening.probing import probe
from mlaprobe.opening.shortcut import KnownSource, quickest
from mlaprobe.sources import Source


@pytest.mark.usefixtures("aiter_wheel")
def test_one_call(aiter_wheel: Source) -> None:
    found = mlaprobe.emulate(
        12, kv_lens=(9, 20), arch="gfx942", q_dtype="fp8", kv_dtype="fp8", schedules="one"
    )
    assert found.passed
    assert found.padding.heads == 16
    assert found.batch.kv_lens == (9, 20)


def test_a_plan_from_what_is_bundled(aiter_git: Path) -> None:
    """A source with a release's files is planned for by what is known of it, and runs the same."""
    found = [
        mlaprobe.emulate(
            12,
            kv_lens=(9, 20),
            capability=answers,
            arch="gfx950",
            q_dtype="bf16",
            kv_dtype="bf16",
            schedules="one",
        )
        for answers in (quickest(f"{aiter_git}@v0.1.20"), probe(f"{aiter_git}@v0.1.20"))
    ]
    assert isinstance(quickest(f"{aiter_git}@v0.1.20"), KnownSource)
    assert found[0].passed
    assert found[0].padding == found[1].padding
    assert found[0].error == found[1].error
    assert found[0].instructions == found[1].instructions


def test_bad_words() -> None:
    with pytest.raises(UsageError, match="unknown schedules 'some'"):
        mlaprobe.emulate(
            12, kv_lens=(9,), arch="gfx942", q_dtype="fp8", kv_dtype="fp8", schedules="some"
        )


def test_the_schedules_have_the_same_names_everywhere() -> None:
    """The command line and the library name them without loading numpy."""
    assert tuple(planned.SCHEDULES) == SCHEDULES == options.SCHEDULES
