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
SCHEMA = 3
READABLE = (1, 2, SCHEMA)
"""Schema 1 says less of a kernel: neither the blob of its file nor its LDS. Schema 2 writes out
what schema 3 shares or leaves out (see ``upgrade``)."""
KERNEL_FIELDS = ("symbol", "co", "co_present", "has_symbol", "blob", "lds")
"""What a row of a kernel holds, in this order: of the code object its name in the folder that the
row stands under; the symbol, where that name without its extension is in it, as what is before and
after."""
USUAL_FAILURE = {"no_kernel": "abort", "rejected": "abort"}
"""How a call fails where a record does not say it, by its status."""
PHRASES = "phrases"
"""The part that holds the messages which several records share."""
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
    if data["schema"] != SCHEMA:
        upgrade(data)
    phrases = data[PHRASES]
    for record in data["records"].values():
        message = record.get("message")
        if isinstance(message, list) and len(message) == 1:
            record["message"] = phrases[message[0]]
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
            at: _kernel(folder, row)
            for folder, rows in data["kernels"].items()
            for at, row in rows.items()
        },
    )


def _kernel(folder: str, row: list[Any]) -> Kernel:
    fields = dict(zip(KERNEL_FIELDS, row, strict=False))
    name, symbol = fields["co"], fields["symbol"]
    if isinstance(symbol, list):
        symbol = stem_of(name).join(symbol)
    return Kernel(**{**fields, "co": folder + name, "symbol": symbol})


def stem_of(name: str) -> str:
    """A file's name without its extension."""
    return name.rpartition(".")[0] or name


def upgrade(data: dict[str, Any]) -> None:
    """Writes what a snapshot of schema 1 or 2 holds as schema 3 does: messages that are shared,
    kernels by the folder of their code objects, names as words, and failures that are not as
    usual.

    Raises:
        LookupError, TypeError, ValueError, AttributeError: its parts do not fit together.
    """
    data[PHRASES] = {}
    data["kernels"] = {"": data["kernels"]}
    for record in data["records"].values():
        for part in ("evidence", "kernels"):
            if part in record:
                record[part] = " ".join(record[part])
        if record.get("status") in USUAL_FAILURE:
            record.setdefault("failure", None)


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
