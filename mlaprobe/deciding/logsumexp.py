"""Whether a log-sum-exp that a launch returns was written by anybody.

Where the dispatcher hands it to the entry point alone, the kernel writes it or nobody does. A
kernel is taken to write it where the launch without it gets another kernel: then there is one for
each.
"""

from __future__ import annotations

from mlaprobe.core.enums import StageName, Status, Unwritten, Verdict
from mlaprobe.core.launch import Launch
from mlaprobe.core.shape import Decision, DecodeShape, StageOutcome, altered

ONE = "with one KV split"


def judged(decision: Decision, launch: Launch, without: StageOutcome) -> Decision:
    """The decision on a shape whose caller needs the log-sum-exp.

    Args:
        decision: what it is otherwise.
        launch: what the dispatcher does.
        without: what the host answers where no log-sum-exp is wanted.
    """
    host = decision.outcome(StageName.HOST)
    if host is None or host.status != Status.KERNEL or _has_its_own(host, without):
        return decision
    splits = decision.shape.num_kv_splits
    if launch.unwritten_lse is Unwritten.ALWAYS or splits == 1:
        how = "" if splits is None else f"{ONE} " if splits == 1 else f"with {splits} KV splits "
        return altered(
            decision,
            verdict=Verdict.ERRATUM,
            stage=StageName.DISPATCHER,
            message=f"{how}the log-sum-exp that is returned was never written: {_WHY}",
        )
    return altered(decision, notes=(*decision.notes, _hazard(decision.shape)))


def loses_it(decision: Decision) -> bool:
    """Whether a decision that runs has the note of a log-sum-exp that one KV split loses."""
    return any(note.startswith(ONE) for note in decision.notes)


_WHY = "no merge gets it, and the kernel is the one that is launched where no log-sum-exp is wanted"


def _hazard(shape: DecodeShape) -> str:
    """The note where AITER may come to one split."""
    who = "AITER may choose" if shape.num_kv_splits is None else "short KV may bring down to"
    return f"{ONE}, which {who}, the log-sum-exp that is returned was never written: {_WHY}"


def _has_its_own(host: StageOutcome, without: StageOutcome) -> bool:
    """Whether the kernel is another one than without the log-sum-exp, for all that is known."""
    return without.status != Status.UNKNOWN and without.kernels != host.kernels
