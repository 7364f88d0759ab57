"""What became of shapes from release to release.

Releases answer one after the other, in their order; of neighbours with the same answer to a caller,
the first stands for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import groupby

from mlaprobe.compare.sides import Step, parts, rows
from mlaprobe.core.behaviour import Behaviour, Numbering
from mlaprobe.core.grid import Grid
from mlaprobe.core.protocols import Opened
from mlaprobe.core.releases import is_release, release_key
from mlaprobe.core.shape import DecodeShape, Verdict

Named = tuple[str, AbstractContextManager[Opened]]
"""The name of a release, and what answers for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Era:
    """Releases that follow each other, and answer alike."""

    first: str
    last: str
    releases: int
    """How many they are."""
    behaviour: Behaviour
    """Of the first."""
    named: bool
    """Whether these releases name the arch at all."""
    replaced: tuple[str, ...]
    """Those whose kernel is the one of the release before, from another file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One shape through the releases."""

    shape: DecodeShape
    behaviours: tuple[Behaviour, ...]
    """Of each release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiles:
    """The native head counts through the releases, other things being equal."""

    shape: DecodeShape
    """With the first of the head counts."""
    native: tuple[tuple[int, ...], ...]
    """Of each release, ascending."""
    unknown: tuple[tuple[int, ...], ...]
    """Of each release the head counts of which it is not known."""
    named: tuple[bool, ...]
    """Whether each release names the arch at all; where it does not, nothing is native."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Shapes through the releases."""

    source: str
    """Where the releases are from, in words."""
    releases: tuple[str, ...]
    """In their order."""
    archs: tuple[tuple[str, ...], ...]
    """What each of them names."""
    grid: Grid
    lines: tuple[Line, ...]
    """In the order of the grid."""

    def eras(self, line: Line) -> tuple[Era, ...]:
        """What a shape's answer was, from when to when."""
        named = self._named(line.shape)
        answers = [(each.words, of) for each, of in zip(line.behaviours, named, strict=True)]
        return tuple(
            Era(
                first=self.releases[at[0]],
                last=self.releases[at[-1]],
                releases=len(at),
                behaviour=line.behaviours[at[0]],
                named=named[at[0]],
                replaced=tuple(
                    self.releases[each]
                    for each in at[1:]
                    if line.behaviours[each].replaces(line.behaviours[each - 1])
                ),
            )
            for at in _runs(answers)
        )

    def _named(self, shape: DecodeShape) -> tuple[bool, ...]:
        return tuple(shape.arch in archs for archs in self.archs)

    @property
    def tiles(self) -> tuple[Tiles, ...]:
        """The native head counts for each setting of the grid."""
        groups: dict[DecodeShape, list[Line]] = {}
        for line in self.lines:
            groups.setdefault(replace(line.shape, num_heads=1), []).append(line)
        return tuple(
            Tiles(
                shape=lines[0].shape,
                native=self._heads(lines, Verdict.NATIVE),
                unknown=tuple(
                    heads if named else ()
                    for heads, named in zip(
                        self._heads(lines, Verdict.UNKNOWN),
                        self._named(lines[0].shape),
                        strict=True,
                    )
                ),
                named=self._named(lines[0].shape),
            )
            for lines in groups.values()
        )

    def _heads(self, lines: Sequence[Line], verdict: Verdict) -> tuple[tuple[int, ...], ...]:
        return tuple(
            tuple(
                sorted(
                    each.shape.num_heads for each in lines if each.behaviours[at].verdict is verdict
                )
            )
            for at in range(len(self.releases))
        )

    @property
    def turns(self) -> tuple[int, ...]:
        """The places of the releases from which on something is another than before; the first
        release is one."""
        return tuple(
            at
            for at in range(len(self.releases))
            if at == 0 or any(_turns(line, at) for line in self.lines)
        )


def _turns(line: Line, at: int) -> bool:
    return line.behaviours[at].words != line.behaviours[at - 1].words


def _runs(values: Sequence[object]) -> Iterator[list[int]]:
    """The places of neighbours that are equal."""
    for _, group in groupby(range(len(values)), key=lambda at: values[at]):
        yield list(group)


def history(
    releases: Iterable[Named], grid: Grid, *, source: str, step: Step = lambda: None
) -> History:
    """Asks every release about every shape of a grid.

    Args:
        releases: in their order. Each is opened when it is its turn, and closed after.
        source: where they are from, in words.
        step: called after every shape.

    Raises:
        SourceError: a release cannot be read.
    """
    shapes, numbering = tuple(grid.shapes()), Numbering()
    names: list[str] = []
    archs: list[tuple[str, ...]] = []
    behaviours: list[list[Behaviour]] = []
    for name, release in releases:
        with release as answers:
            found = _behaviours(answers, numbering, grid, step)
            archs.append(tuple(answers.archs))
        names.append(name)
        behaviours.append(found)
    lines = (
        Line(shape=shape, behaviours=tuple(found[at] for found in behaviours))
        for at, shape in enumerate(shapes)
    )
    return History(
        source=source,
        releases=tuple(names),
        archs=tuple(archs),
        grid=grid,
        lines=tuple(lines),
    )


def _behaviours(answers: Opened, numbering: Numbering, grid: Grid, step: Step) -> list[Behaviour]:
    """The behaviours of a grid, in the order of its shapes."""
    found: list[Behaviour] = []
    for asked in parts(grid):
        of_parts = [rows(answers, part, numbering, step) for part in asked]
        for of_heads in zip(*of_parts, strict=True):
            # In what varies within a part shapes differ first, then in what tells parts apart.
            by_cell = zip(*of_heads, strict=True)
            found += (numbering.by_number[number] for cell in by_cell for number in cell)
    return found


def within(names: Iterable[str], since: str | None, until: str | None) -> tuple[str, ...]:
    """Releases in their order, those outside some bounds left out.

    Raises:
        UsageError: a bound is no release.
    """
    low = None if since is None else release_key(since)
    high = None if until is None else release_key(until)
    found = sorted(filter(is_release, names), key=release_key)
    return tuple(
        name
        for name in found
        if (low is None or release_key(name) >= low) and (high is None or release_key(name) <= high)
    )


def bundled_releases(names: Iterable[str]) -> Iterator[Named]:
    """Bundled releases, by their names."""
    from mlaprobe.opening import bundled

    return ((name, bundled.load(name)) for name in names)


def release_tags(repository: str) -> tuple[str, ...]:
    """The tags of a git repository that name releases.

    Raises:
        SourceError: it is no git repository.
    """
    from pathlib import Path

    from mlaprobe.errors import SourceError
    from mlaprobe.sources.git import find_git_dir, run

    git_dir = find_git_dir(Path(repository).expanduser())
    if git_dir is None:
        raise SourceError(
            f"{repository} is not a git repository",
            hint="name one that has AITER's release tags, or leave --aiter out for the bundled "
            "releases",
        )
    tags = tuple(filter(is_release, run(git_dir, "tag", "--list").decode().split()))
    if not tags:
        raise SourceError(
            f"{repository} has no tag that names a release", hint="fetch its tags: git fetch --tags"
        )
    return tags


def tagged_releases(repository: str, tags: Iterable[str]) -> Iterator[Named]:
    """Releases at tags of a git repository; releases that are too old are left out."""
    from mlaprobe.errors import OutOfRangeError
    from mlaprobe.opening.shortcut import quickest

    for tag in tags:
        try:
            answers = quickest(f"{repository}@{tag}")
        except OutOfRangeError:
            continue
        yield tag, answers
