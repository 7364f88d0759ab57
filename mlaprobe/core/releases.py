"""The order of AITER's releases, by their tags and distribution versions."""

from __future__ import annotations

import re

from mlaprobe.core.caches import Cache, cached
from mlaprobe.errors import UsageError

ReleaseKey = tuple[tuple[int, ...], tuple[tuple[int, str, int], ...]]
"""Compares as the releases follow each other."""

_RELEASE = re.compile(r"v?(\d+(?:\.\d+)+)([-._a-z0-9]*)(?:\+[-._a-z0-9]+)?", re.I)
_SUFFIX = re.compile(r"[-._]?([a-z]+)[-._]?(\d*)", re.I)
# 0 is the release itself; other names (longctx) are variants of it, after it.
_RANKS = {"dev": -4, "a": -3, "alpha": -3, "b": -2, "beta": -2, "rc": -1, "post": 2}
_VARIANT = 1


@cached(Cache.NAMES, 1024)
def _parse(release: str) -> ReleaseKey | None:
    found = _RELEASE.fullmatch(release)
    if found is None:
        return None
    rest = found[2]
    if "".join(suffix[0] for suffix in _SUFFIX.finditer(rest)) != rest:
        return None
    numbers = [int(number) for number in found[1].split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    suffixes = [
        (_RANKS.get(word.lower(), _VARIANT), word.lower(), int(number or 0))
        for word, number in _SUFFIX.findall(rest)
    ]
    return tuple(numbers), (*suffixes, (0, "", 0))


def is_release(name: str) -> bool:
    """Whether a tag or version names a release: ``v0.1.20``, ``0.1.7.post2.dev18``, ..."""
    return _parse(name) is not None


def release_key(name: str) -> ReleaseKey:
    """A key that sorts releases: development versions before candidates before the release,
    then variants of it, then its post-releases.

    Raises:
        UsageError: the name is not of a release.
    """
    key = _parse(name)
    if key is None:
        raise UsageError(
            f"{name!r} is no release",
            hint="releases are written like v0.1.20, v0.1.16.post2 or v0.1.17-rc0",
        )
    return key


def distribution_version(name: str) -> str | None:
    """The version of an installed distribution, ``None`` where it is not installed."""
    from importlib import metadata  # slow to load

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
