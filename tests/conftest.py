"""Real AITER for the tests that want it; everything else builds its own trees."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from mlaprobe.sources import Source
from mlaprobe.sources.git import find_git_dir
from mlaprobe.sources.installed import InstalledSource

GIT_VARIABLE = "MLAPROBE_AITER_GIT"
# No test is timed: on a busy machine an example may take its time.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def aiter_git() -> Path:
    """A git repository of AITER with its release tags, named by the environment."""
    named = os.environ.get(GIT_VARIABLE)
    if not named:
        pytest.skip(f"{GIT_VARIABLE} names no git repository of ROCm/aiter")
    path = Path(named)
    # Not a skip: whoever sets the variable wants these tests to run.
    assert find_git_dir(path), f"{GIT_VARIABLE}={named} is not a git repository"
    return path


@pytest.fixture(scope="session")
def aiter_wheel() -> Iterator[Source]:
    """PyPI's amd-aiter, which ``make test`` installs beside mlaprobe."""
    with InstalledSource.find(environ={}) as source:
        yield source
