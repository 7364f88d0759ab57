"""Takes a snapshot of a live source: every stage over its own inputs, which are far fewer than the
shapes that the stages together answer.

An input that a stage's function does not take is not varied. Everything else is asked cell by
cell; nothing is assumed of cells in between. Whether an answer depends on the batch size is found
by asking for it unset, at 1 and at a very large batch (for one setting of the flags), and wherever
a note speaks of the batch; the sizes at which it changes are then found by bisection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from mlaprobe.capability import Capability, reduced_heads
from mlaprobe.chain import Launch
from mlaprobe.shape import DecodeShape, PlannerCall, StageOutcome
from mlaprobe.snapshot.batches import MOST_BATCH, steps_of, tried
from mlaprobe.snapshot.phrases import VARIABLES, Fields
from mlaprobe.snapshot.records import FIELDS, fields_of
from mlaprobe.snapshot.scope import OMITTED, Scope
from mlaprobe.snapshot.tables import NOTHING, Notebook, Table

BOTH = (False, True)
Step = Callable[[], None]
FLAGS = {
    "lse": ("return_lse", "lse"),
    "causal": ("causal",),
    "cp_round_robin": ("global_indptr", "world", "rank", "round_robin"),
}
"""For each flag the meanings of the parameters that carry it."""
_NOTES = FIELDS.index("notes")
USUAL: dict[str, Any] = {"lse": False, "causal": True, "cp_round_robin": False, "page_size": 1}


class Taker:
    """Asks one source everything."""

    def __init__(self, capability: Capability, scope: Scope, step: Step) -> None:
        self.capability = capability
        self.scope = scope
        self.notebook = Notebook()
        self._step = step
        self._evidence: dict[Any, tuple[int, ...]] = {}

    # --- tables ----------------------------------------------------------------------------------

    def planner(self) -> Table:
        """The planner, told each dtype pair and none."""
        stage = self.capability.planner
        flags = self._flags(stage, "causal", "cp_round_robin")
        table = self._table(("dtypes", (*self.scope.dtypes, OMITTED)), *flags, *self._pages())
        self._fill(table, "planner", batches=False)
        return table

    def sizing(self) -> Table:
        """Sizing, for each dtype pair."""
        table = self._table(("dtypes", self.scope.dtypes))
        self._fill(table, "sizing")
        return table

    def gluon(self) -> Table:
        """The gluon route."""
        table = self._table(("dtypes", self.scope.dtypes), ("lse", BOTH))
        self._fill(table, "gluon")
        return table

    def host(self) -> Table:
        """The host, asked for the shape itself."""
        flags = self._flags(self.capability.host, *FLAGS)
        table = self._table(
            *(("dtypes", self.scope.dtypes), ("persistent", BOTH), *flags, *self._pages())
        )
        self._fill(table, "host", batches=False)
        return table

    def dispatcher(self) -> tuple[Table, Table]:
        """The dispatcher, and the host with what it passes."""
        flags = self._flags(self.capability.dispatcher, *FLAGS)
        axes = (
            *(("dtypes", self.scope.dtypes), ("persistent", BOTH), *flags, *self._pages()),
        )
        launches, calls = self._table(*axes), self._table(*axes)
        self._fill_launches(launches, calls)
        return launches, calls

    def reducer(self, heads: tuple[int, ...]) -> Table:
        """The reducer, for every head_dim that its router names."""
        stage = self.capability.reducer
        dims = () if stage is None else (stage.head_dim, *stage.head_dims)
        table = Table([("head_dim", tuple(dict.fromkeys(dims)) or (0,))])
        for setting in table.settings():
            table.planes[setting] = [self._reducer_cell(table, n, setting[0]) for n in heads]
            self._done()
        return table

    def _reducer_cell(self, table: Table, heads: int, head_dim: int) -> int:
        shape = DecodeShape(
            arch="any", q_dtype=self.scope.dtypes[0][0], kv_dtype=self.scope.dtypes[0][1], num_heads=heads
        )
        outcome = self.capability.ask("reducer", shape, head_dim=head_dim or None)
        values = (heads, None, None, None, None, None, None, None)
        return table.note(self._fields(outcome, None), values)

    # --- cells -----------------------------------------------------------------------------------

    def _table(self, *axes: tuple[str, tuple[Any, ...]]) -> Table:
        return Table((("arch", self.scope.archs), *axes))

    def _pages(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        return (("page_size", self.scope.page_sizes),)

    @staticmethod
    def _flags(stage: Any, *names: str) -> tuple[tuple[str, tuple[bool, ...]], ...]:
        """The flags that a stage's function takes, the usual value first."""
        return tuple(
            (name, (USUAL[name], not USUAL[name]))
            for name in names
            if stage is not None and any(map(stage.takes, FLAGS[name]))
        )

    def _fill(self, table: Table, stage: str, *, batches: bool = True) -> None:
        def answers(shape: DecodeShape) -> tuple[Fields | None, ...]:
            self.capability.world.leaf = None
            return (self._fields(self.capability.ask(stage, shape), shape),)

        self._fill_tables((table,), answers, batches=batches)

    def _fill_launches(self, launches: Table, calls: Table) -> None:
        capability = self.capability

        def answers(shape: DecodeShape) -> tuple[Fields | None, ...]:
            capability.world.leaf = None
            launch = capability.launch(shape)
            reduces = None
            if launch.outcome.persistent is not False and shape.persistent:
                reduces = reduced_heads(shape, launch)
            fields = self._fields(launch.outcome, shape, launch, reduces)
            if launch.outcome.entry != "asm":
                return fields, None
            capability.world.leaf = None
            return fields, self._fields(capability.called(shape, launch), shape)

        self._fill_tables((launches, calls), answers, batches=True)

    def _fill_tables(
        self,
        tables: tuple[Table, ...],
        answers: Callable[[DecodeShape], tuple[Fields | None, ...]],
        *,
        batches: bool,
    ) -> None:
        """Planes of tables with the same axes, from the answers to each shape."""
        changing: set[tuple[Any, ...]] = set()
        names = [name for name, _ in tables[0].axes]
        for setting in tables[0].settings():
            known = dict(zip(names, setting, strict=True))
            usual = all(known[n] == USUAL[n] for n in names if n in USUAL)
            planes: tuple[list[int], ...] = tuple([] for _ in tables)
            for shape in self._shapes(known):
                values = _values(shape, known)
                found = answers(shape)
                places = [_note(t, f, values) for t, f in zip(tables, found, strict=True)]
                cell = (known["arch"], known["dtypes"], known.get("persistent"), shape.num_heads, shape.qlen)
                if batches and (usual or cell in changing or _speaks_of_batch(found)):
                    steps = _steps(shape, found, answers)
                    if steps:
                        changing.add(cell)
                        places = _switched(tables, places, steps, values)
                for plane, place in zip(planes, places, strict=True):
                    plane.append(place)
            for table, plane in zip(tables, planes, strict=True):
                table.planes[setting] = plane
            self._done()

    def _done(self) -> None:
        self.capability.forget()
        self._step()

    def _shapes(self, known: dict[str, Any]) -> Iterator[DecodeShape]:
        """The shapes of one plane."""
        dtypes = known["dtypes"]
        omitted = dtypes == OMITTED
        q_dtype, kv_dtype = self.scope.dtypes[0] if omitted else dtypes
        fixed = {name: known[name] for name in ("persistent", *USUAL) if name in known}
        call = PlannerCall(q_dtype=None, kv_dtype=None) if omitted else PlannerCall()
        for heads, qlen in self.scope.cells():
            yield DecodeShape(
                arch=known["arch"],
                q_dtype=q_dtype,
                kv_dtype=kv_dtype,
                num_heads=heads,
                qlen=qlen,
                planner=call,
                **fixed,
            )

    def _fields(
        self,
        outcome: StageOutcome,
        shape: DecodeShape | None,
        launch: Launch | None = None,
        reduces: int | None = None,
    ) -> Fields:
        book = self.notebook
        kernels = book.kernels_at(outcome.kernels)
        return fields_of(outcome, self._evidence_of(outcome, shape), kernels, launch, reduces)

    def _evidence_of(self, outcome: StageOutcome, shape: DecodeShape | None) -> tuple[int, ...]:
        """The proof of an outcome. Looking for it takes longer than the answer, and shapes that
        take the same paths have the same one, unless numbers of the shape happen to be equal."""
        leaf = self.capability.world.leaf
        if leaf is None or shape is None:
            return self.notebook.evidence_at(outcome.evidence)
        heads, qlen = shape.num_heads, shape.qlen
        key = (
            *(leaf, outcome.stage, outcome.status, outcome.persistent, outcome.entry),
            *(outcome.kernels, heads == qlen, heads if heads & (heads - 1) == 0 else 0),
        )
        found = self._evidence.get(key)
        if found is None:
            found = self._evidence[key] = self.notebook.evidence_at(outcome.evidence)
        return found


def _values(shape: DecodeShape, known: dict[str, Any]) -> tuple[int | None, ...]:
    """What each variable is; ``None`` for what is not varied."""
    flags = (known.get(name) for name in VARIABLES[3:])
    heads, qlen = shape.num_heads, shape.qlen
    return (heads, qlen, heads * qlen, *(None if f is None else int(f) for f in flags))


def _note(table: Table, fields: Fields | None, values: tuple[int | None, ...]) -> int:
    return NOTHING if fields is None else table.note(fields, values)


def _speaks_of_batch(found: tuple[Fields | None, ...]) -> bool:
    return any(
        f is not None and (f[0] == "unknown" or any(" batch " in note for note in f[_NOTES]))
        for f in found
    )


def _steps(
    shape: DecodeShape,
    unset: tuple[Fields | None, ...],
    answers: Callable[[DecodeShape], tuple[Fields | None, ...]],
) -> tuple[tuple[int, tuple[Fields | None, ...]], ...]:
    """The batch sizes from which on another answer holds; none where it never changes."""

    def ask(batch: int) -> tuple[Fields | None, ...]:
        return answers(replace(shape, batch=batch))

    if ask(1) == unset and ask(MOST_BATCH) == unset and not _speaks_of_batch(unset):
        return ()
    notes = [note for f in unset if f is not None for note in f[_NOTES]]
    steps = steps_of(ask, tried(notes))
    return () if [answer for _, answer in steps] == [unset] else steps


def _switched(
    tables: tuple[Table, ...],
    unset: list[int],
    steps: tuple[tuple[int, tuple[Fields | None, ...]], ...],
    values: tuple[int | None, ...],
) -> list[int]:
    """The records of a cell whose answer depends on the batch size."""
    places: list[int] = []
    for at, table in enumerate(tables):
        found: list[tuple[int, int]] = []
        for size, answer in steps:
            place = _note(table, answer[at], values)
            if not found or found[-1][1] != place:
                found.append((size, place))
        same = [place for _, place in found] == [unset[at]]
        places.append(unset[at] if same else table.switch(unset[at], tuple(found)))
    return places
