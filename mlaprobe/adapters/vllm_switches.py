"""What the adapter for vLLM reads from its environment, and what it is configured with."""

from __future__ import annotations

import os
from dataclasses import dataclass

from mlaprobe.core.protocols import Configurable, Decider
from mlaprobe.errors import UsageError
from mlaprobe.padding import api as resolve
from mlaprobe.padding.request import Mode

PAD_TO_NATIVE_SHAPE = "VLLM_ROCM_AITER_MLA_PAD_TO_NATIVE_SHAPE"
ASM_PADDING = "VLLM_ROCM_AITER_MLA_ASM_PADDING"


class SwitchError(UsageError, ValueError):
    """An environment variable has a value that it may not have."""


@dataclass(frozen=True, slots=True)
class _Settings:
    capability: Decider | None = None
    arch: str | None = None


# Replaced as a whole: a thread sees one or the other, never half of each.
_now = [_Settings()]


def configure(*, capability: Decider | None = None, arch: str | None = None) -> None:
    """Says once what the functions below ask where no capability or arch is passed to them.

    Args:
        capability: ``None``: the installed AITER, and the newest bundled release only where none
            is installed.
        arch: ``None``: that of this machine's GPU.
    """
    _now[0] = _Settings(capability, arch)


def capability_for(given: Decider | None) -> Decider:
    """What to ask: as passed, else as configured, else what is installed.

    Raises:
        SourceError: there is no AITER, or the installed one cannot be read.
    """
    configured = _now[0].capability if given is None else given
    return resolve.default_capability() if configured is None else configured


def arch_for(given: str | None) -> str | None:
    """The arch: as passed, else as configured, else that of this machine's GPUs; ``None`` where
    there are none or several kinds."""
    configured = _now[0].arch if given is None else given
    if configured is not None:
        return configured
    from mlaprobe.system.gpu import archs

    found = archs()
    return found[0] if len(found) == 1 else None


def knobs(capability: Decider) -> tuple[tuple[str, str], ...]:
    """The variables that AITER would see, of those that its deciding code reads."""
    names = capability.knobs if isinstance(capability, Configurable) else ()
    return tuple(sorted((name, os.environ[name]) for name in names if name in os.environ))


def _switch(name: str, choices: tuple[str, ...], default: str) -> str:
    written = os.environ.get(name, "").strip() or default
    if written.lower() not in choices:
        raise SwitchError(f"{name} is {written!r}", hint=f"set it to one of {', '.join(choices)}")
    return written.lower()


def pad_to_native_mode() -> Mode:
    """How far heads are padded, as the environment says.

    Raises:
        SwitchError: it says something else.
    """
    return Mode(_switch(PAD_TO_NATIVE_SHAPE, ("auto", "off", "force"), "off"))


def small_head_mode() -> str:
    """Which kernel serves fewer than 16 heads, as the environment says: ``auto``, ``gluon`` or
    ``asm``.

    Raises:
        SwitchError: it says something else.
    """
    return _switch(ASM_PADDING, ("auto", "gluon", "asm"), "auto")
