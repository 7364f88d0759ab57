"""Snapshots: a source's answers over the standard grid, in a file that is used without AITER.

What a file holds. The verdict on a shape is composed from what each stage answers
(``mlaprobe.deciding.pipeline``), and each stage depends on few of a shape's fields: the planner on
its arguments, the dispatcher and the host on the launch, the reducer on a head count. So a snapshot
holds *stage tables*, each over its own inputs, and composes on demand with the code that composes
live answers. That makes it small, quick to take, and exact. A table is a set of planes, head counts
by query lengths, one for each setting of the inputs that matter; a plane names a record for every
cell. Equal planes, rows and runs are written once. A record is what the stage answered, with the
evidence for it; numbers in it that follow the question are variables (``phrases``). Where the
answer depends on the batch size, the record has rules for it (``batches``).

Buffer sizes are not kept, nor the text of the source, nor the kernel table.

This package imports nothing that reads source, except in ``making`` and what only that imports.
"""

from __future__ import annotations

from pathlib import Path

from mlaprobe.snapshot.answers import NOT_TAKEN, OUTSIDE, Snapshot, SnapshotInfo
from mlaprobe.snapshot.file import SCHEMA, SnapshotError, looks_like_one, read
from mlaprobe.snapshot.stages import OUTSIDE_TEXT, Outside

__all__ = [
    "NOT_TAKEN",
    "OUTSIDE",
    "OUTSIDE_TEXT",
    "SCHEMA",
    "Outside",
    "Snapshot",
    "SnapshotError",
    "SnapshotInfo",
    "load",
    "looks_like_one",
]


def load(path: str | Path) -> Snapshot:
    """The snapshot in a file.

    Raises:
        SnapshotError: it cannot be read, is none, is of a newer schema, or is damaged.
    """
    return Snapshot(read(Path(path)), label=str(path))
