"""Checks of where requests are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mlaprobe.core.shape import Dtype
from mlaprobe.decode.layout import kv_layout
from mlaprobe.decode.problem import Problem, make_inputs
from mlaprobe.errors import UsageError
from tests.padding.tensors import torch_or_skip


@pytest.fixture(scope="module", autouse=True)
def torch() -> Any:
    return torch_or_skip()


def _problem(**given: Any) -> Problem:
    given = {"kv_lens": (20, 7), "page_size": 4, "qlen": 2, **given}
    return Problem(arch="gfx950", num_heads=4, q_dtype=Dtype.BF16, kv_dtype=Dtype.BF16, **given)


def _given(torch: Any, **changed: Any) -> dict[str, Any]:
    """The arguments for two requests of 20 and 7 tokens on pages of 4, some replaced."""
    vectors = {
        "qo_indptr": [0, 2, 4],
        "kv_indptr": [0, 5, 7],
        "kv_page_indices": [3, 1, 0, 8, 5, 2, 6],
        "kv_last_page_lens": [4, 3],
    }
    numbers = {"page_size": 4, "num_pages": 9}
    given = {name: torch.tensor(values, dtype=torch.int32) for name, values in vectors.items()}
    for name, value in changed.items():
        is_list = isinstance(value, list)
        given[name] = torch.tensor(value, dtype=torch.int32) if is_list else value
    return {**numbers, **given}


def test_a_layout_knows_its_lengths(torch: Any) -> None:
    layout = kv_layout(**_given(torch), check_pages=True)
    assert (layout.kv_lens, layout.max_seqlen_q, layout.batch, layout.tokens) == ((20, 7), 2, 2, 4)


def test_a_table_may_have_room_to_spare(torch: Any) -> None:
    spare = _given(torch, kv_page_indices=[3, 1, 0, 8, 5, 2, 6, -1, 99])
    assert kv_layout(**spare, check_pages=True).kv_lens == (20, 7)


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"qo_indptr": [0, 2, 5]}, "request 1 has 3 query rows, and request 0 has 2"),
        ({"qo_indptr": [1, 2, 3]}, "qo_indptr must start at 0, not at 1"),
        ({"qo_indptr": [0]}, "qo_indptr describes no request"),
        ({"qo_indptr": [0, 2]}, "qo_indptr has 2 elements, kv_indptr 3 and kv_last_page_lens 2"),
        ({"kv_indptr": [0, 5, 5]}, r"request 1 is empty: kv_indptr\[1\] and kv_indptr\[2\]"),
        ({"kv_indptr": [0, 5, 4]}, "kv_indptr descends at request 1: from 5 to 4"),
        ({"kv_indptr": [0, 5, 9]}, "kv_indptr ends at 9, and kv_page_indices has 7"),
        ({"kv_last_page_lens": [4, 0]}, r"kv_last_page_lens\[1\] is 0: a page holds 1 to 4"),
        ({"kv_last_page_lens": [5, 3]}, r"kv_last_page_lens\[0\] is 5: a page holds 1 to 4"),
        ({"kv_indptr": [0, 1, 2], "kv_last_page_lens": [4, 1]}, "request 1 has 1 KV tokens and 2"),
        ({"kv_page_indices": [3, 1, 0, 9, 5, 2, 6]}, r"kv_page_indices\[3\] is 9, and the cache"),
        ({"kv_page_indices": [3, 1, 0, 8, 5, 2, -1]}, r"kv_page_indices\[6\] is -1"),
        ({"page_size": 0}, "page_size must be a positive whole number"),
        ({"num_pages": True}, "num_pages must be a positive whole number"),
        ({"kv_indptr": (0, 5, 7)}, "kv_indptr must be a tensor, not tuple"),
    ],
)
def test_what_is_wrong_is_named(torch: Any, changed: dict[str, Any], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        kv_layout(**_given(torch, **changed), check_pages=True)


def test_only_int32_vectors_will_do(torch: Any) -> None:
    given = _given(torch)
    for bad, text in (
        (given["kv_indptr"].long(), "kv_indptr must be int32, not int64"),
        (given["kv_indptr"][None], r"contiguous vector, not of shape \[1, 3\]"),
        (torch.zeros(6, dtype=torch.int32)[::2], "contiguous vector"),
        (given["kv_indptr"].to("meta"), "kv_indptr is on meta, and qo_indptr on cpu"),
    ):
        with pytest.raises(UsageError, match=text):
            kv_layout(**{**given, "kv_indptr": bad})


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"kv_lens": ()}, "the batch is empty"),
        ({"kv_lens": (20, 0)}, r"kv_lens\[1\] must be a positive whole number, got 0"),
        ({"kv_lens": (20, 1)}, r"kv_lens\[1\] is 1, less than the 2 query tokens"),
        ({"qlen": 0}, "qlen must be a positive whole number"),
    ],
)
def test_a_problem_that_is_none_is_refused(changed: dict[str, Any], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        _problem(**changed)


def test_more_heads_than_any_release_takes_are_refused() -> None:
    with pytest.raises(UsageError, match="129 query heads: one call decodes at most 128"):
        Problem(arch="gfx950", num_heads=129, q_dtype=Dtype.BF16, kv_dtype=Dtype.BF16, kv_lens=(1,))


def test_inputs_are_scattered_and_repeatable(torch: Any) -> None:
    problem = _problem(kv_lens=(200, 131))
    inputs, again = make_inputs(problem, seed=3), make_inputs(problem, seed=3)
    assert torch.equal(inputs.kv, again.kv)
    indices = inputs.layout.kv_page_indices
    assert torch.equal(indices, again.layout.kv_page_indices)
    assert len(set(indices.tolist())) == 50 + 33
    assert not torch.equal(indices, indices.sort().values)
    assert inputs.layout.num_pages == 83 + 3
    # What no request sees is loud, and nothing else is.
    loud = (inputs.kv.float().abs() > 100).all(-1).sum()
    assert loud == 3 * 4 + 1


def test_fp8_inputs_are_scaled(torch: Any) -> None:
    problem = Problem(
        arch="gfx942", num_heads=16, q_dtype=Dtype.FP8, kv_dtype=Dtype.FP8, kv_lens=(900,)
    )
    inputs = make_inputs(replace(problem, scales=(0.25, 2.0)), spare_pages=0)
    assert inputs.kv.dtype is torch.float8_e4m3fnuz
    assert inputs.q.float().std().item() == pytest.approx(4, rel=0.05)
    assert inputs.kv.float().std().item() == pytest.approx(0.5, rel=0.05)
    with pytest.raises(UsageError, match="does not run fp16"):
        make_inputs(
            Problem(
                arch="gfx942", num_heads=1, q_dtype=Dtype.FP16, kv_dtype=Dtype.FP8, kv_lens=(1,)
            )
        )
