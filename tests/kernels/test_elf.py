"""Code objects built by hand, broken ones, and the real ones of a few releases."""

from __future__ import annotations

import struct
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlaprobe.kernels.elf import defined_symbols, has_kernel, lds_bytes, symbols
from mlaprobe.opening import bundled
from mlaprobe.rulefiles.archs import lds_limit
from mlaprobe.sources import open_source
from mlaprobe.sources.git import find_git_dir

GLOBAL, LOCAL = 0x10, 0x00
DEFINED, UNDEFINED = 1, 0
KERNEL = [("k", GLOBAL, DEFINED), ("k.kd", GLOBAL, DEFINED)]
NAMES = frozenset({"k", "k.kd"})


def string_table(names: list[str]) -> tuple[bytes, list[int]]:
    table, offsets = b"\0", []
    for name in names:
        offsets.append(len(table))
        table += name.encode() + b"\0"
    return table, offsets


def symbol_table(symbols: list[tuple[str, int, int]], address: int = 0) -> tuple[bytes, bytes]:
    """The symbols, all of them at one address."""
    names, offsets = string_table([name for name, _, _ in symbols])
    entries = struct.pack("<IBBHQQ", 0, 0, 0, 0, 0, 0)
    for (_, info, section), offset in zip(symbols, offsets, strict=True):
        entries += struct.pack("<IBBHQQ", offset, info, 0, section, address, 0)
    return entries, names


def header(
    *, machine: int = 224, phoff: int = 0, shoff: int = 0, ph: int = 0, sh: int = 0
) -> bytes:
    ident = b"\x7fELF\x02\x01\x01\x40\x04" + bytes(7)
    return struct.pack(
        "<16sHHIQQQIHHHHHH", ident, 3, machine, 1, 0, phoff, shoff, 0, 64, 56, ph, 64, sh, 0
    )


def sectioned(
    symbols: list[tuple[str, int, int]], *, kind: int = 11, machine: int = 224, count: int = 3
) -> bytes:
    """A file whose symbols are found by its section headers; kind 11 is .dynsym, 2 .symtab."""
    entries, names = symbol_table(symbols)
    body = entries + names
    shoff = 64 + len(body)
    sections = struct.pack("<IIQQQQIIQQ", 0, 0, 0, 0, 0, 3 if count == 0 else 0, 0, 0, 0, 0)
    sections += struct.pack("<IIQQQQIIQQ", 0, kind, 2, 0, 64, len(entries), 2, 1, 8, 24)
    sections += struct.pack("<IIQQQQIIQQ", 0, 3, 2, 0, 64 + len(entries), len(names), 0, 0, 1, 0)
    return header(machine=machine, shoff=shoff, sh=count) + body + sections


def bare(symbols: list[tuple[str, int, int]], *, hashed: str = "sysv", lds: int = 0) -> bytes:
    """A file without section headers; the loadable segment is at another address than offset. All
    symbols are at a word that holds ``lds``."""
    start, shift = 64 + 2 * 56 + 4, 0x1000
    entries, names = symbol_table(symbols, shift + start - 4)
    if hashed == "sysv":
        tag, table = 4, struct.pack("<II", 1, len(symbols) + 1) + bytes(4 * (len(symbols) + 2))
    else:  # one bloom word, one bucket whose chain ends at the last symbol
        tag = 0x6FFFFEF5
        table = struct.pack("<IIIIQI", 1, 1, 1, 0, 0, 1 if symbols else 0)
        table += b"".join(
            struct.pack("<I", int(at == len(symbols))) for at in range(1, len(symbols) + 1)
        )
    parts = [entries, names, table]
    places = [start, start + len(entries), start + len(entries) + len(names)]
    tags = {6: places[0] + shift, 5: places[1] + shift, 10: len(names), 11: 24}
    tags[tag] = places[2] + shift
    dynamic = b"".join(struct.pack("<qQ", *item) for item in (*tags.items(), (0, 0), (6, 7)))
    at = places[2] + len(table)
    size = at + len(dynamic)
    segments = struct.pack("<IIQQQQQQ", 1, 4, 0, shift, 0, size, size, 0x1000)
    segments += struct.pack("<IIQQQQQQ", 2, 6, at, at + shift, 0, len(dynamic), len(dynamic), 8)
    return header(phoff=64, ph=2) + segments + struct.pack("<I", lds) + b"".join(parts) + dynamic


@pytest.mark.parametrize("kind", [2, 11])
def test_both_symbol_tables_are_read(kind: int) -> None:
    assert defined_symbols(sectioned(KERNEL, kind=kind)) == NAMES


@pytest.mark.parametrize("hashed", ["sysv", "gnu"])
@pytest.mark.parametrize("symbols", [KERNEL, []])
def test_a_file_without_section_headers(hashed: str, symbols: list[tuple[str, int, int]]) -> None:
    assert defined_symbols(bare(symbols, hashed=hashed)) == frozenset(
        name for name, _, _ in symbols
    )


def test_more_sections_than_the_header_can_count() -> None:
    assert defined_symbols(sectioned(KERNEL, count=0)) == NAMES


def test_undefined_and_local_symbols_do_not_count() -> None:
    symbols = [("u.kd", GLOBAL, UNDEFINED), ("l.kd", LOCAL, DEFINED), *KERNEL]
    data = sectioned(symbols)
    assert defined_symbols(data) == NAMES
    assert has_kernel(data, "u") is False
    assert has_kernel(data, "l") is False


def test_a_kernel_is_its_descriptor() -> None:
    assert has_kernel(sectioned(KERNEL), "k") is True
    assert has_kernel(sectioned(KERNEL), "K") is False
    assert has_kernel(sectioned([("k.kd", GLOBAL, DEFINED)]), "k") is True
    # a function alone: nothing that AITER ships looks like this
    assert has_kernel(sectioned([("k", GLOBAL, DEFINED)]), "k") is None
    assert has_kernel(b"", "k") is None


@pytest.mark.parametrize("hashed", ["sysv", "gnu"])
def test_lds_is_the_first_word_of_the_descriptor(hashed: str) -> None:
    data = bare(KERNEL, hashed=hashed, lds=163_840)
    assert lds_bytes(data, "k") == 163_840
    assert lds_bytes(data, "another") is None
    assert lds_bytes(bare([("k", GLOBAL, DEFINED)], lds=163_840), "k") is None
    assert lds_bytes(sectioned(KERNEL), "k") is None, "nothing is loaded"


def patched(data: bytes, at: int, value: bytes) -> bytes:
    return data[:at] + value + data[at + len(value) :]


SECTIONS = 64 + len(b"".join(symbol_table(KERNEL)))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"version https://git-lfs.github.com/spec/v1\n",
        b"\x7fELF\x02\x01",
        patched(sectioned(KERNEL), 4, b"\x01"),  # 32 bit
        patched(sectioned(KERNEL), 5, b"\x02"),  # big endian
        sectioned(KERNEL, machine=62),
        sectioned(KERNEL, kind=3),  # no symbol table, no program header either
        sectioned(KERNEL)[:-1],
        patched(sectioned(KERNEL), 40, b"\xff" * 8),  # section headers behind the end
        patched(sectioned(KERNEL), 58, b"\x20\0"),  # section headers of another size
        patched(sectioned(KERNEL), SECTIONS + 64 + 40, b"\x09"),  # no such string table
        patched(sectioned(KERNEL), SECTIONS + 64 + 56, b"\x10"),  # symbols of another size
        patched(sectioned(KERNEL), SECTIONS + 64 + 32, b"\x47"),  # two symbols and a half
        patched(sectioned(KERNEL), 64 + 24, b"\xff\xff"),  # a name behind the strings
        patched(bare(KERNEL), 54, b"\x20\0"),  # program headers of another size
        patched(bare(KERNEL), 64 + 56, b"\x07"),  # no dynamic segment
        patched(bare(KERNEL), 64, b"\x07"),  # no loadable segment
        patched(bare(KERNEL), len(bare(KERNEL)) - 48, b"\x15"),  # no hash table
        patched(bare(KERNEL), len(bare(KERNEL)) - 64 + 8, b"\x18\x01"),  # symbols of another size
    ],
)
def test_what_is_no_code_object_is_unknown(data: bytes) -> None:
    assert defined_symbols(data) is None
    assert has_kernel(data, "k") is None


def test_symbols_without_a_name_and_entries_without_an_end_are_fine() -> None:
    assert defined_symbols(sectioned([("", GLOBAL, DEFINED), *KERNEL])) == NAMES
    # the dynamic segment's size ends it where no null entry does
    assert defined_symbols(patched(bare(KERNEL), 64 + 56 + 32, b"\x50")) == NAMES


@pytest.mark.parametrize("whole", [sectioned(KERNEL), bare(KERNEL), bare(KERNEL, hashed="gnu")])
def test_every_truncation_is_unknown_or_right(whole: bytes) -> None:
    for size in range(len(whole)):
        assert defined_symbols(whole[:size]) in (None, NAMES)


@given(st.binary(max_size=512))
def test_random_bytes_never_raise(data: bytes) -> None:
    assert defined_symbols(data) is None
    assert defined_symbols(b"\x7fELF\x02\x01" + data) is None or len(data) >= 58


@settings(max_examples=400)
@given(
    st.sampled_from([sectioned(KERNEL), bare(KERNEL), bare(KERNEL, hashed="gnu")]),
    st.lists(st.tuples(st.integers(0, 511), st.integers(0, 255)), max_size=6),
    st.integers(0, 512),
)
def test_damaged_files_never_raise(whole: bytes, edits: list[tuple[int, int]], size: int) -> None:
    data = bytearray(whole)
    for at, value in edits:
        data[at % len(data)] = value
    symbols = defined_symbols(bytes(data[:size]))
    assert symbols is None or all(symbols)
    assert has_kernel(bytes(data), "k") in (True, False, None)


def test_a_name_without_end_costs_no_more_than_its_limit() -> None:
    names = b"\0" + b"a" * 2_000_000 + b"\0"
    entries = struct.pack("<IBBHQQ", 1, GLOBAL, 0, DEFINED, 0, 0) * 50_000
    sections = bytes(64)
    sections += struct.pack("<IIQQQQIIQQ", 0, 11, 2, 0, 64, len(entries), 2, 1, 8, 24)
    sections += struct.pack("<IIQQQQIIQQ", 0, 3, 2, 0, 64 + len(entries), len(names), 0, 0, 1, 0)
    body = entries + names
    assert defined_symbols(header(shoff=64 + len(body), sh=3) + body + sections) is None


@pytest.mark.parametrize("release", ["v0.1.10.post1", "v0.1.13", "v0.1.17", "v0.1.20"])
def test_real_code_objects_hold_function_and_descriptor(aiter_git: Path, release: str) -> None:
    git = ["git", "--git-dir", str(find_git_dir(aiter_git))]
    listing = subprocess.run(
        [*git, "ls-tree", "-r", "--name-only", release, "hsa"], capture_output=True, check=True
    ).stdout.decode()
    paths = [p for p in listing.split("\n") if "/mla/" in p and p.endswith(".co")]
    assert len(paths) >= 44
    for path in paths[::7]:
        shown = subprocess.run([*git, "show", f"{release}:{path}"], capture_output=True, check=True)
        symbols = defined_symbols(shown.stdout)
        assert symbols is not None, path
        kernels = {name for name in symbols if not name.endswith(".kd")}
        assert kernels, path
        assert symbols == kernels | {f"{name}.kd" for name in kernels}
        assert all(has_kernel(shown.stdout, name) for name in kernels)


def test_one_code_object_of_all_releases_takes_more_lds_than_its_arch_has(aiter_git: Path) -> None:
    """gfx942's kernel of 8 bf16 heads in v0.1.14-rc0 to v0.1.14.post1."""
    over: dict[str, set[str]] = {}
    seen: set[tuple[str, str]] = set()
    with ExitStack() as stack:
        for release in bundled.index():
            source = stack.enter_context(open_source(f"{aiter_git}@{release}"))
            for path in source.list("hsa"):
                arch, blob = path.split("/")[1], source.blob(path)
                if "/mla/" not in path or not path.endswith(".co") or blob is None:
                    continue
                if (arch, blob) not in seen or blob in over:
                    seen.add((arch, blob))
                    file = source.read(path)
                    assert file is not None
                    limit, taken = lds_limit(arch), _taken(file.data)
                    assert limit is not None
                    if taken > limit:
                        over.setdefault(blob, set()).add(release)
    assert over == {
        "b7f4d5c7fe1019e7ad8ba70bee175553b0f9d073": {"v0.1.14-rc0", "v0.1.14", "v0.1.14.post1"}
    }


def _taken(data: bytes) -> int:
    """The most LDS that a kernel of a code object takes."""
    kernels = {each.name[:-3] for each in symbols(data) if each.name.endswith(".kd")}
    sizes = [lds_bytes(data, name) for name in kernels]
    assert kernels
    assert None not in sizes
    return max(size for size in sizes if size is not None)
