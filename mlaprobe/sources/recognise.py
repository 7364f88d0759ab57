"""Whether a source is AITER, and one that is new enough to have what mlaprobe reads; whether a path
is a git repository."""

from __future__ import annotations

from pathlib import Path

from mlaprobe.errors import NotAiterError, OutOfRangeError
from mlaprobe.sources.interface import Source

# The one place that knows these until a rule file holds them.
FIRST_RELEASE = "v0.1.6.post2"
"""The first release whose MLA decode has a planner."""
_ANCHORS = ("aiter/mla.py", "aiter/jit/core.py", "csrc/py_itfs_cu/asm_mla.cu")
"""Any of these: AITER of some age."""
_FOLDERS = ("csrc/kernels/mla", "csrc/py_itfs_cu")
_SINCE_PLANNER = ("csrc/kernels/mla/", "csrc/include/mla")
"""Paths that start so came with the planner; newer layouts keep at least one of them."""


def is_aiter(source: Source) -> bool:
    """Whether anything of AITER is in a source."""
    return any(map(source.exists, _ANCHORS)) or any(map(source.list, _FOLDERS))


def require_aiter(source: Source) -> None:
    """Checks that a source is AITER, of a release that has a planner.

    Raises:
        NotAiterError: it is something else.
        OutOfRangeError: it is AITER, and too old.
    """
    if not is_aiter(source):
        raise NotAiterError(
            f"there is no AITER in {source.label}{_what_it_is(source)}",
            hint="name a checkout, a site-packages, a wheel, or REPO@REV of AMD's AITER",
        )
    native = source.list("csrc")
    # Without any C++ the rest can still be read, and its stages are absent.
    if native and not any(path.startswith(_SINCE_PLANNER) for path in native):
        which = f"AITER {source.release}" if source.release else f"the AITER in {source.label}"
        raise OutOfRangeError(
            f"{which} is older than {FIRST_RELEASE}, the first release whose MLA decode has a "
            "planner to read",
            hint=f"name a newer one, for example --aiter REPO@{FIRST_RELEASE}",
        )


def _what_it_is(source: Source) -> str:
    held = source.distribution
    if source.exists("aiter/__init__.py") and (held is None or held[0] == "aiter"):
        return ": its package 'aiter' is PyPI's unrelated one about asynchronous iterators"
    return f": it holds {held[0]} {held[1]}" if held else ""


def is_repository(path: Path) -> bool:
    """Whether a path is a bare repository, a ``.git`` directory or a ``.git`` file."""
    if path.name == ".git" and path.is_file():
        return True
    return (path / "HEAD").is_file() and (path / "objects").is_dir() and (path / "refs").is_dir()
