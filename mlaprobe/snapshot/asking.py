"""Asks a live source for single cells, and keeps what it says as records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from mlaprobe.capability import Capability, reduced_heads
from mlaprobe.chain import Launch
from mlaprobe.shape import DecodeShape, PlannerCall, StageOutcome
from mlaprobe.snapshot.batches import MOST_BATCH, Rule, numbers_in, rules_of
from mlaprobe.snapshot.phrases import VARIABLES, Fields
from mlaprobe.snapshot.records import FIELDS, at_batch, fields_of
from mlaprobe.snapshot.scope import OMITTED, Scope
from mlaprobe.snapshot.tables import NOTHING, Notebook, Table

USUAL: dict[str, Any] = {"lse": False, "causal": True, "cp_round_robin": False, "page_size": 1}
Known = Mapping[str, Any]
"""The values of a plane's setting, by axis."""
Answer = tuple[Fields | None, ...]
"""What the tables that are filled together hold for a cell; ``None``: nothing is asked there."""
Ask = Callable[[DecodeShape], Answer]
_NOTES, _MESSAGE = FIELDS.index("notes"), FIELDS.index("message")
_BY_NUMBER = ("dispatcher", "host")
"""Stages whose proof is looked for by the head count."""


class Asker:
    """One source, asked cell by cell."""

    def __init__(self, capability: Capability) -> None:
        self.capability = capability
        self.notebook = Notebook()
        self._evidence: dict[Any, tuple[int, ...]] = {}

    def stage(self, name: str) -> Ask:
        """Asks one stage alone."""

        def ask(shape: DecodeShape) -> Answer:
            self.capability.world.forget_leaf()
            return (self._fields(self.capability.ask(name, shape), shape),)

        return ask

    def launches(self, shape: DecodeShape) -> Answer:
        """Asks the dispatcher, and the host with what it passes."""
        capability = self.capability
        capability.world.forget_leaf()
        launch = capability.launch(shape)
        reduces = None
        if launch.outcome.persistent is not False and shape.persistent:
            reduces = reduced_heads(shape, launch)
        fields = self._fields(launch.outcome, shape, launch, reduces)
        if launch.outcome.entry != "asm":
            return fields, None
        capability.world.forget_leaf()
        return fields, self._fields(capability.called(shape, launch), shape)

    def reducer(self, heads: int, head_dim: int | None, scope: Scope) -> Fields:
        """Asks the reducer."""
        q_dtype, kv_dtype = scope.dtypes[0]
        shape = DecodeShape(arch="any", q_dtype=q_dtype, kv_dtype=kv_dtype, num_heads=heads)
        self.capability.world.forget_leaf()
        outcome = self.capability.ask("reducer", shape, head_dim=head_dim)
        return self._fields(outcome, shape)

    def _fields(
        self,
        outcome: StageOutcome,
        shape: DecodeShape,
        launch: Launch | None = None,
        reduces: int | None = None,
    ) -> Fields:
        kernels = self.notebook.kernels_at(outcome.kernels)
        return fields_of(outcome, self._proof(outcome, shape), kernels, launch, reduces)

    def _proof(self, outcome: StageOutcome, shape: DecodeShape) -> tuple[int, ...]:
        """Where an outcome's evidence stands. Looking for it takes longer than the answer; shapes
        that take the same paths have the same, unless a number happens to equal the head count."""
        leaf = self.capability.world.leaf
        if leaf is None:
            return self.notebook.evidence_at(outcome.evidence)
        key: tuple[Any, ...] = (leaf, outcome.status, outcome.persistent, outcome.kernels)
        if outcome.stage in _BY_NUMBER:
            heads = shape.num_heads
            key += (heads == shape.qlen, heads if heads & (heads - 1) == 0 else 0)
        found = self._evidence.get(key)
        if found is None:
            found = self._evidence[key] = self.notebook.evidence_at(outcome.evidence)
        return found


def shapes(scope: Scope, known: Known) -> Iterator[DecodeShape]:
    """The shapes of one plane."""
    dtypes = known["dtypes"]
    omitted = dtypes == OMITTED
    q_dtype, kv_dtype = scope.dtypes[0] if omitted else dtypes
    fixed = {name: known[name] for name in ("persistent", *USUAL) if name in known}
    call = PlannerCall(q_dtype=None, kv_dtype=None) if omitted else PlannerCall()
    for heads, qlen in scope.cells():
        yield DecodeShape(
            arch=known["arch"],
            q_dtype=q_dtype,
            kv_dtype=kv_dtype,
            num_heads=heads,
            qlen=qlen,
            planner=call,
            **fixed,
        )


def values_of(shape: DecodeShape, known: Known) -> tuple[int | None, ...]:
    """What each variable is; ``None`` for what is not varied."""
    flags = (known.get(name) for name in VARIABLES[3:])
    heads, qlen = shape.num_heads, shape.qlen
    return (heads, qlen, heads * qlen, *(None if f is None else int(f) for f in flags))


def speaks_of_batch(answer: Answer) -> bool:
    """Whether an answer says that it depends on the batch size, or may."""
    return any(
        fields is not None
        and (fields[0] == "unknown" or any(" batch " in note for note in fields[_NOTES]))
        for fields in answer
    )


def note(tables: tuple[Table, ...], answer: Answer, values: tuple[int | None, ...]) -> list[int]:
    """The places of an answer in the tables."""
    return [
        NOTHING if fields is None else table.note(fields, values)
        for table, fields in zip(tables, answer, strict=True)
    ]


def batch_rules(shape: DecodeShape, unset: Answer, ask: Ask) -> tuple[Rule[Answer], ...] | None:
    """What holds at which batch size; none where it is always what holds without one, and
    ``None`` where that was not found out."""

    def at(batch: int) -> Answer:
        answer = ask(replace(shape, batch=batch))
        if answer == unset:
            return unset
        return tuple(None if fields is None else at_batch(fields, batch) for fields in answer)

    # An odd number: one that a gate on divisibility would refuse.
    if not speaks_of_batch(unset) and at(MOST_BATCH - 1) == unset:
        return ()
    hints: list[str] = []
    for fields in (*unset, *at(MOST_BATCH - 1)):
        if fields is not None:
            hints += [*fields[_NOTES], fields[_MESSAGE] or ""]
    heads, qlen = shape.num_heads, shape.qlen
    rules = rules_of(at, numbers_in(hints), (heads, qlen, heads * qlen))
    return () if rules == (("any", 0, unset),) else rules
