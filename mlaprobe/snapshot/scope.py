"""The grid that a snapshot answers on, and what lies outside it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product

from mlaprobe.core.axes import planner_values
from mlaprobe.core.grid import DEFAULT_DTYPES, DEFAULT_HEADS, DtypePair
from mlaprobe.core.numbers import ranges
from mlaprobe.core.shape import SAME, DecodeShape, Dtype, Operation, Route

STANDARD_HEADS = (*DEFAULT_HEADS, *range(144, 257, 16))
STANDARD_QLENS = tuple(range(1, 9))
STANDARD_PAGES = (1, 64)
VARIED = ("num_kv_splits", "sparse")
"""Fields of a shape that snapshots of older versions do not hold."""
PlannerDtypes = tuple[Dtype | None, Dtype | None]
"""The dtypes that the planner gets."""
OMITTED: PlannerDtypes = (None, None)
MODES = ("fast_mode", "intra_batch_mode", "max_split_per_batch", "cp_round_robin")
"""Other overrides of a planner call, which no table varies."""


@dataclass(frozen=True, kw_only=True)
class Scope:
    """The grid, besides every combination of lse, mode, causal and round robin."""

    archs: tuple[str, ...]
    dtypes: tuple[DtypePair, ...] = DEFAULT_DTYPES
    heads: tuple[int, ...] = STANDARD_HEADS
    qlens: tuple[int, ...] = STANDARD_QLENS
    page_sizes: tuple[int, ...] = STANDARD_PAGES
    fields: tuple[str, ...] = VARIED
    """Of ``VARIED``, those that are held with every value."""

    @cached_property
    def head_at(self) -> dict[int, int]:
        """The place of each head count."""
        return {heads: at for at, heads in enumerate(self.heads)}

    @cached_property
    def qlen_at(self) -> dict[int, int]:
        """The place of each query length."""
        return {qlen: at for at, qlen in enumerate(self.qlens)}

    def cells(self) -> product[tuple[int, int]]:
        """Head counts and query lengths, the head count slowest."""
        return product(self.heads, self.qlens)

    def outside(self, shape: DecodeShape, knobs: frozenset[str]) -> str | None:
        """What of a shape is not on the grid, in words; ``None`` where all of it is.

        A variable that no deciding code reads changes nothing; one of ``knobs`` may.
        """
        found = self._cell_outside(shape, knobs)
        if found is not None or shape.op is not Operation.DECODE:
            return found
        if shape.qlen not in self.qlen_at:
            return f"qlen {shape.qlen} (it holds {ranges(self.qlens)})"
        if shape.route is Route.GLUON:
            return None
        if shape.page_size not in self.page_sizes:
            return f"page size {shape.page_size} (it holds {ranges(self.page_sizes)})"
        for name in VARIED:
            if name not in self.fields and getattr(shape, name) not in (None, False):
                return f"{name} {getattr(shape, name)} (it says nothing of that: take it anew)"
        modes = planner_modes(shape)
        if not shape.persistent:  # of the modes, the dispatcher is passed one
            modes = {name: modes[name] for name in modes if name == "intra_batch_mode"}
        if modes:
            return _with_modes(modes)
        return self._planner_outside(shape) if shape.persistent else None

    def _cell_outside(self, shape: DecodeShape, knobs: frozenset[str]) -> str | None:
        """What every operation has in common."""
        if shape.arch not in self.archs:
            return f"{shape.arch} (it holds {', '.join(self.archs) or 'no arch'})"
        pair = (shape.q_dtype, shape.kv_dtype)
        if pair not in self.dtypes:
            return f"{shape.dtype} (it holds {', '.join(f'{q}/{kv}' for q, kv in self.dtypes)})"
        if shape.num_heads not in self.head_at:
            return f"{shape.num_heads} heads (it holds {ranges(self.heads)})"
        knob = next((name for name, _ in shape.env if name in knobs), None)
        if knob is None:
            return None
        return f"{knob} set (it holds every knob unset; ask the AITER source itself)"

    def _planner_outside(self, shape: DecodeShape) -> str | None:
        dtypes, heads, qlen = planner_cell(shape)
        if dtypes != OMITTED and dtypes not in self.dtypes:
            words = "/".join("nothing" if d is None else str(d) for d in dtypes)
            return f"a planner told the dtypes {words}"
        if heads not in self.head_at or qlen not in self.qlen_at:
            return f"a planner told {heads} heads and qlen {qlen}"
        uniform = shape.planner.uniform_qlen
        if uniform is not SAME and uniform != qlen:
            return f"a planner told the uniform qlen {uniform} besides qlen {qlen}"
        return None


def planner_cell(shape: DecodeShape) -> tuple[PlannerDtypes, int, int]:
    """The dtypes, the head count and the query length that the planner gets."""
    given = planner_values(shape)
    return (given["q_dtype"], given["kv_dtype"]), given["num_heads"], given["qlen"]


def planner_modes(shape: DecodeShape) -> dict[str, int | bool]:
    """The planner's modes of splitting the work that are not as usual."""
    usual = {"cp_round_robin": shape.cp_round_robin}
    return {
        name: value
        for name, value in shape.planner.overrides.items()
        if name in MODES and value != usual.get(name)
    }


def _with_modes(modes: dict[str, int | bool]) -> str:
    listed = ", ".join(f"{name}={int(value)}" for name, value in modes.items())
    return (
        f"a planner told {listed} (it holds what AITER takes where nothing is said; ask the AITER "
        "source itself: installed, a directory or REPO@REV)"
    )
