"""The release that a source's files are closest to, file by file: ``rules/release_files.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlaprobe.core.caches import Cache, cached
from mlaprobe.core.releases import is_release, release_key
from mlaprobe.rulefiles.errata import BLOB_SCHEMA, BLOBS
from mlaprobe.rulefiles.loader import load_rules
from mlaprobe.rulefiles.schema import MapOf, Record, Release, Text

if TYPE_CHECKING:
    from mlaprobe.sources.interface import Source

RULES = "release_files"
ABSENT = "-"
"""In place of a blob hash: the release has no such file."""
_BLOB = Text(pattern=f"[0-9a-f]{{40}}|{ABSENT}", form="a blob hash of 40 hex digits, or -")
SCHEMA = Record(required={"files": MapOf(MapOf(_BLOB, key=Release()))})


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """A release, and how a source's files differ from its."""

    release: str
    same_as: tuple[str, ...]
    """Every release with the same of these files, in order; ``release`` among them."""
    changed: tuple[str, ...]
    """Files that are in both, with other contents."""
    missing: tuple[str, ...]
    """Files that the release has and the source has not."""
    added: tuple[str, ...]
    """Files that the source has and the release has not."""
    files: int
    """How many of the files are in either."""

    @property
    def differing(self) -> int:
        """How many files differ; 0: they are the release's."""
        return len(self.changed) + len(self.missing) + len(self.added)


@cached(Cache.RULES)
def release_files() -> Mapping[str, Mapping[str, str]]:
    """For every release, in order, the blob hash of each file; ``ABSENT`` where it has none."""
    changes = load_rules(RULES, SCHEMA)["files"]
    releases = sorted(load_rules(BLOBS, BLOB_SCHEMA)["releases"], key=release_key)
    found: dict[str, dict[str, str]] = {}
    held = dict.fromkeys(changes, ABSENT)
    for release in releases:
        held = {file: blobs.get(release, held[file]) for file, blobs in changes.items()}
        found[release] = held
    return found


def nearest(source: Source) -> Nearest | None:
    """The release with the fewest files that are others in the source; of several the source's
    own, else the last. ``None`` where not one file of the source is of any release.

    Raises:
        SourceError: a file cannot be read.
    """
    known = release_files()
    files = next(iter(known.values()))
    held = {file: source.blob(file) or ABSENT for file in files}
    if not any(
        blob != ABSENT and blob == release[file]
        for release in known.values()
        for file, blob in held.items()
    ):
        return None
    distance = {
        name: sum(held[file] != blob for file, blob in blobs.items())
        for name, blobs in known.items()
    }
    least = min(distance.values())
    closest = [name for name, count in distance.items() if count == least]
    own = _own(source.release, closest)
    return _compared(own or closest[-1], closest, held)


def _own(release: str | None, names: list[str]) -> str | None:
    """The name of a source's own release, where it is among some."""
    if release is None or not is_release(release):
        return None
    return next((name for name in names if release_key(name) == release_key(release)), None)


def _compared(name: str, closest: list[str], held: Mapping[str, str]) -> Nearest:
    blobs = release_files()[name]
    differing = [file for file, blob in blobs.items() if held[file] != blob]
    return Nearest(
        release=name,
        same_as=tuple(each for each in closest if release_files()[each] == blobs),
        changed=tuple(f for f in differing if ABSENT not in (held[f], blobs[f])),
        missing=tuple(f for f in differing if held[f] == ABSENT),
        added=tuple(f for f in differing if blobs[f] == ABSENT),
        files=sum((held[f], blob) != (ABSENT, ABSENT) for f, blob in blobs.items()),
    )
