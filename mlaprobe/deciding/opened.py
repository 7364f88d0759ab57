"""The stages of one AITER source, and what is known of it without a question."""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeVar

from mlaprobe.core.elsewhere import SetElsewhere
from mlaprobe.core.inputs import is_arch
from mlaprobe.core.shape import DecodeShape, Route, StageName, Status
from mlaprobe.deciding.lacking import Lacking
from mlaprobe.errors import SourceError
from mlaprobe.sources import Source
from mlaprobe.sources.release_place import ReleasePlace, place_of
from mlaprobe.stages.base import Stage
from mlaprobe.stages.dispatching.dispatcher import Dispatcher
from mlaprobe.stages.environment.kernels import Tables
from mlaprobe.stages.environment.session import SourceSession
from mlaprobe.stages.gluon import Gluon
from mlaprobe.stages.host import Host
from mlaprobe.stages.planner import Planner
from mlaprobe.stages.reducer import Reducer
from mlaprobe.stages.sizing import Sizing

S = TypeVar("S", bound="OpenedStages")
ORDER = (
    *(StageName.PLANNER, StageName.SIZING, StageName.DISPATCHER, StageName.HOST),
    *(StageName.TABLE, StageName.REDUCER, StageName.GLUON),
)
"""The order in which the stages of a source are listed."""


class OpenedStages:
    """The stages that a source has."""

    def __init__(self, source: Source, elsewhere: SetElsewhere | None = None) -> None:
        self.source = source
        self.session = SourceSession(source, elsewhere)
        self._lacking = Lacking()
        with self.session.exclusive:
            try:
                self._open_stages()
            except RecursionError:
                raise SourceError(
                    f"{source.label} is nested too deeply to be read from here",
                    hint="open it where less of the stack is in use",
                ) from None
        if not self.stages:
            raise SourceError(
                f"{source.label} has no stage of AITER's MLA decode",
                hint="name a complete AITER checkout, wheel or REPO@REV",
            )

    def _open_stages(self) -> None:
        session, opened = self.session, self._lacking.opened
        self.tables = Tables(session)
        self.planner = opened(StageName.PLANNER, lambda: Planner(session))
        self.sizing = opened(StageName.SIZING, lambda: Sizing(session))
        self.dispatcher = opened(StageName.DISPATCHER, lambda: Dispatcher(session))
        self.host = opened(StageName.HOST, lambda: Host(session, self.tables))
        self.reducer = opened(StageName.REDUCER, lambda: Reducer(session))
        self.gluon = opened(StageName.GLUON, lambda: Gluon(session))

    @property
    def stages(self) -> tuple[Stage[Any, Any], ...]:
        """The stages that the source has."""
        stages = (self.planner, self.sizing, self.dispatcher, self.host, self.reducer, self.gluon)
        return tuple(stage for stage in stages if stage is not None)

    @property
    def release(self) -> str | None:
        """The release of the source, where that is known."""
        return self.source.release

    @cached_property
    def archs(self) -> tuple[str, ...]:
        """The archs that the source ships MLA kernels for."""
        return tuple(filter(is_arch, self.tables.archs))

    @property
    def stage_status(self) -> tuple[tuple[str, str, str], ...]:
        """(stage, ``present`` or ``absent``, a remark)."""
        rows: list[tuple[str, str, str]] = []
        tables = self.tables.modules
        table = ", ".join(tables) if tables else "kernels are named in the host code"
        for name in ORDER:
            is_table = name == StageName.TABLE
            there = bool(tables) if is_table else name not in self._lacking.reasons
            text = table if is_table else self._lacking.reasons.get(name, "")
            rows.append((name, Status.PRESENT if there else Status.ABSENT, text))
        return tuple(rows)

    @property
    def knobs(self) -> tuple[str, ...]:
        """Environment variables that the deciding code has read so far."""
        return self.session.knobs

    def knobs_read(self, shape: DecodeShape) -> frozenset[str] | None:
        """Those that may have been read for a shape that has been decided: on its arch, with its
        environment. Any other changes nothing of its answer."""
        return self.session.knobs_in((shape.arch, shape.env))

    def has_route(self, route: Route) -> bool:
        """Whether the source has a route at all."""
        return self.gluon is not None if route is Route.GLUON else self.dispatcher is not None

    def source_text(self, file: str) -> str | None:
        """The text of a file of the source."""
        return self.session.text(file)

    def nearest_rows(
        self, arch: str, key: tuple[tuple[str, Any], ...], limit: int = 3
    ) -> tuple[tuple[str, str, int, tuple[str, ...]], ...]:
        """Rows of the kernel table that come closest to a key: (text, file, line, columns that
        differ)."""
        wanted = {k: v for k, v in key if isinstance(v, (int, str))}
        for table in self.tables.modules.values():
            if set(wanted) <= set(table.columns):
                near = table.nearest(arch, wanted, limit)
                return tuple((n.row.text, n.row.file, n.row.line, n.differs) for n in near)
        return ()

    @cached_property
    def place(self) -> ReleasePlace:
        """The release that errata are looked up for, also where the source is none."""
        return place_of(self.source)

    @cached_property
    def erratum_release(self) -> str | None:
        """The source's own release, or the one with the same files."""
        return None if self.place.how else self.place.release

    @property
    def has_tables(self) -> bool:
        """Whether the source has a kernel table."""
        return bool(self.tables.modules)

    def takes(self, role: str) -> bool:
        """Whether the dispatcher has a parameter of that meaning."""
        return self.dispatcher is not None and self.dispatcher.takes(role)

    def planner_takes(self, role: str) -> bool:
        """Whether the planner has a parameter of that meaning, or a map that may hold it."""
        planner = self.planner
        return planner is not None and (planner.takes(role) or planner.takes("options"))

    def close(self) -> None:
        """Let go of the source."""
        self.source.close()

    def __enter__(self: S) -> S:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
