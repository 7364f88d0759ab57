"""vLLM's decisions by vLLM's names."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from mlaprobe.adapters import vllm_0_2 as vllm
from mlaprobe.adapters.settings import capability_for
from mlaprobe.core.keeping import Topics
from mlaprobe.core.shape import DecodeShape
from mlaprobe.errors import UsageError
from mlaprobe.padding import planning
from mlaprobe.padding.api import CannotRunError
from mlaprobe.padding.request import Mode
from tests.padding.fake import Fake, later, no
from tests.padding.tensors import torch_or_skip


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv(vllm.PAD_TO_NATIVE_SHAPE, raising=False)
    monkeypatch.delenv(vllm.ASM_PADDING, raising=False)
    monkeypatch.setattr(planning, "WARNED", Topics())
    vllm.configure(capability=later(), arch="gfx950")
    yield
    vllm.configure()


def resolve(heads: int, where: str = "gfx950", **more: Any) -> int:
    arguments = {
        **{"gfx942": where == "gfx942", "gfx950": where == "gfx950"},
        **{"q_fp8": True, "kv_fp8": True, "max_qo_lens": (1,)},
        **more,
    }
    return vllm.resolve_padded_mla_num_heads(heads, **arguments)


@pytest.mark.parametrize("value", [None, "", "off", "OFF", " Off "])
def test_heads_are_not_padded_to_native_counts_by_default(
    monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    if value is not None:
        monkeypatch.setenv(vllm.PAD_TO_NATIVE_SHAPE, value)
    assert vllm.pad_to_native_mode() is Mode.OFF
    for heads in range(1, 257):
        expected = (heads + 15) // 16 * 16
        assert vllm.get_actual_mla_num_heads(heads) == expected
        for where in ("gfx942", "gfx950", "gfx1250"):
            assert resolve(heads, where, max_qo_lens=(1, 2)) == expected


def test_off_asks_no_source(monkeypatch: pytest.MonkeyPatch) -> None:
    source = later()
    vllm.configure(capability=source)
    assert resolve(48) == 48
    assert not source.asked


@pytest.mark.parametrize("value", ["auto", "AUTO", "Auto"])
def test_auto_pads_to_a_native_count(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv(vllm.PAD_TO_NATIVE_SHAPE, value)
    assert resolve(48) == 64
    assert resolve(80) == 96
    assert resolve(96, max_qo_lens=range(1, 9), needs_lse=True) == 128
    assert resolve(24, q_fp8=False, kv_fp8=False) == 24
    assert resolve(112, "gfx942") == 128
    assert resolve(112, "gfx942", needs_lse=True) == 112
    assert resolve(48, "gfx1250") == 48
    assert resolve(32, "gfx942", max_qo_lens=(1, 4)) == 32


def test_force(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(vllm.PAD_TO_NATIVE_SHAPE, "force")
    assert resolve(32, "gfx942", max_qo_lens=(1, 4)) == 128


def test_errata_are_kept_clear_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """24 heads of several query tokens would be native on gfx950 with bf16."""
    monkeypatch.setenv(vllm.PAD_TO_NATIVE_SHAPE, "auto")
    vllm.configure(capability=later(errata=True, release="v0.1.20"))
    bf16 = {"q_fp8": False, "kv_fp8": False}
    assert resolve(24, "gfx950", **bf16) == 24
    assert resolve(24, "gfx950", max_qo_lens=(1, 2), **bf16) == 32


def test_a_page_size_of_1_is_like_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(vllm.PAD_TO_NATIVE_SHAPE, "auto")
    vllm.configure(capability=later(errata=True, release="v0.1.20"))
    assert resolve(48, "gfx942") == resolve(48, "gfx942", page_size=64) == 64


@pytest.mark.parametrize(
    ("name", "read", "choices"),
    [
        (vllm.PAD_TO_NATIVE_SHAPE, vllm.pad_to_native_mode, "auto, off, force"),
        (vllm.ASM_PADDING, vllm.small_head_mode, "auto, gluon, asm"),
    ],
)
def test_a_wrong_switch_lists_the_choices(
    monkeypatch: pytest.MonkeyPatch, name: str, read: Any, choices: str
) -> None:
    monkeypatch.setenv(name, "on")
    with pytest.raises(vllm.SwitchError, match=f"{name} is 'on'") as caught:
        read()
    assert choices in str(caught.value.hint)
    assert isinstance(caught.value, ValueError)


def test_a_capability_can_be_passed_to_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(vllm.PAD_TO_NATIVE_SHAPE, "auto")
    assert resolve(48, capability=Fake()) == 48


def test_knobs_that_the_source_reads_are_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(vllm.PAD_TO_NATIVE_SHAPE, "auto")
    monkeypatch.setenv("AITER_ENABLE_EXPERIMENTAL", "1")
    monkeypatch.setenv("AITER_OTHER", "1")
    source = later(knobs=("AITER_ENABLE_EXPERIMENTAL", "AITER_UNSET"))
    resolve(48, capability=source)
    assert {shape.env for shape in source.asked} == {(("AITER_ENABLE_EXPERIMENTAL", "1"),)}


@pytest.mark.parametrize("value", ["auto", "force"])
def test_where_nothing_runs_the_unpadded_count_comes_with_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, value: str
) -> None:
    monkeypatch.setenv(vllm.PAD_TO_NATIVE_SHAPE, value)
    broken = Fake(no_kernel=lambda s: True)
    unknown = Fake(unknown=lambda s: True)
    with caplog.at_level(logging.WARNING, "mlaprobe"):
        for source in (broken, broken, unknown):
            assert resolve(10, capability=source) == 16
            with pytest.raises(CannotRunError):
                resolve(10, capability=source, strict=True)
    first, second = caplog.messages
    assert "nothing runs, 16 heads are NO_KERNEL" in first
    assert "not known whether anything runs, 16 heads are UNKNOWN" in second
    assert "cannot follow f()" in second


def test_a_source_that_is_empty_is_asked_all_the_same() -> None:
    class Empty(Fake):
        def __len__(self) -> int:
            return 0

    given, configured = Empty(), Empty()
    vllm.configure(capability=configured)
    assert capability_for(given) is given
    assert capability_for(None) is configured


def test_head_counts_that_the_back_end_takes() -> None:
    for heads in range(-1, 300):
        expected = 1 <= heads <= 128 or (heads > 0 and heads % 16 == 0)
        assert vllm.is_valid_num_heads(heads) is expected
        if not expected:
            with pytest.raises(UsageError):
                vllm.check_num_heads_validity(heads)
    vllm.check_num_heads_validity(144)


def test_gluon_decode_for_the_divisors_of_16() -> None:
    for heads in range(1, 65):
        assert vllm.use_gluon_decode(heads, 1, "auto") is (heads in (1, 2, 4, 8))
    assert not vllm.use_gluon_decode(8, 4, "auto")
    assert not vllm.use_gluon_decode(8, 1, "fp8")
    assert not vllm.use_gluon_decode(8, 1, "fp8_e4m3")
    assert vllm.use_gluon_decode(8, 1, "bfloat16")
    assert not vllm.use_gluon_decode(8, 1, "auto", arch="gfx942")
    assert not vllm.use_gluon_decode(8, 1, "auto", capability=later(gluon=no))


@pytest.mark.parametrize("value", ["asm", "ASM"])
def test_the_switch_can_force_asm(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv(vllm.ASM_PADDING, value)
    for heads in (1, 2, 4, 8, 12):
        assert not vllm.use_gluon_decode(heads, 1, "auto")
        assert not vllm.use_gluon_verify(heads, 4, "auto")


def test_the_switch_can_ask_for_gluon(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(vllm.ASM_PADDING, "Gluon")
    for heads in (1, 2, 4, 8, 12):
        assert vllm.use_gluon_decode(heads, 1, "auto")
    assert not vllm.use_gluon_decode(24, 1, "auto")
    with caplog.at_level(logging.WARNING, "mlaprobe"):
        for heads in (8, 12):
            assert not vllm.use_gluon_decode(heads, 1, "auto", arch="gfx942")
    assert len(caplog.records) == 1


def test_under_dcp_as_many_heads_as_the_kernel_takes_and_the_lse() -> None:
    source = later(gluon=lambda shape: shape.num_heads <= 96 and shape.lse)
    assert vllm.use_gluon_decode(16, 1, "auto", 8, capability=source)
    assert not vllm.use_gluon_decode(24, 1, "auto", 2, capability=source)
    assert not vllm.use_gluon_decode(8, 1, "auto", 1, capability=source)


def test_verification_is_a_call_of_its_own() -> None:
    for heads in range(1, 33):
        assert vllm.use_gluon_verify(heads, 4, "auto") is (heads < 16)
    assert not vllm.use_gluon_verify(8, 1, "auto")
    assert not vllm.use_gluon_verify(8, 4, "fp8")
    assert not vllm.use_gluon_verify(8, 4, "auto", 2)
    assert not vllm.use_gluon_verify(8, 4, "auto", arch="gfx942")
    one_token = later(gluon=lambda shape: shape.qlen == 1)
    assert not vllm.use_gluon_verify(8, 4, "auto", capability=one_token)
    assert vllm.use_gluon_verify(8, 4, "auto", flattened=True, capability=one_token)


def test_a_batch_limit_of_the_source_counts() -> None:
    one_request = later(gluon=lambda shape: shape.batch == 1)
    assert not vllm.use_gluon_decode(8, 1, "auto", capability=one_request)


def test_without_a_gpu_nothing_takes_gluon(monkeypatch: pytest.MonkeyPatch) -> None:
    from mlaprobe.system import gpu as local

    vllm.configure(capability=later())
    monkeypatch.setattr(local, "archs", lambda: ())
    assert not vllm.use_gluon_decode(8, 1, "auto")
    assert vllm.asm_lse_ps_kernel_qlen(1) is None
    monkeypatch.setattr(local, "archs", lambda: ("gfx950",))
    assert vllm.use_gluon_decode(8, 1, "auto")


def rides_4(shape: DecodeShape) -> bool:
    return shape.num_heads == 16 and shape.qlen in (1, 4)


def test_the_kernel_length_for_the_lse() -> None:
    source = Fake(native=rides_4, no_kernel=lambda s: not rides_4(s))
    found = [vllm.asm_lse_ps_kernel_qlen(q, capability=source) for q in range(1, 7)]
    assert found == [1, 4, 4, 4, None, None]


def test_padded_queries_and_back() -> None:
    torch = torch_or_skip()
    for heads, target in ((8, None), (12, None), (48, 64), (32, 64), (16, 16)):
        q = torch.arange(2 * heads * 3, dtype=torch.float32).reshape(2, heads, 3)
        padded = vllm.get_mla_padded_q(heads, q, target)
        count = padded.shape[1]
        assert count == (target or 16)
        index = (
            [i * heads // count for i in range(count)]
            if count % heads == 0
            else [i % heads for i in range(count)]
        )
        assert torch.equal(padded, q[:, index])
        assert torch.equal(vllm.get_mla_unpadded_o(heads, padded, target), q)
        assert torch.equal(vllm.get_mla_unpadded_lse(heads, padded[..., 0], target), q[..., 0])
    with pytest.raises(UsageError):
        vllm.get_mla_unpadded_o(48, torch.zeros(2, 48, 3), 64)
    o = torch.zeros(2, 32, 3)
    assert vllm.get_mla_unpadded_o(32, o) is o


def test_uniform_queries_and_back() -> None:
    torch = torch_or_skip()
    q = torch.arange(12, dtype=torch.float32).reshape(6, 2, 1)
    padded = vllm.pad_uniform_q_to_kernel_qlen(q, 3, 4)
    assert padded.shape == (8, 2, 1)
    assert torch.equal(vllm.unpad_uniform_rows(padded, 3, 4), q)
    assert vllm.qo_indptr_for_uniform_qlen(2, 4, "cpu").tolist() == [0, 4, 8]


@pytest.mark.parametrize("name", ["vllm", "vllm_0_2", "sglang", "atom"])
def test_nothing_heavy_is_imported(name: str) -> None:
    import subprocess
    import sys

    code = (
        f"import sys, mlaprobe.adapters.{name} as a; a.configure(arch='gfx950');"
        "heavy = {'torch', 'tree_sitter', 'typer', 'rich', 'vllm', 'sglang', 'atom', 'aiter'};"
        "found = heavy & set(sys.modules); sys.exit(' '.join(sorted(found)) if found else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
