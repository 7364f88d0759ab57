"""Changes that a team has looked at and lives with, until a release."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from mlaprobe.compare.diff import Change, Kind
from mlaprobe.core.axes import shape_of
from mlaprobe.core.releases import is_release, release_key
from mlaprobe.rulefiles.loader import RuleMap, input_file
from mlaprobe.rulefiles.pattern import PATTERN, Pattern
from mlaprobe.rulefiles.schema import ListOf, Record, Release, Text

FIELDS = Record(
    required={
        "change": Text(choices=tuple(map(str, Kind))),
        "reason": Text(),
        "until": Release(),
    },
    optional={"shapes": PATTERN, "deployment": Text()},
)
"""A waiver."""
SCHEMA = Record(required={"waivers": ListOf(FIELDS)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiver:
    """One decision to live with something."""

    kind: Kind
    pattern: Pattern
    deployment: str | None
    """Holds for this deployment only."""
    reason: str
    until: str
    """The last release for which it holds."""
    file: str
    line: int
    text: str
    """The line of the file that it starts in."""

    def covers(self, change: Change, deployment: str | None) -> bool:
        """Whether it is about a change, for one deployment that it hits."""
        if self.kind is not change.kind or self.deployment not in (None, deployment):
            return False
        return all(self.pattern.matches(shape_of(cell)) for cell in product(*change.region.values))

    def expired(self, release: str | None) -> bool | None:
        """Whether it holds no longer; ``None`` where the release is not known."""
        if release is None or not is_release(release):
            return None
        return release_key(release) > release_key(self.until)


def load_waivers(file: Path | str) -> tuple[Waiver, ...]:
    """The waivers of a file.

    Raises:
        InputFileError: it cannot be read, or something in it is wrong.
    """
    with input_file(file, "waivers file", SCHEMA) as loaded:
        return tuple(map(_waiver, loaded["waivers"]))


def _waiver(entry: RuleMap) -> Waiver:
    place = entry.place
    shapes: dict[str, Any] = entry.get("shapes", {})
    return Waiver(
        kind=Kind(entry["change"]),
        pattern=Pattern(shapes),
        deployment=entry.get("deployment"),
        reason=" ".join(entry["reason"].split()),
        until=entry["until"],
        file=place.file,
        line=place.line,
        text=" ".join(place.text.split()),
    )


def waived(change: Change, waivers: Iterable[Waiver]) -> str | None:
    """Why a change does not count: a waiver for each deployment that it hits. ``None`` where it
    does."""
    some = tuple(waivers)
    hit: tuple[str | None, ...] = change.deployments or (None,)
    reasons = [next(_reasons(change, name, some), None) for name in hit]
    if None in reasons:
        return None
    return "; ".join(dict.fromkeys(reason for reason in reasons if reason is not None))


def _reasons(change: Change, deployment: str | None, waivers: Iterable[Waiver]) -> Iterator[str]:
    for waiver in waivers:
        if waiver.covers(change, deployment):
            yield f"{waiver.reason} (until {waiver.until})"
