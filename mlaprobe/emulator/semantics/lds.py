"""Instructions on LDS: DS.

Source: AMD, "CDNA3" and "CDNA4 Instruction Set Architecture", chapter "Data Share Operations", and
section "LDS Instructions" of chapter "Instructions". A read outside LDS gives 0 and a write there
does nothing, as on the hardware; the engine also records them.

An address may have any alignment. The HSA ABI wants the unaligned access mode: LLVM turns it on for
``amdhsa``, and amdkfd of Linux sets ``SH_MEM_CONFIG.alignment_mode`` of gfx9 queues to UNALIGNED.
LLVM knows gfx9 to have it for LDS too (``FeatureUnalignedDSAccess``).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mlaprobe.emulator.accesses import Kind
from mlaprobe.emulator.arrivals import RegisterArrival
from mlaprobe.emulator.decoding import Instruction
from mlaprobe.emulator.disassembly import site_of
from mlaprobe.emulator.program import Compiled, Context, Effect, Rule
from mlaprobe.emulator.semantics.vectors import refuse
from mlaprobe.emulator.wave import ACCUMULATION, LANES, LDS_UNITS, Mask, Row, Wave

Indices = npt.NDArray[np.int64]
Lanes = npt.NDArray[np.intp]

_LANE = np.arange(LANES)
_KEPT = 64
"""Addresses that an instruction keeps: those of each wave, and of some parts of LDS."""
_WORDS = {"b32": 1, "b64": 2, "b96": 3, "b128": 4}


def _offset(instruction: Instruction) -> int:
    return instruction.fields["offset0"] | instruction.fields["offset1"] << 8


def _file(instruction: Instruction, name: str) -> int:
    """The row of a data register, in the register file that the instruction names."""
    return instruction.fields[name] + (ACCUMULATION if instruction.fields["acc"] else 0)


class _Quick:
    """Finds what lanes access, in units that numpy moves as a whole.

    Kernels use the same addresses again and again, so it keeps the last ones with what it found.
    """

    __slots__ = ("_known", "_length", "_offset", "_skipped", "_words")

    def __init__(self, words: int, offset: int) -> None:
        self._words = words
        self._offset = offset
        self._skipped = offset // (4 * words)
        self._length = 0
        self._known: dict[bytes, Lanes | None] = {}

    def index(self, wave: Wave, rows: Row) -> Lanes | None:
        """The index of the unit that each lane accesses.

        ``None`` where lanes are off, an address is not a multiple of a unit, or one is outside.
        """
        if not wave.full:
            return None
        if len(wave.lds) != self._length or len(self._known) >= _KEPT:
            self._known.clear()
            self._length = len(wave.lds)
        key = rows.tobytes()
        try:
            return self._known[key]
        except KeyError:
            pass
        found = self._known[key] = self._found(rows, 4 * len(wave.lds))
        return found

    def _found(self, rows: Row, end: int) -> Lanes | None:
        size = 4 * self._words
        if self._words not in LDS_UNITS or self._offset % size or (rows & size - 1).any():
            return None
        if int(rows.max()) + self._offset + size > end:
            return None
        index: Lanes = (rows // size).astype(np.intp) + self._skipped
        return index


def _careful_addresses(
    instruction: Instruction, kind: Kind, wave: Wave, rows: Row, words: int
) -> tuple[Indices, Mask | None]:
    """The address of the first byte that each lane accesses, and which lanes may: ``None`` for all.

    Lanes that may not have the address 0.
    """
    address = rows.astype(np.int64) + _offset(instruction)
    on = None if wave.full else wave.exec_mask
    if on is not None:
        address = np.where(on, address, 0)
    size = 4 * len(wave.lds)
    inside = address + 4 * words <= size
    if not inside.all():
        wave.memory.record_lds(kind, address[~inside], size, site_of(instruction))
        on = inside if on is None else on & inside
        address = np.where(inside, address, 0)
    return address, on


def _careful_read(
    instruction: Instruction, wave: Wave, rows: Row, words: int
) -> tuple[Row, Mask | None]:
    """What the lanes read, ``[words, 64]``, and which lanes are on: ``None`` for all."""
    at, may = _careful_addresses(instruction, "read", wave, rows, words)
    lds, parts = _parts(wave, at, words)
    found = lds.take(parts).view(np.uint32).T
    if may is not None:
        # Lanes that are on and outside get 0.
        found = np.where(may, found, np.uint32(0))
    return found, None if wave.full else wave.exec_mask


def _read(words: int) -> Rule:
    def rule(instruction: Instruction, context: Context) -> Compiled:
        refuse(instruction, gds="GDS")
        address, first = instruction.fields["addr"], _file(instruction, "vdst")
        quick = _Quick(words, _offset(instruction))

        def step(wave: Wave) -> None:
            rows, on = wave.rows[address], None
            at = quick.index(wave, rows)
            if at is None:
                found, on = _careful_read(instruction, wave, rows, words)
            else:
                taken = wave.lds_units[words].take(at)
                found = taken.view(np.uint32).reshape(LANES, words).T
            arriving = RegisterArrival(wave, instruction, first, found, on)
            wave.traffic.issue_lds(wave, words, arriving)

        return Compiled(step=step, effect=Effect.SHARED)

    return rule


def _write(words: int) -> Rule:
    def rule(instruction: Instruction, context: Context) -> Compiled:
        refuse(instruction, gds="GDS")
        address, first = instruction.fields["addr"], _file(instruction, "data0")
        quick, end = _Quick(words, _offset(instruction)), first + words

        def step(wave: Wave) -> None:
            rows, values = wave.rows[address], wave.vgpr[first:end]
            at = quick.index(wave, rows)
            if at is None:
                _careful_write(instruction, wave, rows, values)
            else:
                whole = values.T.copy().view(LDS_UNITS[words])[:, 0] if words > 1 else values[0]
                wave.lds_units[words][at] = whole
            wave.traffic.issue_lds(wave, words, None)

        return Compiled(step=step, effect=Effect.SHARED)

    return rule


def _careful_write(instruction: Instruction, wave: Wave, rows: Row, values: Row) -> None:
    at, may = _careful_addresses(instruction, "write", wave, rows, len(values))
    stored = values.T.copy()
    if may is not None:
        at, stored = at[may], stored[may]
    lds, parts = _parts(wave, at, len(values))
    lds[parts] = stored.view(lds.dtype)


def _parts(wave: Wave, at: Indices, words: int) -> tuple[npt.NDArray[Any], Indices]:
    """LDS in words, or in bytes where an address is no multiple of 4; and the indices of those that
    each lane accesses."""
    if int(np.bitwise_or.reduce(at)) & 3:
        return wave.lds.view(np.uint8), at[:, np.newaxis] + np.arange(4 * words)
    return wave.lds, (at[:, np.newaxis] >> 2) + np.arange(words)


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
        offset = _offset(instruction)
        if offset % 8:
            raise instruction.unmodelled("an offset that is no multiple of 8 has no rule")
        quick = _Quick(2, offset)

        def step(wave: Wave) -> None:
            if not wave.full:
                raise instruction.unmodelled("a transposed read with lanes off has no rule")
            at = quick.index(wave, wave.rows[address])
            if at is None:
                raise instruction.unmodelled("an unaligned transposed read has no rule")
            raw = wave.lds_units[2].take(at).view(dtype)
            found = raw.take(flat).view(np.uint32).T
            wave.traffic.issue_lds(wave, 2, RegisterArrival(wave, instruction, first, found, None))

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
        arriving = RegisterArrival(wave, instruction, register, found[np.newaxis], on)
        wave.traffic.issue_lds(wave, 1, arriving)

    return Compiled(step=step, effect=Effect.SHARED)


RULES: dict[str, Rule] = {
    **{f"ds_read_{name}": _read(words) for name, words in _WORDS.items()},
    **{f"ds_write_{name}": _write(words) for name, words in _WORDS.items()},
    "ds_read_b64_tr_b8": _read_transposed(8),
    "ds_read_b64_tr_b16": _read_transposed(16),
    "ds_bpermute_b32": _permute_backward,
}
