"""The library call, and the words that it shares with the command line."""

from __future__ import annotations

import pytest

import mlaprobe
from mlaprobe.cli.support import options
from mlaprobe.decode.backends.emulate import SCHEDULES
from mlaprobe.emulation import planned
from mlaprobe.errors import UsageError
from mlaprobe.sources import Source


@pytest.mark.usefixtures("aiter_wheel")
def test_one_call(aiter_wheel: Source) -> None:
    found = mlaprobe.emulate(
        12, kv_lens=(9, 20), arch="gfx942", q_dtype="fp8", kv_dtype="fp8", schedules="one"
    )
    assert found.passed
    assert found.padding.heads == 16
    assert found.batch.kv_lens == (9, 20)


def test_bad_words() -> None:
    with pytest.raises(UsageError, match="unknown schedules 'some'"):
        mlaprobe.emulate(
            12, kv_lens=(9,), arch="gfx942", q_dtype="fp8", kv_dtype="fp8", schedules="some"
        )


def test_the_schedules_have_the_same_names_everywhere() -> None:
    """The command line and the library name them without loading numpy."""
    assert tuple(planned.SCHEDULES) == SCHEDULES == options.SCHEDULES
