"""What emulated launches show of the very files that a decision would launch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mlaprobe.core.enums import Standing
from mlaprobe.core.shape import Decision, DecodeShape, Kernel, StageName, Verdict
from mlaprobe.rulefiles.outcomes import KernelRecord, KernelRun, record_of

_WORST = list(Standing)


@dataclass(frozen=True, slots=True, kw_only=True)
class Emulation:
    """The emulated launches of one kernel of a decision."""

    kernel: Kernel
    record: KernelRecord | None
    """``None``: the file was never emulated, or is not at hand."""
    page_size: int
    """The decision's."""
    alike: tuple[KernelRun, ...]
    """Launches like the decision's, with a small cache and as many splits as AITER chooses."""
    otherwise: tuple[KernelRun, ...]
    """Launches like it but for the number of splits, the page size, the size of the cache or the
    scales. Nothing is like a folded launch: none was emulated, and whether all its tensors fit the
    fold is not the kernel's doing."""

    @property
    def outcome(self) -> Standing | None:
        """The worst outcome of a launch like the decision's; ``None`` where none was emulated."""
        return worst(self.alike)


def worst(runs: Iterable[KernelRun]) -> Standing | None:
    """The worst outcome of some launches; ``None`` of none."""
    return min((run.outcome for run in runs), key=_WORST.index, default=None)


def emulations(decision: Decision) -> tuple[Emulation, ...]:
    """What is known of each kernel that a decision would launch; nothing where it launches none.

    Raises:
        RuleError: the rules cannot be read.
    """
    if not (decision.verdict.runs or decision.verdict is Verdict.ERRATUM):
        return ()
    return tuple(_emulation(kernel, decision) for kernel in decision.kernels)


def _emulation(kernel: Kernel, decision: Decision) -> Emulation:
    record = None if kernel.blob is None else record_of(kernel.blob)
    folded = decision.fold > 1 or decision.qlen_fold > 1
    runs = () if record is None or folded else record.runs
    launch, page_size = _launch(decision), decision.shape.page_size
    same = [run for run in runs if run.launch == launch]
    alike = [run for run in same if _is_plain(run) and run.page_size == page_size]
    return Emulation(
        kernel=kernel,
        record=record,
        page_size=page_size,
        alike=tuple(alike),
        otherwise=tuple(run for run in same if run not in alike),
    )


def _is_plain(run: KernelRun) -> bool:
    return run.kv_splits is None and not run.kv_cache_bytes and run.scales == (1.0, 1.0)


def _launch(decision: Decision) -> tuple[object, ...]:
    """What the kernel is launched with, as ``KernelRun.launch`` has it."""
    shape = decision.shape
    dispatcher = decision.outcome(StageName.DISPATCHER)
    downgraded = dispatcher is not None and dispatcher.persistent is False
    return (
        *(shape.dtype, shape.num_heads, shape.qlen, shape.lse),
        shape.persistent and not downgraded,
        shape.causal or shape.qlen == 1,
        shape.cp_round_robin,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Shapes of a survey whose kernel was not right where it was emulated."""

    kernel: Kernel
    outcome: Standing
    text: str
    shapes: tuple[DecodeShape, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """What emulation shows of the kernels behind many decisions."""

    kernels: int
    """Files that are launched."""
    right: int
    """Of them, those that were right wherever a launch like one of the decisions was emulated."""
    not_run: int
    """Of them, those of which no such launch was emulated."""
    faults: tuple[Fault, ...]
    """The worst first."""


def overview(decisions: Iterable[Decision]) -> Overview:
    """What emulation shows of the kernels behind some decisions that run."""
    seen: dict[str, list[Standing]] = {}
    faults: dict[tuple[str, Standing], tuple[Kernel, str, list[DecodeShape]]] = {}
    for decision in decisions:
        for found in emulations(decision) if decision.verdict.runs else ():
            outcomes = seen.setdefault(found.kernel.blob or found.kernel.co, [])
            outcome = found.outcome
            if outcome is None:
                continue
            outcomes.append(outcome)
            if outcome is not Standing.PASSED:
                text = next(run.text for run in found.alike if run.outcome is outcome)
                key = found.kernel.blob or "", outcome
                faults.setdefault(key, (found.kernel, text, []))[2].append(decision.shape)
    return Overview(
        kernels=len(seen),
        right=sum(set(each) == {Standing.PASSED} for each in seen.values()),
        not_run=sum(not each for each in seen.values()),
        faults=tuple(_sorted(faults)),
    )


def _sorted(
    faults: dict[tuple[str, Standing], tuple[Kernel, str, list[DecodeShape]]],
) -> Iterator[Fault]:
    for (_, outcome), (kernel, text, shapes) in sorted(
        faults.items(), key=lambda item: _WORST.index(item[0][1])
    ):
        yield Fault(kernel=kernel, outcome=outcome, text=text, shapes=tuple(shapes))
