"""What becomes of many head counts at once is what becomes of each."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product

import pytest

from mlaprobe.core.protocols import Opened
from mlaprobe.core.shape import DecodeShape, Dtype, Route, Verdict, reshaped
from mlaprobe.opening import bundled
from mlaprobe.rulefiles.operations import others
from mlaprobe.snapshot import Snapshot
from tests.snapshot.test_bundled_releases import FILES, newest_of

DTYPES = (Dtype.BF16, Dtype.FP8)


def settings(snapshot: Snapshot) -> Iterator[DecodeShape]:
    """Every entry point of every operation on every arch with every pair of dtypes."""
    entries = [entry for rule in others() for entry in rule.entries]
    pairs = snapshot.scope.dtypes
    for entry, arch, (q_dtype, kv_dtype) in product(entries, snapshot.archs, pairs):
        yield DecodeShape(
            arch=arch,
            q_dtype=q_dtype,
            kv_dtype=kv_dtype,
            num_heads=1,
            op=entry.op,
            persistent=entry.mode,
        )


def alone(answers: Opened, setting: DecodeShape, heads: list[int]) -> list[Verdict]:
    return [answers.decide(reshaped(setting, num_heads=count)).verdict for count in heads]


@pytest.mark.parametrize("file", FILES)
def test_bundled_releases(file: str) -> None:
    release, choose = newest_of(file), random.Random(file)
    snapshot, separate = bundled.load(release), bundled.load(release)
    met = set()
    for setting in settings(snapshot):
        heads = choose.sample(range(1, 129), 12)
        found = snapshot.verdicts(setting, heads)
        assert found == alone(separate, setting, heads), (setting, heads)
        met.update(found)
    assert {Verdict.REJECTED, Verdict.ERRATUM} <= met


def test_every_head_count_of_the_newest_release() -> None:
    release = bundled.newest()
    assert release is not None
    snapshot, separate, heads = bundled.load(release), bundled.load(release), list(range(1, 129))
    for setting in settings(snapshot):
        assert snapshot.verdicts(setting, heads) == alone(separate, setting, heads), setting


def test_a_decode_of_any_route() -> None:
    snapshot = bundled.load("v0.1.20")
    for route, q_dtype in product(Route, DTYPES):
        setting = DecodeShape(
            arch="gfx950", q_dtype=q_dtype, kv_dtype=q_dtype, num_heads=1, route=route
        )
        heads = [1, 12, 16, 128]
        assert snapshot.verdicts(setting, heads) == alone(snapshot, setting, heads)
