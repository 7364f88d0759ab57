"""A tree whose dispatcher passes index vectors along, as today's AITER does: a fold of the heads
makes more requests of the query, and the vectors may follow it or not.
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.trees import today
from tests.trees.common import Tree, changed

BEFORE_OUTPUT = "        o = o.view(total_s, nhead, -1)\n        final_lse"
"""What stands behind the fold of the query."""
PLAIN_SPLITS = "        num_kv_splits = _split_count("
"""What a launch without work metadata begins with."""

FOLLOWS: Mapping[str, str] = {
    "qo_indptr": "qo_indptr = torch.empty((bs * fold_factor + 1,), dtype=dtypes.i32)",
    "kv_indptr": "kv_indptr = torch.zeros((fold_factor * bs + 1,), dtype=torch.int32)",
    "g_kv_indptr": (
        "g_kv_indptr = None if g_kv_indptr is None else "
        "torch.zeros(fold_factor * (g_kv_indptr.shape[0] - 1) + 1, dtype=dtypes.i32)"
    ),
    "kv_last_page_lens": (
        "kv_last_page_lens = kv_last_page_lens.repeat_interleave(fold_factor, dim=0)"
    ),
}
"""For each index vector a statement that makes one for as many requests as the folded query."""
NAMES = tuple(FOLLOWS)

_STUB = (
    '    lse: torch.Tensor | None = None,\n) -> None: ...\n\n\n@compile_ops("module_mla_hk")',
    "    lse: torch.Tensor | None = None,\n"
    + "".join(f"    {name}: torch.Tensor | None = None,\n" for name in NAMES)
    + ') -> None: ...\n\n\n@compile_ops("module_mla_hk")',
)
_HOST = (
    "aiter_tensor_t* lse, // nullable\n",
    "aiter_tensor_t* lse, // nullable\n"
    + "".join(f"                               aiter_tensor_t* {name},\n" for name in NAMES),
)
_PASSED = ", ".join(NAMES)
_PLAIN_CALL = "page_size, nhead_kv, logits, o, final_lse\n"
_CALL = "            o,\n            final_lse,\n        )\n"


def tree(fold: str = "", plain: str = "") -> Tree:
    """The tree. ``fold`` are statements behind the fold of the query of a launch with work
    metadata; ``plain`` are the first ones of a launch without."""
    ops = changed(today.tree(), today.OPS, _STUB)
    host = changed(ops, today.HOST, _HOST)
    return changed(
        host,
        today.DISPATCHER,
        ("    return_lse=False,\n):", "    return_lse=False,\n    g_kv_indptr=None,\n):"),
        (_PLAIN_CALL, _PLAIN_CALL.replace("final_lse\n", f"final_lse, {_PASSED}\n")),
        (_CALL, _CALL.replace("            final_lse,\n", f"            final_lse, {_PASSED},\n")),
        (BEFORE_OUTPUT, _indented(fold) + BEFORE_OUTPUT),
        (PLAIN_SPLITS, _indented(plain) + PLAIN_SPLITS),
    )


def _indented(statements: str) -> str:
    return "".join(f"        {line}\n" for line in statements.splitlines())


def following(*names: str) -> str:
    """Statements that make some of the vectors follow a fold."""
    return "\n".join(FOLLOWS[name] for name in names)


PLAIN_FOLD = """\
if nhead == 32:
    fold_factor = 2
    nhead = 16
    total_s = total_s * 2
    q = q.reshape(total_s, nhead, -1)
    o = o.view(total_s, nhead, -1)
    final_lse = torch.empty((total_s, nhead), dtype=dtypes.fp32) if return_lse else None
    {follow}"""
"""A fold of a launch without work metadata."""


def plain_fold(*names: str) -> str:
    """Such a fold, with statements that make some of the vectors follow."""
    follow = "\n    ".join(FOLLOWS[name] for name in names) or "pass"
    return PLAIN_FOLD.format(follow=follow)
