"""What deployments of models would launch on a source, the failing ones first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import product

from mlaprobe.core.grid import DtypePair
from mlaprobe.core.protocols import Decider
from mlaprobe.core.shape import Route, Verdict
from mlaprobe.padding.api import bare_plan
from mlaprobe.padding.candidates import Evaluation
from mlaprobe.padding.plan import PadPlan
from mlaprobe.padding.request import Mode, Request
from mlaprobe.rulefiles.models import Deployment


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """One deployment on one arch with one pair of dtypes."""

    deployment: Deployment
    own: Evaluation
    """What happens to the head count itself, launched as the model has it, on the asm route."""
    as_is: PadPlan
    """The launch without padding to a native count (mode ``off``)."""
    padded: PadPlan
    """The launch that mode ``auto`` chooses."""

    @property
    def verdict(self) -> Verdict:
        """What happens without padding to a native count."""
        return self.as_is.verdict

    @property
    def fold(self) -> int:
        """How often a step reads the KV cache, at the worst of its query lengths."""
        return max(d.fold * d.qlen_fold for d in self.as_is.decisions)

    @property
    def failure(self) -> str | None:
        """How it fails, where it does."""
        worst = next(d for d in self.as_is.decisions if d.verdict is self.verdict)
        return None if worst.failure is None else worst.failure.value

    @property
    def trouble(self) -> tuple[int, int]:
        """The rank of a deployment: failing, then unknown, then by how often it folds."""
        if self.deployment.model.outside is not None:
            return 0, 0
        if not self.verdict.runs:
            return (2 if self.verdict is Verdict.UNKNOWN else 1), 0
        return 3, -self.fold


def assess(
    capability: Decider,
    deployments: Iterable[Deployment],
    *,
    archs: Iterable[str],
    dtypes: Iterable[DtypePair],
    page_size: int = 1,
    kv_cache_bytes: int | None = None,
    batch: int | None = None,
    kv_len: int | None = None,
    env: tuple[tuple[str, str], ...] = (),
    step: Callable[[], None] = lambda: None,
) -> tuple[Assessment, ...]:
    """Every deployment on every arch with every pair of dtypes, by ``trouble``. ``step`` is called
    after each."""
    known: dict[Request, tuple[Evaluation, PadPlan, PadPlan]] = {}
    """Many deployments launch the same."""
    found = []
    for deployment, arch, (q_dtype, kv_dtype) in product(deployments, archs, dtypes):
        request = Request(
            num_heads=deployment.num_heads,
            arch=arch,
            q_dtype=q_dtype,
            kv_dtype=kv_dtype,
            qlens=deployment.qlens,
            lse=deployment.lse,
            mode=Mode.OFF,
            page_size=page_size,
            kv_cache_bytes=kv_cache_bytes,
            kv_len=kv_len,
            batch=batch,
            env=env,
        )
        if request not in known:
            known[request] = _launches(capability, request)
        own, as_is, padded = known[request]
        found.append(Assessment(deployment=deployment, own=own, as_is=as_is, padded=padded))
        step()
    return tuple(sorted(found, key=lambda each: each.trouble))


def _launches(capability: Decider, request: Request) -> tuple[Evaluation, PadPlan, PadPlan]:
    """What happens to a head count itself, and the plans without and with padding."""
    shapes = [request.shape(request.num_heads, qlen) for qlen in request.qlens]
    own = Evaluation(
        num_heads=request.num_heads,
        route=Route.ASM,
        persistent=True,
        decisions=tuple(map(capability.decide, shapes)),
        cost=None,
    )
    padded = replace(request, mode=Mode.AUTO)
    return own, bare_plan(capability, request), bare_plan(capability, padded)
