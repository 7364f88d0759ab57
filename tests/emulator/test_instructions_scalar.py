"""Each scalar instruction of AITER's kernels alone, with results worked out by hand."""

from __future__ import annotations

import pytest

from mlaprobe.emulator.program import Effect
from mlaprobe.emulator.wave import M0
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
    ],
)
def test_constants_of_sixteen_bits(text: str, before: int, result: int, scc: int) -> None:
    lone = Lone()
    lone.wave.sgpr[4], lone.wave.scc = before, 1 - scc
    lone.run(text)
    assert (lone.wave.sgpr[4], lone.wave.scc) == (result, scc)


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


@pytest.mark.parametrize(
    ("text", "scc", "target"),
    [
        ("s_branch 2", 0, 64 + 4 + 8),
        ("s_cbranch_scc0 2", 0, 64 + 4 + 8),
        ("s_cbranch_scc0 2", 1, None),
        ("s_cbranch_scc1 -3", 1, 64 + 4 - 12),
        ("s_cbranch_scc1 -3", 0, None),
    ],
)
def test_branches_count_words_from_the_next_instruction(
    text: str, scc: int, target: int | None
) -> None:
    lone = Lone()
    lone.wave.scc, lone.wave.pc = scc, -1
    compiled = lone.run(text, offset=64)
    assert compiled.effect is Effect.FLOW
    assert lone.wave.pc == (-1 if target is None else target)


def test_what_only_takes_time() -> None:
    lone = Lone()
    before = list(lone.wave.sgpr)
    plain, waiting = lone.run("s_setprio 1"), lone.run("s_nop 7")
    assert lone.wave.sgpr == before
    assert waiting.cycles == 8 * plain.cycles


def test_ends() -> None:
    lone = Lone()
    assert lone.run("s_barrier").effect is Effect.BARRIER
    assert lone.run("s_endpgm").effect is Effect.END


def test_relative_registers_are_switched_on_and_off() -> None:
    lone = Lone()
    lone.wave.sgpr[5], lone.wave.sgpr[M0] = 0x1203, 0xABCD0F00
    on = lone.run("s_set_gpr_idx_on s5, gpr_idx(SRC0)")
    # The index in bits 7 to 0, the mode in bits 15 to 12; the others stay.
    assert (on.effect, on.next_mode, lone.wave.sgpr[M0]) == (Effect.MODE, 1, 0xABCD1F03)
    off = lone.run("s_set_gpr_idx_off")
    assert (off.effect, off.next_mode) == (Effect.MODE, 0)


@pytest.mark.parametrize("text", sorted(encodings()))
def test_every_encoding_is_decoded_to_its_mnemonic(text: str) -> None:
    """LLVM's assembler made the encodings: opcode numbers are checked against it here."""
    written = text.split()[0].removesuffix("_e32").removesuffix("_e64")
    written = written.removesuffix("_dpp").removesuffix("_sdwa")
    instruction = decoded(text)
    assert (instruction.mnemonic, instruction.size) == (written, len(encodings()[text]))
