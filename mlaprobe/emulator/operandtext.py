"""Operands as text, and how many registers each is."""

from __future__ import annotations

import re

from mlaprobe.emulator.decoding import LITERAL
from mlaprobe.emulator.formats import opcodes

_SPECIAL = {
    102: "flat_scratch",
    104: "xnack_mask",
    106: "vcc",
    126: "exec",
}
"""Pairs of scalar registers with a name; their halves have ``_lo`` and ``_hi`` behind it."""
_TTMP, _M0 = 108, 124
_OTHER_SOURCES = {
    235: "src_shared_base",
    236: "src_shared_limit",
    237: "src_private_base",
    238: "src_private_limit",
    251: "src_vccz",
    252: "src_execz",
    253: "src_scc",
    254: "src_lds_direct",
}
_HALVES = dict(
    enumerate(("0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0", "0.15915494"), 240)
)
_TYPES = re.compile(r"_(?:bf|[biuf])(\d+)")
_PACKED_PAIR = re.compile(r"v_pk_(add|mul|fma)_f32|v_pk_mov_b32")
_UNPACKS_PAIR = ("v_cvt_pk_f32_fp8", "v_cvt_pk_f32_bf8")
_SHIFTS = ("v_lshlrev_b64", "v_lshrrev_b64", "v_ashrrev_i64")
_TWO_SOURCES = re.compile(
    r"v_(mul_(lo|hi)_\w+|bfm_b32|(add|sub)_i(16|32)|lshlrev_b64|lshrrev_b64|ashrrev_i64"
    r"|readlane_b32|writelane_b32|mbcnt_\w+|cvt_pk\w+|cvt_sr_\w+|bcnt_u32_b32|ldexp_f(32|64)"
    r"|(add|mul|max|min)_f64|pack_b32_f16|mul_legacy_f32|trig_preop_f64)"
)
_SCALED = re.compile(r"v_cvt_scalef32_(sr_)?(2x)?(pk(\d*)_)?[a-z]+(\d+)_[a-z]+(\d+)")
"""Conversions with a scale: random bits, two sources, packed, how many, bits to and from."""
_THREE_PACKED = ("v_pk_mad", "v_pk_fma", "v_mad_mix", "v_dot", "v_pk_minimum3", "v_pk_maximum3")


def _range(file: str, first: int, width: int) -> str:
    return f"{file}{first}" if width == 1 else f"{file}[{first}:{first + width - 1}]"


def scalar_register(number: int, width: int = 1) -> str:
    """A scalar register, or several from it on."""
    pair = number & ~1
    if pair in _SPECIAL and number < 128:
        name = _SPECIAL[pair]
        return name if width == 2 else f"{name}_{'hi' if number & 1 else 'lo'}"
    if number == _M0:
        return "m0"
    if number >= _TTMP:
        return _range("ttmp", number - _TTMP, width)
    return _range("s", number, width)


def vector_register(file: str, number: int, width: int = 1) -> str:
    """A vector register (``v``) or accumulation register (``a``), or several from it on."""
    return _range(file, number, width)


def source(code: int, width: int, literal: int | None, *, file: str = "v") -> str:
    """A source operand by its code."""
    if code >= 256:
        return vector_register(file, code - 256, width)
    if code < 128:
        return scalar_register(code, width)
    if code <= 192:
        return str(code - 128)
    if code <= 208:
        return str(192 - code)
    if code == LITERAL and literal is not None:
        return f"{literal:#x}"
    return _HALVES.get(code) or _OTHER_SOURCES.get(code, f"src_{code}")


def width(mnemonic: str, name: str) -> int:
    """How many registers of 32 bits an operand is, by the field that names it."""
    if mnemonic.startswith(("s_load_dword", "s_buffer_load_dword")):
        return int(mnemonic.partition("dwordx")[2] or 1)
    destination = name in ("vdst", "sdst")
    if _PACKED_PAIR.fullmatch(mnemonic):
        return 2
    if mnemonic.startswith("v_cvt_scalef32_"):
        return _scaled(mnemonic)[name]
    if mnemonic in _UNPACKS_PAIR:
        return 2 if destination else 1
    if destination and mnemonic.startswith("v_cmp"):
        return 2
    if _one_of_pair(mnemonic, name):
        return 1
    if name == "src2" and mnemonic.startswith(("v_cndmask", "v_addc", "v_subb")):
        return 2
    types = [int(bits) for bits in _TYPES.findall(mnemonic)]
    if not types:
        return 1
    bits = types[0] if destination or name == "src2" else types[-1]
    return max(1, bits // 32)


def _scaled(mnemonic: str) -> dict[str, int]:
    """How many registers the operands of a conversion with a scale are, by the fields that name
    them; those that it has."""
    found = _SCALED.fullmatch(mnemonic)
    assert found is not None, mnemonic
    random, twice, packed, number, to, of = found.groups()
    count = int(number or 2) if packed else 1
    # Two numbers of 32 bits are two operands, where no random bits take the place of one.
    apart = bool(twice) or (count == 2 and of == "32" and not random)
    wide = max(1, (2 * count if twice else count) * int(to) // 32)
    narrow = 1 if apart and not twice else max(1, count * int(of) // 32)
    sources = [narrow, *([narrow] if apart else []), *([1] if random else []), 1]
    return {"vdst": wide, **{f"src{at}": size for at, size in enumerate(sources)}}


def _one_of_pair(mnemonic: str, name: str) -> bool:
    """Whether an operand is one register where the type of the instruction says two."""
    if mnemonic in _SHIFTS:
        return name == "src0"
    if mnemonic.startswith(("s_lshl_b64", "s_lshr_b64", "s_ashr_i64", "s_bfe_", "s_bitcmp")):
        return name == "ssrc1"
    if mnemonic == "s_bfm_b64":
        return name != "sdst"
    return "_class_" in mnemonic and name == "src1"


def sources(mnemonic: str) -> int:
    """How many sources an instruction of VOP3 or VOP3P has."""
    # The instructions that only one arch has are among those of gfx950.
    tables = opcodes("gfx950")
    if mnemonic in tables["VOP1"].values():
        return 1
    if mnemonic.startswith(("v_cndmask", "v_addc_co", "v_subb")):
        return 3
    if mnemonic in tables["VOP2"].values() or mnemonic in tables["VOPC"].values():
        return 2
    if mnemonic in tables["VOP3P"].values():
        return 3 if mnemonic.startswith(_THREE_PACKED) else 2
    if mnemonic.startswith("v_cvt_scalef32_"):
        return len(_scaled(mnemonic)) - 1
    return 2 if "_co_" in mnemonic or _TWO_SOURCES.fullmatch(mnemonic) else 3
