"""Operations whose functions launch kernels of their own, in a snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from mlaprobe.core.shape import DecodeShape, Dtype, Operation, Verdict
from mlaprobe.rulefiles.operations import others, recorded
from mlaprobe.snapshot import OUTSIDE
from mlaprobe.snapshot.scope import Scope
from tests.snapshot.test_same_answers import Pair, said, taken
from tests.stages.ask import opened
from tests.trees import launching
from tests.trees.common import changed

SCOPE = Scope(
    archs=("gfx942", "gfx950"), heads=(1, 8, 16, 17, 64, 65, 128), qlens=(1, 2), page_sizes=(1, 64)
)
MLA = f"{launching.FOLDER}/attention/mla.py"
LINE = "    rows = triton"
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


def test_every_function_is_held_but_routes_of_a_decode(pair: Pair) -> None:
    keys = [entry.key for entry in recorded()]
    assert len(set(keys)) == len(keys)
    routes = {entry.key for rule in others() for entry in rule.entries if entry.route}
    assert routes == {"mla_gluon"}
    assert {entry.key for rule in others() for entry in rule.entries} == {*keys, *routes}
    _, snapshot, _ = pair
    for entry in recorded():
        found = snapshot.decide(next(shapes(entry.op, qlen=False, persistent=entry.mode)))
        assert found.stage != OUTSIDE, entry.key


def with_statement(folder: Path, statement: str) -> Pair:
    """The tree whose decode in Triton has one statement more."""
    tree = changed(launching.tree(), MLA, (LINE, f"    {statement}\n{LINE}"))
    return taken(opened(folder, tree), SCOPE)


def test_an_answer_that_depends_on_the_batch_size(tmp_path: Path) -> None:
    gate = 'assert len(seqused_k) < 65, "a large batch"'
    capability, snapshot, _ = with_statement(tmp_path, gate)
    plain = next(shapes(Operation.TRITON, qlen=True, persistent=True))
    assert said(snapshot.decide(plain)) == said(capability.decide(plain))
    for batch in (1, 64, 65):
        found = snapshot.decide(replace(plain, batch=batch))
        assert (found.verdict, found.stage) == (Verdict.UNKNOWN, OUTSIDE)
        assert "ask the AITER source itself" in (found.message or "")
    refused = replace(plain, num_heads=65, batch=64)
    assert snapshot.decide(refused).verdict is capability.decide(refused).verdict
    other = replace(plain, op=Operation.TRITON_SPARSE, num_heads=16)
    for batch in (1, 64, 65):
        asked = replace(other, batch=batch)
        assert said(snapshot.decide(asked)) == said(capability.decide(asked))


def test_an_answer_that_depends_on_a_variable(tmp_path: Path) -> None:
    knob = 'import os; assert os.environ.get("MY_TILES", "0") == "0", "other tiles"'
    capability, snapshot, _ = with_statement(tmp_path, knob)
    plain = next(shapes(Operation.TRITON, qlen=True, persistent=True))
    asked = replace(plain, env=(("MY_TILES", "1"),))
    assert capability.decide(asked).verdict is Verdict.REJECTED
    assert "MY_TILES" in snapshot.knobs
    found = snapshot.decide(asked)
    assert (found.verdict, found.stage) == (Verdict.UNKNOWN, OUTSIDE)
    assert "MY_TILES set" in (found.message or "")
    assert "ask the AITER source itself" in (found.message or "")
    unread = replace(plain, env=(("MY_TILE", "1"),))
    assert said(snapshot.decide(unread)) == said(capability.decide(unread))
