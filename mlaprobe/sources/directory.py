"""AITER's files in a directory: a checkout, a site-packages, or the package itself."""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path
from typing import ClassVar

from mlaprobe.errors import MlaprobeError, SourceError
from mlaprobe.sources.interface import MAX_BYTES, Source, too_large

DISTRIBUTION = "amd-aiter"
PACKAGE = "aiter"
META = "aiter_meta"
"""The folder beside the package in which wheels keep what a repository has at its root."""
NATIVE = "csrc"
"""The folder of C++ sources: its place distinguishes a checkout from an installation."""
MARK = "mla.py"
"""The file that distinguishes AMD's package from PyPI's unrelated one of the same name."""

_VERSION = re.compile(r"""^(?:__version__|version)\b[^'"\n]*['"]([^'"\n]+)['"]""", re.M)
_NOT_AITER = {".git", "__pycache__"}
_ABSENT = (FileNotFoundError, NotADirectoryError)


class DirectorySource(Source):
    """Files under a root, or under a package and a folder of sources beside it."""

    kind: ClassVar[str] = "directory"

    def __init__(self, label: str, root: Path, meta: Path | None = None) -> None:
        super().__init__(label)
        self.root = root
        """The directory that holds the package."""
        self.meta = meta or meta_of(root)
        """The directory that holds ``csrc`` and ``hsa``."""

    @classmethod
    def open(cls, path: Path, label: str | None = None) -> DirectorySource:
        """The source at a directory, whichever of AITER's layouts it is in."""
        return cls(label or str(path), find_root(path))

    @property
    def location(self) -> str:
        return str(self.root)

    def _find_release(self) -> str | None:
        """The tag that is checked out, else the version in the file that builds write."""
        if (self.root / ".git").exists():
            # Here, since most directories are none and need no git.
            from mlaprobe.sources.git import release_at_head

            try:
                if tag := release_at_head(self.root / ".git"):
                    return tag
            except MlaprobeError:
                pass  # A broken repository beside the files is no reason not to read them.
        file = self.read(f"{PACKAGE}/_version.py")
        version = version_in(file.text) if file else None
        return version or version_beside(self.root)

    @property
    def ancestor(self) -> str | None:
        """The release tag before what is checked out."""
        if not (self.root / ".git").exists():
            return None
        from mlaprobe.sources.git import release_before

        return release_before(self.root / ".git", "HEAD")

    def _real(self, path: str) -> Path:
        first, _, rest = path.partition("/")
        return self.root / PACKAGE / rest if first == PACKAGE else self.meta / path

    def _stat(self, path: str) -> os.stat_result | None:
        """The status of a regular file. Anything else (a folder, a pipe, a device) is no file
        of AITER's, and opening it could block."""
        try:
            status = self._real(path).stat()
        except OSError as error:
            # Only "there is no such file" is an answer; the rest is not knowing.
            if isinstance(error, _ABSENT) or error.errno == errno.ENAMETOOLONG:
                return None
            raise self._unreadable(path, error) from None
        return status if stat.S_ISREG(status.st_mode) else None

    def _unreadable(self, path: str, error: OSError) -> SourceError:
        return SourceError(f"cannot read {path} in {self.label}: {error.strerror}", file=path)

    def _load(self, path: str) -> tuple[bytes, str | None] | None:
        status = self._stat(path)
        if status is None:
            return None
        try:
            with self._real(path).open("rb") as handle:
                data = handle.read(MAX_BYTES + 1)
        except OSError as error:
            raise self._unreadable(path, error) from None
        if len(data) > MAX_BYTES:
            raise too_large(path, status.st_size, self.label)
        return data, None

    def _exists(self, path: str) -> bool:
        return self._stat(path) is not None

    def _list(self, prefix: str) -> set[str]:
        if prefix:
            return self._walk(prefix)
        return self._walk("") | self._walk(PACKAGE)

    def _walk(self, start: str) -> set[str]:
        found: set[str] = set()
        waiting = [(str(self._real(start)), f"{start}/" if start else "")]
        while waiting:
            folder, inside = waiting.pop()
            # At the root the package is left to a walk of its own: it may lie elsewhere.
            skipped = _NOT_AITER if inside else {*_NOT_AITER, PACKAGE}
            for entry in self._scanned(folder, start):
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in skipped:
                        waiting.append((entry.path, f"{inside}{entry.name}/"))
                # Asking the entry takes no look at the file, which there are thousands of.
                elif entry.is_file(follow_symlinks=False) or self._exists(inside + entry.name):
                    found.add(inside + entry.name)
        return found

    def _scanned(self, folder: str, start: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                return list(entries)
        except _ABSENT:
            return []
        except OSError as error:
            raise self._unreadable(start or self.location, error) from None


def find_root(path: Path) -> Path:
    """The directory that holds the ``aiter`` package (or, without one, the C++ sources), for a
    path to it, to the package inside it or to the folder that wheels keep the sources in."""
    if is_package(path / PACKAGE):
        return path
    real = path.resolve()
    inside = (real.name == PACKAGE and is_package(real)) or (
        real.name == META and is_package(real.parent / PACKAGE)
    )
    return real.parent if inside else path


def is_package(path: Path) -> bool:
    """Whether a directory is AMD's ``aiter`` package."""
    return (path / MARK).is_file()


def meta_of(root: Path) -> Path:
    """The directory that holds the C++ sources, decided as AITER itself does: its own note of
    how it was installed, unless there are no sources there."""
    inside = root / META
    try:
        mode = (root / PACKAGE / "install_mode").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        mode = ""
    if not (root / NATIVE).is_dir():
        mode = "install"
    return inside if mode == "install" and inside.is_dir() else root


def version_beside(root: Path) -> str | None:
    """The version of the one distribution of AITER whose ``dist-info`` lies beside the package."""
    pattern = f"{DISTRIBUTION.replace('-', '_')}-*.dist-info"
    names = [path.name for path in root.glob(pattern)]
    if len(names) != 1:
        return None
    return names[0].removesuffix(".dist-info").partition("-")[2] or None


def version_in(text: str) -> str | None:
    """The version that a ``_version.py`` assigns."""
    found = _VERSION.search(text)
    return found.group(1) if found else None
