"""The answers of a live source to single cells, as records."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mlaprobe.core.caches import Cache, cache
from mlaprobe.core.launch import Launch
from mlaprobe.core.shape import DecodeShape, PlannerCall, StageName, StageOutcome, left_open
from mlaprobe.deciding.capability import Capability
from mlaprobe.snapshot import batches
from mlaprobe.snapshot.batches import MOST_BATCH, Rule, numbers_in, rules_of
from mlaprobe.snapshot.phrases import VARIABLES, Fields
from mlaprobe.snapshot.records import FIELDS, at_batch, fields_of
from mlaprobe.snapshot.scope import OMITTED, Scope
from mlaprobe.snapshot.tables import NOTHING, Notebook, Table
from mlaprobe.stages.instantiate import Solved

if TYPE_CHECKING:
    from mlaprobe.stages.dispatching.dispatched import Dispatched
    from mlaprobe.stages.instantiate import Leaf

USUAL: dict[str, Any] = {
    **{"lse": False, "causal": True, "cp_round_robin": False, "page_size": 1},
    **{"num_kv_splits": None, "sparse": False},
}
Known = Mapping[str, Any]
"""The values of a plane's setting, by axis."""
Answer = tuple[Fields | None, ...]
"""What the tables that are filled together hold for a cell; ``None``: the stage is not reached
there."""
Ask = Callable[[DecodeShape], Answer]
"""Asks about a cell."""
_NOTES, _MESSAGE = FIELDS.index("notes"), FIELDS.index("message")


class Asker:
    """One source, evaluated cell by cell."""

    def __init__(self, capability: Capability) -> None:
        self.capability = capability
        self.notebook = Notebook()
        self._evidence: dict[Any, tuple[int, ...]] = cache(Cache.PROOFS)
        capability.session.tracing = True  # every proof is wanted

    def forget(self) -> None:
        """Lets go of what no question of another arch or other dtypes can share."""
        self.capability.session.forget_runs()
        self._evidence.clear()

    def stage(self, name: str) -> Ask:
        """Asks one stage alone."""

        return lambda shape: (self.fields(self.capability.solve(name, shape), shape),)

    def launches(self, shape: DecodeShape) -> Answer:
        """Asks the dispatcher, and the host with what it passes."""
        capability = self.capability
        dispatched = capability.solve(StageName.DISPATCHER, shape)
        launch = capability.launch(shape)
        reduces = None
        if launch.outcome.persistent is not False and shape.persistent:
            reduces = launch.reduced_heads(shape)
        fields = self.fields(dispatched, shape, launch, reduces)
        called = None
        if launch.outcome.entry == "asm":
            called = self.fields(capability.solve_called(shape, launch), shape)
        return fields, called

    def launched(self, solved: Solved[Dispatched], shape: DecodeShape) -> Fields:
        """What an entry point of another operation does, with the reducer's call that it makes."""
        launch = solved.answer
        plain = Solved(launch.outcome, solved.leaf)
        return self.fields(
            plain,
            shape,
            launch,
            launch.partial_heads,
            launch.partial_dim,
        )

    def reducer(self, heads: int, head_dim: int | None, scope: Scope) -> Fields:
        """Asks the reducer."""
        q_dtype, kv_dtype = scope.dtypes[0]
        shape = DecodeShape(arch="gfx0", q_dtype=q_dtype, kv_dtype=kv_dtype, num_heads=heads)
        solved = self.capability.solve(StageName.REDUCER, shape, head_dim=head_dim)
        return self.fields(solved, shape)

    def fields(
        self,
        solved: Solved[StageOutcome],
        shape: DecodeShape,
        launch: Launch | None = None,
        reduces: int | None = None,
        reduced_dim: int | None = None,
    ) -> Fields:
        """An outcome as a record."""
        outcome = solved.answer
        kernels = self.notebook.kernels_at(outcome.kernels)
        proof = self._proof(outcome, shape, solved.leaf)
        return fields_of(outcome, proof, kernels, launch, reduces, reduced_dim)

    def _proof(
        self, outcome: StageOutcome, shape: DecodeShape, leaf: Leaf | None
    ) -> tuple[int, ...]:
        """Where an outcome's evidence stands. Looking for it takes longer than the answer; shapes
        that take the same paths have the same, unless a number happens to equal the head count."""
        if leaf is None:
            return self.notebook.evidence_at(outcome.evidence)
        number = _by_number(outcome.stage, shape.num_heads, shape.qlen)
        key = (leaf.clauses, outcome.status, outcome.persistent, outcome.kernels, number)
        found = self._evidence.get(key)
        if found is None:
            found = self._evidence[key] = self.notebook.evidence_at(outcome.evidence)
        return found


def _by_number(stage: str, heads: int, qlen: int) -> Hashable:
    """What the proof of an answer depends on besides the path: some are looked for by the head
    count, which may happen to be another number as well."""
    if stage not in (StageName.DISPATCHER, StageName.HOST):
        return None
    return (heads == qlen, heads if heads & (heads - 1) == 0 else 0)


def shapes(scope: Scope, known: Known, **others: Any) -> Callable[[int, int], DecodeShape]:
    """Makes the shapes of one plane, with some other fields, flags left open among them."""
    dtypes = known["dtypes"]
    omitted = dtypes == OMITTED
    q_dtype, kv_dtype = scope.dtypes[0] if omitted else dtypes
    fixed = {name: known[name] for name in ("persistent", *USUAL) if name in known}
    call = PlannerCall(q_dtype=None, kv_dtype=None) if omitted else PlannerCall()
    plain = DecodeShape(
        arch=known["arch"],
        q_dtype=q_dtype,
        kv_dtype=kv_dtype,
        num_heads=1,
        planner=call,
        **fixed,
    )

    def make(heads: int, qlen: int) -> DecodeShape:
        shape = replace(plain, num_heads=heads, qlen=qlen)
        return left_open(shape, **others) if others else shape

    return make


def values_of(heads: int, qlen: int, known: Known) -> tuple[int | None, ...]:
    """What each variable is; ``None`` for what is not varied."""
    flags = (known.get(name) for name in VARIABLES[3:])
    return (heads, qlen, heads * qlen, *(None if f is None else int(f) for f in flags))


def speaks_of_batch(answer: Answer) -> bool:
    """Whether an answer depends on the batch size by its own text, or may."""
    found = (fields for fields in answer if fields is not None)
    return any(batches.speaks_of_batch(fields[0], fields[_NOTES]) for fields in found)


def note(tables: tuple[Table, ...], answer: Answer, values: tuple[int | None, ...]) -> list[int]:
    """The places of an answer in the tables."""
    return [
        NOTHING if fields is None else table.note(fields, values)
        for table, fields in zip(tables, answer, strict=True)
    ]


_LARGE_BATCH = MOST_BATCH - 1
"""An odd number: one that a gate on divisibility would refuse."""


def batch_rules(
    make: Callable[[int, int], DecodeShape],
    cell: tuple[int, int],
    unset: Answer,
    ask: Ask,
) -> tuple[Rule[Answer], ...] | None:
    """What holds at which batch size; none where it is always what holds without one, and ``None``
    where that is not known."""

    def at(batch: int) -> Answer:
        answer = ask(replace(make(*cell), batch=batch))
        if answer == unset:
            return unset
        return tuple(None if fields is None else at_batch(fields, batch) for fields in answer)

    large = at(_LARGE_BATCH)
    if large == unset and not speaks_of_batch(unset):
        return ()
    hints: list[str] = []
    for fields in (*unset, *large):
        if fields is not None:
            hints += [*fields[_NOTES], fields[_MESSAGE] or ""]
    heads, qlen = cell
    rules = rules_of(at, numbers_in(hints), (heads, qlen, heads * qlen))
    return () if rules == (("any", 0, unset),) else rules
