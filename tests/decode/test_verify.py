"""What counts as right."""

from __future__ import annotations

from typing import Any

import pytest

from mlaprobe.core.accuracy import Error
from mlaprobe.core.shape import Dtype
from mlaprobe.decode.reference import verify
from mlaprobe.decode.rules import rules
from tests.padding.tensors import torch_or_skip


@pytest.fixture(scope="module", autouse=True)
def torch() -> Any:
    return torch_or_skip()


@pytest.fixture
def want(torch: Any) -> Any:
    """As small as outputs over thousands of KV tokens are."""
    return 0.02 * torch.randn(4, 16, 512, generator=torch.Generator().manual_seed(1))


def _verify(o: Any, want: Any, dtype: Dtype = Dtype.BF16, **lse: Any) -> Error:
    return verify(o, want, rules().tolerance(dtype, dtype), **lse)


def test_tolerances_are_those_of_the_coarser_type() -> None:
    assert rules().tolerance(Dtype.BF16, Dtype.BF16).value == 0.01
    for pair in ((Dtype.BF16, Dtype.FP8), (Dtype.FP8, Dtype.BF16), (Dtype.FP8, Dtype.FP8)):
        assert rules().tolerance(*pair).value == 0.03


def test_rounding_to_bf16_is_right(torch: Any, want: Any) -> None:
    error = _verify(want.bfloat16(), want)
    assert error.passed
    assert error.beyond == error.non_finite == 0
    assert error.cosine == pytest.approx(1, abs=1e-4)
    assert 0 < error.rmse < 0.003
    assert error.values == want.numel()


def test_the_numbers_are_what_they_are_called(torch: Any) -> None:
    want = torch.tensor([3.0, 4.0, 0.0, 0.0]).view(1, 1, 4)
    got = torch.tensor([3.0, 4.0, 1.0, 0.0]).view(1, 1, 4)
    error = _verify(got, want)
    assert error.max_abs == 1
    assert error.rmse == pytest.approx(1 / 5)
    assert error.cosine == pytest.approx(25 / (5 * 26**0.5))
    assert error.beyond == 1


def test_zeros_for_small_outputs_are_wrong(torch: Any, want: Any) -> None:
    """Each of them is within the tolerance of 0.03 or nearly so, and all together are nothing."""
    error = _verify(torch.zeros_like(want), want, Dtype.FP8)
    assert error.beyond < 0.2 * error.values
    assert not error.passed
    assert "the relative RMSE is 1, above 0.1" in error.complaints


def test_one_head_that_is_another_s_is_wrong(torch: Any, want: Any) -> None:
    got = want.clone()
    got[2, 5] = want[2, 6]
    for dtype in (Dtype.BF16, Dtype.FP8):
        assert not _verify(got, want, dtype).passed


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_not_finite_is_wrong(torch: Any, want: Any, value: float) -> None:
    got = want.clone()
    got[0, 0, 0] = value
    error = _verify(got, want)
    assert error.non_finite == error.beyond == 1
    assert not error.passed
    assert error.max_abs == 0
    lse = torch.zeros(4, 16)
    lse[1, 1] = value
    error = _verify(want, want, lse=lse, want_lse=torch.zeros(4, 16))
    assert error.complaints == ("1 values are infinite or no numbers",)


def test_a_log_sum_exp_of_another_base_is_wrong(torch: Any, want: Any) -> None:
    lse = torch.full((4, 16), 8.0)
    assert _verify(want, want, lse=lse, want_lse=lse).passed
    error = _verify(want, want, lse=lse / 0.6931, want_lse=lse)
    assert not error.passed
    assert error.lse_max_abs == pytest.approx(8 / 0.6931 - 8)


def test_a_few_outliers_pass_in_fp8_only(torch: Any, want: Any) -> None:
    got = want.clone()
    got.view(-1)[:100] += 0.04
    assert _verify(got, want, Dtype.FP8).beyond == pytest.approx(100, abs=20)
    assert not _verify(got, want, Dtype.BF16).passed


def test_a_reference_of_zeros_is_no_obstacle(torch: Any) -> None:
    zeros = torch.zeros(1, 1, 4)
    assert _verify(zeros, zeros).passed
