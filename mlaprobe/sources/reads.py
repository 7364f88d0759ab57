"""What an evaluation read of a source, so that another source can be seen to be the same to it.

Evaluation is a function of the files that it reads, of those that it looks for in vain, and of the
lists of files that it goes through. A source that is the same in all of these has the same answers,
whatever else is in it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha1

from mlaprobe.core.elsewhere import SetElsewhere
from mlaprobe.errors import SourceError
from mlaprobe.sources.interface import Source

Listing = tuple[str, tuple[str, ...]]
"""A folder, and the endings of the files that matter in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """What was read of a source."""

    paths: tuple[str, ...]
    """Files that were looked for, in order of their names."""
    listings: tuple[Listing, ...]
    """Folders whose files were listed."""
    digest: str
    """Over what was found."""
    elsewhere: SetElsewhere = field(default_factory=SetElsewhere)
    """What its Python modules set of each other, as far as that was looked for."""

    def held_by(self, source: Source | Seen) -> bool:
        """Whether a source has the same: the files byte for byte, and no others where there were
        none. One that cannot be read has not."""
        try:
            return digest_of(source, self.paths, self.listings) == self.digest
        except SourceError:
            return False


class Seen:
    """A source that is asked the same for many releases: a file is looked up once. It buys 0.5 s
    for a source that is none of them."""

    def __init__(self, source: Source) -> None:
        self.blob = cache(source.blob)
        self.list = cache(source.list)


def reads_of(source: Source, paths: Iterable[str], listings: Iterable[Listing]) -> Reads:
    """What is read of a source.

    Raises:
        SourceError: a file cannot be read.
    """
    names, folders = tuple(sorted(paths)), tuple(sorted(listings))
    return Reads(paths=names, listings=folders, digest=digest_of(source, names, folders))


def digest_of(source: Source | Seen, paths: Iterable[str], listings: Iterable[Listing]) -> str:
    """One hash over the git blob ids of some files, ``-`` for one that is not there, and over the
    names of the files in some folders.

    Raises:
        SourceError: a file cannot be read.
    """
    lines = [f"{path} {source.blob(path) or '-'}\n" for path in paths]
    for folder, endings in listings:
        lines.append(f"{folder}/ {' '.join(endings)}\n")
        lines += [f"{path}\n" for path in source.list(folder) if path.endswith(endings)]
    return sha1("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()
