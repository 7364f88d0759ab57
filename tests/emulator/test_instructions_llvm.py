"""The encodings that tests use, made again by LLVM's assembler, where Triton is installed: it has
one in it."""

from __future__ import annotations

import struct
from collections.abc import Iterable

import pytest

from mlaprobe.emulator.disassembly import disassemble
from tests.emulator.single import encodings
from tests.emulator.test_kernels import BF16, FP8, code

_SECTION = struct.Struct("<IIQQQQ")


def code_of(elf: bytes) -> bytes:
    """The contents of the only section of an ELF file that has code in it."""
    (start,) = struct.unpack_from("<Q", elf, 40)
    size, count = struct.unpack_from("<HH", elf, 58)
    sections = [_SECTION.unpack_from(elf, start + size * n) for n in range(count)]
    executable, has_bytes = 4, 1
    (code,) = [
        elf[offset : offset + length]
        for _, kind, flags, _, offset, length in sections
        if flags & executable and kind == has_bytes
    ]
    return code


def assembled(texts: Iterable[str], arch: str) -> bytes:
    """The code that LLVM makes of instructions."""
    triton = pytest.importorskip("triton._C.libtriton", reason="Triton is not installed")
    if not hasattr(triton.amd, "assemble_amdgcn"):
        pytest.skip("this Triton does not show its assembler")
    triton.llvm.init_targets()
    source = "".join(f"{text}\n" for text in texts)
    return code_of(triton.amd.assemble_amdgcn(source, "amdgcn-amd-amdhsa", arch, ""))


def test_llvm_assembles_them_so() -> None:
    expected = b"".join(encodings().values())
    assert assembled(encodings(), "gfx950").startswith(expected)


@pytest.mark.parametrize("name", [BF16, FP8])
@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_llvm_makes_a_kernel_of_its_disassembly(arch: str, name: str) -> None:
    kernel = code(arch, name)
    expected = kernel.image[kernel.text_start : kernel.text_end]
    texts = [line.text for line in disassemble(kernel)]
    found = assembled(texts, arch)
    assert len(texts) > 1000
    assert found[: len(expected)] == expected
