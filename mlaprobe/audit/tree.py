"""The Python files of a serving engine: a directory, or a wheel that is opened as an archive.
Nothing of it is imported or run."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

from mlaprobe.errors import SourceError

MAX_BYTES = 8 << 20
"""No file of an engine is larger."""
_SKIPPED = {".git", "__pycache__", "node_modules", ".venv"}


def python_files(engine: str) -> Iterator[tuple[str, str]]:
    """Path and text of every Python file, in order of the paths.

    Raises:
        SourceError: there is no such thing, or it cannot be read.
    """
    path = Path(engine).expanduser()
    try:
        if path.is_dir():
            yield from _in_directory(path)
        elif zipfile.is_zipfile(path):
            yield from _in_archive(path)
        else:
            raise SourceError(
                f"there is no engine at {engine}",
                hint="name a checkout, an installed package's folder, or a wheel",
            )
    except (OSError, zipfile.BadZipFile) as error:
        raise SourceError(f"cannot read {engine}: {error}") from None


def _in_directory(root: Path) -> Iterator[tuple[str, str]]:
    for file in sorted(root.rglob("*.py")):
        inside = file.relative_to(root)
        wanted = _SKIPPED.isdisjoint(inside.parts) and file.is_file()
        if wanted and file.stat().st_size <= MAX_BYTES:
            yield inside.as_posix(), file.read_text(encoding="utf-8", errors="replace")


def _in_archive(path: Path) -> Iterator[tuple[str, str]]:
    with zipfile.ZipFile(path) as archive:
        for entry in sorted(archive.infolist(), key=lambda each: each.filename):
            if entry.filename.endswith(".py") and entry.file_size <= MAX_BYTES:
                yield entry.filename, archive.read(entry).decode("utf-8", errors="replace")
