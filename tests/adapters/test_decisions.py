"""Where the adapters answer something else than the engines' own functions, as recorded: for 1 to
128 heads, by v0.1.20.post1. vLLM pins a newer AITER, so that its differences are no faults."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

import mlaprobe
from mlaprobe.adapters import atom, sglang, vllm
from mlaprobe.adapters.settings import configure
from mlaprobe.core.protocols import Decider
from tools import engines
from tools.engine_decisions import DECISIONS, HEADS, Decision, answers

ADAPTERS: Mapping[str, Any] = {"vllm": vllm, "sglang": sglang, "atom": atom}
RUN: Mapping[str, Any] = {
    "_asm_dcp_verify_heads": {"q_dtype": "fp8", "qlens": (4,), "lse": True},
}
"""What is configured besides the arch, for functions whose arguments do not say it."""


@cache
def source(spec: str) -> Decider:
    return mlaprobe.probe(spec)


def differences(
    name: str, decision: Decision, arch: str, spec: str = "release:v0.1.20.post1"
) -> dict[str, dict[str, str]]:
    """By question, and by head counts, the engine's answer and the adapter's."""
    configure(capability=source(spec), arch=arch, **RUN.get(decision.function, {}))
    function: Any = ADAPTERS[name]
    for part in decision.function.removeprefix("AiterAttnBackend.").split("."):
        function = getattr(function, part)
    recorded = json.loads((engines.RECORDED / f"{name}.json").read_text("utf-8"))
    theirs = [
        {**each, "asked": {k: v for k, v in each["asked"].items() if k != "arch"}}
        for each in recorded["decisions"][decision.function]
        if each["asked"].get("arch", arch) == arch
    ]
    found = {}
    for their, our in zip(theirs, answers(decision, function), strict=True):
        assert their["asked"] == our["asked"]
        pairs = list(zip(_each(their["answers"]), _each(our["answers"]), strict=True))
        where = " ".join(f"{key}={value}" for key, value in our["asked"].items())
        unequal = _spans(pairs, alone=not decision.heads)
        if unequal:
            found[where] = unequal
    return found


def _each(answers: Mapping[str, Any]) -> list[Any]:
    found: list[Any] = []
    for n in HEADS:
        found.append(answers.get(str(n), found[-1] if found else None))
    return found


def _spans(pairs: list[tuple[Any, Any]], *, alone: bool) -> dict[str, str]:
    found = {}
    for (theirs, ours), each in groupby(zip(HEADS, pairs, strict=True), lambda pair: pair[1]):
        counts = [n for n, _ in each]
        if theirs != ours:
            span = str(counts[0]) if len(counts) == 1 else f"{counts[0]}-{counts[-1]}"
            found["" if alone else span] = f"{theirs} {ours}"
    return found


NO_ROUND_ROBIN = "gfx942 has no round-robin kernel: ours is 0 or False wherever theirs is not"
EXPECTED: Mapping[tuple[str, str], Mapping[str, Mapping[str, str]]] = {
    # Nothing merges 80 and 112 heads of width 128 (csrc/kernels/mla/reduce.cu). Nothing runs an fp8
    # prefill on gfx942: both keep the next multiple of 16.
    ("AiterMLAHelper.get_fp8_prefill_num_heads", "gfx950"): {
        "": {"65-80": "80 96", "97-112": "112 128"}
    },
    # 96 heads are folded to 16 of two tokens, for which there is no kernel; a newer AITER has one.
    # On gfx942 there is none at any count.
    ("AiterMLAHelper.has_fp8_non_causal_qlen2_kernel", "gfx942"): {
        "": dict.fromkeys(("17-32", "49-64", "81-96", "113-128"), "True False")
    },
    ("AiterMLAHelper.has_fp8_non_causal_qlen2_kernel", "gfx950"): {"": {"81-96": "True False"}},
    # SGLang's table is of an AITER before v0.1.20, whose reducer has 48, 96 and 24 heads besides.
    **{
        ("AiterAttnBackend.check_fp8_prefill_num_head", arch): {
            "v_head_dim=128": {"41-48": "64 48", "65-96": "128 96"},
            "v_head_dim=512": {"17-24": "32 24"},
        }
        for arch in ("gfx942", "gfx950")
    },
    # Kernels of the table (hsa/gfx950/mla/mla_asm.csv, cprr 1): 16 heads from three tokens on, 32
    # from two, 64 and 128 from one. 96 heads are of a newer AITER.
    ("_asm_cprr_supports_shape", "gfx950"): {
        "q_len=1": {"16": "True False", "64": "False True", "96": "True False"},
        "q_len=2": {
            **{"16": "True False", "32": "False True"},
            **{"64": "False True", "96": "True False"},
        },
        "q_len=4": {"64": "False True", "96": "True False"},
        **{
            f"q_len={n}": {"32": "False True", "64": "False True", "96": "True False"}
            for n in (3, 5, 6)
        },
        **{f"q_len={n}": {"32": "False True", "64": "False True"} for n in (7, 8)},
    },
    ("_asm_cprr_kernel_heads", "gfx950"): {
        "q_len=1": {"1-16": "16 64", "17-64": "96 64", "65-96": "96 128"},
        "q_len=2": {
            **{"1-16": "16 32", "17-32": "96 32"},
            **{"33-64": "96 64", "65-96": "96 128"},
        },
        "q_len=4": {"33-64": "96 64", "65-96": "96 128"},
        **{
            f"q_len={n}": {"17-32": "96 32", "33-64": "96 64", "65-96": "96 128"} for n in (3, 5, 6)
        },
        **{f"q_len={n}": {"17-32": "128 32", "33-64": "128 64"} for n in (7, 8)},
    },
    # With metadata, gfx942 writes the log-sum-exp of 64 heads of fp8 and of no other count: above
    # them, and in bf16, ours is the next multiple of 16, with a warning. Without, 32 heads of fp8
    # and 48 and 64 heads of bf16 have no kernel there.
    ("mla_dcp_kernel_num_heads", "gfx942"): {
        "dcp_world_size=1 kv_cache_dtype=bf16 persistent=True": {
            **{"33-48": "64 48", "65-80": "128 80"},
            **{"81-96": "128 96", "97-112": "128 112"},
        },
        "dcp_world_size=1 kv_cache_dtype=bf16 persistent=False": {"33-64": "64 128"},
        "dcp_world_size=1 kv_cache_dtype=fp8 persistent=True": {
            **{"1-16": "16 64", "17-32": "32 64", "65-80": "128 80"},
            **{"81-96": "128 96", "97-112": "128 112"},
        },
        "dcp_world_size=1 kv_cache_dtype=fp8 persistent=False": {"17-32": "32 128"},
    },
    # With one token a fold is right, and ours takes the count that is folded. Without metadata, 32
    # heads have no kernel, and 16 heads are merged wrong (emulated-merge-fp8-16).
    ("mla_dcp_kernel_num_heads", "gfx950"): {
        **{
            f"dcp_world_size=1 kv_cache_dtype={dtype} persistent=True": {
                **{"33-48": "64 48", "65-80": "128 80"},
                **{"81-96": "128 96", "97-112": "128 112"},
            }
            for dtype in ("bf16", "fp8")
        },
        "dcp_world_size=1 kv_cache_dtype=fp8 persistent=False": {
            **{"1-16": "16 128", "17-32": "32 128"},
        },
    },
    # There is no gluon on gfx942, whatever the cache's size.
    ("_gluon_kv_cache_in_bounds", "gfx942"): {
        f"kv_cache_bytes={size}": {"": "True False"} for size in (None, 1 << 30, 1 << 31)
    },
    # Gluon reads beyond 2 GiB in v0.1.18 and v0.1.19 only: in v0.1.20 that was mended.
    ("_gluon_kv_cache_in_bounds", "gfx950"): {
        f"kv_cache_bytes={3 << 30}": {"": "False True"},
    },
    ("AiterMLAHelper.use_gluon_decode", "gfx950"): {
        f"max_qo_len=1 kv_cache_dtype={dtype} kv_cache_bytes={3 << 30}": dict.fromkeys(
            ("1-2", "4", "8"), "False True"
        )
        for dtype in ("auto", "bfloat16")
    },
    # No fp8 of two tokens without a mask on gfx942: ours is 16, with a warning.
    ("mla_min_query_heads", "gfx942"): {"kv_cache_dtype=fp8 block_width=2": {"": "32 16"}},
}


CASES = [
    pytest.param(name, decision, arch, id=f"{decision.function}-{arch}")
    for name, decisions in DECISIONS.items()
    for decision in decisions
    for arch in ("gfx942", "gfx950")
]


def expect(name: str, decision: Decision, arch: str, spec: str) -> None:
    found = differences(name, decision, arch, spec)
    if arch == "gfx942" and "cprr" in decision.function:
        ours = {pair.split()[1] for spans in found.values() for pair in spans.values()}
        assert len(found) == len(list(decision.questions()))
        assert ours <= {"0", "False"}, NO_ROUND_ROBIN
    elif decision.function == "_asm_dcp_verify_heads" and arch == "gfx942":
        assert {pair.split()[1] for pair in found[""].values()} == {"0"}, NO_ROUND_ROBIN
    else:
        assert found == EXPECTED.get((decision.function, arch), {})


@pytest.mark.parametrize(("name", "decision", "arch"), CASES)
def test_adapter_and_engine_differ_where_it_is_known_why(
    name: str, decision: Decision, arch: str
) -> None:
    expect(name, decision, arch, "release:v0.1.20.post1")


@pytest.mark.parametrize(("name", "decision", "arch"), CASES)
def test_they_differ_alike_at_the_aiter_that_the_engine_names(
    aiter_git: Path, name: str, decision: Decision, arch: str
) -> None:
    """So a difference is no matter of releases: an image recipe of SGLang takes a commit between
    v0.1.19 and v0.1.20. vLLM pins a release that is newer than all that were read."""
    pin = engines.ENGINES[name].aiter
    if pin is None:
        pytest.skip(f"{name} names no AITER")
    command = ["git", "--git-dir", str(aiter_git), "cat-file", "-e", f"{pin}^{{commit}}"]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip(f"{name} pins {pin}, which is newer than the repository at hand")
    expect(name, decision, arch, f"{aiter_git}@{pin}")
