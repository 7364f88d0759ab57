"""Which release's errata a source is looked at with that is none itself."""

from __future__ import annotations

from pathlib import Path

from mlaprobe.core.shape import Decision, DecodeShape, Dtype, Verdict
from mlaprobe.deciding.capability import Capability
from mlaprobe.rulefiles import errata
from mlaprobe.sources import open_source
from mlaprobe.sources.closest_release import release_files
from mlaprobe.sources.release_place import ReleasePlace, place_of
from tests.sources.trees import git, write_git
from tests.trees import today
from tests.trees.common import write

NOTED = DecodeShape(
    arch="gfx950", q_dtype=Dtype.BF16, kv_dtype=Dtype.BF16, num_heads=48, persistent=True
)
"""A note of v0.1.14 is about it."""


def files() -> dict[str, str]:
    return {path: text for path, text in today.tree().items() if isinstance(text, str)}


def test_a_commit_behind_a_release(tmp_path: Path) -> None:
    root = write_git(tmp_path / "repo", files(), tag="v0.1.14")
    (root / "aiter" / "more.py").write_text("# more\n")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message=more")
    place = place_of(open_source(f"{root}@HEAD"))
    assert place == ReleasePlace(
        release="v0.1.14", how="this commit is after v0.1.14 and of no release"
    )
    assert place_of(open_source(f"{root}@v0.1.14")) == ReleasePlace(release="v0.1.14")
    with Capability.open(f"{root}@HEAD") as live:
        assert live.erratum_release is None
        found = errata.apply(_native(), release=live.place.release, how=live.place.how)
    assert [note for note in found.notes if note.startswith("aiter-3233-48")]
    assert "of v0.1.14: this commit is after v0.1.14 and of no release" in found.notes[-1]


def test_a_directory_with_its_distribution_beside(tmp_path: Path) -> None:
    write(tmp_path, today.tree())
    (tmp_path / "amd_aiter-0.1.15.dist-info").mkdir()
    assert place_of(open_source(str(tmp_path))) == ReleasePlace(release="0.1.15")
    (tmp_path / "amd_aiter-0.1.16.dist-info").mkdir()
    assert open_source(str(tmp_path)).release is None, "two of them say nothing"


def test_a_directory_of_nothing_known(tmp_path: Path) -> None:
    write(tmp_path, today.tree())
    assert place_of(open_source(str(tmp_path))).release is None


def test_the_nearest_release(aiter_git: Path, tmp_path: Path) -> None:
    """Files of a release, one of them changed, without a repository."""
    with open_source(f"{aiter_git}@v0.1.16") as source:
        for name in next(iter(release_files().values())):
            file = source.read(name)
            if file is not None:
                (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
                (tmp_path / name).write_bytes(file.data + b"\n" * (name == "aiter/mla.py"))
    place = place_of(open_source(str(tmp_path)))
    assert place.release is not None
    assert place.release.startswith("v0.1.16")
    assert "is the nearest, 1 of" in place.how


def test_notes_that_ended_before_are_not_shown() -> None:
    """Of a source that is taken as v0.1.20."""
    found = errata.apply(_native(), release="v0.1.20", how="taken so")
    assert not [note for note in found.notes if note.startswith("aiter-3233-48")]
    unknown = errata.apply(_native(), release=None)
    assert [note for note in unknown.notes if note.startswith("aiter-3233-48")]


def _native() -> Decision:
    return Decision(shape=NOTED, verdict=Verdict.NATIVE)
