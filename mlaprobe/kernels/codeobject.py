"""Code objects: what a loader needs to know to launch a kernel in one.

A code object is an ELF file (``elf.py``) with a metadata note in MessagePack and, for each kernel,
a descriptor of 64 bytes. Layouts and numbers: LLVM's "User Guide for AMDGPU Backend", sections "ELF
Code Object", "Code Object V3 and above Metadata" and "Kernel Descriptor".
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from mlaprobe.errors import SourceError
from mlaprobe.kernels import elf
from mlaprobe.kernels.msgpack import MessagePackError, Value, unpack

_ARCHES = {0x4C: "gfx942", 0x4F: "gfx950"}
"""``EF_AMDGPU_MACH`` of what the engine can run."""
_OTHER_ARCHES = {
    0x2F: "gfx906",
    0x30: "gfx908",
    0x3F: "gfx90a",
    0x40: "gfx940",
    0x4B: "gfx941",
    0x33: "gfx1010",
    0x36: "gfx1030",
    0x41: "gfx1100",
    0x47: "gfx1101",
    0x48: "gfx1200",
    0x4E: "gfx1201",
    0x49: "gfx1250",
}
_MACH = 0xFF
_PT_NOTE = 4
_EXECUTABLE = 1
_NT_AMDGPU_METADATA = 32
_DESCRIPTOR = struct.Struct("<IIIIq20xIIIHH4x")
_NOTE = struct.Struct("<III")
_LARGEST_IMAGE = 1 << 28
"""Bytes; AITER's largest is below 1 MiB. A crafted file may claim any size."""


class CodeObjectError(SourceError):
    """A file is no code object that can be run; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelArgument:
    """One entry of a kernel's argument block, by the metadata note."""

    name: str
    """Empty where the note has none."""
    offset: int
    """Bytes from the start of the block."""
    size: int
    """Bytes."""
    kind: str
    """``global_buffer``, ``by_value``, ... (``.value_kind``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelDescriptor:
    """What a launch of a kernel needs to know."""

    symbol: str
    """The name of the function, without ``.kd``."""
    entry: int
    """The address of the first instruction in the loaded image."""
    lds_bytes: int
    """LDS that a workgroup gets."""
    scratch_bytes: int
    """Private memory of a lane."""
    kernarg_bytes: int
    """Size of the argument block by the metadata note; AITER's descriptors leave it 0."""
    arguments: tuple[KernelArgument, ...]
    """The argument block by the metadata note; empty where the note lists none."""
    workgroup_size: int
    """Lanes of a workgroup: the required size, or the largest where none is required."""
    wavefront_size: int
    """Lanes of a wave."""
    vgprs: int
    """Vector registers a lane is given."""
    accum_offset: int
    """Of those, how many are no accumulation registers."""
    user_sgprs: int
    """Scalar registers that are set before the workgroup's ids."""
    workgroup_ids: tuple[bool, bool, bool]
    """Which of the ids x, y, z are passed in scalar registers."""
    kernarg_pointer: bool
    """Whether the first user registers are the address of the argument block."""
    other_user_sgprs: int
    """Bits of ``kernel_code_properties`` for user registers other than that address."""
    preloaded_words: int
    """Words of the argument block that are put in user registers."""
    work_item_ids: int
    """0: x in v0; 1: x and y; 2: x, y and z, packed in v0."""
    float_mode: int
    """``FLOAT_MODE``: rounding in bits 0 to 3, denormals in bits 4 to 7."""
    dx10_clamp: bool
    """Whether a clamp turns a NaN into 0."""
    ieee: bool
    """Whether minimum and maximum quiet a signalling NaN."""
    fp16_overflow: bool
    """Whether a conversion to f16 or fp8 saturates in place of becoming infinite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeObject:
    """A code object as a loader sees it."""

    arch: str
    """``gfx942`` or ``gfx950``."""
    image: bytes
    """What is loaded, from the address 0 on."""
    text_start: int
    """The address of the first byte of code."""
    text_end: int
    """The address behind the last byte of code."""
    kernels: tuple[KernelDescriptor, ...]
    """The kernels, sorted by name."""

    @classmethod
    def read(cls, data: bytes) -> CodeObject:
        """The code object in ``data``.

        :raises CodeObjectError: the file is empty, no ELF file, of another machine or arch,
            truncated, contradicts itself, or has no kernel.
        """
        try:
            return _read(data)
        except (elf.MalformedError, MessagePackError) as e:
            why = f": {e}" if str(e) else ""
            raise CodeObjectError(f"the code object is truncated or malformed{why}") from None

    def kernel(self, symbol: str) -> KernelDescriptor:
        """The descriptor of the kernel ``symbol``.

        :raises CodeObjectError: the code object has no such kernel.
        """
        for kernel in self.kernels:
            if kernel.symbol == symbol:
                return kernel
        have = ", ".join(kernel.symbol for kernel in self.kernels)
        raise CodeObjectError(f"the code object has no kernel {symbol}", hint=f"it has {have}")


def _read(data: bytes) -> CodeObject:
    if not data:
        raise CodeObjectError("the code object is empty")
    if not data.startswith(elf.MAGIC[: len(data)]):
        raise CodeObjectError("the file is no 64-bit little-endian ELF file")
    header = elf.unpack(elf.HEADER, data, 0)
    if header[1] != elf.EM_AMDGPU:
        raise CodeObjectError(f"the ELF file is for machine {header[1]}, not for an AMD GPU")
    arch = _arch(header[6])
    segments = _segments(data, header)
    image = _image(data, segments)
    notes = _notes(data, segments)
    addresses = {symbol.name: symbol.address for symbol in elf.symbols(data)}
    kernels = tuple(
        _kernel(image, name[: -len(".kd")], addresses[name], notes.get(name, {}))
        for name in sorted(addresses)
        if name.endswith(".kd")
    )
    if not kernels:
        raise CodeObjectError("the code object defines no kernel")
    start, end = _text(data, header, segments)
    if any(not start <= kernel.entry < end for kernel in kernels):
        raise elf.MalformedError("a kernel starts outside the code")
    return CodeObject(arch=arch, image=image, text_start=start, text_end=end, kernels=kernels)


def _arch(flags: int) -> str:
    mach = flags & _MACH
    if mach in _ARCHES:
        return _ARCHES[mach]
    name = _OTHER_ARCHES.get(mach, f"an unknown arch ({mach:#x})")
    kind = " (RDNA or later, another instruction set)" if name.startswith("gfx1") else ""
    raise CodeObjectError(
        f"the code object is for {name}{kind}",
        hint=f"code for {' and '.join(_ARCHES.values())} can be run",
    )


def _segments(data: bytes, header: tuple[int, ...]) -> list[tuple[int, ...]]:
    phoff, phentsize, phnum = header[4], header[8], header[9]
    if phentsize != elf.SEGMENT.size or not phnum:
        raise elf.MalformedError("no program headers")
    return list(elf.SEGMENT.iter_unpack(elf.part(data, phoff, phnum * phentsize)))


def _image(data: bytes, segments: list[tuple[int, ...]]) -> bytes:
    loads = [s for s in segments if s[0] == elf.PT_LOAD]
    size = max((s[3] + max(s[5], s[6]) for s in loads), default=0)
    if size > _LARGEST_IMAGE:
        raise elf.MalformedError(f"it claims {size} bytes of memory")
    image = bytearray(size)
    for _, _, offset, address, _, filesz, _, _ in loads:
        image[address : address + filesz] = elf.part(data, offset, filesz)
    return bytes(image)


def _text(data: bytes, header: tuple[int, ...], segments: list[tuple[int, ...]]) -> tuple[int, int]:
    """Where the code is: the executable section, or the segment of a file without sections."""
    shoff, shentsize, shnum = header[5], header[10], header[11]
    if shoff and shnum and shentsize == elf.SECTION.size:
        table = elf.part(data, shoff, shnum * shentsize)
        for section in elf.SECTION.iter_unpack(table):
            if section[2] & 4:  # SHF_EXECINSTR
                return section[3], section[3] + section[5]
    for kind, flags, _, address, _, filesz, _, _ in segments:
        if kind == elf.PT_LOAD and flags & _EXECUTABLE:
            return address, address + filesz
    raise elf.MalformedError("it has no code")


def _notes(data: bytes, segments: list[tuple[int, ...]]) -> dict[str, dict[str, Value]]:
    """The metadata of each kernel, by the symbol of its descriptor."""
    for segment in segments:
        if segment[0] == _PT_NOTE:
            note = elf.part(data, segment[2], segment[5])
            kernels = _metadata(note).get("amdhsa.kernels", [])
            if not isinstance(kernels, list):
                raise elf.MalformedError("the metadata note lists no kernels")
            items = [k for k in kernels if isinstance(k, dict)]
            return {str(k.get(".symbol")): k for k in items}
    return {}


def _metadata(note: bytes) -> dict[str, Value]:
    at = 0
    while at + _NOTE.size <= len(note):
        name, size, kind = elf.unpack(_NOTE, note, at)
        body = at + _NOTE.size + (name + 3) // 4 * 4
        if kind == _NT_AMDGPU_METADATA:
            value = unpack(elf.part(note, body, size))
            return value if isinstance(value, dict) else {}
        at = body + (size + 3) // 4 * 4
    return {}


def _kernel(image: bytes, symbol: str, at: int, note: dict[str, Value]) -> KernelDescriptor:
    lds, scratch, _, _, entry, rsrc3, rsrc1, rsrc2, props, preload = elf.unpack(
        _DESCRIPTOR, image, at
    )
    required = note.get(".reqd_workgroup_size")
    size = _number(note, ".max_flat_workgroup_size", 256)
    if isinstance(required, list) and required:
        size = 1
        for extent in required:
            size *= extent if isinstance(extent, int) else 0
    if not 1 <= size <= 1024:
        raise elf.MalformedError(f"a workgroup of {size} lanes")
    return KernelDescriptor(
        symbol=symbol,
        entry=at + entry,
        lds_bytes=lds,
        scratch_bytes=scratch,
        kernarg_bytes=_number(note, ".kernarg_segment_size", 0),
        arguments=_arguments(note.get(".args")),
        workgroup_size=size,
        wavefront_size=_number(note, ".wavefront_size", 64),
        vgprs=((rsrc1 & 0x3F) + 1) * 8,
        accum_offset=((rsrc3 & 0x3F) + 1) * 4,
        user_sgprs=rsrc2 >> 1 & 0x1F,
        workgroup_ids=(bool(rsrc2 & 1 << 7), bool(rsrc2 & 1 << 8), bool(rsrc2 & 1 << 9)),
        kernarg_pointer=bool(props & 1 << 3),
        other_user_sgprs=props & 0x77,
        preloaded_words=preload & 0x7F,
        work_item_ids=rsrc2 >> 11 & 3,
        float_mode=rsrc1 >> 12 & 0xFF,
        dx10_clamp=bool(rsrc1 & 1 << 21),
        ieee=bool(rsrc1 & 1 << 23),
        fp16_overflow=bool(rsrc1 & 1 << 26),
    )


def _arguments(listed: Value) -> tuple[KernelArgument, ...]:
    if not isinstance(listed, list):
        return ()
    return tuple(
        KernelArgument(
            name=str(item.get(".name", "")),
            offset=_number(item, ".offset", 0),
            size=_number(item, ".size", 0),
            kind=str(item.get(".value_kind", "")),
        )
        for item in listed
        if isinstance(item, dict)
    )


def _number(note: dict[str, Value], key: str, default: int) -> int:
    value = note.get(key, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise elf.MalformedError(f"{key} is no number")
    return value
