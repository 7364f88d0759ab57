"""Takes a snapshot of a live source: every stage over its own inputs, which are far fewer than the
shapes that the stages together answer.

An input that a stage's function does not take is not varied. Everything else is evaluated cell by
cell; nothing is assumed of cells in between. A flag that can be left *open*, as an unknown, is left
so first: an answer that holds whatever the flag is holds for all of its values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product
from typing import Any

from mlaprobe.core.enums import StageName
from mlaprobe.core.shape import DecodeShape
from mlaprobe.deciding.capability import Capability
from mlaprobe.evaluator.values import Unknown
from mlaprobe.snapshot.asking import (
    USUAL,
    Answer,
    Ask,
    Asker,
    Known,
    batch_rules,
    note,
    shapes,
    speaks_of_batch,
    values_of,
)
from mlaprobe.snapshot.batches import Rule
from mlaprobe.snapshot.needing import NeedTable
from mlaprobe.snapshot.phrases import VARIABLES
from mlaprobe.snapshot.records import unproved
from mlaprobe.snapshot.scope import OMITTED, Scope
from mlaprobe.snapshot.tables import Table

BOTH = (False, True)
Step = Callable[[], None]
SPLITS = (None, 1, 2)
"""AITER chooses; one, which some launches take for all; more than one."""
_MORE = (3, 16, 1009)
"""Numbers of splits that have to be answered as two are."""
_SAMPLE = (8, 16, 48, 64, 128)
"""Head counts for which that is looked at."""
FLAGS = {
    "lse": ("return_lse", "lse"),
    "causal": ("causal",),
    "cp_round_robin": ("global_indptr", "world", "rank", "round_robin"),
    "sparse": ("topk", "sparse"),
}
"""For each flag the meanings of the parameters that carry it."""
_LAUNCHED = ("lse", "causal", "cp_round_robin")
_OPEN = {name: Unknown(f"whether {name}", key=("open", name), free="data") for name in _LAUNCHED}


class Taker:
    """Makes the tables of one source."""

    def __init__(self, capability: Capability, scope: Scope, step: Step = lambda: None) -> None:
        self.capability = capability
        self.scope = scope
        self.asker = Asker(capability)
        self._step = step

    # --- tables ----------------------------------------------------------------------------------

    def planner(self) -> Table:
        """The planner, with each dtype pair and with none."""
        flags = self._flags(self.capability.planner, "causal", "cp_round_robin")
        sparse = self._flags(self.capability.planner, "sparse")
        axes = (("dtypes", (*self.scope.dtypes, OMITTED)), *self._pages(), *sparse, *flags)
        open_ = tuple(name for name, _ in flags)
        return self._filled("planner", *axes, open_=open_, batches=False)

    def sizing(self) -> Table:
        """Sizing, for each dtype pair."""
        sparse = self._flags(self.capability.sizing, "sparse")
        return self._filled("sizing", ("dtypes", self.scope.dtypes), *sparse)

    def gluon(self) -> Table:
        """The gluon route."""
        return self._filled("gluon", ("dtypes", self.scope.dtypes), ("lse", BOTH))

    def host(self) -> Table:
        """The host, for the shape itself."""
        return self._filled("host", *self._launch_axes(self.capability.host), batches=False)

    def dispatcher(self) -> tuple[Table, Table]:
        """The dispatcher, and the host with what it passes."""
        axes = self._launch_axes(self.capability.dispatcher)
        if self._takes_splits and self.splits_alike:
            axes = (*axes, ("num_kv_splits", SPLITS))
        tables = self._table(*axes), self._table(*axes)
        taken = {name for name, _ in axes}
        open_ = tuple(name for name in ("lse", "causal") if name in taken)
        self._fill(tables, "dispatcher", open_=open_)
        return tables

    @property
    def _takes_splits(self) -> bool:
        dispatcher = self.capability.dispatcher
        return dispatcher is not None and dispatcher.takes("splits")

    @cached_property
    def splits_alike(self) -> bool:
        """Whether the dispatcher answers to more KV splits as to two, by a sample of shapes."""
        asker = Asker(self.capability)  # what is looked at here is no part of the snapshot
        axes = (self.scope.archs, self.scope.dtypes, BOTH, BOTH, self.scope.qlens, _SAMPLE)
        for arch, (q_dtype, kv_dtype), persistent, lse, qlen, heads in product(*axes):
            shape = DecodeShape(
                arch=arch,
                q_dtype=q_dtype,
                kv_dtype=kv_dtype,
                num_heads=heads,
                qlen=qlen,
                lse=lse,
                persistent=persistent,
            )
            asked = (replace(shape, num_kv_splits=splits) for splits in (SPLITS[-1], *_MORE))
            if len({tuple(map(unproved, asker.launches(each))) for each in asked}) > 1:
                return False
        return True

    def reducer(self, heads: tuple[int, ...]) -> Table:
        """The reducer, for every head_dim that its router names."""
        stage = self.capability.reducer
        dims = () if stage is None else (stage.head_dim, *stage.head_dims)
        table = Table([("head_dim", tuple(dict.fromkeys(dims)) or (0,))])
        for (dim,) in table.settings():
            plane = []
            for count in heads:
                values = (count, *[None] * (len(VARIABLES) - 1))
                fields = self.asker.reducer(count, dim or None, self.scope)
                plane.append(table.note(fields, values))
            table.planes[(dim,)] = plane
            self._done()
        return table

    def needs(self) -> NeedTable:
        """What the usual launches need."""
        self.capability.session.tracing = False  # no proof is kept
        dispatcher = self.capability.dispatcher
        modes = (("dtypes", self.scope.dtypes), ("persistent", BOTH))
        flags = self._flags(dispatcher, "lse", "cp_round_robin")
        if "cp_round_robin" not in dict(flags):
            flags = (*flags, *self._flags(self.capability.planner, "cp_round_robin"))
        table = NeedTable((("arch", self.scope.archs), *modes, *flags))
        last: tuple[Any, ...] = ()
        for setting in table.settings():
            if last != (last := setting[:2]):
                self.asker.forget()
            table.fill(self.capability, self.scope, setting)
            self._done()
        return table

    # --- axes ------------------------------------------------------------------------------------

    def _table(self, *axes: tuple[str, tuple[Any, ...]]) -> Table:
        return Table((("arch", self.scope.archs), *axes))

    def _pages(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        return (("page_size", self.scope.page_sizes),)

    def _launch_axes(self, stage: Any) -> tuple[tuple[str, tuple[Any, ...]], ...]:
        modes = (("dtypes", self.scope.dtypes), ("persistent", BOTH))
        return (*modes, *self._pages(), *self._flags(stage, *_LAUNCHED))

    @staticmethod
    def _flags(stage: Any, *names: str) -> tuple[tuple[str, tuple[bool, ...]], ...]:
        """The flags that a stage's function takes, the usual value first."""
        return tuple(
            (name, (USUAL[name], not USUAL[name]))
            for name in names
            if stage is not None and any(map(stage.takes, FLAGS[name]))
        )

    # --- planes ----------------------------------------------------------------------------------

    def _filled(self, stage: str, *axes: tuple[str, tuple[Any, ...]], **how: Any) -> Table:
        """The table of one stage."""
        table = self._table(*axes)
        self._fill((table,), stage, **how)
        return table

    def _fill(
        self,
        tables: tuple[Table, ...],
        stage: str,
        *,
        open_: tuple[str, ...] = (),
        batches: bool = True,
    ) -> None:
        """Fills tables of the same axes, whose cells are evaluated together."""
        filler = _Filler(self.asker, self.scope, tables, stage, batches)
        fixed = [(name, values) for name, values in tables[0].axes if name not in open_]
        flags = [(name, values) for name, values in tables[0].axes if name in open_]
        last: tuple[Any, ...] = ()
        for setting in product(*(values for _, values in fixed)):
            known = dict(zip((name for name, _ in fixed), setting, strict=True))
            if last != (last := (known["arch"], known["dtypes"])):
                self.asker.forget()
            filler.planes(known, flags)
            self._done()

    def _done(self) -> None:
        self.capability.forget()
        self._step()


class _Filler:
    """Fills the planes of tables that share their axes."""

    def __init__(
        self, asker: Asker, scope: Scope, tables: tuple[Table, ...], stage: str, batches: bool
    ) -> None:
        self._scope = scope
        self._tables = tables
        self._ask: Ask = asker.launches if stage == StageName.DISPATCHER else asker.stage(stage)
        self._batches = batches
        self._changing: set[tuple[Any, ...]] = set()
        """Cells whose answer was seen to depend on the batch size."""

    def planes(self, known: Known, flags: Sequence[tuple[str, Sequence[Any]]]) -> None:
        """The planes of all values of the flags, the first of which are the usual ones."""
        names = [name for name, _ in flags]
        settings = list(product(*(values for _, values in flags)))
        usual = {**known, **dict(zip(names, settings[0], strict=True))}
        holds = self._usual_plane(usual, [name for name, values in flags if len(values) > 1])
        self._keep(usual, [places for places, _ in holds])
        for setting in settings[1:]:
            here = {**known, **dict(zip(names, setting, strict=True))}
            make, cells = shapes(self._scope, here), zip(self._scope.cells(), holds, strict=True)
            kept = [p if all_ else self._settled(here, make, at) for at, (p, all_) in cells]
            self._keep(here, kept)

    def _keep(self, known: Known, cells: list[list[int]]) -> None:
        for at, table in enumerate(self._tables):
            setting = tuple(known[name] for name, _ in table.axes)
            table.planes[setting] = [places[at] for places in cells]

    def _usual_plane(self, known: Known, opened: list[str]) -> list[tuple[list[int], bool]]:
        """Every cell with the flags as usual, and whether it holds whatever the flags are."""
        make, kept = shapes(self._scope, known), {**known}
        for name in opened:
            del kept[name]
        make_open = shapes(self._scope, known, **{name: _OPEN[name] for name in opened})
        found: list[tuple[list[int], bool]] = []
        for cell in self._scope.cells():
            answer = self._ask(make(*cell))
            places = self._settled(known, make, cell, answer)
            # What is launched depends on every flag that is passed on.
            launched = len(tuple(filter(None, answer))) > 1
            steady = max(places) >= 0 and not speaks_of_batch(answer)
            may_hold = bool(opened) and not launched and steady
            holds = may_hold and self._ask(make_open(*cell)) == answer
            if holds:
                places = note(self._tables, answer, values_of(*cell, kept))
            found.append((places, holds))
        return found

    def _settled(
        self,
        known: Known,
        make: Callable[[int, int], DecodeShape],
        cell: tuple[int, int],
        answer: Answer | None = None,
    ) -> list[int]:
        """The places of a cell's answer in the tables, by batch size where it depends on it."""
        answer = self._ask(make(*cell)) if answer is None else answer
        values = values_of(*cell, known)
        places = note(self._tables, answer, values)
        where = (known["arch"], known["dtypes"], known.get("persistent"), *cell)
        usual = all(known[name] == value for name, value in USUAL.items() if name in known)
        if not self._batches or not (usual or where in self._changing or speaks_of_batch(answer)):
            return places
        rules = batch_rules(make, cell, answer, self._ask)
        if rules == ():
            return places
        self._changing.add(where)
        return [
            table.switch(place, _in_table(table, at, rules, values))
            for at, (table, place) in enumerate(zip(self._tables, places, strict=True))
        ]


def _in_table(
    table: Table,
    at: int,
    rules: tuple[Rule[Answer], ...] | None,
    values: tuple[int | None, ...],
) -> tuple[Rule[int], ...] | None:
    """Rules with the places of the answers in one of the tables."""
    if rules is None:
        return None
    return tuple(
        (kind, number, note((table,), (answer[at],), values)[0]) for kind, number, answer in rules
    )
