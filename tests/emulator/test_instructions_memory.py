"""Loads and stores, each alone: scalar and vector memory, and loads into LDS."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from mlaprobe.emulator.schedules import Arrival, Order, Schedule
from mlaprobe.emulator.wave import M0
from tests.emulator.single import LANES, Lone

EVERY_LANE = (1 << 64) - 1
SOME_LANES = 0xF0F0_1234_8001_FFFE
WORD = 0xFFFFFFFF
Words = npt.NDArray[np.uint32]


def words(count: int, seed: int = 0) -> Words:
    return np.random.default_rng(seed).integers(0, 1 << 32, count, dtype=np.uint32)


def buffer(lone: Lone, address: int, size: int) -> None:
    """The description of a buffer in s[8:11]: its address, no stride, its size in bytes."""
    lone.wave.sgpr[8:12] = [address & WORD, address >> 32, size, 0x00020000]


@pytest.mark.parametrize("lanes", [EVERY_LANE, SOME_LANES])
@pytest.mark.parametrize(
    ("text", "count", "first", "offset"),
    [
        ("buffer_load_dword v1, v2, s[8:11], 0 offen offset:16", 1, 1, 16),
        ("buffer_load_dwordx2 v[4:5], v2, s[8:11], 0 offen", 2, 4, 0),
        ("buffer_load_dwordx3 v[4:6], v2, s[8:11], 0 offen", 3, 4, 0),
        ("buffer_load_dwordx4 v[4:7], v2, s[8:11], 0 offen", 4, 4, 0),
    ],
)
def test_buffer_loads(text: str, count: int, first: int, offset: int, lanes: int) -> None:
    """What lies beyond the buffer's size reads as 0, word by word, without an access."""
    lone = Lone()
    data = words(600)
    address = lone.memory.place("data", data)
    buffer(lone, address, size=1000)
    places = [n * 16 for n in LANES]
    places[7], places[9], places[12] = 992, 1 << 31, 2**32 - 4
    lone.set(2, places)
    before = [lone.get(first + k) for k in range(count)]
    lone.switch(lanes)
    lone.run(text)
    for k in range(count):
        expected = []
        for n in LANES:
            # Offsets wrap at 32 bits before the base is added.
            at = (places[n] + offset) % 2**32 + 4 * k
            value = int(data[at // 4]) if at + 4 <= 1000 else 0
            expected.append(value if lanes >> n & 1 else before[k][n])
        assert lone.get(first + k) == expected
    assert lone.memory.outside == ()


@pytest.mark.parametrize("lanes", [EVERY_LANE, SOME_LANES])
@pytest.mark.parametrize(
    ("text", "count", "first", "offset"),
    [
        ("buffer_store_dword v1, v2, s[8:11], 0 offen", 1, 1, 0),
        ("buffer_store_dwordx2 v[4:5], v2, s[8:11], 0 offen", 2, 4, 0),
        ("buffer_store_dwordx3 v[4:6], v2, s[8:11], 0 offen", 3, 4, 0),
        ("buffer_store_dwordx4 v[4:7], v2, s[8:11], 0 offen offset:16", 4, 4, 16),
    ],
)
def test_buffer_stores(text: str, count: int, first: int, offset: int, lanes: int) -> None:
    lone = Lone()
    data = words(600)
    address = lone.memory.place("data", data, writable=True)
    buffer(lone, address, size=1000)
    places = [(63 - n) * 16 for n in LANES]
    places[9] = 1 << 31
    lone.set(2, places)
    expected, written = data.copy(), np.zeros(600, np.bool_)
    for k in range(count):
        values = words(64, seed=k + 1)
        lone.set(first + k, values)
        for n in LANES:
            at = places[n] + offset + 4 * k
            if lanes >> n & 1 and at + 4 <= 1000:
                expected[at // 4], written[at // 4] = values[n], True
    lone.switch(lanes)
    lone.run(text)
    assert (lone.memory.read("data") == expected).all()
    assert (lone.memory.written("data") == written).all()
    assert lone.memory.outside == ()


@pytest.mark.parametrize("lanes", [EVERY_LANE, SOME_LANES])
@pytest.mark.parametrize(
    ("text", "count", "offset"),
    [
        ("buffer_load_dword v2, s[8:11], 0 offen offset:16 lds", 1, 16),
        ("buffer_load_dwordx4 v2, s[8:11], 0 offen lds", 4, 0),
        ("global_load_lds_dword v[2:3], off offset:64", 1, 64),
        ("global_load_lds_dwordx3 v[2:3], off", 3, 0),
        ("global_load_lds_dwordx4 v[2:3], off", 4, 0),
        ("global_load_lds_dwordx4 v[2:3], off offset:64", 4, 64),
    ],
)
def test_loads_into_lds(text: str, count: int, offset: int, lanes: int) -> None:
    """The LDS address is M0 plus the instruction's offset plus the lane's place; a lane that is off
    leaves a hole."""
    lone = Lone()
    data = words(600)
    address = lone.memory.place("data", data)
    places = [n * 28 % 64 * 16 for n in LANES]
    if text.startswith("buffer"):
        buffer(lone, address, size=2400)
        lone.set(2, places)
    else:
        lone.set(2, [(address + place) & WORD for place in places])
        lone.set(3, [(address + place) >> 32 for place in places])
    lone.wave.sgpr[M0] = 512
    expected = lone.wave.lds.copy()
    for n in LANES:
        if lanes >> n & 1:
            to, at = (512 + offset) // 4 + n * count, (places[n] + offset) // 4
            expected[to : to + count] = data[at : at + count]
    lone.switch(lanes)
    lone.run(text)
    assert (lone.wave.lds == expected).all()


GLOBAL = [
    # The scalar address or none, how many words, the first register, the offset.
    ("global_{}_dword", "v1", False, 1, 1, 16),
    ("global_{}_dwordx2", "v[4:5]", False, 2, 4, 0),
    ("global_{}_dwordx3", "v[4:6]", False, 3, 4, -16),
    ("global_{}_dwordx4", "v[4:7]", True, 4, 4, 16),
]


def addressed(lone: Lone, address: int, places: list[int], scalar: bool) -> None:
    """The places as 64-bit addresses in v[2:3], or in v2 from s[6:7] on."""
    base = 0 if scalar else address
    lone.set(2, [(base + place) & WORD for place in places])
    lone.set(3, [(base + place) >> 32 for place in places])
    lone.wave.sgpr[6], lone.wave.sgpr[7] = address & WORD, address >> 32


def end_of(offset: int) -> str:
    return f" offset:{offset}" if offset else ""


@pytest.mark.parametrize("lanes", [EVERY_LANE, SOME_LANES])
@pytest.mark.parametrize(("name", "data", "scalar", "count", "first", "offset"), GLOBAL)
def test_global_loads(
    name: str, data: str, scalar: bool, count: int, first: int, offset: int, lanes: int
) -> None:
    lone = Lone()
    memory = words(300)
    address = lone.memory.place("data", memory)
    places = [16 + n * 44 % 64 * 16 for n in LANES]
    addressed(lone, address, places, scalar)
    before = [lone.get(first + k) for k in range(count)]
    lone.switch(lanes)
    where = "v2, s[6:7]" if scalar else "v[2:3], off"
    lone.run(f"{name.format('load')} {data}, {where}{end_of(offset)}")
    for k in range(count):
        assert lone.get(first + k) == [
            int(memory[(places[n] + offset) // 4 + k]) if lanes >> n & 1 else before[k][n]
            for n in LANES
        ]
    assert lone.memory.outside == ()


@pytest.mark.parametrize("lanes", [EVERY_LANE, SOME_LANES])
@pytest.mark.parametrize(("name", "data", "scalar", "count", "first", "offset"), GLOBAL)
def test_global_stores(
    name: str, data: str, scalar: bool, count: int, first: int, offset: int, lanes: int
) -> None:
    lone = Lone()
    expected = words(300)
    address = lone.memory.place("data", expected, writable=True)
    places = [16 + n * 44 % 64 * 16 for n in LANES]
    addressed(lone, address, places, scalar)
    for k in range(count):
        for n, value in enumerate(lone.get(first + k)):
            if lanes >> n & 1:
                expected[(places[n] + offset) // 4 + k] = value
    lone.switch(lanes)
    where = f"v2, {data}, s[6:7]" if scalar else f"v[2:3], {data}, off"
    lone.run(f"{name.format('store')} {where}{end_of(offset)}")
    assert (lone.memory.read("data") == expected).all()
    assert lone.memory.outside == ()


@pytest.mark.parametrize(
    ("text", "scalar", "from_register"),
    [
        ("buffer_load_dword v1, off, s[8:11], s6 offset:16", 64, False),
        ("buffer_load_dword v1, v2, s[8:11], s6 offen offset:16", 64, True),
        # The scalar offset counts when the size of the buffer is checked, and does not wrap.
        ("buffer_load_dword v1, v2, s[8:11], s6 offen offset:16", 900, True),
        ("buffer_load_dword v1, v2, s[8:11], s6 offen offset:16", WORD - 63, True),
    ],
)
def test_buffers_with_a_scalar_offset(text: str, scalar: int, from_register: bool) -> None:
    lone = Lone()
    data = words(600)
    buffer(lone, lone.memory.place("data", data), size=1000)
    places = [n * 4 for n in LANES]
    lone.set(2, places)
    lone.wave.sgpr[6] = scalar
    lone.run(text)
    ends = [16 + scalar + (places[n] if from_register else 0) for n in LANES]
    assert lone.get(1) == [int(data[end // 4]) if end + 4 <= 1000 else 0 for end in ends]


def test_scalar_loads() -> None:
    lone = Lone()
    data = words(20)
    address = lone.memory.place("data", data)
    lone.wave.sgpr[0], lone.wave.sgpr[1] = address & WORD, address >> 32
    lone.wave.sgpr[6] = 24
    lone.run("s_load_dword s4, s[0:1], s6")
    assert lone.wave.sgpr[4] == data[6]
    lone.run("s_load_dwordx4 s[4:7], s[0:1], 0x8")
    assert lone.wave.sgpr[4:8] == data[2:6].tolist()
    lone.run("s_load_dwordx8 s[8:15], s[0:1], 0x4")
    assert lone.wave.sgpr[8:16] == data[1:9].tolist()
    lone.run("s_load_dwordx16 s[16:31], s[0:1], 0x0")
    assert lone.wave.sgpr[16:32] == data[:16].tolist()
    lone.run("s_load_dword s4, s[0:1], 0x10")
    assert lone.wave.sgpr[4] == data[4]
    lone.run("s_load_dwordx2 s[4:5], s[0:1], 0x20")
    assert lone.wave.sgpr[4:6] == [data[8], data[9]]


def test_accesses_outside_are_recorded() -> None:
    lone = Lone()
    address = lone.memory.place("data", words(64), writable=True)
    buffer(lone, address, size=1 << 20)
    lone.set(2, [4 * n for n in LANES])
    lone.run("buffer_load_dword v1, v2, s[8:11], 0 offen offset:16")
    lone.run("buffer_store_dwordx2 v[4:5], v2, s[8:11], 0 offen")
    load, store = lone.memory.outside
    assert (load.kind, load.region, load.lowest, load.highest, load.count) == (
        *("read", "data", 256),
        *(268, 4),
    )
    assert (store.kind, store.lowest, store.count) == ("write", 256, 1)


def test_what_is_waited_for_has_arrived_and_the_rest_has_not() -> None:
    """``s_waitcnt`` names how many operations may still be under way."""
    late = Schedule(name="late", order=Order.SERIAL, arrival=Arrival.AT_WAIT)
    lone = Lone(schedule=late)
    data = words(600)
    address = lone.memory.place("data", data)
    buffer(lone, address, size=2400)
    lone.set(2, [16 * n for n in LANES])
    for register in (1, 4, 5, 6, 7):
        lone.set(register, 0)
    lone.run("buffer_load_dword v1, v2, s[8:11], 0 offen offset:16")
    lone.run("buffer_load_dwordx4 v[4:7], v2, s[8:11], 0 offen")
    lone.run("s_waitcnt vmcnt(3) lgkmcnt(2)")
    assert lone.get(1) == [0] * 64
    lone.run("s_waitcnt vmcnt(0)")
    assert lone.get(1) == [int(data[4 * n + 4]) for n in LANES]
    assert lone.get(7) == [int(data[4 * n + 3]) for n in LANES]
