"""Opens whatever a person names: a live source, a snapshot, or a bundled release.

What reads source is imported only where there is source to read.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mlaprobe.errors import NotInstalledError
from mlaprobe.opening import bundled

if TYPE_CHECKING:
    from mlaprobe.deciding.capability import Capability
    from mlaprobe.snapshot import Snapshot

INSTALLED = "installed"


def probe(source: str = INSTALLED) -> Capability | Snapshot:
    """What answers for a source: ``installed``, a directory, an archive, ``REPO@REV``,
    ``release:v0.1.20``, or a snapshot file.

    Raises:
        SourceError: the source cannot be read, is no AITER, or too old (its subclasses).
    """
    snapshot = snapshot_of(source)
    if snapshot is not None:
        return snapshot
    from mlaprobe.deciding.capability import Capability

    return Capability.open(source)


def snapshot_of(source: str) -> Snapshot | None:
    """The snapshot that a source names: a bundled release, or a file that is one. ``None`` where
    it names something else.

    Raises:
        SourceError: it cannot be read.
    """
    if source.startswith(bundled.PREFIX):
        return bundled.load(source.removeprefix(bundled.PREFIX))
    if source == INSTALLED or not source or "\0" in source:
        return None
    path = Path(source).expanduser()
    if not path.is_file():
        return None
    from mlaprobe.snapshot import load, looks_like_one

    return load(path) if looks_like_one(path) or path.suffix == ".json" else None


def or_bundled(source: str) -> tuple[str, str | None]:
    """The source to show where none was named: the installed AITER; where none is installed, the
    newest bundled release.

    Returns:
        What ``probe`` takes, and why it is another than the one named; ``None``: it is not.

    Raises:
        NotInstalledError: no AITER is installed, and no release is bundled.
        SourceError: one is installed, and cannot be read.
    """
    if source != INSTALLED:
        return source, None
    from mlaprobe.sources import open_source, require_aiter

    try:
        with open_source(source) as opened:
            require_aiter(opened)
    except NotInstalledError as error:
        return newest_instead(error), error.message
    return source, None


def newest_instead(error: NotInstalledError) -> str:
    """The newest bundled release, as a source."""
    newest = bundled.newest()
    if newest is None:
        raise error
    return bundled.PREFIX + newest
