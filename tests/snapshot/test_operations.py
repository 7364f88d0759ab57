"""Operations besides decode in a snapshot answer as the source does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from mlaprobe.compare.diff import compare
from mlaprobe.core.grid import Grid
from mlaprobe.core.shape import DecodeShape, Dtype, Operation, Verdict
from mlaprobe.deciding.capability import Capability
from mlaprobe.errors import UsageError
from mlaprobe.opening.shortcut import KnownSource
from mlaprobe.snapshot import NOT_TAKEN, OUTSIDE, Snapshot
from mlaprobe.snapshot.file import SEAL, parse
from mlaprobe.snapshot.making import make, sealed
from mlaprobe.snapshot.operations import OPERATIONS
from mlaprobe.snapshot.scope import Scope
from tests.snapshot.test_same_answers import Pair, said, taken
from tests.stages.ask import opened
from tests.trees import prefill, today
from tests.trees.common import changed

SCOPE = Scope(
    archs=("gfx942", "gfx950"),
    heads=(1, 8, 16, 17, 64, 112, 113, 128),
    qlens=(1, 2, 5),
    page_sizes=(1, 64),
)
PAIRS = tuple((Dtype(q), Dtype(kv)) for q, kv in (("bf16", "bf16"), ("fp8", "fp8")))


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair:
    return taken(opened(tmp_path_factory.mktemp("prefill"), prefill.tree()), SCOPE)


def shapes(qlens: tuple[int, ...]) -> Iterator[DecodeShape]:
    """Every prefill of the grid, at some query lengths and batch sizes."""
    for arch, (q_dtype, kv_dtype), heads, qlen, persistent, usual, batch in product(
        SCOPE.archs, PAIRS, SCOPE.heads, qlens, (False, True), (False, True), (None, 3)
    ):
        flags = {"causal": usual} if persistent else {"page_size": 1 if usual else 64}
        yield DecodeShape(
            arch=arch,
            q_dtype=q_dtype,
            kv_dtype=kv_dtype,
            num_heads=heads,
            qlen=qlen,
            batch=batch,
            op=Operation.PREFILL,
            persistent=persistent,
            **flags,
        )


def test_it_answers_as_the_source_at_any_query_length(pair: Pair) -> None:
    capability, snapshot, _ = pair
    verdicts = set()
    for shape in shapes((1, 5, 7, 4096)):
        expected = capability.decide(shape)
        assert said(snapshot.decide(shape)) == said(expected), shape
        verdicts.add(expected.verdict)
    assert {Verdict.NATIVE, Verdict.NO_REDUCER, Verdict.NO_KERNEL, Verdict.REJECTED} <= verdicts
    assert Verdict.UNKNOWN not in verdicts


def test_evidence_is_of_the_same_clauses(pair: Pair) -> None:
    capability, snapshot, _ = pair
    for shape in shapes((1,)):
        found, expected = snapshot.decide(shape).evidence, capability.decide(shape).evidence
        assert {(e.file, e.line) for e in found} == {(e.file, e.line) for e in expected}, shape


def test_what_it_does_not_hold(pair: Pair) -> None:
    _, snapshot, _ = pair
    whole = DecodeShape(
        arch="gfx950",
        q_dtype=Dtype.FP8,
        kv_dtype=Dtype.FP8,
        num_heads=16,
        op=Operation.PREFILL,
        num_kv_heads=16,
    )
    assert snapshot.decide(whole).verdict is Verdict.NATIVE  # as many as usual
    shared = DecodeShape(
        arch="gfx950",
        q_dtype=Dtype.FP8,
        kv_dtype=Dtype.FP8,
        num_heads=16,
        op=Operation.PREFILL,
        num_kv_heads=2,
    )
    found = snapshot.decide(shared)
    assert (found.verdict, found.stage) == (Verdict.UNKNOWN, OUTSIDE)
    with pytest.raises(UsageError, match="has no use for --lse"):
        snapshot.decide(
            DecodeShape(
                arch="gfx950",
                q_dtype=Dtype.FP8,
                kv_dtype=Dtype.FP8,
                num_heads=16,
                op=Operation.PREFILL,
                lse=True,
            )
        )


@pytest.mark.parametrize("kv_heads", [None, 1])
@pytest.mark.parametrize("batch", [None, 3])
def test_many_head_counts_at_once(pair: Pair, kv_heads: int | None, batch: int | None) -> None:
    """Whatever else is asked, held or not, each is answered as it is alone."""
    capability, snapshot, _ = pair
    known, heads = KnownSource(capability.source, snapshot), [112, 3, 16, 1, 128]
    for qlen, persistent in product((1, 5, 4096), (False, True)):
        setting = DecodeShape(
            arch="gfx950",
            q_dtype=Dtype.FP8,
            kv_dtype=Dtype.FP8,
            num_heads=1,
            qlen=qlen,
            batch=batch,
            num_kv_heads=kv_heads,
            op=Operation.PREFILL,
            persistent=persistent,
        )
        counted = [replace(setting, num_heads=count) for count in heads]
        expected = [capability.decide(shape).verdict for shape in counted]
        assert capability.verdicts(setting, heads) == expected
        assert known.verdicts(setting, heads) == expected
        held = [snapshot.decide(shape).verdict for shape in counted]
        assert snapshot.verdicts(setting, heads) == held
        assert snapshot.verdicts(setting, []) == []


def test_a_function_that_looks_at_the_query_length(tmp_path: Path) -> None:
    """Then only the lengths of the grid are held."""
    tree = changed(
        prefill.tree(),
        today.DISPATCHER,
        (
            "    rows, nhead, v_head_dim = o.shape\n    logits = o.view",
            "    rows, nhead, v_head_dim = o.shape\n"
            '    assert max_seqlen_q * nhead < 64, f"{max_seqlen_q=} is too long for {nhead=}"\n'
            "    logits = o.view",
        ),
    )
    capability, snapshot, _ = taken(opened(tmp_path, tree), SCOPE)
    for shape in shapes((1, 2, 5)):
        assert said(snapshot.decide(shape)) == said(capability.decide(shape)), shape
    for shape in shapes((7,)):
        outside = snapshot.decide(shape).stage == OUTSIDE
        assert outside is not shape.persistent, shape


def test_a_source_without_the_functions(tmp_path: Path) -> None:
    capability, snapshot, _ = taken(opened(tmp_path, today.tree()), SCOPE)
    for shape in shapes((1,)):
        assert said(snapshot.decide(shape)) == said(capability.decide(shape)), shape


def test_a_snapshot_without_operations_says_so(tmp_path: Path) -> None:
    capability = Capability.open(str(opened(tmp_path, prefill.tree()).source.location))
    text = make(capability, scope=SCOPE)
    data = json.loads(text)
    body, _, _ = text.rpartition(SEAL)
    start = body.index(f',\n"{OPERATIONS}":')
    rest = body.index(',\n"files":')
    assert json.loads("{" + body[start + 2 : rest] + "}") == {OPERATIONS: data[OPERATIONS]}
    old = sealed(body[:start] + body[rest:] + "\n}")
    snapshot = Snapshot(parse(old.encode(), "old"), label="old")
    found = snapshot.decide(next(shapes((1,))))
    assert (found.verdict, found.stage) == (Verdict.UNKNOWN, OUTSIDE)
    assert "the operation prefill" in (found.message or "")
    grid = Grid(archs=("gfx950",), dtypes=PAIRS[1:], heads=(16,), op=Operation.PREFILL)
    (change,) = compare(snapshot, capability, [grid]).changes
    assert change.words.startswith("unknown (the operation prefill by mla_prefill_ps_fwd (it was ")
    assert change.words.endswith(f"{NOT_TAKEN})) -> native")
    decode = DecodeShape(arch="gfx950", q_dtype=Dtype.FP8, kv_dtype=Dtype.FP8, num_heads=16)
    assert snapshot.decide(decode).verdict is Verdict.NATIVE
