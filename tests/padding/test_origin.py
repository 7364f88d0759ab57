"""What a plan is of, and what to pass to AITER's functions for it."""

from __future__ import annotations

import ast
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from mlaprobe.core.releases import is_release, release_key
from mlaprobe.core.shape import Decision, DecodeShape, PlannerCall, Verdict
from mlaprobe.errors import UsageError
from mlaprobe.opening import bundled, probing
from mlaprobe.padding.api import plan
from mlaprobe.padding.origin import PlanSource, origin_of
from mlaprobe.padding.plan import PadPlan
from mlaprobe.rulefiles import arguments
from mlaprobe.rulefiles.loader import load_rules
from tests.padding.fake import Fake, later
from tests.trees import today
from tests.trees.common import write

GIT = os.environ.get("MLAPROBE_AITER_GIT")
ATTENTION = "aiter/ops/attention.py"
METADATA, SIZING, DECODE = "get_mla_metadata_v1", "get_mla_metadata_info_v1", "mla_decode_fwd"


def made(capability: Any, heads: int = 48, **more: Any) -> PadPlan:
    asked = {"arch": "gfx950", "q_dtype": "fp8", "kv_dtype": "fp8", **more}
    return plan(heads, capability=capability, **asked)


class OnlySixtyFour:
    """All that a test of a back end needs."""

    archs = ("gfx950",)

    def decide(self, shape: DecodeShape) -> Decision:
        verdict = Verdict.NATIVE if shape.num_heads == 64 else Verdict.FOLDED
        return Decision(shape=shape, verdict=verdict, fold=1 if shape.num_heads == 64 else 3)


def test_a_capability_need_not_say_what_it_is() -> None:
    found = made(OnlySixtyFour())
    assert found.source is None
    assert found.line.endswith(
        "launch 64 heads on the asm route, NATIVE; AITER of an unknown source"
    )


def test_a_line_for_a_log() -> None:
    found = made(later(release="v0.1.21"), qlens=(1, 2, 4), lse=True)
    assert (
        found.line
        == str(found)
        == (
            "gfx950 fp8/fp8, 48 heads, qlen 1,2,4, with log-sum-exp, mode auto: "
            "launch 64 heads on the asm route, NATIVE; AITER v0.1.21 (fake)"
        )
    )
    assert "\n" not in found.line
    flat = made(later(), persistent=False)
    assert "on the asm route, non-persistent, NATIVE" in flat.line


def test_a_source_that_is_no_release_is_said_to_be_nearest_to_one() -> None:
    source = PlanSource(
        label="~/aiter", kind="directory", release=None, nearest="v0.1.20", differing=3
    )
    assert str(source) == "an AITER nearest to v0.1.20, 3 files differ (~/aiter)"
    nowhere = PlanSource(label="x", kind="directory", release=None, commit="0123456789abcdef")
    assert str(nowhere) == "an AITER of unknown release (x, commit 0123456789ab)"


def test_a_directory_without_a_release_has_the_nearest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = write(tmp_path, today.tree())
    live: Any = probing.probe(str(tree))
    known = {
        "v1.0": {"aiter/mla.py": live.source.blob("aiter/mla.py"), "csrc/none.cu": "0" * 40},
        "v2.0": {"aiter/mla.py": "1" * 40, "csrc/none.cu": "0" * 40},
    }
    monkeypatch.setattr("mlaprobe.sources.closest_release.release_files", lambda: known)
    assert live.source.release is None
    found = origin_of(live).source
    assert found is not None
    assert (found.release, found.nearest, found.kind) == (None, "v1.0", "directory")
    assert found.differing == 1
    # The same files, and yet it does not say that it is that release.
    known["v1.0"]["csrc/none.cu"] = "-"
    same = origin_of(live).source
    assert same is not None
    assert (same.release, same.nearest, same.differing) == (None, "v1.0", 0)
    assert str(same).startswith("an AITER with the files of v1.0 (")


@pytest.mark.skipif(not bundled.releases(), reason="no release is bundled: make releases")
def test_a_bundled_release_has_its_commit() -> None:
    newest = str(bundled.newest())
    found = made(probing.probe(f"release:{newest}")).source
    assert found is not None
    assert (found.label, found.kind, found.release) == (f"release:{newest}", "release", newest)
    assert bundled.of_commit(found.commit) == newest


def test_the_settings_of_one_launch_are_plain() -> None:
    found = made(later(), qlens=(1, 4))
    assert found.settings["max_seqlen_qo"] == (1, 4)
    for qlen in (1, 4):
        assert found.settings_for(qlen) == {
            **{"num_heads_per_head_k": 64, "num_heads_k": 1, "is_causal": True, "page_size": 1},
            **{"kv_granularity": 32, "max_seqlen_qo": qlen, "uni_seqlen_qo": qlen},
            **{"fast_mode": True, "intra_batch_mode": False, "max_split_per_batch": -1},
            **{"is_cp_round_robin": False},
            **{"dtype_q": "fp8", "dtype_kv": "fp8"},
        }
        assert {type(value) for value in found.settings_for(qlen).values()} == {int, bool, str}
    assert found.settings_for(4, SIZING) == {
        **{"max_seqlen_qo": 4, "num_head_qo": 64, "q_dtype": "fp8", "kv_dtype": "fp8"},
        **{"fast_mode": True, "intra_batch_mode": False, "max_split_per_batch": -1},
    }
    assert found.settings_for(1, DECODE) == {
        **{"max_seqlen_q": 1, "page_size": 1, "nhead_kv": 1, "intra_batch_mode": False},
        **{"return_lse": False, "causal": True},
    }


def test_a_ridden_kernel_is_told_its_own_length() -> None:
    source = Fake(native=lambda s: s.qlen == 4, no_kernel=lambda s: s.qlen != 4)
    found = made(source, 16, qlens=(2, 4), pad_qlen=True)
    assert found.settings_for(2)["max_seqlen_qo"] == 4


def test_dtypes_can_be_the_callers_own() -> None:
    found = made(later())
    q, kv = object(), object()
    told = found.settings_for(1, q_dtype=q, kv_dtype=kv)
    assert (told["dtype_q"], told["dtype_kv"]) == (q, kv)
    sized = found.settings_for(1, SIZING, q_dtype=q)
    assert (sized["q_dtype"], sized["kv_dtype"]) == (q, "fp8")


def test_without_metadata_there_is_none_to_build() -> None:
    found = made(later(), persistent=False)
    assert found.settings_for(1) == found.settings_for(1, SIZING) == {}
    assert found.settings_for(1, DECODE)["intra_batch_mode"] is False
    assert found.settings_for(1, DECODE)["max_seqlen_q"] == 1
    gluon = made(later(), 8, q_dtype="bf16", kv_dtype="bf16")
    assert gluon.settings_for(1) == gluon.settings_for(1, DECODE) == {}


def test_the_planner_is_told_what_the_caller_says() -> None:
    """And no rule tells people to build metadata of another mode."""
    told: dict[str, Any] = {
        **{"fast_mode": False, "intra_batch_mode": True, "max_split_per_batch": 32}
    }
    found = made(later(), planner=told)
    assert found.decisions[0].shape.planner == PlannerCall(**told)
    for function in (METADATA, SIZING):
        assert told.items() <= found.settings_for(1, function).items()
    assert found.settings_for(1, DECODE)["intra_batch_mode"] is True
    assert "fast_mode" not in found.settings
    assert made(later()).settings["fast_mode"] is True


def test_what_a_plan_has_no_settings_for() -> None:
    found = made(later(), qlens=(1, 2))
    with pytest.raises(UsageError, match="no query length 3") as caught:
        found.settings_for(3)
    assert "1, 2" in str(caught.value.hint)
    with pytest.raises(UsageError, match="no function 'mla_prefill'") as caught:
        found.settings_for(1, "mla_prefill")
    assert METADATA in str(caught.value.hint)


def test_only_what_the_release_takes() -> None:
    """By the rules, where a release is named and its files are not at hand."""
    old, older = made(later(release="v0.1.10")), made(later(release="v0.1.6.post2"))
    assert {*old.settings_for(1)} == {
        *("num_heads_per_head_k", "num_heads_k", "is_causal", "kv_granularity", "max_seqlen_qo"),
        *("uni_seqlen_qo", "fast_mode", "intra_batch_mode", "max_split_per_batch"),
        *("dtype_q", "dtype_kv"),
    }
    assert "dtype_q" not in older.settings_for(1)
    assert "return_lse" not in older.settings_for(1, DECODE)


def test_a_source_at_hand_is_asked_for_its_own_parameters(tmp_path: Path) -> None:
    live = probing.probe(str(write(tmp_path, today.tree())))
    text = live.source_text("aiter/mla.py")
    assert text is not None
    (function,) = (
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef) and node.name == DECODE
    )
    assert origin_of(live).parameters[DECODE] == {a.arg for a in function.args.args}


def git(*words: str) -> str:
    """What git says of the repository of AITER."""
    command = ["git", "-C", str(GIT), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def parameters(text: str, name: str) -> set[str]:
    """What a function of a Python text takes, read by Python itself."""
    (found,) = (
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef) and node.name == name
    )
    return {a.arg for a in (*found.args.args, *found.args.kwonlyargs)}


@pytest.mark.skipif(not GIT, reason="MLAPROBE_AITER_GIT names no git repository of ROCm/aiter")
def test_every_release_takes_what_the_rules_say() -> None:
    """Each parameter from the release that is named on, and not before; for every tag."""
    written = {each["name"]: each for each in load_rules("calls", arguments.SCHEMA)["functions"]}
    files = {METADATA: ATTENTION, SIZING: ATTENTION}
    first = release_key("v0.1.6.post2")
    tags = [tag for tag in git("tag").split() if is_release(tag) and release_key(tag) >= first]
    assert len(tags) > 50
    for release in tags:
        texts = {file: git("show", f"{release}:{file}") for file in (ATTENTION, "aiter/mla.py")}
        for name, rule in written.items():
            taken = parameters(texts[files.get(name, "aiter/mla.py")], name)
            expected = arguments.parameters_at(release)[name]
            assert expected == taken & {*rule["parameters"]}, (release, name)
