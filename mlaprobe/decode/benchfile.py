"""The results of a bench as a file of JSON lines, which an interrupted sweep goes on from.

Each line is written whole, by one call, and is on disk before the next case begins. There are
lines of three kinds: ``environment``, when a run begins; ``started``, before a case is measured;
``point``, what came of it. A case that was started and has no point ended the process.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from types import TracebackType
from typing import Any

from mlaprobe.core.releases import distribution_version
from mlaprobe.core.shape import Dtype
from mlaprobe.decode.bench import Case, Form, Outcome, Point, Sweep, Variant
from mlaprobe.decode.environment import environment_of
from mlaprobe.decode.tensors import torch
from mlaprobe.decode.timing import Timing, read_bandwidth
from mlaprobe.errors import UsageError

VERSION = 1
IDENTITY = ("device", "ran_on", "arch", "aiter", "backend", "page_size", "lse")
"""What of an environment must be the same for points to belong together."""
CRASHED = "the process ended while it was measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What a file holds."""

    environment: Mapping[str, Any] | None = None
    """Of the last run; ``None``: there was none."""
    points: Mapping[Case, Point] = field(default_factory=dict)
    """The last of each case; one that ended its process is a failed one."""
    size: int = 0
    """Bytes of whole lines: what follows was cut off while it was written."""


def load(path: Path) -> Kept:
    """What a file holds; nothing, where there is none.

    Raises:
        UsageError: it cannot be read, or is no file of results.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return Kept()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    size = data.rfind(b"\n") + 1
    environment: Mapping[str, Any] | None = None
    points: dict[Case, Point] = {}
    for number, line in enumerate(data[:size].splitlines(), start=1):
        try:
            entry = json.loads(line)
            kind = entry["kind"]
            if kind == "environment":
                environment = entry
            elif kind == "started":
                case = _case(entry["case"])
                points[case] = Point(case=case, status=Outcome.FAILED, reason=CRASHED)
            elif kind == "point":
                found = _point(entry)
                points[found.case] = found
            elif kind == "interrupted":
                points.pop(_case(entry["case"]), None)
            else:
                raise ValueError(kind)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise UsageError(
                f"{path}, line {number}: not a line of bench results",
                hint="give another file for the results",
            ) from None
    return Kept(environment=environment, points=points, size=size)


class Writer:
    """Appends to a file of results."""

    def __init__(self, path: Path, kept: Kept, environment: Mapping[str, Any]) -> None:
        """Begins a run.

        Raises:
            UsageError: the file cannot be written, or holds what was measured elsewhere.
        """
        _check_same(path, kept.environment, environment)
        self._path = path
        self._begun: Case | None = None
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            os.ftruncate(self._file, kept.size)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from None
        self._write({"kind": "environment", "version": VERSION, **environment})

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Where a person stopped the run, the case that was begun is to be measured again."""
        if self._begun is not None and kind is not None and not issubclass(kind, Exception):
            self._write({"kind": "interrupted", "case": asdict(self._begun)})
        os.close(self._file)

    def begin(self, case: Case) -> None:
        """A case is about to be measured."""
        self._begun = case
        self._write({"kind": "started", "case": asdict(case)})

    def add(self, point: Point) -> None:
        """A case is done."""
        self._begun = None
        self._write({"kind": "point", **point_json(point)})

    def _write(self, entry: Mapping[str, Any]) -> None:
        line = json.dumps(entry, separators=(",", ":"), allow_nan=False) + "\n"
        try:
            os.write(self._file, line.encode())
            os.fsync(self._file)
        except OSError as error:
            raise UsageError(f"cannot write {self._path}: {error.strerror}") from None


def _check_same(path: Path, old: Mapping[str, Any] | None, new: Mapping[str, Any]) -> None:
    for name in IDENTITY if old is not None else ():
        assert old is not None
        if old.get(name) != new.get(name):
            raise UsageError(
                f"{path} holds what was measured with {name} {old.get(name)}, and this run has "
                f"{new.get(name)}",
                hint="give another file for the results",
            )


def environment(sweep: Sweep, aiter: str) -> dict[str, Any]:
    """What points depend on: the machine, its software, and what of the sweep is the same for
    all of them. Measures how fast a GPU reads; waits for it.

    Args:
        aiter: the source whose decisions are carried out.
    """
    around = environment_of(sweep.device)
    gpu = torch().device(sweep.device).type == "cuda"
    return {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "device": around.device,
        "ran_on": _ran_on(sweep.device, around.arch),
        "arch": sweep.arch,
        "aiter": aiter,
        "backend": sweep.backend,
        "page_size": sweep.page_size,
        "lse": sweep.lse,
        "read_bytes_per_second": round(read_bandwidth(sweep.device)) if gpu else None,
        "mlaprobe": around.mlaprobe,
        "python": around.python,
        "torch": around.torch,
        "triton": distribution_version("triton"),
        "rocm": around.rocm,
        "cuda": around.cuda,
        "compute_units": around.compute_units,
        "memory_bytes": around.memory_bytes,
    }


def _ran_on(device: str, arch: str | None) -> str:
    """The kind of device, as its maker calls it."""
    if arch is not None:
        return arch
    t = torch()
    if t.device(device).type != "cuda":
        return str(t.device(device).type)
    major, minor = t.cuda.get_device_capability(device)
    return f"sm_{major}{minor}"


def point_json(point: Point) -> dict[str, Any]:
    """A point as the file has it."""
    row = asdict(point)
    for form in row["forms"]:
        if form["timing"] is not None:
            rounded = {name: round(form["timing"][name], 3) for name in ("us", "low_us", "high_us")}
            form["timing"] |= rounded
    return row


def _case(entry: Mapping[str, Any]) -> Case:
    dtypes = {name: Dtype(entry[name]) for name in ("q_dtype", "kv_dtype")}
    return Case(**{**entry, **dtypes})


def _point(entry: Mapping[str, Any]) -> Point:
    return Point(
        case=_case(entry["case"]),
        status=Outcome(entry["status"]),
        reason=entry["reason"],
        forms=tuple(map(_form, entry["forms"])),
    )


def _form(entry: Mapping[str, Any]) -> Form:
    timing = entry["timing"]
    timed = None if timing is None else Timing(**timing)
    return Form(**{**entry, "name": Variant(entry["name"]), "timing": timed})
