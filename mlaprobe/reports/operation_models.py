"""What deployments of models would launch in an operation besides decode."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from mlaprobe.core.grid import DtypePair
from mlaprobe.core.protocols import Decider
from mlaprobe.core.shape import DecodeShape, Operation, Verdict
from mlaprobe.padding.operations import LeastCount, least_count
from mlaprobe.reports.operations import Missing, missing
from mlaprobe.rulefiles.models import Deployment
from mlaprobe.rulefiles.operations import Entry, operations


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched:
    """The deployments that have one head count, in a function on an arch with two dtypes."""

    entry: Entry
    deployments: tuple[Deployment, ...]
    least: LeastCount

    @property
    def trouble(self) -> int:
        """Its rank: failing, then unknown, then what runs."""
        verdict = self.least.own.verdict
        return 3 if verdict.runs else 2 if verdict is Verdict.UNKNOWN else 1


def launches(
    answers: Decider,
    op: Operation,
    deployments: Iterable[Deployment],
    *,
    archs: Sequence[str],
    dtypes: Sequence[DtypePair],
    step: Callable[[], None] = lambda: None,
) -> tuple[Launched | Missing, ...]:
    """What a source has of an operation: each function with the deployments by head count, those
    that fail first, where any count up to 256 runs, or one of theirs may."""
    by_heads: dict[int, list[Deployment]] = {}
    for each in deployments:
        if each.model.outside is None:
            by_heads.setdefault(each.num_heads, []).append(each)
    found: list[Launched | Missing] = []
    for entry in operations()[op].entries:
        first = DecodeShape(
            arch=archs[0],
            q_dtype=dtypes[0][0],
            kv_dtype=dtypes[0][1],
            num_heads=1,
            op=op,
            persistent=entry.mode,
        )
        why = missing(answers.decide(first))
        if why is not None:
            found.append(Missing(entry=entry, why=why))
            continue
        for arch, (q_dtype, kv_dtype) in product(archs, dtypes):
            setting = replace(first, arch=arch, q_dtype=q_dtype, kv_dtype=kv_dtype)
            found += _setting(answers, entry, setting, by_heads)
            step()
    return tuple(found)


def _setting(
    answers: Decider, entry: Entry, setting: DecodeShape, by_heads: dict[int, list[Deployment]]
) -> Iterator[Launched]:
    rows = [
        Launched(
            entry=entry,
            deployments=tuple(same),
            least=least_count(answers, replace(setting, num_heads=heads), (1,)),
        )
        for heads, same in sorted(by_heads.items())
    ]
    if any(row.least.runs or row.least.own.verdict is Verdict.UNKNOWN for row in rows):
        yield from sorted(rows, key=lambda row: row.trouble)
