"""Argument blocks of launches: where members lie, and what a concrete launch stores in them."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlaprobe.core.shape import Dtype
from mlaprobe.deciding.capability import Capability
from mlaprobe.evaluator.ir import CType
from mlaprobe.evaluator.values.kinds import StructType
from mlaprobe.evaluator.values.structs import StructLayout, struct_layout
from mlaprobe.evaluator.values.unknown import Unknown
from mlaprobe.stages.environment.device import Device
from mlaprobe.stages.environment.dtypes import DtypeToken, dtype_for
from mlaprobe.stages.environment.placed import Placed
from mlaprobe.stages.launching import (
    Launched,
    Launching,
    LaunchQuestion,
    NotLaunchedError,
)
from tests.trees import today
from tests.trees.common import Tree, write

KINDS: dict[str, tuple[CType, Any]] = {
    "pointer": (CType("void", "void", pointer=True), ctypes.c_void_p),
    "int": (CType("int", "int", 32), ctypes.c_int32),
    "unsigned": (CType("unsigned", "unsigned int", 32), ctypes.c_uint32),
    "short": (CType("int", "short", 16), ctypes.c_int16),
    "byte": (CType("unsigned", "uint8_t", 8), ctypes.c_uint8),
    "long": (CType("unsigned", "size_t", 64), ctypes.c_uint64),
    "float": (CType("float", "float"), ctypes.c_float),
    "double": (CType("float", "double"), ctypes.c_double),
    "bool": (CType("bool", "bool"), ctypes.c_bool),
    "text": (CType("string", "char"), ctypes.c_char_p),
}
NAMES = st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=8)


def nothing(name: str) -> None:
    """A source that defines nothing."""


def struct(kinds: list[str], *, packed: bool = False, name: str = "S") -> StructType:
    """A struct of such members."""
    members = tuple((f"m{at}", KINDS[kind][0], None) for at, kind in enumerate(kinds))
    return StructType(name, members, packed=packed)


def reference(kinds: list[str], *, packed: bool) -> Any:
    """The same struct as ctypes has it, which asks the platform's C."""
    body: dict[str, Any] = {"_fields_": [(f"m{at}", KINDS[k][1]) for at, k in enumerate(kinds)]}
    if packed:
        body = {"_pack_": 1, "_layout_": "ms", **body}
    return type("S", (ctypes.Structure,), body)


@given(NAMES, st.booleans())
def test_members_lie_where_c_puts_them(kinds: list[str], packed: bool) -> None:
    expected = reference(kinds, packed=packed)
    found = struct_layout(struct(kinds, packed=packed), nothing)
    assert isinstance(found, StructLayout)
    assert found.size == ctypes.sizeof(expected)
    for member in found.members:
        field = getattr(expected, member.name)
        assert (member.offset, member.size) == (field.offset, field.size)


@given(NAMES, NAMES, st.booleans())
def test_structs_within_structs(inner: list[str], outer: list[str], packed: bool) -> None:
    within = struct(inner, packed=packed, name="Inner")
    whole = struct(outer)
    members = (*whole.members, ("inner", CType("other", "Inner"), None), *whole.members)
    named = tuple((f"n{at}", ctype, None) for at, (_, ctype, _) in enumerate(members))
    found = struct_layout(StructType("S", named), {"Inner": within}.get)
    part = reference(inner, packed=packed)
    kinds = [*(KINDS[k][1] for k in outer), part, *(KINDS[k][1] for k in outer)]
    fields = [(f"n{at}", kind) for at, kind in enumerate(kinds)]
    expected: Any = type("S", (ctypes.Structure,), {"_fields_": fields})
    assert isinstance(found, StructLayout)
    assert found.size == ctypes.sizeof(expected)
    offsets = [getattr(expected, name).offset for name, _ in fields]
    assert [member.offset for member in found.members] == offsets


def test_a_member_of_unknown_size_leaves_the_layout_unknown() -> None:
    strange = StructType("S", (("m", CType("other", "hipStream_t"), None),))
    assert isinstance(struct_layout(strange, nothing), Unknown)
    itself = StructType("S", (("m", CType("other", "S"), None),))
    assert isinstance(struct_layout(itself, lambda name: itself), Unknown)


LAUNCH = """\
struct AiterAsmKernelArgs
{
    void* args_ptr;
    size_t* arg_size_ptr;
    int gdx;
    int gdy;
    int gdz;
    int bdx;
    int bdy;
    int bdz;
    const hipStream_t stream;
    int cluster_x = 1;
};

struct p2
{
    unsigned int _p0;
    unsigned int _p1;
};
struct p3
{
    unsigned int _p0;
    unsigned int _p1;
    unsigned int _p2;
};

"""
MEMBERS = "    void* ptr_Q;\n    unsigned int s_MQA;\n"
WIDE = (
    "    void* ptr_Q;\n    p2 _p0;\n    float scalar;\n    p3 _p1;\n    unsigned int s_MQA;\n"
    "    p3 _p2;\n    void* ptr_R;\n"
)
STORES = "    args.s_MQA            = gqa_ratio * max_seqlen_q;\n"
STORED = STORES + "    args.scalar = 0.5;\n    args.ptr_R = splitData->data_ptr();\n"
GRID = "{&args, &arg_size, 1, 1, 1, 256, 1, 1, stream}"


def tree(*changes: tuple[str, str]) -> Tree:
    """Today's tree with the launch's struct, and changes of its host function."""
    text = str(today.tree()[today.HOST]).replace("struct __attr", LAUNCH + "struct __attr", 1)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return {**today.tree(), today.HOST: text}


def batch(arch: str, heads: int, qlen: int = 1, *, work: bool = True) -> LaunchQuestion:
    """A launch of two requests."""
    int32, fp32 = DtypeToken("i32"), DtypeToken("fp32")
    bf16 = dtype_for("bf16", arch)
    tokens = 2 * qlen
    names = ("reduce_indptr", "reduce_final_map", "reduce_partial_map", "work_info")
    return LaunchQuestion(
        arch=arch,
        q_dtype=Dtype.BF16,
        kv_dtype=Dtype.BF16,
        tensors={
            "q": Placed("q", (tokens, heads, 576), bf16),
            "kv": Placed("kv", (64, 1, 1, 576), bf16),
            "output": Placed("o", (tokens, heads, 512), bf16),
            "qo_indptr": Placed("qo", (3,), int32),
            "kv_indptr": Placed("kv_indptr", (3,), int32),
            "kv_indices": Placed("indices", (40,), int32),
            "last_page": Placed("last", (2,), int32),
            "metadata": Placed("meta", (10,), DtypeToken("u64")) if work else None,
            "work_indptr": Placed("work", (5,), int32) if work else None,
            **{name: Placed(name, (4,), int32) if work else None for name in names},
            "q_scale": Placed("q_scale", (1,), fp32),
            "kv_scale": Placed("kv_scale", (1,), fp32),
            "global_indptr": None,
        },
        numbers={
            "qlen": qlen,
            "page_size": 1,
            "intra_batch": False,
            "return_lse": False,
            "world": 1,
            "rank": 0,
            "causal": True,
            "scale": 0.25,
        },
        device=Device.of(arch, 256),
    )


def launched(capability: Capability, question: LaunchQuestion) -> Launched:
    """What a capability launches for it."""
    assert capability.dispatcher is not None
    assert capability.host is not None
    return Launching(capability.dispatcher, capability.host).launch(question)


def test_the_block_is_what_the_source_declares_and_stores(tmp_path: Path) -> None:
    wide = tree((MEMBERS, WIDE), (STORES, STORED), (GRID, GRID.replace("1, 1, 1", "3, 2, 1")))
    found = launched(Capability.open(str(write(tmp_path, wide))), batch("gfx950", 16))
    assert found.kernel.symbol == "mla_bf16_bf16_h16_q4_ps"
    assert (found.grid, found.workgroup) == ((3, 2, 1), (256, 1, 1))
    assert found.block.size == found.block_bytes == 56
    slots = [(s.name, s.offset, s.size) for s in found.block.slots if "." not in s.name]
    assert slots == [("ptr_Q", 0, 8), ("scalar", 16, 4), ("s_MQA", 32, 4), ("ptr_R", 48, 8)]
    addresses = {"q": 0x1122334455667788, "torch.empty": 0x99}
    data = found.block.pack(lambda name, tensor: addresses[tensor.name])
    assert data[:8] == bytes.fromhex("8877665544332211")
    assert data[16:20] == bytes.fromhex("0000003f")  # 0.5
    assert data[32:36] == bytes([16, 0, 0, 0])
    assert data[48:] == bytes([0x99, 0, 0, 0, 0, 0, 0, 0])
    assert not any(data[8:16] + data[20:32] + data[36:48])


@pytest.mark.parametrize(
    "asked",
    ["splitData", "splitData != nullptr", "!lse", "static_cast<bool>(splitData)", "!!splitData"],
)
def test_a_pointer_to_a_tensor_is_true(tmp_path: Path, asked: str) -> None:
    stored = STORED.replace("splitData->", f"{asked} ? splitData->").replace("();", "() : nullptr;")
    wide = tree((MEMBERS, WIDE), (STORES, stored))
    found = launched(Capability.open(str(write(tmp_path, wide))), batch("gfx950", 16))
    data = found.block.pack(lambda name, tensor: 0x99 if tensor.name == "torch.empty" else 0)
    assert data[48:] == bytes([0x99, 0, 0, 0, 0, 0, 0, 0])


def test_without_packing_members_are_aligned(tmp_path: Path) -> None:
    loose = tree(
        (MEMBERS, "    unsigned int s_MQA;\n    void* ptr_Q;\n"), (" __attribute__((packed))", "")
    )
    found = launched(Capability.open(str(write(tmp_path, loose))), batch("gfx950", 16))
    assert [(s.name, s.offset) for s in found.block.slots] == [("s_MQA", 0), ("ptr_Q", 8)]
    assert found.block.size == 16


def test_what_is_not_stored_is_not_known(tmp_path: Path) -> None:
    """Unless the struct is given values as a whole."""
    loose = tree((MEMBERS, WIDE), ("HostArgs args         = {};", "HostArgs args;"))
    found = launched(Capability.open(str(write(tmp_path / "loose", loose))), batch("gfx950", 16))
    empty = {s.name for s in found.block.uninitialised}
    assert {name for name in empty if "." not in name} == {"scalar", "ptr_R"}
    assert {name for name in empty if "." in name} == {
        s.name for s in found.block.slots if "." in s.name
    }
    assert found.block.unknown is None
    data = found.block.pack(lambda name, tensor: 0, lambda size: b"\xa5" * size)
    for slot in found.block.slots:
        there = data[slot.offset : slot.offset + slot.size]
        assert (there == b"\xa5" * slot.size) is slot.uninitialised
    zero = launched(
        Capability.open(str(write(tmp_path / "zero", tree((MEMBERS, WIDE))))), batch("gfx950", 16)
    )
    assert not zero.block.uninitialised
    stored = {s.name: s.value for s in zero.block.slots}
    assert (stored["scalar"], stored["ptr_R"]) == (0.0, None)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (MEMBERS, MEMBERS + "    unsigned int more[3];\n", "more"),
        (MEMBERS, MEMBERS + "    unsigned int bit : 3;\n", "bit"),
        (MEMBERS, MEMBERS + "    hipStream_t stream;\n", "hipStream_t"),
        ("struct __attribute__((packed)) H", "#pragma pack(push, 1)\nstruct H", "pragma pack"),
        ("__attribute__((packed))", "__attribute__((packed, aligned(16)))", "ptr_Q"),
    ],
)
def test_a_struct_that_is_not_followed(tmp_path: Path, old: str, new: str, why: str) -> None:
    with pytest.raises(NotLaunchedError, match=why) as error:
        launched(Capability.open(str(write(tmp_path, tree((old, new))))), batch("gfx950", 16))
    assert not error.value.refused


def test_an_unknown_value_is_a_slot_that_is_not_known(tmp_path: Path) -> None:
    strange = tree((STORES, "    args.s_MQA = Q->storage_offset();\n"))
    block = launched(Capability.open(str(write(tmp_path, strange))), batch("gfx950", 16)).block
    assert block.unknown is block.slot("s_MQA") is not None
    with pytest.raises(ValueError, match=r"s_MQA is not known: .*Q\.storage_offset"):
        block.pack(lambda name, tensor: 0)


def test_a_call_that_cannot_be_followed_leaves_the_launch_unknown(tmp_path: Path) -> None:
    strange = tree((STORES, "    args.s_MQA = nobody_knows(gqa_ratio);\n"))
    with pytest.raises(NotLaunchedError, match="nobody_knows") as error:
        launched(Capability.open(str(write(tmp_path, strange))), batch("gfx950", 16))
    assert not error.value.refused
    assert error.value.span.file == today.HOST


def test_a_refusal_is_told_from_what_is_unknown(tmp_path: Path) -> None:
    capability = Capability.open(str(write(tmp_path, tree())))
    with pytest.raises(NotLaunchedError, match="no kernel for gqa:12") as error:
        launched(capability, batch("gfx950", 12))
    assert error.value.refused


# --- real releases -------------------------------------------------------------------------------

TAGS = ("v0.1.10.post1", "v0.1.12", "v0.1.16.post2", "v0.1.19", "v0.1.20")
SIZES = {"v0.1.10.post1": 304, "v0.1.12": 320, "v0.1.16.post2": 320}
"""Bytes, where they are fewer than 368: 19 or 20 members of 16 bytes, without one's padding."""


@pytest.mark.parametrize("tag", TAGS)
def test_blocks_of_releases(aiter_git: Path, tag: str) -> None:
    found = launched(Capability.open(f"{aiter_git}@{tag}"), batch("gfx942", 16, 2))
    assert found.block.size == found.block_bytes == SIZES.get(tag, 368)
    assert (found.grid, found.workgroup) == ((4, 1, 1), (256, 1, 1))
    slots = {s.name: s for s in found.block.slots}
    assert slots["s_MQA"].value == 32
    assert slots["s_Q_Bs"].value == 16 * 576 * 2 * 2
    assert slots["s_Bs"].value == 576 * 2
    assert slots["scalar"].value == 0.25
    tensor = slots["ptr_Q"].value
    assert isinstance(tensor, Placed)
    assert tensor.name == "q"
    if tag in ("v0.1.19", "v0.1.20"):
        # The comments beside these members say so.
        assert (slots["ptr_GKVTP"].offset, slots["s_cp_world_size"].offset) == (0x140, 0x150)
        assert slots["s_cp_rank"].offset == 0x160


def test_splits_of_the_other_mode_are_the_sources_own(aiter_git: Path) -> None:
    """16 splits of two requests keep 32 of 256 CUs busy, 12 % of them, which no fewer do; so few KV
    tokens cost more than they gain."""
    found = launched(Capability.open(f"{aiter_git}@v0.1.20"), batch("gfx950", 16, work=False))
    splits = found.passed["splits_indptr"]
    assert splits.step.how == "arange"
    start, stop, step = splits.step.values
    assert found.grid == (1, 2, step)
    assert (start, stop) == (0, 3 * step)
    assert [e.name for e in found.after] == ["_fwd_kernel_stage2_asm"]
