"""What one AITER contradicts itself in, or cannot do although it says so."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mlaprobe.core.axes import AXES, AXIS_NAMES, Region, asked_values, regions, shape_of
from mlaprobe.core.boxes import Cell
from mlaprobe.core.protocols import SourceInfo
from mlaprobe.findings.facts import Fact
from mlaprobe.findings.model import Finding, Level
from mlaprobe.findings.rules import FindingRule, Otherwise, finding_rules

_SETTING = tuple(map(AXIS_NAMES.index, ("persistent", "planner", "env")))


class Coverage:
    """The values of each axis in some cells, and those of the cells in one setting (mode, planner
    call and knobs), because flags are not varied in all of them."""

    def __init__(self, cells: Iterable[Cell]) -> None:
        settings: dict[Cell, list[Cell]] = {}
        every = list(cells)
        for cell in every:
            settings.setdefault(self._setting(cell), []).append(cell)
        self.values = asked_values(every)
        self._settings = {key: asked_values(found) for key, found in settings.items()}

    @staticmethod
    def _setting(cell: Sequence[Any]) -> Cell:
        return tuple(cell[at] for at in _SETTING)

    def around(self, region: Region) -> Region:
        """The same region, described against the cells in its setting."""
        first = [values[0] for values in region.values]
        return replace(region, asked=self._settings[self._setting(first)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """The findings in one source."""

    source: SourceInfo
    findings: tuple[Finding, ...]
    """The worst first."""
    skipped: tuple[tuple[str, str], ...] = ()
    """Rules that could not be checked, and why."""
    unknown: int = 0
    """How many of the findings are about source that could not be followed."""

    def at_least(self, level: Level) -> tuple[Finding, ...]:
        """Those that are so bad, or worse."""
        return tuple(each for each in self.findings if each.level.rank <= level.rank)


def apply(
    facts: Iterable[Fact],
    *,
    rules: Iterable[FindingRule] | None = None,
    known: Collection[Known] = (),
    step: Callable[[], None] = lambda: None,
) -> tuple[Finding, ...]:
    """What the rules make of some facts, the worst first.

    Args:
        rules: by default all.
        known: what was found elsewhere already, and is left out.
    """
    chosen = finding_rules() if rules is None else tuple(rules)
    meant: dict[str, list[Fact]] = {rule.rule.id: [] for rule in chosen}
    cells: dict[str, dict[Cell, None]] = {}
    for fact in facts:
        if fact.cell is not None:
            cells.setdefault(fact.about, {})[fact.cell] = None
        for rule in chosen:
            if rule.means(fact) and (not known or known_as(rule, fact) not in known):
                meant[rule.rule.id].append(fact)
        step()
    covered = {about: Coverage(found) for about, found in cells.items()}
    found = [
        finding
        for rule in chosen
        for about in sorted(rule.about)
        for finding in _findings(
            rule,
            [fact for fact in meant[rule.rule.id] if fact.about == about],
            covered.get(about, Coverage(())),
        )
    ]
    return tuple(sorted(found, key=lambda each: (each.level.rank, each.rule.id)))


Known = tuple[str, Cell | str]
"""A rule, and the shape or thing that it is about."""


def known_as(rule: FindingRule, fact: Fact) -> Known:
    """What a fact is remembered as."""
    return rule.rule.id, fact.cell if fact.cell is not None else fact.identity


def _findings(rule: FindingRule, facts: list[Fact], coverage: Coverage) -> Iterator[Finding]:
    for fact in facts:
        if fact.cell is None:
            yield _single(rule, fact)
    groups: dict[tuple[Any, ...], tuple[Otherwise | None, dict[Cell, Fact]]] = {}
    for fact in facts:
        if fact.cell is not None:
            other = rule.otherwise_for(fact)
            at = rule.otherwise.index(other) if other is not None else -1
            together = other is not None and other.together
            key = (at, () if together else rule.key(fact))
            groups.setdefault(key, (other, {}))[1][fact.cell] = fact
    for other, by_cell in groups.values():
        yield from _regions(rule, other, by_cell, coverage)


def _single(rule: FindingRule, fact: Fact) -> Finding:
    other = rule.otherwise_for(fact)
    return Finding(
        rule=rule.rule,
        level=other.level if other is not None else rule.rule.level,
        message=rule.describe(fact.values),
        evidence=fact.proof(),
        identity=fact.identity,
    )


def _regions(
    rule: FindingRule, other: Otherwise | None, by_cell: dict[Cell, Fact], coverage: Coverage
) -> Iterator[Finding]:
    found = regions(by_cell, coverage.values)
    if other is not None and other.together:
        found = (_bounds(found),)
    for region in found:
        cell = _plainest(by_cell, region)
        fact = by_cell[cell]
        words = coverage.around(region).description
        yield Finding(
            rule=rule.rule,
            level=other.level if other is not None else rule.rule.level,
            message=rule.describe({**fact.values, "region": words}),
            shape=shape_of(cell),
            region=region,
            evidence=fact.proof(),
            identity=" ".join(map(str, (*rule.key(fact), *cell))),
        )


def _plainest(cells: Iterable[Cell], region: Region) -> Cell:
    """The cell of a region that comes first along every axis."""
    order = [{value: at for at, value in enumerate(values)} for values in region.values]
    inside = (cell for cell in cells if _inside(cell, region))
    return min(inside, key=lambda cell: [o[v] for o, v in zip(order, cell, strict=True)])


def _inside(cell: Cell, region: Region) -> bool:
    return all(value in values for value, values in zip(cell, region.values, strict=True))


def _bounds(found: Sequence[Region]) -> Region:
    """The smallest region that holds some others."""
    values = [
        tuple(v for v in found[0].asked[at] if any(v in each.values[at] for each in found))
        for at in range(len(AXES))
    ]
    return replace(found[0], values=tuple(values))
