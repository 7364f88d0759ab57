"""AITER's files at a revision of a git repository, which is read and never touched."""

from __future__ import annotations

import contextlib
import os
import subprocess
import weakref
from difflib import get_close_matches
from pathlib import Path, PurePosixPath
from typing import IO, ClassVar

from mlaprobe.core.releases import is_release, release_key
from mlaprobe.errors import SourceError
from mlaprobe.sources.interface import MAX_BYTES, Source, canonical, too_large
from mlaprobe.sources.recognise import is_repository

_OPTIONS = (
    "--no-pager",
    "--no-optional-locks",
    "--no-replace-objects",
    "--literal-pathspecs",
    # A repository's own configuration may name programs to run and places to fetch from.
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "protocol.allow=never",
)
_ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "LC_ALL": "C",
}
_LINK = "120000"
"""The mode of a symbolic link."""


class GitSource(Source):
    """The tree of one commit."""

    kind: ClassVar[str] = "git"

    def __init__(self, label: str, git_dir: Path, revision: str) -> None:
        super().__init__(label)
        self.git_dir = git_dir
        self.revision = revision
        """As the user named it."""
        self._commit = resolve(git_dir, revision)
        self._reader: _BatchReader | None = None
        self._tree: dict[str, tuple[str, str]] | None = None

    @property
    def commit(self) -> str:
        return self._commit

    @property
    def location(self) -> str:
        return str(self.git_dir)

    def _idle(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _find_release(self) -> str | None:
        return release_at(self.git_dir, self._commit, self.revision)

    @property
    def ancestor(self) -> str | None:
        """The release tag that comes before the commit, with the fewest commits in between."""
        return release_before(self.git_dir, self._commit)

    def _load(self, path: str) -> tuple[bytes, str | None] | None:
        answer = self._read_object(path)
        if answer is None:
            # Nothing came: the tree shows whether nothing is there.
            if self._entries().get(path, (_LINK, ""))[0] == _LINK:
                return None
            raise SourceError(
                f"{path} of {self.label} is in the tree, and its bytes are not in the repository",
                hint="a partial clone leaves files out: use a full clone",
                file=path,
            )
        data, blob, size = answer
        if size > MAX_BYTES:
            raise too_large(path, size, self.label)
        return data, blob

    def _read_object(self, path: str) -> tuple[bytes, str, int] | None:
        """The answer of ``cat-file`` for a path; ``None`` also where it ends instead, as it does
        for what a partial clone leaves out. One that has ended is started once more; one that was
        left in the middle of an answer is never used again."""
        for _ in range(2):
            try:
                if self._reader is None:
                    self._reader = _BatchReader(self.git_dir)
                return self._reader.read(f"{self._commit}:{path}")
            except OSError:
                self._idle()
            except BaseException:
                self._idle()
                raise
        return None

    def blob(self, path: str) -> str | None:
        """The blob hash of a file: the tree has it, so no file is read, links apart."""
        name = canonical(path)
        if not name:
            return None
        with self._open():
            tree = self._entries()
            steps = [name, *map(str, PurePosixPath(name).parents)]
            if any(tree.get(step, ("", ""))[0] == _LINK for step in steps):
                return super().blob(path)
            return tree[name][1] if name in tree else None

    def _entries(self) -> dict[str, tuple[str, str]]:
        """All paths of files, with their modes and hashes."""
        if self._tree is None:
            listing = run(self.git_dir, "ls-tree", "-r", "-z", "--full-tree", self._commit)
            entries = listing.decode("utf-8", "surrogateescape").split("\0")
            # "MODE blob HASH<tab>PATH"; submodules are listed as commits.
            self._tree = {
                path: (what[:6], what[12:])
                for what, _, path in (entry.partition("\t") for entry in entries)
                if what[7:12] == "blob "
            }
        return self._tree

    def _exists(self, path: str) -> bool:
        return path in self._entries()

    def _list(self, prefix: str) -> set[str]:
        if not prefix:
            return set(self._entries())
        return {path for path in self._entries() if path.startswith(prefix + "/")}


class _BatchReader:
    """One ``git cat-file --batch`` that answers until it is closed."""

    def __init__(self, git_dir: Path) -> None:
        process = subprocess.Popen(
            _command(git_dir, "cat-file", "--batch", "--follow-symlinks"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_environment(),
        )
        assert process.stdin is not None
        assert process.stdout is not None
        self._stdin: IO[bytes] = process.stdin
        self._stdout: IO[bytes] = process.stdout
        # Also where the source is not closed: no process outlives the interpreter.
        self.close = weakref.finalize(self, _end, process)

    def read(self, name: str) -> tuple[bytes, str, int] | None:
        """Bytes, hash and size of a blob; the bytes are cut after ``MAX_BYTES``. ``None`` for
        everything else.

        Raises:
            OSError: git has ended.
        """
        self._stdin.write(name.encode("utf-8", "surrogateescape") + b"\n")
        self._stdin.flush()
        header = self._stdout.readline()
        if not header.endswith(b"\n"):
            raise BrokenPipeError("git cat-file has ended")
        fields = header.split()
        if header.endswith((b" missing\n", b" ambiguous\n")) or len(fields) < 2:
            return None
        if len(fields) == 2:  # a link that leads nowhere: its kind and the length of its text
            self._skip(int(fields[1]) + 1)
            return None
        size = int(fields[2])
        data = self._stdout.read(min(size, MAX_BYTES))
        self._skip(size - len(data) + 1)
        return (data, fields[0].decode(), size) if fields[1] == b"blob" else None

    def _skip(self, count: int) -> None:
        while count > 0:
            piece = self._stdout.read(min(count, 1 << 16))
            if not piece:
                raise BrokenPipeError("git cat-file has ended")
            count -= len(piece)


def _end(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    process.kill()
    process.wait()


def find_git_dir(path: Path) -> Path | None:
    """The ``.git`` of a work tree, or the path itself where it is a repository without one."""
    if path.is_dir() and (path / ".git").exists():
        return path / ".git"
    return path if is_repository(path) else None


def resolve(git_dir: Path, revision: str) -> str:
    """The commit that a revision names.

    Raises:
        SourceError: the repository has no such revision, or cannot be read.
    """
    if "\0" in revision or "\n" in revision:
        raise SourceError(f"{revision!r} is no git revision", hint="name a tag or a commit")
    done = _call(git_dir, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
    commit = done.stdout.decode("ascii", "replace").strip().removeprefix("--end-of-options\n")
    if done.returncode == 0 and commit:
        return commit
    run(git_dir, "rev-parse", "--git-dir")  # raises for a repository that cannot be read
    raise SourceError(
        f"no revision {revision!r} in the git repository {git_dir}",
        hint=_closest(git_dir, revision),
    )


def _closest(git_dir: Path, revision: str) -> str:
    tags = [t for t in run(git_dir, "tag", "--list").decode("utf-8", "replace").split() if t]
    releases = sorted(filter(is_release, tags), key=release_key)
    close = get_close_matches(revision, releases, n=3, cutoff=0.6) or releases[-1:]
    if not close:
        return "the repository has no release tags: fetch them with git fetch --tags"
    return f"did you mean {' or '.join(close)}? (newer tags come with git fetch --tags)"


def release_at(git_dir: Path, commit: str, revision: str = "") -> str | None:
    """The release tag at a commit: the named one, else the last of several."""
    out = run(
        git_dir, "for-each-ref", "--points-at", commit, "--format=%(refname:strip=2)", "refs/tags"
    )
    tags = [tag for tag in out.decode("utf-8", "replace").split() if is_release(tag)]
    return revision if revision in tags else max(tags, key=release_key, default=None)


def release_before(git_dir: Path, commit: str) -> str | None:
    """The release tag with the fewest commits between it and a commit; ``None`` where none is an
    ancestor, or the repository does not tell."""
    done = _call(git_dir, "describe", "--tags", "--abbrev=0", "--match", "v[0-9]*", commit)
    tag = done.stdout.decode("utf-8", "replace").strip()
    return tag if done.returncode == 0 and is_release(tag) else None


def release_at_head(git_dir: Path) -> str | None:
    """The release tag that is checked out."""
    return release_at(git_dir, resolve(git_dir, "HEAD"))


def run(git_dir: Path, *arguments: str) -> bytes:
    """What a git command prints.

    Raises:
        SourceError: git failed, with its message.
    """
    done = _call(git_dir, *arguments)
    if done.returncode != 0:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["git failed"]
        raise SourceError(
            f"cannot read the git repository {git_dir}: {lines[-1]}",
            hint=f"see what git says itself: git --git-dir={git_dir} log -1",
        )
    return done.stdout


def _call(git_dir: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            _command(git_dir, *arguments),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            env=_environment(),
        )
    except FileNotFoundError:
        raise SourceError(
            "the git program is not installed",
            hint="install git, or name a directory or an archive of AITER",
        ) from None
    except OSError as error:
        raise SourceError(f"cannot run git: {error.strerror}") from None


def _command(git_dir: Path, *arguments: str) -> list[str]:
    return ["git", f"--git-dir={git_dir}", *_OPTIONS, *arguments]


def _environment() -> dict[str, str]:
    """The caller's environment, less what would turn git to other repositories or settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return kept | _ENVIRONMENT
