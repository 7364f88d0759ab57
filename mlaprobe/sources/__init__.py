"""Where AITER's files come from. AITER itself is never imported, and nothing is changed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from mlaprobe.core.blobs import blob_hash
from mlaprobe.errors import NotAiterError, SourceError
from mlaprobe.sources.directory import DirectorySource
from mlaprobe.sources.interface import MAX_BYTES, Source, SourceFile, canonical
from mlaprobe.sources.recognise import is_aiter, is_repository, require_aiter

__all__ = [
    "INSTALLED",
    "MAX_BYTES",
    "DirectorySource",
    "Source",
    "SourceFile",
    "blob_hash",
    "canonical",
    "is_aiter",
    "open_source",
    "require_aiter",
]

INSTALLED = "installed"
"""The spec of the AITER in this environment; the default everywhere."""


def open_source(spec: str = INSTALLED) -> Source:
    """The source that a person named: ``installed``, a directory, an archive, or
    ``REPOSITORY@REVISION``. It is not checked that AITER is in it: see ``require_aiter``.

    Raises:
        SourceError: there is no such thing, or it cannot be read.
    """
    # The implementations are imported where they are needed: a cold start pays for one only.
    if spec == INSTALLED:
        from mlaprobe.sources.installed import InstalledSource

        return InstalledSource.find()
    if not spec or "\0" in spec:
        raise SourceError(f"{spec!r} names no source", hint=_how_to_name_one())
    path = Path(spec).expanduser()
    if _exists(path):
        return _open_path(spec, path)
    for left, revision in _splits(spec):
        repository = Path(left).expanduser()
        if _exists(repository):
            return _open_git(spec, repository, revision)
    raise _not_found(spec)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name that is too long, or in a folder that cannot be looked into
        return False


def _splits(spec: str) -> Iterator[tuple[str, str]]:
    """Repository and revision at each ``@``, the last first: both may hold one themselves."""
    at = spec.rfind("@")
    while at > 0:
        yield spec[:at], spec[at + 1 :]
        at = spec.rfind("@", 0, at)


def _open_path(spec: str, path: Path) -> Source:
    if is_repository(path):
        from mlaprobe.sources.git import GitSource

        return GitSource(spec, path, "HEAD")
    if path.is_dir():
        return DirectorySource.open(path, spec)
    if path.is_file():
        return _open_archive(spec, path)
    raise SourceError(f"{spec} is neither a file nor a directory", hint=_how_to_name_one())


def _open_archive(spec: str, path: Path) -> Source:
    import tarfile
    import zipfile

    from mlaprobe.sources.archive import ArchiveSource

    known = path.name.endswith((".whl", ".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2"))
    if not known:
        with contextlib.suppress(OSError, EOFError):
            known = zipfile.is_zipfile(path) or tarfile.is_tarfile(path)
    # By its name first: a damaged archive is reported as one.
    if known:
        return ArchiveSource(spec, path)
    raise NotAiterError(f"{spec} is a file, and not an archive", hint=_how_to_name_one())


def _open_git(spec: str, path: Path, revision: str) -> Source:
    from mlaprobe.sources.git import GitSource, find_git_dir

    git_dir = find_git_dir(path)
    if git_dir is None:
        raise SourceError(
            f"{path} is not a git repository, so there is no revision {revision!r} in it",
            hint="name the root of a work tree, a .git directory or a bare repository before @",
        )
    if not revision:
        raise SourceError(f"{spec} names no revision after the @", hint="write REPOSITORY@v0.1.20")
    return GitSource(spec, git_dir, revision)


def _not_found(spec: str) -> SourceError:
    if "://" in spec or spec.startswith("git@"):
        url = spec.rpartition("@")[0] if spec.rfind("@") > spec.rfind("/") else spec
        return SourceError(
            f"{spec} is an address, and nothing is fetched from the network",
            hint=f"git clone --bare {url} aiter.git, then name aiter.git@v0.1.20",
        )
    left, at, _ = spec.rpartition("@")
    if at and left:
        return SourceError(f"there is no git repository at {left}", hint=_how_to_name_one())
    return SourceError(f"there is nothing at {spec}", hint=_how_to_name_one())


def _how_to_name_one() -> str:
    return (
        "name a directory (a checkout or a site-packages), REPO@REV (a git repository at a tag or "
        "commit), a wheel, sdist or zip, or a snapshot"
    )
