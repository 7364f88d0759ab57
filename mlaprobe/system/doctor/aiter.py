"""Which AITER is here, and whether something else claims its name."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path

from mlaprobe.core.enums import StageName, Status
from mlaprobe.core.protocols import Opened
from mlaprobe.errors import SourceError
from mlaprobe.opening import bundled
from mlaprobe.opening.probing import INSTALLED
from mlaprobe.rulefiles.layouts import layouts
from mlaprobe.sources.directory import DISTRIBUTION, MARK, PACKAGE
from mlaprobe.sources.installed import META_VARIABLE
from mlaprobe.system.doctor.model import Check, Severity

AITER, STRANGER = "AITER", "package aiter"
_NEEDED = (*(StageName.PLANNER, StageName.DISPATCHER), *(StageName.HOST, StageName.REDUCER))
_CONSEQUENCE = "what needs {} is UNKNOWN or not looked at: name a complete AITER, csrc and hsa too"


def unreadable(source: str, error: SourceError) -> Check:
    """An AITER that cannot be read. A bundled release can stand in for the installed one."""
    newest = bundled.newest() if source == INSTALLED else None
    advice = error.hint or ""
    if newest is not None:
        instead = f"meanwhile --aiter {bundled.PREFIX}{newest} asks the newest bundled release"
        advice = f"{advice}; {instead}" if advice else instead
    return Check(
        topic=AITER,
        severity=Severity.FAULT if newest is None else Severity.WARNING,
        found=error.message,
        how="" if error.file is None else error.file,
        advice=advice,
        detail={"source": source, "error": type(error).__name__},
    )


def aiter_check(answers: Opened, environ: Mapping[str, str]) -> Check:
    """Which AITER it is, where it is, and its stages."""
    source = answers.source
    capability = answers.capability
    distribution = None if capability is None else capability.source.distribution
    name = source.release or "of an unknown release"
    more = [] if distribution is None else ["distribution " + " ".join(distribution)]
    more += [] if source.commit is None else [f"commit {source.commit}"]
    if source.kind == INSTALLED and environ.get(META_VARIABLE):
        more.append(f"C++ sources in {environ[META_VARIABLE]}, by {META_VARIABLE}")
    more += [_stage(answers, *row) for row in answers.stage_status]
    lacking = [
        row[0] for row in answers.stage_status if row[1] == Status.ABSENT and row[0] in _NEEDED
    ]
    return Check(
        topic=AITER,
        severity=Severity.WARNING if lacking else Severity.OK,
        found=f"{name}, {source.kind}",
        how=source.location,
        more=tuple(more),
        advice=_CONSEQUENCE.format(" or ".join(lacking)) if lacking else "",
        detail={
            "release": source.release,
            "commit": source.commit,
            "kind": source.kind,
            "location": source.location,
            "distribution": None if distribution is None else list(distribution),
            "stages": {stage: status for stage, status, _ in answers.stage_status},
        },
    )


def _stage(answers: Opened, stage: str, status: str, text: str) -> str:
    """A stage in one line, with the file that it starts from, where that is at hand."""
    where = ""
    if status != Status.PRESENT:
        where = text
    elif stage == StageName.TABLE:
        where = f"hsa/<arch>/{text}"
    elif answers.capability is not None:
        places = (place for place, _ in layouts().places(stage))
        files = (p if "/" in p else p.replace(".", "/") + ".py" for p in places)
        where = next(filter(answers.capability.source.exists, files), "")
    return f"{status} {stage}{where and ': ' + where}"


def stranger_checks(path: list[str] | None = None) -> Iterator[Check]:
    """PyPI's package ``aiter``, which is about asynchronous iterators and claims the same name.

    Args:
        path: the directories to look in; by default Python's own.
    """
    where = sys.path if path is None else path
    for distribution in metadata.distributions(name=PACKAGE, path=where):
        mark = f"{PACKAGE}/{MARK}"
        if any(str(file) == mark for file in distribution.files or ()):
            continue  # AMD's, under this name
        both = any(True for _ in metadata.distributions(name=DISTRIBUTION, path=where))
        again = f", then install {DISTRIBUTION} again: the two write into one folder"
        yield Check(
            topic=STRANGER,
            severity=Severity.WARNING,
            found=f"{PACKAGE} {distribution.version} is installed: PyPI's unrelated package about "
            "asynchronous iterators",
            how=str(Path(str(distribution.locate_file(PACKAGE)))),
            advice=f"pip uninstall {PACKAGE}{again if both else ''}",
            detail={"version": distribution.version, "beside_amd_aiter": both},
        )
