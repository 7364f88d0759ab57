"""Matrix fused multiply-add (MFMA) of a wave: D = A x B + C, with the registers' layouts as data.

Sources: AMD Instinct MI300 (CDNA3) and MI350 (CDNA4) instruction set architecture, chapter "Matrix
arithmetic instructions", and AMD's matrix instruction calculator, which prints the same layouts as
formulas. All operations here have one block and 32-bit float results.

What is ours to choose, because no document fixes it: C and all products of a result are summed in
float64, and the sum is rounded to float32 once. Products are exact there, and so are sums whose
terms are less than some 2**37 apart; so a result hardly ever depends on an order, and neither on
where in the matrix it is nor on the machine that computes it. Hardware sums in some order of its
own and may round in between: a GPU's result may differ in its last bits. Which numbers are
multiplied is not ours to choose. Nothing is flushed: matrix operations of these GPUs keep subnormal
numbers whatever MODE says, and they take no notice of EXEC.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from mlaprobe.emulator import floats
from mlaprobe.emulator.floats import LANES, Bits, NarrowFormat

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

ROWS = (16, 32)
"""The numbers of rows that there are rules for."""


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


Number = TypeVar("Number", np.uint8, np.uint16, np.float16)


def _parts(numbers: npt.NDArray[Number], rows: int) -> npt.NDArray[Number]:
    """Numbers ``[register, lane, number in the register]`` as ``RegisterFile`` has them."""
    parts: npt.NDArray[Number] = numbers.transpose(0, 2, 1)
    if rows:
        groups, (registers, _, each) = LANES // rows, numbers.shape
        split = numbers.reshape(registers, groups, rows // groups // 4, groups, 4, each)
        parts = split.transpose(0, 5, 1, 2, 4, 3)
    return parts


class RegisterFile:
    """The vector registers of a wave, as what they may hold.

    Smaller numbers are ``[register, number in the register, lane]``, by 0, and by the number of
    rows of a matrix A: then lanes have four dimensions, the group, and three for the row. Who runs
    through them in order meets the rows in the order in which results lie in registers and lanes,
    see ``result_row``.

    Attributes:
        words: the registers, ``[register, lane]``, contiguous.
        floats: the same as float32.
        halves: numbers of 16 bits.
        f16: the same in half precision.
        codes: numbers of eight bits.
    """

    __slots__ = ("codes", "f16", "floats", "halves", "words")

    def __init__(self, words: Bits) -> None:
        self.words = words
        self.floats = words.view(np.float32)
        halves = words.view(np.uint16).reshape(len(words), LANES, 2)
        codes = words.view(np.uint8).reshape(len(words), LANES, 4)
        self.halves = {rows: _parts(halves, rows) for rows in (0, *ROWS)}
        self.f16 = {rows: _parts(halves.view(np.float16), rows) for rows in (0, *ROWS)}
        self.codes = {rows: _parts(codes, rows) for rows in (0, *ROWS)}


Matrix: TypeAlias = npt.NDArray[np.float64]
Decoder = Callable[[RegisterFile, int], Matrix]
"""Registers from one on to a matrix ``[depth, rows]``, whose rows are as ``place`` has them: by
element, then by group. The matrix is valid until the next call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operand:
    """How A or B lies in registers."""

    kind: str | NarrowFormat
    """The format of its numbers."""
    shape: Shape
    """The instruction."""
    by_result: bool
    """Whether its rows are taken in the order of the results, as those of A are."""

    @property
    def width(self) -> int:
        """Bits of a number."""
        return self.kind.width if isinstance(self.kind, NarrowFormat) else 16

    @property
    def registers(self) -> int:
        """Registers that it takes."""
        return self.shape.depth * self.shape.rows // LANES * self.width // _WORD

    def decoder(self) -> Decoder:
        """The function that reads it."""
        if not isinstance(self.kind, NarrowFormat):
            return self._bf16() if self.kind == BF16 else self._f16()
        return self._bytes(self.kind) if self.width == 8 else self._fields(self.kind)

    @property
    def _ordered(self) -> int:
        return self.shape.rows if self.by_result else 0

    def _room(self) -> tuple[Matrix, Matrix]:
        """An array with the dimensions of what ``RegisterFile`` has, and the same as a matrix."""
        like = RegisterFile(np.zeros((self.registers, LANES), np.uint32))
        parts = like.codes if self.width == 8 else like.halves
        room = np.zeros(parts[self._ordered].shape, np.float64)
        return room, room.reshape(self.shape.depth, self.shape.rows)

    def _bf16(self) -> Decoder:
        """Each number is the upper half of a float32, whose lower half stays 0."""
        room, matrix = self._room()
        rows, registers = self._ordered, self.registers
        values = np.zeros(room.shape, np.float32)
        upper = values.view(np.uint16)[..., 1::2]

        def decode(file: RegisterFile, first: int) -> Matrix:
            upper[...] = file.halves[rows][first : first + registers]
            room[...] = values
            return matrix

        return decode

    def _f16(self) -> Decoder:
        room, matrix = self._room()
        rows, registers = self._ordered, self.registers

        def decode(file: RegisterFile, first: int) -> Matrix:
            room[...] = file.f16[rows][first : first + registers]
            return matrix

        return decode

    def _bytes(self, form: NarrowFormat) -> Decoder:
        room, matrix = self._room()
        table = floats.decode_table(form).astype(np.float64)
        rows, registers = self._ordered, self.registers

        def decode(file: RegisterFile, first: int) -> Matrix:
            codes = file.codes[rows][first : first + registers]
            # Every code is in the table: wrapping only spares the check.
            table.take(codes, out=room, mode="wrap")
            return matrix

        return decode

    def _fields(self, form: NarrowFormat) -> Decoder:
        """Numbers that may lie across two registers."""
        table = floats.decode_table(form).astype(np.float64)
        registers, rows = self.registers, self.shape.rows
        start = np.arange(registers * _WORD // form.width) * form.width
        word, shift = start // _WORD, (start % _WORD).astype(np.uint64)[:, None]
        mask = np.uint64((1 << form.width) - 1)
        order = result_row(rows)[:, ::rows].ravel() if self.by_result else None

        def decode(file: RegisterFile, first: int) -> Matrix:
            bits = file.words[first : first + registers].astype(np.uint64)
            bits[:-1] |= bits[1:] << np.uint64(_WORD)
            matrix: Matrix = table[(bits[word] >> shift) & mask].reshape(-1, rows)
            return matrix if order is None else matrix[:, order]

        return decode


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
        "_product",
        "_sums",
        "a_registers",
        "b_registers",
        "registers",
    )

    def __init__(self, shape: Shape, a: str | NarrowFormat, b: str | NarrowFormat) -> None:
        left = Operand(kind=a, shape=shape, by_result=True)
        right = Operand(kind=b, shape=shape, by_result=False)
        self.a_registers, self.b_registers = left.registers, right.registers
        self.registers = shape.rows * shape.rows // LANES
        self._a, self._b = left.decoder(), right.decoder()
        self._order = _order(shape, left.width, right.width)
        self._product = np.empty((shape.rows, shape.rows), np.float64)
        # The rows of the product are in the order in which registers and lanes have them.
        self._sums = self._product.reshape(self.registers, LANES)

    def __call__(self, file: RegisterFile, a: int, b: int, c: int | np.float32, d: int) -> None:
        """Compute D, and store it.

        What numpy warns of (overflow, infinity minus infinity) is for the caller to silence.

        Args:
            file: the registers.
            a: the first register of A.
            b: the first register of B.
            c: the first register of C, or a number that all of C is.
            d: the first register of D; D may be where the others are.
        """
        left, right = self._a(file, a), self._b(file, b)
        if self._order is not None:
            right = right[self._order]
        np.dot(left.T, right, out=self._product)
        values, registers = file.floats, self.registers
        addend = values[c : c + registers] if isinstance(c, int) else c
        # In float64, then rounded to float32.
        np.add(self._sums, addend, out=values[d : d + registers], casting="same_kind")


def _order(shape: Shape, a: int, b: int) -> npt.NDArray[np.intp] | None:
    """The rows of B's matrix in the order of A's, where formats of two widths order differently."""
    columns, rows = (place(width, shape.depth, shape.rows).ravel() for width in (a, b))
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
