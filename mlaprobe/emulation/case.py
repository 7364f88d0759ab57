"""A launch of one kernel, and what became of it: plain values, which go to files and come back."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mlaprobe.core.enums import Layout, Operation
from mlaprobe.core.shape import DecodeShape
from mlaprobe.emulation.batches.batch import Batch
from mlaprobe.emulation.batches.formats import WIDTHS
from mlaprobe.errors import UsageError
from mlaprobe.rulefiles.operations import operations

WORLD = 2
"""Ranks of a round-robin launch, where nothing else is said."""
_LISTS = ("said", "outside", "differs", "races")
"""The fields of a result that are tuples."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A launch of one kernel."""

    symbol: str
    co: str
    """The code object's path in AITER's repository layout."""
    shape: DecodeShape
    kv_lens: tuple[int, ...]
    qlens: tuple[int, ...] = ()
    """Query tokens of each request, where they differ."""
    kv_splits: int | None = None
    """AITER's ``num_kv_splits``; ``None`` leaves it to AITER."""
    kv_cache_bytes: int = 0
    scales: tuple[float, float] = (1.0, 1.0)
    """What query and cache are multiplied with, each where it is fp8."""
    world: int = WORLD
    """Ranks of a round-robin launch; this one is in their middle."""
    units: int | None = None
    """Compute units that AITER's planner is told of; ``None``: a few for each request."""
    first: bool = False
    """Whether it is the first launch of its kernel."""

    @property
    def batch(self) -> Batch:
        """What is launched."""
        shape, layout = self.shape, layout_of(self.shape)
        world = self.world if shape.cp_round_robin else 1
        own = shape.num_kv_heads or shape.num_heads
        return Batch(
            arch=shape.arch,
            q_dtype=shape.q_dtype,
            kv_dtype=shape.kv_dtype,
            num_heads=shape.num_heads,
            layout=layout,
            num_kv_heads=own if layout is Layout.HEADS else 1,
            kv_lens=self.kv_lens,
            qlen=shape.qlen,
            qlens=self.qlens,
            page_size=shape.page_size,
            lse=shape.lse,
            causal=shape.causal,
            sm_scale=WIDTHS[layout][0] ** -0.5,
            q_scale=self.scales[0],
            kv_scale=self.scales[1],
            world=world,
            rank=world // 2,
            global_lens=_global_lens(self.kv_lens, world) if world > 1 else (),
            kv_cache_bytes=self.kv_cache_bytes,
        )

    @property
    def id(self) -> str:
        """The launch in a few words."""
        shape = self.shape
        flags = (
            ("lse", shape.lse),
            ("non-causal", not shape.causal),
            ("round robin", shape.cp_round_robin),
            ("no metadata", not shape.persistent),
            ("one split", self.kv_splits == 1),
        )
        words = [shape.dtype, f"{shape.num_heads} heads"]
        if shape.op is not Operation.DECODE:
            words.insert(0, str(shape.op))
        if shape.num_kv_heads is not None:
            words.append(f"{shape.num_kv_heads} KV heads")
        words.append("query " + ",".join(_runs(self.qlens)) if self.qlens else f"qlen {shape.qlen}")
        if shape.page_size > 1:
            words.append(f"pages of {shape.page_size}")
        words += [word for word, there in flags if there]
        if shape.cp_round_robin and self.world != WORLD:
            words.append(f"{self.world} ranks")
        if self.kv_splits is not None and self.kv_splits > 1:
            words.append(f"{self.kv_splits} splits")
        if self.units is not None:
            words.append(f"planned for {self.units} compute units")
        if self.scales != (1.0, 1.0):
            words.append("scales {:g} and {:g}".format(*self.scales))
        if self.kv_cache_bytes:
            words.append(f"a cache of {self.kv_cache_bytes} bytes")
        return ", ".join([*words, "KV " + ",".join(_runs(self.kv_lens))])


def layout_of(shape: DecodeShape) -> Layout:
    """How the batch of a shape is held.

    Raises:
        UsageError: its operation is not emulated.
    """
    entry = operations()[shape.op].entry(shape.persistent)
    if entry.layout is None:
        raise _not_emulated(f"{shape.op} by {entry.name}")
    return entry.layout


def check_emulated(op: Operation) -> None:
    """Checks that launches of an operation can be run.

    Raises:
        UsageError: those of none of its functions can.
    """
    if all(entry.layout is None for entry in operations()[op].entries):
        raise _not_emulated(str(op))


def _not_emulated(what: str) -> UsageError:
    emulated = [op for op, rule in operations().items() if any(e.layout for e in rule.entries)]
    return UsageError(
        f"launches of {what} are not emulated",
        hint=f"there are some of {', '.join(emulated)} that are; without --run, what is in code "
        "objects is shown",
    )


def _global_lens(kv_lens: Sequence[int], world: int) -> tuple[int, ...]:
    """KV tokens of all ranks, of which that in the middle has so many: the last tokens of one
    request after another end on each rank."""
    least = world // 2 + 1
    return tuple((length - 1) * world + least + at % world for at, length in enumerate(kv_lens))


def _runs(lens: Sequence[int]) -> Iterator[str]:
    """Lengths as text, three and more that follow each other as a range."""
    for _, run in itertools.groupby(enumerate(lens), lambda pair: pair[1] - pair[0]):
        found = [str(length) for _, length in run]
        yield from found if len(found) < 3 else [f"{found[0]}-{found[-1]}"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """What became of a case: plain values, which go to a file and come back."""

    symbol: str
    co: str
    blob: str | None
    """The git blob id of the code object."""
    case: str
    standing: str
    """A ``Standing``, as text."""
    said: tuple[str, ...] = ()
    """What is wrong, or why it is not known."""
    max_abs: float | None = None
    rmse: float | None = None
    lse_max_abs: float | None = None
    outside: tuple[str, ...] = ()
    """Accesses outside any buffer: what, of which argument, at which bytes, by what."""
    differs: tuple[str, ...] = ()
    """Schedules under which the result is another."""
    schedules: str = "one"
    """How the launch was run again: one of ``planned.SCHEDULES``."""
    races: tuple[str, ...] = ()
    """Uses of registers that a load is still on its way to, where the result hangs on timing."""
    metadata: str | None = None
    instructions: int = 0
    seconds: float = 0.0
    """Of processor time."""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> CaseResult:
        """A result from what ``row`` gives."""
        lists = {name: tuple(row.get(name, ())) for name in _LISTS}
        return cls(**{**row, **lists})

    def row(self) -> dict[str, Any]:
        """Its fields as plain values."""
        return asdict(self)

    @property
    def key(self) -> tuple[str | None, ...]:
        """What tells it from other results."""
        return self.blob, self.symbol, self.case, self.schedules
