"""Every answer that a source gives over a grid: is any of them UNKNOWN?

Sources that look the same to everything that was read of one have the same answers, so a sweep of
many releases asks each distinct content once: a :class:`Witness` remembers what was read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from mlaprobe.core.grid import Grid
from mlaprobe.core.shape import DecodeShape, Route, Verdict
from mlaprobe.deciding.capability import Capability
from mlaprobe.sources import Source

KNOBS: tuple[tuple[tuple[str, str], ...], ...] = ((), (("AITER_ENABLE_EXPERIMENTAL", "1"),))
FULL = Grid(
    archs=("gfx942", "gfx950"),
    heads=tuple(range(1, 161)),
    qlens=tuple(range(1, 9)),
    lse=(False, True),
    persistent=(True, False),
)
"""What must be answered of every release, with the experimental knob unset and set."""
SPARSE = replace(FULL, heads=(1, 8, 12, *range(16, 145, 16), 24, 40, 160), qlens=(1, 2, 4, 5, 8))


class Witness(Source):
    """A source that remembers everything that was asked of it, and the answers."""

    def __init__(self, inner: Source) -> None:
        super().__init__(inner.label)
        self.inner = inner
        self.seen: dict[tuple[str, str], object] = {}

    def agrees(self, other: Source) -> bool:
        """Whether another source would have answered everything alike."""
        return all(_asked(other, what, path) == a for (what, path), a in self.seen.items())

    def _ask(self, what: str, path: str) -> None:
        self.seen[what, path] = _asked(self.inner, what, path)

    def _find_release(self) -> str | None:
        return self.inner.release

    @property
    def commit(self) -> str | None:
        return self.inner.commit

    def _load(self, path: str) -> tuple[bytes, str | None] | None:
        self._ask("blob", path)
        return self.inner._load(path)

    def _exists(self, path: str) -> bool:
        self._ask("exists", path)
        return self.inner._exists(path)

    def _list(self, prefix: str) -> set[str]:
        self._ask("list", prefix)
        return self.inner._list(prefix)

    def close(self) -> None:
        self.inner.close()


def _asked(source: Source, what: str, path: str) -> object:
    answer: object = getattr(source, what)(path)
    return answer


@dataclass(frozen=True, slots=True)
class Problem:
    """An answer that nobody can use."""

    stage: str
    """The stage that was asked alone, or ``verdict``."""
    shape: DecodeShape
    reason: str
    """What it says of itself."""


@dataclass(slots=True)
class Tally:
    """What a sweep found."""

    asked: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    problems: list[Problem] = field(default_factory=list)


def sweep(capability: Capability, grid: Grid) -> Tally:
    """Asks everything of a grid, composed and stage by stage."""
    tally = Tally()
    for env in KNOBS:
        for shape in replace(grid, env=env).shapes():
            decision = capability.judge(shape)
            tally.asked += 1
            tally.verdicts[decision.verdict.value] += 1
            if decision.verdict is Verdict.UNKNOWN:
                tally.problems.append(Problem("verdict", shape, _reason(decision.message)))
            for stage in _stages(shape):
                outcome = capability.ask(stage, shape)
                tally.asked += 1
                if outcome.status == "unknown":
                    tally.problems.append(Problem(stage, shape, _reason(outcome.message)))
            capability.forget()
    return tally


def _stages(shape: DecodeShape) -> Iterator[str]:
    """The stages that are told something new by this shape."""
    yield "dispatcher"
    yield "host"
    if shape.persistent and not shape.lse:
        yield from ("sizing", "planner")
        if shape.qlen == 1:
            yield "reducer"
    if shape.persistent:
        yield "gluon"


def _reason(message: str | None) -> str:
    return message or "no reason given"


def gluon(grid: Grid) -> Grid:
    """The same questions for the other route."""
    return replace(grid, route=Route.GLUON, persistent=(True,))
