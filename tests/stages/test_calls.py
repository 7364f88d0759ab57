"""A dispatcher that passes other arguments on other paths: the host answers to all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlaprobe.core.shape import Decision, Verdict
from tests.stages.ask import FP8, ask, opened
from tests.stages.test_reasons import tree_with
from tests.trees import today

MADE = (
    "        logits = torch.empty((total_s, num_kv_splits, nhead, v_head_dim), dtype=dtypes.fp32)\n"
)
ONE_FIRST = """\
        num_kv_splits = kv_indices.shape[0] // bs
        if num_kv_splits == 1:
            logits = o.view(total_s, num_kv_splits, nhead, v_head_dim)
        else:
            logits = torch.empty((total_s, num_kv_splits, nhead, v_head_dim), dtype=dtypes.fp32)
"""
MANY_FIRST = """\
        num_kv_splits = kv_indices.shape[0] // bs
        if num_kv_splits != 1:
            logits = torch.empty((total_s, num_kv_splits, nhead, v_head_dim), dtype=dtypes.fp32)
        else:
            logits = o.view(total_s, num_kv_splits, nhead, v_head_dim)
"""
DENSE = '    AITER_CHECK(Q->is_contiguous(), __func__, ": Q must be dense");\n'
EITHER = """\
    const auto wanted = (splitData->size(1) == 1) ? AITER_DTYPE_bf16 : AITER_DTYPE_fp32;
    AITER_CHECK(splitData->dtype() == wanted, __func__, ": dtype of the partial results");
"""
ALWAYS = """\
    AITER_CHECK(splitData->dtype() == AITER_DTYPE_fp32, __func__, ": partial results are fp32");
"""


def decided(root: Path, made: str, check: str) -> Decision:
    """A launch without metadata of that dispatcher and that host."""
    python = tree_with(today.DISPATCHER, MADE, made)[today.DISPATCHER]
    tree = {**tree_with(today.HOST, DENSE, DENSE + check), today.DISPATCHER: python}
    return ask(opened(root, tree), "gfx950", FP8, 16, persistent=False)


def test_the_tree_itself_launches(tmp_path: Path) -> None:
    assert decided(tmp_path, MADE, "").verdict is Verdict.NATIVE


@pytest.mark.parametrize("made", [ONE_FIRST, MANY_FIRST])
def test_the_path_is_known_where_its_call_is_judged(tmp_path: Path, made: str) -> None:
    """A host that wants what each path passes: of one split the results themselves, else parts."""
    found = decided(tmp_path, made, EITHER)
    assert found.verdict is Verdict.NATIVE
    assert [kernel.symbol for kernel in found.kernels] == [
        kernel.symbol for kernel in decided(tmp_path / "plain", MADE, "").kernels
    ]


@pytest.mark.parametrize("made", [ONE_FIRST, MANY_FIRST])
def test_one_path_that_is_refused_is_enough_for_unknown(tmp_path: Path, made: str) -> None:
    """Whichever comes first: with one split the host refuses, with more it launches."""
    found = decided(tmp_path, made, ALWAYS)
    assert found.verdict is Verdict.UNKNOWN
    assert "depends on" in (found.message or "")


@pytest.mark.parametrize("made", [ONE_FIRST, MANY_FIRST])
def test_a_host_that_does_not_look_answers_once(tmp_path: Path, made: str) -> None:
    assert decided(tmp_path, made, "").verdict is Verdict.NATIVE


def test_both_paths_refused_is_a_refusal(tmp_path: Path) -> None:
    never = ALWAYS.replace("== AITER_DTYPE_fp32", "== AITER_DTYPE_i32")
    found = decided(tmp_path, ONE_FIRST, never)
    assert found.verdict is Verdict.REJECTED
    assert found.stage == "host"
