"""Prints rule files about the files of releases anew from a git repository of AITER with its tags::

python -m tests.padding.blobs PATH > rules/release_blobs.yaml
python -m tests.padding.blobs PATH --files > rules/release_files.yaml
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from mlaprobe.core.releases import is_release, release_key
from mlaprobe.errors import SourceError
from mlaprobe.rulefiles.errata import fingerprint
from mlaprobe.sources import Source, open_source, require_aiter
from mlaprobe.sources.closest_release import ABSENT
from mlaprobe.sources.git import run

FILES = (
    "csrc/kernels/mla/metadata/v1_2_device.cuh",
    "csrc/kernels/mla/metadata.cu",
    "csrc/kernels/mla/reduce.cu",
    "csrc/py_itfs_cu/asm_mla.cu",
    "csrc/include/mla_decode_shape.h",
    "csrc/include/mla_reduce_cases.h",
    "aiter/mla.py",
    "aiter/ops/attention.py",
    "aiter/ops/triton/gluon/mla_gluon.py",
    "aiter/ops/triton/gluon/mla_decode_gluon.py",
    "hsa/gfx942/mla/mla_asm.csv",
    "hsa/gfx950/mla/mla_asm.csv",
    "hsa/gfx1250/mla/mla_asm.csv",
)

HEAD = """\
# What tells the releases apart: one hash per release over the git blob hashes of these files (a
# file that a release does not have counts as absent). A source that does not know its release,
# such as a checkout between two tags, takes the last release with the same hash.
# Written by: python -m tests.padding.blobs PATH_OF_ROCM_AITER > rules/release_blobs.yaml
"""
FILES_HEAD = f"""\
# Which release changed which of the files that decide: for each file its git blob hash from a
# release on, until the next one that is named ("{ABSENT}": no such file).
# Written by: python -m tests.padding.blobs PATH_OF_ROCM_AITER --files > rules/release_files.yaml
"""


def sources(repository: Path) -> Iterator[tuple[str, Source]]:
    """Every release in range, in order."""
    tags = run(repository, "tag", "--list").decode().split()
    for tag in sorted(filter(is_release, tags), key=release_key):
        with open_source(f"{repository}@{tag}") as source:
            try:
                require_aiter(source)
            except SourceError:
                continue
            yield tag, source


def fingerprints(repository: Path) -> Iterator[tuple[str, str]]:
    """Every release in range and its fingerprint, in order."""
    for tag, source in sources(repository):
        yield tag, fingerprint(source, FILES)


def changes(repository: Path) -> dict[str, dict[str, str]]:
    """For each file the releases that changed it, and what to."""
    found: dict[str, dict[str, str]] = {file: {} for file in FILES}
    for tag, source in sources(repository):
        for file, blobs in found.items():
            blob = source.blob(file) or ABSENT
            if next(reversed(blobs.values()), None) != blob:
                blobs[tag] = blob
    return found


def main(repository: str, *words: str) -> None:
    """Prints a rule file."""
    # Hashes are quoted: one of digits alone would read as a number.
    if words == ("--files",):
        print(FILES_HEAD + "files:")
        for file, blobs in changes(Path(repository)).items():
            print(f"  {file}:")
            for tag, blob in blobs.items():
                print(f'    {tag}: "{blob}"')
        return
    print(HEAD + "files:")
    for file in FILES:
        print(f"  - {file}")
    print("releases:")
    for tag, fingerprint_ in fingerprints(Path(repository)):
        print(f'  {tag}: "{fingerprint_}"')


if __name__ == "__main__":
    main(*sys.argv[1:])
