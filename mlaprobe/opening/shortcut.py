"""A source that is a bundled release to all that its answers depend on: they are known without
evaluating it.

The commit decides, and where that is another, or none, the files do (``sources.reads``): those that
the release's answers were made of, and no others where there were none. What a snapshot does not
hold (a knob that is set, an unusual page size, the text of the source) is read from the source on
demand.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mlaprobe.core.needs import Need
from mlaprobe.core.reducers import ReduceHeads
from mlaprobe.core.shape import Decision, DecodeShape, Route, StageOutcome, Verdict, reshaped
from mlaprobe.errors import NotInstalledError
from mlaprobe.opening import bundled
from mlaprobe.opening.probing import INSTALLED, newest_instead, probe, snapshot_of
from mlaprobe.snapshot import OUTSIDE, Outside, Snapshot

if TYPE_CHECKING:
    from mlaprobe.core.behaviour import Numbering, Row
    from mlaprobe.core.grid import Grid
    from mlaprobe.deciding.capability import Capability
    from mlaprobe.sources import Source
    from mlaprobe.stages.environment.session import SourceSession


def quickest(spec: str) -> Capability | Snapshot | KnownSource:
    """What answers for a source, the quick way where that makes no difference.

    Raises:
        SourceError: as ``probe``.
    """
    kept = snapshot_of(spec)
    if kept is not None:
        return kept
    source, release = _opened(spec)
    if release is not None:
        return KnownSource(source, bundled.load(release))
    from mlaprobe.deciding.capability import Capability
    from mlaprobe.sources import require_aiter

    require_aiter(source)
    return Capability(source)


def at_hand(spec: str) -> Snapshot | KnownSource | None:
    """What answers for a source without evaluating it; ``None`` where that has to be done.

    Raises:
        SourceError: as ``probe``.
    """
    kept = snapshot_of(spec)
    if kept is not None:
        return kept
    source, release = _opened(spec)
    if release is not None:
        return KnownSource(source, bundled.load(release))
    source.close()
    return None


def _opened(spec: str) -> tuple[Source, str | None]:
    """A source, and the bundled release that it is to all that answers depend on."""
    from mlaprobe.sources import open_source

    source = open_source(spec)
    source.hold()
    try:
        return source, bundled.of_commit(source.commit) or bundled.of_files(source)
    finally:
        source.rest()


def installed_or_bundled() -> tuple[Capability | Snapshot | KnownSource, str | None]:
    """The installed AITER; where none is installed, the newest bundled release. An AITER that is
    there and cannot be read is no reason to answer from another.

    Returns:
        What answers, and why it is not the installed AITER; ``None``: it is.

    Raises:
        NotInstalledError: no AITER is installed, and no release is bundled.
        SourceError: one is installed, and cannot be read.
    """
    try:
        return quickest(INSTALLED), None
    except NotInstalledError as error:
        return probe(newest_instead(error)), error.message


def evaluated(answers: object) -> Capability | None:
    """The source that something answers for, with its files and stages; ``None``: it has none."""
    from mlaprobe.deciding.capability import Capability

    found = answers.live if isinstance(answers, KnownSource) else answers
    return found if isinstance(found, Capability) else None


class KnownSource(ReduceHeads):
    """Answers from a snapshot, and from the source what the snapshot does not hold."""

    def __init__(self, source: Source, snapshot: Snapshot) -> None:
        self.source = source
        self._snapshot = snapshot
        self.archs = snapshot.archs
        self.stage_status = snapshot.stage_status
        self.erratum_release = snapshot.erratum_release

    @property
    def release(self) -> str | None:
        """The release of the source, where that is known."""
        return self.source.release

    capability = None
    """The snapshot answers."""

    @property
    def knobs(self) -> tuple[str, ...]:
        """Environment variables that the deciding code reads: all that the snapshot knows of, and
        what has been read of the source so far."""
        read = self.live.knobs if "live" in vars(self) else ()
        return tuple(sorted({*self._snapshot.knobs, *read}))

    def knobs_read(self, shape: DecodeShape) -> frozenset[str] | None:
        """Those that were read for a shape that the source has decided."""
        held = self._snapshot.decide(shape).stage != OUTSIDE
        return None if held else self.live.knobs_read(shape)

    @cached_property
    def live(self) -> Capability:
        """The source itself, read for the first question that the snapshot does not hold."""
        from mlaprobe.deciding.capability import Capability
        from mlaprobe.sources.release_place import ReleasePlace

        release = self._snapshot.release
        elsewhere = None if release is None else bundled.set_elsewhere(release)
        live = Capability(self.source, elsewhere)
        live.place = ReleasePlace(release=self.erratum_release)
        return live

    def decide(self, shape: DecodeShape) -> Decision:
        """What happens to a shape; errata applied."""
        found = self._snapshot.decide(shape)
        return self.live.decide(shape) if found.stage == OUTSIDE else found

    def verdicts(self, setting: DecodeShape, heads: Sequence[int]) -> list[Verdict]:
        """What becomes of a setting at some head counts; its own means nothing."""
        held = zip(heads, self._snapshot.verdicts(setting, heads), strict=True)
        return [
            self.decide(reshaped(setting, num_heads=count)).verdict
            if verdict is Verdict.UNKNOWN
            else verdict
            for count, verdict in held
        ]

    def has_route(self, route: Route) -> bool:
        """Whether the source has a route at all."""
        return self._snapshot.has_route(route)

    def reducer_pair(self, heads: int, head_dim: int) -> StageOutcome:
        """What the reducer says to a head count and a head dimension."""
        return self._snapshot.reducer_pair(heads, head_dim)

    def records_needs(self, shape: DecodeShape) -> bool:
        """Whether it can be asked what a launch needs: the source can."""
        return True

    def needs(self, shape: DecodeShape) -> tuple[Need, ...]:
        """What a launch needs, found by asking."""
        kept = self._snapshot
        return kept.needs(shape) if kept.records_needs(shape) else self.live.needs(shape)

    def behaviour_rows(self, part: Grid, numbering: Numbering) -> list[Row] | None:
        """The behaviours of a part of a grid, where the snapshot holds all of it."""
        return self._snapshot.held_rows(part, numbering)

    def takes(self, role: str) -> bool:
        """Whether the dispatcher may have a parameter of that meaning: not known from a
        snapshot."""
        return True

    def ask(self, stage: str, shape: DecodeShape, *, head_dim: int | None = None) -> StageOutcome:
        """One stage alone."""
        found = self._snapshot.ask(stage, shape, head_dim=head_dim)
        if isinstance(found, Outside):
            return self.live.ask(stage, shape, head_dim=head_dim)
        return found

    @cached_property
    def session(self) -> SourceSession:
        """The functions of the source."""
        from mlaprobe.stages.environment.session import SourceSession

        return SourceSession(self.source)

    def reducer_rows(self, heads: Sequence[int]) -> Iterable[tuple[int, int, StageOutcome]]:
        """The reducer's answer for head counts and every head_dim that its router names."""
        return self._snapshot.reducer_rows(heads)

    def source_text(self, file: str) -> str | None:
        """The text of a file of the source."""
        return self.live.source_text(file)

    def nearest_rows(
        self, arch: str, key: tuple[tuple[str, Any], ...], limit: int = 3
    ) -> tuple[tuple[str, str, int, tuple[str, ...]], ...]:
        """Rows of the kernel table that come closest to a key."""
        return self.live.nearest_rows(arch, key, limit)

    def forget(self) -> None:
        """Lets go of remembered answers."""
        self._snapshot.forget()

    def close(self) -> None:
        """Let go of the source."""
        self.source.close()

    def __enter__(self) -> KnownSource:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
