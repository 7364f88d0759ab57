"""No release leaves a question open: every answer of every release, asked again.

The default is a sparse grid over the releases whose content is distinct; with
``MLAPROBE_FULL_GRID=1`` it is heads 1-160, qlen 1-8, three dtype pairs, two archs, both modes, with
and without LSE, the experimental knob unset and set (about an hour).
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pytest

from mlaprobe.core.releases import is_release, release_key
from mlaprobe.core.shape import Verdict
from mlaprobe.deciding.capability import Capability
from mlaprobe.sources import Source, open_source, require_aiter
from tests.sweeps.sweep import FULL, SPARSE, Witness, gluon, sweep

GRID = FULL if os.environ.get("MLAPROBE_FULL_GRID") else SPARSE
FIRST = release_key("v0.1.6.post2")
PLANNER = "csrc/kernels/mla/metadata/v1_2_device.cuh"


def in_range(git: Path) -> list[str]:
    """The release tags that hold the planner, and the main branch."""
    listed = subprocess.run(
        ["git", "--git-dir", str(git), "tag"], capture_output=True, text=True, check=True
    ).stdout.split()
    tags = [t for t in listed if is_release(t) and release_key(t) >= FIRST]
    return [*sorted(tags, key=release_key), "main"]


def check(source: Source) -> Witness:
    """Asks a source everything."""
    require_aiter(source)
    witness = Witness(source)
    capability = Capability(witness)
    tally = sweep(capability, GRID)
    assert not tally.problems, (source.label, len(tally.problems), tally.problems[0])
    assert tally.asked > 2 * GRID.size
    assert {Verdict.NATIVE.value, Verdict.REJECTED.value} <= set(tally.verdicts)
    if capability.gluon is not None:
        routed = sweep(capability, gluon(GRID))
        assert not routed.problems, (source.label, routed.problems[0])
    return witness


@lru_cache(maxsize=1)
def _witnesses() -> list[Witness]:
    return []


def test_every_release_answers_everything(aiter_git: Path) -> None:
    releases = in_range(aiter_git)
    assert len(releases) >= 53
    for release in releases:
        source = open_source(f"{aiter_git}@{release}")
        if any(w.agrees(source) for w in _witnesses()):
            source.close()
            continue
        _witnesses().append(check(source))
    assert len(_witnesses()) > 25


def test_the_wheel_answers_everything(aiter_wheel: Source) -> None:
    check(aiter_wheel)


@pytest.fixture(autouse=True, scope="module")
def _close() -> Iterator[None]:
    yield
    for witness in _witnesses():
        witness.close()
    _witnesses.cache_clear()
