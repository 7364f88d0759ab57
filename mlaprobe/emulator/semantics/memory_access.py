"""Loads and stores: SMEM, GLOBAL, MUBUF.

Source: AMD, "CDNA3" and "CDNA4 Instruction Set Architecture", chapters "Scalar Memory Operations",
"Vector Memory Operations" and "Flat Memory Instructions". Loads read memory when they are issued;
what they read arrives later.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from mlaprobe.emulator.accesses import Addresses, Site
from mlaprobe.emulator.arrivals import RegisterArrival
from mlaprobe.emulator.decoding import Instruction
from mlaprobe.emulator.disassembly import site_of
from mlaprobe.emulator.memory import Memory, gather, signed_address
from mlaprobe.emulator.operands import ScalarSource, scalar
from mlaprobe.emulator.program import Compiled, Context, Effect, Rule
from mlaprobe.emulator.wave import ACCUMULATION, EXEC, LANES, M0, Mask, Row, Wave

_LANE = np.arange(LANES, dtype=np.int64)
_NO_ADDRESS = 0x7F
"""``saddr`` of a global instruction without a scalar address."""
_LDS_BASE = 0x3FFFF
"""The bits of M0 that are the LDS address of a load into LDS."""
_SWIZZLE = 1 << 31
"""SWIZZLE_ENABLE in the second word of a buffer resource."""
_ADD_LANE = 1 << 23
"""ADD_TID_ENABLE in the fourth word."""
_DWORDS = {"dword": 1, "dwordx2": 2, "dwordx3": 3, "dwordx4": 4}


def _scalar_load(words: int) -> Rule:
    def rule(instruction: Instruction, context: Context) -> Compiled:
        fields = instruction.fields
        base, first = 2 * fields["sbase"], fields["sdata"]
        if first + words > EXEC:
            raise instruction.unmodelled("a scalar load to EXEC or beyond has no rule")
        constant = fields["offset"] if fields["imm"] else 0
        register = _scalar_offset(instruction)
        site = site_of(instruction)

        def step(wave: Wave) -> None:
            address = wave.sgpr[base] | wave.sgpr[base + 1] << 32
            if register is not None:
                address += wave.sgpr[register]
            found = wave.memory.load_words((address + constant) & ~3, words, site)

            def arrive() -> None:
                wave.sgpr[first : first + words] = found

            wave.traffic.issue_scalar(wave, arrive)

        return Compiled(step=step, effect=Effect.SHARED)

    return rule


def _scalar_offset(instruction: Instruction) -> int | None:
    """The register whose value is added to the address of a scalar load."""
    fields = instruction.fields
    if fields["soffset_en"]:
        return fields["soffset"]
    # Without both, the offset field names a register.
    return None if fields["imm"] else fields["offset"] & 0x7F


class _Registers:
    """The data registers of a vector load or store."""

    def __init__(self, instruction: Instruction, name: str, words: int) -> None:
        self.first = instruction.fields[name] + (ACCUMULATION if instruction.fields["acc"] else 0)
        self.end = self.first + words
        self._instruction = instruction

    def arrival(self, wave: Wave, found: Row) -> RegisterArrival:
        """Writes what was loaded, where EXEC is set now."""
        on = None if wave.full else wave.exec_mask
        return RegisterArrival(wave, self._instruction, self.first, found, on)

    def values(self, wave: Wave) -> Row:
        return wave.vgpr[self.first : self.end]


def _into_lds(instruction: Instruction, wave: Wave, found: Row) -> Callable[[], None]:
    """Writes what was loaded to LDS: each lane's words behind those of the lane before."""
    words = len(found)
    start = (wave.sgpr[M0] & _LDS_BASE) + instruction.fields["offset"]
    if start & 3:
        raise instruction.unmodelled("an LDS address that is no multiple of 4 has no rule")
    begin, end, lds = start // 4, start // 4 + words * LANES, wave.lds
    if wave.full and end <= len(lds):
        flat = found.T.reshape(-1)

        def arrive() -> None:
            lds[begin:end] = flat

        return arrive
    first = begin + words * _LANE
    on = wave.exec_mask
    outside = on & (first + words > len(lds))
    if outside.any():
        wave.memory.record_lds("write", 4 * first[outside], 4 * len(lds), site_of(instruction))
        on = on & ~outside

    def arrive_masked() -> None:
        for k in range(words):
            lds[first[on] + k] = found[k][on]

    return arrive_masked


def _load(memory: Memory, addresses: Addresses, may: Mask | None, words: int, site: Site) -> Row:
    """What the lanes that may load find; 0 for the others."""
    if may is None:
        return memory.load(addresses, words, site)
    found = np.zeros((words, LANES), np.uint32)
    if may.any():
        found[:, may] = memory.load(addresses[may], words, site)
    return found


def _global_address(instruction: Instruction) -> Callable[[Wave], Addresses]:
    fields = instruction.fields
    register, offset, base = fields["addr"], fields["offset"], fields["saddr"]
    if base == _NO_ADDRESS:

        def from_vector(wave: Wave) -> Addresses:
            high = wave.rows[register + 1].astype(np.int64) << 32
            return (high | wave.rows[register]) + offset

        return from_vector

    def from_both(wave: Wave) -> Addresses:
        start = wave.sgpr[base] | wave.sgpr[base + 1] << 32
        return wave.rows[register].astype(np.int64) + signed_address(start + offset)

    return from_both


def _global_load(words: int, *, into_lds: bool = False) -> Rule:
    def rule(instruction: Instruction, context: Context) -> Compiled:
        address, site = _global_address(instruction), site_of(instruction)
        registers = _Registers(instruction, "vdst", words)

        def step(wave: Wave) -> None:
            may = None if wave.full else wave.exec_mask
            found = _load(wave.memory, address(wave), may, words, site)
            arriving: Callable[[], None] = registers.arrival(wave, found)
            if into_lds:
                arriving = _into_lds(instruction, wave, found)
            wave.traffic.issue_memory(wave, arriving, into_lds=into_lds)

        return Compiled(step=step, effect=Effect.SHARED)

    return rule


def _global_store(words: int) -> Rule:
    def rule(instruction: Instruction, context: Context) -> Compiled:
        address, site = _global_address(instruction), site_of(instruction)
        registers = _Registers(instruction, "data", words)

        def step(wave: Wave) -> None:
            where, values = address(wave), registers.values(wave)
            if wave.full:
                wave.memory.store(where, values, site)
            elif wave.exec_mask.any():
                wave.memory.store(where[wave.exec_mask], values[:, wave.exec_mask], site)
            wave.traffic.issue_memory(wave, None)

        return Compiled(step=step, effect=Effect.SHARED)

    return rule


class _Buffer:
    """The addresses of a raw buffer access, and what the buffer's size lets through."""

    def __init__(self, instruction: Instruction) -> None:
        fields = instruction.fields
        if fields["idxen"]:
            raise instruction.unmodelled("a buffer index has no rule")
        self._instruction = instruction
        self._resource = 4 * fields["srsrc"]
        self._register = fields["vaddr"] if fields["offen"] else None
        self._offset = np.uint32(fields["offset"])
        self._scalar: ScalarSource = scalar(instruction, "soffset")

    def quick(self, wave: Wave, words: int) -> Row | None:
        """What a load finds where all lanes are on and inside both the buffer and one region."""
        if not wave.full or self._register is None:
            return None
        low, high, size, flags = wave.sgpr[self._resource : self._resource + 4]
        moved = self._scalar(wave)
        view = wave.memory.view((low | (high & 0xFFFF) << 32) + moved)
        if view is None or high & _SWIZZLE or flags & _ADD_LANE:
            return None
        offset = wave.rows[self._register] + self._offset
        # The union of all bits bounds the largest offset from above, and shows the lowest bits.
        union = int(np.bitwise_or.reduce(offset))
        end = min(size - moved, 4 * len(view)) - 4 * words
        if union & 3 or (union > end and int(offset.max()) > end):
            return None
        return gather(view, offset, words, union)

    def place(self, wave: Wave) -> tuple[Addresses, npt.NDArray[np.int64], int]:
        """Each lane's address, its offset in the buffer, and the size of the buffer."""
        low, high, size, flags = wave.sgpr[self._resource : self._resource + 4]
        # Without an index and without these two, a stride changes nothing.
        if high & _SWIZZLE or flags & _ADD_LANE:
            raise self._instruction.unmodelled("a buffer with swizzle or lane index has no rule")
        scalar_offset = self._scalar(wave)
        if self._register is None:
            offset = np.full(LANES, int(self._offset) + scalar_offset, np.int64)
        else:
            # The sum of both offsets is one of 32 bits.
            offset = (wave.rows[self._register] + self._offset).astype(np.int64)
            if scalar_offset:
                offset += scalar_offset
        return offset + (low | (high & 0xFFFF) << 32), offset, size

    def load(self, wave: Wave, words: int, site: Site) -> Row:
        """What a load finds; 0 outside the buffer and where lanes are off."""
        address, offset, size = self.place(wave)
        masks = self.allowed(wave, offset, words, size)
        if masks is None:
            return _load(wave.memory, address, None, words, site)
        found = np.empty((words, LANES), np.uint32)
        for k, mask in enumerate(masks):
            found[k] = _load(wave.memory, address + 4 * k, mask, 1, site)[0]
        return found

    @staticmethod
    def allowed(
        wave: Wave, offset: npt.NDArray[np.int64], words: int, size: int
    ) -> list[Mask] | None:
        """Which lanes may access each word; ``None``: all lanes may access all."""
        if wave.full and int(np.bitwise_or.reduce(offset)) + 4 * words <= size:
            return None
        masks = [offset + 4 * k < size for k in range(words)]
        if wave.full:
            return None if all(mask.all() for mask in masks) else masks
        return [mask & wave.exec_mask for mask in masks]


def _buffer_load(words: int) -> Rule:
    def rule(instruction: Instruction, context: Context) -> Compiled:
        buffer, site = _Buffer(instruction), site_of(instruction)
        into_lds = bool(instruction.fields["lds"])
        registers = _Registers(instruction, "vdata", words)

        def step(wave: Wave) -> None:
            quick = buffer.quick(wave, words)
            found = buffer.load(wave, words, site) if quick is None else quick
            arriving: Callable[[], None] = registers.arrival(wave, found)
            if into_lds:
                arriving = _into_lds(instruction, wave, found)
            wave.traffic.issue_memory(wave, arriving, into_lds=into_lds)

        return Compiled(step=step, effect=Effect.SHARED)

    return rule


def _buffer_store(words: int) -> Rule:
    def rule(instruction: Instruction, context: Context) -> Compiled:
        if instruction.fields["lds"]:
            raise instruction.unmodelled("a store from LDS has no rule")
        buffer, site = _Buffer(instruction), site_of(instruction)
        registers = _Registers(instruction, "vdata", words)

        def step(wave: Wave) -> None:
            address, offset, size = buffer.place(wave)
            masks = buffer.allowed(wave, offset, words, size)
            values = registers.values(wave)
            if masks is None:
                wave.memory.store(address, values, site)
            else:
                for k, mask in enumerate(masks):
                    if mask.any():
                        wave.memory.store(address[mask] + 4 * k, values[k : k + 1, mask], site)
            wave.traffic.issue_memory(wave, None)

        return Compiled(step=step, effect=Effect.SHARED)

    return rule


RULES: dict[str, Rule] = {
    **{f"s_load_dword{'' if n == 1 else f'x{n}'}": _scalar_load(n) for n in (1, 2, 4, 8, 16)},
    **{f"global_load_{name}": _global_load(words) for name, words in _DWORDS.items()},
    **{
        f"global_load_lds_{name}": _global_load(words, into_lds=True)
        for name, words in _DWORDS.items()
        if words != 2
    },
    **{f"global_store_{name}": _global_store(words) for name, words in _DWORDS.items()},
    **{f"buffer_load_{name}": _buffer_load(words) for name, words in _DWORDS.items()},
    **{f"buffer_store_{name}": _buffer_store(words) for name, words in _DWORDS.items()},
}
