"""What became of shapes from release to release.

Releases answer one after the other, in their order; of neighbours with the same answer to a caller,
the first stands for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

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
        found = []
        answers = zip(line.behaviours, named, self.releases, strict=True)
        for _, group in groupby(answers, key=lambda each: (each[0].words, each[1])):
            same = list(group)
            behaviour, names_arch, first = same[0]
            found.append(
                Era(
                    first=first,
                    last=same[-1][2],
                    releases=len(same),
                    behaviour=behaviour,
                    named=names_arch,
                    replaced=tuple(
                        release
                        for (before, *_), (after, _, release) in pairwise(same)
                        if after.replaces(before)
                    ),
                )
            )
        return tuple(found)

    def _named(self, shape: DecodeShape) -> tuple[bool, ...]:
        return tuple(shape.arch in archs for archs in self.archs)

    @property
    def tiles(self) -> tuple[Tiles, ...]:
        """The native head counts for each setting of the grid."""
        groups: dict[DecodeShape, list[Line]] = {}
        for line in self.lines:
            groups.setdefault(replace(line.shape, num_heads=1), []).append(line)
        return tuple(map(self._tiles, groups.values()))

    def _tiles(self, lines: Sequence[Line]) -> Tiles:
        named = self._named(lines[0].shape)
        unknown = zip(self._heads(lines, Verdict.UNKNOWN), named, strict=True)
        return Tiles(
            shape=lines[0].shape,
            native=self._heads(lines, Verdict.NATIVE),
            unknown=tuple(heads if known else () for heads, known in unknown),
            named=named,
        )

    def _heads(self, lines: Sequence[Line], verdict: Verdict) -> tuple[tuple[int, ...], ...]:
        """The head counts with a verdict in each release, ascending."""
        by_release = zip(*(line.behaviours for line in lines), strict=True)
        heads = [line.shape.num_heads for line in lines]
        return tuple(
            tuple(sorted(heads[at] for at, each in enumerate(found) if each.verdict is verdict))
            for found in by_release
        )

    @property
    def turns(self) -> tuple[int, ...]:
        """The places of the releases from which on something is another than before; the first
        release is one."""
        words = [[each.words for each in line.behaviours] for line in self.lines]
        places = range(len(self.releases))
        return tuple(n for n in places if n == 0 or any(each[n] != each[n - 1] for each in words))


def history(
    releases: Iterable[Named], grid: Grid, *, source: str, step: Step = lambda: None
) -> History:
    """The behaviour of every shape of a grid in every release.

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
    for group in parts(grid):
        of_parts = [rows(answers, part, numbering, step) for part in group]
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
    found = ((release_key(name), name) for name in names if is_release(name))
    return tuple(
        name
        for key, name in sorted(found, key=lambda each: each[0])
        if (low is None or key >= low) and (high is None or key <= high)
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
