"""How the planner is told to split the work: by which mode, into how many parts, round robin."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from mlaprobe.core.shape import DecodeShape, StageOutcome, Verdict
from mlaprobe.deciding.capability import Capability
from tests.stages.ask import BF16, FP8, ask, opened, shape
from tests.trees import today
from tests.trees.common import Tree, changed

EVEN: dict[str, Any] = {"fast_mode": False, "intra_batch_mode": True, "max_split_per_batch": 32}
"""Every request is split alike: SGLang's usual call."""

EVEN_PLANNER = """\
void plan_evenly(const aiter_tensor_t& seqlens_kv_indptr, const int32_t heads_in,
                 const int32_t qlen_in, const int32_t parts)
{
    int32_t num_batches   = seqlens_kv_indptr.size(0) - 1;
    int32_t num_heads     = heads_in;
    int32_t uni_seqlen_qo = qlen_in;
    AITER_CHECK(parts > 0, __func__, ": the parts must be limited");
    if(num_heads < 128 && num_heads % 16 == 0)
    {
        num_batches *= num_heads / 16;
        num_heads = 16;
    }
    if(num_heads == 128)
    {
        num_batches *= uni_seqlen_qo;
        uni_seqlen_qo = 1;
    }
    AITER_CHECK(num_heads == 16 || num_heads == 128, __func__, ": no even plan");
    PlanParams params    = {};
    params.num_batches   = num_batches;
    params.num_heads     = heads_in;
    params.uni_seqlen_qo = uni_seqlen_qo;
    kn_plan<16><<<dim3(1, 1, 1), 64, 0, nullptr>>>(params);
}

// Plans the work of a persistent launch.
"""
CALL = (
    "    get_mla_metadata_v1_2_device(seqlens_qo_indptr, seqlens_kv_indptr, num_heads_per_head_k,\n"
)
MODES = """\
    AITER_CHECK(!is_cp_round_robin || num_heads_per_head_k == 16, __func__, ": not in turn");
    AITER_CHECK(max_split_per_batch < 100, __func__, ": too many parts");
    if(!fast_mode && intra_batch_mode)
    {
        plan_evenly(seqlens_kv_indptr, num_heads_per_head_k, uni_seqlen_qo, max_split_per_batch);
        return;
    }
    AITER_CHECK(fast_mode, __func__, ": there is no slow plan");
"""


def tree() -> Tree:
    """A release that takes all of it, and looks at it in planner, sizing and dispatcher."""
    binding = (
        ("// Plans the work of a persistent launch.\n", EVEN_PLANNER),
        (
            "const int32_t uni_seqlen_qo,\n",
            "const int32_t uni_seqlen_qo, const bool fast_mode, const int32_t max_split_per_batch,"
            "\n const bool intra_batch_mode, const bool is_cp_round_robin,\n",
        ),
        (CALL, MODES + CALL),
    )
    sizing = (
        (
            "    fast_mode: bool = True,\n",
            "    fast_mode: bool = True,\n    intra_batch_mode: bool = False,\n"
            "    max_split_per_batch: int = -1,\n",
        ),
        (
            "    tiles = math.ceil(",
            "    assert max_split_per_batch != 77, 'no 77 parts'\n"
            "    assert fast_mode or num_head_qo != 112\n"
            "    assert not intra_batch_mode or num_head_qo != 96\n    tiles = math.ceil(",
        ),
    )
    passed = (
        ("    return_lse=False,\n):\n", "    return_lse=False,\n    intra_batch_mode=False,\n):\n"),
        (
            "    total_s, nhead, v_head_dim = o.shape\n    ori_total_s",
            "    assert not intra_batch_mode or o.shape[1] != 80\n"
            "    total_s, nhead, v_head_dim = o.shape\n    ori_total_s",
        ),
    )
    made = changed(today.tree(), today.BINDING, *binding)
    return changed(changed(made, today.OPS, *sizing), today.DISPATCHER, *passed)


@pytest.fixture(scope="module")
def takes(tmp_path_factory: pytest.TempPathFactory) -> Capability:
    return opened(tmp_path_factory.mktemp("modes"), tree())


def planner(found: Capability, heads: int, qlen: int = 1, **told: Any) -> StageOutcome:
    return found.ask("planner", shape("gfx950", FP8, heads, qlen, planner=told))


def test_the_other_plan_is_followed(takes: Capability) -> None:
    for heads in (16, 32, 48, 64):
        fast, even = planner(takes, heads), planner(takes, heads, **EVEN)
        assert even.fold == heads // 16
        assert even.final_heads == 16
        assert fast.status == ("fold" if heads == 48 else "native")
    assert planner(takes, 24, **EVEN).status == "rejected"
    assert planner(takes, 32, **EVEN).status == "fold"  # asked both ways in turn
    assert planner(takes, 32).status == "native"


def test_each_of_them_gets_to_the_planner(takes: Capability) -> None:
    refusals: dict[str, dict[str, Any]] = {
        "there is no slow plan": {"fast_mode": False},
        "the parts must be limited": {"fast_mode": False, "intra_batch_mode": True},
        "too many parts": {"max_split_per_batch": 100},
        "not in turn": {"cp_round_robin": True},
    }
    for why, told in refusals.items():
        outcome = planner(takes, 32, **told)
        assert (outcome.status, outcome.message) == ("rejected", why)
    assert planner(takes, 32, intra_batch_mode=True).status == "native"  # fast_mode comes first
    assert planner(takes, 32, max_split_per_batch=99).status == "native"


def test_round_robin_is_as_launched_unless_said(takes: Capability) -> None:
    launched = shape("gfx950", FP8, 32, cp_round_robin=True)
    assert takes.ask("planner", launched).status == "rejected"
    told = shape("gfx950", FP8, 32, cp_round_robin=True, planner={"cp_round_robin": False})
    assert takes.ask("planner", told).status == "native"


def test_sizing_and_dispatcher_get_theirs(takes: Capability) -> None:
    def status(stage: str, heads: int, **told: Any) -> str:
        return takes.ask(stage, shape("gfx950", BF16, heads, planner=told)).status

    assert status("sizing", 16, max_split_per_batch=77) == "rejected"
    assert status("sizing", 112, fast_mode=False) == "rejected"
    assert status("sizing", 96, intra_batch_mode=True) == "rejected"
    assert {status("sizing", heads) for heads in (16, 96, 112)} == {"accepted"}
    assert status("dispatcher", 80, intra_batch_mode=True) == "rejected"
    assert status("dispatcher", 80, fast_mode=False) == status("dispatcher", 80) == "native"


def test_what_they_come_to_together(takes: Capability) -> None:
    usual, even = ask(takes, "gfx950", FP8, 32), ask(takes, "gfx950", FP8, 32, planner=EVEN)
    assert usual.verdict is Verdict.NATIVE
    assert even.verdict is Verdict.INCOHERENT
    assert "folds the batch by 2" in str(even.message)
    assert ask(takes, "gfx950", FP8, 16, planner=EVEN).verdict is Verdict.NATIVE


def test_tokens_that_become_requests_are_not_judged(takes: Capability) -> None:
    assert planner(takes, 128, 1, **EVEN).status == "native"
    split = planner(takes, 128, 2, **EVEN)
    assert split.status == "unknown"
    assert "up to the planner's device code" in str(split.message)
    assert [e.file for e in split.evidence] == [today.BINDING]
    assert ask(takes, "gfx950", FP8, 128, 2, planner=EVEN).verdict is Verdict.UNKNOWN


def test_what_a_release_does_not_take_has_no_effect_and_a_note(tmp_path: Path) -> None:
    found = opened(tmp_path, today.tree())
    usual = ask(found, "gfx950", FP8, 32)
    for name, value in {**EVEN, "cp_round_robin": True}.items():
        told = ask(found, "gfx950", FP8, 32, planner={name: value})
        assert told.verdict is usual.verdict
        assert told.notes == (*usual.notes, f"the planner's {name} has no effect in this release")
    away = ask(found, "gfx950", BF16, 16, persistent=False, planner=EVEN)
    assert not any("planner" in note for note in away.notes)  # it is not asked


# --- real releases -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def at(aiter_git: Path) -> Any:
    return lru_cache(maxsize=2)(lambda release: Capability.open(f"{aiter_git}@{release}"))


def both(at: Any, release: str, heads: int, where: str, qlen: int = 1) -> tuple[str, str]:
    """The verdicts of AITER's usual plan and of the even one."""
    arch, dtype = where.split()
    q_dtype, kv_dtype = dtype.split("/")
    plain = DecodeShape(arch=arch, q_dtype=q_dtype, kv_dtype=kv_dtype, num_heads=heads, qlen=qlen)  # type: ignore[arg-type]
    even = DecodeShape(
        **{name: getattr(plain, name) for name in ("arch", "q_dtype", "kv_dtype", "num_heads")},
        qlen=qlen,
        planner=EVEN,  # type: ignore[arg-type]
    )
    found = tuple(at(release).judge(each) for each in (plain, even))
    return found[0].verdict.value, found[1].verdict.value


# From v1_0_device.cuh and v1_2_device.cuh of each release: the even plan has tiles of 16 and 128
# heads only, whatever the arch and the dtypes, and folds every other multiple of 16 to 16.
@pytest.mark.parametrize(
    ("release", "where", "heads", "expected"),
    [
        ("v0.1.20", "gfx950 bf16/bf16", 16, ("NATIVE", "NATIVE")),
        ("v0.1.20", "gfx950 bf16/bf16", 24, ("NATIVE", "REJECTED")),
        ("v0.1.20", "gfx950 bf16/bf16", 48, ("NATIVE", "INCOHERENT")),
        ("v0.1.20", "gfx950 bf16/bf16", 80, ("NATIVE", "INCOHERENT")),
        ("v0.1.20", "gfx950 bf16/bf16", 96, ("NATIVE", "INCOHERENT")),
        ("v0.1.20", "gfx950 bf16/bf16", 112, ("NATIVE", "INCOHERENT")),
        ("v0.1.20", "gfx950 fp8/fp8", 32, ("NATIVE", "INCOHERENT")),
        ("v0.1.20", "gfx950 fp8/fp8", 48, ("FOLDED", "FOLDED")),
        ("v0.1.20", "gfx950 fp8/fp8", 128, ("NATIVE", "NATIVE")),
        ("v0.1.20", "gfx942 bf16/bf16", 48, ("FOLDED", "FOLDED")),
        ("v0.1.20", "gfx942 bf16/bf16", 128, ("FOLDED", "INCOHERENT")),
        ("v0.1.12", "gfx942 fp8/fp8", 112, ("FOLDED", "FOLDED")),
        ("v0.1.12", "gfx942 fp8/fp8", 128, ("NATIVE", "NATIVE")),
        ("v0.1.12", "gfx950 fp8/fp8", 128, ("FOLDED", "INCOHERENT")),
    ],
)
def test_known_answers(
    at: Any, release: str, where: str, heads: int, expected: tuple[str, str]
) -> None:
    assert both(at, release, heads, where) == expected


@pytest.mark.parametrize(
    ("arch", "parts", "verdict"),
    [
        ("gfx950", -1, Verdict.ERRATUM),
        ("gfx950", 32, Verdict.NATIVE),
        ("gfx942", -1, Verdict.NATIVE),
    ],
)
def test_without_a_limit_the_even_plan_is_empty(
    at: Any, arch: str, parts: int, verdict: Verdict
) -> None:
    """``get_local_splits`` of v1_0_device.cuh: the smallest of three numbers, -1 among them; for
    gfx942 a constant."""
    asked = shape(arch, BF16, 16, planner={**EVEN, "max_split_per_batch": parts})
    assert at("v0.1.20").decide(asked).verdict is verdict


SWEPT = ("v0.1.9", "v0.1.14", "v0.1.20.post1")
INNER: list[dict[str, Any]] = [
    EVEN,
    {"intra_batch_mode": True},
    {"max_split_per_batch": 16},
    {"cp_round_robin": True},
]


@pytest.mark.parametrize("release", SWEPT)
@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_nothing_is_unknown_but_tokens_as_requests(at: Any, release: str, arch: str) -> None:
    found: Capability = at(release)
    for q_dtype, kv_dtype in (BF16, ("bf16", "fp8"), FP8):
        for heads in (1, 7, *range(8, 129, 8)):
            for qlen in (1, 2, 3, 4, 8):
                for told in INNER:
                    asked = shape(arch, (q_dtype, kv_dtype), heads, qlen, planner=told)
                    unknown = found.judge(asked).verdict is Verdict.UNKNOWN
                    assert not unknown or (told is EVEN and heads == 128 and qlen > 1), asked


@pytest.mark.parametrize("release", ["v0.1.7.post3", "v0.1.12", "v0.1.20"])
def test_limits_and_round_robin_are_the_devices_business(at: Any, release: str) -> None:
    """The host function hands both to its device code and decides nothing by them."""
    for arch, dtypes, heads, qlen in (
        (a, d, h, q) for a in ("gfx942", "gfx950") for d in (BF16, FP8) for h in range(8, 129, 8)
        for q in (1, 2, 4)
    ):  # fmt: skip
        usual = at(release).ask("planner", shape(arch, dtypes, heads, qlen))
        for told in ({"max_split_per_batch": 16}, {"cp_round_robin": True}):
            other = at(release).ask("planner", shape(arch, dtypes, heads, qlen, planner=told))
            assert (other.status, other.fold, other.final_heads) == (
                *(usual.status, usual.fold, usual.final_heads),
            )
