"""Uses of instructions for which there is no rule: each is refused, and says why."""

from __future__ import annotations

import pytest

from mlaprobe.emulator.decoding import decode
from mlaprobe.emulator.errors import UnmodelledError
from mlaprobe.emulator.machine import unmodelled
from mlaprobe.emulator.modes import FloatMode
from mlaprobe.emulator.program import Context, compiled_rule
from mlaprobe.emulator.semantics import RULES
from tests.emulator.single import encodings
from tests.emulator.test_kernels import BF16, FP8, code
from tests.emulator.test_schedules import END, assembled

MODE = FloatMode(round_32=0, flush_inputs=False, flush_results=False, saturate=False)


def compile_one(line: str, *, set_bits: int = 0, index_mode: int = 0) -> None:
    """Compiles an instruction with more bits of its encoding set."""
    word = int.from_bytes(encodings()[line], "little") | set_bits
    image = word.to_bytes(12, "little")
    context = Context(arch="gfx950", mode=MODE, index_mode=index_mode)
    compiled_rule(RULES, decode(image, 0, "gfx950"), context)


DPP = "v_mov_b32_dpp v1, v2 quad_perm:[2,3,0,1] row_mask:0xf bank_mask:0xf"
FMA = "v_fma_f32 v1, v2, s5, v4"
SCALED = "v_cvt_scalef32_pk_bf16_fp8 v1, v2, v3"
SDWA = "v_cvt_pk_f32_fp8_sdwa v[4:5], v2 src0_sel:WORD_0"


@pytest.mark.parametrize("line", encodings())
def test_as_the_kernels_use_them_all_have_a_rule(line: str) -> None:
    compile_one(line)


@pytest.mark.parametrize(
    ("line", "bits", "why"),
    [
        (FMA, 1 << 15, "clamp"),
        (FMA, 1 << 59, "output modifier"),
        (FMA, 1 << 11, "operand selection"),
        ("v_add3_u32 v1, v2, v3, 1", 1 << 61, "neg"),
        ("v_add3_u32 v1, v2, v3, 1", 1 << 8, "abs"),
        ("v_add3_u32 v1, v2, v3, 1", 1 << 15, "clamp"),
        ("v_cvt_pk_fp8_f32 v1, v2, v3", 1 << 11, "operand selection"),
        (SCALED, 1 << 12, "operand selection of the scale"),
        (SCALED, 1 << 15, "clamp"),
        (SCALED, 1 << 61, "neg"),
        (SCALED, 1 << 9, "abs"),
        ("v_pk_mul_f32 v[6:7], v[2:3], v[4:5]", 1 << 15, "clamp"),
        (DPP, 1 << 48, "DPP control"),
        (DPP, 1 << 52, "neg and abs of DPP"),
        (SDWA, 1 << 45, "modifiers of SDWA"),
        (SDWA, 1 << 52, "modifiers of SDWA"),
        ("v_mfma_f32_16x16x16_bf16 a[0:3], v[2:3], a[4:5], a[0:3]", 1 << 11, "broadcasting"),
        ("v_mfma_f32_16x16x16_bf16 a[0:3], v[2:3], a[4:5], a[0:3]", 1 << 8, "broadcast"),
        ("ds_read_b32 v1, v2 offset:64", 1 << 16, "GDS"),
        ("buffer_load_dword v1, v2, s[8:11], 0 offen offset:16", 1 << 13, "buffer index"),
        ("buffer_store_dword v1, v2, s[8:11], 0 offen", 1 << 16, "from LDS"),
    ],
)
def test_modifiers_without_a_rule(line: str, bits: int, why: str) -> None:
    with pytest.raises(UnmodelledError, match=why):
        compile_one(line, set_bits=bits)


@pytest.mark.parametrize("mask", [24, 28])
def test_dpp_that_leaves_rows_or_banks_out(mask: int) -> None:
    word = int.from_bytes(encodings()[DPP], "little") & ~(1 << 32 + mask)
    context = Context(arch="gfx950", mode=MODE)
    with pytest.raises(UnmodelledError, match="row mask or bank mask"):
        compiled_rule(RULES, decode(word.to_bytes(8, "little"), 0, "gfx950"), context)


@pytest.mark.parametrize(
    "line",
    [
        "v_mfma_f32_16x16x16_bf16 a[0:3], v[2:3], a[4:5], a[0:3]",
        "v_pk_mul_f32 v[6:7], v[2:3], v[4:5]",
        "v_cvt_pk_bf16_f32 v1, v2, v3",
        SCALED,
        "v_accvgpr_read_b32 v1, a2",
        "v_permlane32_swap_b32_e32 v1, v2",
    ],
)
def test_registers_relative_to_m0_are_of_simple_instructions_only(line: str) -> None:
    compile_one(line)
    with pytest.raises(UnmodelledError, match="relative to M0"):
        compile_one(line, index_mode=1)


def test_what_a_code_object_needs_that_has_no_rule() -> None:
    assert unmodelled(code("gfx942", FP8)) == set()
    assert unmodelled(code("gfx950", BF16)) == set()
    atomic, export = (0xD800_0000, 0x0000_0302), 0xF800_0000
    program = assembled("s_nop 7", *atomic, export, 0xC00A_0000, 0, END)
    # ds_add_u32, an export, and s_load_dwordx4, which has a rule.
    assert unmodelled(program) == {"ds_add_u32", ".long"}


def test_a_code_object_that_switches_the_index_mode() -> None:
    on, off = "s_set_gpr_idx_on s5, gpr_idx(SRC0)", "s_set_gpr_idx_off"
    packed = "v_pk_mul_f32 v[6:7], v[2:3], v[4:5]"
    assert unmodelled(assembled(on, off, packed, END)) == set()
    assert unmodelled(assembled(on, packed, off, END)) == {"v_pk_mul_f32"}
