"""Makes the bundled releases anew: a snapshot for every AITER release, in ``rules/releases/``, and
what each of them was made of.

    python -m tools.releases PATH_OF_ROCM_AITER [--jobs 2] [--check] [--only RELEASE]

The path is a git repository of ROCm/aiter with its tags. Releases whose snapshots say the same of
the same files share one, named after the last of them. ``--check`` writes nothing, and tells
whether what is there is what would be written. ``--only`` is about the releases that have the
deciding files of one of these; everything else stays.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from mlaprobe.core.elsewhere import SetElsewhere
from mlaprobe.core.numbers import ranges
from mlaprobe.core.releases import release_key
from mlaprobe.deciding.capability import Capability
from mlaprobe.opening import bundled
from mlaprobe.rulefiles.errata import BLOB_SCHEMA, BLOBS, fingerprint
from mlaprobe.rulefiles.loader import load_rules
from mlaprobe.rulefiles.operations import others
from mlaprobe.snapshot.making import make, sealed
from mlaprobe.snapshot.writing import text_of
from mlaprobe.sources import Source, open_source
from mlaprobe.sources.git import run
from mlaprobe.sources.reads import Reads, reads_of
from mlaprobe.stages.environment.session import SourceSession
from mlaprobe.system.collecting import collect_rarely

OWN = ("release", "commit", "same_files_as", "releases", "sha256")
"""What differs between two releases that share a snapshot."""
FIRST_OF_BODY = "files"


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A snapshot, and the releases that it is of."""

    data: Mapping[str, Any]
    releases: Mapping[str, str]
    """Every release, in order, and its commit."""
    reads: Mapping[str, Reads]
    """What answers were made of, by the last release that is the same in it."""

    @property
    def content(self) -> Mapping[str, Any]:
        """What two releases have to share."""
        return {name: value for name, value in self.data.items() if name not in OWN}

    @property
    def file(self) -> str:
        """The name of its file."""
        return list(self.releases)[-1] + ".json"

    @property
    def text(self) -> str:
        """The file, with the last release as the one that it is of."""
        last = list(self.releases)[-1]
        names = list(self.data)
        at = names.index(FIRST_OF_BODY)
        head = {name: self.data[name] for name in names[:at]}
        head |= {"release": last, "commit": self.releases[last], "same_files_as": last}
        head["releases"] = dict(self.releases)
        body = {name: self.data[name] for name in names[at:] if name not in OWN}
        return sealed("".join(text_of(head, body)))


def main(words: Sequence[str] | None = None) -> int:
    """Makes, or checks, and tells what came of it: the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("repository", type=Path, help="a git repository of ROCm/aiter, with tags")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default 2)")
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    parser.add_argument("--only", action="append", help="this release alone (repeatable)")
    options = parser.parse_args(words)
    groups = grouped(options.repository)
    if options.only:
        groups = [group for group in groups if set(group) & set(options.only)]
    found = made(options.repository, groups, options.jobs)
    if options.check:
        return compared(found, complete=not options.only)
    if options.only:
        update_folder(bundled.folder(), found)
    else:
        replace_folder(bundled.folder(), files_of(found))
    print(f"{len(found)} files for {sum(len(m.releases) for m in found)} releases")
    return 0


def sources(repository: Path) -> Iterator[tuple[str, Source]]:
    """Every release in range, in order."""
    known = load_rules(BLOBS, BLOB_SCHEMA)["releases"]
    inside = repository / ".git"
    tags = set(run(inside if inside.exists() else repository, "tag", "--list").decode().split())
    for tag in sorted(tags.intersection(known), key=release_key):
        with open_source(f"{repository}@{tag}") as source:
            yield tag, source


def grouped(repository: Path) -> list[tuple[str, ...]]:
    """The releases, those with the same deciding files together."""
    files = load_rules(BLOBS, BLOB_SCHEMA)["files"]
    groups: dict[str, list[str]] = {}
    for tag, source in sources(repository):
        groups.setdefault(fingerprint(source, files), []).append(tag)
    return [tuple(tags) for tags in groups.values()]


def made(repository: Path, groups: Sequence[tuple[str, ...]], jobs: int) -> list[Made]:
    """The snapshots of all groups, in order of release."""
    found: list[Made] = []
    with ProcessPoolExecutor(jobs) as pool:
        for several in pool.map(partial(snapshots, repository), groups):
            found += several
            names = ", ".join(release for each in several for release in each.releases)
            print(f"made {names}", file=sys.stderr, flush=True)
    return sorted(found, key=lambda each: release_key(next(iter(each.releases))))


def snapshots(repository: Path, tags: Iterable[str]) -> list[Made]:
    """The snapshots of releases; those that say the same are one. A release is not asked where
    everything that was read of another is the same in it."""
    found: list[Made] = []
    for tag in tags:
        with collect_rarely(), open_source(f"{repository}@{tag}") as source:
            commit = source.commit or ""
            same = next((at for at, made in enumerate(found) if _held(source, made)), None)
            if same is not None:
                found[same] = _joined(found[same], tag, commit, _held(source, found[same]))
                continue
            capability = Capability(source)
            data = json.loads(make(capability, releases={tag: commit}))
            elsewhere = set_elsewhere(source)
            reads = reads_of(source, source.blobs_read, capability.session.listed)
            reads = replace(reads, elsewhere=elsewhere)
            new = Made(data=data, releases={tag: commit}, reads={tag: reads})
            same = next((at for at, made in enumerate(found) if made.content == new.content), None)
            if same is None:
                found.append(new)
            else:
                found[same] = _joined(found[same], tag, commit, reads)
    return found


def set_elsewhere(source: Source) -> SetElsewhere:
    """What the Python modules of a source set of each other, of those that the package imports and
    those that have an operation's functions."""
    project = SourceSession(source).python
    for function in (f for rule in others() for entry in rule.entries for f in entry.functions):
        for module, _ in function.places:
            project.chain.extend(module)
    return project.patches.set_elsewhere()


def _held(source: Source, made: Made) -> Reads | None:
    return next((reads for reads in made.reads.values() if reads.held_by(source)), None)


def _joined(made: Made, tag: str, commit: str, reads: Reads | None) -> Made:
    """The snapshot with another release, of which this was read."""
    assert reads is not None
    kept = {release: each for release, each in made.reads.items() if each != reads}
    return replace(made, releases={**made.releases, tag: commit}, reads={**kept, tag: reads})


def files_of(found: Sequence[Made]) -> dict[str, str]:
    """Name and text of every file, the index among them."""
    return {
        **{each.file: each.text for each in found},
        bundled.INDEX: index_text(index_of(found)),
        bundled.READS: reads_text(read_for(found)),
    }


Index = dict[str, dict[str, str]]


def index_of(found: Iterable[Made]) -> Index:
    """The file of every release, and its commit."""
    pairs = [(release, each) for each in found for release in each.releases]
    return {
        "releases": {release: each.file for release, each in pairs},
        "commits": {release: each.releases[release] for release, each in pairs},
    }


def index_text(index: Index) -> str:
    """The index, in order of release."""
    parts = {
        part: sorted(of.items(), key=lambda i: release_key(i[0])) for part, of in index.items()
    }
    return json.dumps({part: dict(items) for part, items in parts.items()}, indent=1) + "\n"


def read_for(found: Iterable[Made]) -> dict[str, Reads]:
    """What the answers of releases were made of."""
    return {release: reads for each in found for release, reads in each.reads.items()}


def reads_text(reads: Mapping[str, Reads]) -> str:
    """What answers were made of: the paths once, and a line for each release."""
    paths = sorted({path for each in reads.values() for path in each.paths})
    at = {path: place for place, path in enumerate(paths)}
    entries = {
        release: {
            "paths": ranges([at[path] for path in each.paths]),
            "listings": each.listings,
            "digest": each.digest,
            "modules": ranges([at[path] for path in sorted(each.elsewhere.modules)]),
            "everywhere": sorted(each.elsewhere.everywhere),
            "set": {
                at[path]: sorted(names) for path, names in sorted(each.elsewhere.names.items())
            },
        }
        for release, each in sorted(reads.items(), key=lambda item: release_key(item[0]))
    }
    lines = ",\n".join(f"{json.dumps(name)}:{json.dumps(e)}" for name, e in entries.items())
    return f'{{"paths":{json.dumps(paths, indent=0)},\n"releases":{{\n{lines}\n}}}}\n'


def replace_folder(folder: Path, files: Mapping[str, str]) -> None:
    """Writes the files beside the folder, and puts them in its place."""
    beside = folder.with_name(folder.name + ".new")
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir(parents=True)
    for name, text in files.items():
        (beside / name).write_text(text, encoding="utf-8", newline="\n")
    shutil.rmtree(folder, ignore_errors=True)
    beside.rename(folder)


def update_folder(folder: Path, found: Sequence[Made]) -> None:
    """Writes the files of some releases, and what the index and the reads say of them."""
    index: Index = json.loads((folder / bundled.INDEX).read_bytes())
    new = index_of(found)
    merged = {part: {**of, **new[part]} for part, of in index.items()}
    kept = {r: each for r, each in bundled.reads().items() if r not in new["releases"]}
    files = {
        **{each.file: each.text for each in found},
        bundled.INDEX: index_text(merged),
        bundled.READS: reads_text({**kept, **read_for(found)}),
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    for name in set(index["releases"].values()) - set(merged["releases"].values()):
        (folder / name).unlink()


def compared(found: Sequence[Made], *, complete: bool) -> int:
    """Whether the folder holds these files, byte for byte: 0, or 1 after saying what differs.
    Of the index and the reads, what they say of these releases is compared, where it is not
    ``complete``."""
    folder, files = bundled.folder(), files_of(found)
    differing = [name for name, text in files.items() if not _holds(folder / name, text)]
    if complete:
        differing += [path.name for path in folder.glob("*") if path.name not in files]
    else:
        differing = [name for name in differing if name not in (bundled.INDEX, bundled.READS)]
        differing += _entries_apart(found)
    for name in differing:
        print(f"differs: rules/releases/{name}")
    print(f"{len(files)} files compared, {len(differing)} differ")
    return 1 if differing else 0


def _holds(path: Path, text: str) -> bool:
    return path.is_file() and path.read_bytes() == text.encode()


def _entries_apart(found: Sequence[Made]) -> Iterator[str]:
    """The index and the reads, where they say other things of some releases."""
    there: Index = json.loads((bundled.folder() / bundled.INDEX).read_bytes())
    new, reads, held = index_of(found), read_for(found), bundled.reads()
    if any(
        there[part].get(name) != value for part, of in new.items() for name, value in of.items()
    ):
        yield bundled.INDEX
    if any(held.get(release) != reads.get(release) for release in new["releases"]):
        yield bundled.READS


if __name__ == "__main__":
    sys.exit(main())
