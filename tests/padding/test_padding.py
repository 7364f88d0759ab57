"""Padding and unpadding, bit for bit."""

from __future__ import annotations

from typing import Any

import pytest

from mlaprobe.errors import UsageError
from mlaprobe.padding import tensors as padding
from mlaprobe.padding.api import plan
from mlaprobe.padding.tensors import Strategy
from tests.padding.fake import later
from tests.padding.tensors import torch_or_skip

TOKENS, WIDTH = 3, 5


@pytest.fixture(scope="module")
def torch() -> Any:
    return torch_or_skip()


def _numbered(torch: Any, tokens: int, heads: int, width: int = WIDTH) -> Any:
    return torch.arange(tokens * heads * width, dtype=torch.float32).reshape(tokens, heads, width)


def _forms(torch: Any, q: Any) -> list[Any]:
    """The same values, contiguous and in three strided layouts."""
    wide = torch.zeros(*q.shape[:-1], 2 * q.shape[-1])
    wide[..., : q.shape[-1]] = q
    every_other = torch.zeros(q.shape[0], 2 * q.shape[1], q.shape[2])
    every_other[:, ::2] = q
    return [
        q,
        wide[..., : q.shape[-1]],
        every_other[:, ::2],
        q.transpose(0, 1).contiguous().transpose(0, 1),
    ]


@pytest.mark.parametrize("strategy", list(Strategy))
def test_every_count_comes_back_from_every_target(torch: Any, strategy: Strategy) -> None:
    for heads in range(1, 129):
        q = _numbered(torch, TOKENS, heads)
        for target in range(heads, 129):
            if strategy is Strategy.REPEAT and target % heads:
                continue
            padded = padding.pad_heads(q, target, strategy)
            assert padded.shape == (TOKENS, target, WIDTH)
            assert padded.is_contiguous()
            assert torch.equal(padding.unpad_heads(padded, heads, strategy), q)
            lse = padded[..., 0]
            assert torch.equal(padding.unpad_heads(lse, heads, strategy, dim=-1), q[..., 0])


@pytest.mark.parametrize("strategy", list(Strategy))
@pytest.mark.parametrize(("heads", "target"), [(1, 16), (6, 18), (8, 16), (48, 96), (64, 64)])
def test_strided_inputs_give_the_same(
    torch: Any, strategy: Strategy, heads: int, target: int
) -> None:
    q = _numbered(torch, TOKENS, heads)
    expected = padding.pad_heads(q, target, strategy)
    for form in _forms(torch, q):
        assert torch.equal(form, q)
        padded = padding.pad_heads(form, target, strategy)
        assert torch.equal(padded, expected)
        assert padded.is_contiguous() or target == heads
        assert torch.equal(padding.unpad_heads(padded, heads, strategy), q)


def test_what_padding_heads_hold(torch: Any) -> None:
    q = _numbered(torch, 2, 3)
    tiled = padding.pad_heads(q, 8, Strategy.TILE)
    assert torch.equal(tiled, q[:, [i % 3 for i in range(8)]])
    repeated = padding.pad_heads(q, 6, Strategy.REPEAT)
    assert torch.equal(repeated, q.repeat_interleave(2, dim=1))
    zero = padding.pad_heads(q, 8, Strategy.ZERO)
    assert torch.equal(zero[:, :3], q)
    assert not zero[:, 3:].any()


def test_nothing_is_copied_where_nothing_is_padded(torch: Any) -> None:
    q = _numbered(torch, 2, 16).transpose(0, 1).contiguous().transpose(0, 1)
    for strategy in Strategy:
        assert padding.pad_heads(q, 16, strategy) is q
        assert padding.unpad_heads(q, 16, strategy) is q
    assert padding.pad_rows(q, 2, 2) is q
    assert padding.unpad_rows(q, 2, 2) is q


def test_unpadding_is_a_view(torch: Any) -> None:
    o = _numbered(torch, 2, 16)
    for strategy in Strategy:
        assert padding.unpad_heads(o, 8, strategy).data_ptr() == o.data_ptr()


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e4m3fnuz", "bfloat16", "uint8"])
@pytest.mark.parametrize("strategy", list(Strategy))
def test_dtypes_of_queries_are_kept_bit_for_bit(torch: Any, dtype: str, strategy: Strategy) -> None:
    q = _numbered(torch, 2, 4).to(getattr(torch, dtype))
    padded = padding.pad_heads(q, 16, strategy)
    assert padded.dtype is q.dtype
    back = padding.unpad_heads(padded, 4, strategy).contiguous()
    assert torch.equal(back.view(torch.uint8), q.view(torch.uint8))
    rows = padding.pad_rows(q, 1, 3)
    assert rows.dtype is q.dtype
    assert torch.equal(
        padding.unpad_rows(rows, 1, 3).view(torch.uint8), q.contiguous().view(torch.uint8)
    )


@pytest.mark.parametrize(
    ("heads", "target", "strategy"), [(16, 8, "tile"), (6, 16, "repeat"), (3, 2, "zero")]
)
def test_what_cannot_be_padded(torch: Any, heads: int, target: int, strategy: str) -> None:
    with pytest.raises(UsageError):
        padding.pad_heads(_numbered(torch, 2, heads), target, Strategy(strategy))


def test_rows_go_in_front_of_each_request(torch: Any) -> None:
    q = _numbered(torch, 6, 2)  # three requests of two tokens
    padded = padding.pad_rows(q, 2, 4)
    assert padded.shape == (12, 2, WIDTH)
    for request in range(3):
        mine = padded[4 * request : 4 * request + 4]
        assert not mine[:2].any()
        assert torch.equal(mine[2:], q[2 * request : 2 * request + 2])
    assert torch.equal(padding.unpad_rows(padded, 2, 4), q)
    assert padding.unpad_rows(padded, 2, 4).is_contiguous()
    assert torch.equal(padding.unpad_rows(padded[..., 0, 0], 2, 4), q[:, 0, 0])


def test_rows_that_make_no_requests(torch: Any) -> None:
    with pytest.raises(UsageError, match="no whole requests of 2"):
        padding.pad_rows(_numbered(torch, 5, 2), 2, 4)
    with pytest.raises(UsageError, match="no whole requests of 4"):
        padding.unpad_rows(_numbered(torch, 5, 2), 2, 4)
    with pytest.raises(UsageError, match="cannot pad 4 query rows to 2"):
        padding.pad_rows(_numbered(torch, 4, 2), 4, 2)


def test_the_row_pointer(torch: Any) -> None:
    pointer = padding.query_indptr(3, 4)
    assert pointer.tolist() == [0, 4, 8, 12]
    assert pointer.dtype is torch.int32
    assert padding.query_indptr(1, 2, dtype=torch.int64).dtype is torch.int64


@pytest.mark.parametrize("strategy", ["tile", "repeat", "zero"])
@pytest.mark.parametrize("heads", [1, 8, 12, 33, 48, 64, 80])
def test_a_plan_pads_and_unpads_by_itself(torch: Any, strategy: str, heads: int) -> None:
    found = plan(
        heads,
        capability=later(),
        arch="gfx950",
        q_dtype="fp8",
        kv_dtype="fp8",
        strategy=strategy,
    )
    q = _numbered(torch, 4, heads)
    padded = found.pad_q(q)
    assert padded.shape[1] == found.padded_num_heads
    assert torch.equal(found.unpad_o(padded), q)
    assert torch.equal(found.unpad_lse(padded[..., 0]), q[..., 0])
    if strategy == "repeat":
        assert found.strategy is (
            Strategy.TILE if found.padded_num_heads % heads else Strategy.REPEAT
        )


def test_a_plan_refuses_a_tensor_of_other_heads(torch: Any) -> None:
    found = plan(48, capability=later(), arch="gfx950", q_dtype="fp8", kv_dtype="fp8")
    with pytest.raises(UsageError, match="48 heads, and this one has 64"):
        found.pad_q(_numbered(torch, 2, 64))
    with pytest.raises(UsageError, match="64 heads, and this one has 48"):
        found.unpad_o(_numbered(torch, 2, 48))
    with pytest.raises(UsageError):
        found.unpad_lse(_numbered(torch, 2, 48)[..., 0])


def test_a_plan_pads_rows_by_itself(torch: Any) -> None:
    found = plan(16, capability=later(), arch="gfx950", q_dtype="fp8", kv_dtype="fp8", qlens=2)
    q = _numbered(torch, 4, 16)
    assert found.unpad_rows(found.pad_rows(q, 2), 2) is q


def test_padding_has_no_shapes_that_depend_on_data(torch: Any) -> None:
    """Meta tensors have shapes and no data: what works on them can be captured in a graph."""
    q = torch.empty(4, 12, 576, device="meta", dtype=torch.bfloat16)
    for strategy in (Strategy.TILE, Strategy.ZERO):
        padded = padding.pad_heads(q, 16, strategy)
        assert (padded.shape, padded.device.type) == ((4, 16, 576), "meta")
        assert padding.unpad_heads(padded, 12, strategy).shape == (4, 12, 576)
    assert padding.pad_rows(q, 2, 4).shape == (8, 12, 576)
