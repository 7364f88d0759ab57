"""The releases that mlaprobe brings along: snapshots under ``rules/releases/``.

Releases with equal content share a file, named after the last of them; the index says which.
``make releases`` writes them all.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from mlaprobe.core.caches import Cache, cached
from mlaprobe.core.elsewhere import SetElsewhere
from mlaprobe.core.numbers import numbers_of
from mlaprobe.core.releases import is_release, release_key
from mlaprobe.errors import RuleError, SourceError
from mlaprobe.rulefiles.loader import rules_dir

if TYPE_CHECKING:
    from mlaprobe.snapshot import Snapshot
    from mlaprobe.snapshot.file import Contents
    from mlaprobe.sources import Source
    from mlaprobe.sources.reads import Reads

PREFIX = "release:"
"""How a bundled release is named as a source."""
NEWEST = "newest"
"""The name of whichever is the last."""
INDEX = "index.json"
READS = "reads.json"
"""The name of the file that says what was read of a release for its answers."""


def folder() -> Path:
    """Where the snapshots are."""
    return rules_dir() / "releases"


@cached(Cache.RULES)
def index() -> dict[str, str]:
    """Every bundled release and the name of its file, in order of release; none where there is
    no index.

    Raises:
        RuleError: the index cannot be read.
    """
    return dict(sorted(_section("releases").items(), key=lambda item: release_key(item[0])))


def of_commit(commit: str | None) -> str | None:
    """The bundled release that is of a commit, ``None`` where there is none.

    Raises:
        RuleError: the index cannot be read.
    """
    found = (release for release, its in _section("commits").items() if its == commit)
    return None if commit is None else next(found, None)


@cached(Cache.RULES)
def reads() -> dict[str, Reads]:
    """What the answers of releases depend on, the newest first; none where that is not known.

    Raises:
        RuleError: it cannot be read.
    """
    path = folder() / READS
    if not path.is_file():
        return {}
    from mlaprobe.sources.reads import Reads

    try:
        data = json.loads(path.read_bytes())
        return {
            release: Reads(
                paths=tuple(data["paths"][at] for at in numbers_of(entry["paths"])),
                listings=tuple((folder, tuple(ends)) for folder, ends in entry["listings"]),
                digest=entry["digest"],
                elsewhere=SetElsewhere(
                    modules=frozenset(data["paths"][at] for at in numbers_of(entry["modules"])),
                    everywhere=frozenset(entry["everywhere"]),
                    names={
                        data["paths"][int(at)]: frozenset(names)
                        for at, names in entry["set"].items()
                    },
                ),
            )
            for release, entry in reversed(data["releases"].items())
        }
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        raise _unreadable(READS) from None


def set_elsewhere(release: str) -> SetElsewhere:
    """What the Python modules of a release set of each other. Nothing is known of one that is not
    itself listed, where those with the same snapshot differ in it: it is the same as one of them.

    Raises:
        RuleError: it cannot be read.
    """
    known, files = reads(), index()
    alike = [release] if release in known else [r for r in known if files[r] == files[release]]
    found = [known[each].elsewhere for each in alike]
    return found[0] if found and found.count(found[0]) == len(found) else SetElsewhere()


def of_files(source: Source) -> str | None:
    """The last release whose answers are those of a source, as all that they depend on is the
    same in it; ``None`` where there is none.

    Raises:
        RuleError: what is bundled cannot be read.
    """
    from mlaprobe.sources.reads import Seen

    seen = Seen(source)
    return next((release for release, each in reads().items() if each.held_by(seen)), None)


def _section(name: str) -> dict[str, str]:
    path = folder() / INDEX
    if not path.is_file():
        return {}
    try:
        section = json.loads(path.read_bytes())[name]
        return {str(key): str(value) for key, value in section.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise _unreadable(INDEX) from None


def _unreadable(name: str) -> RuleError:
    return RuleError(
        "the index of the bundled releases cannot be read",
        hint="install mlaprobe anew, or run make releases in a checkout",
        file=f"rules/releases/{name}",
    )


def releases() -> tuple[str, ...]:
    """Every bundled release, in order."""
    return tuple(index())


def newest() -> str | None:
    """The last bundled release, ``None`` where there is none."""
    return next(reversed(index()), None)


def load(name: str) -> Snapshot:
    """A bundled release, by its tag or version.

    Raises:
        SourceError: there is no such release, or its file cannot be read.
    """
    from mlaprobe.snapshot import Snapshot

    release = _known(name)
    contents = _contents(folder() / index()[release])
    return Snapshot(contents, label=PREFIX + release, release=release)


@cached(Cache.RULES, 2)
def _contents(path: Path) -> Contents:
    """A file, read. Neighbouring releases often share one."""
    from mlaprobe.snapshot.file import read

    return read(path, f"rules/releases/{path.name}")


def _known(name: str) -> str:
    known = index()
    if name in known:
        return name
    if name == NEWEST and known:
        return next(reversed(known))
    if is_release(name):
        key = release_key(name)
        found = next((release for release in known if release_key(release) == key), None)
        if found is not None:
            return found
    if not known:
        hint = (
            "none is yet: make releases AITER_GIT=path/to/aiter, in a checkout, makes them; "
            f"or name path/to/aiter@{name}"
        )
        raise SourceError("no releases are bundled with this mlaprobe", hint=hint)
    from difflib import get_close_matches

    close = get_close_matches(name, known, n=3, cutoff=0.6) or list(known)[-1:]
    hint = f"did you mean {' or '.join(close)}? mlaprobe history lists them all"
    raise SourceError(f"no release {name!r} is bundled with mlaprobe", hint=hint)
