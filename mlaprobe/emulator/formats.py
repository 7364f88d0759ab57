"""The microcode formats of CDNA3 and CDNA4.

Bits and opcode numbers: AMD, "CDNA3 Instruction Set Architecture" and "CDNA4 Instruction Set
Architecture", chapter "Microcode Formats". ``opcodes.json`` holds the opcode tables.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

ARCHES = ("gfx942", "gfx950")
"""The arches whose instructions are known."""

Bits = tuple[int, int]
"""The highest and the lowest bit of a field, counted from the first bit of the instruction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One microcode format."""

    name: str
    """As the documents name it; VOP3SD is the documents' VOP3B, GLOBAL one of FLAT's segments."""
    mask: int
    """Which bits of the first word tell the format."""
    value: int
    """What those bits are."""
    words: int
    """Length in words of 32 bits, without a literal."""
    opcode: Bits
    """Where the opcode number is."""
    fields: Mapping[str, Bits]
    """The other fields."""
    signed: Mapping[str, int]
    """Fields that are two's complement numbers, and how many bits they have."""

    reserved: int
    """The bits that belong to nothing and must be 0."""


def _reserved(words: int, mask: int, fields: Iterable[Bits]) -> int:
    used = mask
    for high, low in fields:
        used |= (1 << high + 1) - (1 << low)
    return (1 << 32 * words) - 1 & ~used


def _format(
    name: str,
    prefix: str,
    opcode: Bits,
    fields: Mapping[str, Bits],
    *,
    words: int = 1,
    also: tuple[int, int] = (0, 0),
    signed: Mapping[str, int] | None = None,
) -> Format:
    """A format whose first word starts with the bits of ``prefix``; ``also`` are a mask and a value
    of more bits."""
    shift = 32 - len(prefix)
    mask = ((1 << len(prefix)) - 1) << shift | also[0]
    return Format(
        name=name,
        mask=mask,
        value=int(prefix, 2) << shift | also[1],
        words=words,
        opcode=opcode,
        fields=MappingProxyType(dict(fields)),
        signed=MappingProxyType(dict(signed or {})),
        reserved=_reserved(words, mask, (opcode, *fields.values())),
    )


_VOP3_SOURCES = {"src0": (40, 32), "src1": (49, 41), "src2": (58, 50)}

FORMATS = (
    # A format comes before those whose bits it refines.
    _format("SOP1", "101111101", (15, 8), {"sdst": (22, 16), "ssrc0": (7, 0)}),
    _format("SOPC", "101111110", (22, 16), {"ssrc0": (7, 0), "ssrc1": (15, 8)}),
    _format("SOPP", "101111111", (22, 16), {"simm16": (15, 0)}),
    _format("SOPK", "1011", (27, 23), {"sdst": (22, 16), "simm16": (15, 0)}),
    _format("SOP2", "10", (29, 23), {"sdst": (22, 16), "ssrc0": (7, 0), "ssrc1": (15, 8)}),
    _format("VOP1", "0111111", (16, 9), {"vdst": (24, 17), "src0": (8, 0)}),
    _format("VOPC", "0111110", (24, 17), {"src0": (8, 0), "vsrc1": (16, 9)}),
    _format("VOP2", "0", (30, 25), {"vdst": (24, 17), "src0": (8, 0), "vsrc1": (16, 9)}),
    _format(
        "SMEM",
        "110000",
        (25, 18),
        {
            "sbase": (5, 0),
            "sdata": (12, 6),
            "soffset_en": (14, 14),
            "nv": (15, 15),
            "glc": (16, 16),
            "imm": (17, 17),
            "offset": (52, 32),
            "soffset": (63, 57),
        },
        words=2,
        signed={"offset": 21},
    ),
    _format(
        "VOP3P",
        "110100111",
        (22, 16),
        {
            "vdst": (7, 0),
            "neg_hi": (10, 8),
            "op_sel": (13, 11),
            "op_sel_hi_2": (14, 14),
            "clamp": (15, 15),
            **_VOP3_SOURCES,
            "op_sel_hi": (60, 59),
            "neg": (63, 61),
        },
        words=2,
    ),
    _format(
        "VOP3",
        "110100",
        (25, 16),
        {
            "vdst": (7, 0),
            "abs": (10, 8),
            "op_sel": (14, 11),
            "clamp": (15, 15),
            **_VOP3_SOURCES,
            "omod": (60, 59),
            "neg": (63, 61),
        },
        words=2,
    ),
    _format(
        "DS",
        "110110",
        (24, 17),
        {
            "offset0": (7, 0),
            "offset1": (15, 8),
            "gds": (16, 16),
            "acc": (25, 25),
            "addr": (39, 32),
            "data0": (47, 40),
            "data1": (55, 48),
            "vdst": (63, 56),
        },
        words=2,
    ),
    _format(
        "GLOBAL",
        "110111",
        (24, 18),
        {
            "offset": (12, 0),
            "sve": (13, 13),
            "sc0": (16, 16),
            "nt": (17, 17),
            "sc1": (25, 25),
            "addr": (39, 32),
            "data": (47, 40),
            "saddr": (54, 48),
            "acc": (55, 55),
            "vdst": (63, 56),
        },
        words=2,
        also=(3 << 14, 2 << 14),
        signed={"offset": 13},
    ),
    _format(
        "MUBUF",
        "111000",
        (24, 18),
        {
            "offset": (11, 0),
            "offen": (12, 12),
            "idxen": (13, 13),
            "sc0": (14, 14),
            "sc1": (15, 15),
            "lds": (16, 16),
            "nt": (17, 17),
            "vaddr": (39, 32),
            "vdata": (47, 40),
            "srsrc": (52, 48),
            "acc": (55, 55),
            "soffset": (63, 56),
        },
        words=2,
    ),
)

VOP3SD = _format(
    "VOP3SD",
    "110100",
    (25, 16),
    {
        "vdst": (7, 0),
        "sdst": (14, 8),
        "clamp": (15, 15),
        **_VOP3_SOURCES,
        "omod": (60, 59),
        "neg": (63, 61),
    },
    words=2,
)
"""VOP3 with a scalar destination: its opcodes alone tell it from VOP3."""

MAI = _format(
    "VOP3P",
    "110100111",
    (22, 16),
    {
        "vdst": (7, 0),
        "cbsz": (10, 8),
        "abid": (14, 11),
        "acc_cd": (15, 15),
        **_VOP3_SOURCES,
        "acc": (60, 59),
        "blgp": (63, 61),
    },
    words=2,
)
"""VOP3P as matrix instructions and moves of accumulation registers use it."""

SDWA = {
    "src0": (7, 0),
    "dst_sel": (10, 8),
    "dst_unused": (12, 11),
    "clamp": (13, 13),
    "omod": (15, 14),
    "src0_sel": (18, 16),
    "src0_sext": (19, 19),
    "src0_neg": (20, 20),
    "src0_abs": (21, 21),
    "s0": (23, 23),
    "src1_sel": (26, 24),
    "src1_sext": (27, 27),
    "src1_neg": (28, 28),
    "src1_abs": (29, 29),
    "s1": (31, 31),
}
"""The second word of VOP1 and VOP2 whose first source is 249."""
SDWA_COMPARE = {
    **{name: bits for name, bits in SDWA.items() if not name.startswith(("dst", "clamp", "omod"))},
    "sdst": (14, 8),
    "sd": (15, 15),
}
"""The same for VOPC."""
DPP = {
    "src0": (7, 0),
    "dpp_ctrl": (16, 8),
    "bound_ctrl": (19, 19),
    "src0_neg": (20, 20),
    "src0_abs": (21, 21),
    "src1_neg": (22, 22),
    "src1_abs": (23, 23),
    "bank_mask": (27, 24),
    "row_mask": (31, 28),
}
"""The second word of VOP1, VOP2 and VOPC whose first source is 250."""


def field(word: int, bits: Bits) -> int:
    """The number in some bits of an instruction."""
    high, low = bits
    return word >> low & (1 << high - low + 1) - 1


@cache
def opcodes(arch: str) -> Mapping[str, Mapping[int, str]]:
    """The mnemonics of an arch by format and opcode number, as LLVM spells them.

    :raises ValueError: the arch is neither gfx942 nor gfx950.
    """
    if arch not in ARCHES:
        raise ValueError(f"no instructions are known of {arch}")
    data = json.loads(files(__package__).joinpath("opcodes.json").read_text("utf-8"))
    foreign = {m for other, only in data["only"].items() if other != arch for m in only}
    return {
        name: {int(number): m for number, m in table.items() if m not in foreign}
        for name, table in data["opcodes"].items()
    }


def format_of(word: int) -> Format | None:
    """The format that the first word of an instruction tells; opcodes may refine it."""
    for candidate in _by_prefix()[word >> 23]:
        if word & candidate.mask == candidate.value:
            return candidate
    return None


@cache
def _by_prefix() -> tuple[tuple[Format, ...], ...]:
    """The formats that the nine highest bits of a word allow, by those bits."""
    high = 0x1FF << 23
    return tuple(
        tuple(f for f in FORMATS if prefix << 23 & f.mask == f.value & high)
        for prefix in range(1 << 9)
    )
