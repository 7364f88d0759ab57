"""The decoder and its text, against LLVM's."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from mlaprobe.emulator.decoding import decode
from mlaprobe.emulator.disassembly import disassemble, mnemonics, text
from mlaprobe.emulator.errors import UnmodelledError
from mlaprobe.emulator.formats import FORMATS, opcodes
from mlaprobe.sources.installed import InstalledSource
from tests.emulator.single import encodings
from tests.emulator.test_kernels import BF16, FP8, code, read

_BRANCH = re.compile(r"(s_c?branch\w*) .*")


@pytest.mark.parametrize("line", encodings())
def test_what_llvm_assembles_is_printed_as_it_was_written(line: str) -> None:
    data = encodings()[line]
    instruction = decode(data + bytes(8), 0, "gfx950")
    assert text(instruction) == line
    assert instruction.size == len(data)


@pytest.mark.parametrize(
    ("first", "second", "line"),
    [
        (0xD2350008, 0x051A510A, "pk_fp8_f32 v8, v10, v40, v70"),
        (0xD2370008, 0x051A510A, "sr_fp8_f32 v8, v10, v40, v70"),
        (0xD2390008, 0x0002510A, "pk_f32_fp8 v[8:9], v10, v40"),
        (0xD23B0008, 0x0002510A, "f32_fp8 v8, v10, v40"),
        (0xD23D0008, 0x051A510A, "pk_fp4_f32 v8, v10, v40, v70"),
        (0xD23E0008, 0x051A510A, "sr_pk_fp4_f32 v8, v[10:11], v40, v70"),
        (0xD23F0008, 0x0002510A, "pk_f32_fp4 v[8:9], v10, v40"),
        (0xD2440008, 0x0002510A, "pk_fp8_bf16 v8, v10, v40"),
        (0xD2460008, 0x051A510A, "sr_fp8_bf16 v8, v10, v40, v70"),
        (0xD2480008, 0x0002510A, "pk_f16_fp8 v8, v10, v40"),
        (0xD24B0008, 0x0002510A, "f16_bf8 v8, v10, v40"),
        (0xD24E0008, 0x051A510A, "sr_pk_fp4_f16 v8, v10, v40, v70"),
        (0xD2510008, 0x0002510A, "pk_bf16_fp4 v8, v10, v40"),
        (0xD2520008, 0x051A510A, "2xpk16_fp6_f32 v[8:13], v[10:25], v[40:55], v70"),
        (0xD2550008, 0x051A510A, "sr_pk32_bf6_f32 v[8:13], v[10:41], v40, v70"),
        (0xD2560008, 0x0002510A, "pk32_f32_fp6 v[8:39], v[10:15], v40"),
        (0xD25B0008, 0x0002510A, "pk32_bf6_bf16 v[8:13], v[10:25], v40"),
        (0xD25C0008, 0x051A510A, "sr_pk32_fp6_f16 v[8:13], v[10:25], v40, v70"),
        (0xD2620008, 0x0002510A, "pk32_f16_bf6 v[8:23], v[10:15], v40"),
    ],
)
def test_conversions_with_a_scale_are_printed_as_llvm_writes_them(
    first: int, second: int, line: str
) -> None:
    data = first.to_bytes(4, "little") + second.to_bytes(4, "little")
    assert text(decode(data, 0, "gfx950")) == f"v_cvt_scalef32_{line}"


def _objdump() -> str | None:
    """An llvm-objdump that knows gfx942."""
    names = ["llvm-objdump", *(f"llvm-objdump-{version}" for version in range(30, 16, -1))]
    for name in names:
        path = shutil.which(name)
        if path is None:
            continue
        version = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
        found = re.search(r"LLVM version (\d+)", version)
        if found and int(found[1]) >= 17 and "amdgcn" in version:
            return path
    return None


@pytest.mark.skipif(_objdump() is None, reason="no llvm-objdump that knows gfx942 is installed")
@pytest.mark.parametrize("name", [BF16, FP8])
def test_a_whole_code_object_is_printed_as_llvm_does(name: str, tmp_path: Path) -> None:
    tool = _objdump()
    assert tool is not None
    file = tmp_path / "code.co"
    with InstalledSource.find(environ={}) as source:
        file.write_bytes(read(source, f"hsa/gfx942/mla/{name}"))
    command = [tool, "-d", "--mcpu=gfx942", str(file)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    theirs = {}
    for line in output.splitlines():
        found = re.match(r"\s+(\S.*?)\s*// ([0-9A-F]+): ", line)
        if found:
            theirs[int(found[2], 16)] = _BRANCH.sub(r"\1", found[1])
    ours = {
        line.offset: _BRANCH.sub(r"\1", line.text) for line in disassemble(code("gfx942", name))
    }
    assert len(ours) > 2000
    assert ours == theirs


def test_mnemonics_of_a_code_object() -> None:
    names = mnemonics(code("gfx950", FP8))
    assert {"v_mfma_f32_16x16x32_fp8_fp8", "s_endpgm", "buffer_load_dword"} <= names
    assert "v_mfma_f32_16x16x16_bf16" not in names


def test_only_gfx950_knows_what_cdna4_added() -> None:
    data = encodings()["v_permlane32_swap_b32_e32 v1, v2"]
    assert decode(data, 0, "gfx950").mnemonic == "v_permlane32_swap_b32"
    with pytest.raises(UnmodelledError, match="gfx942 has no such opcode"):
        decode(data, 0, "gfx942")
    with pytest.raises(ValueError, match="gfx1100"):
        opcodes("gfx1100")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((0xF8000000,), "no format"),  # exports are of other targets
        ((0xBF900000 | 0x7F << 16,), "no such opcode"),
        ((0xE0501010 | 1 << 25, 0x80020102), "reserved bits"),
        ((0x7E0202FF,), "no code is there"),  # its literal is behind the end
        ((), "no code is there"),
    ],
)
def test_what_is_no_instruction_is_unknown(words: tuple[int, ...], why: str) -> None:
    data = b"".join(word.to_bytes(4, "little") for word in words)
    with pytest.raises(UnmodelledError, match=why) as caught:
        decode(data, 0, "gfx950")
    assert caught.value.instruction.mnemonic == ""
    assert caught.value.instruction.offset == (0 if why != "no code is there" or not words else 4)


def test_a_word_that_is_no_instruction_is_printed_as_a_word() -> None:
    kernel = code("gfx950", FP8)
    start = kernel.text_start
    image = kernel.image[:start] + b"\x00\x00\x00\xf8" + kernel.image[start + 4 :]
    fields = {name: getattr(kernel, name) for name in kernel.__slots__}
    line = next(disassemble(type(kernel)(**{**fields, "image": image})))
    assert (line.text, line.mnemonic, line.encoding) == (".long 0xf8000000", "", (0xF8000000,))


def test_formats_do_not_overlap() -> None:
    for fmt in FORMATS:
        spans = [fmt.opcode, *fmt.fields.values()]
        bits = Counter(bit for high, low in spans for bit in range(low, high + 1))
        assert all(count == 1 for count in bits.values()), fmt.name
        assert not any(fmt.mask >> bit & 1 for bit in bits if bit < 32), fmt.name
