"""How far a result is from the reference."""

from __future__ import annotations

from mlaprobe.core.accuracy import Error, Tolerance, ratio
from mlaprobe.decode.tensors import torch
from mlaprobe.padding.tensors import Tensor


def verify(
    o: Tensor,
    want: Tensor,
    tolerance: Tolerance,
    *,
    lse: Tensor | None = None,
    want_lse: Tensor | None = None,
) -> Error:
    """Compares a result with the reference. Waits for the device.

    Args:
        o: ``[tokens, heads, 512]``; ``want`` has the same shape, in float32.
        lse: ``[tokens, heads]``, where there is one; so is ``want_lse``.
    """
    got = o.float()
    finite = got.isfinite()
    difference = (got - want).abs().where(finite, 0)
    near = difference <= tolerance.value * (1 + want.abs())
    kept = got.where(finite, 0)
    non_finite = int((~finite).sum())
    lse_max = None
    if lse is not None and want_lse is not None:
        known = lse.isfinite()
        non_finite += int((~known).sum())
        lse_max = float((lse - want_lse).abs().where(known, 0).max())
    return Error(
        max_abs=float(difference.max()),
        rmse=ratio(float(difference.square().mean().sqrt()), float(want.square().mean().sqrt())),
        cosine=_cosine(kept, want),
        beyond=int((~(near & finite)).sum()),
        values=got.numel(),
        non_finite=non_finite,
        lse_max_abs=lse_max,
        tolerance=tolerance,
    )


def _cosine(a: Tensor, b: Tensor) -> float:
    # In float64: in float32 the sums of millions of squares lose what is to be seen.
    a, b = a.flatten().double(), b.flatten().double()
    return ratio(float(torch().dot(a, b)), float(a.norm() * b.norm()))
