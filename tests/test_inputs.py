"""Inputs as serving engines have them: what can only be meant in one way is taken, all else is
refused when the question is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlaprobe.cli.support.common import parse_archs, parse_dtypes, parse_planner
from mlaprobe.core.inputs import LARGEST, byte_count, bytes_in_words, whole
from mlaprobe.core.shape import SAME, DecodeShape, Dtype, PlannerCall, Route
from mlaprobe.errors import UsageError
from mlaprobe.padding.api import plan
from mlaprobe.padding.plan import PadPlan
from mlaprobe.padding.request import request_of
from tests.padding.fake import Fake

PLAIN: dict[str, Any] = {"arch": "gfx950", "q_dtype": "fp8", "kv_dtype": "fp8", "num_heads": 16}


def shape(**changes: Any) -> DecodeShape:
    return DecodeShape(**{**PLAIN, **changes})


@pytest.mark.parametrize(
    ("given_", "arch"),
    [
        ("gfx950:sramecc+:xnack-", "gfx950"),
        ("gfx942:sramecc+:xnack-", "gfx942"),
        ("gfx90a:xnack+", "gfx90a"),
        ("GFX950 ", "gfx950"),
        ("gfx9-4-generic", "gfx9-4-generic"),
    ],
)
def test_an_arch_with_its_features_is_that_arch(given_: str, arch: str) -> None:
    assert shape(arch=given_).arch == arch
    assert shape(arch=given_) == shape(arch=arch)
    assert hash(shape(arch=given_)) == hash(shape(arch=arch))
    assert parse_archs("--arch", given_) == (arch,)
    assert request(arch=given_).arch == arch


@pytest.mark.parametrize(
    "given_", ["", "gfx", "gfx950:", "gfx950:xnack", "950", "sm_90", None, 950]
)
def test_what_is_no_arch(given_: Any) -> None:
    with pytest.raises(UsageError, match="is no GPU architecture"):
        shape(arch=given_)


@pytest.mark.parametrize(
    ("sold", "arch"),
    [("MI355X", "gfx950"), ("AMD Instinct MI300X", "gfx942"), ("mi250x", "gfx90a")],
)
def test_what_a_gpu_is_sold_as_is_answered_with_its_arch(sold: str, arch: str) -> None:
    with pytest.raises(UsageError) as raised:
        shape(arch=sold)
    assert raised.value.hint == f"its architecture is {arch}"


CACHES = {
    "auto": Dtype.FP8,
    "bfloat16": Dtype.BF16,
    "float16": Dtype.FP16,
    "half": Dtype.FP16,
    "fp8": Dtype.FP8,
    "fp8_e4m3": Dtype.FP8,
    "fp8_e4m3fn": Dtype.FP8,
    "fp8_e4m3fnuz": Dtype.FP8,
    "torch.float8_e4m3fnuz": Dtype.FP8,
    "fp8_ds_mla": Dtype.BYTE,
    "torch.uint8": Dtype.BYTE,
    ("torch.uint8", "fp8"): Dtype.FP8,
    ("torch.uint8", "fp8_e4m3"): Dtype.FP8,
    ("torch.uint8", "fp8_ds_mla"): Dtype.BYTE,
    ("torch.uint8", "auto"): Dtype.BYTE,
    ("torch.bfloat16", "auto"): Dtype.BF16,
    ("torch.float8_e4m3fn", "fp8"): Dtype.FP8,
}


@pytest.mark.parametrize("word", list(CACHES))
def test_names_of_kv_caches(word: Any) -> None:
    assert shape(kv_dtype=word).kv_dtype is CACHES[word]
    assert request(kv_dtype=word).kv_dtype is CACHES[word]


def test_auto_is_as_the_query_and_for_caches_only() -> None:
    assert shape(q_dtype="bf16", kv_dtype="auto").dtype == "bf16/bf16"
    assert parse_dtypes("--dtype", "bfloat16/auto,fp8_e4m3/auto") == (
        (Dtype.BF16, Dtype.BF16),
        (Dtype.FP8, Dtype.FP8),
    )
    with pytest.raises(UsageError, match="for a KV cache only"):
        shape(q_dtype="auto")


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("fp8_e5m2", "unknown data type 'fp8_e5m2'"),
        ("float8_e5m2", "unknown data type 'float8_e5m2'"),
        (("torch.uint8", "bfloat16"), "a KV cache of byte does not hold bf16"),
        (("torch.bfloat16", "fp8"), "a KV cache of bf16 does not hold fp8"),
        (("torch.uint8",), "unknown data type"),
        (("torch.uint8", "fp8", "x"), "unknown data type"),
        (b"fp8", "unknown data type b'fp8'"),
        (None, "unknown data type None"),
    ],
)
def test_what_no_kv_cache_is(word: Any, message: str) -> None:
    with pytest.raises(UsageError, match="^" + message):
        shape(kv_dtype=word)


def test_e5m2_is_answered_with_what_the_kernels_read() -> None:
    with pytest.raises(UsageError) as raised:
        shape(kv_dtype="fp8_e5m2")
    assert "e4m3" in str(raised.value.hint)


def test_torch_dtypes_and_a_word() -> None:
    torch = pytest.importorskip("torch")
    assert shape(kv_dtype=torch.uint8).kv_dtype is Dtype.BYTE
    assert shape(kv_dtype=(torch.uint8, "fp8_e4m3")).kv_dtype is Dtype.FP8
    assert shape(q_dtype=torch.bfloat16, kv_dtype="auto").dtype == "bf16/bf16"


def test_text_in_what_the_planner_is_told() -> None:
    written = {
        "num_heads": "32",
        "q_dtype": "fp8_e4m3",
        "kv_dtype": None,
        "uniform_qlen": "-1",
        "fast_mode": "false",
        "intra_batch_mode": "1",
        "max_split_per_batch": "32",
        "cp_round_robin": "true",
    }
    meant = PlannerCall(
        num_heads=32,
        q_dtype=Dtype.FP8,
        kv_dtype=None,
        uniform_qlen=-1,
        fast_mode=False,
        intra_batch_mode=True,
        max_split_per_batch=32,
        cp_round_robin=True,
    )
    assert shape(planner=written).planner == meant
    options = [f"{name}={'none' if value is None else value}" for name, value in written.items()]
    assert parse_planner("--planner", options) == meant


def test_what_is_usual_is_not_told() -> None:
    usual = {"fast_mode": True, "intra_batch_mode": 0, "max_split_per_batch": -1}
    assert PlannerCall.of(usual) == PlannerCall()
    assert PlannerCall().overrides == {}


@pytest.mark.parametrize(
    "told",
    [
        {"num_heads": "x"},
        {"num_heads": -1},
        {"qlen": 0},
        {"uniform_qlen": 0},
        {"max_split_per_batch": 0},
        {"max_split_per_batch": -2},
        {"fast_mode": "maybe"},
        {"fast_mode": 2},
        {"fast_mode": None},
        {"num_heads": 1.5},
        {"q_dtype": "auto"},
        {"speed": 1},
        {1: 1},
        [("num_heads", 16)],
        "num_heads=16",
        16,
    ],
)
def test_what_no_planner_is_told(told: Any) -> None:
    with pytest.raises(UsageError):
        shape(planner=told)


def test_numbers_that_are_not_pythons_own() -> None:
    numpy = pytest.importorskip("numpy")
    made = shape(num_heads=numpy.int32(16), qlen=numpy.int64(2), batch=numpy.uint8(7))
    assert made == shape(num_heads=16, qlen=2, batch=7)
    assert {type(made.num_heads), type(made.qlen), type(made.batch)} == {int}
    assert shape(lse=numpy.bool_(True)).lse is True
    asked = request(qlens=numpy.array([4, 1]), num_heads=numpy.int64(16))
    assert asked.qlens == (1, 4)
    assert {type(n) for n in (*asked.qlens, asked.num_heads)} == {int}
    wrong: tuple[Any, ...] = (numpy.float32(16), numpy.bool_(True), numpy.array([16, 17]))
    for each in wrong:
        with pytest.raises(UsageError):
            shape(num_heads=each)


@pytest.mark.parametrize("name", ["lse", "persistent", "causal", "cp_round_robin"])
def test_flags_are_no_text(name: str) -> None:
    assert getattr(shape(**{name: 1}), name) is True
    assert getattr(shape(**{name: 0}), name) is False
    odd: tuple[Any, ...] = ("false", "true", "", None, 2, -1, [], 0.0)
    for wrong in odd:
        with pytest.raises(UsageError, match=f"{name} must be true or false"):
            shape(**{name: wrong})


def test_environments() -> None:
    pairs = (("B", "2"), ("A", "1"))
    assert shape(env=pairs) == shape(env=dict(pairs)) == shape(env=list(pairs))
    assert shape(env=pairs).env == (("A", "1"), ("B", "2"))
    wrong: list[Any] = [{"A": 1}, {1: "A"}, {"": "1"}, {"A=B": "1"}, {"A": "\0"}, "A=1", 5, None]
    for env in [*wrong, ["A"], [("A", "1", "2")], [("A", "1"), ("A", "2")], [b"A1"]]:
        with pytest.raises(UsageError, match=r"^env"):
            shape(env=env)


def test_messages_are_short() -> None:
    for name in ("num_heads", "arch", "kv_dtype", "lse", "env", "route", "planner"):
        with pytest.raises(UsageError) as raised:
            shape(**{name: ["x" * 10**6]})
        assert len(raised.value.message) < 200


@given(st.integers(-(2**40), 2**40))
def test_whole_numbers_are_those_in_range(number: int) -> None:
    if 1 <= number <= LARGEST:
        assert whole(number, "n") == number
    else:
        with pytest.raises(UsageError):
            whole(number, "n")
    if number == -1 or 1 <= number <= LARGEST:
        assert whole(str(number), "n", unset=-1, text=True) == number
    else:
        with pytest.raises(UsageError):
            whole(str(number), "n", unset=-1, text=True)


# --- odd values for every argument ---------------------------------------------------------------


class Odd:
    """Looks like a number and is none."""

    def __index__(self) -> int:
        raise RuntimeError("no index")


WORDS = ["", " ", "x", "fp8", "auto", "gfx950", "MI300X", "asm", "false", "\0", "-1", "1e3", "٣"]
ODD: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.binary(max_size=4),
    st.sampled_from(WORDS),
    st.text(max_size=6),
    st.lists(st.one_of(st.integers(), st.text(max_size=2)), max_size=3),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=2),
    st.tuples(st.sampled_from(WORDS), st.sampled_from(WORDS)),
    st.sampled_from([Dtype.FP8, Route.ASM, SAME, object, Odd(), 10**40, -(10**40), 1j]),
)
ARGUMENTS: dict[str, Any] = {
    **PLAIN,
    **{"qlens": (1,), "lse": False, "mode": "auto", "page_size": 1, "route": "auto"},
    **{"causal": True, "cp_round_robin": False, "kv_len": None, "batch": None, "env": ()},
    **{"persistent": True, "pad_qlen": False, "planner": None, "strategy": "tile"},
}
SHARED = Fake(native=lambda shape: shape.num_heads in (16, 64, 128))
"""Asked by all examples, so that odd values meet what is remembered of others."""


def request(**changes: Any) -> Any:
    """What the arguments of ``plan`` come to."""
    return request_of({**ARGUMENTS, **changes})


def planned(**changes: Any) -> PadPlan:
    return plan(capability=SHARED, **{**ARGUMENTS, **changes})


def taken(make: Callable[..., Any], name: str, value: Any) -> Any:
    """What is made with an odd value; ``None`` where it is refused as it has to be."""
    try:
        return make(**{name: value})
    except UsageError:
        return None


def normal(shape: DecodeShape) -> bool:
    """Whether a shape has what it says that it has, and no look-alikes."""
    flags = (shape.lse, shape.persistent, shape.causal, shape.cp_round_robin)
    numbers = (shape.num_heads, shape.qlen, shape.page_size, shape.batch or 1)
    return (
        type(shape.arch) is str
        and shape.arch.startswith("gfx")
        and {type(shape.q_dtype), type(shape.kv_dtype)} == {Dtype}
        and {type(flag) for flag in flags} == {bool}
        and all(type(n) is int and 1 <= n <= LARGEST for n in numbers)
        and all(type(word) is str for pair in shape.env for word in pair)
        and type(shape.route) is Route
        and type(shape.planner) is PlannerCall
    )


@pytest.mark.parametrize("name", [f.name for f in fields(DecodeShape) if f.init])
@settings(max_examples=30)
@given(value=ODD)
def test_odd_values_in_a_shape(name: str, value: Any) -> None:
    made = taken(shape, name, value)
    assert made is None or (normal(made) and made == made and isinstance(hash(made), int))


@pytest.mark.parametrize("name", [f.name for f in fields(PlannerCall)])
@settings(max_examples=30)
@given(value=ODD)
def test_odd_values_in_what_a_planner_is_told(name: str, value: Any) -> None:
    made = taken(PlannerCall, name, value)
    if made is not None:
        found = getattr(made, name)
        assert found is None or found is SAME or type(found) in (int, bool, Dtype)
        assert PlannerCall(**{name: found}) == made  # what it became is taken as it is


@pytest.mark.parametrize("name", sorted(ARGUMENTS))
@settings(max_examples=30)
@given(value=ODD)
def test_odd_arguments_of_a_plan(name: str, value: Any) -> None:
    made = taken(planned, name, value)
    if made is not None:
        assert type(made.num_heads) is int
        assert made.arch.startswith("gfx")
        assert {type(qlen) for qlen in made.qlens} == {int}
        assert {type(made.lse), type(made.persistent)} == {bool}
        assert all(normal(decision.shape) for decision in made.decisions)
        assert made.line


@pytest.mark.parametrize(
    ("written", "count"),
    [
        *((5 << 30, 5 << 30), ("5GiB", 5 << 30), ("5 GB", 5 << 30), ("5g", 5 << 30)),
        *(("5000000000", 5 * 10**9), ("64KiB", 65536), (" 1TiB ", 1 << 40), ("1", 1)),
    ],
)
def test_a_size_of_memory(written: object, count: int) -> None:
    assert byte_count(written, "kv_cache_bytes") == count
    assert shape(kv_cache_bytes=written).kv_cache_bytes == count


@pytest.mark.parametrize(
    "written", ["", "4.5GiB", "GiB", "-1", "0", "5GiBs", "5 5", 0, -1, True, 1.5, 1 << 63]
)
def test_what_is_no_size(written: object) -> None:
    with pytest.raises(UsageError, match="kv_cache_bytes"):
        shape(kv_cache_bytes=written)


@pytest.mark.parametrize(
    ("count", "words"),
    [(4 << 30, "4 GiB"), (3 << 29, "1.5 GiB"), ((4 << 30) + 8, "4294967304 bytes"), (7, "7 bytes")],
)
def test_a_size_in_words(count: int, words: str) -> None:
    assert bytes_in_words(count) == words


def test_splits_and_sparse_metadata() -> None:
    assert shape(num_kv_splits=2, sparse=1).sparse is True
    for wrong in ({"num_kv_splits": 0}, {"num_kv_splits": "2"}, {"sparse": "yes"}):
        with pytest.raises(UsageError):
            shape(**wrong)
