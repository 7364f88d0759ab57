"""Instructions that say where a wave goes on, or only take time, each alone."""

from __future__ import annotations

import pytest

from mlaprobe.emulator.program import Effect
from mlaprobe.emulator.wave import M0, VCC
from tests.emulator.single import Lone


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


@pytest.mark.parametrize(
    ("name", "mask", "taken"),
    [("z", 0, True), ("z", 1 << 63, False), ("nz", 0, False), ("nz", 1 << 32, True)],
)
def test_branches_on_masks(name: str, mask: int, taken: bool) -> None:
    lone = Lone()
    lone.set_pair(VCC, mask)
    lone.wave.pc = -1
    lone.run(f"s_cbranch_vcc{name} 2", offset=64)
    assert lone.wave.pc == (64 + 4 + 8 if taken else -1)
    lone.switch(mask)
    lone.wave.pc = -1
    lone.run(f"s_cbranch_exec{name} 2", offset=64)
    assert lone.wave.pc == (64 + 4 + 8 if taken else -1)


def test_what_only_takes_time() -> None:
    lone = Lone()
    before = list(lone.wave.sgpr)
    plain, waiting = lone.run("s_setprio 1"), lone.run("s_nop 7")
    lone.run("s_sleep 1")
    lone.run("s_icache_inv")
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
