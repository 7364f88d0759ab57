"""Decodes instructions of CDNA3 and CDNA4."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mlaprobe.emulator.errors import UnmodelledError
from mlaprobe.emulator.formats import (
    DPP,
    MAI,
    SDWA,
    SDWA_COMPARE,
    VOP3SD,
    Bits,
    Format,
    field,
    format_of,
    opcodes,
)

LITERAL, SDWA_SOURCE, DPP_SOURCE = 255, 249, 250
"""First-source codes that say what the next word is."""
_NO_LITERAL = frozenset({"s_set_gpr_idx_on"})
"""Instructions whose second source field is no source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """One decoded instruction."""

    offset: int
    """The address of its first byte in the loaded image."""
    size: int
    """Bytes, with literal, SDWA or DPP word."""
    format: str
    """The name of its format."""
    mnemonic: str
    """As LLVM spells it, without the suffix of the encoding."""
    fields: Mapping[str, int]
    """The fields of the format. With SDWA or DPP, ``src0`` is the source that the second word
    names."""
    encoding: tuple[int, ...]
    """The words of 32 bits."""
    literal: int | None = None
    """The constant behind the instruction."""
    sdwa: Mapping[str, int] | None = None
    """The fields of an SDWA word."""
    dpp: Mapping[str, int] | None = None
    """The fields of a DPP word."""

    def unmodelled(self, why: str) -> UnmodelledError:
        """The error that this instruction, or this use of it, has no rule."""
        return UnmodelledError(
            mnemonic=self.mnemonic, offset=self.offset, encoding=self.encoding, reason=why
        )


def decode(image: bytes, offset: int, arch: str) -> Instruction:
    """The instruction at ``offset`` of a loaded image.

    :raises UnmodelledError: no instruction of that encoding is known, or the image ends in it.
    """
    first = _word(image, offset)
    fmt = format_of(first)
    if fmt is None:
        raise _unknown(offset, (first,), "no format has this encoding")
    encoding = tuple(_word(image, offset + 4 * k) for k in range(fmt.words))
    whole = sum(word << 32 * k for k, word in enumerate(encoding))
    fmt, mnemonic = _mnemonic(fmt, field(whole, fmt.opcode), arch)
    if not mnemonic:
        raise _unknown(offset, encoding, f"{arch} has no such opcode of {fmt.name}")
    if whole & fmt.reserved:
        raise _unknown(offset, encoding, f"reserved bits of {fmt.name} are set")
    fields = {name: field(whole, bits) for name, bits in fmt.fields.items()}
    for name, width in fmt.signed.items():
        fields[name] -= (fields[name] >> width - 1) << width
    return _extended(image, offset, fmt, mnemonic, fields, encoding)


def _word(image: bytes, offset: int) -> int:
    if offset < 0 or offset % 4 or offset + 4 > len(image):
        raise _unknown(offset, (), "no code is there")
    return int.from_bytes(image[offset : offset + 4], "little")


def _unknown(offset: int, encoding: tuple[int, ...], why: str) -> UnmodelledError:
    return UnmodelledError(mnemonic="", offset=offset, encoding=encoding, reason=why)


def _mnemonic(fmt: Format, number: int, arch: str) -> tuple[Format, str]:
    """The mnemonic, and the format that its opcode makes of the one its first bits tell."""
    tables = opcodes(arch)
    if fmt.name == "VOP3" and number in tables["VOP3SD"]:
        return VOP3SD, tables["VOP3SD"][number]
    mnemonic = tables[fmt.name].get(number, "")
    if mnemonic.startswith(("v_mfma", "v_smfmac")):
        return MAI, mnemonic
    return fmt, mnemonic


def _extended(
    image: bytes,
    offset: int,
    fmt: Format,
    mnemonic: str,
    fields: dict[str, int],
    encoding: tuple[int, ...],
) -> Instruction:
    """The instruction with what the word behind it says, if there is one."""
    literal: int | None = None
    sdwa: dict[str, int] | None = None
    dpp: dict[str, int] | None = None
    kind = _next_word(fmt.name, mnemonic, fields)
    if kind is not None:
        word = _word(image, offset + 4 * fmt.words)
        encoding = (*encoding, word)
        if kind == SDWA_SOURCE:
            sdwa = _parts(word, SDWA_COMPARE if fmt.name == "VOPC" else SDWA)
            fields["src0"] = sdwa["src0"] + (0 if sdwa["s0"] else 256)
        elif kind == DPP_SOURCE:
            dpp = _parts(word, DPP)
            fields["src0"] = dpp["src0"] + 256
        else:
            literal = word
    return Instruction(
        offset=offset,
        size=4 * len(encoding),
        format=fmt.name,
        mnemonic=mnemonic,
        fields=fields,
        encoding=encoding,
        literal=literal,
        sdwa=sdwa,
        dpp=dpp,
    )


_WITH_LITERAL = {
    "SOP1": ("ssrc0",),
    "SOP2": ("ssrc0", "ssrc1"),
    "SOPC": ("ssrc0", "ssrc1"),
    "VOP1": ("src0",),
    "VOP2": ("src0",),
    "VOPC": ("src0",),
}
_ALWAYS_LITERAL = frozenset(
    {
        "v_fmamk_f32",
        "v_fmaak_f32",
        "v_madmk_f16",
        "v_madak_f16",
        "s_setreg_imm32_b32",
    }
)


def _next_word(fmt: str, mnemonic: str, fields: Mapping[str, int]) -> int | None:
    """What the word behind the instruction is, by the source code that says so."""
    if mnemonic in _ALWAYS_LITERAL:
        return LITERAL
    sources = {fields[name] for name in _WITH_LITERAL.get(fmt, ())}
    if fmt.startswith("VOP"):
        for kind in (SDWA_SOURCE, DPP_SOURCE):
            if kind in sources:
                return kind
    return LITERAL if LITERAL in sources and mnemonic not in _NO_LITERAL else None


def _parts(word: int, layout: Mapping[str, Bits]) -> dict[str, int]:
    return {name: field(word, bits) for name, bits in layout.items()}
