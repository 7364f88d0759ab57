"""What a plan is of: where AITER was found, which release it is, and what its functions take."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlaprobe.core.enums import StageName
from mlaprobe.core.protocols import Dated, Sourced, SourceInfo
from mlaprobe.core.releases import is_release
from mlaprobe.errors import SourceError
from mlaprobe.rulefiles.arguments import parameters_at
from mlaprobe.rulefiles.layouts import layouts
from mlaprobe.sources import Source
from mlaprobe.sources.closest_release import Nearest, nearest

if TYPE_CHECKING:
    from mlaprobe.deciding.capability import Capability

_SHOWN = 12
"""Digits of a commit that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSource:
    """The AITER that a plan is of."""

    label: str
    """The source as it was named: ``installed``, ``REPO@REV``, ``release:v0.1.20``, ..."""
    kind: str
    """``installed``, ``directory``, ``git``, ``archive``, ``release`` or ``snapshot``."""
    release: str | None
    """Its release, where that is known from the source itself."""
    nearest: str | None = None
    """Where it does not: the release that its files are closest to."""
    differing: int | None = None
    """How many of the files that decide are others there."""
    commit: str | None = None

    def __str__(self) -> str:
        """For example ``AITER v0.1.20 (release:v0.1.20, commit 0123456789ab)``."""
        if self.release is not None:
            which = f"AITER {self.release}"
        elif self.nearest is not None:
            which = f"an AITER with the files of {self.nearest}"
            if self.differing:
                which = f"an AITER nearest to {self.nearest}, {self.differing} files differ"
        else:
            which = "an AITER of unknown release"
        commit = f", commit {self.commit[:_SHOWN]}" if self.commit else ""
        return f"{which} ({self.label}{commit})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What is known of a capability before any question."""

    source: PlanSource | None
    """``None``: it does not say, as one that a test made up."""
    parameters: Mapping[str, frozenset[str]]
    """What AITER's functions take, by function; without those of which that is not known."""


def origin_of(capability: object) -> Origin:
    """What a capability is of."""
    if not isinstance(capability, Sourced):
        return Origin(source=None, parameters={})
    info = capability.source
    release = info.release
    # What answers may know which release's files it has: a snapshot, which has none itself, too.
    held = None
    if release is None and isinstance(capability, Dated):
        held = capability.erratum_release
    near = _nearest(info) if release is None and held is None else None
    source = PlanSource(
        label=info.label,
        kind=info.kind,
        release=release,
        nearest=held if near is None else near.release,
        differing=None if near is None else near.differing,
        commit=info.commit,
    )
    return Origin(source=source, parameters=_parameters(capability, release or held))


def _nearest(source: SourceInfo) -> Nearest | None:
    """The release that a source's files are closest to. Not knowing it costs no plan."""
    if not isinstance(source, Source):
        return None
    try:
        return nearest(source)
    except SourceError:
        return None


def _parameters(capability: object, release: str | None) -> Mapping[str, frozenset[str]]:
    """What AITER's functions take: as a source at hand has it, else as its release has it."""
    live = sys.modules.get("mlaprobe.deciding.capability")  # what is not loaded made no capability
    if live is not None and isinstance(capability, live.Capability):
        return _signatures(capability)
    if release is not None and is_release(release):
        return parameters_at(release)
    return {}


def _signatures(capability: Capability) -> Mapping[str, frozenset[str]]:
    found = {}
    with capability.session.exclusive:
        for stage in (StageName.SIZING, StageName.PLANNER, StageName.DISPATCHER):
            for module, name in layouts().python_places(stage):
                function = capability.session.python.function(module, name)
                # One that passes everything on takes what another does: that is not looked into.
                if function is not None and not any(p.kind[0] == "*" for p in function.params):
                    found[name] = frozenset(p.name for p in function.params)
                    break
    return found
