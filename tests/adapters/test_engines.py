"""What the adapters for vLLM, SGLang and ATOM answer, by a bundled release. Expected is what
AITER's own source says there; docs/explanation/engines.md has the places."""

from __future__ import annotations

import logging
from typing import Any

import pytest

import mlaprobe
from mlaprobe.adapters import atom, sglang, vllm
from mlaprobe.adapters.settings import NotConfiguredError, configure
from mlaprobe.errors import UsageError
from tests.padding.tensors import torch_or_skip

HELPER = vllm.AiterMLAHelper
V20, V19 = "release:v0.1.20.post1", "release:v0.1.19.post2"


def use(release: str = V20, arch: str = "gfx950", **run: Any) -> None:
    configure(capability=mlaprobe.probe(release), arch=arch, **run)


# --- head counts ---------------------------------------------------------------------------------


def test_without_dtypes_heads_go_to_the_next_multiple_of_16() -> None:
    use()
    for heads in range(1, 129):
        expected = -(-heads // 16) * 16
        assert HELPER.get_actual_mla_num_heads(heads) == expected
        assert atom.mla_kernel_num_heads(heads) == expected


@pytest.mark.parametrize(
    ("arch", "dtype", "heads", "expected"),
    [
        ("gfx950", "fp8", 48, 64),
        ("gfx950", "fp8", 112, 128),
        ("gfx950", "fp8", 12, 16),
        ("gfx950", "bf16", 24, 24),
        ("gfx942", "fp8", 112, 128),
    ],
)
def test_of_a_run_heads_go_to_a_count_that_runs(
    arch: str, dtype: str, heads: int, expected: int
) -> None:
    use(arch=arch, q_dtype=dtype)
    assert HELPER.get_actual_mla_num_heads(heads) == expected
    assert atom.mla_kernel_num_heads(heads) == expected
    assert sglang.head_padding(heads).num_head_padded == expected


def test_24_heads_are_native_for_one_token_only() -> None:
    """vLLM searches AITER's source for a text that no release has."""
    use(q_dtype="bf16")
    assert vllm._aiter_mla_native_h24_supported()
    use(q_dtype="bf16", qlens=(1, 4))
    assert not vllm._aiter_mla_native_h24_supported()
    use(V19, q_dtype="bf16")
    assert not vllm._aiter_mla_native_h24_supported()


def test_how_heads_are_padded_in_sglang_s_terms() -> None:
    use(q_dtype="fp8")
    twelve, eight, sixteen = map(sglang.head_padding, (12, 8, 16))
    assert (twelve.head_pad_mode, twelve.head_repeat_factor) == ("zero", 1)
    assert (eight.head_pad_mode, eight.head_repeat_factor) == ("repeat", 2)
    assert (sixteen.head_pad_mode, sixteen.num_head_padded) == ("none", 16)
    assert eight.strategy is mlaprobe.Strategy.REPEAT
    assert twelve.strategy is mlaprobe.Strategy.ZERO


def test_gluon_in_sglang_s_terms() -> None:
    """AITER's gluon function takes a bf16 query on an fp8 cache on gfx950 alone."""
    asked: dict[str, Any] = {"head_pad_mode": "zero", "num_head": 12, "kv_cache_dtype": "fp8"}
    use(q_dtype="fp8", qlens=(1, 4))
    assert sglang.prefer_mla_gluon_decode(**asked)
    assert not sglang.prefer_mla_gluon_decode(**{**asked, "head_pad_mode": "repeat"})
    assert not sglang.prefer_mla_gluon_decode(**{**asked, "kv_cache_dtype": "bf16"})
    use(arch="gfx942", q_dtype="fp8")
    assert not sglang.prefer_mla_gluon_decode(**asked)


# --- prefill -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("release", "heads", "expected"),
    [(V20, 80, 96), (V20, 112, 128), (V20, 48, 48), (V20, 24, 32), (V19, 48, 64), (V19, 96, 128)],
)
def test_prefill_goes_to_a_count_that_is_merged(release: str, heads: int, expected: int) -> None:
    use(release)
    assert HELPER.get_fp8_prefill_num_heads(heads) == expected


def test_prefill_of_sglang_s() -> None:
    use()
    check = sglang.check_fp8_prefill_num_head
    assert check(num_head=10, num_kv_head=10, v_head_dim=128) == 10
    assert check(num_head=80, num_kv_head=80, v_head_dim=128) == 96
    assert check(num_head=80, num_kv_head=1, v_head_dim=128) is None
    assert check(num_head=16, num_kv_head=16, v_head_dim=96) is None
    assert check(num_head=130, num_kv_head=130, v_head_dim=128) is None


def test_the_table_of_the_reducer() -> None:
    use()
    table = sglang._MLA_REDUCE_V1_HEADS
    assert table[128] == {1, 2, 4, 8, 10, 16, 32, 40, 48, 64, 96, 128}
    assert table[512] == {8, 16, 24, 32, 48, 64, 80, 96, 112, 128}
    assert list(table) == [64, 128, 512]
    assert table.get(96, frozenset()) == frozenset()
    use(V19)
    assert table[128] == {1, 2, 4, 8, 10, 16, 32, 40, 64, 128}


# --- round robin and the log-sum-exp -------------------------------------------------------------


def test_round_robin_exists_on_gfx950_only() -> None:
    use()
    assert vllm._asm_dcp_verify_configured(2, 1, True)
    assert not vllm._asm_dcp_verify_configured(1, 1, True)
    assert not vllm._asm_dcp_verify_configured(2, 2, True)
    assert not vllm._asm_dcp_verify_configured(2, 1, False)
    use(arch="gfx942")
    assert not vllm._asm_dcp_verify_configured(2, 1, True)
    assert sglang._asm_cprr_kernel_heads(16, 4) == 0


@pytest.mark.parametrize("gathered", [16, 64, 65, 128])
def test_gathered_heads(gathered: int) -> None:
    use(q_dtype="fp8", qlens=(1, 4))
    expected = {16: 16, 64: 64, 65: 128, 128: 128}[gathered]
    assert vllm._asm_dcp_verify_heads(gathered) >= gathered
    assert sglang._asm_cprr_kernel_heads(gathered, 4) == expected
    assert vllm._asm_dcp_verify_heads(129) == sglang._asm_cprr_kernel_heads(129, 4) == 0


def test_metadata_with_the_log_sum_exp_is_for_gfx950() -> None:
    use(q_dtype="fp8")
    assert atom.dcp_persistent_supported()
    use()
    assert atom.dcp_persistent_supported()
    # gfx942 has one such kernel, of 64 heads of fp8: 65 gathered heads and more have none.
    for dtype in ("bf16", "fp8"):
        use(arch="gfx942", q_dtype=dtype)
        assert not atom.dcp_persistent_supported()


# --- masks, modes, lengths -----------------------------------------------------------------------


def test_decode_without_a_mask() -> None:
    use()
    assert vllm._aiter_mla_non_causal_asm_kernels()
    # vLLM's list has 96 as well, of a newer AITER: this one folds them to 16 heads of two tokens.
    found = [n for n in range(16, 129, 16) if HELPER.has_fp8_non_causal_qlen2_kernel(n)]
    assert found == [32, 64, 128]
    assert atom.mla_min_query_heads("fp8_e4m3", 2) == 32
    assert atom.mla_min_query_heads("fp8_e4m3", 4) == 16
    assert atom.mla_min_query_heads("bf16", 2) == 16
    use(arch="gfx942")
    assert not vllm._aiter_mla_non_causal_asm_kernels()


def test_lengths_with_metadata() -> None:
    use(q_dtype="bf16")
    assert HELPER._ASM_PADDED_MAX_PS_QLEN == sglang.asm_ps_max_qlen() == 2
    use(arch="gfx942", q_dtype="bf16")
    assert HELPER._ASM_PADDED_MAX_PS_QLEN == sglang.asm_ps_max_qlen() == 4


def test_how_a_launch_is_scheduled() -> None:
    use(q_dtype="fp8")
    for heads in (16, 32, 128):
        mode = sglang.metadata_mode(heads)
        assert (mode.use_mla_ps_kernel, mode.fast_mode, mode.intra_batch_mode) == (
            True,
            True,
            False,
        )


def test_the_planner_is_told_the_cache_s_dtype() -> None:
    """SGLang says fp8 for a bf16 query on an fp8 cache: the planner then takes 128 heads as they
    are, and the dispatcher folds them (aiter/mla.py, v1_2_device.cuh)."""
    use(arch="gfx942", q_dtype="bf16", kv_dtype="fp8")
    assert sglang.metadata_mode(32).use_mla_ps_kernel
    assert not sglang.metadata_mode(128).use_mla_ps_kernel
    assert sglang.head_padding(64).num_head_padded != 64
    use(arch="gfx942", q_dtype="fp8")
    assert sglang.metadata_mode(128).use_mla_ps_kernel


def test_no_mode_runs_and_that_is_said(caplog: pytest.LogCaptureFixture) -> None:
    use(arch="gfx942", q_dtype="bf16", qlens=(16,))
    with caplog.at_level(logging.WARNING, "mlaprobe"):
        assert not sglang.metadata_mode(48).use_mla_ps_kernel
    assert "48 heads are not known to run" in caplog.text


def test_under_dcp_a_plain_decode_is_of_one_token() -> None:
    """16 heads of two tokens have no kernel that writes the log-sum-exp; vLLM launches none."""
    use(q_dtype="fp8", qlens=range(1, 5), lse=True)
    assert HELPER.get_actual_mla_num_heads(16) == 16
    for gathered in range(1, 129):
        planned = HELPER.get_actual_mla_num_heads(gathered)
        assert planned <= vllm._asm_dcp_verify_heads(gathered)


@pytest.mark.parametrize(
    ("heads", "length", "dtype", "expected"),
    [(16, 1, "fp8", True), (24, 1, "fp8", False), (64, 1, "bf16", True)],
)
def test_sparse_metadata(heads: int, length: int, dtype: str, expected: bool) -> None:
    use()
    found = atom._supports_sparse_mla_fast_metadata(
        heads, max_seqlen_qo=length, uni_seqlen_qo=length, q_dtype=dtype, kv_dtype=dtype
    )
    assert found is expected


def test_segments_are_for_gfx1250() -> None:
    """Its host function takes pages of 64 tokens in fp8 only (csrc/py_itfs_cu/asm_mla.cu)."""
    use(arch="gfx1250")
    for heads in (8, 16, 64, 128):
        assert atom.segmented_refusal(heads, "fp8") is None
        assert str(atom.segmented_refusal(heads, "bf16")).startswith("REJECTED")
        assert str(atom.segmented_refusal(heads, "fp8", 1)).startswith("REJECTED")
    use(arch="gfx950")
    assert "pages of one token" in str(atom.segmented_refusal(128, "fp8"))


# --- gluon ---------------------------------------------------------------------------------------


def test_gluon(monkeypatch: pytest.MonkeyPatch) -> None:
    use()
    assert vllm._gluon_mla_decode_supported()
    assert HELPER.use_gluon_decode(8, 1, "auto")
    assert not HELPER.use_gluon_decode(12, 1, "auto")
    assert not HELPER.use_gluon_decode(8, 2, "auto")
    assert not HELPER.use_gluon_decode(8, 1, "fp8")
    assert HELPER.use_gluon_verify(8, 4, "bfloat16")
    assert not HELPER.use_gluon_verify(8, 4, "bfloat16", 1, False)
    assert not HELPER.use_gluon_verify(8, 4, "bfloat16", 2)
    monkeypatch.setenv("VLLM_ROCM_AITER_MLA_ASM_PADDING", "asm")
    assert not HELPER.use_gluon_decode(8, 1, "auto")
    use(arch="gfx942")
    assert not vllm._gluon_mla_decode_supported()


# --- tensors and errors --------------------------------------------------------------------------


def test_queries_are_padded_and_results_cut() -> None:
    torch = torch_or_skip()
    use(q_dtype="fp8")
    for heads, launched in ((12, 16), (8, 16), (48, 64), (64, 64)):
        q = torch.randn(3, heads, 576)
        padded = HELPER.get_mla_padded_q(heads, q)
        assert padded.shape == (3, launched, 576)
        assert padded.is_contiguous()
        assert torch.equal(HELPER.get_mla_unpadded_o(heads, padded), q)
        assert torch.equal(HELPER.get_mla_unpadded_lse(heads, padded[..., 0]), q[..., 0])
    room = torch.randn(3, 16, 576)
    front = room[:, :12]
    assert HELPER.get_mla_padded_q(12, front, 16).data_ptr() == room.data_ptr()
    assert HELPER.get_mla_padded_q(12, room, 16) is room


def test_where_nothing_runs_that_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    use(arch="gfx942", q_dtype="bf16", lse=True)
    with caplog.at_level(logging.WARNING, "mlaprobe"):
        assert HELPER.get_actual_mla_num_heads(16) == HELPER.get_actual_mla_num_heads(16) == 16
    assert len(caplog.records) == 1
    assert "16 heads" in caplog.text


def test_what_is_not_known_is_asked_for() -> None:
    configure(capability=mlaprobe.probe(V20), arch="gfx950")
    with pytest.raises(NotConfiguredError, match="dtypes"):
        sglang.head_padding(12)
    for wrong in ({"qlens": (0,)}, {"q_dtype": "int3"}, {"arch": "H200"}, {"lse": "maybe"}):
        with pytest.raises(UsageError):
            configure(**{"q_dtype": "fp8", **wrong})  # type: ignore[arg-type]


@pytest.mark.parametrize("said", [{"kv_dtype": "fp8"}, {"qlens": (1, 4)}, {"lse": False}])
def test_what_is_said_of_a_decode_needs_the_query_s_dtype(said: dict[str, Any]) -> None:
    """It would be dropped, and head counts would go to the next multiple of 16 in silence."""
    use(q_dtype="fp8")
    with pytest.raises(UsageError, match="would have no effect: q_dtype"):
        configure(arch="gfx950", **said)
    assert HELPER.get_actual_mla_num_heads(48) == 64, "what held before holds on"


def test_prefill_of_fp8_where_there_is_one() -> None:
    use()
    assert vllm._fp8_mla_prefill_supported()
    use("release:v0.1.7.post5", "gfx942")
    assert not vllm._fp8_mla_prefill_supported()


@pytest.mark.parametrize(
    ("release", "size", "expected"),
    [
        ("release:v0.1.18", 3 << 30, False),
        ("release:v0.1.18", 1 << 30, True),
        ("release:v0.1.18", None, True),
        (V20, 3 << 30, True),
    ],
)
def test_gluon_and_the_size_of_the_cache(release: str, size: int | None, expected: bool) -> None:
    """It reads beyond 2 GiB in v0.1.18 and v0.1.19; that was mended."""
    use(release)
    assert vllm._gluon_kv_cache_in_bounds(size) is expected
    assert HELPER.use_gluon_decode(8, 1, "auto", size) is expected
