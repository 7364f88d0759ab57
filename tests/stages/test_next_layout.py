"""The layout that follows today's is answered by the same stages: what decides is found by what
the code calls, through includes, macros and compiled bindings."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlaprobe.core.shape import Failure, Verdict
from mlaprobe.deciding.capability import Capability
from tests.stages.ask import BF16, FP8, ask, grid, native, opened, shape
from tests.trees import following, today
from tests.trees.common import Tree, changed

WIDE = {following.KNOB: "1"}


@pytest.fixture(scope="module")
def capability(tmp_path_factory: pytest.TempPathFactory) -> Capability:
    """The whole tree."""
    return opened(tmp_path_factory.mktemp("next"), following.tree())


def test_nothing_is_unknown(capability: Capability) -> None:
    assert {there for _, there, _ in capability.stage_status} == {"present"}
    for question in grid((4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 144), (1, 2, 6, 7, 10, 11)):
        decision = capability.judge(question)
        assert decision.verdict is not Verdict.UNKNOWN, (question, decision.message)


@pytest.mark.parametrize(
    ("heads", "qlen", "verdict", "fold"),
    [
        (16, 1, Verdict.NATIVE, 1),
        (32, 2, Verdict.NATIVE, 1),
        (96, 1, Verdict.NATIVE, 1),
        (96, 6, Verdict.NATIVE, 1),
        (96, 7, Verdict.NO_KERNEL, 1),  # folded, and there is no row for 7 tokens
        (12, 1, Verdict.NATIVE, 1),
        (12, 10, Verdict.NATIVE, 1),
        (12, 11, Verdict.REJECTED, 1),
        (64, 1, Verdict.FOLDED, 4),
        (48, 2, Verdict.FOLDED, 3),
        (24, 1, Verdict.REJECTED, 1),
        (2, 1, Verdict.REJECTED, 1),
    ],
)
def test_the_rules(
    capability: Capability, heads: int, qlen: int, verdict: Verdict, fold: int
) -> None:
    decision = ask(capability, "gfx950", FP8, heads, qlen)
    assert (decision.verdict, decision.fold) == (verdict, fold)


def test_planner_and_dispatcher_agree_everywhere(capability: Capability) -> None:
    for question in grid(range(4, 164, 4), (1, 6, 7)):
        if not question.persistent:
            continue
        planned = capability.ask("planner", question)
        asked = capability.ask("dispatcher", question)
        assert (planned.status, planned.fold) == (asked.status, asked.fold) or (
            planned.status == "passthrough" and asked.status == "native"
        )


def test_a_plan_that_is_taken_but_not_native(capability: Capability) -> None:
    assert capability.ask("planner", shape("gfx942", BF16, 8)).status == "passthrough"
    assert ask(capability, "gfx942", BF16, 8).verdict is Verdict.NO_KERNEL


def test_the_place_of_the_rule_is_cited(capability: Capability) -> None:
    planned = capability.ask("planner", shape("gfx950", FP8, 96, 6))
    assert planned.evidence[0].file == following.SHAPE
    assert "num_heads == 96" in planned.evidence[0].text


def test_keys_of_the_host(capability: Capability) -> None:
    for heads in (96, 12):
        key = dict(ask(capability, "gfx950", FP8, heads).key or ())
        assert (key["Gqa"], key["qSeqLen"]) == (32, 2)


def test_a_bridged_check_is_an_exception(capability: Capability) -> None:
    missing = ask(capability, "gfx942", FP8, 16, 2)
    assert (missing.verdict, missing.failure) == (Verdict.NO_KERNEL, Failure.EXCEPTION)
    assert "no kernel for gqa:16" in (missing.message or "")
    refused = ask(capability, "gfx950", FP8, 24)
    assert (refused.stage, refused.failure) == ("planner", Failure.ABORT)


def test_cases_of_the_reducer(capability: Capability) -> None:
    found = {
        (heads, dim)
        for heads, dim, outcome in capability.reducer_rows(range(1, 130))
        if outcome.status == "instantiated"
    }
    assert found == set(following.ROUTED)


def test_a_knob_and_the_second_table(capability: Capability) -> None:
    off = ask(capability, "gfx1250", FP8, 96, page_size=64)
    planned = off.outcome("planner")
    assert planned is not None
    assert planned.fold == 6
    on = ask(capability, "gfx1250", FP8, 96, 3, env=WIDE)
    assert on.verdict is Verdict.NATIVE
    assert [k.symbol for k in on.kernels] == ["mla_dsl_h96"]
    assert on.kernels[0].co_present is True
    lse = ask(capability, "gfx1250", FP8, 96, lse=True, env=WIDE)
    assert [k.symbol for k in lse.kernels] == ["mla_dsl_h96_lse"]
    assert following.KNOB in capability.knobs


def test_a_kernel_made_in_python(capability: Capability) -> None:
    decision = ask(capability, "gfx1250", FP8, 64, env=WIDE)
    assert decision.verdict is Verdict.NATIVE
    dispatcher = decision.outcome("dispatcher")
    assert dispatcher is not None
    assert dispatcher.entry == "flydsl"
    assert any("were not evaluated" in note for note in decision.notes)


def test_an_entry_that_the_package_lacks(capability: Capability, tmp_path: Path) -> None:
    knob = {"AITER_ENABLE_EXPERIMENTAL": "1"}
    there = ask(capability, "gfx950", FP8, 128, env=knob)
    assert there.verdict is Verdict.NATIVE
    tree = following.tree()
    ops = tree[today.OPS]
    assert isinstance(ops, str)
    tree[today.OPS] = ops.replace("def hk_mla_decode_fwd(", "def other_fwd(")
    gone = ask(opened(tmp_path, tree), "gfx950", FP8, 128, env=knob)
    assert (gone.verdict, gone.stage) == (Verdict.REJECTED, "dispatcher")


# --- changes ------------------------------------------------------------------------


def _edit(path: str, *edits: tuple[str, str]) -> Tree:
    return changed(following.tree(), path, *edits)


def test_a_clause_in_the_shared_rule_shows_everywhere(tmp_path: Path) -> None:
    more = "(num_heads == 16) || (num_heads == 48) || wide_heads ||"
    tree = _edit(following.SHAPE, ("(num_heads == 16) || wide_heads ||", more))
    decision = ask(opened(tmp_path, tree), "gfx950", FP8, 48)
    assert decision.verdict is Verdict.NO_KERNEL  # native for both, and no row
    assert [s.status for _, s in decision.stages][1:3] == ["native", "native"]


def test_a_plan_of_the_binding_alone_is_incoherent(tmp_path: Path) -> None:
    tree = _edit(
        today.BINDING,
        (
            "head_plan_v1_2(arch_id, static_cast<int32_t>(num_heads),",
            "head_plan_v1_2(arch_id, static_cast<int32_t>(num_heads == 64 ? 128 : num_heads),",
        ),
    )
    assert ask(opened(tmp_path, tree), "gfx950", FP8, 64).verdict is Verdict.INCOHERENT


@pytest.mark.parametrize(
    ("path", "edit"),
    [
        (following.SHAPE, ("(num_heads == 16) || wide_heads", "(num_heads == 16) || ask(arch_id)")),
        (following.CASES, ("#define MLA_REDUCE_CASES(X, ...)", "#define MLA_OTHER_CASES(X, ...)")),
        (today.OPS, ('"get_mla_decode_head_plan_v1"', '"get_another_plan"')),
        (
            following.BRIDGE,
            (
                "        int ret                         = fn();\n",
                "        int ret = run_on_device(fn);\n",
            ),
        ),
    ],
)
def test_what_cannot_be_followed(
    tmp_path: Path, capability: Capability, path: str, edit: tuple[str, str]
) -> None:
    shapes = list(grid((16, 32, 48, 96), (1,)))
    other = opened(tmp_path, _edit(path, edit))
    assert native(other, shapes) <= native(capability, shapes)
    assert ask(other, "gfx950", FP8, 96).verdict is not Verdict.NATIVE


def test_without_the_included_header(tmp_path: Path) -> None:
    tree = {p: d for p, d in following.tree().items() if p != following.SHAPE}
    decision = ask(opened(tmp_path, tree), "gfx950", FP8, 32)
    assert decision.verdict is Verdict.UNKNOWN
