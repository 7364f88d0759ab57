"""A serving engine in this environment: which release it is, what it decides by hand, and what a
served model will launch. The engine is read, and never imported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from mlaprobe.audit.claims import Agreement, Audited, audit
from mlaprobe.audit.places import find_places
from mlaprobe.audit.rules import audit_rules
from mlaprobe.audit.tree import python_files
from mlaprobe.core.grid import DtypePair
from mlaprobe.core.protocols import Opened
from mlaprobe.core.shape import Verdict
from mlaprobe.errors import SourceError
from mlaprobe.reports.deployments import Assessment, assess
from mlaprobe.rulefiles.models import Deployment
from mlaprobe.system.doctor.model import Check, Severity

ENGINES = {"vllm": "vllm", "sglang": "sglang", "atom": "atom"}
"""Their packages, which are called as their distributions."""
_MOST = 8
"""Disagreements that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What an engine is to serve."""

    engine: str
    deployments: tuple[Deployment, ...] = ()
    archs: tuple[str, ...] = ()
    dtypes: tuple[DtypePair, ...] = ()


def engine_checks(answers: Opened, served: Served) -> Iterator[Check]:
    """The engine, its decisions, and its launches."""
    check, folder = _installed(served.engine)
    yield check
    if folder is not None:
        yield _decisions(answers, served.engine, folder)
    found = assess(answers, served.deployments, archs=served.archs, dtypes=served.dtypes)
    yield from map(_launch, found)


def _installed(engine: str) -> tuple[Check, Path | None]:
    """Whether the engine is here, and where."""
    name = ENGINES[engine]
    try:
        distribution = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return Check(
            topic=engine,
            severity=Severity.NOTE,
            found="it is not installed in this environment",
            advice=f"run this where {engine} is, or name its wheel: mlaprobe audit WHEEL",
            detail={"version": None},
        ), None
    folder = Path(str(distribution.locate_file(name)))
    check = Check(
        topic=engine,
        severity=Severity.OK,
        found=f"version {distribution.version}",
        how=str(folder),
        detail={"version": distribution.version},
    )
    return check, folder if folder.is_dir() else None


def _decisions(answers: Opened, engine: str, folder: Path) -> Check:
    """Whether what it decides by hand agrees with this AITER."""
    try:
        found = audit(answers, find_places(python_files(str(folder)), audit_rules()))
    except SourceError as error:
        return Check(topic="decisions", severity=Severity.WARNING, found=error.message)
    wrong = [each for each in found if each.agreement is Agreement.DISAGREES]
    judged = [each for each in found if each.agreement is not Agreement.NOT_JUDGED]
    advice = f"mlaprobe.adapters.{engine} answers them by the AITER at hand" if wrong else ""
    return Check(
        topic="decisions",
        severity=Severity.WARNING if wrong else Severity.OK,
        found=f"of {len(judged)} that are known, {len(wrong)} do not agree with this AITER",
        how=f"mlaprobe audit {folder}",
        more=tuple(_in_short(wrong))[:_MOST],
        advice=advice,
        detail={"judged": len(judged), "disagree": [each.place.name for each in wrong]},
    )


def _in_short(wrong: Iterable[Audited]) -> Iterator[str]:
    for each in wrong:
        yield f"{each.place.name}: {'; '.join(each.texts)}"


def _launch(found: Assessment) -> Check:
    """What a deployment launches without padding, and what it should."""
    deployment, own = found.deployment, found.as_is
    who = f"{deployment.model.name}, tp {deployment.tp}"
    who += f", dcp {deployment.dcp}" if deployment.dcp > 1 else ""
    who += f", {deployment.draft} drafts" if deployment.draft else ""
    runs = found.verdict.runs
    good = found.verdict is Verdict.NATIVE
    happens = str(found.verdict) + (
        f", reads the cache {found.fold} times" if found.fold > 1 else ""
    )
    advice = ""
    if found.padded.runs and found.padded.padded_num_heads != own.padded_num_heads:
        advice = f"launch {found.padded.padded_num_heads} heads: {found.padded.reason}"
    elif not runs:
        advice = found.padded.reason
    worst = next(d for d in own.decisions if d.verdict is found.verdict)
    return Check(
        topic="launch",
        severity=Severity.OK if good else Severity.NOTE if runs else Severity.WARNING,
        found=f"{who} on {own.arch} {own.q_dtype}/{own.kv_dtype}: {deployment.num_heads} heads, "
        f"launched as {own.padded_num_heads}: {happens}",
        how=worst.message or "",
        more=tuple(kernel.co for kernel in worst.kernels),
        advice=advice,
        shape=worst.shape if advice else None,
        detail={
            "model": deployment.model.id,
            "num_heads": deployment.num_heads,
            "launched": own.padded_num_heads,
            "verdict": found.verdict.value,
            "pad_to": found.padded.padded_num_heads,
        },
    )
