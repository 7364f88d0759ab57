"""How far an emulated result is from attention in float32, and what of it was never written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from mlaprobe.core.shape import Dtype
from mlaprobe.emulation.arrays import Array
from mlaprobe.emulation.formats import decoded
from mlaprobe.emulation.merging import Rows


class Tolerance(Protocol):
    """How far a result may be from the reference."""

    @property
    def value(self) -> float:
        """By so much may an output value differ, plus by that share of the reference."""

    @property
    def share(self) -> float:
        """The part of all values that may differ by more."""

    @property
    def rmse(self) -> float:
        """The largest relative RMSE."""


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
    """Values that differ by more than the tolerance; those that are not finite among them."""
    values: int
    """Output values."""
    non_finite: int
    """Values of output and log-sum-exp that are infinite or no number."""
    unwritten: int
    """Values of the output that nothing was written to."""
    lse_unwritten: int
    """The same of the log-sum-exp."""
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
        if self.unwritten:
            found.append(f"{self.unwritten} of {self.values} output values were never written")
        if self.lse_unwritten:
            found.append(f"{self.lse_unwritten} values of the log-sum-exp were never written")
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
        rmse=_ratio(_norm(difference), _norm(want)),
        cosine=_ratio(float((kept * want).sum()), _norm(kept) * _norm(want)),
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


def _ratio(part: float, whole: float) -> float:
    """The ratio of two numbers; where both are 0, 1 is as good as 0 and 0 is the better news."""
    return 0.0 if whole == 0 == part else part / whole if whole else float("inf")
