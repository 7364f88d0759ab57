"""What becomes of the caller's query on its way to an entry point: nothing, a fold, or padding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlaprobe.core.shape import Status
from mlaprobe.evaluator.symbolic.symbols import joined, same
from mlaprobe.stages.environment.tensors import Tensor
from mlaprobe.stages.numbers import calculate, folded, is_whole, multiple


def handled(
    q: Tensor, qlen: Any, output: Any, tokens: Any, inputs: Mapping[str, Any]
) -> tuple[Status, Any, Any] | None:
    """The status, and by how much the batch and the query length are folded; ``None`` where what
    is passed is none of these.

    Args:
        q: the query that is passed, and ``qlen`` its length.
        output: where its results are written: heads are padded where those of the output are.
        tokens: of the caller's query.
        inputs: the caller's ``heads`` and ``qlen``.
    """
    rows, heads, _ = q.shape
    if not is_whole(rows):
        return None
    if calculate(">", heads, inputs["heads"]):
        padded = isinstance(output, Tensor) and same(output.shape[:2], (rows, heads))
        whole = same(qlen, inputs["qlen"]) and same(rows, tokens)
        return (Status.PADDED, 1, 1) if padded and whole else None
    fold, qlen_fold = _folds(inputs, heads, qlen)
    portions = calculate("*", rows, heads), calculate("*", tokens, inputs["heads"])
    if fold is None or not same(*portions):
        return None
    return folded(fold, qlen_fold) or Status.NATIVE, fold, qlen_fold


def _folds(inputs: Mapping[str, Any], heads: Any, qlen: Any) -> tuple[Any, Any]:
    """(batch fold, query-length fold), or ``None`` where heads and length make none."""
    if same(heads, inputs["heads"]) and same(qlen, inputs["qlen"]):
        return 1, 1
    qlen_fold = multiple(qlen, inputs["qlen"])
    if qlen_fold is None:
        return None, 1
    return multiple(inputs["heads"], calculate("*", heads, qlen_fold)), qlen_fold


def unhandled(entry: str, inputs: Mapping[str, Any], heads: Any, qlen: Any) -> Any:
    """The message about a call that is neither native nor a fold: a query widened on the way,
    say."""
    gets = [entry, " gets ", heads, " heads at query length ", qlen]
    where = [" where ", inputs["heads"], " heads at query length ", inputs["qlen"], " were asked"]
    return joined([*gets, *where, ": that is no fold"])
