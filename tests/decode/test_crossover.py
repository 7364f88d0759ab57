"""From which KV length on padding pays, and the profile that the resolver reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlaprobe.core.shape import Dtype
from mlaprobe.decode.bench import Outcome, Point
from mlaprobe.decode.crossover import crossing, crossovers, profiles
from mlaprobe.padding.api import plan
from mlaprobe.rulefiles.cost import load_profile
from mlaprobe.rulefiles.loader import rules_dir
from mlaprobe.rulefiles.policy import policy
from tests.decode.help import tile
from tests.decode.test_bench import AROUND, a_case, a_point
from tests.padding.fake import Fake

ENVIRONMENT = {**AROUND, "date": "2026-01-02", "torch": "2.0", "triton": None}


@pytest.mark.parametrize(
    ("times", "loses", "wins", "about"),
    [
        ([(100, 5.0, 4.0), (200, 9.0, 5.0)], None, 100, None),
        ([(100, 4.0, 5.0), (200, 5.0, 6.0)], 200, None, None),
        # 1 us behind at 100, 3 us ahead at 200: a quarter of the way.
        ([(100, 4.0, 5.0), (200, 8.0, 5.0)], 100, 200, 125),
        ([(100, 4.0, 4.0), (200, 8.0, 5.0)], 100, 200, 100),
        # Noise at 100 does not count: only from 300 on it is always faster.
        ([(100, 5.0, 4.0), (200, 5.0, 6.0), (300, 9.0, 8.0)], 200, 300, 250),
        ([(100, 5.0, 4.0)], None, 100, None),
    ],
)
def test_crossing(
    times: list[tuple[int, float, float]], loses: int | None, wins: int | None, about: int | None
) -> None:
    assert crossing(times) == (loses, wins, about)


@given(
    st.lists(
        st.tuples(st.floats(1, 1000), st.floats(1, 1000)),
        min_size=1,
        max_size=8,
    )
)
def test_crossing_says_what_was_measured(times: list[tuple[float, float]]) -> None:
    rows = [((n + 1) * 100, stay, pad) for n, (stay, pad) in enumerate(times)]
    loses, wins, about = crossing(rows)
    for kv_len, stay, pad in rows:
        if wins is not None and kv_len >= wins:
            assert pad < stay
        if loses is not None and kv_len == loses:
            assert pad >= stay
    assert loses is not None or wins is not None
    if about is not None:
        assert loses is not None
        assert wins is not None
        assert loses <= about <= wins


def test_crossovers_are_per_head_count_and_batch() -> None:
    points = [
        a_point(a_case(48, 2048), 40.0, 20.0),
        a_point(a_case(48, 128), 4.0, 5.0),
        a_point(a_case(48, 128, batch=8), 9.0, 5.0),
        a_point(a_case(16, 128), 4.0),
        Point(case=a_case(32, 128), status=Outcome.FAILED, reason="no kernel"),
    ]
    one, eight = crossovers(points)
    assert (one.heads, one.launched, one.fold, one.batch) == (48, 64, 3, 1)
    assert (one.loses, one.wins) == (128, 2048)
    assert (eight.batch, eight.loses, eight.wins) == (8, None, 128)


def _a_profile(tmp_path: Path) -> Any:
    room = {"kv_len": 16384, "batch": 52}
    points = [
        a_point(a_case(16, **room), 100.0, fold=1),
        a_point(a_case(48, **room), 300.0, 110.0),
        a_point(a_case(64, **room), 112.0, fold=1),
        a_point(a_case(16, 128, 1), 5.0, fold=1),
    ]
    [found] = profiles(points, ENVIRONMENT)
    file = tmp_path / "profile.json"
    file.write_text(json.dumps(found))
    return found, file


def test_a_profile_is_of_the_room_with_most_launches(tmp_path: Path) -> None:
    found, _ = _a_profile(tmp_path)
    assert (found["kv_len"], found["batch"], found["arch"]) == (16384, 52, "gfx950")
    # 64 heads were timed twice, padded and not: the median of both.
    assert found["points"] == [
        {"heads": 16, "passes": 1, "us": 100.0},
        {"heads": 48, "passes": 3, "us": 300.0},
        {"heads": 64, "passes": 1, "us": 111.0},
    ]
    assert found["crossovers"] == [
        {"heads": 48, "launched": 64, "qlen": 1, "batch": 52, "loses": 0, "wins": 16384}
    ]
    assert "a GPU only" in found["note"]


def test_the_resolver_goes_by_a_profile(tmp_path: Path) -> None:
    _, file = _a_profile(tmp_path)
    profile = load_profile(file, policy().cost)
    question: dict[str, Any] = {
        "capability": Fake(native=tile),
        "q_dtype": Dtype.BF16,
        "kv_dtype": Dtype.BF16,
        "profile": profile,
    }
    found = plan(48, arch="gfx950", **question)
    assert (found.padded_num_heads, found.cost_us, found.stay_us) == (64, 111.0, 300.0)
    assert found.cost_name == profile.name
    # Another arch's plan is none of its business.
    assert plan(48, arch="gfx942", **question).cost_name != profile.name


@pytest.mark.parametrize(
    "file", sorted((rules_dir() / "profiles").glob("*.json")), ids=lambda file: str(file.name)
)
def test_the_profiles_that_come_along(file: Path) -> None:
    profile = load_profile(file, policy().cost)
    written = json.loads(file.read_text())
    assert len(profile.points) >= 8
    # Nothing of it has run on AMD hardware: the resolver must not take it for one's.
    assert profile.arch == "sm_90"
    assert written["hardware"] == "NVIDIA H200"
    assert written["hardware"] in written["note"]
    assert written["reference"]
    assert written["crossovers"]
