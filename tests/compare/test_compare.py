"""What two trees do differently, and what makes no difference."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mlaprobe.compare.diff import Change, Kind, compare, kind_of
from mlaprobe.compare.scope import compare_served, standard_grids
from mlaprobe.compare.sides import pad
from mlaprobe.core.behaviour import Behaviour
from mlaprobe.core.grid import Grid
from mlaprobe.core.shape import DecodeShape, Dtype, Failure, PlannerCall, Verdict
from mlaprobe.deciding.capability import Capability
from mlaprobe.rulefiles.serving import Serving
from tests.findings.pairs import fold_32
from tests.padding.fake import Fake
from tests.trees import today
from tests.trees.common import Row, Tree, changed, code_object, tables, write

FP8, BF16 = Dtype.FP8, Dtype.BF16
GRID = Grid(
    archs=("gfx942", "gfx950"),
    dtypes=((BF16, BF16), (FP8, FP8)),
    heads=(8, 16, 24, 32, 48, 64, 96, 128),
    qlens=(1, 2),
    lse=(False, True),
    persistent=(True, False),
)
NATIVE = Behaviour(verdict=Verdict.NATIVE, kernels=("k",))
OLD_FILE = replace(NATIVE, files=("a" * 40,))


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Capability:
    return Capability.open(str(write(tmp_path_factory.mktemp("old"), today.tree())))


def changes(old: Capability, root: Path, tree: Tree, grid: Grid = GRID) -> tuple[Change, ...]:
    return compare(old, Capability.open(str(write(root, tree))), (grid,)).changes


def test_a_fold_that_was_native(old: Capability, tmp_path: Path) -> None:
    slower = [c for c in changes(old, tmp_path, fold_32()) if c.kind is Kind.SLOWER]
    assert [c.message for c in slower] == [
        "gfx950 fp8/fp8, 32 heads, qlen 1-2, without LSE: native -> fold 2"
    ]
    (change,) = slower
    assert (change.witness.num_heads, change.witness.qlen, change.witness.lse) == (32, 1, False)
    assert change.old_clause is not None
    assert change.new_clause is not None
    assert change.old_clause.file == change.new_clause.file == today.PLANNER
    assert "num_heads == 32" in change.old_clause.text
    assert change.pad is not None
    assert (change.pad.old, change.pad.new) == (32, 64)


REFORMATTED = [
    # Another name, other spacing, comments, code that is compiled away.
    (("natively_supported", "taken_as_it_is"), ("num_heads      = 16;", "num_heads=16; // tile")),
    (
        (
            "    int32_t num_batches    =",
            "#if 0\n    if(true) { return; }\n#endif\n    int32_t num_batches =",
        ),
    ),
]


@pytest.mark.parametrize("edits", REFORMATTED)
def test_text_alone_gives_nothing(
    old: Capability, tmp_path: Path, edits: tuple[tuple[str, str], ...]
) -> None:
    text = str(today.tree()[today.PLANNER])
    for before, after in edits:
        assert before in text
        text = text.replace(before, after)
    assert changes(old, tmp_path, {**today.tree(), today.PLANNER: text}) == ()


def test_a_row_that_is_gone_breaks(old: Capability, tmp_path: Path) -> None:
    rows = {
        **today.ROWS,
        "gfx950": [r for r in today.ROWS["gfx950"] if r[:4] != ("fp8", "fp8", 64, 1)],
    }
    kept = {p: d for p, d in today.tree().items() if not p.startswith("hsa/")}
    (change,) = changes(old, tmp_path, {**kept, **tables(rows)})
    assert change.message == "gfx950 fp8/fp8, 64 heads, qlen 1, without LSE: native -> no kernel"
    assert change.kind is Kind.BREAKS
    assert change.new.failure is Failure.ABORT
    assert change.old_clause is not None
    assert change.old_clause.file == today.TABLE, "the table row that was"


def test_a_new_row_gains(old: Capability, tmp_path: Path) -> None:
    rows = {**today.ROWS, "gfx950": [*today.ROWS["gfx950"], Row("fp8", "fp8", 32, 1, 1, 1)]}
    (change,) = changes(old, tmp_path, {**today.tree(), **tables(rows)})
    assert change.message == "gfx950 fp8/fp8, 32 heads, qlen 1, with LSE: no kernel -> native"
    assert change.kind is Kind.GAINS
    assert change.new_clause is not None
    assert change.new_clause.text.startswith("fp8,fp8,32,1,1,0,1,1,0,")


def test_another_kernel(old: Capability, tmp_path: Path) -> None:
    text = str(today.tree()[today.TABLE]).replace("mla_fp8_fp8_h64_q1_ps", "other")
    tree = {**today.tree(), today.TABLE: text}
    tree["hsa/gfx950/mla/other.co"] = tables({"gfx950": [_Renamed()]})["hsa/gfx950/mla/other.co"]
    (change,) = changes(old, tmp_path, tree)
    assert change.message == (
        "gfx950 fp8/fp8, 64 heads, qlen 1, without LSE: native, by another kernel"
    )
    assert (change.kind, change.new.kernels) == (Kind.KERNEL, ("other",))


def test_another_file_of_the_same_kernel(old: Capability, tmp_path: Path) -> None:
    symbol = "mla_fp8_fp8_h64_q1_ps"
    file = {f"hsa/gfx950/mla/{symbol}.co": code_object(symbol, lds=1024)}
    (change,) = changes(old, tmp_path, {**today.tree(), **file})
    assert change.message == (
        "gfx950 fp8/fp8, 64 heads, qlen 1, without LSE: native, the kernel's file replaced"
    )
    assert (change.kind, change.new.kernels) == (Kind.FILE, (symbol,))
    assert change.old.files != change.new.files


class _Renamed(Row):
    @property
    def symbol(self) -> str:
        return "other"

    def __new__(cls) -> _Renamed:
        return super().__new__(cls, "fp8", "fp8", 64, 1, 1)


def test_what_cannot_be_followed_is_unknown(old: Capability, tmp_path: Path) -> None:
    edit = ("        (num_heads == 16) ||\n", "        (num_heads == 16) || ask(num_heads) ||\n")
    found = changes(old, tmp_path, changed(today.tree(), today.PLANNER, edit))
    assert found
    assert {c.kind for c in found} == {Kind.UNKNOWN}
    assert not any(16 in c.region.axis("heads") for c in found), "that clause comes first"


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (NATIVE, NATIVE, None),
        (NATIVE, Behaviour(verdict=Verdict.FOLDED, fold=2), Kind.SLOWER),
        (
            Behaviour(verdict=Verdict.FOLDED, fold=2),
            Behaviour(verdict=Verdict.FOLDED, fold=3),
            Kind.SLOWER,
        ),
        (
            Behaviour(verdict=Verdict.FOLDED, fold=4),
            Behaviour(verdict=Verdict.FOLDED, fold=2),
            Kind.FASTER,
        ),
        (Behaviour(verdict=Verdict.FOLDED, fold=2), NATIVE, Kind.FASTER),
        (NATIVE, replace(NATIVE, kernels=("other",)), Kind.KERNEL),
        (NATIVE, replace(NATIVE, entry="hk"), Kind.KERNEL),
        (OLD_FILE, replace(OLD_FILE, files=("b" * 40,)), Kind.FILE),
        (OLD_FILE, replace(OLD_FILE, files=(None,)), None),
        (replace(OLD_FILE, files=(None,)), OLD_FILE, None),
        (OLD_FILE, replace(OLD_FILE, files=("b" * 40,), kernels=("other",)), Kind.KERNEL),
        (OLD_FILE, replace(OLD_FILE, files=("b" * 40,), entry="hk"), Kind.KERNEL),
        (
            OLD_FILE,
            Behaviour(verdict=Verdict.FOLDED, fold=2, kernels=("k",), files=("b" * 40,)),
            Kind.SLOWER,
        ),
        (NATIVE, Behaviour(verdict=Verdict.UNKNOWN), Kind.UNKNOWN),
        (Behaviour(verdict=Verdict.UNKNOWN), NATIVE, Kind.UNKNOWN),
        (Behaviour(verdict=Verdict.UNKNOWN), Behaviour(verdict=Verdict.UNKNOWN), None),
        *(
            (NATIVE, Behaviour(verdict=verdict), Kind.BREAKS)
            for verdict in Verdict
            if not verdict.runs and verdict is not Verdict.UNKNOWN
        ),
        (Behaviour(verdict=Verdict.NO_KERNEL), NATIVE, Kind.GAINS),
        (Behaviour(verdict=Verdict.REJECTED), Behaviour(verdict=Verdict.NO_KERNEL), None),
    ],
)
def test_kinds(before: Behaviour, after: Behaviour, kind: Kind | None) -> None:
    assert kind_of(before, after) is kind


def test_what_fails_in_both_is_counted() -> None:
    """A check that refuses in one, and a kernel that is missing in the other."""
    before = Fake(native=lambda s: s.num_heads == 24, no_kernel=lambda s: s.num_heads == 24)
    grid = replace(GRID, archs=("gfx950",), dtypes=((FP8, FP8),), heads=(16, 24), qlens=(1,))
    found = compare(before, Fake(), (grid,))  # type: ignore[arg-type]
    assert found.changes == ()
    assert (found.shapes, found.fails_otherwise, found.unknown) == (8, 4, 0)


def serving(name: str, heads: int, **fields: object) -> Serving:
    grid = Grid(archs=("gfx950",), dtypes=((FP8, FP8),), heads=(heads,))
    return Serving(name=name, num_heads=heads, grid=replace(grid, **fields))  # type: ignore[arg-type]


def test_deployments(old: Capability, tmp_path: Path) -> None:
    new = Capability.open(str(write(tmp_path, fold_32())))
    some = (serving("own", 32), serving("padded", 24), serving("other", 16))
    found = compare_served(old, new, some)
    (change,) = found.changes
    assert change.message == "gfx950 fp8/fp8, 32 heads, qlen 1: native -> fold 2"
    assert change.deployments == ("own", "padded"), "24 heads are launched as 32"
    assert [(name, pad.old, pad.new) for name, pad in found.pads] == [
        *(("own", 32, 64), ("padded", 32, 64))
    ]
    assert found.deployments == ("own", "padded", "other")


def test_standard_grids_ask_what_engines_launch(old: Capability) -> None:
    asm, plain, omitted, gluon = standard_grids((old,))
    assert set(asm.heads) >= {*range(1, 129), 144, 256}
    assert (asm.qlens, asm.lse) == (tuple(range(1, 9)), (False, True))
    assert (asm.persistent, plain.persistent) == ((True,), (False,))
    assert omitted.planner.q_dtype is None
    assert gluon.heads == tuple(range(1, 17))


def test_the_count_to_launch_is_one_for_what_the_planner_is_told() -> None:
    source = Fake(native=lambda s: s.num_heads == (64 if s.planner == PlannerCall() else 48))
    shape = DecodeShape(arch="gfx950", q_dtype=FP8, kv_dtype=FP8, num_heads=40)
    assert pad(source, shape, (1,)) == 64
    told = replace(shape, planner=PlannerCall(fast_mode=False))
    assert pad(source, told, (1,)) == 48
