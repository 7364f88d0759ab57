"""Matrix instructions: which registers they read and write. What they compute: test_matrix.py."""

from __future__ import annotations

import numpy as np
import pytest

from mlaprobe.emulator import matrix
from mlaprobe.emulator.floats import Bits
from mlaprobe.emulator.semantics import matrices
from tests.emulator.single import Lone

A = 256
"""The row of the first accumulation register."""

# Text to the first registers of A, B, C (None: zero) and D.
CASES: dict[str, tuple[int, int, int | None, int]] = {
    "v_mfma_f32_16x16x16_bf16 a[0:3], v[2:3], a[4:5], a[0:3]": (2, A + 4, A, A),
    "v_mfma_f32_16x16x32_bf16 v[0:3], a[4:7], v[8:11], v[12:15]": (A + 4, 8, 12, 0),
    "v_mfma_f32_16x16x32_fp8_fp8 v[0:3], a[4:5], a[6:7], 0": (A + 4, A + 6, None, 0),
    "v_mfma_f32_16x16x128_f8f6f4 v[0:3], a[8:15], v[8:15], v[0:3]": (A + 8, 8, 0, 0),
    "v_mfma_f32_32x32x64_f8f6f4 a[0:15], a[16:23], v[8:15], a[0:15]": (A + 16, 8, A, A),
    "v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[8:15], v[16:19], v[0:3] blgp:4": (8, 16, 0, 0),
    **{
        f"v_mfma_f32_{name} v[0:3], v[4:5], v[6:7], v[0:3]": (4, 6, 0, 0)
        for name in ("16x16x16_f16", "16x16x32_bf8_bf8", "16x16x32_bf8_fp8", "16x16x32_fp8_bf8")
    },
    "v_mfma_f32_16x16x32_f16 v[0:3], v[4:7], v[8:11], v[0:3]": (4, 8, 0, 0),
    **{
        f"v_mfma_f32_32x32x{name} v[0:15], v[16:17], v[18:19], v[0:15]": (16, 18, 0, 0)
        for name in ("8_f16", "8_bf16", "16_bf8_bf8", "16_bf8_fp8", "16_fp8_bf8", "16_fp8_fp8")
    },
    **{
        f"v_mfma_f32_32x32x16_{name} v[0:15], v[16:19], v[20:23], v[0:15]": (16, 20, 0, 0)
        for name in ("f16", "bf16")
    },
}
ONLY_ON_GFX950 = [
    *("x128_f8f6f4", "x64_f8f6f4", "16x16x32_bf16", "16x16x32_f16"),
    *("32x32x16_bf16 ", "32x32x16_f16 "),
]


def filled(lone: Lone) -> Bits:
    """A copy of the registers, which get moderate numbers of bf16 and fp8."""
    numbers = np.random.default_rng(2).integers(0, 1 << 32, (512, 64), dtype=np.uint32)
    lone.wave.vgpr[:] = numbers & np.uint32(0xBFBFBFBF)
    registers: Bits = lone.wave.vgpr.copy()
    return registers


@pytest.mark.parametrize("lanes", [(1 << 64) - 1, 0x0F0F], ids=["all", "some"])
@pytest.mark.parametrize(
    ("text", "arch"),
    [(text, "gfx950") for text in CASES]
    + [(text, "gfx942") for text in CASES if not any(name in text for name in ONLY_ON_GFX950)],
)
def test_registers(text: str, arch: str, lanes: int) -> None:
    mnemonic = text.split()[0]
    lone = Lone(arch=arch)
    before = filled(lone)
    a, b, c, d = CASES[text]
    blgp = 4 if "blgp:4" in text else 0
    operation = matrix.operation(mnemonic, arch=arch, blgp=blgp)
    assert operation is not None
    expected = before.copy()
    operation(matrix.RegisterFile(expected), a, b, np.float32(0) if c is None else c, d)
    # Every lane takes part, whatever EXEC says.
    lone.switch(lanes)
    lone.run(text)
    assert (lone.wave.vgpr == expected).all()
    assert (expected != before).any(axis=1).sum() == operation.registers


@pytest.mark.parametrize(
    ("mnemonic", "arch", "cycles"),
    [
        # "Execution cycles" of AMD's matrix instruction calculator for CDNA3.
        ("v_mfma_f32_16x16x16_bf16", "gfx942", 16),
        ("v_mfma_f32_16x16x32_fp8_fp8", "gfx942", 16),
        ("v_mfma_f32_32x32x8_bf16", "gfx942", 32),
        ("v_mfma_f32_32x32x16_fp8_fp8", "gfx942", 32),
    ],
)
def test_how_long_the_matrix_core_is_busy(mnemonic: str, arch: str, cycles: int) -> None:
    assert matrices.cycles(mnemonic, arch) == cycles
