"""Matrix multiply-add against a plain triple loop, with the layouts written down a second time.

The layouts here are AMD's own formulas, one per instruction, as its matrix instruction calculator
prints them ("A[i][k] GPR", "A[i][k] Lane"). Inputs are small integers and halves, so that every sum
is exact and its order does not matter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlaprobe.emulator import matrix
from mlaprobe.emulator.floats import Bits
from tests.emulator import exact

Place = Callable[[int, int], tuple[int, int, int]]
"""Row of A (column of B) and column of A (row of B) to lane, register and lowest bit there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """One instruction as AMD's calculator describes it."""

    rows: int
    depth: int
    width: int
    place: Place


def sixteen(rows: int, each: int) -> Place:
    """Sixteen bits, ``each`` numbers a lane: two to a register."""
    return lambda i, k: (rows * (k // each) + i, k // 2 % (each // 2), 16 * (k % 2))


def eight(rows: int) -> Place:
    """Eight bits, eight numbers a lane: four to a register."""
    return lambda i, k: (rows * (k // 8) + i, k // 4 % 2, 8 * (k % 4))


def wide_eight(rows: int) -> Place:
    """Eight bits, 32 numbers a lane: 16 from each of two places of A."""
    groups = 64 // rows

    def place(i: int, k: int) -> tuple[int, int, int]:
        half, group, inside = k // (16 * groups), k // 16 % groups, k % 16
        return rows * group + i, 4 * half + inside // 4, 8 * (inside % 4)

    return place


def packed(rows: int, width: int) -> Place:
    """Six or four bits, 32 numbers a lane, side by side."""
    return lambda i, k: (rows * (k // 32) + i, k % 32 * width // 32, k % 32 * width % 32)


def halves(rows: int, depth: int) -> Layout:
    each = depth * rows // 64
    return Layout(rows=rows, depth=depth, width=16, place=sixteen(rows, each))


LAYOUTS = {
    "16x16x16_bf16": halves(16, 16),
    "16x16x16_f16": halves(16, 16),
    "32x32x8_bf16": halves(32, 8),
    "32x32x8_f16": halves(32, 8),
    "16x16x32_bf16": halves(16, 32),
    "16x16x32_f16": halves(16, 32),
    "32x32x16_bf16": halves(32, 16),
    "32x32x16_f16": halves(32, 16),
    "16x16x32_fp8_fp8": Layout(rows=16, depth=32, width=8, place=eight(16)),
    "16x16x32_fp8_bf8": Layout(rows=16, depth=32, width=8, place=eight(16)),
    "16x16x32_bf8_fp8": Layout(rows=16, depth=32, width=8, place=eight(16)),
    "16x16x32_bf8_bf8": Layout(rows=16, depth=32, width=8, place=eight(16)),
    "32x32x16_fp8_fp8": Layout(rows=32, depth=16, width=8, place=eight(32)),
    "32x32x16_fp8_bf8": Layout(rows=32, depth=16, width=8, place=eight(32)),
    "32x32x16_bf8_fp8": Layout(rows=32, depth=16, width=8, place=eight(32)),
    "32x32x16_bf8_bf8": Layout(rows=32, depth=16, width=8, place=eight(32)),
    "16x16x128_f8f6f4": Layout(rows=16, depth=128, width=8, place=wide_eight(16)),
    "32x32x64_f8f6f4": Layout(rows=32, depth=64, width=8, place=wide_eight(32)),
}

RESULT = {
    16: lambda i, j: (16 * (i // 4) + j, i % 4),
    32: lambda i, j: (32 * (i // 4) % 64 + j, 4 * (i // 8) + i % 4),
}
"""Row and column of C and D to lane and register, by rows."""

# Encodings of 0, 1/2, 1, 3/2, 2, 3 and their negatives, written down from the formats' definitions.
EXACT: dict[str, dict[float, int]] = {
    "bf16": {0: 0, 0.5: 0x3F00, 1: 0x3F80, 1.5: 0x3FC0, 2: 0x4000, 3: 0x4040},
    "f16": {0: 0, 0.5: 0x3800, 1: 0x3C00, 1.5: 0x3E00, 2: 0x4000, 3: 0x4200},
    "e4m3": {0: 0, 0.5: 0x30, 1: 0x38, 1.5: 0x3C, 2: 0x40, 3: 0x44},
    "e4m3fnuz": {0: 0, 0.5: 0x38, 1: 0x40, 1.5: 0x44, 2: 0x48, 3: 0x4C},
    "e5m2": {0: 0, 0.5: 0x38, 1: 0x3C, 1.5: 0x3E, 2: 0x40, 3: 0x42},
    "e5m2fnuz": {0: 0, 0.5: 0x3C, 1: 0x40, 1.5: 0x42, 2: 0x44, 3: 0x46},
    "e2m3": {0: 0, 0.5: 0x04, 1: 0x08, 1.5: 0x0C, 2: 0x10, 3: 0x14},
    "e3m2": {0: 0, 0.5: 0x08, 1: 0x0C, 1.5: 0x0E, 2: 0x10, 3: 0x12},
    "e2m1": {0: 0, 0.5: 0x1, 1: 0x2, 1.5: 0x3, 2: 0x4, 3: 0x5},
}
WIDTHS = {"bf16": 16, "f16": 16, "e2m3": 6, "e3m2": 6, "e2m1": 4}
NAMES = {
    "gfx942": {"fp8": "e4m3fnuz", "bf8": "e5m2fnuz"},
    "gfx950": {"fp8": "e4m3", "bf8": "e5m2"},
}


def store(numbers: npt.NDArray[np.float64], layout: Layout, form: str) -> Bits:
    """Registers that hold a matrix ``[rows of A or columns of B, depth]``."""
    width = WIDTHS.get(form, 8)
    place = layout.place if width >= 8 else packed(layout.rows, width)
    registers = [[0] * 64 for _ in range(layout.depth * layout.rows // 64 * width // 32)]
    for i in range(layout.rows):
        for k in range(layout.depth):
            number = float(numbers[i, k])
            code = EXACT[form][abs(number)] | (1 << (width - 1) if number < 0 else 0)
            lane, register, bit = place(i, k)
            registers[register][lane] |= code << bit & 0xFFFFFFFF
            if bit + width > 32:
                registers[register + 1][lane] |= code >> (32 - bit)
    return np.array(registers, np.uint32)


def numbers(seed: int, shape: tuple[int, int]) -> npt.NDArray[np.float64]:
    chosen = np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 1.5, 2.0, 3.0], shape)
    signs = np.random.default_rng(seed + 1).choice([-1.0, 1.0], shape)
    return np.asarray(chosen * signs + 0.0)


def executed(found: matrix.Operation, a: Bits, b: Bits, c: Bits | np.float32) -> Bits:
    """The registers of D, which begin at 64, as those of A, B and C do at 0, 16 and 32."""
    file = matrix.RegisterFile(np.zeros((96, 64), np.uint32))
    file.words[: len(a)], file.words[16 : 16 + len(b)] = a, b
    if not isinstance(c, np.float32):
        file.words[32 : 32 + len(c)] = c
    found(file, 0, 16, c if isinstance(c, np.float32) else 32, 64)
    return file.words[64 : 64 + found.registers]


def check(name: str, arch: str, forms: tuple[str, str], fields: tuple[int, int], seed: int) -> None:
    layout = LAYOUTS[name]
    rows, depth = layout.rows, layout.depth
    a, b = numbers(seed, (rows, depth)), numbers(seed + 2, (rows, depth))
    c = numbers(seed + 4, (rows, rows)).tolist()
    registers = rows * rows // 64
    before = np.zeros((registers, 64), np.float32)
    expected = np.zeros((registers, 64), np.float32)
    left, right = a.tolist(), b.tolist()
    for i in range(rows):
        for j in range(rows):
            lane, register = RESULT[rows](i, j)
            total = before[register, lane] = c[i][j]
            for k in range(depth):
                total += left[i][k] * right[j][k]
            expected[register, lane] = total
    found = matrix.operation(f"v_mfma_f32_{name}", arch=arch, cbsz=fields[0], blgp=fields[1])
    assert found is not None
    first, second = store(a, layout, forms[0]), store(b, layout, forms[1])
    assert (found.a_registers, found.b_registers) == (len(first), len(second))
    result = executed(found, first, second, before.view(np.uint32))
    np.testing.assert_array_equal(result.view(np.float32), expected)


@pytest.mark.parametrize("name", [name for name in LAYOUTS if "f8f6f4" not in name])
@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_every_number_meets_its_partners(name: str, arch: str) -> None:
    forms = name.split("_")[1:]
    a, b = (NAMES[arch].get(form, form) for form in (forms[0], forms[-1]))
    check(name, arch, (a, b), (0, 0), seed=len(name))


FORMATS = ["e4m3", "e5m2", "e2m3", "e3m2", "e2m1"]


@pytest.mark.parametrize("name", ["16x16x128_f8f6f4", "32x32x64_f8f6f4"])
@pytest.mark.parametrize("cbsz", range(5))
@pytest.mark.parametrize("blgp", range(5))
def test_formats_mix(name: str, cbsz: int, blgp: int) -> None:
    check(name, "gfx950", (FORMATS[cbsz], FORMATS[blgp]), (cbsz, blgp), seed=5 * cbsz + blgp)


def test_every_operation_is_tried_here() -> None:
    assert set(matrix.SHAPES) == {f"v_mfma_f32_{name}" for name in LAYOUTS}


@pytest.mark.parametrize(
    ("mnemonic", "arch", "cbsz"),
    [
        ("v_mfma_f32_4x4x4_16b_f16", "gfx942", 0),
        ("v_mfma_f32_16x16x16_bf16", "gfx942", 1),
        ("v_mfma_f32_16x16x128_f8f6f4", "gfx950", 5),
        ("v_mfma_f32_16x16x128_f8f6f4", "gfx942", 4),
    ],
)
def test_what_has_no_rule_is_none(mnemonic: str, arch: str, cbsz: int) -> None:
    assert matrix.operation(mnemonic, arch=arch, cbsz=cbsz) is None


def test_one_number_can_stand_for_all_of_c() -> None:
    found = matrix.operation("v_mfma_f32_16x16x16_bf16", arch="gfx950")
    assert found is not None
    ones = np.full((2, 64), 0x3F803F80, np.uint32)
    result = executed(found, ones, ones, np.float32(0.5))
    assert (result.view(np.float32) == 16.5).all()


def test_the_result_may_lie_where_the_operands_lie() -> None:
    found = matrix.operation("v_mfma_f32_32x32x8_bf16", arch="gfx950")
    assert found is not None
    registers = np.random.default_rng(3).integers(0, 2**32, (40, 64), dtype=np.uint32)
    registers &= np.uint32(0xBFFFBFFF)
    apart = matrix.RegisterFile(registers.copy())
    found(apart, 0, 2, 4, 20)
    # C and D are the same; then D covers A, B and a part of C.
    same = matrix.RegisterFile(registers.copy())
    found(same, 0, 2, 4, 4)
    np.testing.assert_array_equal(same.words[4:20], apart.words[20:36])
    covered = matrix.RegisterFile(registers.copy())
    found(covered, 0, 2, 4, 0)
    np.testing.assert_array_equal(covered.words[:16], apart.words[20:36])


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.integers(0, 15), st.sampled_from([0x7FC0, 0x7F80, 0x3F80]))
def test_a_row_depends_on_no_other(seed: int, row: int, filler: int) -> None:
    """Bit by bit: what pads a matrix cannot be seen in the rows that count."""
    found = matrix.operation("v_mfma_f32_16x16x32_bf16", arch="gfx950")
    assert found is not None
    a, b, c = np.random.default_rng(seed).integers(0, 2**32, (3, 4, 64), dtype=np.uint32)
    for operand in (a, b, c):
        operand &= np.uint32(0xBFFFBFFF)
    with np.errstate(all="ignore"):
        plain = executed(found, a, b, c)
        others = np.arange(64) % 16 != row
        a[:, others] = filler * 0x10001
        padded = executed(found, a, b, c)
    kept = matrix.result_row(16) == row
    np.testing.assert_array_equal(padded[kept], plain[kept])


def bf16(numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.uint32]:
    """Encodings of bfloat16 near some numbers."""
    codes: npt.NDArray[np.uint32] = numbers.astype(np.float32).view(np.uint32) >> np.uint32(16)
    return codes


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32))
def test_a_sum_is_rounded_once(seed: int) -> None:
    """Sums of which float32 would lose bits on the way."""
    found = matrix.operation("v_mfma_f32_16x16x16_bf16", arch="gfx950")
    assert found is not None
    rng = np.random.default_rng(seed)
    a, b = (bf16(rng.standard_normal((16, 16)) * 2.0 ** rng.integers(-9, 9, 16)) for _ in "ab")
    c = rng.standard_normal((4, 64)).astype(np.float32)
    packed = []
    for codes in (a, b):
        registers = np.zeros((2, 64), np.uint32)
        for i, k in np.ndindex(16, 16):
            lane, register, bit = sixteen(16, 4)(i, k)
            registers[register, lane] |= codes[i, k] << np.uint32(bit)
        packed.append(registers)
    result = executed(found, packed[0], packed[1], c.view(np.uint32)).view(np.float32)
    rows, columns = ([[Fraction(v) for v in row] for row in values_of(m)] for m in (a, b))
    for i, j in np.ndindex(16, 16):
        lane, register = RESULT[16](i, j)
        terms = [x * y for x, y in zip(rows[i], columns[j], strict=True)]
        wanted = exact.nearest(sum(terms, Fraction(float(c[register, lane]))))
        assert result[register, lane] == wanted


def values_of(codes: npt.NDArray[np.uint32]) -> list[list[float]]:
    return [[exact.value_of(int(code) << 16) for code in row] for row in codes]


@pytest.mark.parametrize("name", sorted(LAYOUTS))
def test_equal_rows_give_equal_results(name: str) -> None:
    """Bit by bit, wherever the rows of A and the columns of B are."""
    found = matrix.operation(f"v_mfma_f32_{name}", arch="gfx950")
    assert found is not None
    rows = LAYOUTS[name].rows
    rng = np.random.default_rng(len(name))
    a, b = rng.integers(0, 2**32, (2, 8, 64), dtype=np.uint32) & np.uint32(0xBFBFBFBF)
    a, b = a[: found.a_registers], b[: found.b_registers]
    first = np.arange(64) // rows * rows
    of_equal_rows = executed(found, a[:, first], b, np.float32(1)).reshape(-1, 64 // rows, rows)
    assert (of_equal_rows == of_equal_rows[0, 0]).all()
    of_equal_columns = executed(found, a, b[:, first], np.float32(1))
    assert (of_equal_columns == of_equal_columns[:, first]).all()


def test_subnormal_numbers_count() -> None:
    found = matrix.operation("v_mfma_f32_16x16x16_bf16", arch="gfx950")
    assert found is not None
    tiny = np.full((2, 64), 0x00010001, np.uint32)
    ones = np.full((2, 64), 0x3F803F80, np.uint32)
    result = executed(found, tiny, ones, np.float32(0))
    assert (result == 16 << 16).all()
