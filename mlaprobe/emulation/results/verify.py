"""How far an emulated result is from attention in float32, and what of it was never written."""

from __future__ import annotations

import numpy as np

from mlaprobe.core.accuracy import Error, Tolerance, ratio
from mlaprobe.core.shape import Dtype
from mlaprobe.emulation.arrays import Array
from mlaprobe.emulation.batches.formats import decoded
from mlaprobe.emulation.results.merging import Rows


def verify(
    rows: Rows, want: Array, want_lse: Array, tolerance: Tolerance, *, lse: bool, arch: str
) -> Error:
    """Compares a result with the reference.

    Args:
        rows: ``[tokens, heads, 512]`` bits of bf16, and a log-sum-exp.
        want: the same shape, in float32.
        lse: whether a log-sum-exp is wanted; where none was returned, all of it is unwritten.
    """
    with np.errstate(invalid="ignore"):  # garbage that was never written may be a signalling NaN
        got = decoded(np.ascontiguousarray(rows.out), Dtype.BF16, arch).astype(np.float64)
    finite = np.isfinite(got)
    kept = np.where(finite, got, 0)
    difference = np.where(finite, np.abs(got - want), 0)
    near = difference <= tolerance.value * (1 + np.abs(want))
    non_finite, lse_unwritten, lse_max = int((~finite).sum()), 0, None
    if lse and (rows.lse is None or rows.lse_written is None):
        lse_unwritten = want_lse.size
    elif lse and rows.lse is not None and rows.lse_written is not None:
        known = np.isfinite(rows.lse)
        non_finite += int((~known).sum())
        lse_unwritten = int((~rows.lse_written).sum())
        lse_max = float(np.abs(np.where(known, rows.lse, want_lse) - want_lse).max())
    return Error(
        max_abs=float(difference.max()),
        rmse=ratio(_norm(difference), _norm(want)),
        cosine=ratio(float((kept * want).sum()), _norm(kept) * _norm(want)),
        beyond=int((~(near & finite)).sum()),
        values=got.size,
        non_finite=non_finite,
        unwritten=int((~rows.out_written).sum()),
        lse_unwritten=lse_unwritten,
        lse_max_abs=lse_max,
        tolerance=tolerance,
    )


def _norm(values: Array) -> float:
    return float(np.sqrt(np.square(values.astype(np.float64)).sum()))
