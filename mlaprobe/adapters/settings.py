"""What adapters ask, and for which run: configured once for a process."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from mlaprobe.core.inputs import arch_name, flag
from mlaprobe.core.protocols import Configurable, Decider
from mlaprobe.core.shape import Dtype
from mlaprobe.errors import UsageError
from mlaprobe.padding import api as resolve
from mlaprobe.padding.request import lengths


class NotConfiguredError(UsageError):
    """A decision hangs on something that an engine's call does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What is launched from start to end of a process, where engines ask with less than that."""

    q_dtype: Dtype
    kv_dtype: Dtype
    qlens: tuple[int, ...] = (1,)
    """Every query length that the run can reach."""
    lse: bool = False
    """Whether the log-sum-exp is needed, as under decode context parallelism."""

    @property
    def dtypes(self) -> tuple[Dtype, Dtype]:
        """Of query and cache."""
        return self.q_dtype, self.kv_dtype


@dataclass(frozen=True, slots=True)
class _Settings:
    capability: Decider | None = None
    arch: str | None = None
    run: Run | None = None


# Replaced as a whole: a thread sees one or the other, never half of each.
_now = [_Settings()]


def configure(
    *,
    capability: Decider | None = None,
    arch: str | None = None,
    q_dtype: object = None,
    kv_dtype: object = None,
    qlens: Iterable[int] | int | None = None,
    lse: bool | None = None,
) -> None:
    """Says once what the adapters ask where no capability or arch is passed to them, and what is
    launched, where an engine's own call has the head count only.

    Args:
        capability: ``None``: the installed AITER, and the newest bundled release only where none
            is installed.
        arch: ``None``: that of this machine's GPU.
        q_dtype: of the decode; ``None``: not known, and nothing is padded to a native count.
        kv_dtype: of the cache; ``None``: that of the query.
        qlens: every query length that the run can reach; ``None``: one token.
        lse: whether the log-sum-exp is needed; ``None``: no.

    Raises:
        UsageError: an argument is none of what it may be, or something is said of a decode whose
            ``q_dtype`` is not.
    """
    run = None
    if q_dtype is not None:
        query = Dtype.of(q_dtype)
        run = Run(
            q_dtype=query,
            kv_dtype=Dtype.of_cache(q_dtype if kv_dtype is None else kv_dtype, query),
            qlens=lengths((1,) if qlens is None else qlens),
            lse=lse is not None and flag(lse, "lse"),
        )
    elif (kv_dtype, qlens, lse) != (None, None, None):
        raise UsageError(
            "kv_dtype, qlens and lse would have no effect: q_dtype is not said",
            hint='say it as well: configure(q_dtype="fp8", ...)',
        )
    _now[0] = _Settings(capability, None if arch is None else arch_name(arch), run)


def capability_for(given: Decider | None = None) -> Decider:
    """What to ask: as passed, else as configured, else what is installed.

    Raises:
        SourceError: there is no AITER, or the installed one cannot be read.
    """
    configured = _now[0].capability if given is None else given
    return resolve.default_capability() if configured is None else configured


def arch_for(given: str | None = None) -> str | None:
    """The arch: as passed, else as configured, else that of this machine's GPUs; ``None`` where
    there are none or several kinds."""
    configured = _now[0].arch if given is None else given
    if configured is not None:
        return configured
    from mlaprobe.system.gpu import archs

    found = archs()
    return found[0] if len(found) == 1 else None


def arch_here() -> str:
    """The arch, where there has to be one.

    Raises:
        NotConfiguredError: none is known.
    """
    found = arch_for()
    if found is None:
        raise NotConfiguredError(
            "no single AMD GPU is here, so the arch is not known",
            hint='say it once: configure(arch="gfx950")',
        )
    return found


def configured_run() -> Run | None:
    """What is launched, where that was said."""
    return _now[0].run


def knobs(capability: Decider) -> tuple[tuple[str, str], ...]:
    """The variables that AITER would see, of those that its deciding code reads."""
    names = capability.knobs if isinstance(capability, Configurable) else ()
    return tuple(sorted((name, os.environ[name]) for name in names if name in os.environ))
