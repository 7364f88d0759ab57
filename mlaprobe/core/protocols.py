"""The interfaces of capabilities, live sources and snapshots alike, for the commands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from mlaprobe.core.shape import Decision, DecodeShape, StageOutcome, Verdict

if TYPE_CHECKING:
    from mlaprobe.core.behaviour import Numbering, Row
    from mlaprobe.core.grid import Grid
    from mlaprobe.deciding.capability import Capability
    from mlaprobe.stages.environment.session import SourceSession

NearestRow = tuple[str, str, int, tuple[str, ...]]
"""A table row's text, its file and line, and the columns in which it differs."""


class SourceInfo(Protocol):
    """Where AITER is, for display."""

    @property
    def label(self) -> str:
        """The source as the user named it."""

    @property
    def kind(self) -> str:
        """One of ``installed``, ``directory``, ``git``, ``archive``, ``release``."""

    @property
    def release(self) -> str | None: ...

    @property
    def commit(self) -> str | None: ...

    @property
    def location(self) -> str:
        """Where the files lie, for display."""


class Decider(Protocol):
    """The resolver's interface; a caller's own stand-in need have no more."""

    @property
    def archs(self) -> tuple[str, ...]:
        """The archs that the source names."""

    def decide(self, shape: DecodeShape) -> Decision: ...


@runtime_checkable
class Sourced(Protocol):
    """An object with the AITER that it answers for."""

    @property
    def source(self) -> SourceInfo: ...


@runtime_checkable
class Dated(Protocol):
    """An object with the release whose errata apply."""

    @property
    def erratum_release(self) -> str | None: ...


@runtime_checkable
class Configurable(Protocol):
    """An object with the environment variables that it reads."""

    @property
    def knobs(self) -> tuple[str, ...]:
        """Environment variables that the deciding code has read so far."""


class Answers(Decider, Sourced, Configurable, Protocol):
    """What a live capability and a snapshot have in common."""

    @property
    def stage_status(self) -> tuple[tuple[str, str, str], ...]:
        """Stage, ``present`` or ``absent``, and a remark."""


class LiveAnswers(Answers, Protocol):
    """A source at hand: its stages answer alone, and its text can be shown."""

    def ask(self, stage: str, shape: DecodeShape, *, head_dim: int | None = None) -> StageOutcome:
        """One stage, alone."""

    def reducer_rows(self, heads: Sequence[int]) -> Iterable[tuple[int, int, StageOutcome]]:
        """Head count, head_dim and answer, for every head_dim that the router names."""

    def knobs_read(self, shape: DecodeShape) -> frozenset[str] | None:
        """The variables that may have been read for a shape that has been decided; ``None``: not
        known."""

    def source_text(self, file: str) -> str | None:
        """A file of the source, or ``None`` where it has none."""

    def forget(self) -> None:
        """Lets go of remembered answers."""

    def nearest_rows(
        self, arch: str, key: tuple[tuple[str, Any], ...], limit: int = 3
    ) -> tuple[NearestRow, ...]:
        """The rows of the kernel table that come closest to a key."""


class Opened(LiveAnswers, Protocol):
    """An opened source of any kind, with what comparisons and findings need besides."""

    @property
    def erratum_release(self) -> str | None:
        """The release that errata are looked up for, where that is known."""

    @property
    def session(self) -> SourceSession | None:
        """The functions of the source; ``None`` where there is only a snapshot."""

    @property
    def capability(self) -> Capability | None:
        """The stages that give these answers; ``None`` where a snapshot gives them."""

    def takes(self, role: str) -> bool:
        """Whether the dispatcher may have a parameter of that meaning."""

    def verdicts(self, setting: DecodeShape, heads: Sequence[int]) -> Sequence[Verdict]:
        """What becomes of a setting at some head counts; its own means nothing."""

    def behaviour_rows(self, part: Grid, numbering: Numbering) -> list[Row] | None:
        """The behaviours of a part of a grid (``compare.sides.parts``), a row for each head count;
        ``None`` where each shape has to be decided for itself."""
