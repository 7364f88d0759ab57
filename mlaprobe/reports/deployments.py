"""What deployments of models would launch on a source, the troubled ones first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from mlaprobe.core.shape import DecodeShape, Dtype, Route, Verdict
from mlaprobe.padding.api import bare_plan
from mlaprobe.padding.lanes import Evaluation
from mlaprobe.padding.plan import Mode, PadPlan
from mlaprobe.padding.resolver import Decider
from mlaprobe.rulefiles.models import Deployment

DtypePair = tuple[Dtype, Dtype]


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
        """What sorts the troubled first: what fails, what cannot be told, what folds most."""
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
    batch: int | None = None,
    kv_len: int | None = None,
    env: tuple[tuple[str, str], ...] = (),
    step: Callable[[], None] = lambda: None,
) -> tuple[Assessment, ...]:
    """Every deployment on every arch with every pair of dtypes: those that break first, then
    those that fold most.

    Args:
        step: called after each.
    """

    def each() -> Iterator[Assessment]:
        for deployment in kept:
            for arch in archs:
                for q_dtype, kv_dtype in dtypes:
                    yield _assess(deployment, arch, q_dtype, kv_dtype)
                    step()

    def _assess(deployment: Deployment, arch: str, q_dtype: Dtype, kv_dtype: Dtype) -> Assessment:
        launch = (deployment.num_heads, deployment.qlens, deployment.lse)
        key = (launch, arch, q_dtype, kv_dtype)
        plans = known.get(key)
        if plans is None:
            plans = known[key] = _plans(launch, arch, q_dtype, kv_dtype)
        own, as_is, padded = plans
        return Assessment(deployment=deployment, own=own, as_is=as_is, padded=padded)

    def _plans(
        launch: tuple[int, tuple[int, ...], bool], arch: str, q_dtype: Dtype, kv_dtype: Dtype
    ) -> tuple[Evaluation, PadPlan, PadPlan]:
        as_is, padded = (
            bare_plan(
                capability,
                num_heads=launch[0],
                arch=arch,
                q_dtype=q_dtype,
                kv_dtype=kv_dtype,
                qlens=launch[1],
                lse=launch[2],
                mode=mode,
                page_size=page_size,
                batch=batch,
                kv_len=kv_len,
                env=env,
            )
            for mode in (Mode.OFF, Mode.AUTO)
        )
        return _own(launch, arch, q_dtype, kv_dtype), as_is, padded

    def _own(
        launch: tuple[int, tuple[int, ...], bool], arch: str, q_dtype: Dtype, kv_dtype: Dtype
    ) -> Evaluation:
        count, qlens, lse = launch
        shapes = (
            DecodeShape(
                arch=arch,
                q_dtype=q_dtype,
                kv_dtype=kv_dtype,
                num_heads=count,
                qlen=qlen,
                lse=lse,
                batch=batch,
                page_size=page_size,
                env=env,
            )
            for qlen in qlens
        )
        decisions = tuple(map(capability.decide, shapes))
        return Evaluation(
            num_heads=count, route=Route.ASM, persistent=True, decisions=decisions, cost=None
        )

    # Many deployments launch the same.
    known: dict[tuple[object, ...], tuple[Evaluation, PadPlan, PadPlan]] = {}
    kept, archs, dtypes = tuple(deployments), tuple(archs), tuple(dtypes)
    return tuple(sorted(each(), key=lambda found: found.trouble))
