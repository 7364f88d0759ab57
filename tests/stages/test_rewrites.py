"""Rewrites of the code that must not change an answer, and changes that must show."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlaprobe.core.shape import DecodeShape, Verdict
from mlaprobe.deciding.capability import Capability
from tests.stages.ask import BF16, FP8, Answer, answers, ask, grid, native, opened
from tests.trees import today
from tests.trees.common import Row, Tree, changed, csv, tables

RULE = """\
    const bool natively_supported =
        (num_heads == 16) ||
        ((arch_id == "gfx950") && !q_is_fp8 && !kv_is_fp8) ||
        ((arch_id == "gfx950") && q_is_fp8 && kv_is_fp8 &&
         ((num_heads == 32) || (num_heads == 128))) ||
        ((arch_id == "gfx950") && q_is_fp8 && kv_is_fp8 && (num_heads == 64) &&
         (max_seqlen_qo == 1));
"""
PLANNER_HEAD = "void get_mla_metadata_v1_2_device("
FOLD = "    if(!natively_supported && (num_heads % 16 == 0))\n"
LISTED = "and (nhead == 32 or nhead == 128 or (nhead == 64 and max_seqlen_q == 1))"


def _planner(text: str, *edits: tuple[str, str]) -> Tree:
    return changed(today.tree(), today.PLANNER, (RULE, text), *edits)


def _everywhere(old: str, new: str) -> Tree:
    """A word replaced in the whole planner."""
    tree = today.tree()
    text = tree[today.PLANNER]
    assert isinstance(text, str)
    assert old in text
    return {**tree, today.PLANNER: text.replace(old, new)}


HELPER = """\
static inline bool listed(const std::string& arch, int heads, bool fp8, int qlen)
{
    if(arch != "gfx950")
        return false;
    if(!fp8)
    {
        return true;
    }
    return heads == 32 || heads == 128 || (heads == 64 && qlen == 1);
}

"""
WITH_HELPER = """\
    const bool same = (q_is_fp8 == kv_is_fp8);
    const bool natively_supported =
        (num_heads == 16) || (same && listed(arch_id, num_heads, q_is_fp8, max_seqlen_qo));
"""
WITH_LAMBDA = """\
    auto listed = [&](const int heads) {
        if(arch_id != "gfx950" || q_is_fp8 != kv_is_fp8)
            return false;
        return !q_is_fp8 || heads == 32 || heads == 128 || (heads == 64 && max_seqlen_qo == 1);
    };
    const bool natively_supported = (num_heads == 16) || listed(num_heads);
"""
WITH_SWITCH = """\
    bool natively_supported = (num_heads == 16);
    if(arch_id == "gfx950" && q_is_fp8 && kv_is_fp8)
    {
        switch(num_heads)
        {
        case 64:
            if(max_seqlen_qo != 1)
                break;
            [[fallthrough]];
        case 32:
        case 128: natively_supported = true; break;
        default: break;
        }
    }
    natively_supported |= (arch_id == "gfx950") && !q_is_fp8 && !kv_is_fp8;
"""
WITH_LOOP = """\
    static constexpr int kTiles[] = {32, 128};
    bool natively_supported = (num_heads == 16);
    for(int tile : kTiles)
    {
        if(arch_id == "gfx950" && q_is_fp8 && kv_is_fp8 && num_heads == tile)
        {
            natively_supported = true;
            break;
        }
    }
    if(!natively_supported && arch_id == "gfx950")
        natively_supported = (!q_is_fp8 && !kv_is_fp8) ||
                             (q_is_fp8 && kv_is_fp8 && num_heads == 64 && max_seqlen_qo < 2);
"""
DE_MORGAN = """\
    const bool natively_supported = !(
        (num_heads != 16) &&
        !((arch_id == "gfx950") && !(q_is_fp8 || kv_is_fp8)) &&
        !((arch_id == "gfx950") && q_is_fp8 && kv_is_fp8 &&
          !((num_heads != 32) && (num_heads != 128) &&
            ((num_heads != 64) || (max_seqlen_qo != 1)))));
"""
ARITHMETIC = (
    RULE.replace("== 16)", "== (1 << 4))")
    .replace("== 32)", "== 8 * 4)")
    .replace("== 128)", "== 0x80)")
    .replace("== 64)", "== 128 / 2)")
)
NEARBY = (
    "#if 0\n    const bool natively_supported = (num_heads == 24);\n#endif\n"
    "    // const bool natively_supported = (num_heads == 40);\n"
    "    /* (num_heads == 48) || */\n"
    + RULE.replace("(num_heads == 16) ||", "(num_heads == 16) || // (num_heads == 80) ||\n")
)
SPACED = (
    RULE.replace("num_heads == ", "num_heads==")
    .replace(" && ", "&&")
    .replace("const bool natively_supported =\n", "const bool natively_supported\n=\n\n")
    .replace(" ||\n        ", "\n  || ")
)
MACRO = (
    '#define IS_GFX950 (arch_id == "gfx950")\n#define BOTH(x) (q_is_##x && kv_is_##x)\n'
    + RULE.replace('(arch_id == "gfx950")', "IS_GFX950")
    .replace("q_is_fp8 && kv_is_fp8", "BOTH(fp8)")
    .replace("!q_is_fp8 && !kv_is_fp8", "!q_is_fp8 && !kv_is_fp8")
)
SAME = {
    "spacing": _planner(SPACED),
    "a renamed flag": _everywhere("natively_supported", "keeps_its_heads"),
    "renamed locals": _everywhere("q_is_fp8", "fp8_q"),
    "a helper": _planner(WITH_HELPER, (PLANNER_HEAD, HELPER + PLANNER_HEAD)),
    "a lambda": _planner(WITH_LAMBDA),
    "a switch": _planner(WITH_SWITCH),
    "a loop": _planner(WITH_LOOP),
    "De Morgan": _planner(DE_MORGAN),
    "arithmetic": _planner(ARITHMETIC),
    "comments and #if 0": _planner(NEARBY),
    "macros": _planner(MACRO),
    "an early branch": _planner(
        "    bool natively_supported = false;\n"
        "    if(num_heads == 16) { natively_supported = true; }\n"
        "    else {\n"
        + RULE.replace("const bool natively_supported", "natively_supported")
        + "    }\n"
    ),
    "a reference": _planner(
        RULE.replace("const bool natively_supported", "bool decided")
        + "    const bool& natively_supported = decided;\n"
    ),
    "the fold in a helper": _planner(
        RULE,
        (
            PLANNER_HEAD,
            "static void fold(int32_t& heads, int32_t& batches, int32_t& ratio)\n"
            "{\n    ratio = heads / 16;\n    heads = 16;\n    batches *= ratio;\n}\n\n"
            + PLANNER_HEAD,
        ),
        (
            "        qk_batch_ratio = num_heads / 16;\n        num_heads      = 16;\n"
            "        num_batches *= qk_batch_ratio;\n",
            "        fold(num_heads, num_batches, qk_batch_ratio);\n",
        ),
    ),
    "another file": {
        **_planner(
            "    const bool natively_supported = keeps(arch_id, num_heads, q_is_fp8, "
            "kv_is_fp8, max_seqlen_qo);\n",
            (
                '#include "aiter_hip_common.h"\n',
                '#include "aiter_hip_common.h"\n#include "mla_rules.h"\n',
            ),
        ),
        "csrc/include/mla_rules.h": "#pragma once\n#include <string>\ninline bool keeps(const "
        "std::string& arch_id, int num_heads, bool q_is_fp8, bool kv_is_fp8, "
        "int max_seqlen_qo)\n{\n" + RULE + "    return natively_supported;\n}\n",
    },
    "a set in Python": changed(
        today.tree(),
        today.DISPATCHER,
        (LISTED, "and (nhead in {32, 128} or (nhead, max_seqlen_q) == (64, 1))"),
    ),
    "a function in Python": changed(
        today.tree(),
        today.DISPATCHER,
        (LISTED, "and _listed(nhead, max_seqlen_q)"),
        (
            "def mla_decode_fwd(",
            "_TILES = {32: 8, 64: 1, 128: 8}\n\n\n"
            "def _listed(heads, qlen):\n    if heads == 64:\n        return qlen <= _TILES[heads]\n"
            "    return heads in _TILES\n\n\ndef mla_decode_fwd(",
        ),
    ),
    "any() in Python": changed(
        today.tree(),
        today.DISPATCHER,
        (
            LISTED,
            "and any(nhead == n and max_seqlen_q <= q for n, q in ((32, 99), (128, 99), (64, 1)))",
        ),
    ),
    "not in, reversed": changed(
        today.tree(),
        today.DISPATCHER,
        (LISTED, "and not (nhead not in (32, 64, 128) or (nhead == 64 and max_seqlen_q != 1))"),
    ),
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> dict[DecodeShape, Answer]:
    """The answers of the tree as it is."""
    return answers(opened(tmp_path_factory.mktemp("base"), today.tree()), grid())


@pytest.mark.parametrize("name", sorted(SAME))
def test_rewrites_that_do_not_matter(
    tmp_path: Path, base: dict[DecodeShape, Answer], name: str
) -> None:
    found = answers(opened(tmp_path, SAME[name]), grid())
    wrong = {s: (base[s], a) for s, a in found.items() if base[s] != a}
    assert not wrong, next(iter(wrong.items()))


# --- what must show -----------------------------------------------------------------

MORE = "(num_heads == 16) || (num_heads == 48) ||"
HOST_48 = Row("fp8", "fp8", 48, 1, 1)


def _clause_in_planner(tree: Tree) -> Tree:
    return changed(tree, today.PLANNER, ("        (num_heads == 16) ||\n", f"        {MORE}\n"))


def _clause_in_dispatcher(tree: Tree) -> Tree:
    return changed(tree, today.DISPATCHER, ("        nhead == 16\n", "        nhead in (16, 48)\n"))


def test_a_clause_in_all_places(tmp_path: Path) -> None:
    rows = {**today.ROWS, "gfx950": [*today.ROWS["gfx950"], HOST_48]}
    tree = {**_clause_in_dispatcher(_clause_in_planner(today.tree())), **tables(rows)}
    tree[today.REDUCER] = (
        today.REDUCER_HEAD + today.router((*today.ROUTED, (48, 512))) + today.REDUCER_ENTRY
    )
    capability = opened(tmp_path, tree)
    assert ask(capability, "gfx950", FP8, 48).verdict is Verdict.NATIVE
    assert ask(capability, "gfx950", FP8, 80).verdict is Verdict.FOLDED


def test_a_clause_in_one_place(tmp_path: Path) -> None:
    """In the planner alone: 16 heads are launched, which runs, by a plan for 48. In the dispatcher
    alone 48 heads are launched, which nothing runs unless the table has a row for them."""
    planner = opened(tmp_path / "a", _clause_in_planner(today.tree()))
    assert ask(planner, "gfx950", FP8, 48).verdict is Verdict.INCOHERENT
    assert ask(planner, "gfx950", FP8, 48).failure is None
    tree = _clause_in_dispatcher(today.tree())
    refused = ask(opened(tmp_path / "b", tree), "gfx950", FP8, 48)
    assert (refused.verdict, refused.stage) == (Verdict.NO_KERNEL, "host")
    rows = {**today.ROWS, "gfx950": [*today.ROWS["gfx950"], HOST_48]}
    launched = ask(opened(tmp_path / "c", {**tree, **tables(rows)}), "gfx950", FP8, 48)
    assert (launched.verdict, launched.stage) == (Verdict.INCOHERENT, "dispatcher")


def test_a_clause_without_a_kernel_or_a_merge(tmp_path: Path) -> None:
    tree = _clause_in_dispatcher(_clause_in_planner(today.tree()))
    assert ask(opened(tmp_path / "a", tree), "gfx950", FP8, 48).verdict is Verdict.NO_KERNEL
    rows = {**today.ROWS, "gfx950": [*today.ROWS["gfx950"], HOST_48]}
    with_row = opened(tmp_path / "b", {**tree, **tables(rows)})
    assert ask(with_row, "gfx950", FP8, 48).verdict is Verdict.NO_REDUCER


UNFOLLOWED = {
    "a call": ("(num_heads == 16) ||", "(num_heads == 16) || probe_device(num_heads) ||"),
    "a method": ("(num_heads == 16) ||", "(num_heads == 16) || registry.has(num_heads) ||"),
    "inline assembly": (FOLD, '    asm volatile("" : "+r"(num_heads));\n' + FOLD),
    "a syntax error": ("(num_heads == 16) ||", "(num_heads == 16) || @@ ||"),
    "a goto": (FOLD, "    if(is_causal) goto out;\n    num_heads = 24;\nout:\n" + FOLD),
}


@pytest.mark.parametrize("name", sorted(UNFOLLOWED))
def test_what_cannot_be_followed_is_unknown(
    tmp_path: Path, base: dict[DecodeShape, Answer], name: str
) -> None:
    capability = opened(tmp_path, changed(today.tree(), today.PLANNER, UNFOLLOWED[name]))
    shapes = list(grid())
    claimed = native(capability, shapes)
    assert claimed <= {s for s in shapes if base[s][0] == "NATIVE"}
    assert ask(capability, "gfx950", FP8, 48).verdict is Verdict.UNKNOWN
    if name in ("a call", "a method"):
        # what another clause grants stays granted, whatever the call says
        kept = ask(capability, "gfx950", FP8, 16)
        assert kept.verdict is Verdict.NATIVE


def test_an_unknown_call_in_python(tmp_path: Path) -> None:
    tree = changed(today.tree(), today.DISPATCHER, (LISTED, "and torch_npu.listed(nhead)"))
    capability = opened(tmp_path, tree)
    assert ask(capability, "gfx950", FP8, 16).verdict is Verdict.NATIVE
    assert ask(capability, "gfx950", FP8, 32).verdict is not Verdict.NATIVE
    assert ask(capability, "gfx950", BF16, 32).verdict is Verdict.NATIVE


def test_a_row_commented_out(tmp_path: Path) -> None:
    row = csv([Row("fp8", "fp8", 32, 1, 1)]).split("\n")[1]
    text = csv(today.ROWS["gfx950"])
    assert row in text
    capability = opened(tmp_path, {**today.tree(), today.TABLE: text.replace(row, "# " + row)})
    assert ask(capability, "gfx950", FP8, 32).verdict is Verdict.NO_KERNEL
    assert ask(capability, "gfx950", FP8, 32, 2).verdict is Verdict.NATIVE


def test_two_rows_with_one_key(tmp_path: Path) -> None:
    text = csv(today.ROWS["gfx950"])
    twin = csv([Row("fp8", "fp8", 32, 1, 1)]).split("\n")[1].replace("mla_fp8", "mla2_fp8")
    capability = opened(tmp_path, {**today.tree(), today.TABLE: text + twin + "\n"})
    decision = ask(capability, "gfx950", FP8, 32)
    assert decision.verdict is Verdict.AMBIGUOUS
    assert len(decision.kernels) == 2


def test_a_knob_that_two_languages_read_differently(tmp_path: Path) -> None:
    tree = changed(
        changed(
            today.tree(),
            today.PLANNER,
            (
                "        (num_heads == 16) ||\n",
                '        (num_heads == 16) || (std::getenv("MLA_WIDE") != nullptr &&\n'
                '         std::atoi(std::getenv("MLA_WIDE")) != 0 && num_heads == 48) ||\n',
            ),
        ),
        today.DISPATCHER,
        (
            "        nhead == 16\n",
            "        nhead == 16\n"
            '        or (os.environ.get("MLA_WIDE", "0") == "1" and nhead == 48)\n',
        ),
    )
    capability: Capability = opened(tmp_path, tree)
    assert ask(capability, "gfx950", FP8, 48).verdict is Verdict.FOLDED
    assert ask(capability, "gfx950", FP8, 48, env={"MLA_WIDE": "0"}).verdict is Verdict.FOLDED
    assert ask(capability, "gfx950", FP8, 48, env={"MLA_WIDE": "2"}).verdict is Verdict.INCOHERENT
    assert ask(capability, "gfx950", FP8, 48, env={"MLA_WIDE": "1"}).verdict is Verdict.NO_KERNEL
    assert "MLA_WIDE" in capability.knobs
