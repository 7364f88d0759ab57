"""Reads a snapshot file, with an error where it is something else."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from mlaprobe.core.numbers import numbers_of
from mlaprobe.core.shape import Dtype, Evidence, Kernel
from mlaprobe.errors import SourceError
from mlaprobe.snapshot.scope import Scope

FORMAT = "mlaprobe snapshot"
SCHEMA = 2
READABLE = (1, SCHEMA)
"""Schema 1 says less of a kernel: neither the blob of its file nor its LDS."""
KERNEL_FIELDS = ("symbol", "co", "co_present", "has_symbol", "blob", "lds")
"""What a row of a kernel holds, in this order."""
MAX_BYTES = 16 << 20
SEAL = ',\n"sha256":"'
"""Before the checksum, which is over everything before this."""


class SnapshotError(SourceError):
    """A file is no snapshot, or one that cannot be read."""


@dataclass(frozen=True, kw_only=True)
class Contents:
    """A snapshot file, read."""

    name: str
    """The file, for messages."""
    data: dict[str, Any]
    scope: Scope
    evidence: dict[str, Evidence] = field(repr=False)
    kernels: dict[str, Kernel] = field(repr=False)


def looks_like_one(path: Path) -> bool:
    """Whether a file is a snapshot, whole or not, of whatever schema."""
    try:
        with path.open("rb") as file:
            start = file.read(256)
    except OSError:
        return False
    return FORMAT.encode() in start and start.lstrip().startswith(b"{")


def read(path: Path, name: str | None = None) -> Contents:
    """The snapshot in a file.

    Raises:
        SnapshotError: it cannot be read, is none, is of a newer schema, or is damaged.
    """
    shown = name or str(path)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise SnapshotError(f"{shown} is too large for a snapshot")
        raw = path.read_bytes()
    except OSError as error:
        raise SnapshotError(f"cannot read the snapshot {shown}: {error.strerror}") from None
    return parse(raw, shown)


MISFITS = (LookupError, TypeError, ValueError, AttributeError)
"""What reading a snapshot raises whose parts do not fit together."""


def parse(raw: bytes, name: str) -> Contents:
    """The snapshot in some bytes.

    Raises:
        SnapshotError: as for ``read``.
    """
    try:
        text = raw.decode("utf-8").replace("\r\n", "\n")
        data = json.loads(text)
    except ValueError:
        if FORMAT.encode() in raw[:256]:
            raise damaged(name, "it is cut off or was edited") from None
        raise _foreign(name) from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise _foreign(name)
    schema = data.get("schema")
    if schema not in READABLE:
        raise SnapshotError(
            f"{name} is a snapshot of schema {schema}, and this mlaprobe reads schema {SCHEMA}",
            hint="upgrade mlaprobe, or take the snapshot anew with mlaprobe snapshot",
        )
    body, seal, _ = text.rpartition(SEAL)
    if not seal or sha256(body.encode()).hexdigest() != data.get("sha256"):
        raise damaged(name, "its checksum is another")
    try:
        return _contents(data, name)
    except MISFITS:
        raise damaged(name, "something is missing in it") from None


def _contents(data: dict[str, Any], name: str) -> Contents:
    pairs = (tuple(map(Dtype, pair.split("/"))) for pair in data["dtypes"])
    scope = Scope(
        archs=tuple(data["archs"]),
        dtypes=tuple((q_dtype, kv_dtype) for q_dtype, kv_dtype in pairs),
        heads=numbers_of(data["heads"]),
        qlens=numbers_of(data["qlens"]),
        page_sizes=numbers_of(data["page_sizes"]),
        fields=tuple(data.get("fields", ())),
    )
    return Contents(
        name=name,
        data=data,
        scope=scope,
        evidence={
            at: Evidence(
                stage=row[0], file=data["files"][row[1]], line=row[2], column=row[3], text=row[4]
            )
            for at, row in data["evidence"].items()
        },
        kernels={
            at: Kernel(**dict(zip(KERNEL_FIELDS, row, strict=False)))
            for at, row in data["kernels"].items()
        },
    )


def _foreign(name: str) -> SnapshotError:
    return SnapshotError(
        f"{name} is no snapshot of mlaprobe",
        hint="take one with mlaprobe snapshot --aiter SOURCE -o FILE",
    )


def damaged(name: str, why: str = "its parts do not fit together") -> SnapshotError:
    return SnapshotError(
        f"the snapshot {name} is damaged: {why}",
        hint="take it anew with mlaprobe snapshot; it is not made to be edited or merged by hand",
    )
