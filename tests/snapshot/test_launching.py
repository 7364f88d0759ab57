"""Operations whose functions launch kernels of their own, in a snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from mlaprobe.core.shape import DecodeShape, Dtype, Operation
from mlaprobe.rulefiles.operations import others, recorded
from mlaprobe.snapshot.scope import Scope
from tests.snapshot.test_same_answers import Pair, said, taken
from tests.stages.ask import opened
from tests.trees import launching

SCOPE = Scope(
    archs=("gfx942", "gfx950"), heads=(1, 8, 16, 17, 64, 65, 128), qlens=(1, 2), page_sizes=(1, 64)
)
PAIRS = (("bf16", "bf16"), ("bf16", "fp8"), ("fp8", "fp8"))


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return taken(opened(tmp_path_factory.mktemp("launching"), launching.tree()), SCOPE)


def shapes(op: Operation, *, qlen: bool, persistent: bool) -> Iterator[DecodeShape]:
    """Shapes of the grid."""
    for arch, (q_dtype, kv_dtype), heads, length in product(
        SCOPE.archs, PAIRS, SCOPE.heads, SCOPE.qlens if qlen else (1,)
    ):
        yield DecodeShape(
            arch=arch,
            q_dtype=Dtype(q_dtype),
            kv_dtype=Dtype(kv_dtype),
            num_heads=heads,
            qlen=length,
            op=op,
            persistent=persistent,
        )


@pytest.mark.parametrize(
    ("op", "qlen", "persistent"),
    [
        (Operation.TRITON, True, True),
        (Operation.TRITON_ROPE, False, True),
        (Operation.TRITON_SPARSE, True, True),
        (Operation.SPARSE, True, False),
        (Operation.TRITON_SPLIT, False, True),
        (Operation.GLUON, True, True),
    ],
)
def test_it_answers_as_the_source(pair: Pair, op: Operation, qlen: bool, persistent: bool) -> None:
    capability, snapshot, _ = pair
    verdicts = set()
    for shape in shapes(op, qlen=qlen, persistent=persistent):
        found = snapshot.decide(shape)
        assert said(found) == said(capability.decide(shape)), shape
        verdicts.add(found.verdict)
    assert len(verdicts) > 1 or op is Operation.TRITON_SPLIT


def test_what_a_bundled_snapshot_leaves_to_the_source() -> None:
    everything, bundled = recorded(bundled=False), recorded(bundled=True)
    routes = {entry.key for rule in others() for entry in rule.entries if entry.route}
    assert {e.key for e in everything} - {e.key for e in bundled} == {
        e.key for e in everything if e.launches
    }
    assert routes == {"mla_gluon"}
    assert len({e.key for e in everything}) == len(everything)
