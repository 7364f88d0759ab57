"""Program flow, waiting, and the index mode of vector registers: SOPP, and one SOPC.

Source: AMD, "CDNA3 Instruction Set Architecture", chapter "Program Flow Control", and section
"S_WAITCNT" of "Manually Inserted Wait States".
"""

from __future__ import annotations

from collections.abc import Callable

from mlaprobe.emulator.decoding import Instruction
from mlaprobe.emulator.operands import scalar
from mlaprobe.emulator.program import Compiled, Context, Effect, Rule
from mlaprobe.emulator.wave import M0, VCC, Wave

_CYCLES = 4


def _nothing(wave: Wave) -> None:
    """What an instruction does that only takes time, or sets what the engine has no use for."""


def _delay(instruction: Instruction, context: Context) -> Compiled:
    return Compiled(step=_nothing, cycles=_CYCLES * (1 + (instruction.fields["simm16"] & 15)))


def _ignored(instruction: Instruction, context: Context) -> Compiled:
    return Compiled(step=_nothing)


def _wait(instruction: Instruction, context: Context) -> Compiled:
    counts = instruction.fields["simm16"]
    memory = counts & 15 | counts >> 10 & 0x30
    lds = counts >> 8 & 15
    return Compiled(step=lambda wave: wave.traffic.wait(wave, memory, lds), effect=Effect.WAIT)


def _barrier(instruction: Instruction, context: Context) -> Compiled:
    return Compiled(step=_nothing, effect=Effect.BARRIER)


def _end(instruction: Instruction, context: Context) -> Compiled:
    return Compiled(step=lambda wave: wave.traffic.wait(wave, 0, 0), effect=Effect.END)


def _branch(taken: Callable[[Wave], bool]) -> Rule:
    def rule(instruction: Instruction, context: Context) -> Compiled:
        words = instruction.fields["simm16"]
        words -= (words >> 15) << 16
        target = instruction.offset + 4 + 4 * words

        def step(wave: Wave) -> None:
            if taken(wave):
                wave.pc = target

        return Compiled(step=step, effect=Effect.FLOW)

    return rule


def _index_on(instruction: Instruction, context: Context) -> Compiled:
    source, mode = scalar(instruction, "ssrc0"), instruction.fields["ssrc1"] & 15

    def step(wave: Wave) -> None:
        wave.sgpr[M0] = wave.sgpr[M0] & ~0xF0FF | source(wave) & 0xFF | mode << 12

    return Compiled(step=step, effect=Effect.MODE, next_mode=mode)


def _index_off(instruction: Instruction, context: Context) -> Compiled:
    return Compiled(step=_nothing, effect=Effect.MODE, next_mode=0)


RULES: dict[str, Rule] = {
    "s_nop": _delay,
    "s_sleep": _ignored,
    "s_setprio": _ignored,
    "s_icache_inv": _ignored,
    "s_waitcnt": _wait,
    "s_barrier": _barrier,
    "s_endpgm": _end,
    "s_branch": _branch(lambda wave: True),
    "s_cbranch_scc0": _branch(lambda wave: not wave.scc),
    "s_cbranch_scc1": _branch(lambda wave: bool(wave.scc)),
    "s_cbranch_execz": _branch(lambda wave: not wave.exec_mask.any()),
    "s_cbranch_execnz": _branch(lambda wave: bool(wave.exec_mask.any())),
    "s_cbranch_vccz": _branch(lambda wave: not (wave.sgpr[VCC] | wave.sgpr[VCC + 1])),
    "s_cbranch_vccnz": _branch(lambda wave: bool(wave.sgpr[VCC] | wave.sgpr[VCC + 1])),
    "s_set_gpr_idx_on": _index_on,
    "s_set_gpr_idx_off": _index_off,
}
