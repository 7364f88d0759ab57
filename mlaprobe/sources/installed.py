"""The AITER that is installed in this environment, located without importing it."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path
from typing import ClassVar
from urllib.parse import unquote, urlsplit

from mlaprobe.errors import NotAiterError, NotInstalledError, SourceError, UnrelatedPackageError
from mlaprobe.sources.directory import DISTRIBUTION, NATIVE, PACKAGE, DirectorySource, is_package

META_VARIABLE = "AITER_META_DIR"
"""AITER's own variable for the directory that holds ``csrc`` and ``hsa``."""
HOW_TO_NAME_ONE = (
    "name one: --aiter DIR (a checkout or a site-packages), --aiter REPO@REV (a git repository "
    "at a tag or commit), --aiter FILE.whl, or --aiter release:newest (bundled with mlaprobe)"
)


class InstalledSource(DirectorySource):
    """The installed distribution's files."""

    kind: ClassVar[str] = "installed"

    def __init__(
        self,
        root: Path,
        meta: Path | None = None,
        *,
        distribution: tuple[str, str] | None = None,
        label: str = "installed",
    ) -> None:
        super().__init__(label, root, meta)
        self._distribution = distribution

    @property
    def distribution(self) -> tuple[str, str] | None:
        return self._distribution

    @classmethod
    def find(
        cls,
        path: Sequence[str] | None = None,
        environ: Mapping[str, str] | None = None,
        label: str = "installed",
    ) -> InstalledSource:
        """The AITER of this environment (or, for ``path``, of these site directories).

        Raises:
            NotInstalledError: no AITER is, or another package of its name.
            NotAiterError: what is installed under the name is something else.
            SourceError: its files are gone.
        """
        found = _find(list(sys.path) if path is None else list(path), live=path is None)
        if found is None:
            raise NotInstalledError(
                "no AITER is installed in this environment", hint=HOW_TO_NAME_ONE
            )
        root, distribution = found
        meta = _meta_from(os.environ if environ is None else environ, root)
        return cls(root, meta, distribution=distribution, label=label)

    def _find_release(self) -> str | None:
        return self._distribution[1] if self._distribution else super()._find_release()


def _find(path: list[str], *, live: bool) -> tuple[Path, tuple[str, str] | None] | None:
    """Root and distribution of the package that ``import aiter`` would take."""
    distributions = [
        *metadata.distributions(name=DISTRIBUTION, path=path),
        *metadata.distributions(name=PACKAGE, path=path),
    ]
    on_path = _root_on_path(path, live=live)
    if on_path is not None and not is_package(on_path / PACKAGE):
        raise _stranger(on_path, distributions)
    for distribution in distributions:
        for root in _roots(distribution):
            same = on_path is None or on_path.resolve() == root.resolve()
            if same and is_package(root / PACKAGE):
                return root, _identity(distribution)
    if on_path is not None:
        # A fork under a name of its own, or a checkout on the path that nothing installed.
        return on_path, _claimed_by(on_path, path)
    if distributions:
        name, version = _identity(distributions[0])
        raise SourceError(
            f"{name} {version} is installed, and its files are not there",
            hint=f"install it again, or {HOW_TO_NAME_ONE}",
        )
    return None


def _identity(distribution: metadata.Distribution) -> tuple[str, str]:
    return distribution.metadata["Name"], distribution.version


def _roots(distribution: metadata.Distribution) -> Iterator[Path]:
    """Where a distribution's packages may lie: beside its metadata, or, for a development
    install, in the directory that it was installed from."""
    here = Path(str(distribution.locate_file("")))
    yield here
    try:
        direct = json.loads(distribution.read_text("direct_url.json") or "{}")
        url = urlsplit(direct.get("url", ""))
    except (ValueError, AttributeError):
        url = urlsplit("")
    if url.scheme == "file":
        yield Path(unquote(url.path))
    for file in distribution.files or ():
        if file.suffix == ".pth":
            yield from _lines_of_pth(Path(str(distribution.locate_file(file))))


def _lines_of_pth(file: Path) -> Iterator[Path]:
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        if line and not line.startswith(("#", "import ", "import\t")):
            yield file.parent / line.rstrip()


def _root_on_path(path: list[str], *, live: bool) -> Path | None:
    """The directory that ``import aiter`` would take the package from. Looking up the spec of a
    top-level package imports nothing; it also uses the finders of development installs."""
    try:
        found = importlib.util.find_spec(PACKAGE) if live else PathFinder.find_spec(PACKAGE, path)
    except (ImportError, ValueError, AttributeError):
        return None
    # Without an __init__.py it is any folder of that name on the path.
    if found is None or not found.has_location or not found.submodule_search_locations:
        return None
    return Path(found.submodule_search_locations[0]).parent


def _claimed_by(root: Path, path: list[str]) -> tuple[str, str] | None:
    """The distribution whose record lists the package's files under a root."""
    mark = f"{PACKAGE}/mla.py"
    for distribution in metadata.distributions(path=path):
        if Path(str(distribution.locate_file(""))) == root and any(
            str(file) == mark for file in distribution.files or ()
        ):
            return _identity(distribution)
    return None


def _stranger(root: Path, distributions: Sequence[metadata.Distribution]) -> NotAiterError:
    named = [_identity(distribution) for distribution in distributions]
    # Beside AITER's own distribution it hides one, which is another problem than having none.
    alone = all(name == PACKAGE for name, _ in named)
    for name, version in named:
        if name == PACKAGE:
            return (UnrelatedPackageError if alone else NotAiterError)(
                f"the installed package {name} {version} is PyPI's unrelated one about "
                "asynchronous iterators, not AMD's AITER",
                hint=f"pip uninstall {name} and install AITER, or {HOW_TO_NAME_ONE}",
            )
    return NotAiterError(
        f"the package 'aiter' in {root} is not AMD's AITER: it has no mla.py",
        hint=HOW_TO_NAME_ONE,
    )


def _meta_from(environ: Mapping[str, str], root: Path) -> Path | None:
    """The directory that the environment names for the sources. AITER falls back to the root
    where it holds none, and so does this, unless the root holds none either."""
    named = environ.get(META_VARIABLE)
    if not named:
        return None
    meta = Path(named).absolute()
    if (meta / NATIVE).is_dir():
        return meta
    if (root / NATIVE).is_dir():
        return root
    raise SourceError(
        f"{META_VARIABLE} names {named}, which holds no {NATIVE} folder",
        hint=f"unset {META_VARIABLE}, or point it at the directory that holds csrc and hsa",
    )
