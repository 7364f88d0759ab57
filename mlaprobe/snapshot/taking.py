"""Takes a snapshot of a live source: every stage over its own inputs, which are far fewer than the
shapes that the stages together answer.

An input that a stage's function does not take is not varied. Everything else is evaluated cell by
cell; nothing is assumed of cells in between. A flag that can be left *open*, as an unknown, is left
so first: an answer that holds whatever the flag is holds for all of its values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

from mlaprobe.core.enums import StageName
from mlaprobe.deciding.capability import Capability
from mlaprobe.evaluator.values import Unknown
from mlaprobe.snapshot.asking import (
    LARGE_BATCH,
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
from mlaprobe.snapshot.phrases import VARIABLES
from mlaprobe.snapshot.scope import OMITTED, Scope
from mlaprobe.snapshot.tables import Table

BOTH = (False, True)
Step = Callable[[], None]
FLAGS = {
    "lse": ("return_lse", "lse"),
    "causal": ("causal",),
    "cp_round_robin": ("global_indptr", "world", "rank", "round_robin"),
}
"""For each flag the meanings of the parameters that carry it."""
_OPEN = {name: Unknown(f"whether {name}", key=("open", name), free="data") for name in FLAGS}


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
        axes = (("dtypes", (*self.scope.dtypes, OMITTED)), *self._pages(), *flags)
        open_ = tuple(name for name, _ in flags)
        return self._filled("planner", *axes, open_=open_, batches=False)

    def sizing(self) -> Table:
        """Sizing, for each dtype pair."""
        return self._filled("sizing", ("dtypes", self.scope.dtypes))

    def gluon(self) -> Table:
        """The gluon route."""
        return self._filled("gluon", ("dtypes", self.scope.dtypes), ("lse", BOTH))

    def host(self) -> Table:
        """The host, for the shape itself."""
        return self._filled("host", *self._launch_axes(self.capability.host), batches=False)

    def dispatcher(self) -> tuple[Table, Table]:
        """The dispatcher, and the host with what it passes."""
        axes = self._launch_axes(self.capability.dispatcher)
        tables = self._table(*axes), self._table(*axes)
        taken = {name for name, _ in axes}
        open_ = tuple(name for name in ("lse", "causal") if name in taken)
        self._fill(tables, "dispatcher", open_=open_)
        return tables

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

    # --- axes ------------------------------------------------------------------------------------

    def _table(self, *axes: tuple[str, tuple[Any, ...]]) -> Table:
        return Table((("arch", self.scope.archs), *axes))

    def _pages(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        return (("page_size", self.scope.page_sizes),)

    def _launch_axes(self, stage: Any) -> tuple[tuple[str, tuple[Any, ...]], ...]:
        modes = (("dtypes", self.scope.dtypes), ("persistent", BOTH))
        return (*modes, *self._pages(), *self._flags(stage, *FLAGS))

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
            plane = _Plane(self, here)
            cells = zip(self._scope.cells(), holds, strict=True)
            self._keep(here, [p if all_ else plane.cell(*at) for at, (p, all_) in cells])

    def _keep(self, known: Known, cells: list[list[int]]) -> None:
        for at, table in enumerate(self._tables):
            setting = tuple(known[name] for name, _ in table.axes)
            table.planes[setting] = [places[at] for places in cells]

    def _usual_plane(self, known: Known, opened: list[str]) -> list[tuple[list[int], bool]]:
        """Every cell with the flags as usual, and whether it holds whatever the flags are."""
        plane = _Plane(self, known)
        flags = {name: _OPEN[name] for name in opened}
        ask_opened = self.cells(known, **flags)
        kept = {name: value for name, value in known.items() if name not in opened}
        found: list[tuple[list[int], bool]] = []
        for heads, qlen in self._scope.cells():
            answer = plane.ask(heads, qlen)
            places = plane.settled(heads, qlen, answer)
            # What is launched depends on every flag that is passed on.
            launched = len(tuple(filter(None, answer))) > 1
            steady = max(places) >= 0 and not speaks_of_batch(answer)
            holds = bool(opened) and not launched and steady and ask_opened(heads, qlen) == answer
            if holds:
                places = note(self._tables, answer, values_of(heads, qlen, kept))
            found.append((places, holds))
        return found

    def cells(self, known: Known, **others: Any) -> Callable[[int, int], Answer]:
        """Asks the cells of a setting, with some other fields of their shapes."""
        make = shapes(self._scope, known, **others)
        return lambda heads, qlen: self._ask(make(heads, qlen))


class _Plane:
    """The cells of one setting."""

    def __init__(self, filler: _Filler, known: Known) -> None:
        self._filler = filler
        self._known = known
        self._where = (known["arch"], known["dtypes"], known.get("persistent"))
        self._is_usual = all(known[n] == value for n, value in USUAL.items() if n in known)
        self._shape = shapes(filler._scope, known)
        self.ask = filler.cells(known)
        self._at_large = filler.cells(known, batch=LARGE_BATCH)

    def cell(self, heads: int, qlen: int) -> list[int]:
        """The places of a cell's answer in the tables."""
        return self.settled(heads, qlen, self.ask(heads, qlen))

    def settled(self, heads: int, qlen: int, answer: Answer) -> list[int]:
        """The places of an answer, by batch size where it depends on it."""
        filler = self._filler
        values = values_of(heads, qlen, self._known)
        places = note(filler._tables, answer, values)
        cell = (*self._where, heads, qlen)
        asked = self._is_usual or cell in filler._changing or speaks_of_batch(answer)
        if not filler._batches or not asked:
            return places
        large = self._at_large(heads, qlen)
        rules = batch_rules(self._shape, (heads, qlen), answer, large, filler._ask)
        if rules == ():
            return places
        filler._changing.add(cell)
        return [
            table.switch(place, self._rules(at, rules, values))
            for at, (table, place) in enumerate(zip(filler._tables, places, strict=True))
        ]

    def _rules(
        self, at: int, rules: tuple[Rule[Answer], ...] | None, values: tuple[int | None, ...]
    ) -> tuple[Rule[int], ...] | None:
        if rules is None:
            return None
        found: list[Rule[int]] = []
        for kind, number, answer in rules:
            (place,) = note((self._filler._tables[at],), (answer[at],), values)
            found.append((kind, number, place))
        return tuple(found)
