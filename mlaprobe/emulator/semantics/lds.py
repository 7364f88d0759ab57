"""Instructions on LDS: DS.

Source: AMD, "CDNA3" and "CDNA4 Instruction Set Architecture", chapter "Data Share Operations", and
section "LDS Instructions" of chapter "Instructions". A read outside LDS gives 0 and a write there
does nothing, as on the hardware; the engine also records them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from mlaprobe.emulator.decoding import Instruction
from mlaprobe.emulator.disassembly import site_of
from mlaprobe.emulator.memory import Kind
from mlaprobe.emulator.program import Compiled, Context, Effect, Rule
from mlaprobe.emulator.semantics.vectors import refuse
from mlaprobe.emulator.wave import ACCUMULATION, LANES, Row, Wave

Indices = npt.NDArray[np.int64]

_LANE = np.arange(LANES)
_WORDS = {"b32": 1, "b64": 2, "b96": 3, "b128": 4}


def _offset(instruction: Instruction) -> int:
    return instruction.fields["offset0"] | instruction.fields["offset1"] << 8


def _file(instruction: Instruction, name: str) -> int:
    """The row of a data register, in the register file that the instruction names."""
    return instruction.fields[name] + (ACCUMULATION if instruction.fields["acc"] else 0)


def _first_word(
    instruction: Instruction, kind: Kind, wave: Wave, rows: Row, words: int
) -> tuple[Indices, npt.NDArray[np.bool_] | None]:
    """The index of the first word that each lane accesses, and which lanes may: ``None`` for all.

    Lanes that may not have the index 0.
    """
    address = rows.astype(np.int64) + _offset(instruction)
    on = None if wave.full else wave.exec_mask
    if on is not None:
        address = np.where(on, address, 0)
    union = int(np.bitwise_or.reduce(address))
    if union & 3:
        raise instruction.unmodelled("an address that is no multiple of 4 has no rule")
    size = 4 * len(wave.lds)
    if union + 4 * words > size:
        inside = address + 4 * words <= size
        if not inside.all():
            wave.memory.record_lds(kind, address[~inside], size, site_of(instruction))
            on = inside if on is None else on & inside
            address = np.where(inside, address, 0)
    return address >> 2, on


def _read(words: int) -> Rule:
    def rule(instruction: Instruction, context: Context) -> Compiled:
        refuse(instruction, gds="GDS")
        address, first = instruction.fields["addr"], _file(instruction, "vdst")
        end = first + words
        columns = np.arange(words)

        def step(wave: Wave) -> None:
            at, may = _first_word(instruction, "read", wave, wave.rows[address], words)
            if words == 1:
                found = wave.lds.take(at)[np.newaxis]
            else:
                found = wave.lds.take(at[:, np.newaxis] + columns).T
            if may is None:

                def arrive() -> None:
                    wave.vgpr[first:end] = found

            else:
                # Lanes that are on and outside get 0.
                on = None if wave.full else wave.exec_mask
                values = np.where(may, found, np.uint32(0))

                def arrive() -> None:
                    if on is None:
                        wave.vgpr[first:end] = values
                    else:
                        np.copyto(wave.vgpr[first:end], values, where=on)

            wave.traffic.issue_lds(wave, words, arrive)

        return Compiled(step=step, effect=Effect.SHARED)

    return rule


def _write(words: int) -> Rule:
    def rule(instruction: Instruction, context: Context) -> Compiled:
        refuse(instruction, gds="GDS")
        address, first = instruction.fields["addr"], _file(instruction, "data0")

        def step(wave: Wave) -> None:
            at, may = _first_word(instruction, "write", wave, wave.rows[address], words)
            for k in range(words):
                if may is None:
                    wave.lds[at + k] = wave.rows[first + k]
                else:
                    wave.lds[at[may] + k] = wave.rows[first + k][may]
            wave.traffic.issue_lds(wave, words, None)

        return Compiled(step=step, effect=Effect.SHARED)

    return rule


def _read_transposed(bits: int) -> Rule:
    """``ds_read_b64_tr_b8`` and ``_b16``: a matrix of 16 rows (a lane of a group of 16 each), read
    by columns.

    Element j of lane t is, of its group, element ``t % n`` of lane ``n' * j + t // n``, where a
    lane holds n elements and ``n' = 16 / n``.
    """
    each = 64 // bits
    lane = _LANE & 15
    element = np.arange(each)[np.newaxis, :]
    source = (_LANE & ~15)[:, np.newaxis] + 16 // each * element + (lane // each)[:, np.newaxis]
    part = np.broadcast_to((lane % each)[:, np.newaxis], source.shape)
    flat = source * each + part
    dtype = np.dtype(f"u{bits // 8}")

    def rule(instruction: Instruction, context: Context) -> Compiled:
        refuse(instruction, gds="GDS")
        address, first = instruction.fields["addr"], _file(instruction, "vdst")
        columns = np.arange(2)

        def step(wave: Wave) -> None:
            if not wave.full:
                raise instruction.unmodelled("a transposed read with lanes off has no rule")
            at, may = _first_word(instruction, "read", wave, wave.rows[address], 2)
            if may is not None:
                raise instruction.unmodelled("a transposed read outside LDS has no rule")
            raw = wave.lds.take(at[:, np.newaxis] + columns).view(dtype).reshape(-1)
            found = raw.take(flat).view(np.uint32).T

            def arrive() -> None:
                wave.vgpr[first : first + 2] = found

            wave.traffic.issue_lds(wave, 2, arrive)

        return Compiled(step=step, effect=Effect.SHARED)

    return rule


def _permute_backward(instruction: Instruction, context: Context) -> Compiled:
    """``ds_bpermute_b32``: each lane reads a register of another; of one that is off, 0."""
    refuse(instruction, gds="GDS")
    address, data = instruction.fields["addr"], _file(instruction, "data0")
    register, offset = _file(instruction, "vdst"), np.uint32(_offset(instruction))

    def step(wave: Wave) -> None:
        lane = (wave.rows[address] + offset) >> np.uint32(2) & np.uint32(63)
        found = wave.rows[data].take(lane)
        on = None
        if not wave.full:
            on = wave.exec_mask
            found = np.where(on.take(lane), found, np.uint32(0))
        wave.traffic.issue_lds(wave, 1, _arrival(wave, register, found, on))

    return Compiled(step=step, effect=Effect.SHARED)


def _arrival(
    wave: Wave, register: int, found: Row, on: npt.NDArray[np.bool_] | None
) -> Callable[[], None]:
    def arrive() -> None:
        if on is None:
            wave.rows[register][:] = found
        else:
            np.copyto(wave.rows[register], found, where=on)

    return arrive


RULES: dict[str, Rule] = {
    **{f"ds_read_{name}": _read(words) for name, words in _WORDS.items()},
    **{f"ds_write_{name}": _write(words) for name, words in _WORDS.items()},
    "ds_read_b64_tr_b8": _read_transposed(8),
    "ds_read_b64_tr_b16": _read_transposed(16),
    "ds_bpermute_b32": _permute_backward,
}
