"""What a launch needs."""

from __future__ import annotations

import pytest

from mlaprobe.core.shape import DecodeShape, Dtype, Route
from mlaprobe.padding.api import plan
from mlaprobe.rulefiles import loader as rulebook
from mlaprobe.rulefiles.requirements import SCHEMA, needs, settings
from tests.padding.fake import later


def _ids(shape: DecodeShape) -> set[str]:
    return {need.id for need in needs(shape)}


def _shape(heads: int, dtype: str = "fp8", **more: object) -> DecodeShape:
    return DecodeShape(
        arch="gfx950",
        q_dtype=Dtype(dtype),
        kv_dtype=Dtype(dtype),
        num_heads=heads,
        **more,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("shape", "granularity"),
    [
        (_shape(64), 32),
        (_shape(128), 16),
        (_shape(16), 16),
        (_shape(64, "bf16"), 16),
        (_shape(64, page_size=64), 64),
        (_shape(64, page_size=16), 32),
        (_shape(16, page_size=64), 64),
        (_shape(16, page_size=8), 16),
    ],
)
def test_the_kv_granularity(shape: DecodeShape, granularity: int) -> None:
    assert settings(needs(shape))["kv_granularity"] == granularity


def test_the_planner_gets_the_padded_count_and_both_dtypes() -> None:
    found = plan(48, capability=later(), arch="gfx950", q_dtype="fp8", kv_dtype="fp8", qlens=(1, 2))
    assert found.settings == {
        "num_head_qo": 64,
        "dtype_q": "fp8",
        "dtype_kv": "fp8",
        "max_seqlen_qo": (1, 2),
        "uni_seqlen_qo": (1, 2),
        "kv_granularity": 32,
        "fast_mode": True,
        "intra_batch_mode": False,
    }


def test_without_metadata_there_is_no_planner_to_tell() -> None:
    assert settings(needs(_shape(64, persistent=False))) == {}
    assert _ids(_shape(64, persistent=False)) == {"row-width"}


def test_the_gluon_route_needs_the_real_kv_length() -> None:
    shape = _shape(8, "bf16", route=Route.GLUON)
    assert _ids(shape) == {"gluon-min-kv", "row-width"}


def test_every_need_is_exercised() -> None:
    written = {need["id"] for need in rulebook.load_rules("launch", SCHEMA)["needs"]}
    shapes = (_shape(64), _shape(8, "bf16", route=Route.GLUON), _shape(16, num_kv_splits=2))
    lossy = {need.id for need in needs(_lossy(), one_split=True)}
    assert written == lossy.union(*map(_ids, shapes))


def _lossy(num_kv_splits: int | None = None) -> DecodeShape:
    return _shape(16, persistent=False, lse=True, num_kv_splits=num_kv_splits)


def test_two_splits_where_one_loses_the_log_sum_exp() -> None:
    assert "two-kv-splits" not in _ids(_lossy())
    assert settings(needs(_lossy(), one_split=True)) == {"num_kv_splits": 2}
    assert settings(needs(_lossy(num_kv_splits=5), one_split=True)) == {"num_kv_splits": 5}
    assert settings(needs(_shape(16, persistent=False, num_kv_splits=5))) == {"num_kv_splits": 5}


def test_every_need_has_a_reference() -> None:
    for need in needs(_shape(64)):
        assert need.reference
        assert all(address.startswith("https://") for address in need.reference)
