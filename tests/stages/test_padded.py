"""An AITER that pads heads itself, and entry points that take no query length."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlaprobe.core.shape import Decision, Verdict
from tests.stages.ask import FP8, ask, opened
from tests.trees import today
from tests.trees.common import Tree, changed

PERSISTENT = "    persistent = work_meta_data is not None\n"
PADS = """\
    asked = o
    if nhead in (4, 8):
        q = torch.nn.functional.pad(q, (0, 0, 0, 16 - nhead))
        o = o.new_empty((total_s, 16, v_head_dim))
        nhead = ori_nhead = 16
"""
RETURNED = "get_cu_num(), o)\n    return logits, final_lse\n"
CUTS = "get_cu_num(), o)\n    asked.copy_(o[:, : asked.shape[1]])\n    return logits, final_lse\n"
PLANNED = "    int32_t qk_batch_ratio = 1;\n"
PLANS = PLANNED + "    if(num_heads == 4 || num_heads == 8) { num_heads = 16; }\n"
SIZED = "assert num_head_qo % 8 == 0"


def tree(pads: str = PADS, plans: str = PLANS) -> Tree:
    """Planner and dispatcher pad 4 and 8 heads to 16."""
    sized = changed(today.tree(), today.OPS, (SIZED, "assert num_head_qo % 4 == 0"))
    planned = changed(sized, today.PLANNER, (PLANNED, plans))
    edits = (PERSISTENT, PERSISTENT + pads), (RETURNED, CUTS)
    return changed(planned, today.DISPATCHER, *edits)


def asked(root: Path, made: Tree, heads: int, **more: object) -> Decision:
    return ask(opened(root, made), "gfx942", FP8, heads, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("heads", [4, 8])
@pytest.mark.parametrize("batch", [None, 3])
def test_padding_of_aiters_own_is_native_with_a_note(
    tmp_path: Path, heads: int, batch: int | None
) -> None:
    decision = asked(tmp_path, tree(), heads, batch=batch)
    assert (decision.verdict, decision.fold) == (Verdict.NATIVE, 1)
    dispatcher = decision.outcome("dispatcher")
    assert dispatcher is not None
    assert (dispatcher.status, dispatcher.final_heads) == ("padded", 16)
    assert [kernel.symbol for kernel in decision.kernels] == ["mla_fp8_fp8_h16_q1_ps"]
    assert any(f"AITER pads {heads} heads to 16 itself" in note for note in decision.notes)


def test_the_other_counts_are_as_they_were(tmp_path: Path) -> None:
    for heads in (16, 48):
        decision = asked(tmp_path / str(heads), tree(), heads)
        assert decision.verdict is (Verdict.NATIVE if heads == 16 else Verdict.FOLDED)
        assert not any("itself" in note for note in decision.notes)


def test_a_planner_that_does_not_pad_is_another_plan(tmp_path: Path) -> None:
    taken = "        (num_heads == 16) ||\n"
    small = changed(tree(plans=PLANNED), today.PLANNER, (taken, f"{taken} (num_heads == 8) ||\n"))
    assert asked(tmp_path, small, 8).verdict is Verdict.INCOHERENT


def test_an_output_that_is_not_padded_is_not_followed(tmp_path: Path) -> None:
    kept = PADS.replace("        o = o.new_empty((total_s, 16, v_head_dim))\n", "")
    decision = asked(tmp_path, tree(kept), 8)
    assert decision.verdict is Verdict.UNKNOWN
    assert "gets 16 heads" in (decision.message or "")


OPUS = """\
@compile_ops("module_mla_opus")
def opus_mla_decode_fwd(q: torch.Tensor, kv: torch.Tensor, work_indptr: torch.Tensor) -> None: ...


"""
STUB = '@compile_ops("module_mla_hk")'
CALL = "    if is_experimental_enabled() and nhead * max_seqlen_q == 128:\n"
OPENED = f"""\
    if os.getenv("USE_OPUS", "0") == "1":
        aiter.opus_mla_decode_fwd(q, kv_buffer, work_indptr)
{CALL.replace("    if", "    elif", 1)}"""


@pytest.mark.parametrize(("heads", "verdict"), [(16, Verdict.NATIVE), (48, Verdict.FOLDED)])
@pytest.mark.parametrize("qlen", [1, 2])
def test_an_entry_without_a_query_length(
    tmp_path: Path, heads: int, verdict: Verdict, qlen: int
) -> None:
    made = changed(today.tree(), today.OPS, (STUB, OPUS + STUB))
    made = changed(made, today.DISPATCHER, (CALL, OPENED))
    found = opened(tmp_path, made)
    decision = ask(found, "gfx942", FP8, heads, qlen, env={"USE_OPUS": "1"})
    assert decision.verdict is verdict
    dispatcher = decision.outcome("dispatcher")
    assert dispatcher is not None
    assert (dispatcher.entry, dispatcher.fold) == ("opus", max(1, heads // 16))
    assert any("opus_mla_decode_fwd" in note for note in decision.notes)
