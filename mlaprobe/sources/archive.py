"""AITER's files in a wheel, a zip file or a tarball, of which nothing is ever unpacked to disk."""

from __future__ import annotations

import contextlib
import lzma
import posixpath
import re
import struct
import tarfile
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from mlaprobe.core.releases import is_release
from mlaprobe.errors import SourceError
from mlaprobe.sources.directory import META, NATIVE, PACKAGE, version_in
from mlaprobe.sources.interface import MAX_BYTES, Source, canonical, too_large

MAX_MEMBERS = 200_000
MAX_UNPACKED = 8 * 1024**3
"""A tarball has to be unpacked to be listed: past this it is no AITER, but a bomb."""
MAX_KEPT = 64 * 1024**2
"""What a tarball keeps in memory, so that reading a source file does not unpack it again."""

# What a damaged or hostile file makes the standard library raise.
_BROKEN = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    OverflowError,
    LookupError,
    struct.error,
)
_FIELD = re.compile(r"^(Name|Version): *(\S+)", re.M)


class ArchiveSource(Source):
    """The files of one archive, in whichever of AITER's layouts it is."""

    kind: ClassVar[str] = "archive"

    def __init__(self, label: str, path: Path) -> None:
        super().__init__(label)
        self.path = path
        try:
            self._archive: _Archive = (_Zip if zipfile.is_zipfile(path) else _Tar)(path)
            self._names, self._top = _lay_out(self._archive.sizes)
        except _BROKEN as error:
            raise SourceError(
                f"cannot read the archive {label}: {_why(error)}",
                hint="a wheel, a zip file or a (compressed) tarball can be read",
            ) from None

    @property
    def distribution(self) -> tuple[str, str] | None:
        """Name and version of the Python distribution that the archive holds, if it says so."""
        for name in self._archive.sizes:
            folder, _, file = name.rpartition("/")
            if (file == "METADATA" and folder.endswith(".dist-info") and "/" not in folder) or (
                file == "PKG-INFO" and "/" not in folder
            ):
                data = self._read_member(name, name)[: 1 << 16]
                fields = dict(_FIELD.findall(data.decode("utf-8", "replace").split("\n\n")[0]))
                if "Name" in fields and "Version" in fields:
                    return fields["Name"], fields["Version"]
        return None

    def close(self) -> None:
        self._archive.close()

    def _find_release(self) -> str | None:
        with contextlib.suppress(SourceError):
            if held := self.distribution:
                return held[1]
            if (file := self.read(f"{PACKAGE}/_version.py")) and (found := version_in(file.text)):
                return found
        # GitHub names the folder in its archives after the tag, less the v.
        tag = self._top.rpartition("aiter-")[2]
        return tag if is_release(tag) else None

    def _load(self, path: str) -> tuple[bytes, str | None] | None:
        name = self._names.get(path)
        return None if name is None else (self._read_member(name, path), None)

    def _read_member(self, name: str, path: str) -> bytes:
        size = self._archive.sizes[name]
        if size > MAX_BYTES:
            raise too_large(path, size, self.label)
        try:
            data = self._archive.read(name)
        except _BROKEN as error:
            raise SourceError(
                f"cannot read {path} in {self.label}: {_why(error)}", file=path
            ) from None
        if len(data) > MAX_BYTES:  # the archive lied about the size
            raise too_large(path, len(data), self.label)
        return data

    def _exists(self, path: str) -> bool:
        return path in self._names

    def _list(self, prefix: str) -> set[str]:
        if not prefix:
            return set(self._names)
        return {path for path in self._names if path.startswith(prefix + "/")}


def _why(error: BaseException) -> str:
    return str(error) or type(error).__name__


class _Archive(ABC):
    sizes: dict[str, int]
    """Size by member name, as the archive says."""

    @abstractmethod
    def read(self, name: str) -> bytes:
        """A member's bytes, cut after ``MAX_BYTES`` and one."""

    @abstractmethod
    def close(self) -> None: ...


class _Zip(_Archive):
    def __init__(self, path: Path) -> None:
        self._file = zipfile.ZipFile(path)
        members = self._file.infolist()
        if len(members) > MAX_MEMBERS:
            self._file.close()
            raise ValueError(f"it has {len(members)} members")
        self.sizes = {m.filename: m.file_size for m in members if not m.is_dir()}

    def read(self, name: str) -> bytes:
        with self._file.open(name) as member:
            return member.read(MAX_BYTES + 1)

    def close(self) -> None:
        self._file.close()


class _Tar(_Archive):
    def __init__(self, path: Path) -> None:
        self._file = tarfile.open(path, "r:*")  # noqa: SIM115 (closed with the source)
        self._members: dict[str, tarfile.TarInfo] = {}
        self._kept: dict[str, bytes] = {}
        try:
            self._scan()
        except BaseException:
            self._file.close()
            raise
        self.sizes = {name: member.size for name, member in self._members.items()}

    def _scan(self) -> None:
        """Lists the members in the one pass that a compressed stream allows cheaply, and keeps the
        files that are likely to be read."""
        unpacked = kept = 0
        for count, member in enumerate(self._file):
            unpacked += member.size
            if count >= MAX_MEMBERS or unpacked > MAX_UNPACKED:
                raise ValueError("it unpacks to far more than AITER is")
            if not member.isreg():  # links could lead anywhere, and AITER has none
                continue
            name = posixpath.normpath(member.name)
            self._members[name] = member
            self._kept.pop(name, None)  # a later member of the same name replaces it
            if member.size <= MAX_BYTES // 8 and not name.endswith(".co"):
                kept += member.size
                if kept <= MAX_KEPT:
                    self._kept[name] = self._extract(member)

    def _extract(self, member: tarfile.TarInfo) -> bytes:
        stream = self._file.extractfile(member)
        assert stream is not None
        with stream:
            return stream.read(MAX_BYTES + 1)

    def read(self, name: str) -> bytes:
        data = self._kept.get(name)
        return self._extract(self._members[name]) if data is None else data

    def close(self) -> None:
        self._file.close()


def _lay_out(names: Iterable[str]) -> tuple[dict[str, str], str]:
    """Member names by canonical path, and the folder that all members are in, if any."""
    clean = {name: path for name in names if (path := canonical(name))}
    top = _common_folder(clean.values())
    start = len(top) + 1 if top else 0
    paths = {path[start:]: name for name, path in clean.items()}
    for path in list(paths):
        # A wheel may keep modules under NAME.data/purelib.
        folder, _, rest = path.partition(".data/")
        kind, _, inside = rest.partition("/")
        if inside and "/" not in folder and kind in ("purelib", "platlib"):
            paths.setdefault(inside, paths.pop(path))
    if not any(path.startswith(NATIVE + "/") for path in paths):
        inner = {p[len(META) + 1 :]: name for p, name in paths.items() if p.startswith(META + "/")}
        outer = {p: name for p, name in paths.items() if not p.startswith(META + "/")}
        paths = {**inner, **outer}
    return paths, top


def _common_folder(paths: Iterable[str]) -> str:
    """The one folder that everything is in, where that folder is no part of AITER's layout."""
    tops = {path.partition("/")[0] if "/" in path else "" for path in paths}
    if len(tops) != 1:
        return ""
    (top,) = tops
    inside = {path[len(top) + 1 :].partition("/")[0] for path in paths}
    layout = {PACKAGE, NATIVE, META, "PKG-INFO", "pyproject.toml", "setup.py"}
    return top if inside & layout else ""
