"""Caches change no answer: a sample of questions is answered alike without any of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mlaprobe.core.caches import Cache, cache, cached, without
from tests.trees import following, old, today
from tests.trees.common import write

ROOT = Path(__file__).parents[1]
BUNDLED = "release:v0.1.20"


def answered(which: str, *sources: str) -> str:
    """The sample's answers as JSON, of a process with some caches off."""
    command = [sys.executable, "-m", "tests.cachesample", which, *sources]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0"}
    found = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=env, check=False)
    assert found.returncode == 0, found.stderr
    return found.stdout


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """Sources in the shapes of several releases."""
    root = tmp_path_factory.mktemp("trees")
    made = {"today": today.tree(), "old": old.tree(), "following": following.tree()}
    return tuple(str(write(root / name, tree)) for name, tree in made.items())


def test_without_any_cache(trees: tuple[str, ...]) -> None:
    with_caches = answered("on", *trees, BUNDLED)
    assert (
        with_caches.count('"verdict"') == 18
    )  # three for each tree, and with those of its grid nine of the release
    assert answered("off", *trees, BUNDLED) == with_caches


@pytest.fixture(scope="module")
def expected(trees: tuple[str, ...]) -> str:
    return answered("on", trees[0], BUNDLED)


@pytest.mark.parametrize("name", list(Cache))
def test_without_one_cache(trees: tuple[str, ...], expected: str, name: Cache) -> None:
    assert answered(name, trees[0], BUNDLED) == expected


def test_a_release_without_any_cache(aiter_git: Path) -> None:
    source = f"{aiter_git}@v0.1.20"
    assert answered("off", source) == answered("on", source)


def test_what_is_off_holds_nothing() -> None:
    with without(Cache.PATHS):
        off, on = cache(Cache.PATHS), cache(Cache.STAGES)
        never, once = cached(Cache.PATHS)(object), cached(Cache.STAGES)(object)
    for each in (off, on):
        each["question"] = 1
        assert each.setdefault("other", 2) == 2
    assert (off, on) == ({}, {"question": 1, "other": 2})
    assert never() is not never()
    assert once() is once()
