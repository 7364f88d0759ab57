"""The encodings that tests use, made again by LLVM's assembler, where Triton is installed: it has
one in it."""

from __future__ import annotations

import struct

import pytest

from tests.emulator.single import encodings

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


def test_llvm_assembles_them_so() -> None:
    triton = pytest.importorskip("triton._C.libtriton", reason="Triton is not installed")
    if not hasattr(triton.amd, "assemble_amdgcn"):
        pytest.skip("this Triton does not show its assembler")
    triton.llvm.init_targets()
    source = "".join(f"{text}\n" for text in encodings())
    elf = triton.amd.assemble_amdgcn(source, "amdgcn-amd-amdhsa", "gfx950", "")
    assert code_of(elf).startswith(b"".join(encodings().values()))
