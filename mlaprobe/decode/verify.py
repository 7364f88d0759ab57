"""How far a result is from the reference, and whether that is near enough."""

from __future__ import annotations

from dataclasses import dataclass

from mlaprobe.decode.rules import Tolerance
from mlaprobe.decode.tensors import torch
from mlaprobe.padding.tensors import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Error:
    """The difference of an output, and of a log-sum-exp, from the reference."""

    max_abs: float
    """The largest absolute difference of finite values."""
    rmse: float
    """Root of the mean squared difference, over that of the reference."""
    cosine: float
    """Of the angle between both, each taken as one vector; 1 where they are the same."""
    beyond: int
    """Values that differ by more than the tolerance, absolutely plus as a share of the reference;
    those that are not finite among them."""
    values: int
    """Output values."""
    non_finite: int
    """Values of output and log-sum-exp that are infinite or no number."""
    lse_max_abs: float | None
    """The largest absolute difference of the log-sum-exp; ``None`` where there is none."""
    tolerance: Tolerance

    @property
    def passed(self) -> bool:
        """Whether the result is near enough."""
        return not self.complaints

    @property
    def complaints(self) -> tuple[str, ...]:
        """What is wrong with the result, in words; none: nothing."""
        limit = self.tolerance
        found = []
        if self.non_finite:
            found.append(f"{self.non_finite} values are infinite or no numbers")
        if self.beyond > limit.share * self.values:
            found.append(
                f"{self.beyond} of {self.values} values differ by more than {limit.value:g}"
            )
        if not self.rmse <= limit.rmse:
            found.append(f"the relative RMSE is {self.rmse:.2g}, above {limit.rmse:g}")
        if self.lse_max_abs is not None and not self.lse_max_abs <= limit.value:
            found.append(f"the log-sum-exp differs by {self.lse_max_abs:.2g}")
        return tuple(found)


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
        rmse=_ratio(difference.square().mean().sqrt(), want.square().mean().sqrt()),
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
    return _ratio(torch().dot(a, b), a.norm() * b.norm())


def _ratio(part: Tensor, whole: Tensor) -> float:
    """The ratio of two numbers; where both are 0, 1 is as good as 0 and 0 is the better news."""
    return 0.0 if float(whole) == 0 == float(part) else float(part / whole)
