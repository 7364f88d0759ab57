"""Looks at everything that an answer of mlaprobe depends on here, and says what to do about it.

Nothing is changed. AITER is not imported, except to ask a query of its own, where it has one: in a
process of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from mlaprobe.core.protocols import Opened
from mlaprobe.errors import SourceError
from mlaprobe.opening.probing import INSTALLED, probe
from mlaprobe.system.doctor.aiter import aiter_check, stranger_checks, unreadable
from mlaprobe.system.doctor.answers import answers_check, knobs_check, sample
from mlaprobe.system.doctor.files import files_check
from mlaprobe.system.doctor.here import bundled_check, machine_checks, tool_checks
from mlaprobe.system.doctor.model import Check, Checkup, Severity
from mlaprobe.system.doctor.query import query_check
from mlaprobe.system.machine import Machine, look

if TYPE_CHECKING:
    from mlaprobe.system.doctor.engine import Served

__all__ = ["Check", "Checkup", "Severity", "checkup"]


def checkup(
    source: str = INSTALLED,
    *,
    environ: Mapping[str, str] | None = None,
    machine: Machine | None = None,
    step: Callable[[], None] = lambda: None,
    served: Served | None = None,
) -> Checkup:
    """All checks of this machine and one AITER.

    Args:
        source: the AITER to look at, as ``probe`` takes it.
        environ: the environment; by default this process's.
        machine: what is known of the machine; by default it is inspected.
        step: called now and then.
        served: what a serving engine is to serve: which AITER it is, and what that comes to, and
            nothing else.
    """
    environ = os.environ if environ is None else environ
    machine = machine or look()
    answers: Opened | None = None
    checks = [] if served is not None else list(tool_checks())
    try:
        answers = probe(source)
    except SourceError as error:
        checks.append(unreadable(source, error))
    if served is not None:
        if answers is not None:
            checks += _served_checks(answers, source, environ, served)
        return Checkup(checks=tuple(checks))
    checks += stranger_checks()
    if answers is not None:
        checks += _source_checks(answers, source, environ, machine, step)
    checks.append(bundled_check())
    checks += machine_checks(machine, () if answers is None else answers.archs)
    return Checkup(checks=tuple(checks))


def _served_checks(
    answers: Opened, spec: str, environ: Mapping[str, str], served: Served
) -> Iterator[Check]:
    from mlaprobe.system.doctor.engine import engine_checks

    yield aiter_check(answers, environ)
    if answers.capability is not None:
        yield from files_check(answers.capability.source, spec)
    yield from engine_checks(answers, served)


def _source_checks(
    answers: Opened,
    spec: str,
    environ: Mapping[str, str],
    machine: Machine,
    step: Callable[[], None],
) -> Iterator[Check]:
    yield aiter_check(answers, environ)
    if answers.capability is not None:
        yield from files_check(answers.capability.source, spec)
    here = tuple(arch for arch in dict.fromkeys(machine.gpus.archs) if arch in answers.archs)
    if not answers.archs:
        return
    grid = sample(here or answers.archs)
    yield answers_check(answers, grid, step)
    yield knobs_check(answers, grid, environ, step)
    torch = machine.torch
    rocm = torch is not None and torch.for_rocm
    yield from query_check(answers, grid[0].archs, rocm=rocm)
