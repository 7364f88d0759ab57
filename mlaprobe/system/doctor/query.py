"""AITER's own answer to the same question, where the installed one offers it.

Asking imports AITER, which may compile for a while or end the process: it is done in a process of
its own, and only where the source defines the query.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from mlaprobe.core.protocols import LiveAnswers
from mlaprobe.core.shape import Route
from mlaprobe.opening.probing import INSTALLED
from mlaprobe.rulefiles.layouts import layouts
from mlaprobe.system.doctor.model import Check, Severity

QUERY = "own query"
SUPPORT = "shape_support"
"""Its name in ``rules/layouts.yaml``."""
PATIENCE = 300.0
"""Seconds for importing AITER and asking it."""
_MOST = 5
CHILD = (
    "import sys; from mlaprobe.system.doctor.query import child; child(sys.argv[1], sys.argv[2:])"
)
Ask = Callable[[Sequence[str]], dict[str, Any]]
"""From archs to what ``child`` writes."""


def query_check(
    answers: LiveAnswers, archs: Sequence[str], *, rocm: bool, ask: Ask | None = None
) -> Iterator[Check]:
    """Compares what was read from the installed source with what it says of itself; nothing where
    it has no query.

    Args:
        rocm: whether PyTorch for ROCm is here, without which importing AITER fails or compiles.
        ask: the way to an answer; by default another process.
    """
    if answers.source.kind != INSTALLED or not offers_query(answers):
        return
    if not rocm:
        yield Check(
            topic=QUERY,
            severity=Severity.NOTE,
            found="AITER has a query of its own, and was not asked: it needs PyTorch for ROCm",
        )
        return
    found = (ask or ask_elsewhere)(archs)
    differ, failures = found.get("disagreements", []), found.get("failures", [])
    severity, text = _result(found.get("asked", 0), found.get("error"), differ, failures)
    more = [*differ, *failures]
    rest = [f"and {len(more) - _MOST} more"] if len(more) > _MOST else []
    yield Check(
        topic=QUERY,
        severity=severity,
        found=text,
        how="get_mla_decode_shape_support, in a process of its own",
        more=(*islice(more, _MOST), *rest),
        advice="AITER is the authority: report what differs, with this output" if differ else "",
        detail=found,
    )


def _result(
    asked: int, error: str | None, differ: list[str], failures: list[str]
) -> tuple[Severity, str]:
    """What came of asking, in a sentence."""
    if not asked or error is not None:
        why = error or "it is defined, and is not there once AITER is imported"
        return Severity.NOTE, f"AITER's own query could not be asked: {why}"
    if differ:
        things = f"{len(differ)} things, asked for {asked} shapes"
        return Severity.WARNING, f"AITER's own query says something else of {things}"
    severity = Severity.WARNING if failures else Severity.OK
    return severity, f"AITER's own query was asked for {asked} shapes, and says nothing else"


def offers_query(answers: LiveAnswers) -> bool:
    """Whether the source defines the query."""
    return any(
        f"def {function}(" in (answers.source_text(module.replace(".", "/") + ".py") or "")
        for module, function in layouts().python_places(SUPPORT)
    )


def ask_elsewhere(archs: Sequence[str], script: str = CHILD) -> dict[str, Any]:
    """Asks in another process, whose output is kept from this one's."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "answer.json"
        words = [sys.executable, "-c", script, str(file), *archs]
        try:
            done = subprocess.run(words, capture_output=True, timeout=PATIENCE, check=False)
        except subprocess.TimeoutExpired:
            return {"error": f"it took more than {PATIENCE:.0f} seconds"}
        except OSError as error:
            return {"error": str(error)}
        try:
            found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
            return found
        except (OSError, ValueError):
            last = done.stderr.decode(errors="replace").strip().split("\n")[-1]
            return {"error": f"its process ended with {done.returncode}: {last}".rstrip(": ")}


def child(file: str, archs: Sequence[str]) -> None:
    """What the other process does: asks AITER about the doctor's sample, and writes what came of
    it into a file."""
    from mlaprobe.decode.backends.aiter_calls import InstalledFunctions
    from mlaprobe.decode.support import agreement
    from mlaprobe.errors import MlaprobeError
    from mlaprobe.opening.probing import probe
    from mlaprobe.system.doctor.answers import sample

    shapes = [
        shape
        for grid in sample(tuple(archs))
        for shape in grid.shapes()
        if shape.route is Route.ASM
    ]
    try:
        found = agreement(InstalledFunctions(), probe(INSTALLED), shapes)
        data = {} if found is None else _data(found)
    except MlaprobeError as error:
        data = {"error": error.message}
    Path(file).write_text(json.dumps(data), encoding="utf-8")


def _data(found: Any) -> dict[str, Any]:
    return {
        "asked": found.asked,
        "failures": list(found.failures),
        "disagreements": [
            f"{each.shape.arch} {each.shape.dtype}, {each.shape.num_heads} heads, qlen "
            f"{each.shape.qlen}{'' if each.shape.persistent else ', non-persistent'}: "
            f"{each.field} is {each.aiter}, and {each.mlaprobe} by the source"
            for each in found.disagreements
        ],
    }
