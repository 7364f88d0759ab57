"""A pair of trees for each rule about operations besides decode."""

from __future__ import annotations

from mlaprobe.core.enums import Operation
from tests.findings.pairs import DISPATCHER_FP8, PLANNER_FP8, Pair
from tests.trees import launching, prefill, sparse, today
from tests.trees.common import Tree, changed

_MERGED = (*((heads, 128) for heads in (8, 16, 24, 32, 48, 64, 96)), *today.ROUTED[1:])
_ONE_FP8 = 'AITER_CHECK(Q->dtype() == AITER_DTYPE_fp8, __func__, ": fp8");'
_NOT_24 = 'AITER_CHECK(Q->size(1) != 24, __func__, ": not 24 heads");'
_ONE_BF16 = 'AITER_CHECK(Q->size(1) == 16, __func__, ": 16 heads, not ", Q->size(1));'
_TILE = "q.shape[1] // 16"
_ROWS = "    rows = triton"


def _merging(pairs: tuple[tuple[int, int], ...]) -> Tree:
    """A tree that prefills, whose reducer has some pairs of head count and head_dim."""
    routed = today.REDUCER_HEAD + today.router(pairs) + today.REDUCER_ENTRY
    return {**prefill.tree(), today.REDUCER: routed}


def _launching(file: str, old: str, new: str) -> Tree:
    return changed(launching.tree(), f"{launching.FOLDER}/attention/{file}", (old, new))


def operation_pairs() -> dict[str, Pair]:
    """All of them, by rule."""
    merging = _merging(_MERGED)
    takes_24 = changed(
        prefill.tree(), today.HOST, (_ONE_BF16, _ONE_BF16.replace("== 16", "% 8 == 0"))
    )
    return {
        # Planner and dispatcher of a decode fold 32 heads; the sparse decode, which has the same
        # planner, does not.
        "MLA020": Pair(
            sparse.tree(),
            changed(
                changed(sparse.tree(), today.PLANNER, (PLANNER_FP8, "(num_heads == 128))")),
                today.DISPATCHER,
                (DISPATCHER_FP8, "and (nhead == 128 or"),
            ),
            also=frozenset({"MLA003", "MLA010", "MLA016"}),  # the decode's fold itself
            op=Operation.SPARSE,
        ),
        "MLA021": Pair(
            merging,
            changed(merging, today.HOST, (_ONE_FP8, f"{_ONE_FP8}\n    {_NOT_24}")),
            op=Operation.PREFILL,
        ),
        "MLA022": Pair(
            merging,
            _merging(tuple(pair for pair in _MERGED if pair != (24, 128))),
            op=Operation.PREFILL,
        ),
        "MLA023": Pair(
            launching.tree(),
            _launching("unified_attention_sparse_mla.py", _TILE, "q.shape[1] // 32"),
            op=Operation.TRITON_SPARSE,
        ),
        "MLA024": Pair(takes_24, prefill.tree(), op=Operation.PREFILL),
        "MLA025": Pair(
            launching.tree(),
            _launching(
                "mla.py", _ROWS, f"    if max_seqlen_kv > 100:\n        return out\n{_ROWS}"
            ),
            op=Operation.TRITON,
        ),
    }
