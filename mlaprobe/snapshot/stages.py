"""The stages of a snapshot: for shapes on its grid they answer as the live ones did."""

from __future__ import annotations

from dataclasses import dataclass

from mlaprobe.core.caches import Cache, cache
from mlaprobe.core.launch import Launch
from mlaprobe.core.shape import DecodeShape, StageName, StageOutcome, Status
from mlaprobe.snapshot.file import Contents
from mlaprobe.snapshot.lookup import StageTable
from mlaprobe.snapshot.records import Record, Values
from mlaprobe.snapshot.scope import OMITTED, planner_cell

STAGES = (
    *(StageName.PLANNER, StageName.SIZING, StageName.DISPATCHER),
    *(StageName.HOST, StageName.GLUON),
)
"""The stages that answer for a shape."""


OUTSIDE_TEXT = "outside the snapshot: "
"""How the message about a shape, or a question to a stage, begins that the snapshot does not
hold."""


class UnknownBatchError(Exception):
    """How an answer depends on the batch size is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside(StageOutcome):
    """The outcome of a stage for a question that the snapshot does not hold."""


def outside(stage: str, what: str) -> Outside:
    """The outcome about something that the snapshot does not hold."""
    return Outside(stage=stage, status=Status.UNKNOWN, message=OUTSIDE_TEXT + what)


class Stages:
    """The stages for the chain (``mlaprobe.deciding.pipeline.Links``)."""

    def __init__(self, contents: Contents) -> None:
        data = contents.data
        self.head_dims: tuple[int, ...] = tuple(data["head_dims"])
        self._contents = contents
        self._qlen_at = contents.scope.qlen_at
        self.has_tables = bool(data["has_tables"])
        """Whether the source has a kernel table."""
        self._takes = frozenset(data["takes"])
        self._tables: dict[str, StageTable] = cache(Cache.RECORDS)

    def takes(self, role: str) -> bool:
        """Whether the dispatcher has a parameter of that meaning."""
        return role in self._takes

    def planner_takes(self, role: str) -> bool:
        """Not used: nothing is held of a planner with other modes."""
        return True

    def ask(self, stage: str, shape: DecodeShape) -> StageOutcome:
        """One stage alone.

        Raises:
            UnknownBatchError: the shape has a batch size for which that is not known.
        """
        if stage == StageName.DISPATCHER:
            return self.launch(shape).outcome
        table = self.table(stage)
        heads, qlen = shape.num_heads, shape.qlen
        if stage in (StageName.PLANNER, StageName.SIZING):
            _, heads, qlen = planner_cell(shape)
        words = words_of(stage, shape)
        record = self._record(table, words, heads, qlen, shape.batch)
        return table.reader.outcome(record, Values(shape, heads, qlen))

    def launch(self, shape: DecodeShape) -> Launch:
        """What the dispatcher does."""
        table = self.table("dispatcher")
        record = self._of(table, shape)
        return table.reader.launch(record, Values(shape, shape.num_heads, shape.qlen))

    def called(self, shape: DecodeShape, launch: Launch) -> StageOutcome:
        """The host, with what the dispatcher passes it."""
        table = self.table("called", "host")
        record = self._of(table, shape)
        return table.reader.outcome(record, Values(shape, shape.num_heads, shape.qlen))

    def reduced(self, shape: DecodeShape, launch: Launch) -> StageOutcome:
        """The reducer, with what the dispatcher passes it."""
        return self.reducer(launch.partial_heads or shape.num_heads)

    def reducer(self, heads: int, head_dim: int | None = None) -> StageOutcome:
        """Whether the merge exists for a pair."""
        table = self.table("reducer")
        dim = self.head_dims[0] if head_dim is None else head_dim
        if heads not in table.head_at or dim not in self.head_dims:
            return outside(StageName.REDUCER, f"a reducer of {heads} heads and head_dim {dim}")
        record = table.record({"head_dim": str(dim)}, heads, 0, None)
        assert record is not None
        return table.reader.outcome(record, {"heads": heads})

    def table(self, name: str, stage: str | None = None) -> StageTable:
        """The table of that name, whose answers are those of ``stage``."""
        table = self._tables.get(name)
        if table is None:
            table = self._tables[name] = StageTable(self._contents, name, stage or name)
        return table

    def _of(self, table: StageTable, shape: DecodeShape) -> Record:
        return self._record(table, _words(shape), shape.num_heads, shape.qlen, shape.batch)

    def _record(
        self, table: StageTable, words: dict[str, str], heads: int, qlen: int, batch: int | None
    ) -> Record:
        record = table.record(words, heads, self._qlen_at[qlen], batch)
        if record is None:
            raise UnknownBatchError
        return record


def words_of(stage: str, shape: DecodeShape) -> dict[str, str]:
    """The values of all axes as words, as a stage gets them."""
    words = _words(shape)
    if stage in (StageName.PLANNER, StageName.SIZING):
        dtypes = planner_cell(shape)[0]
        if dtypes != OMITTED:
            words["dtypes"] = "/".join(map(str, dtypes))
        elif stage == StageName.PLANNER:
            words["dtypes"] = "omitted"
    return words


def _words(shape: DecodeShape) -> dict[str, str]:
    """The values of all axes as words."""
    return {
        "arch": shape.arch,
        "dtypes": shape.q_dtype.value + "/" + shape.kv_dtype.value,
        "lse": "1" if shape.lse else "0",
        "persistent": "1" if shape.persistent else "0",
        "causal": "1" if shape.causal else "0",
        "cp_round_robin": "1" if shape.cp_round_robin else "0",
        "page_size": str(shape.page_size),
        "num_kv_splits": str(shape.num_kv_splits and min(shape.num_kv_splits, 2)),
        "sparse": "1" if shape.sparse else "0",
    }
