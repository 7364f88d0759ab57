"""Which release the files of a source are of, or close to."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

from mlaprobe.errors import SourceError
from mlaprobe.opening import bundled
from mlaprobe.sources import Source
from mlaprobe.sources.closest_release import Nearest, nearest
from mlaprobe.system.doctor.model import Check, Severity

FILES = "files"


def files_check(source: Source, spec: str) -> Iterator[Check]:
    """The release with the same files, or the nearest."""
    try:
        found = nearest(source)
    except SourceError as error:
        yield Check(
            topic=FILES,
            severity=Severity.WARNING,
            found=error.message,
            advice=error.hint or "make the file readable: what it decides is not known",
        )
        return
    yield Check(
        topic=FILES,
        severity=Severity.NOTE if found is None or found.differing else Severity.OK,
        found=_summary(found, "your" if source.kind in ("installed", "directory") else "its"),
        how="" if found is None else f"blob hashes of {found.files} files that decide",
        more=() if found is None else tuple(_list(found)),
        advice="" if found is None or not found.differing else _compare(found, spec),
        detail={} if found is None else _detail(found),
    )


def _summary(found: Nearest | None, whose: str) -> str:
    if found is None:
        return "not one of the files that decide is that of a release; they are read as they are"
    if not found.differing:
        same = [each for each in found.same_as if each != found.release]
        also = f" (and of {', '.join(same)})" if same else ""
        return f"{whose} files are those of {found.release}{also}"
    if found.differing * 2 > found.files:
        return (
            f"{whose} files are of no release: {found.differing} of {found.files} differ from "
            f"{found.release}, the nearest; they are read as they are"
        )
    kinds = (("a", "changed", found.changed), ("a", "missing", found.missing))
    parts = [
        f"{article} {word} {files[0]}" if len(files) == 1 else f"{len(files)} {word} files"
        for article, word, files in (*kinds, ("an", "added", found.added))
        if files
    ]
    return f"{whose} files are {found.release} with {' and '.join(parts)}"


def _list(found: Nearest) -> Iterator[str]:
    lists = {"changed": found.changed, "missing": found.missing, "added": found.added}
    return (f"{how} {file}" for how, files in lists.items() for file in files)


def _compare(found: Nearest, spec: str) -> str:
    if found.release not in bundled.index():
        return ""
    old = f"{bundled.PREFIX}{found.release}"
    return f"mlaprobe compare {old} {shlex.quote(spec)} shows what the difference does"


def _detail(found: Nearest) -> dict[str, Any]:
    return {
        "release": found.release,
        "same_as": list(found.same_as),
        "changed": list(found.changed),
        "missing": list(found.missing),
        "added": list(found.added),
    }
