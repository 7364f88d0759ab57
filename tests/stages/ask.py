"""Trees opened and asked, for the tests of the stages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from mlaprobe.core.shape import Decision, DecodeShape, Dtype, Verdict
from mlaprobe.deciding.capability import Capability
from tests.trees.common import Tree, write

FP8 = ("fp8", "fp8")
BF16 = ("bf16", "bf16")


def opened(root: Path, tree: Tree) -> Capability:
    """The capability of a tree."""
    return Capability.open(str(write(root, tree)))


def shape(
    arch: str, dtypes: tuple[str, str], heads: int, qlen: int = 1, **more: Any
) -> DecodeShape:
    """A question, short."""
    env = tuple(sorted(more.pop("env", {}).items()))
    q, kv = dtypes
    return DecodeShape(
        arch=arch,
        q_dtype=Dtype(q),
        kv_dtype=Dtype(kv),
        num_heads=heads,
        qlen=qlen,
        env=env,
        **more,
    )


def ask(
    capability: Capability,
    arch: str,
    dtypes: tuple[str, str],
    heads: int,
    qlen: int = 1,
    **more: Any,
) -> Decision:
    """What the source alone says of a shape."""
    return capability.judge(shape(arch, dtypes, heads, qlen, **more))


def grid(
    heads: Iterable[int] = (8, 12, 16, 24, 32, 48, 64, 128, 144),
    qlens: Iterable[int] = (1, 2),
) -> Iterator[DecodeShape]:
    """The questions that trees are compared with."""
    for arch in ("gfx942", "gfx950"):
        for dtypes in (FP8, BF16):
            for count in heads:
                for qlen in qlens:
                    for lse in (False, True):
                        yield shape(arch, dtypes, count, qlen, lse=lse)
                    yield shape(arch, dtypes, count, qlen, persistent=False)


Answer = tuple[Any, ...]


def answer(decision: Decision) -> Answer:
    """What counts of a decision: everything but the wording and the places."""
    return (
        decision.verdict.value,
        decision.fold,
        decision.qlen_fold,
        decision.failure,
        decision.stage,
        decision.key,
        tuple(k.symbol for k in decision.kernels),
        tuple((name, outcome.status) for name, outcome in decision.stages),
    )


def answers(capability: Capability, shapes: Iterable[DecodeShape]) -> dict[DecodeShape, Answer]:
    """The answers to many questions."""
    return {s: answer(capability.judge(s)) for s in shapes}


def native(capability: Capability, shapes: Iterable[DecodeShape]) -> set[DecodeShape]:
    """The shapes that are said to run unfolded."""
    return {s for s in shapes if capability.judge(s).verdict is Verdict.NATIVE}
