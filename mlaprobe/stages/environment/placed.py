"""Tensors of one concrete launch: each knows what it was made from, so that its memory can be
distinguished from that of others, and its values be computed.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

from mlaprobe.evaluator.engine.runs import Run
from mlaprobe.evaluator.engine.signals import Unsupported
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.values import Args, Kwargs, Value
from mlaprobe.evaluator.values.kinds import Builtin
from mlaprobe.stages.environment.dtypes import DtypeToken
from mlaprobe.stages.environment.tensors import Tensor


class Step(NamedTuple):
    """How a tensor was made."""

    how: str
    """``given`` by the caller, a function of torch's that fills it (``empty``, ``full``,
    ``arange``, ...), or of numpy's that makes it from another (``reshape``, ``transpose``,
    ...)."""
    source: Placed | None
    """The tensor that it was made from."""
    values: tuple[Any, ...]
    """The other arguments of that function."""


class Placed(Tensor):
    """A tensor of a launch. Two of them are the same only if they are one object."""

    __slots__ = ("step",)

    def __init__(
        self, name: str, shape: tuple[Any, ...], dtype: DtypeToken, *, contiguous: bool = True
    ) -> None:
        super().__init__(name, shape, dtype, contiguous=contiguous)
        self.step = Step("given", None, ())

    @property
    def identity(self) -> Hashable | None:
        """None: a result of a call with it must not stand for one with another."""
        return None

    def derived(
        self,
        how: str,
        shape: tuple[Any, ...],
        dtype: DtypeToken,
        values: tuple[Any, ...] = (),
        *,
        contiguous: bool = True,
    ) -> Placed:
        """A tensor that is made from this one."""
        made = Placed(self.name, shape, dtype, contiguous=contiguous)
        made.step = Step(how, self, values)
        return made

    def filled(self, how: str, values: tuple[Any, ...]) -> None:
        """Notes what it starts with."""
        self.step = Step(how, None, values)

    def get(self, name: str, span: Span) -> Any:
        if name == "set_":
            return Builtin(name, self._set)
        if name.endswith("_") and not name.startswith("_"):
            raise Unsupported(f"{name} of {self.name} changes what it holds", span)
        return super().get(name, span)

    def put_at(self, key: Value, value: Value, span: Span) -> None:
        """What it holds then is not followed."""
        raise Unsupported(f"elements of {self.name} are assigned", span)

    def _set(self, run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        """The tensor takes the memory of another: an event, which the execution of the launch
        follows."""
        run.emit("set", self.name, (self, *args), kwargs, span)
        return self
