"""The cost model: published points, a formula that meets them, and measured profiles."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mlaprobe.core.shape import DecodeShape, Dtype
from mlaprobe.errors import RuleError
from mlaprobe.padding.api import plan
from mlaprobe.rulefiles.cost import CostModel, fit, load_profile
from mlaprobe.rulefiles.policy import policy
from tests.padding.fake import Fake, later

POINTS = {
    **{(16, 1): 136.6, (32, 1): 153.6, (48, 3): 349.0, (64, 1): 171.4},
    **{(80, 5): 440.1, (96, 1): 231.7, (112, 7): 658.2, (128, 1): 247.2},
}


@pytest.fixture
def model() -> CostModel:
    return policy().cost


def test_published_points_answer_for_themselves(model: CostModel) -> None:
    for (heads, passes), us in POINTS.items():
        assert model.cost(heads, passes) == us
        assert model.cost(heads, passes, 16384) == us


def test_the_formula_meets_every_point_within_its_stated_error(model: CostModel) -> None:
    worst = 0.0
    for (heads, passes), us in POINTS.items():
        formula = 57.6 + 68.7 * passes + 0.96 * heads
        worst = max(worst, abs(formula - us) / us)
    assert worst <= model.error == 0.12
    assert model.cost(40, 1) == pytest.approx(57.6 + 68.7 + 0.96 * 40)
    assert model.cost(96, 6) == pytest.approx(57.6 + 68.7 * 6 + 0.96 * 96)


@pytest.mark.parametrize(
    ("stay", "pad", "change"),
    [((48, 3), (64, 1), -0.509), ((80, 5), (96, 1), -0.474), ((112, 7), (128, 1), -0.624)],
)
def test_published_gains(
    model: CostModel, stay: tuple[int, int], pad: tuple[int, int], change: float
) -> None:
    assert model.cost(*pad) / model.cost(*stay) - 1 == pytest.approx(change, abs=0.0006)


def test_padding_a_native_96_would_be_dearer(model: CostModel) -> None:
    assert model.cost(128, 1) / model.cost(96, 1) - 1 == pytest.approx(0.067, abs=0.0006)


def test_more_heads_never_look_cheaper_than_fewer(model: CostModel) -> None:
    for passes in (1, 3, 8):
        costs = [model.cost(heads, passes) for heads in range(1, 257)]
        assert costs == sorted(costs)
    assert model.cost(48, 1) == model.cost(64, 1) == 171.4


def test_only_passes_grow_with_the_kv_cache(model: CostModel) -> None:
    assert model.cost(48, 3, 8192) == pytest.approx(57.6 + 68.7 * 1.5 + 0.96 * 48)
    assert model.cost(48, 3, 32768) == pytest.approx(57.6 + 68.7 * 6 + 0.96 * 48)


def test_fold_and_pad_cross_where_the_policy_says(model: CostModel) -> None:
    for stay, pad, tokens in (
        ((48, 3), (64, 1), 1830),
        ((80, 5), (128, 1), 2750),
        ((112, 7), (128, 1), 610),
    ):
        crossing = model.crossing(stay, pad)
        assert crossing == pytest.approx(tokens, abs=5)
        assert crossing is not None
        below, above = int(crossing * 0.9), int(crossing * 1.1)
        assert model.cost(*pad, below) > model.cost(*stay, below)
        assert model.cost(*pad, above) < model.cost(*stay, above)
    assert model.crossing((64, 1), (128, 1)) is None
    assert model.crossing((128, 8), (64, 1)) == 0


def test_a_plan_says_from_which_kv_length_it_pays() -> None:
    question = {"capability": later(), "arch": "gfx950", "q_dtype": "fp8", "kv_dtype": "fp8"}
    found = plan(48, **question)  # type: ignore[arg-type]
    assert found.notes[-1].startswith("by the cost model this pays from about 1832 KV tokens")
    told = plan(48, kv_len=4096, **question)  # type: ignore[arg-type]
    assert not any("KV tokens" in note for note in told.notes)
    assert plan(48, kv_len=1800, **question).padded_num_heads == 48  # type: ignore[arg-type]
    assert plan(48, kv_len=1900, **question).padded_num_heads == 64  # type: ignore[arg-type]


def test_the_cost_of_a_run_is_the_sum_over_its_query_lengths() -> None:
    question = {"capability": later(), "arch": "gfx942", "q_dtype": "fp8", "kv_dtype": "fp8"}
    found = plan(64, qlens=(1, 2), **question)  # type: ignore[arg-type]
    # 64 heads are native at qlen 1 (a published point) and fold by 4 at qlen 2 (the formula).
    stay = 171.4 + 57.6 + 68.7 * 4 + 0.96 * 64
    assert found.cost_ratio == pytest.approx(2 * 247.2 / stay)
    assert found.expected_gain == pytest.approx(1 - 2 * 247.2 / stay)
    assert found.padded_num_heads == 128
    # Of gfx950: its microseconds are none of this arch's.
    assert (found.cost_us, found.stay_us) == (None, None)


PROFILE = {
    "name": "a test bench",
    "arch": "gfx942",
    "q_dtype": "fp8",
    "kv_dtype": "fp8",
    "kv_len": 4096,
    "batch": 8,
    "points": [
        {"heads": 16, "passes": 1, "us": 30.0},
        {"heads": 32, "passes": 2, "us": 50.0},
        {"heads": 64, "passes": 1, "us": 78.0},
        {"heads": 128, "passes": 1, "us": 142.0},
    ],
}


def _write(path: Path, profile: object) -> Path:
    path.write_text(json.dumps(profile))
    return path


def test_a_measured_profile_replaces_the_model_for_its_arch_and_dtypes(tmp_path: Path) -> None:
    profile = load_profile(_write(tmp_path / "profile.json", PROFILE), policy().cost)
    # Exact: 10 + 4 a pass + heads meets 30, 78 and 142; 32 heads in two passes give 50.
    assert profile.cost(48, 3) == pytest.approx(10 + 4 * 3 + 48)
    assert profile.cost(32, 2) == 50.0
    assert profile.error == pytest.approx(0, abs=1e-9)
    # Folding costs next to nothing there: padding 32 to 64 heads does not pay.
    question = {"capability": later(), "q_dtype": "fp8", "kv_dtype": "fp8", "profile": profile}
    assert plan(32, arch="gfx942", **question).padded_num_heads == 32  # type: ignore[arg-type]
    assert plan(48, arch="gfx950", **question).padded_num_heads == 64  # type: ignore[arg-type]
    other = {**question, "q_dtype": Dtype.BF16, "kv_dtype": Dtype.BF16}
    assert plan(48, arch="gfx942", **other).cost_name != "a test bench"  # type: ignore[arg-type]
    assert plan(48, arch="gfx942", **question).cost_name == "a test bench"  # type: ignore[arg-type]


def test_points_that_determine_no_formula_scale_the_default(tmp_path: Path) -> None:
    few = {**PROFILE, "kv_len": 16384, "points": [{"heads": 16, "passes": 1, "us": 273.2}]}
    profile = load_profile(_write(tmp_path / "profile.json", few), policy().cost)
    assert profile.cost(16, 1) == 273.2  # twice the published point
    assert profile.cost(40, 1) == pytest.approx(2 * (57.6 + 68.7 + 0.96 * 40))


def test_fit_refuses_what_does_not_determine_a_cost() -> None:
    assert fit({(16, 1): 10.0}) is None
    assert fit({(16, 1): 10.0, (32, 2): 20.0, (48, 3): 30.0}) is None  # on a line
    assert fit({(16, 1): 30.0, (32, 1): 20.0, (48, 3): 10.0, (64, 4): 9.0}) is None  # falls


@pytest.mark.parametrize(
    "change",
    [
        {"points": []},
        {"arch": 950},
        {"q_dtype": "fp4"},
        {"kv_len": 0},
        {"ponits": []},
        {"points": [{"heads": 16, "us": 1.0}]},
        {"points": [{"heads": 16, "passes": 1, "us": 0}]},
    ],
)
def test_a_wrong_profile_is_an_error_with_its_place(
    tmp_path: Path, change: dict[str, object]
) -> None:
    path = _write(tmp_path / "profile.json", {**PROFILE, **change})
    with pytest.raises(RuleError) as caught:
        load_profile(path, policy().cost)
    assert caught.value.file == str(path)
    assert caught.value.line == 1
    assert caught.value.exit_code == 2


def test_a_profile_is_a_mapping(tmp_path: Path) -> None:
    with pytest.raises(RuleError, match="mapping"):
        load_profile(_write(tmp_path / "profile.json", 7), policy().cost)


def test_a_dear_pad_is_refused_by_a_fake_with_one_tile() -> None:
    def tile(shape: DecodeShape) -> bool:
        return shape.num_heads == 96

    source = Fake(native=tile)
    found = plan(80, capability=source, arch="gfx950", q_dtype="fp8", kv_dtype="fp8")
    assert found.padded_num_heads == 96
    assert found.expected_gain == pytest.approx(0.474, abs=0.001)
