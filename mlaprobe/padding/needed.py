"""What the launches of a plan need, found by asking its AITER when somebody wants to know."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, overload

from mlaprobe.core.needs import Need, Needing, Setting
from mlaprobe.core.protocols import Decider
from mlaprobe.core.shape import DecodeShape
from mlaprobe.rulefiles.requirements import LaunchNeed


class FoundNeeds(Sequence[Need]):
    """The needs of a plan's launches, each once, asked for at the first access: a source that is
    read takes a while for the first ones."""

    __slots__ = ("_answers", "_found", "_shapes")

    def __init__(self, answers: Needing, shapes: Iterable[DecodeShape]) -> None:
        self._answers = answers
        self._shapes = tuple(dict.fromkeys(shapes))
        self._found: tuple[Need, ...] | None = None

    def _all(self) -> tuple[Need, ...]:
        if self._found is None:
            by_id: dict[str, list[Need]] = {}
            for shape in self._shapes:
                for need in self._answers.needs(shape):
                    by_id.setdefault(need.id, []).append(need)
            self._found = tuple(map(_joined, by_id.values()))
        return self._found

    @overload
    def __getitem__(self, index: int) -> Need: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Need, ...]: ...
    def __getitem__(self, index: int | slice) -> Need | tuple[Need, ...]:
        return self._all()[index]

    def __len__(self) -> int:
        return len(self._all())

    def __repr__(self) -> str:
        return f"<needs of {len(self._shapes)} launches>"

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (self._all(),)


def found_needs(answers: Decider, shapes: Iterable[DecodeShape]) -> Sequence[Need] | None:
    """What launches need; ``None`` where the AITER cannot be asked that."""
    shapes = tuple(shapes)
    if isinstance(answers, Needing) and all(map(answers.records_needs, shapes)):
        return FoundNeeds(answers, shapes)
    return None


def merged(rules: tuple[LaunchNeed, ...], found: Sequence[Need]) -> tuple[LaunchNeed | Need, ...]:
    """What people noticed, as far as asking does not show the same, and what asking shows."""
    shown = {need.id for need in found if need.outcome.certain}
    return (*(rule for rule in rules if rule.shown_by not in shown), *found)


def _joined(needs: list[Need]) -> Need:
    """One need of several query lengths: as of the first, with the settings of all."""
    names = dict.fromkeys(name for need in needs for name, _ in need.settings)
    values = {name: [dict(need.settings)[name] for need in needs] for name in names}
    settings = tuple((name, _one(each)) for name, each in values.items())
    return replace(needs[0], settings=settings) if len(needs) > 1 else needs[0]


def _one(values: list[Setting]) -> Setting:
    """One value for all query lengths, or one for each."""
    numbers = tuple(value for value in values if isinstance(value, int))
    return values[0] if len(set(values)) == 1 else numbers
