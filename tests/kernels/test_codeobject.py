"""Code objects: real ones of PyPI's wheel, and broken ones."""

from __future__ import annotations

import struct
from contextlib import suppress
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlaprobe.errors import SourceError
from mlaprobe.kernels.codeobject import CodeObject, CodeObjectError, KernelArgument
from mlaprobe.kernels.msgpack import MessagePackError, Value, unpack
from mlaprobe.sources.installed import InstalledSource

FLAGS = 48
"""Where the ELF header has the arch."""


@cache
def real(arch: str = "gfx950") -> bytes:
    with InstalledSource.find(environ={}) as source:
        file = source.read(f"hsa/{arch}/mla/mla_a8w8_qh16_qseqlen1_gqaratio16_ps.co")
    assert file is not None
    return file.data


def with_flags(flags: int) -> bytes:
    data = bytearray(real())
    struct.pack_into("<I", data, FLAGS, flags)
    return bytes(data)


@pytest.mark.parametrize(("arch", "lds"), [("gfx942", 65536), ("gfx950", 163840)])
def test_a_real_one(arch: str, lds: int) -> None:
    code = CodeObject.read(real(arch))
    assert code.arch == arch
    (kernel,) = code.kernels
    assert kernel.symbol == "_ZN5aiter36mla_a8w8_qh16_qseqlen1_gqaratio16_psE"
    assert code.kernel(kernel.symbol) is kernel
    # What llvm-readelf prints of the note, and llvm-objdump of the descriptor.
    assert kernel.lds_bytes == lds
    assert kernel.kernarg_bytes == 288
    assert kernel.workgroup_size == 256
    assert kernel.wavefront_size == 64
    assert kernel.vgprs == 512
    assert kernel.accum_offset == 256
    assert kernel.user_sgprs == 2
    assert kernel.kernarg_pointer
    assert kernel.workgroup_ids == (True, True, True)
    assert kernel.work_item_ids == 0
    assert kernel.scratch_bytes == kernel.preloaded_words == kernel.other_user_sgprs == 0
    assert kernel.float_mode == 0xC0
    assert not any((kernel.dx10_clamp, kernel.ieee, kernel.fp16_overflow))
    assert code.text_start == kernel.entry < code.text_end <= len(code.image)
    assert code.image[code.text_end - 4 : code.text_end] == bytes.fromhex("000081bf")  # s_endpgm


def test_its_arguments() -> None:
    (kernel,) = CodeObject.read(real("gfx942")).kernels
    named = [argument for argument in kernel.arguments if argument.name != "pad"]
    assert named[2] == KernelArgument(name="ptr_Q", offset=32, size=8, kind="global_buffer")
    assert [argument.offset for argument in named] == list(range(0, 288, 16))


def test_a_kernel_that_is_not_there() -> None:
    with pytest.raises(CodeObjectError, match="no kernel nothing") as caught:
        CodeObject.read(real()).kernel("nothing")
    assert caught.value.hint is not None
    assert "mla_a8w8" in caught.value.hint
    assert isinstance(caught.value, SourceError)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "is empty"),
        (b"Not an ELF file at all", "no 64-bit little-endian ELF"),
        (b"\x7fELF\x01\x01" + bytes(200), "no 64-bit little-endian ELF"),
        (b"\x7fELF\x02\x01", "truncated or malformed"),
    ],
)
def test_no_code_object(data: bytes, why: str) -> None:
    with pytest.raises(CodeObjectError, match=why):
        CodeObject.read(data)


def test_elf_of_another_machine() -> None:
    data = bytearray(real())
    struct.pack_into("<H", data, 18, 62)  # x86-64
    with pytest.raises(CodeObjectError, match="for machine 62"):
        CodeObject.read(bytes(data))


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (0x541, r"gfx1100 \(RDNA"),
        (0x549, r"gfx1250 \(RDNA"),
        (0x53F, "gfx90a$"),
        (0x5FE, "an unknown arch"),
    ],
)
def test_other_targets(flags: int, why: str) -> None:
    with pytest.raises(CodeObjectError, match=why):
        CodeObject.read(with_flags(flags))


def test_without_section_headers() -> None:
    data = bytearray(real())
    struct.pack_into("<Q", data, 40, 0)
    struct.pack_into("<H", data, 60, 0)
    bare, whole = CodeObject.read(bytes(data)), CodeObject.read(real())
    assert bare.kernels == whole.kernels
    assert (bare.text_start, bare.text_end) == (whole.text_start, whole.text_end)


def test_without_kernels() -> None:
    data = real().replace(b"_psE.kd\0", b"_psE.xx\0")
    with pytest.raises(CodeObjectError, match="defines no kernel"):
        CodeObject.read(data)


def test_a_segment_that_claims_too_much() -> None:
    data = bytearray(real())
    (phoff,) = struct.unpack_from("<Q", data, 32)
    for n in range(struct.unpack_from("<H", data, 56)[0]):
        at = phoff + 56 * n
        if struct.unpack_from("<I", data, at)[0] == 1:
            struct.pack_into("<Q", data, at + 40, 1 << 40)
    with pytest.raises(CodeObjectError, match="bytes of memory"):
        CodeObject.read(bytes(data))


def test_every_truncation_is_an_error() -> None:
    data = real()
    # Section headers are at the end of it.
    for size in [*range(0, 4096, 7), *range(4096, len(data), 331), len(data) - 1]:
        with pytest.raises(CodeObjectError):
            CodeObject.read(data[:size])


@given(st.data())
def test_damage_is_an_error_or_a_code_object(data: st.DataObject) -> None:
    damaged = bytearray(real())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.one_of(st.integers(0, 4096), st.integers(0, len(damaged) - 1)))
        damaged[at % len(damaged)] = data.draw(st.integers(0, 255))
    with suppress(CodeObjectError):
        assert CodeObject.read(bytes(damaged)).kernels


def packed(value: Value) -> bytes:
    """MessagePack in its longest encodings, but for small integers and short text."""
    if isinstance(value, bool) or value is None:
        return {None: b"\xc0", False: b"\xc2", True: b"\xc3"}[value]
    if isinstance(value, int):
        return (
            b"\xd3" + struct.pack(">q", value) if value < 0 else b"\xcf" + struct.pack(">Q", value)
        )
    if isinstance(value, float):
        return b"\xcb" + struct.pack(">d", value)
    if isinstance(value, bytes):
        return b"\xc6" + struct.pack(">I", len(value)) + value
    if isinstance(value, str):
        raw = value.encode()
        return b"\xdb" + struct.pack(">I", len(raw)) + raw
    if isinstance(value, list):
        return b"\xdd" + struct.pack(">I", len(value)) + b"".join(map(packed, value))
    pairs = b"".join(packed(key) + packed(item) for key, item in value.items())
    return b"\xdf" + struct.pack(">I", len(value)) + pairs


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 63), (1 << 64) - 1),
    st.floats(allow_nan=False),
    st.text(),
    st.binary(),
)
VALUES = st.recursive(
    SCALARS, lambda v: st.lists(v, max_size=4) | st.dictionaries(st.text(), v, max_size=4)
)


@given(VALUES, st.binary(max_size=4))
def test_messagepack(value: Value, behind: bytes) -> None:
    assert unpack(packed(value) + behind) == value


def test_short_messagepack() -> None:
    # By the specification: fixmap, fixstr, fixarray, positive and negative fixint, uint 8, str 8.
    data = b"\x82\xa1a\x93\x01\xff\xcc\xc8\xd9\x01b\xc0"
    assert unpack(data) == {"a": [1, -1, 200], "b": None}


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "too early"),
        (b"\x92\x01", "too early"),
        (b"\xdb\xff\xff\xff\xffabc", "too early"),
        (b"\xc7\x01\x00a", "not supported"),
        (b"\x81\x01\x02", "no text"),
        (b"\x91" * 40 + b"\x01", "too deeply"),
    ],
)
def test_broken_messagepack(data: bytes, why: str) -> None:
    with pytest.raises(MessagePackError, match=why):
        unpack(data)
