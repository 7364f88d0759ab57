"""The address space: what is read and written, where, and what of it is outside."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlaprobe.emulator.accesses import NULL, OutsideAccess
from mlaprobe.emulator.memory import POISON, Memory


@dataclass(frozen=True)
class Here:
    """A place of an access."""

    offset: int = 0x40
    text: str = "buffer_load_dword v1"


def addresses(first: int, *offsets: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([first + offset for offset in offsets], np.int64)


def words(*values: int) -> np.ndarray[tuple[int, int], np.dtype[np.uint32]]:
    return np.array([values], np.uint32)


def test_a_region_reads_back() -> None:
    memory = Memory()
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    start = memory.place("a", array)
    assert start % 4096 == 0
    assert start > 1 << 32
    assert memory.address("a") == start
    array[0, 0] = 99
    assert (memory.read("a") == np.arange(12).reshape(3, 4)).all()
    assert memory.read("a").dtype == np.float32
    assert memory.load_words(start + 4, 2, Here()) == np.array([1, 2], "f4").view("u4").tolist()
    assert memory.outside == ()


def test_an_empty_region() -> None:
    memory = Memory()
    start = memory.place("none", np.zeros((0, 4), np.int32), writable=True)
    assert memory.read("none").shape == (0, 4)
    assert memory.written("none").shape == (0, 4)
    assert memory.load_words(start, 1, Here()) == [POISON]
    assert memory.outside[0].region == "none"


def test_names_are_taken_once() -> None:
    memory = Memory()
    memory.place("a", np.zeros(1))
    for name in ("a", NULL):
        with pytest.raises(ValueError, match="is taken"):
            memory.place(name, np.zeros(1))


@pytest.mark.parametrize(("offset", "element"), [(0, 0), (4, 2), (8, 4)])
def test_what_was_written_is_known_by_element(offset: int, element: int) -> None:
    memory = Memory()
    start = memory.place("out", np.zeros(6, np.uint16), writable=True)
    memory.store(addresses(start, offset), words(0x2222_1111), Here())
    expected = np.zeros(6, bool)
    expected[element : element + 2] = True
    assert (memory.written("out") == expected).all()
    assert memory.read("out")[element : element + 2].tolist() == [0x1111, 0x2222]


def test_what_is_not_writable_is_never_written() -> None:
    memory = Memory()
    start = memory.place("q", np.ones(4, np.int32))
    memory.store(addresses(start, 4), words(7), Here(text="a store"))
    assert (memory.read("q") == 1).all()
    assert not memory.written("q").any()
    assert memory.outside == (
        OutsideAccess(
            kind="write",
            region="q",
            size=16,
            lowest=4,
            highest=4,
            instruction=0x40,
            text="a store",
            count=1,
        ),
    )


def test_outside_accesses_are_recorded_by_the_nearest_region() -> None:
    memory = Memory()
    a = memory.place("a", np.zeros(4, np.int32))
    b = memory.place("b", np.zeros(4, np.int32))
    assert b - (a + 16) > 1 << 32
    got = memory.load(addresses(0, a - 8, a + 16, a + 24, b - 4, 64), 1, Here())
    assert (got == POISON).all()
    found = {(o.region, o.lowest, o.highest, o.count) for o in memory.outside}
    assert found == {("a", -8, 24, 3), ("b", -4, -4, 1), (NULL, 64, 64, 1)}


def test_without_any_region_everything_is_outside() -> None:
    memory = Memory()
    assert memory.load_words(1 << 45, 1, Here()) == [POISON]
    assert [(o.region, o.lowest) for o in memory.outside] == [(NULL, 1 << 45)]


def test_an_access_across_the_end_is_outside() -> None:
    memory = Memory()
    start = memory.place("a", np.arange(3, dtype=np.int32))
    got = memory.load(addresses(start, 8), 2, Here())
    assert got[:, 0].tolist() == [2, POISON]
    assert memory.outside[0].lowest == 12
    # A word of which the region has three bytes.
    assert memory.load_words(start + 9, 1, Here()) == [POISON]


def test_lanes_may_hit_several_regions_at_any_alignment() -> None:
    memory = Memory()
    raw = np.arange(64, dtype=np.uint8)
    a, b = memory.place("a", raw), memory.place("b", raw + 100)
    got = memory.load(addresses(0, a + 1, b + 2, a + 4), 1, Here())[0]
    assert got.tolist() == [0x04030201, 0x69686766, 0x07060504]
    assert memory.outside == ()


def test_parts_far_apart_need_no_memory_between_them() -> None:
    memory = Memory()
    far = 5 << 30
    parts = {0: np.arange(4, dtype=np.uint32), far: np.arange(4, 8, dtype=np.uint32)}
    start = memory.spread("kv", 8 << 30, parts)
    got = memory.load(addresses(start, 8, far + 4, 1 << 30), 1, Here())[0]
    assert got.tolist() == [2, 5, POISON]
    (hole,) = memory.outside
    assert (hole.region, hole.lowest, hole.size) == ("kv", 1 << 30, 8 << 30)
    assert memory.place("next", np.zeros(1)) > start + (8 << 30)
    with pytest.raises(ValueError, match="several parts"):
        memory.read("kv")


def test_holes_may_have_a_value() -> None:
    memory = Memory()
    start = memory.spread("kv", 1 << 34, {16: np.ones(4, np.uint32)}, fill=0)
    assert memory.load(addresses(start, 0, 16, 1 << 33), 1, Here())[0].tolist() == [0, 1, 0]
    assert memory.outside == ()
    assert memory.load_words(start - 4, 1, Here()) == [POISON]


@pytest.mark.parametrize("parts", [{0: 8, 4: 8}, {12: 8}])
def test_parts_must_fit(parts: dict[int, int]) -> None:
    arrays = {offset: np.zeros(size, np.uint8) for offset, size in parts.items()}
    with pytest.raises(ValueError, match="overlaps another or does not fit"):
        Memory().spread("kv", 16, arrays)


@given(st.lists(st.tuples(st.integers(-3, 20), st.integers(0, 2**32 - 1)), min_size=1))
def test_stores_do_what_bytes_would(stores: list[tuple[int, int]]) -> None:
    memory, size = Memory(), 18
    start = memory.place("out", np.zeros(size, np.uint8), writable=True)
    expected, written = bytearray(size), [False] * size
    for offset, value in stores:
        memory.store(addresses(start, offset), words(value), Here())
        if 0 <= offset <= size - 4:
            expected[offset : offset + 4] = value.to_bytes(4, "little")
            written[offset : offset + 4] = [True] * 4
    assert memory.read("out").tobytes() == expected
    assert memory.written("out").tolist() == written
    outside = sum(not 0 <= offset <= size - 4 for offset, _ in stores)
    assert sum(o.count for o in memory.outside) == outside
