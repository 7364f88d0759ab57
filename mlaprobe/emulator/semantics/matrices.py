"""Matrix instructions: what ``matrix.py`` computes, with operands in either register file.

Source: AMD, "CDNA3" and "CDNA4 Instruction Set Architecture", chapter "Matrix Arithmetic
Instructions".
"""

from __future__ import annotations

import numpy as np

from mlaprobe.emulator import matrix
from mlaprobe.emulator.decoding import Instruction
from mlaprobe.emulator.operands import FIRST_VGPR, inline_constant
from mlaprobe.emulator.program import Compiled, Context, Rule
from mlaprobe.emulator.semantics.vectors import check_absolute
from mlaprobe.emulator.wave import ACCUMULATION, Wave

_LEAST_CYCLES = 16
_RATES = {matrix.BF16: 512, matrix.F16: 512}
"""Operations in a cycle on gfx942; gfx950 does twice as many."""
_RATE_8_BITS = 1024


def cycles(mnemonic: str, arch: str) -> int:
    """How long the matrix core is busy with an instruction, by AMD's published peak rates."""
    shape = matrix.SHAPES[mnemonic]
    operations = 2 * shape.rows * shape.rows * shape.depth
    rate = _RATES.get(shape.a, _RATE_8_BITS) * (1 if arch == "gfx942" else 2)
    return max(_LEAST_CYCLES, operations // rate)


def _operation(instruction: Instruction, context: Context) -> matrix.Operation | None:
    """The operation, whose buffers all uses of it in a program share."""
    cbsz, blgp = instruction.fields["cbsz"], instruction.fields["blgp"]
    key = (instruction.mnemonic, cbsz, blgp)
    if key not in context.operations:
        made = matrix.operation(instruction.mnemonic, arch=context.arch, cbsz=cbsz, blgp=blgp)
        context.operations[key] = made
    return context.operations[key]


def _rows(instruction: Instruction, name: str, accumulation: int, registers: int) -> int:
    """The row of a matrix's first register."""
    number = instruction.fields[name] - (0 if name == "vdst" else FIRST_VGPR)
    if number < 0:
        raise instruction.unmodelled("a matrix that is a constant has no rule")
    if number + registers > ACCUMULATION:
        raise instruction.unmodelled("a matrix reaches beyond the last register")
    return number + (ACCUMULATION if accumulation else 0)


def _rule(instruction: Instruction, context: Context) -> Compiled:
    check_absolute(instruction, context)
    fields = instruction.fields
    if fields["abid"]:
        raise instruction.unmodelled("broadcasting a block has no rule")
    apply = _operation(instruction, context)
    if apply is None:
        raise instruction.unmodelled("these formats or this broadcast have no rule")
    operation = apply
    a = _rows(instruction, "src0", fields["acc"] & 1, operation.a_registers)
    b = _rows(instruction, "src1", fields["acc"] & 2, operation.b_registers)
    d = _rows(instruction, "vdst", fields["acc_cd"], operation.registers)
    constant = inline_constant(fields["src2"])
    c: int | np.float32
    if constant is None:
        c = _rows(instruction, "src2", fields["acc_cd"], operation.registers)
    else:
        c = np.uint32(constant).view(np.float32)

    def step(wave: Wave) -> None:
        operation(wave.file, a, b, c, d)

    return Compiled(step=step, matrix_cycles=cycles(instruction.mnemonic, context.arch))


RULES: dict[str, Rule] = dict.fromkeys(matrix.SHAPES, _rule)
