"""What is unknown says why, and where: the reason is one that a person can check."""

from __future__ import annotations

from pathlib import Path

from mlaprobe.core.shape import StageOutcome, Verdict
from tests.stages.ask import BF16, FP8, answers, ask, grid, opened, shape
from tests.trees import today
from tests.trees.common import Tree, changed

HERE = "    persistent = work_meta_data is not None\n"


def tree_with(path: str, old: str, new: str) -> Tree:
    """Today's tree with one edit."""
    text = today.tree()[path]
    assert isinstance(text, str)
    assert text.count(old) == 1
    return {**today.tree(), path: text.replace(old, new)}


def dispatched(root: Path, widened: str, heads: int, *, persistent: bool = True) -> StageOutcome:
    """The dispatcher's answer where it does something with small head counts first."""
    code = f"    if nhead < 16 and 16 % nhead == 0:\n{widened}        nhead = 16\n"
    tree = tree_with(today.DISPATCHER, HERE, HERE + code)
    question = shape("gfx950", FP8, heads, persistent=persistent)
    return opened(root, tree).ask("dispatcher", question)


def place(outcome: StageOutcome) -> str:
    """The line that the evidence shows."""
    assert outcome.evidence
    return outcome.evidence[0].text


def test_a_query_widened_inside_is_no_fold(tmp_path: Path) -> None:
    """The kernel of 16 heads would run; whether the metadata of 8 fits it is not judged."""
    wide = "        q = q.repeat_interleave(16 // nhead, dim=1)\n"
    for persistent in (True, False):
        found = dispatched(tmp_path / str(persistent), wide, 8, persistent=persistent)
        assert found.status == "unknown"
        assert "gets 16 heads at query length 1 where 8 heads at query length 1" in (
            found.message or ""
        )
        assert "mla_decode_stage1_asm_fwd" in place(found)


def test_heads_that_are_not_widened_are_answered(tmp_path: Path) -> None:
    wide = "        q = q.repeat_interleave(16 // nhead, dim=1)\n"
    assert dispatched(tmp_path, wide, 16).status == "native"


def test_a_query_widened_and_then_folded_is_no_fold(tmp_path: Path) -> None:
    """Twice the rows of 16 heads are a fold of 32 heads, four times are not."""
    code = "        total_s = ori_total_s * fold_factor\n"
    doubled = "        total_s = ori_total_s * fold_factor * 2\n"
    question = shape("gfx942", FP8, 32)
    assert opened(tmp_path / "whole", today.tree()).ask("dispatcher", question).fold == 2
    wide = "        q = q.repeat_interleave(2, dim=1)\n"
    found = opened(tmp_path / "wide", tree_with(today.DISPATCHER, code, wide + doubled)).ask(
        "dispatcher", question
    )
    assert found.status == "unknown"
    assert "no fold" in (found.message or "")


def test_a_query_that_cannot_be_followed_names_the_call(tmp_path: Path) -> None:
    """The last call that was followed is not the reason: what made the query unknown is."""
    for at, code in enumerate(
        (
            "q.frobnicate(16)",
            "q.repeat_interleave(work_indptr, dim=1)",
            "q.repeat_interleave(2, dim=3)",
        )
    ):
        found = dispatched(tmp_path / str(at), f"        q = {code}\n", 8)
        assert found.status == "unknown"
        name = code[2:].partition("(")[0]
        assert name in (found.message or "")
        assert code in place(found)


def test_a_query_of_other_dimensions_names_the_call(tmp_path: Path) -> None:
    """Repeated along no dimension, it is flattened."""
    found = dispatched(tmp_path, "        q = q.repeat_interleave(2)\n", 8)
    assert found.status == "unknown"
    assert found.message == "the query that mla_decode_stage1_asm_fwd gets has 1 dimensions, not 3"
    assert "q.repeat_interleave(2)" in place(found)


def test_an_argument_that_is_not_passed(tmp_path: Path) -> None:
    """Python declares fewer parameters than the C++ function has: what it sees is undefined."""
    declared = "    lse: torch.Tensor | None = None,\n"
    tree = tree_with(
        today.OPS, "    output: torch.Tensor,\n" + declared, "    output: torch.Tensor,\n"
    )
    text = tree[today.DISPATCHER]
    assert isinstance(text, str)
    tree = {
        **tree,
        today.DISPATCHER: text.replace(
            "            o,\n            final_lse,\n", "            o,\n"
        ),
    }
    decision = ask(opened(tmp_path, tree), "gfx950", BF16, 16)
    assert decision.verdict is Verdict.UNKNOWN
    assert decision.message == "the call passes no argument lse"


ROWS = (
    ("std::string pick_kernel(", "const CFG::Entry* pick_kernel("),
    ("        return el.first;\n", "        return &el;\n"),
    ('    return "";\n', "    return nullptr;\n"),
    (
        "config_qlen, arch_id, config_map, lse_flag);",
        "config_qlen, arch_id, config_map, lse_flag)->first;",
    ),
)
"""A host that picks a row of the table by its address."""


def test_a_row_picked_by_its_address(tmp_path: Path) -> None:
    plain, rows = today.tree(), changed(today.tree(), today.HOST, *ROWS)
    asked = list(grid())
    assert answers(opened(tmp_path / "rows", rows), asked) == answers(
        opened(tmp_path / "plain", plain), asked
    )


def test_a_table_asked_through_a_method_that_is_not_known(tmp_path: Path) -> None:
    """The loop over its rows is followed; what the method gives is what is not known."""
    edits = (*ROWS, ("const auto& el : *cfgs", "const auto& el : cfgs->rows_of(arch_id)"))
    found = opened(tmp_path, changed(today.tree(), today.HOST, *edits))
    outcome = found.ask("host", shape("gfx950", BF16, 16))
    assert outcome.status == "unknown"
    assert "rows_of" in (outcome.message or "")
    assert "rows_of" in place(outcome)


def test_texts_that_only_a_message_needs_are_no_obstacle(tmp_path: Path) -> None:
    """Numbers in other bases, of what is not known and of what is not told."""
    line = "    print(f'{hex(q.data_ptr())} {bin(work_indptr.sum())} {oct(nhead)} {chr(65)}')\n"
    found = opened(tmp_path, tree_with(today.DISPATCHER, HERE, line + HERE))
    assert found.ask("dispatcher", shape("gfx950", FP8, 16)).status == "native"


def test_an_argument_that_decides_names_where_a_path_fails(tmp_path: Path) -> None:
    """The number of pages has no place of its own."""
    check = "    if kv_indices.shape[0] % 7 == 3:\n        raise ValueError('these pages')\n"
    tree = tree_with(today.DISPATCHER, HERE, HERE + check)
    found = opened(tmp_path, tree).ask("dispatcher", shape("gfx950", FP8, 16))
    assert found.status == "unknown"
    assert "raise ValueError('these pages')" in place(found)
