"""A serving engine in this environment: which release it is, what it decides by hand, and what the
head count of a served model does. The engine is read, and never imported."""

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
from mlaprobe.padding.verdicts import worst_of
from mlaprobe.reports.deployments import Assessment, assess
from mlaprobe.rulefiles.models import Deployment
from mlaprobe.system.doctor.model import Check, Severity

ENGINES = {"vllm": "vllm", "sglang": "sglang", "atom": "atom"}
"""Their packages, which are called as their distributions."""
_UNCHANGED = {"vllm": (), "sglang": ("plain", "gathered"), "atom": ("plain",)}
"""Where an engine launches 16 heads and more as they are, instead of the next multiple of 16."""
_LEAST = 16
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
    yield from (_launch(each, served.engine) for each in found)


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
    wrong, unknown, agreeing = (
        [each for each in found if each.agreement is kind]
        for kind in (Agreement.DISAGREES, Agreement.UNKNOWN, Agreement.AGREES)
    )
    judged = len(wrong) + len(unknown) + len(agreeing)
    text = f"of {judged} that have a rule, {len(wrong)} do not agree with this AITER"
    text += f", and of {len(unknown)} that is not known" if unknown else ""
    return Check(
        topic="decisions",
        severity=Severity.WARNING if wrong else Severity.NOTE if unknown else Severity.OK,
        found=text,
        how=f"mlaprobe audit {folder}",
        more=tuple(_in_short([*wrong, *unknown]))[:_MOST],
        advice=f"mlaprobe.adapters.{engine} answers them by the AITER at hand" if wrong else "",
        detail={
            "judged": judged,
            "disagree": [each.place.name for each in wrong],
            "unknown": [each.place.name for each in unknown],
        },
    )


def _in_short(audited: Iterable[Audited]) -> Iterator[str]:
    for each in audited:
        yield f"{each.place.name}: {'; '.join(each.texts)}"


def _launch(found: Assessment, engine: str) -> Check:
    """What the head count of a deployment does, as the engine has it, and what would be better."""
    deployment, own = found.deployment, found.as_is
    launched, decisions, how = own.padded_num_heads, own.decisions, "the next multiple of 16"
    if launched == deployment.num_heads or _as_it_is(engine, deployment):
        launched, decisions, how = deployment.num_heads, found.own.decisions, "as they are"
    worst = worst_of(decisions)
    fold = max(d.fold * d.qlen_fold for d in decisions)
    happens = str(worst.verdict) + (f", reads the cache {fold} times" if fold > 1 else "")
    runs = worst.verdict.runs
    advice = ""
    if found.padded.runs and found.padded.padded_num_heads != launched:
        advice = f"launch {found.padded.padded_num_heads} heads: {found.padded.reason}"
    elif not runs:
        advice = found.padded.reason
    good = worst.verdict is Verdict.NATIVE
    return Check(
        topic="launch",
        severity=Severity.OK if good else Severity.NOTE if runs else Severity.WARNING,
        found=f"{_who(deployment)} on {own.arch} {own.q_dtype}/{own.kv_dtype}: "
        f"{deployment.num_heads} heads at {launched}, {how}: {happens}",
        how=worst.message or "",
        more=tuple(kernel.co for kernel in worst.kernels),
        advice=advice,
        shape=worst.shape if advice else None,
        detail={
            "model": deployment.model.id,
            "num_heads": deployment.num_heads,
            "launched": launched,
            "verdict": worst.verdict.value,
            "pad_to": found.padded.padded_num_heads,
        },
    )


def _as_it_is(engine: str, deployment: Deployment) -> bool:
    kind = "gathered" if deployment.dcp > 1 else "plain"
    return deployment.num_heads >= _LEAST and kind in _UNCHANGED[engine]


def _who(deployment: Deployment) -> str:
    text = f"{deployment.model.name}, tp {deployment.tp}"
    text += f", dcp {deployment.dcp}" if deployment.dcp > 1 else ""
    return text + (f", {deployment.draft} drafts" if deployment.draft else "")
