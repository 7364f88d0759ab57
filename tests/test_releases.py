"""The order of releases."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlaprobe.core.releases import is_release, release_key
from mlaprobe.errors import UsageError

ORDER = [
    "v0.1.6",
    "v0.1.6.post2",
    "v0.1.7.post1",
    "0.1.7.post2.dev18",
    "v0.1.7.post2",
    "v0.1.9",
    "v0.1.10",
    "v0.1.10.post1",
    "v0.1.13.dev0",
    "v0.1.13-rc1",
    "v0.1.13-rc5",
    "v0.1.13-rc10",
    "v0.1.13",
    "v0.1.13.post1",
    "v0.1.16.post6",
    "v0.1.17-rc0",
    "v0.1.17",
    "v0.1.17-longctx",
    "v0.1.17.post1-rc1",
    "v0.1.17.post1",
    "v0.1.18",
    "v0.2",
    "v1.0.0",
]


def test_order() -> None:
    shuffled = ORDER[:]
    random.Random(1).shuffle(shuffled)
    assert sorted(shuffled, key=release_key) == ORDER
    assert len({release_key(release) for release in ORDER}) == len(ORDER)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("v0.1.20", "0.1.20"),
        ("v0.1.17-rc0", "0.1.17rc0"),
        ("v0.1.17-rc0", "v0.1.17.RC.0"),
        ("v0.1.20", "0.1.20+rocm7.0.gabc"),
        ("v1.0", "v1.0.0"),
    ],
)
def test_the_same_release(one: str, other: str) -> None:
    assert release_key(one) == release_key(other)


@pytest.mark.parametrize(
    "name", ["", "main", "v1", "v0.1.", "archive/v0.1.2", "v0.1.20-5-gabc", "FAv3-0.0.0.1", "1.2 "]
)
def test_no_release(name: str) -> None:
    assert not is_release(name)
    with pytest.raises(UsageError, match="is no release"):
        release_key(name)


@given(st.text(alphabet="v0129.-+abcdeoprst", max_size=40))
def test_any_name_is_judged_quickly(name: str) -> None:
    if is_release(name):
        assert release_key(name) == release_key(name.upper().replace("V", "v"))


def test_long_names_do_not_hang() -> None:
    assert is_release("v0.1" + "a" * 50_000)
    assert not is_release("v0.1" + "a" * 50_000 + "!")
