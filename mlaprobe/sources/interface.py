"""What every source answers, whatever AITER's files lie in.

Paths are *canonical*: those of AITER's git repository (``csrc/...``, ``hsa/...``,
``aiter/...``), with forward slashes, wherever a wheel or an installation keeps the file.
"""

from __future__ import annotations

import posixpath
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from mlaprobe.core.blobs import blob_hash
from mlaprobe.errors import SourceError

MAX_BYTES = 8 * 1024 * 1024
"""Larger files are refused: AITER's largest is under 2 MiB, and memory is bounded."""


def canonical(path: str) -> str | None:
    """The path as repositories write it, or ``None`` where it can name no file of a source
    (absolute, above the root, or with characters that no path of AITER has)."""
    if "\\" in path or any(ord(c) < 32 for c in path) or path.startswith("/"):
        return None
    normal = posixpath.normpath(path) if path else ""
    if normal == ".":
        return ""
    return None if normal == ".." or normal.startswith("../") else normal


def too_large(path: str, size: int, label: str) -> SourceError:
    """The error for a file over ``MAX_BYTES``."""
    return SourceError(
        f"{path} in {label} is too large to be AITER's: {size} bytes",
        hint=f"files over {MAX_BYTES} bytes are not read",
        file=path,
    )


# No slots: cached_property needs a __dict__.
@dataclass(frozen=True, kw_only=True)
class SourceFile:
    """One file of a source."""

    path: str
    """Canonical path."""
    data: bytes
    blob: str
    """Its git blob hash, also where the source is no git repository."""

    @cached_property
    def text(self) -> str:
        """The text: without a byte order mark, undecodable bytes replaced, lines ended by LF."""
        text = self.data.decode("utf-8-sig", errors="replace")
        return text.replace("\r\n", "\n").replace("\r", "\n")

    @property
    def is_binary(self) -> bool:
        """Whether the bytes are no text (git's own test: a NUL among them)."""
        return b"\0" in self.data


class Source(ABC):
    """AITER's files by canonical path. Reading never changes what is read.

    Threads may share one. A process that reads (git's) ends with the read; between ``hold`` and
    ``rest`` it is kept, until the last who held it rests.

    A file that is not there is ``None``. A file that is there and cannot be had (too large,
    unreadable, missing from a partial clone) raises ``SourceError``: taking it for absent would be
    an unchecked claim about AITER.
    """

    kind: ClassVar[str]
    """One of ``installed``, ``directory``, ``git``, ``archive``."""

    def __init__(self, label: str) -> None:
        self.label = label
        """The source as the user named it, for display."""
        self._files: dict[str, SourceFile | None] = {}
        self._release: tuple[str | None, ...] = ()
        self._lock = threading.RLock()
        self._holders = 0

    @property
    def release(self) -> str | None:
        """The release as its tag or distribution version says it, where that is known."""
        with self._open():
            if not self._release:
                self._release = (self._find_release(),)
            return self._release[0]

    @property
    def ancestor(self) -> str | None:
        """The last release tag before the files; of a git repository only."""
        return None

    @property
    def commit(self) -> str | None:
        """The commit that the files are of; git only."""
        return None

    @property
    def distribution(self) -> tuple[str, str] | None:
        """Name and version of the Python distribution that the files are of, where it is known."""
        return None

    @property
    def location(self) -> str:
        """Where the files lie, for display."""
        return self.label

    def read(self, path: str) -> SourceFile | None:
        """One file, or ``None`` where the source has none at this path.

        Raises:
            SourceError: the file is there and cannot be read.
        """
        name = canonical(path)
        if not name:
            return None
        if name not in self._files:
            with self._open():
                if name not in self._files:
                    self._files[name] = self._loaded(name)
        return self._files[name]

    def _loaded(self, name: str) -> SourceFile | None:
        loaded = self._load(name)
        if loaded is None:
            return None
        data, blob = loaded
        return SourceFile(path=name, data=data, blob=blob or blob_hash(data))

    @property
    def blobs_read(self) -> dict[str, str | None]:
        """The blob hash of every file that was read so far, ``None`` for one that is not
        there."""
        with self._lock:
            return {path: None if f is None else f.blob for path, f in self._files.items()}

    def exists(self, path: str) -> bool:
        """Whether there is a file at this path, readable or not."""
        name = canonical(path)
        with self._open():
            return bool(name) and self._exists(str(name))

    def list(self, prefix: str = "") -> tuple[str, ...]:
        """The canonical paths of all files under a folder, sorted."""
        name = canonical(prefix)
        with self._open():
            return () if name is None else tuple(sorted(self._list(name)))

    def blob(self, path: str) -> str | None:
        """The git blob hash of a file, or ``None`` where there is none."""
        file = self.read(path)
        return None if file is None else file.blob

    def close(self) -> None:
        """Lets go of what the source holds open; what was read stays at hand."""
        with self._lock:
            self._idle()

    def hold(self) -> None:
        """Many reads are to come: what they need is kept until ``rest`` is called as often."""
        with self._lock:
            self._holders += 1

    def rest(self) -> None:
        """The reads that ``hold`` was for are over."""
        with self._lock:
            self._holders -= 1
            if self._holders == 0:
                self._idle()

    @contextmanager
    def _open(self) -> Iterator[None]:
        """One read: one thread at a time, and no process is left that is not held."""
        with self._lock:
            self.hold()
            try:
                yield
            finally:
                self.rest()

    def _idle(self) -> None:  # noqa: B027 (most sources have no process)
        """Ends what is started again by the next read."""

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.label!r}>"

    @abstractmethod
    def _find_release(self) -> str | None: ...

    @abstractmethod
    def _load(self, path: str) -> tuple[bytes, str | None] | None:
        """Bytes and, where it is known, blob hash of the file at a canonical path."""

    @abstractmethod
    def _exists(self, path: str) -> bool: ...

    @abstractmethod
    def _list(self, prefix: str) -> set[str]: ...
