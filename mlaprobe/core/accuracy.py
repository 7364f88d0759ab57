"""How far a result is from attention in float32, and how far it may be."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """How far a result may be from the reference."""

    value: float
    """By so much may an output value differ, plus by that share of the reference; so may a
    log-sum-exp, absolutely."""
    share: float
    """The part of all values that may differ by more."""
    rmse: float
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
    """Values that differ by more than the tolerance, absolutely plus as a share of the reference;
    values that are not finite among them."""
    values: int
    """Output values."""
    non_finite: int
    """Values of output and log-sum-exp that are infinite or no number."""
    lse_max_abs: float | None
    """The largest absolute difference of the log-sum-exp; ``None`` where there is none."""
    tolerance: Tolerance
    unwritten: int = 0
    """Values of the output that nothing was written to, where that was watched."""
    lse_unwritten: int = 0
    """The same of the log-sum-exp."""

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


def ratio(part: float, whole: float) -> float:
    """The ratio of two numbers; where both are 0, 1 is as good as 0 and 0 is the better news."""
    return 0.0 if whole == 0 == part else part / whole if whole else float("inf")
