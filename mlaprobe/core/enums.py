"""The closed sets of names in questions and answers."""

from __future__ import annotations

from enum import Enum


class TextEnum(str, Enum):
    """A set of names whose members equal, hash and print as their text, in every version of
    Python, also as keys and in JSON."""

    # Without a call into Python: members are hashed with every shape.
    __hash__ = str.__hash__

    def __str__(self) -> str:
        return str.__str__(self)


class Verdict(TextEnum):
    """What happens to a shape, all stages composed."""

    NATIVE = "NATIVE"
    FOLDED = "FOLDED"
    NO_KERNEL = "NO_KERNEL"
    NO_REDUCER = "NO_REDUCER"
    AMBIGUOUS = "AMBIGUOUS"
    REJECTED = "REJECTED"
    INCOHERENT = "INCOHERENT"
    ERRATUM = "ERRATUM"
    UNKNOWN = "UNKNOWN"

    @property
    def runs(self) -> bool:
        """Whether the decode runs and its result is the right one."""
        return self in (Verdict.NATIVE, Verdict.FOLDED)


class Failure(TextEnum):
    """How a failing check ends: a Python exception, or the end of the process."""

    EXCEPTION = "exception"
    ABORT = "abort"


class Route(TextEnum):
    """Which implementation a caller uses."""

    ASM = "asm"
    GLUON = "gluon"


class Operation(TextEnum):
    """What a caller wants of AITER; ``rules/operations.yaml`` describes each."""

    DECODE = "decode"
    PREFILL = "prefill"
    SPARSE = "sparse"
    SPARSE_PREFILL = "sparse-prefill"
    SPARSE_PREFILL_OPUS = "sparse-prefill-opus"
    V4 = "v4"
    GLUON = "gluon"
    TRITON = "triton"
    TRITON_PREFILL = "triton-prefill"
    TRITON_SPLIT = "triton-split"
    TRITON_ROPE = "triton-rope"
    TRITON_SPARSE = "triton-sparse"


class Layout(TextEnum):
    """How a caller holds queries, keys and values."""

    LATENT = "latent"
    """Pages of tokens of 576 values, the first 512 of which are the values of all heads."""
    HEADS = "heads"
    """Keys of 192 and values of 128 for each head and token."""
    PACKED = "packed"
    """Pages of tokens of 448 values in fp8 with their scales, and 64 of rope in bf16 beside them:
    512 values that are keys and values of all heads. Every query token sees all of them."""


class StageName(TextEnum):
    """The stages of AITER's MLA decode that decide."""

    SIZING = "sizing"
    PLANNER = "planner"
    DISPATCHER = "dispatcher"
    HOST = "host"
    TABLE = "kernel table"
    REDUCER = "reducer"
    GLUON = "gluon"


class Status(TextEnum):
    """A stage's answer to a question, or its state in a source."""

    UNKNOWN = "unknown"
    ABSENT = "absent"
    """The source has no such stage."""
    PRESENT = "present"
    """The source has the stage."""
    REJECTED = "rejected"
    NATIVE = "native"
    """Of planner and dispatcher: a kernel for that many heads."""
    FOLD = "fold"
    """Of planner and dispatcher: more batches of fewer heads."""
    QLEN_FOLD = "qlen_fold"
    """Of planner and dispatcher: a longer query of fewer heads."""
    PASSTHROUGH = "passthrough"
    """Of the planner: accepted though neither native nor folded."""
    PADDED = "padded"
    """Of the dispatcher: AITER itself launches more heads, and hands back those that were asked
    for."""
    ACCEPTED = "accepted"
    """Of sizing and gluon."""
    KERNEL = "kernel"
    """Of host and kernel table: at least one kernel matches."""
    NO_KERNEL = "no_kernel"
    NOT_REACHED = "not reached"
    """Of the kernel table: the host refuses."""
    AMBIGUOUS = "ambiguous"
    """Of the kernel table: several rows have the key."""
    NO_FILE = "no_file"
    """Of the kernel table: the code object is not there, or lacks the kernel."""
    OVER_LIMIT = "over limit"
    """Of the kernel table: the kernel takes more of the GPU than the arch has, so that it is never
    launched."""
    INSTANTIATED = "instantiated"
    """Of the reducer."""
    MISSING = "missing"
    """Of the reducer."""

    @property
    def taken(self) -> bool:
        """Whether planner or dispatcher accept."""
        return self in TAKEN


TAKEN = frozenset((Status.NATIVE, Status.FOLD, Status.QLEN_FOLD, Status.PASSTHROUGH, Status.PADDED))
"""Statuses of planner and dispatcher that accept."""


class Standing(TextEnum):
    """The outcome of an emulated launch, the worst first."""

    WRONG = "WRONG"
    """The result is not what attention gives."""
    OUTSIDE = "OUTSIDE"
    """The kernel wrote outside its buffers; or its result is right and it read outside."""
    UNWRITTEN = "UNWRITTEN"
    """Part of the result was never written."""
    TIMING = "TIMING"
    """The result is right under the default schedule, not under others as plausible."""
    UNKNOWN = "UNKNOWN"
    """The outcome is not known."""
    REFUSED = "REFUSED"
    """AITER launches nothing."""
    PASSED = "PASSED"
    """The result is right, and nothing else was touched."""


class Unwritten(TextEnum):
    """On which paths of the dispatcher only the entry point gets the returned log-sum-exp, so that
    it is written by the kernel or not at all."""

    NEVER = "never"
    SOMETIMES = "sometimes"
    ALWAYS = "always"
