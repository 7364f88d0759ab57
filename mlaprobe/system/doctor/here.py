"""This machine, mlaprobe's own parts, and the releases that it brings along."""

from __future__ import annotations

import importlib
import shutil
from collections import Counter
from collections.abc import Iterator

from mlaprobe.core.releases import distribution_version
from mlaprobe.errors import RuleError
from mlaprobe.opening import bundled
from mlaprobe.rulefiles.loader import rules_dir
from mlaprobe.system.doctor.model import Check, Severity
from mlaprobe.system.machine import Machine, python

MLAPROBE, GIT, BUNDLED, GPU, ROCM = "mlaprobe", "git", "releases", "GPU", "ROCm"
TORCH, TRITON = "PyTorch", "Triton"
PARSERS = ("tree-sitter", "tree-sitter-cuda")


def tool_checks() -> Iterator[Check]:
    """mlaprobe itself, the parsers that it reads C++ with, and git."""
    versions = {name: distribution_version(name) for name in PARSERS}
    broken = _broken_parser()
    yield Check(
        topic=MLAPROBE,
        severity=Severity.FAULT if broken else Severity.OK,
        found=f"{distribution_version(MLAPROBE) or 'not installed,'} on Python {python()}"
        + (f"; its C++ parser does not load: {broken}" if broken else ""),
        how=f"rules in {rules_dir()}",
        more=tuple(f"{name} {version or 'not installed'}" for name, version in versions.items()),
        advice="install mlaprobe again, in a fresh environment" if broken else "",
        detail={"version": distribution_version(MLAPROBE), "python": python(), **versions},
    )
    git = shutil.which("git")
    yield Check(
        topic=GIT,
        severity=Severity.OK if git else Severity.NOTE,
        found="found" if git else "there is none",
        how=git or "",
        advice="" if git else "install git to read REPO@REV; other sources need none",
        detail={"path": git},
    )


def _broken_parser() -> str:
    """Why the C++ parser does not load; empty where it does."""
    try:
        importlib.import_module("mlaprobe.evaluator.cpp.tree")
        importlib.import_module("tree_sitter_cuda").language()
    except (ImportError, OSError, AttributeError, ValueError) as error:
        return str(error) or type(error).__name__
    return ""


def bundled_check() -> Check:
    """The bundled releases."""
    try:
        index = bundled.index()
    except RuleError as error:
        return Check(
            topic=BUNDLED,
            severity=Severity.WARNING,
            found=error.message,
            how=error.file or "",
            advice=error.hint or "",
        )
    if not index:
        return Check(
            topic=BUNDLED,
            severity=Severity.NOTE,
            found="no releases are bundled with this mlaprobe",
            advice="in a checkout, make releases writes them",
        )
    names = tuple(index)
    lost = [name for name, file in index.items() if not (bundled.folder() / file).is_file()]
    return Check(
        topic=BUNDLED,
        severity=Severity.WARNING if lost else Severity.OK,
        found=f"{len(names)} releases are bundled, {names[0]} to {names[-1]}"
        + (f"; {len(lost)} of their files are gone" if lost else ""),
        how=str(bundled.folder()),
        advice="install mlaprobe again" if lost else "",
        detail={"releases": list(names), "missing": lost},
    )


def machine_checks(machine: Machine, known: tuple[str, ...]) -> Iterator[Check]:
    """GPU, ROCm, PyTorch and Triton.

    Args:
        known: the archs that AITER names.
    """
    yield gpu_check(machine, known)
    here = bool(machine.gpus.archs) or machine.device_there
    yield rocm_check(machine, here)
    yield torch_check(machine, here)
    yield triton_check(machine)


def gpu_check(machine: Machine, known: tuple[str, ...]) -> Check:
    """The GPUs of AMD, whether AITER names their arch and this user may use them."""
    archs = machine.gpus.archs
    detail = {"archs": list(archs), "usable": machine.device_usable, "nvidia": machine.nvidia}
    if not archs:
        return Check(
            topic=GPU,
            severity=Severity.NOTE,
            found="no GPU of AMD is here"
            + ("; the driver of an NVIDIA GPU is loaded" if machine.nvidia else ""),
            how="neither the kernel driver, rocminfo nor PyTorch for ROCm knows of one",
            advice=f"name the arch: --arch {known[-1]}" if known else "name the arch with --arch",
            detail=detail,
        )
    foreign = [arch for arch in dict.fromkeys(archs) if known and arch not in known]
    advice = []
    if foreign:
        advice.append(
            f"this AITER has no MLA kernels for {', '.join(foreign)}: it names {', '.join(known)}"
        )
    if not machine.device_usable:
        advice.append(
            "programs cannot open /dev/kfd: join the groups video and render, or give the "
            "container --device /dev/kfd --device /dev/dri; reading AITER does not need it"
        )
    if len(set(archs)) > 1:
        advice.append("there are several archs here: name one with --arch")
    return Check(
        topic=GPU,
        severity=Severity.WARNING if foreign or not machine.device_usable else Severity.OK,
        found=", ".join(f"{count} x {arch}" for arch, count in Counter(archs).items()),
        how=machine.gpus.how,
        advice="; ".join(advice),
        detail=detail,
    )


def rocm_check(machine: Machine, needed: bool) -> Check:
    """ROCm."""
    rocm = machine.rocm
    if rocm is None:
        advice = "reading AITER does not need it; running it does" if needed else ""
        severity = Severity.WARNING if needed else Severity.NOTE
        return Check(topic=ROCM, severity=severity, found="there is none", advice=advice)
    return Check(
        topic=ROCM,
        severity=Severity.OK,
        found=rocm.version or "of an unknown version",
        how=rocm.how,
        detail={"version": rocm.version},
    )


def torch_check(machine: Machine, needed: bool) -> Check:
    """PyTorch: only padding tensors and running a decode need it."""
    torch = machine.torch
    if torch is None:
        advice = "reading AITER does not need it; padding tensors and mlaprobe decode do"
        return Check(topic=TORCH, severity=Severity.NOTE, found="not installed", advice=advice)
    wrong = needed and not torch.for_rocm
    builds = ", ".join(f"{name} {version}" for name, version in torch.builds)
    return Check(
        topic=TORCH,
        severity=Severity.WARNING if wrong else Severity.OK,
        found=f"{torch.version}, built for {builds or 'the CPU'}",
        how=torch.how,
        advice="install PyTorch for ROCm: this build does not see the GPU" if wrong else "",
        detail={"version": torch.version, "builds": dict(torch.builds)},
    )


def triton_check(machine: Machine) -> Check:
    """Triton: AITER's merge without work metadata, its gluon route, and mlaprobe's stand-in."""
    found = ", ".join(f"{name} {version}" for name, version in machine.triton)
    return Check(
        topic=TRITON,
        severity=Severity.OK if found else Severity.NOTE,
        found=found or "not installed",
        advice="" if found else "reading AITER does not need it; mlaprobe decode on a GPU does",
        detail=dict(machine.triton),
    )
