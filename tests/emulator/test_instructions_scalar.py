"""Each scalar instruction of AITER's kernels alone, with results worked out by hand."""

from __future__ import annotations

import pytest

from mlaprobe.emulator.semantics import RULES
from mlaprobe.emulator.wave import EXEC, M0, VCC
from tests.emulator.single import Lone, decoded, encodings

F = 0xFFFFFFFF
MIN, MAX = 0x80000000, 0x7FFFFFFF


@pytest.mark.parametrize(
    ("text", "s5", "s6", "scc", "result", "scc_after"),
    [
        ("s_add_u32 s4, s5, s6", 1, 2, 1, 3, 0),
        ("s_add_u32 s4, s5, s6", F, 1, 0, 0, 1),
        ("s_addc_u32 s4, 0, s6", 0, 41, 1, 42, 0),
        ("s_addc_u32 s4, 0, s6", 0, F, 1, 0, 1),
        ("s_addc_u32 s4, 0, s6", 0, F, 0, F, 0),
        ("s_sub_u32 s4, s5, 17", 18, 0, 1, 1, 0),
        ("s_sub_u32 s4, s5, 17", 16, 0, 0, F, 1),
        ("s_subb_u32 s4, s5, 0", 5, 0, 1, 4, 0),
        ("s_subb_u32 s4, s5, 0", 0, 0, 1, F, 1),
        ("s_subb_u32 s4, s5, 0", 0, 0, 0, 0, 0),
        ("s_add_i32 s4, s5, s6", MAX, 1, 0, MIN, 1),
        ("s_add_i32 s4, s5, s6", F, 1, 1, 0, 0),
        ("s_add_i32 s4, s5, s6", MIN, F, 0, MAX, 1),
        ("s_sub_i32 s4, 7, s6", 0, 9, 0, F - 1, 0),
        ("s_sub_i32 s4, 7, s6", 0, MIN, 0, MIN + 7, 1),
        ("s_min_u32 s4, s5, s6", 3, F, 0, 3, 1),
        ("s_min_u32 s4, s5, s6", F, 3, 1, 3, 0),
        ("s_min_u32 s4, s5, s6", 3, 3, 1, 3, 0),
        ("s_cselect_b32 s4, s5, s6", 10, 20, 1, 10, 1),
        ("s_cselect_b32 s4, s5, s6", 10, 20, 0, 20, 0),
        ("s_and_b32 s4, s5, 0xffff", 0x12345678, 0, 0, 0x5678, 1),
        ("s_and_b32 s4, s5, 0xffff", 0x12340000, 0, 1, 0, 0),
        ("s_or_b32 s4, s5, 0x40000", 1, 0, 0, 0x40001, 1),
        ("s_xor_b32 s4, 1, s6", 0, 1, 1, 0, 0),
        ("s_xor_b32 s4, 1, s6", 0, 2, 0, 3, 1),
        ("s_lshl_b32 s4, s5, s6", 3, 31, 0, MIN, 1),
        ("s_lshl_b32 s4, s5, s6", 3, 33, 0, 6, 1),
        ("s_lshl_b32 s4, s5, s6", MIN, 1, 1, 0, 0),
        ("s_lshr_b32 s4, s5, 4", 0xF0, 0, 0, 0xF, 1),
        ("s_lshr_b32 s4, s5, s6", MIN, 63, 0, 1, 1),
        ("s_lshr_b32 s4, s5, s6", 1, 1, 1, 0, 0),
        ("s_bfm_b32 s4, s5, 3", 4, 0, 1, 0x78, 1),
        ("s_bfm_b32 s4, s5, 3", 32, 0, 0, 0, 0),
        ("s_mul_i32 s4, s5, s6", F, 7, 1, F - 6, 1),
        ("s_mul_i32 s4, s5, s6", 0x10001, 0x10001, 0, 0x20001, 0),
        ("s_mul_i32 s4, s5, 0x90000001", 3, 0, 0, 0xB0000003, 0),
        ("s_mov_b32 s4, s5", 77, 0, 1, 77, 1),
        ("s_mov_b32 s4, 0xdeadbeef", 0, 0, 0, 0xDEADBEEF, 0),
        ("s_mov_b32 s4, -3", 0, 0, 1, F - 2, 1),
        ("s_mov_b32 s4, 0.5", 0, 0, 0, 0x3F000000, 0),
        ("s_ff1_i32_b32 s4, s5", 0x50, 0, 1, 4, 1),
        ("s_ff1_i32_b32 s4, s5", MIN, 0, 0, 31, 0),
        ("s_ff1_i32_b32 s4, s5", 0, 0, 0, F, 0),
        ("s_movk_i32 s4, 0x8000", 0, 0, 1, 0xFFFF8000, 1),
        ("s_andn2_b32 s4, s5, s6", 0xFF, 0x0F, 0, 0xF0, 1),
        ("s_andn2_b32 s4, s5, s6", 0x0F, 0xFF, 1, 0, 0),
        ("s_orn2_b32 s4, s5, s6", 1, F - 2, 0, 3, 1),
        ("s_ashr_i32 s4, s5, s6", MIN, 4, 0, 0xF8000000, 1),
        ("s_ashr_i32 s4, s5, s6", 7, 35, 1, 0, 0),
        ("s_bfe_u32 s4, s5, s6", 0x12345678, 8 << 16 | 12, 0, 0x45, 1),
        ("s_bfe_u32 s4, s5, s6", 0x12345678, 32 << 16, 0, 0x12345678, 1),
        ("s_bfe_u32 s4, s5, s6", 0x12345678, 3, 1, 0, 0),
        ("s_max_i32 s4, s5, s6", F, 1, 1, 1, 0),
        ("s_max_i32 s4, s5, s6", 2, MIN, 0, 2, 1),
        ("s_max_u32 s4, s5, s6", F, 1, 0, F, 1),
        ("s_min_i32 s4, s5, s6", F, 1, 0, F, 1),
        ("s_min_i32 s4, s5, s6", 5, 5, 1, 5, 0),
        ("s_mul_hi_i32 s4, s5, s6", F, 7, 1, F, 1),
        ("s_mul_hi_i32 s4, s5, s6", MIN, MIN, 0, 0x40000000, 0),
        ("s_mul_hi_u32 s4, s5, s6", F, F, 1, F - 1, 1),
        ("s_lshl1_add_u32 s4, s5, s6", 5, 3, 1, 13, 0),
        ("s_lshl2_add_u32 s4, s5, s6", 5, 3, 1, 23, 0),
        ("s_lshl3_add_u32 s4, s5, s6", 5, 3, 1, 43, 0),
        ("s_lshl4_add_u32 s4, s5, s6", 5, 3, 1, 83, 0),
        ("s_lshl1_add_u32 s4, s5, s6", MIN, 1, 0, 1, 1),
        ("s_lshl4_add_u32 s4, s5, s6", 0x0FFFFFFF, 16, 0, 0, 1),
        ("s_pack_ll_b32_b16 s4, s5, s6", 0x11112222, 0x33334444, 1, 0x44442222, 1),
        ("s_pack_lh_b32_b16 s4, s5, s6", 0x11112222, 0x33334444, 0, 0x33332222, 0),
        ("s_pack_hh_b32_b16 s4, s5, s6", 0x11112222, 0x33334444, 1, 0x33331111, 1),
        ("s_bcnt1_i32_b32 s4, s5", 0xF0F0, 0, 0, 8, 1),
        ("s_bcnt1_i32_b32 s4, s5", 0, 0, 1, 0, 0),
        ("s_brev_b32 s4, s5", 0x80000003, 0, 1, 0xC0000001, 1),
        ("s_not_b32 s4, s5", 0xF0, 0, 0, F - 0xF0, 1),
        ("s_not_b32 s4, s5", F, 0, 1, 0, 0),
        ("s_flbit_i32_b32 s4, s5", 1, 0, 1, 31, 1),
        ("s_flbit_i32_b32 s4, s5", MIN, 0, 0, 0, 0),
        ("s_flbit_i32_b32 s4, s5", 0, 0, 0, F, 0),
        ("s_sext_i32_i8 s4, s5", 0x180, 0, 1, 0xFFFFFF80, 1),
        ("s_sext_i32_i8 s4, s5", 0x17F, 0, 0, 0x7F, 0),
        ("s_sext_i32_i16 s4, s5", 0x18000, 0, 1, 0xFFFF8000, 1),
    ],
)
def test_results(text: str, s5: int, s6: int, scc: int, result: int, scc_after: int) -> None:
    lone = Lone()
    lone.wave.sgpr[5], lone.wave.sgpr[6], lone.wave.scc = s5, s6, scc
    lone.run(text)
    assert (lone.wave.sgpr[4], lone.wave.scc) == (result, scc_after)


@pytest.mark.parametrize(
    ("text", "before", "result", "scc"),
    [
        ("s_addk_i32 s4, 0xffff", 0, F, 0),
        ("s_addk_i32 s4, 0xffff", MIN, MAX, 1),
        ("s_addk_i32 s4, 0x7fff", MAX, 0x80007FFE, 1),
        ("s_addk_i32 s4, 0x7fff", 1, 0x8000, 0),
        ("s_cmpk_eq_u32 s4, 0xffff", 0xFFFF, 0xFFFF, 1),
        ("s_cmpk_eq_u32 s4, 0xffff", F, F, 0),
        ("s_mulk_i32 s4, 0xfffe", 7, F - 13, None),
        ("s_cmpk_eq_i32 s4, 0xfffe", F - 1, F - 1, 1),
        ("s_cmpk_eq_i32 s4, 0xfffe", 0xFFFE, 0xFFFE, 0),
        ("s_cmpk_lg_i32 s4, 0xfffe", F - 1, F - 1, 0),
        ("s_cmpk_gt_i32 s4, 0xfffe", F, F, 1),
        ("s_cmpk_gt_i32 s4, 0xfffe", F - 1, F - 1, 0),
        ("s_cmpk_ge_i32 s4, 0xfffe", F - 1, F - 1, 1),
        ("s_cmpk_ge_i32 s4, 0xfffe", MIN, MIN, 0),
        ("s_cmpk_lt_i32 s4, 0xfffe", F - 2, F - 2, 1),
        ("s_cmpk_lt_i32 s4, 0xfffe", 0, 0, 0),
        ("s_cmpk_le_i32 s4, 0xfffe", F - 1, F - 1, 1),
        ("s_cmpk_le_i32 s4, 0xfffe", F, F, 0),
        ("s_cmpk_lg_u32 s4, 0xfffe", F - 1, F - 1, 1),
        ("s_cmpk_lg_u32 s4, 0xfffe", 0xFFFE, 0xFFFE, 0),
        ("s_cmpk_gt_u32 s4, 0xfffe", 0xFFFF, 0xFFFF, 1),
        ("s_cmpk_gt_u32 s4, 0xfffe", 0xFFFE, 0xFFFE, 0),
        ("s_cmpk_ge_u32 s4, 0xfffe", 0xFFFE, 0xFFFE, 1),
        ("s_cmpk_ge_u32 s4, 0xfffe", 5, 5, 0),
        ("s_cmpk_lt_u32 s4, 0xfffe", 5, 5, 1),
        ("s_cmpk_lt_u32 s4, 0xfffe", F, F, 0),
        ("s_cmpk_le_u32 s4, 0xfffe", 0xFFFE, 0xFFFE, 1),
        ("s_cmpk_le_u32 s4, 0xfffe", F, F, 0),
    ],
)
def test_constants_of_sixteen_bits(text: str, before: int, result: int, scc: int | None) -> None:
    lone = Lone()
    # Some leave SCC as it is.
    lone.wave.sgpr[4], lone.wave.scc = before, 1 if scc is None else 1 - scc
    lone.run(text)
    assert (lone.wave.sgpr[4], lone.wave.scc) == (result, 1 if scc is None else scc)


@pytest.mark.parametrize(("scc", "result"), [(0, 77), (1, F - 1)])
def test_a_constant_moved_on_a_condition(scc: int, result: int) -> None:
    lone = Lone()
    lone.wave.sgpr[4], lone.wave.scc = 77, scc
    lone.run("s_cmovk_i32 s4, 0xfffe")
    assert (lone.wave.sgpr[4], lone.wave.scc) == (result, scc)


ONE, OTHER = 0x0000FFFF_F0F0F0F0, 0x00FF00FF_FF00FF00
ALL = (1 << 64) - 1


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("s_and_b64 s[4:5], s[6:7], s[8:9]", ONE & OTHER),
        ("s_or_b64 s[4:5], s[6:7], s[8:9]", ONE | OTHER),
        ("s_xor_b64 s[4:5], s[6:7], s[8:9]", ONE ^ OTHER),
        ("s_andn2_b64 s[4:5], s[6:7], s[8:9]", ONE & ~OTHER),
        ("s_orn2_b64 s[4:5], s[6:7], s[8:9]", (ONE | ~OTHER) & ALL),
    ],
)
def test_logic_of_pairs(text: str, result: int) -> None:
    lone = Lone()
    lone.set_pair(6, ONE)
    lone.set_pair(8, OTHER)
    lone.wave.scc = 0
    lone.run(text)
    assert (lone.pair(4), lone.wave.scc) == (result, 1)


def test_logic_of_pairs_that_is_zero() -> None:
    lone = Lone()
    lone.set_pair(6, ONE)
    lone.set_pair(8, ~ONE & ALL)
    lone.wave.scc = 1
    lone.run("s_and_b64 s[4:5], s[6:7], s[8:9]")
    assert (lone.pair(4), lone.wave.scc) == (0, 0)


def test_moves_of_pairs() -> None:
    lone = Lone()
    lone.set_pair(6, ONE)
    lone.run("s_mov_b64 s[4:5], s[6:7]")
    assert lone.pair(4) == ONE
    lone.run("s_mov_b64 s[4:5], -1")
    assert lone.pair(4) == ALL
    lone.run("s_mov_b64 exec, s[6:7]")
    assert lone.wave.exec_mask.tolist() == [bool(ONE >> n & 1) for n in range(64)]
    lone.set_pair(VCC, OTHER)
    lone.run("s_and_b64 exec, exec, vcc")
    assert lone.wave.exec_mask.tolist() == [bool((ONE & OTHER) >> n & 1) for n in range(64)]


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("s_and_saveexec_b64 s[4:5], s[6:7]", ONE & OTHER),
        ("s_or_saveexec_b64 s[4:5], s[6:7]", ONE | OTHER),
        ("s_andn2_saveexec_b64 s[4:5], s[6:7]", ONE & ~OTHER),
    ],
)
def test_saving_exec(text: str, after: int) -> None:
    """The old EXEC goes to the destination; the new one is of the source and the old one."""
    lone = Lone()
    lone.set_pair(6, ONE)
    lone.switch(OTHER)
    lone.wave.scc = 0
    lone.run(text)
    assert lone.pair(4) == OTHER
    assert lone.pair(EXEC) == after
    assert lone.wave.exec_mask.tolist() == [bool(after >> n & 1) for n in range(64)]
    assert lone.wave.scc == 1


@pytest.mark.parametrize(("s5", "s6", "bit"), [(8, 3, 1), (8, 2, 0), (8, 35, 1), (MIN, 31, 1)])
def test_bits(s5: int, s6: int, bit: int) -> None:
    lone = Lone()
    lone.wave.sgpr[5], lone.wave.sgpr[6] = s5, s6
    lone.run("s_bitcmp1_b32 s5, s6")
    assert lone.wave.scc == bit
    lone.run("s_bitcmp0_b32 s5, s6")
    assert lone.wave.scc == 1 - bit


PAIRS = [(1, 1), (1, 2), (2, 1), (F, 1), (1, F), (MIN, MAX)]
"""Two numbers that compare one way unsigned and another way signed, among others."""


@pytest.mark.parametrize(
    ("name", "outcomes"),
    [
        ("eq_u32", [1, 0, 0, 0, 0, 0]),
        ("lg_u32", [0, 1, 1, 1, 1, 1]),
        ("gt_u32", [0, 0, 1, 1, 0, 1]),
        ("ge_u32", [1, 0, 1, 1, 0, 1]),
        ("lt_u32", [0, 1, 0, 0, 1, 0]),
        ("le_u32", [1, 1, 0, 0, 1, 0]),
        ("eq_i32", [1, 0, 0, 0, 0, 0]),
        ("lt_i32", [0, 1, 0, 1, 0, 1]),
        ("le_i32", [1, 1, 0, 1, 0, 1]),
        ("ge_i32", [1, 0, 1, 0, 1, 0]),
        ("gt_i32", [0, 0, 1, 0, 1, 0]),
        ("lg_i32", [0, 1, 1, 1, 1, 1]),
    ],
)
def test_comparisons(name: str, outcomes: list[int]) -> None:
    lone = Lone()
    found = []
    for lone.wave.sgpr[5], lone.wave.sgpr[6] in PAIRS:
        lone.run(f"s_cmp_{name} s5, s6")
        found.append(lone.wave.scc)
    assert found == outcomes


@pytest.mark.parametrize(("s5", "scc"), [(F, 0), (F - 1, 1), (0, 0)])
def test_an_inline_number_is_signed(s5: int, scc: int) -> None:
    lone = Lone()
    lone.wave.sgpr[5] = s5
    lone.run("s_cmp_lt_i32 s5, -1")
    assert lone.wave.scc == scc


def test_m0_is_a_register_like_others() -> None:
    lone = Lone()
    lone.wave.sgpr[5], lone.wave.sgpr[6] = 5, 0x10000000
    lone.run("s_add_u32 m0, 0x12345678, s6")
    assert lone.wave.sgpr[M0] == 0x22345678
    lone.run("s_add_i32 m0, m0, 0x1000")
    assert lone.wave.sgpr[M0] == 0x22346678
    lone.run("s_mov_b32 m0, s5")
    assert lone.wave.sgpr[M0] == 5


def test_exec_can_be_written_by_halves() -> None:
    lone = Lone()
    lone.run("s_mov_b32 exec_lo, 0xffff")
    assert lone.wave.exec_mask.tolist() == [True] * 16 + [False] * 16 + [True] * 32
    lone.run("s_mov_b32 exec_hi, 0")
    assert lone.wave.exec_mask.tolist() == [True] * 16 + [False] * 48


@pytest.mark.parametrize("text", sorted(encodings()))
def test_every_encoding_is_decoded_to_its_mnemonic(text: str) -> None:
    """LLVM's assembler made the encodings: opcode numbers are checked against it here."""
    written = text.split()[0].removesuffix("_e32").removesuffix("_e64")
    written = written.removesuffix("_dpp").removesuffix("_sdwa")
    instruction = decoded(text)
    assert (instruction.mnemonic, instruction.size) == (written, len(encodings()[text]))


def test_every_rule_has_an_encoding_to_be_tried_with() -> None:
    assert set(RULES) <= {decoded(text).mnemonic for text in encodings()}
