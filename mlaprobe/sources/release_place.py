"""Which release's errata a source is looked at with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlaprobe.core.releases import is_release
from mlaprobe.errors import SourceError
from mlaprobe.rulefiles.errata import release_of
from mlaprobe.sources.closest_release import nearest

if TYPE_CHECKING:
    from mlaprobe.sources.interface import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasePlace:
    """A release, and how a source that is none was taken to be it."""

    release: str | None
    """``None``: no file of the source is of any release."""
    how: str = ""
    """Empty where the source is that release, or has the same files."""


def place_of(source: Source) -> ReleasePlace:
    """The place of a source among the releases: its own, that of the same files, the last one
    before its commit, or the one with the most files in common.

    Raises:
        RuleError: the rules are wrong.
        SourceError: a file cannot be read.
    """
    release = release_of(source)
    if release is not None:
        return ReleasePlace(release=release)
    tag = _ancestor(source)
    if tag is not None:
        return ReleasePlace(release=tag, how=f"this commit is after {tag} and of no release")
    close = nearest(source)
    if close is None or close.differing == close.files:
        return ReleasePlace(release=None)
    how = (
        f"this source is no release: {close.release} is the nearest, "
        f"{close.differing} of {close.files} files differ"
    )
    return ReleasePlace(release=close.release, how=how)


def _ancestor(source: Source) -> str | None:
    """The last release before a commit; ``None`` where that cannot be told."""
    try:
        tag = source.ancestor
    except SourceError:
        return None
    return tag if tag is not None and is_release(tag) else None
