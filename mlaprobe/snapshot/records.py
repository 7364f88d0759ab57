"""Outcomes of stages as records: small JSON objects that leave out what is as usual."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mlaprobe.core.caches import Cache, cache
from mlaprobe.core.enums import Unwritten
from mlaprobe.core.launch import Launch
from mlaprobe.core.shape import DecodeShape, Evidence, Failure, Kernel, StageOutcome, Status
from mlaprobe.snapshot.file import USUAL_FAILURE
from mlaprobe.snapshot.phrases import (
    Fields,
    by_key,
    choose,
    mark_batch,
    phrase,
    skeleton,
    text_of,
    unmarked,
    written,
)
from mlaprobe.snapshot.phrases import Values as Known
from mlaprobe.snapshot.phrases import number as number_of

FIELDS = (
    *("status", "fold", "qlen_fold", "final_heads", "persistent", "entry", "failure", "message"),
    *("key", "kernels", "notes", "evidence", "calls", "missing", "fails_after", "unwritten_lse"),
    *("reduces", "misfit", "reduced_dim"),
)
"""What a record holds. The last seven are the dispatcher's: the entry point's own name, whether the
package lacks it, what fails after the launch, on which paths nothing else gets the log-sum-exp, the
head count that the reducer gets, what of the launch does not fit together, and the values per head
where they are another operation's."""
_USUAL: dict[str, Any] = {
    "fold": 1,
    "qlen_fold": 1,
    "missing": False,
    "unwritten_lse": "never",
}
_AT = {name: at for at, name in enumerate(FIELDS)}
_TEXTS = (_AT["message"], _AT["fails_after"], _AT["misfit"])
_NUMBERS = (_AT["final_heads"], _AT["reduces"])
_KEY, _MESSAGE = _AT["key"], _AT["message"]
Record = dict[str, Any]


def fields_of(
    outcome: StageOutcome,
    evidence: tuple[int, ...],
    kernels: tuple[int, ...],
    launch: Launch | None = None,
    reduces: int | None = None,
    reduced_dim: int | None = None,
) -> Fields:
    """An outcome as values, its evidence and kernels by their places in the notebook."""
    return (
        outcome.status,
        outcome.fold,
        outcome.qlen_fold,
        outcome.final_heads,
        outcome.persistent,
        outcome.entry,
        None if outcome.failure is None else outcome.failure.value,
        unmarked(outcome.message),
        outcome.key,
        kernels,
        outcome.notes,
        evidence,
        None if launch is None else launch.entry,
        launch is not None and launch.missing,
        None if launch is None else unmarked(launch.fails_after),
        None if launch is None else launch.unwritten_lse,
        reduces,
        None if launch is None else unmarked(launch.misfit),
        reduced_dim,
    )


def at_batch(fields: Fields, batch: int) -> Fields:
    """A record of one batch size, its texts saying so by a mark."""
    marked = list(fields)
    for at in _TEXTS:
        marked[at] = mark_batch(marked[at], batch)
    return tuple(marked)


def unproved(fields: Fields | None) -> Fields | None:
    """A record without its evidence, which may name a check more where two numbers of a question
    are equal by chance."""
    at = _AT["evidence"]
    return fields and (*fields[:at], *fields[at + 1 :])


def write_records(
    records: Sequence[tuple[Fields, Known]], names: Mapping[str, Sequence[str]]
) -> list[Record]:
    """Records of one stage as JSON objects, numbers that follow the question as variables. A key
    is written as the JSON of its columns' names, then its values.

    Args:
        records: each with what the variables are in all of its cells.
        names: of evidence and kernels, by their places.
    """
    bare = [skeleton(fields, _TEXTS, _NUMBERS, _KEY) for fields, _ in records]
    families: dict[Any, list[int]] = {}
    for at, (mask, _) in enumerate(bare):
        families.setdefault(mask, []).append(at)
    found: list[Record] = [{}] * len(records)
    for mask, members in families.items():
        chosen = choose([(bare[at][1], records[at][1]) for at in members])
        for at in members:
            numbers = written(bare[at][1], records[at][1], chosen)
            found[at] = _record(mask, numbers, names)
    return found


def _record(
    mask: Fields, numbers: Iterator[int | str], names: Mapping[str, Sequence[str]]
) -> Record:
    # In the order in which the numbers were taken out: texts, numbers, the key.
    filled = list(mask)
    for at in _TEXTS:
        if mask[at] is not None:
            filled[at] = phrase(mask[at], numbers)
    for at in _NUMBERS:
        if mask[at] is not None:
            filled[at] = next(numbers)
    if mask[_KEY] is not None:
        columns = json.dumps([name for name, _ in mask[_KEY]])
        key = [_key_value(value, numbers) for _, value in mask[_KEY]]
        filled[_KEY] = [columns, *key]
        if filled[_MESSAGE] is not None:
            filled[_MESSAGE] = by_key(filled[_MESSAGE], key)
    usual = {**_USUAL, "failure": USUAL_FAILURE.get(mask[_AT["status"]])}
    record: Record = {}
    for name, value in zip(FIELDS, filled, strict=True):
        # A failure that is usual and does not happen is said.
        nothing = value in (None, ()) and name != "failure"
        if nothing or value == usual.get(name):
            continue
        record[name] = " ".join(names[name][at] for at in value) if name in names else value
    return record


def _key_value(value: Any, numbers: Iterator[int | str]) -> Any:
    if value is None or isinstance(value, (bool, str)):
        return value
    number = next(numbers)
    return [number] if isinstance(number, str) else number


class Values(dict[str, int]):
    """The values of the variables for a question, computed on access."""

    __slots__ = ("_heads", "_qlen", "_shape")

    def __init__(self, shape: DecodeShape, heads: int, qlen: int) -> None:
        self._shape = shape
        self._heads = heads
        self._qlen = qlen

    def __missing__(self, name: str) -> int:
        if name == "heads":
            return self._heads
        if name == "qlen":
            return self._qlen
        if name == "rows":
            return self._heads * self._qlen
        return int(getattr(self._shape, name))


class Reader:
    """Turns the records of one stage into outcomes."""

    def __init__(
        self,
        stage: str,
        columns: Mapping[str, Sequence[str]],
        evidence: Mapping[str, Evidence],
        kernels: Mapping[str, Kernel],
    ) -> None:
        self._stage = stage
        self._columns = columns
        self._evidence = evidence
        self._kernels = kernels
        self._constant: dict[int, StageOutcome] = cache(Cache.RECORDS)
        """Outcomes of records without variables, by the record's identity."""

    def outcome(self, record: Record, values: Mapping[str, int]) -> StageOutcome:
        """The outcome for a question.

        Raises:
            KeyError: the record names something that is not there.
        """
        found = self._constant.get(id(record))
        if found is None:
            found = self._read(record, values)
            if _is_constant(record):
                self._constant[id(record)] = found
        return found

    def _read(self, record: Record, values: Mapping[str, int]) -> StageOutcome:
        get = record.get
        message, final, key = get("message"), get("final_heads"), get("key")
        failure = failure_of(record)
        found = None if key is None else self._key(key, values)
        listed = [value for _, value in found or ()]
        return StageOutcome(
            stage=self._stage,
            status=Status(record["status"]),
            fold=get("fold", 1),
            qlen_fold=get("qlen_fold", 1),
            final_heads=None if final is None else number_of(final, values),
            persistent=get("persistent"),
            entry=get("entry"),
            failure=None if failure is None else Failure(failure),
            message=None if message is None else text_of(message, values, listed),
            key=found,
            kernels=tuple(self._kernels[name] for name in get("kernels", "").split()),
            notes=tuple(get("notes", ())),
            evidence=tuple(self._evidence[name] for name in get("evidence", "").split()),
        )

    def _key(self, key: Sequence[Any], values: Mapping[str, int]) -> tuple[tuple[str, Any], ...]:
        columns = self._columns[key[0]]
        return tuple((n, _filled(v, values)) for n, v in zip(columns, key[1:], strict=True))

    def launch(self, record: Record, values: Mapping[str, int]) -> Launch:
        """The dispatcher's outcome with what it means for the stages after it."""
        after, reduces = record.get("fails_after"), record.get("reduces")
        misfit = record.get("misfit")
        return Launch(
            outcome=self.outcome(record, values),
            entry=record.get("calls"),
            missing=record.get("missing", False),
            fails_after=None if after is None else text_of(after, values),
            misfit=None if misfit is None else text_of(misfit, values),
            unwritten_lse=Unwritten(record.get("unwritten_lse", Unwritten.NEVER)),
            partial_heads=None if reduces is None else number_of(reduces, values),
            partial_dim=record.get("reduced_dim"),
        )


def failure_of(record: Record) -> str | None:
    """How the call fails, of which a record says what is not as usual for its status."""
    return record.get("failure", USUAL_FAILURE.get(record["status"]))


def _is_constant(record: Record) -> bool:
    """Whether a record has no variable in what its outcome is made of."""
    key, message = record.get("key", ()), record.get("message")
    return (
        not (isinstance(message, list) and any(isinstance(each, str) for each in message[1::2]))
        and not isinstance(record.get("final_heads"), str)
        and not any(isinstance(value, list) for value in key)
    )


def _filled(value: Any, values: Mapping[str, int]) -> Any:
    return values[value[0]] if isinstance(value, list) else value
