"""Operands and modifiers of each format as text; ``disassembly.py`` puts them together."""

from __future__ import annotations

import re
from collections.abc import Callable

from mlaprobe.emulator import matrix
from mlaprobe.emulator.decoding import Instruction
from mlaprobe.emulator.operandtext import scalar_register, source, sources, vector_register, width

Printed = tuple[list[str], list[str]]
"""Operands, which commas separate, and modifiers."""

LONG_LITERAL = ("v_fmamk", "v_fmaak", "v_madmk", "v_madak")
_TAKES_CARRY = ("v_addc", "v_subb")
_SELECTS = ("BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD", "7")
_UNUSED = ("UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE", "3")
"""The last of both is a number that means nothing."""
_DPP_SHIFTS = {0x100: "row_shl", 0x110: "row_shr", 0x120: "row_ror", 0x150: "row_newbcast"}
_DPP_OTHERS = {
    0x130: "wave_shl:1",
    0x134: "wave_rol:1",
    0x138: "wave_shr:1",
    0x13C: "wave_ror:1",
    0x140: "row_mirror",
    0x141: "row_half_mirror",
    0x142: "row_bcast:15",
    0x143: "row_bcast:31",
}
_DWORDS = re.compile(r"dwordx(\d)")
_BITS = re.compile(r"_[biuf](\d+)$")
_TRANSPOSED = re.compile(r"_b(\d+)_tr_")


def _source(i: Instruction, name: str) -> str:
    return source(i.fields[name], width(i.mnemonic, name), i.literal)


def _sop1(i: Instruction) -> Printed:
    operands = [scalar_register(i.fields["sdst"], width(i.mnemonic, "sdst"))]
    if i.mnemonic == "s_setpc_b64":
        operands = []
    if i.mnemonic != "s_getpc_b64":
        operands.append(_source(i, "ssrc0"))
    return operands, []


def _sop2(i: Instruction) -> Printed:
    destination = scalar_register(i.fields["sdst"], width(i.mnemonic, "sdst"))
    return [destination, _source(i, "ssrc0"), _source(i, "ssrc1")], []


def _sopc(i: Instruction) -> Printed:
    if i.mnemonic != "s_set_gpr_idx_on":
        return [_source(i, "ssrc0"), _source(i, "ssrc1")], []
    relative = enumerate(("SRC0", "SRC1", "SRC2", "DST"))
    names = [name for bit, name in relative if i.fields["ssrc1"] >> bit & 1]
    return [_source(i, "ssrc0"), f"gpr_idx({','.join(names)})"], []


def _sopk(i: Instruction) -> Printed:
    return [scalar_register(i.fields["sdst"], 1), f"{i.fields['simm16']:#x}"], []


def _sopp(i: Instruction) -> Printed:
    value = i.fields["simm16"]
    if i.mnemonic == "s_waitcnt":
        return [], _counters(value)
    if i.mnemonic.startswith(("s_branch", "s_cbranch")):
        return [str(value - (value >> 15 << 16))], []
    if i.mnemonic in ("s_nop", "s_setprio", "s_sleep", "s_sethalt"):
        return [str(value)], []
    return ([f"{value:#x}"] if value else []), []


def _counters(value: int) -> list[str]:
    """The counters that are waited for: those below their greatest value, or all."""
    counts = (
        ("vmcnt", value & 15 | value >> 10 & 0x30, 63),
        ("expcnt", value >> 4 & 7, 7),
        ("lgkmcnt", value >> 8 & 15, 15),
    )
    waiting = [f"{name}({count})" for name, count, most in counts if count < most]
    return waiting or [f"{name}({count})" for name, count, _ in counts]


def _smem(i: Instruction) -> Printed:
    fields = i.fields
    operands = [
        scalar_register(fields["sdata"], width(i.mnemonic, "sdata")),
        scalar_register(2 * fields["sbase"], 2),
    ]
    modifiers = []
    if fields["soffset_en"]:
        operands.append(scalar_register(fields["soffset"], 1))
        if fields["imm"]:
            modifiers.append(f"offset:{fields['offset']:#x}")
    elif fields["imm"]:
        operands.append(f"{fields['offset']:#x}")
    else:
        operands.append(scalar_register(fields["offset"] & 0x7F, 1))
    return operands, modifiers + (["glc"] if fields["glc"] else [])


def _vop1(i: Instruction) -> Printed:
    if i.mnemonic == "v_nop":
        return [], []
    register = i.fields["vdst"]
    if i.mnemonic == "v_readfirstlane_b32":
        return [scalar_register(register), _source(i, "src0")], _extension(i)
    if i.mnemonic == "v_accvgpr_mov_b32":
        return [f"a{register}", source(i.fields["src0"], 1, None, file="a")], []
    destination = vector_register("v", register, width(i.mnemonic, "vdst"))
    return [destination, _source(i, "src0")], _extension(i)


def _vop2(i: Instruction) -> Printed:
    operands = [vector_register("v", i.fields["vdst"], width(i.mnemonic, "vdst"))]
    carry = "_co_" in i.mnemonic
    if carry:
        operands.append("vcc")
    operands += [_source(i, "src0"), vector_register("v", i.fields["vsrc1"])]
    if i.mnemonic.startswith(LONG_LITERAL):
        operands.insert(2 if "mk_" in i.mnemonic else 3, f"{i.literal:#x}")
    if i.mnemonic == "v_cndmask_b32" or (carry and i.mnemonic.startswith(_TAKES_CARRY)):
        operands.append("vcc")
    return operands, _extension(i)


def _vopc(i: Instruction) -> Printed:
    second = vector_register("v", i.fields["vsrc1"], width(i.mnemonic, "src1"))
    return ["vcc", _source(i, "src0"), second], _extension(i)


def _vop3(i: Instruction) -> Printed:
    fields, count = i.fields, sources(i.mnemonic)
    size = width(i.mnemonic, "vdst")
    if i.mnemonic.startswith(("v_cmp", "v_readlane", "v_readfirstlane")):
        operands = [scalar_register(fields["vdst"], size)]
    else:
        operands = [vector_register("v", fields["vdst"], size)]
    if i.format == "VOP3SD":
        operands.append(scalar_register(fields["sdst"], 2))
    for k in range(count):
        plain = _source(i, f"src{k}")
        if fields.get("abs", 0) >> k & 1:
            plain = f"|{plain}|"
        operands.append(f"-{plain}" if fields["neg"] >> k & 1 else plain)
    modifiers = []
    selected = fields.get("op_sel", 0)
    if selected:
        modifiers.append(_list("op_sel", [*_each(selected, count), selected >> 3]))
    if fields["clamp"]:
        modifiers.append("clamp")
    if fields["omod"]:
        modifiers.append(("mul:2", "mul:4", "div:2")[fields["omod"] - 1])
    return operands, modifiers


def _each(bits: int, count: int) -> list[int]:
    return [bits >> k & 1 for k in range(count)]


def _list(name: str, numbers: list[int]) -> str:
    return f"{name}:[{','.join(map(str, numbers))}]"


def _vop3p(i: Instruction) -> Printed:
    fields = i.fields
    if "acc_cd" in fields:
        return _matrix(i)
    if i.mnemonic == "v_accvgpr_read_b32":
        return [f"v{fields['vdst']}", source(fields["src0"], 1, None, file="a")], []
    if i.mnemonic == "v_accvgpr_write_b32":
        return [f"a{fields['vdst']}", _source(i, "src0")], []
    count = sources(i.mnemonic)
    operands = [vector_register("v", fields["vdst"], width(i.mnemonic, "vdst"))]
    operands += [_source(i, f"src{k}") for k in range(count)]
    modifiers = []
    for name, bits, usual in (
        ("op_sel", fields["op_sel"], 0),
        ("op_sel_hi", fields["op_sel_hi"] | fields["op_sel_hi_2"] << 2, 1),
        ("neg_lo", fields["neg"], 0),
        ("neg_hi", fields["neg_hi"], 0),
    ):
        chosen = _each(bits, count)
        if any(bit != usual for bit in chosen):
            modifiers.append(_list(name, chosen))
    return operands, modifiers + (["clamp"] if fields["clamp"] else [])


def _matrix(i: Instruction) -> Printed:
    fields = i.fields
    # gfx950 has a rule for whatever gfx942 has one for, with as many registers.
    operation = matrix.operation(
        i.mnemonic, arch="gfx950", cbsz=fields["cbsz"], blgp=fields["blgp"]
    )
    widths = (1, 1, 1)
    if operation is not None:
        widths = (operation.a_registers, operation.b_registers, operation.registers)
    file = "a" if fields["acc_cd"] else "v"
    operands = [vector_register(file, fields["vdst"], widths[2])]
    for k in range(2):
        name = "a" if fields["acc"] >> k & 1 else "v"
        operands.append(source(fields[f"src{k}"], widths[k], None, file=name))
    operands.append(source(fields["src2"], widths[2], None, file=file))
    return operands, [f"{n}:{fields[n]}" for n in ("cbsz", "abid", "blgp") if fields[n]]


def _extension(i: Instruction) -> list[str]:
    """The modifiers of a DPP or SDWA word."""
    if i.dpp is not None:
        return _dpp(i)
    if i.sdwa is None:
        return []
    sdwa, modifiers = i.sdwa, []
    if "dst_sel" in sdwa and not i.mnemonic.startswith("v_cvt_pk_f32"):
        modifiers.append(f"dst_sel:{_SELECTS[sdwa['dst_sel']]}")
        modifiers.append(f"dst_unused:{_UNUSED[sdwa['dst_unused']]}")
    modifiers.append(f"src0_sel:{_SELECTS[sdwa['src0_sel']]}")
    if i.format != "VOP1":
        modifiers.append(f"src1_sel:{_SELECTS[sdwa['src1_sel']]}")
    return modifiers


def _dpp(i: Instruction) -> list[str]:
    assert i.dpp is not None
    control = i.dpp["dpp_ctrl"]
    if control < 0x100:
        moved = _list("quad_perm", [control >> 2 * k & 3 for k in range(4)])
    elif control & 0x1F0 in _DPP_SHIFTS:
        moved = f"{_DPP_SHIFTS[control & 0x1F0]}:{control & 15}"
    else:
        moved = _DPP_OTHERS.get(control, f"dpp_ctrl:{control:#x}")
    modifiers = [moved, *(f"{n}:{i.dpp[n]:#x}" for n in ("row_mask", "bank_mask"))]
    return modifiers + (["bound_ctrl:1"] if i.dpp["bound_ctrl"] else [])


def _lds(i: Instruction) -> Printed:
    fields = i.fields
    file = "a" if fields["acc"] else "v"
    bits = _TRANSPOSED.search(i.mnemonic) or _BITS.search(i.mnemonic)
    words = max(1, int(bits[1]) // 32) if bits else 1
    pair = "read2" in i.mnemonic or "write2" in i.mnemonic
    writes = i.mnemonic.startswith("ds_write")
    operands = []
    if not writes:
        operands.append(vector_register(file, fields["vdst"], 2 * words if pair else words))
    operands.append(vector_register("v", fields["addr"]))
    if writes or "permute" in i.mnemonic:
        operands.append(vector_register(file, fields["data0"], words))
    if writes and pair:
        operands.append(vector_register(file, fields["data1"], words))
    if pair:
        modifiers = [f"{n}:{fields[n]}" for n in ("offset0", "offset1") if fields[n]]
    else:
        offset = fields["offset0"] | fields["offset1"] << 8
        modifiers = [f"offset:{offset}"] if offset else []
    return operands, modifiers + (["gds"] if fields["gds"] else [])


def _words(mnemonic: str) -> int:
    found = _DWORDS.search(mnemonic)
    return int(found[1]) if found else 1


def _cache_policy(i: Instruction) -> list[str]:
    return [name for name in ("sc0", "nt", "sc1") if i.fields[name]]


def _global(i: Instruction) -> Printed:
    fields = i.fields
    file = "a" if fields["acc"] else "v"
    base = fields["saddr"]
    address = vector_register("v", fields["addr"], 2 if base == 0x7F else 1)
    operands = [address]
    if "_load_lds_" not in i.mnemonic:
        loads = "_load_" in i.mnemonic
        name = "vdst" if loads else "data"
        data = vector_register(file, fields[name], _words(i.mnemonic))
        operands = [data, address] if loads else [address, data]
    operands.append("off" if base == 0x7F else scalar_register(base, 2))
    offset = [f"offset:{fields['offset']}"] if fields["offset"] else []
    return operands, offset + _cache_policy(i)


def _buffer(i: Instruction) -> Printed:
    fields = i.fields
    file = "a" if fields["acc"] else "v"
    operands = []
    if not fields["lds"]:
        operands.append(vector_register(file, fields["vdata"], _words(i.mnemonic)))
    both = fields["offen"] and fields["idxen"]
    indexed = fields["offen"] or fields["idxen"]
    operands.append(vector_register("v", fields["vaddr"], 2 if both else 1) if indexed else "off")
    operands.append(scalar_register(4 * fields["srsrc"], 4))
    operands.append(source(fields["soffset"], 1, None))
    modifiers = [name for name in ("idxen", "offen") if fields[name]]
    if fields["offset"]:
        modifiers.append(f"offset:{fields['offset']}")
    return operands, [*modifiers, *_cache_policy(i), *(["lds"] if fields["lds"] else [])]


PRINTERS: dict[str, Callable[[Instruction], Printed]] = {
    "SOP1": _sop1,
    "SOP2": _sop2,
    "SOPC": _sopc,
    "SOPK": _sopk,
    "SOPP": _sopp,
    "SMEM": _smem,
    "VOP1": _vop1,
    "VOP2": _vop2,
    "VOPC": _vopc,
    "VOP3": _vop3,
    "VOP3SD": _vop3,
    "VOP3P": _vop3p,
    "DS": _lds,
    "GLOBAL": _global,
    "MUBUF": _buffer,
}
"""How each format is printed."""
