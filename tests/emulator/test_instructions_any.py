"""Instructions that nobody wrote: each is executed or has no rule, and nothing else happens."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlaprobe.emulator.accesses import NULL
from mlaprobe.emulator.decoding import decode
from mlaprobe.emulator.disassembly import text
from mlaprobe.emulator.errors import UnmodelledError
from mlaprobe.emulator.program import Context, compiled_rule
from mlaprobe.emulator.semantics import RULES
from tests.emulator.single import FLUSHING, Lone, encodings

CODES = [code.ljust(8, b"\0") for code in encodings().values()]


def changed(code: bytes, bits: list[int]) -> bytes:
    """An encoding with some bits turned."""
    return bytes(
        byte ^ sum(1 << bit % 8 for bit in bits if bit // 8 == n) % 256
        for n, byte in enumerate(code)
    )


@settings(max_examples=400, deadline=None)
@given(
    st.one_of(
        st.builds(
            changed,
            st.sampled_from(CODES),
            st.lists(st.integers(0, 63), max_size=4, unique=True),
        ),
        st.binary(min_size=8, max_size=8),
    ),
    st.sampled_from(["gfx942", "gfx950"]),
    st.sampled_from([(1 << 64) - 1, 0x8001, 0]),
)
def test_an_encoding_is_executed_or_refused(code: bytes, arch: str, lanes: int) -> None:
    lone = Lone(arch=arch, mode=FLUSHING)
    lone.switch(lanes)
    with suppress(UnmodelledError), np.errstate(all="ignore"):
        instruction = decode(code + bytes(8), 0, arch)
        assert text(instruction)
        context = Context(arch=arch, mode=FLUSHING)
        compiled_rule(RULES, instruction, context).step(lone.wave)
    assert lone.wave.vgpr.shape == (512, 64)
    assert len(lone.wave.sgpr) == 128


@pytest.mark.parametrize(
    "words",
    [
        # Pairs and more registers than there are: s_mov_b64, v_cmp_lt_u32, v_cndmask, v_add_co_u32.
        (0xBEFF0106,),
        (0xD0C9007F, 0x00020702),
        (0xD1000001, 0x01FE0702),
        (0xD1197F01, 0x00020702),
        # s_load_dwordx4 to s124, where EXEC is among what is loaded.
        (0xC00A1F00, 0x00000000),
        # v_readlane_b32 to what would be v0.
        (0xD289_0100, 0x00000D02),
    ],
)
def test_registers_that_do_not_exist_are_refused(words: tuple[int, ...]) -> None:
    code = b"".join(word.to_bytes(4, "little") for word in words) + bytes(8)
    instruction = decode(code, 0, "gfx950")
    assert instruction.mnemonic in RULES
    with pytest.raises(UnmodelledError):
        compiled_rule(RULES, instruction, Context(arch="gfx950", mode=FLUSHING))


@pytest.mark.parametrize("high", [0, 0x7FFFFFFF, 0xFFFFFFFF])
def test_wild_addresses_are_recorded(high: int) -> None:
    """A pointer of any 64 bits, also where there is no memory at all."""
    lone = Lone()
    lone.wave.sgpr[0], lone.wave.sgpr[1] = 0xFFFFFFF0, high
    lone.wave.sgpr[6], lone.wave.sgpr[7] = 0xFFFFFFF0, high
    lone.run("s_load_dword s4, s[0:1], 0x10")
    lone.set(2, 0)
    lone.run("global_load_dwordx4 v[4:7], v2, s[6:7] offset:16")
    assert {access.region for access in lone.memory.outside} == {NULL}
    lone.memory.place("data", np.zeros(4, np.uint32))
    lone.run("s_load_dword s4, s[0:1], 0x10")
    lone.run("global_store_dwordx4 v2, v[4:7], s[6:7] offset:16")
    assert [access.kind for access in lone.memory.outside].count("write") >= 1
