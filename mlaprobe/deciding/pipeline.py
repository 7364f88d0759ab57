"""The calls of one MLA decode in their order, for live sources and snapshots.

Both answer stage by stage; which stages are needed in which case, and the verdict on their answers,
is the same for both and stands here. What the dispatcher passes is what the host gets, and what the
planner folded is what the dispatcher must have folded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol, TypeVar

from mlaprobe.core.enums import Unwritten
from mlaprobe.core.launch import Launch
from mlaprobe.core.shape import (
    Decision,
    DecodeShape,
    Route,
    StageName,
    StageOutcome,
    Status,
    Verdict,
    altered,
)
from mlaprobe.deciding import logsumexp
from mlaprobe.deciding.compose import absent, compose
from mlaprobe.rulefiles.archs import lds_limit

TABLE = StageName.TABLE
L = TypeVar("L", bound=Launch)


class Links(Protocol[L]):
    """The stages of one source, as the chain needs them."""

    @property
    def has_tables(self) -> bool:
        """Whether the source has a kernel table."""

    def takes(self, role: str) -> bool:
        """Whether the dispatcher has a parameter of that meaning."""

    def planner_takes(self, role: str) -> bool:
        """Whether the planner has a parameter of that meaning."""

    def ask(self, stage: str, shape: DecodeShape) -> StageOutcome:
        """One stage alone; host and gluon route answer for the shape itself."""

    def launch(self, shape: DecodeShape) -> L: ...

    def called(self, shape: DecodeShape, launch: L) -> StageOutcome:
        """The host, with what the dispatcher passes it."""

    def reduced(self, shape: DecodeShape, launch: L) -> StageOutcome:
        """The reducer, with what the dispatcher passes it."""


def judge(links: Links[L], shape: DecodeShape) -> Decision:
    """The decision on a shape, errata apart."""
    if shape.route is Route.GLUON:
        return _by_gluon(shape, links.ask(StageName.GLUON, shape))
    launch = links.launch(shape)
    stages: list[tuple[str, StageOutcome]] = []
    if shape.persistent:
        stages.append((StageName.SIZING, links.ask(StageName.SIZING, shape)))
        stages.append((StageName.PLANNER, links.ask(StageName.PLANNER, shape)))
    stages.append((StageName.DISPATCHER, launch.outcome))
    stages.extend(_downstream(links, shape, launch))
    found = compose(
        shape,
        tuple(stages),
        missing_entry=launch.missing,
        fails_after=launch.fails_after,
        misfit=launch.misfit,
        notes=tuple(_notes(links, shape, launch)),
    )
    unwritten = shape.lse and launch.unwritten_lse is not Unwritten.NEVER
    if not (unwritten and found.verdict.runs and launch.outcome.entry == "asm"):
        return found
    without = replace(shape, lse=False)
    return logsumexp.judged(found, launch, links.called(without, links.launch(without)))


def _by_gluon(shape: DecodeShape, outcome: StageOutcome) -> Decision:
    verdicts = {
        Status.ACCEPTED: Verdict.NATIVE,
        Status.REJECTED: Verdict.REJECTED,
        Status.ABSENT: Verdict.REJECTED,
    }
    verdict = verdicts.get(outcome.status, Verdict.UNKNOWN)
    return Decision(
        shape=shape,
        verdict=verdict,
        failure=outcome.failure,
        stage=None if verdict is Verdict.NATIVE else StageName.GLUON,
        message=outcome.message,
        stages=((StageName.GLUON, outcome),),
        notes=outcome.notes,
    )


def _downstream(
    links: Links[L], shape: DecodeShape, launch: L
) -> Iterator[tuple[str, StageOutcome]]:
    """Host, kernel table and reducer, with what the dispatcher passes them."""
    outcome = launch.outcome
    if outcome.entry not in (None, "asm"):
        yield from not_evaluated(outcome.entry)
    else:
        # Where nothing is launched, the stages beyond answer for the shape itself.
        launched = outcome.entry == "asm"
        host = links.called(shape, launch) if launched else links.ask(StageName.HOST, shape)
        yield StageName.HOST, host
        yield TABLE, table_outcome(host, shape.arch, has_tables=links.has_tables)
    if shape.persistent and (outcome.persistent or outcome.persistent is None):
        yield StageName.REDUCER, links.reduced(shape, launch)


def not_evaluated(entry: str | None) -> Iterator[tuple[str, StageOutcome]]:
    """Host and kernel table of an entry point that has none."""
    why = f"entry {entry}: its own checks are not evaluated"
    yield StageName.HOST, absent(StageName.HOST, why)
    yield TABLE, absent(TABLE, why)


def table_outcome(host: StageOutcome, arch: str, *, has_tables: bool) -> StageOutcome:
    """Whether exactly one kernel with the host's key ships, and can be launched."""
    if not has_tables and host.key is None:
        outcome = absent(TABLE, "kernels are named in the host code")
    elif host.status == Status.UNKNOWN:
        return StageOutcome(stage=TABLE, status=Status.UNKNOWN, message=host.message)
    elif host.status != Status.KERNEL:
        return StageOutcome(stage=TABLE, status=Status.NOT_REACHED, key=host.key)
    else:
        outcome = StageOutcome(stage=TABLE, status=Status.KERNEL, key=host.key)
    if len(host.kernels) > 1:
        symbols = ", ".join(k.symbol for k in host.kernels)
        message = f"{len(host.kernels)} rows have this key: {symbols}"
        return altered(outcome, status=Status.AMBIGUOUS, kernels=host.kernels, message=message)
    for kernel in host.kernels:
        if kernel.co_present is False:
            return altered(outcome, status=Status.NO_FILE, message=f"{kernel.co} is not shipped")
        if kernel.has_symbol is False:
            message = f"{kernel.co} does not define {kernel.symbol}"
            return altered(outcome, status=Status.NO_FILE, message=message)
        limit = lds_limit(arch)
        if kernel.lds is not None and limit is not None and kernel.lds > limit:
            message = f"{kernel.co} takes {kernel.lds} bytes of LDS, and {arch} has {limit}"
            return altered(outcome, status=Status.OVER_LIMIT, message=message)
    return altered(outcome, kernels=host.kernels)


def _notes(links: Links[L], shape: DecodeShape, launch: L) -> Iterator[str]:
    outcome = launch.outcome
    if outcome.entry not in (None, "asm") and not launch.missing:
        yield f"reaches {launch.entry} ({outcome.entry}), whose own checks were not evaluated"
    if outcome.status == Status.PADDED:
        yield (
            f"AITER pads {shape.num_heads} heads to {outcome.final_heads} itself, and reads the KV "
            "cache once; that it cuts the result back was not evaluated"
        )
    if shape.persistent and outcome.persistent is False:
        yield "runs the non-persistent path although work metadata is passed"
    if not shape.causal and not links.takes("causal"):
        yield "causal has no effect in this release: the kernels mask"
    if shape.cp_round_robin and not links.takes("global_indptr"):
        yield "round robin has no effect in this release"
    if shape.persistent:
        for name, role in _MODES:
            if name in shape.planner.overrides and not links.planner_takes(role):
                yield f"the planner's {name} has no effect in this release"


_MODES = (
    *(("fast_mode", "fast"), ("intra_batch_mode", "intra_batch")),
    *(("max_split_per_batch", "split_limit"), ("cp_round_robin", "round_robin")),
)
"""Fields of a planner call that came with some release, and what they mean in layouts.yaml."""
