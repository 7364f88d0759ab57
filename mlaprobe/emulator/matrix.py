"""Matrix fused multiply-add (MFMA) of a wave: D = A x B + C, with the registers' layouts as data.

Sources: AMD Instinct MI300 (CDNA3) and MI350 (CDNA4) instruction set architecture, chapter "Matrix
arithmetic instructions", and AMD's matrix instruction calculator, which prints the same layouts as
formulas. All operations here have one block and 32-bit float results.

What is ours to choose, because no document fixes it: the products of a result are summed in
float32 in the order of a matrix product of numpy's, and C is added to the sum at the end. Hardware
sums in another order and may keep more bits in between, so a result may differ from a GPU's in its
last bits. Which numbers are multiplied is not ours to choose, and two results of one instruction
that come from equal numbers in equal places are equal. Nothing is flushed: matrix operations of
these GPUs keep subnormal numbers whatever MODE says, and they take no notice of EXEC.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mlaprobe.emulator import floats
from mlaprobe.emulator.floats import LANES, Bits, NarrowFormat, Values

_WORD = 32
_CHUNK = 16
"""Numbers of eight bits that a lane holds of consecutive columns; the next are further right."""

BF16 = "bf16"
F16 = "f16"
FP8 = "fp8"
BF8 = "bf8"
MIXED = "f8f6f4"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The sizes and input formats of an MFMA instruction, as its mnemonic gives them."""

    rows: int
    """Rows of A, C and D; as many columns have B, C and D."""
    depth: int
    """Columns of A and rows of B: the products in each result."""
    a: str
    """The format of A."""
    b: str
    """The format of B."""


def _shapes() -> dict[str, Shape]:
    pairs = [(a, b) for a in (FP8, BF8) for b in (FP8, BF8)]
    shapes = {}
    for rows, halves, bytes_, mixed in ((16, (16, 32), 32, 128), (32, (8, 16), 16, 64)):
        for kind in (F16, BF16):
            for depth in halves:
                shapes[f"{rows}x{rows}x{depth}_{kind}"] = (rows, depth, kind, kind)
        for a, b in pairs:
            shapes[f"{rows}x{rows}x{bytes_}_{a}_{b}"] = (rows, bytes_, a, b)
        shapes[f"{rows}x{rows}x{mixed}_{MIXED}"] = (rows, mixed, MIXED, MIXED)
    return {
        f"v_mfma_f32_{name}": Shape(rows=rows, depth=depth, a=a, b=b)
        for name, (rows, depth, a, b) in shapes.items()
    }


SHAPES = _shapes()
"""Every operation that there is a rule for, by its mnemonic."""

SELECTED: dict[int, dict[str, NarrowFormat]] = {
    0: floats.FP8,
    1: floats.BF8,
    2: {"gfx950": floats.E2M3},
    3: {"gfx950": floats.E3M2},
    4: {"gfx950": floats.E2M1},
}
"""The input formats of ``f8f6f4`` by the number in CBSZ (for A) and BLGP (for B), and by arch."""


def place(width: int, depth: int, rows: int) -> npt.NDArray[np.intp]:
    """The column of A (row of B) of each number that a lane holds: ``[element, group]``.

    Lane ``l`` holds numbers of row ``l % rows`` of A (column of B) and belongs to group
    ``l // rows``. Its numbers lie side by side from bit 0 of its first register on. They are of
    consecutive columns, but where a lane holds more than 16 numbers of eight bits: then the groups
    take turns after every 16.
    """
    groups = LANES // rows
    each = depth // groups
    element, group = np.arange(each)[:, None], np.arange(groups)[None, :]
    if width == 8 and each > _CHUNK:
        return (element // _CHUNK * groups + group) * _CHUNK + element % _CHUNK
    return group * each + element


def result_row(rows: int) -> npt.NDArray[np.intp]:
    """The row of C and D in each register and lane: ``[register, lane]``. Its column is the lane
    modulo the number of columns; four consecutive rows lie in consecutive registers."""
    register, lane = np.arange(rows * rows // LANES)[:, None], np.arange(LANES)[None, :]
    groups = LANES // rows
    return (register // 4 * groups + lane // rows) * 4 + register % 4


Decoder = Callable[[Bits], Values]
"""Registers ``[n, 64]`` to a matrix ``[depth, rows]``, whose rows are as ``place`` has them: by
element, then by group. The matrix is valid until the next call."""


def _halves(registers: int, rows: int, depth: int) -> Decoder:
    """A decoder of bfloat16: each is the upper half of a float32."""
    words = np.zeros((registers, 2, LANES, 2), np.uint16)
    upper = words[..., 1]
    matrix = words.view(np.float32).reshape(depth, rows)

    def decode(bits: Bits) -> Values:
        upper[...] = bits.view(np.uint16).reshape(registers, LANES, 2).transpose(0, 2, 1)
        return matrix

    return decode


def _half_precision(registers: int, rows: int, depth: int) -> Decoder:
    matrix = np.empty((registers, 2, LANES), np.float32)

    def decode(bits: Bits) -> Values:
        halves = bits.view(np.float16).reshape(registers, LANES, 2)
        matrix[...] = halves.transpose(0, 2, 1)
        return matrix.reshape(depth, rows)

    return decode


def _bytes(form: NarrowFormat, registers: int, rows: int, depth: int) -> Decoder:
    table = floats.decode_table(form)
    matrix = np.empty((registers, 4, LANES), np.float32)
    flat = matrix.reshape(depth, rows)

    def decode(bits: Bits) -> Values:
        codes = bits.view(np.uint8).reshape(registers, LANES, 4).transpose(0, 2, 1)
        # Every code is in the table: wrapping only spares the check.
        table.take(codes, out=matrix, mode="wrap")
        return flat

    return decode


def _fields(form: NarrowFormat, registers: int, rows: int, depth: int) -> Decoder:
    """A decoder of numbers that may lie across two registers."""
    table = floats.decode_table(form)
    start = np.arange(registers * _WORD // form.width) * form.width
    word, shift = start // _WORD, (start % _WORD).astype(np.uint64)[:, None]
    mask = np.uint64((1 << form.width) - 1)

    def decode(bits: Bits) -> Values:
        following = np.vstack([bits[1:], np.zeros((1, LANES), np.uint32)])
        joined = bits.astype(np.uint64) | (following.astype(np.uint64) << np.uint64(_WORD))
        matrix: Values = table[(joined[word] >> shift) & mask]
        return matrix.reshape(depth, rows)

    return decode


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """How A or B lies in the registers."""

    registers: int
    """Registers that it takes."""
    decode: Decoder
    """The registers to a matrix."""


def _operand(shape: Shape, kind: str | NarrowFormat) -> Operand:
    each = shape.depth * shape.rows // LANES
    if isinstance(kind, NarrowFormat):
        registers = each * kind.width // _WORD
        make = _bytes if kind.width == 8 else _fields
        return Operand(registers=registers, decode=make(kind, registers, shape.rows, shape.depth))
    registers = each * 16 // _WORD
    halves = _halves if kind == BF16 else _half_precision
    return Operand(registers=registers, decode=halves(registers, shape.rows, shape.depth))


class Operation:
    """An MFMA instruction, ready to be executed. Not for two threads at a time: it reuses buffers.

    Attributes:
        a_registers: registers that A takes.
        b_registers: registers that B takes.
        registers: registers that C and D each take.
    """

    __slots__ = (
        "_a",
        "_b",
        "_order",
        "_parts",
        "_product",
        "_sums",
        "a_registers",
        "b_registers",
        "registers",
    )

    def __init__(self, shape: Shape, a: str | NarrowFormat, b: str | NarrowFormat) -> None:
        left, right = _operand(shape, a), _operand(shape, b)
        self.a_registers, self.b_registers = left.registers, right.registers
        self.registers = shape.rows * shape.rows // LANES
        self._a, self._b = left.decode, right.decode
        self._order = _order(shape, a, b)
        groups = LANES // shape.rows
        # Rows of D by register // 4, group, register % 4: as ``result_row`` has them.
        self._parts = (self.registers // 4, 4, groups, shape.rows)
        self._product = np.empty((shape.rows, shape.rows), np.float32)
        grouped = self._product.reshape(self.registers // 4, groups, 4, shape.rows)
        self._sums = grouped.transpose(0, 2, 1, 3)

    def __call__(self, a: Bits, b: Bits, c: Bits | np.uint32, d: Bits) -> None:
        """Compute D, and store it.

        What numpy warns of (overflow, infinity minus infinity) is for the caller to silence.

        Args:
            a: ``[a_registers, 64]``, contiguous like all of these.
            b: ``[b_registers, 64]``.
            c: ``[registers, 64]``, or one number (by its bits) for all of C.
            d: ``[registers, 64]``, where the result goes; may be the same memory as the others.
        """
        left, right = self._a(a), self._b(b)
        if self._order is not None:
            right = right[self._order]
        np.dot(left.T, right, out=self._product)
        addend = c.view(np.float32)
        if addend.ndim:
            addend = addend.reshape(self._parts)
        np.add(self._sums, addend, out=d.view(np.float32).reshape(self._parts))


def _width(kind: str | NarrowFormat) -> int:
    return kind.width if isinstance(kind, NarrowFormat) else 16


def _order(
    shape: Shape, a: str | NarrowFormat, b: str | NarrowFormat
) -> npt.NDArray[np.intp] | None:
    """The rows of B's matrix in the order of A's, where formats of two widths order differently."""
    columns, rows = (place(_width(kind), shape.depth, shape.rows).ravel() for kind in (a, b))
    return None if (columns == rows).all() else np.argsort(rows)[columns]


def _format(kind: str, selected: int, arch: str) -> str | NarrowFormat | None:
    if kind in (BF16, F16):
        return kind
    number = {FP8: 0, BF8: 1}.get(kind, selected)
    return SELECTED.get(number, {}).get(arch)


def operation(mnemonic: str, *, arch: str, cbsz: int = 0, blgp: int = 0) -> Operation | None:
    """The MFMA instruction of that mnemonic (LLVM's), or ``None``: there is no rule for it.

    Args:
        arch: ``gfx942`` (fp8 and bf8 are fnuz) or ``gfx950`` (OCP).
        cbsz: the field CBSZ, which selects the format of A in ``f8f6f4``.
        blgp: the field BLGP, which selects the format of B in ``f8f6f4``.
    """
    shape = SHAPES.get(mnemonic)
    if shape is None or (shape.a != MIXED and (cbsz or blgp)):
        return None
    a, b = _format(shape.a, cbsz, arch), _format(shape.b, blgp, arch)
    return None if a is None or b is None else Operation(shape, a, b)
