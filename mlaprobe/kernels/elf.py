"""The symbols that a code object defines.

A code object is an ELF64 little-endian shared object for AMD GPUs. Every kernel in it is two global
symbols: the function ``NAME`` and its descriptor ``NAME.kd``, which is what a loader looks for. All
208 distinct code objects under ``hsa/*/mla`` of AITER v0.1.1 to v0.1.20.post1 have both, in
``.dynsym`` and in ``.symtab``.

The files are foreign bytes: whatever is wrong with them, the answer is ``None`` and never an
exception, and the work is bounded by the size of the file.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

MAGIC = b"\x7fELF\x02\x01"
"""ELF, 64 bit, little endian."""
EM_AMDGPU = 224
_SHT_SYMTAB, _SHT_DYNSYM = 2, 11
PT_LOAD, _PT_DYNAMIC = 1, 2
_DT_NULL, _DT_HASH, _DT_STRTAB, _DT_SYMTAB, _DT_STRSZ, _DT_SYMENT = 0, 4, 5, 6, 10, 11
_DT_GNU_HASH = 0x6FFFFEF5
_STB_LOCAL = 0
_SHN_UNDEF = 0

HEADER = struct.Struct("<16xHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
SEGMENT = struct.Struct("<IIQQQQQQ")
SYMBOL = struct.Struct("<IBBHQQ")
_DYNAMIC = struct.Struct("<qQ")
_WORD = struct.Struct("<I")
_GNU_HASH = struct.Struct("<IIII")

_LONGEST_NAME = 16384
"""Longer than any mangled name. Without a limit a crafted file of n bytes costs n² to read."""


class MalformedError(Exception):
    """The file contradicts itself; stays inside this package."""


def defined_symbols(data: bytes) -> frozenset[str] | None:
    """The names of the global symbols that a code object defines, or ``None``.

    ``None`` says that the bytes are no AMD GPU code object that can be read (not ELF, another
    machine, 32 bit, big endian, truncated, inconsistent, without any symbol table): nothing is
    known about it then. Undefined and local symbols are not among the names. Never raises.
    """
    try:
        return frozenset(symbol.name for symbol in symbols(data))
    except MalformedError:
        return None


def has_kernel(data: bytes, symbol: str) -> bool | None:
    """Whether a code object holds the kernel ``symbol``, or ``None`` where that is unknown.

    The descriptor ``symbol.kd`` decides. A function of that name without its descriptor is left
    unknown: no code object that AITER ever shipped for MLA has one. Never raises.
    """
    defined = defined_symbols(data)
    if defined is None:
        return None
    if f"{symbol}.kd" in defined:
        return True
    return None if symbol in defined else False


def lds_bytes(data: bytes, symbol: str) -> int | None:
    """The LDS in bytes that a workgroup of the kernel ``symbol`` takes, ``None`` where that cannot
    be read: ``GROUP_SEGMENT_FIXED_SIZE``, the first word of its descriptor (LLVM's "User Guide for
    AMDGPU Backend", "Kernel Descriptor"). Never raises.
    """
    name = f"{symbol}.kd"
    try:
        address = next((each.address for each in symbols(data) if each.name == name), None)
        if address is None:
            return None
        header = unpack(HEADER, data, 0)
        offset, size, count = header[4], header[8], header[9]
        if size != SEGMENT.size:
            return None
        segments = list(SEGMENT.iter_unpack(part(data, offset, count * size)))
        return unpack(_WORD, data, _file_offset(segments, address))[0]
    except MalformedError:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbol:
    """A global symbol that a file defines."""

    name: str
    address: int
    """Where it is when the file is loaded, from the address 0 on."""


def symbols(data: bytes) -> Iterator[Symbol]:
    """The global symbols that are defined, as often as the tables name them.

    :raises MalformedError: the bytes are no code object, or contradict themselves.
    """
    if not data.startswith(MAGIC):
        raise MalformedError
    header = unpack(HEADER, data, 0)
    machine, phoff, shoff = header[1], header[4], header[5]
    phentsize, phnum, shentsize, shnum = header[8:12]
    if machine != EM_AMDGPU:
        raise MalformedError
    tables = list(_section_tables(data, shoff, shentsize, shnum))
    if not tables:  # a file may come without section headers; its loader does not need them
        tables = [_dynamic_table(data, phoff, phentsize, phnum)]
    for table, names in tables:
        yield from _defined(table, names)


def _section_tables(
    data: bytes, shoff: int, shentsize: int, shnum: int
) -> Iterator[tuple[bytes, bytes]]:
    """Each symbol table and its string table, by the section headers."""
    if shoff == 0:
        return
    if shentsize != SECTION.size:
        raise MalformedError
    if shnum == 0:  # more than fits the header: section 0 holds the number
        shnum = unpack(SECTION, data, shoff)[5]
    table = part(data, shoff, shnum * shentsize)
    sections = list(SECTION.iter_unpack(table))
    for section in sections:
        if section[1] not in (_SHT_SYMTAB, _SHT_DYNSYM):
            continue
        offset, size, link, entsize = section[4], section[5], section[6], section[9]
        if entsize != SYMBOL.size or link >= len(sections):
            raise MalformedError
        strings = sections[link]
        yield part(data, offset, size), part(data, strings[4], strings[5])


def _dynamic_table(data: bytes, phoff: int, phentsize: int, phnum: int) -> tuple[bytes, bytes]:
    """The dynamic symbol table and its string table, by the program headers."""
    if phentsize != SEGMENT.size or phnum == 0:
        raise MalformedError
    segments = list(SEGMENT.iter_unpack(part(data, phoff, phnum * phentsize)))
    entries: dict[int, int] = {}
    for segment in segments:
        if segment[0] == _PT_DYNAMIC:
            size = segment[5] - segment[5] % _DYNAMIC.size
            for tag, value in _DYNAMIC.iter_unpack(part(data, segment[2], size)):
                if tag == _DT_NULL:
                    break
                entries.setdefault(tag, value)
    if entries.get(_DT_SYMENT, SYMBOL.size) != SYMBOL.size:
        raise MalformedError
    try:
        symtab = _file_offset(segments, entries[_DT_SYMTAB])
        strtab = _file_offset(segments, entries[_DT_STRTAB])
        strsz = entries[_DT_STRSZ]
    except KeyError:
        raise MalformedError from None
    count = _symbol_count(data, segments, entries)
    return part(data, symtab, count * SYMBOL.size), part(data, strtab, strsz)


def _symbol_count(data: bytes, segments: list[tuple[int, ...]], entries: dict[int, int]) -> int:
    """The length of the dynamic symbol table, which only its hash tables show."""
    if _DT_HASH in entries:
        # nbucket, nchain: one chain entry for each symbol
        return unpack(_WORD, data, _file_offset(segments, entries[_DT_HASH]) + 4)[0]
    if _DT_GNU_HASH not in entries:
        raise MalformedError
    at = _file_offset(segments, entries[_DT_GNU_HASH])
    nbuckets, first, bloom_words, _ = unpack(_GNU_HASH, data, at)
    at += 16 + 8 * bloom_words
    buckets = [bucket for (bucket,) in _WORD.iter_unpack(part(data, at, 4 * nbuckets))]
    last = max(buckets, default=0)
    if last < first:
        return first
    at += 4 * nbuckets
    # the last bucket's chain ends the table; the lowest bit marks the end of a chain
    while not unpack(_WORD, data, at + 4 * (last - first))[0] & 1:
        last += 1
    return last + 1


def _file_offset(segments: list[tuple[int, ...]], address: int) -> int:
    for kind, _, offset, vaddr, _, filesz, _, _ in segments:
        if kind == PT_LOAD and vaddr <= address < vaddr + filesz:
            return offset + address - vaddr
    raise MalformedError


def unpack(layout: struct.Struct, data: bytes, offset: int) -> tuple[int, ...]:
    # not unpack_from: it raises another error for an offset beyond 63 bits
    return layout.unpack(part(data, offset, layout.size))


def part(data: bytes, offset: int, size: int) -> bytes:
    """``size`` bytes at ``offset``; slicing alone would hide that the file ends earlier."""
    if offset + size > len(data):
        raise MalformedError
    return data[offset : offset + size]


def _defined(table: bytes, names: bytes) -> Iterator[Symbol]:
    if len(table) % SYMBOL.size:
        raise MalformedError
    for name, info, _, section, address, _ in SYMBOL.iter_unpack(table):
        if section == _SHN_UNDEF or info >> 4 == _STB_LOCAL:
            continue
        end = names.find(b"\0", name, name + _LONGEST_NAME)
        if end < 0:
            raise MalformedError
        if end > name:
            yield Symbol(name=names[name:end].decode("utf-8", "replace"), address=address)
