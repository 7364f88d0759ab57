"""The release that some files are closest to."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlaprobe.core.blobs import blob_hash
from mlaprobe.rulefiles import errata
from mlaprobe.rulefiles import loader as rulebook
from mlaprobe.sources import closest_release as nearest
from mlaprobe.sources import open_source
from mlaprobe.sources.closest_release import ABSENT, Nearest, release_files
from mlaprobe.sources.interface import Source
from mlaprobe.system.doctor.files import files_check


class Blobs(Source):
    """A source that is known by its blob hashes only."""

    kind = "directory"

    def __init__(self, blobs: dict[str, str], release: str | None = None) -> None:
        super().__init__("blobs")
        self.blobs = {path: blob for path, blob in blobs.items() if blob != ABSENT}
        self.named = release

    def blob(self, path: str) -> str | None:
        return self.blobs.get(path)

    def _find_release(self) -> str | None:
        return self.named

    def _load(self, path: str) -> None:
        return None

    def _exists(self, path: str) -> bool:
        return path in self.blobs

    def _list(self, prefix: str) -> set[str]:
        return set(self.blobs)

    def _size(self, path: str) -> None:
        return None


def of(release: str, **changes: str) -> Blobs:
    """A release's files, some of them with other hashes (by the end of their names)."""
    blobs = dict(release_files()[release])
    for name, blob in changes.items():
        (file,) = (f for f in blobs if f.endswith(name.replace("__", ".")))
        blobs[file] = blob
    return Blobs(blobs)


def found(source: Source) -> Nearest:
    """What is nearest; something is."""
    near = nearest.nearest(source)
    assert near is not None
    return near


OTHER = "0" * 40


def test_the_fingerprints_follow_from_the_files() -> None:
    rules = rulebook.load_rules(errata.BLOBS, errata.BLOB_SCHEMA)
    assert tuple(release_files()) == tuple(rules["releases"])
    for release, blobs in release_files().items():
        assert list(blobs) == rules["files"]
        text = "".join(f"{path} {blobs[path]}\n" for path in rules["files"])
        assert blob_hash(text.encode()) == rules["releases"][release]


@pytest.mark.parametrize("release", release_files())
def test_a_release_is_nearest_to_itself(release: str) -> None:
    near = found(of(release))
    assert near.differing == 0
    assert release in near.same_as
    assert near.release == near.same_as[-1]


def test_a_changed_a_missing_and_an_added_file() -> None:
    near = found(of("v0.1.19.post2", mla__py=OTHER))
    assert (near.release, near.changed) == ("v0.1.19.post2", ("aiter/mla.py",))
    (check,) = files_check(of("v0.1.19.post2", mla__py=OTHER), "installed")
    assert check.found == "your files are v0.1.19.post2 with a changed aiter/mla.py"
    near = found(of("v0.1.19.post2", attention__py=ABSENT, mla_decode_shape__h=OTHER))
    assert near.missing == ("aiter/ops/attention.py",)
    assert near.added == ("csrc/include/mla_decode_shape.h",)


def test_the_own_release_among_equals() -> None:
    files = release_files()
    twins = next(
        (name, other)
        for name in files
        for other in files
        if name != other and files[name] == files[other]
    )
    for name in twins:
        assert found(Blobs(dict(files[name]), release=name)).release == name
        # A distribution's version has no v before it.
        assert found(Blobs(dict(files[name]), release=name[1:])).release == name


def test_files_of_no_release() -> None:
    assert nearest.nearest(Blobs({"aiter/mla.py": OTHER})) is None
    names = ("mla.py", "attention.py", "asm_mla.cu", "reduce.cu", "metadata.cu")
    blobs = {
        file: OTHER if file.endswith(names) else blob
        for file, blob in release_files()["v0.1.9"].items()
    }
    (check,) = files_check(Blobs(blobs), "installed")
    assert "of no release: 5 of 6 differ" in check.found


def test_real_sources(aiter_git: Path, aiter_wheel: Source) -> None:
    with open_source(f"{aiter_git}@v0.1.16.post2") as source:
        near = found(source)
        assert ("v0.1.16.post2" in near.same_as, near.differing) == (True, 0)
    assert found(aiter_wheel).differing > 0
