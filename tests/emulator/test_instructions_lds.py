"""Loads from LDS and stores to it, each alone."""

from __future__ import annotations

import numpy as np
import pytest

from tests.emulator.single import LANES, Lone

EVERY_LANE = (1 << 64) - 1
SOME_LANES = 0xF0F0_1234_8001_FFFE
READS = [
    # the instruction, words that it reads, the first register
    ("ds_read_b32 v1, v2 offset:64", 1, 1),
    ("ds_read_b64 v[4:5], v2 offset:64", 2, 4),
    ("ds_read_b96 v[4:6], v2 offset:64", 3, 4),
    ("ds_read_b128 a[4:7], v2 offset:64", 4, 260),
]


@pytest.mark.parametrize("lanes", [EVERY_LANE, SOME_LANES])
@pytest.mark.parametrize(("text", "count", "first"), READS)
def test_reading_lds(text: str, count: int, first: int, lanes: int) -> None:
    lone = Lone()
    lds = lone.wave.lds.copy()
    addresses = [n * 52 % 128 * 16 for n in LANES]
    lone.set(2, addresses)
    before = [lone.get(first + k) for k in range(count)]
    lone.switch(lanes)
    lone.run(text)
    for k in range(count):
        assert lone.get(first + k) == [
            int(lds[(addresses[n] + 64) // 4 + k]) if lanes >> n & 1 else before[k][n]
            for n in LANES
        ]


@pytest.mark.parametrize("lanes", [EVERY_LANE, SOME_LANES])
@pytest.mark.parametrize(
    ("text", "count", "first", "offset"),
    [
        ("ds_write_b32 v2, v3 offset:64", 1, 3, 64),
        ("ds_write_b64 v2, v[4:5]", 2, 4, 0),
        ("ds_write_b96 v2, v[4:6] offset:64", 3, 4, 64),
        ("ds_write_b128 v2, v[4:7] offset:256", 4, 4, 256),
    ],
)
def test_writing_lds(text: str, count: int, first: int, offset: int, lanes: int) -> None:
    lone = Lone()
    addresses = [(63 - n) * 32 for n in LANES]
    lone.set(2, addresses)
    expected = lone.wave.lds.copy()
    for k in range(count):
        values = np.random.default_rng(k).integers(0, 1 << 32, 64, dtype=np.uint32)
        lone.set(first + k, values)
        for n in LANES:
            if lanes >> n & 1:
                expected[(addresses[n] + offset) // 4 + k] = values[n]
    lone.switch(lanes)
    lone.run(text)
    assert (lone.wave.lds == expected).all()


@pytest.mark.parametrize("lanes", [EVERY_LANE, SOME_LANES])
@pytest.mark.parametrize(("text", "count", "first"), READS)
def test_reading_at_any_address(text: str, count: int, first: int, lanes: int) -> None:
    """Byte by byte, the lowest first."""
    lone = Lone()
    held = lone.wave.lds.tobytes()
    addresses = [n * 21 + 3 for n in LANES]
    lone.set(2, addresses)
    lone.switch(lanes)
    lone.run(text)
    for n in LANES:
        if lanes >> n & 1:
            found = [lone.get(first + k)[n].to_bytes(4, "little") for k in range(count)]
            assert b"".join(found) == held[addresses[n] + 64 :][: 4 * count]


@pytest.mark.parametrize("lanes", [EVERY_LANE, SOME_LANES])
@pytest.mark.parametrize(
    ("text", "count", "first", "offset"),
    [
        ("ds_write_b32 v2, v3 offset:64", 1, 3, 64),
        ("ds_write_b64 v2, v[4:5]", 2, 4, 0),
        ("ds_write_b96 v2, v[4:6] offset:64", 3, 4, 64),
        ("ds_write_b128 v2, v[4:7] offset:256", 4, 4, 256),
    ],
)
def test_writing_to_any_address(text: str, count: int, first: int, offset: int, lanes: int) -> None:
    lone = Lone()
    held = bytearray(lone.wave.lds.tobytes())
    addresses = [n * 21 + 3 for n in LANES]
    lone.set(2, addresses)
    lone.switch(lanes)
    for k in range(count):
        lone.set(first + k, [n * 0x01030507 + k for n in LANES])
    lone.run(text)
    for n in LANES:
        if lanes >> n & 1:
            words = [(n * 0x01030507 + k).to_bytes(4, "little") for k in range(count)]
            at = addresses[n] + offset
            held[at : at + 4 * count] = b"".join(words)
    assert lone.wave.lds.tobytes() == bytes(held)


def test_outside_lds_reads_give_zero_and_writes_do_nothing() -> None:
    lone = Lone()
    before = lone.wave.lds.copy()
    size = 4 * len(before)
    lone.set(2, [size - 64 if n == 0 else 0 for n in LANES])
    lone.run("ds_read_b32 v1, v2 offset:64")
    assert lone.get(1) == [0] + [int(before[16])] * 63
    lone.set(3, 5)
    lone.set(2, size)
    lone.run("ds_write_b32 v2, v3 offset:64")
    assert (lone.wave.lds == before).all()


@pytest.mark.parametrize(
    ("text", "first", "bits"),
    [
        ("ds_read_b64_tr_b16 v[4:5], v2 offset:8", 4, 16),
        ("ds_read_b64_tr_b8 a[4:5], v2 offset:8", 260, 8),
    ],
)
def test_reading_lds_transposed(text: str, first: int, bits: int) -> None:
    """Sixteen lanes read a matrix of 16 columns, row by row; lane n gets column n.

    A row is of as many lanes as it takes: 16 columns of 16 bits are four lanes' 64 bits, of 8 bits
    two. The rows that a lane gets fill its two registers from bit 0 on.
    """
    lone = Lone()
    lds = lone.wave.lds.copy().view(np.uint8)
    addresses = [n * 40 % 512 * 8 for n in LANES]
    lone.set(2, addresses)
    lone.run(text)
    rows, size = 64 // bits, bits // 8
    for n in LANES:
        group, column = n // 16 * 16, n % 16
        raw = b""
        for row in range(rows):
            matrix_row = b"".join(
                lds[addresses[lane] + 8 :][:8].tobytes()
                for lane in range(group + row * 16 // rows, group + (row + 1) * 16 // rows)
            )
            raw += matrix_row[column * size :][:size]
        found = [int(lone.wave.rows[first + k][n]).to_bytes(4, "little") for k in range(2)]
        assert b"".join(found) == raw
