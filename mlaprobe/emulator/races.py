"""Uses of registers that a load is still on its way to.

A kernel that uses a register before it has waited for the load into it gets the old value or the
new one, by how long the load takes: either may be what it wants. Such a pair of instructions is why
a kernel is right under some schedules only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from mlaprobe.emulator import matrix
from mlaprobe.emulator.arrivals import RegisterArrival
from mlaprobe.emulator.decoding import Instruction
from mlaprobe.emulator.disassembly import text
from mlaprobe.emulator.operandtext import width
from mlaprobe.emulator.program import Compiled, Context
from mlaprobe.emulator.wave import ACCUMULATION, Wave

_SOURCES = ("src0", "src1", "src2")
_FIRST_VGPR = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Race:
    """A load, and an instruction that uses one of its registers before a wait covers it."""

    load: int
    """The address of the load in the code object."""
    load_text: str
    """The load, disassembled."""
    use: int
    """The address of the instruction that reads or writes the register."""
    use_text: str
    """That instruction, disassembled."""
    count: int
    """How many times a wave did so."""


@dataclass(slots=True)
class Watch:
    """Counts the uses of registers that a load is on its way to.

    Only under a schedule in which loads arrive when they are waited for is a load on its way until
    then.
    """

    _counts: Counter[tuple[int, int]] = field(default_factory=Counter)
    _instructions: dict[int, Instruction] = field(default_factory=dict)

    def over(self, instruction: Instruction, compiled: Compiled, context: Context) -> Compiled:
        """The instruction, watched."""
        used, step = rows_used(instruction, context), compiled.step
        if not used:
            return compiled

        def watched(wave: Wave) -> None:
            for queue in (wave.lds_landings, wave.memory_landings):
                for _, arriving in queue:
                    if isinstance(arriving, RegisterArrival) and any(
                        start < arriving.end and arriving.first < end for start, end in used
                    ):
                        self._count(arriving.instruction, instruction)
            step(wave)

        return replace(compiled, step=watched, lanewise=None)

    def _count(self, load: Instruction, use: Instruction) -> None:
        self._counts[load.offset, use.offset] += 1
        self._instructions[load.offset], self._instructions[use.offset] = load, use

    @property
    def races(self) -> tuple[Race, ...]:
        """The pairs that were seen, by the address of the load."""
        return tuple(
            Race(
                load=load,
                load_text=text(self._instructions[load]),
                use=use,
                use_text=text(self._instructions[use]),
                count=count,
            )
            for (load, use), count in sorted(self._counts.items())
        )


def rows_used(instruction: Instruction, context: Context) -> tuple[tuple[int, int], ...]:
    """The rows of vector registers that an instruction reads or writes at once, as first and
    behind the last. What a load writes later is not among them; registers relative to M0 are taken
    as they are written."""
    rows = _ROWS.get(instruction.format)
    if rows is None:
        return ()
    spans = rows(instruction, context)
    return tuple((first, first + count) for first, count in spans)


def _matrix_rows(i: Instruction, context: Context) -> list[tuple[int, int]]:
    fields = i.fields
    operation = matrix.operation(
        i.mnemonic, arch=context.arch, cbsz=fields["cbsz"], blgp=fields["blgp"]
    )
    if operation is None:
        return []
    accumulates = ACCUMULATION if fields["acc_cd"] else 0
    spans = [(fields["vdst"] + accumulates, operation.registers)]
    parts = (
        ("src0", fields["acc"] & 1, operation.a_registers),
        ("src1", fields["acc"] & 2, operation.b_registers),
        ("src2", fields["acc_cd"], operation.registers),
    )
    for name, accumulation, count in parts:
        if fields[name] >= _FIRST_VGPR:
            first = fields[name] - _FIRST_VGPR + (ACCUMULATION if accumulation else 0)
            spans.append((first, count))
    return spans


def _vector_rows(i: Instruction, context: Context) -> list[tuple[int, int]]:
    if "acc_cd" in i.fields:
        return _matrix_rows(i, context)
    to_scalar = i.mnemonic.startswith(("v_cmp", "v_readfirstlane", "v_readlane"))
    read = ACCUMULATION if i.mnemonic == "v_accvgpr_read_b32" else 0
    written = ACCUMULATION if i.mnemonic == "v_accvgpr_write_b32" else 0
    spans = []
    if "vdst" in i.fields and not to_scalar:
        spans.append((i.fields["vdst"] + written, width(i.mnemonic, "vdst")))
    for name in _SOURCES:
        if i.fields.get(name, 0) >= _FIRST_VGPR:
            spans.append((i.fields[name] - _FIRST_VGPR + read, width(i.mnemonic, name)))
    if "vsrc1" in i.fields:
        spans.append((i.fields["vsrc1"], width(i.mnemonic, "src1")))
    return spans


def _lds_rows(i: Instruction, context: Context) -> list[tuple[int, int]]:
    spans = [(i.fields["addr"], 1)]
    if i.mnemonic.startswith("ds_write") or "permute" in i.mnemonic:
        file = ACCUMULATION if i.fields["acc"] else 0
        spans.append((i.fields["data0"] + file, width(i.mnemonic, "data0")))
    return spans


def _words(i: Instruction) -> int:
    return int(i.mnemonic.partition("dwordx")[2] or 1)


def _global_rows(i: Instruction, context: Context) -> list[tuple[int, int]]:
    spans = [(i.fields["addr"], 2)]
    if "_store_" in i.mnemonic:
        file = ACCUMULATION if i.fields["acc"] else 0
        spans.append((i.fields["data"] + file, _words(i)))
    return spans


def _buffer_rows(i: Instruction, context: Context) -> list[tuple[int, int]]:
    spans = [(i.fields["vaddr"], 1)] if i.fields["offen"] else []
    if "_store_" in i.mnemonic:
        file = ACCUMULATION if i.fields["acc"] else 0
        spans.append((i.fields["vdata"] + file, _words(i)))
    return spans


_ROWS: dict[str, Callable[[Instruction, Context], list[tuple[int, int]]]] = {
    **dict.fromkeys(("VOP1", "VOP2", "VOPC", "VOP3", "VOP3SD", "VOP3P"), _vector_rows),
    "DS": _lds_rows,
    "GLOBAL": _global_rows,
    "MUBUF": _buffer_rows,
}
