"""Small trees of our own: every stage in today's layout and in older ones, and parts of a tree."""

from __future__ import annotations

from hashlib import sha1
from pathlib import Path

import pytest

from mlaprobe.core.shape import DecodeShape, Failure, Route, Verdict
from mlaprobe.deciding.capability import Capability
from mlaprobe.errors import SourceError
from tests.stages.ask import BF16, FP8, ask, opened, shape
from tests.trees import old, today
from tests.trees.common import PACKAGE, Tree, code_object


@pytest.fixture(scope="module")
def capability(tmp_path_factory: pytest.TempPathFactory) -> Capability:
    """The whole tree of today's layout."""
    return opened(tmp_path_factory.mktemp("today"), today.tree())


def test_every_stage_is_there(capability: Capability) -> None:
    assert {status for _, status, _ in capability.stage_status} == {"present"}
    assert capability.archs == ("gfx942", "gfx950")
    assert capability.reducer is not None
    assert capability.reducer.head_dims == (128, 512)


NATIVE = [(16, 1), (16, 2), (32, 1), (32, 2), (64, 1), (128, 1), (128, 2)]


@pytest.mark.parametrize(("heads", "qlen"), NATIVE)
def test_native(capability: Capability, heads: int, qlen: int) -> None:
    decision = ask(capability, "gfx950", FP8, heads, qlen)
    assert decision.verdict is Verdict.NATIVE
    assert decision.failure is None
    assert [s.status for _, s in decision.stages] == [
        "accepted",
        "native",
        "native",
        "kernel",
        "kernel",
        "instantiated",
    ]
    assert decision.kernels[0].co_present is True
    assert decision.kernels[0].has_symbol is True


@pytest.mark.parametrize(("heads", "qlen", "fold"), [(48, 1, 3), (80, 1, 5), (64, 2, 4)])
def test_folded(capability: Capability, heads: int, qlen: int, fold: int) -> None:
    decision = ask(capability, "gfx950", FP8, heads, qlen)
    assert (decision.verdict, decision.fold) == (Verdict.FOLDED, fold)
    assert dict(decision.key or ())["Gqa"] == 16


@pytest.mark.parametrize(
    ("question", "verdict", "stage"),
    [
        (("gfx950", FP8, 12, 1), Verdict.REJECTED, "sizing"),
        (("gfx950", FP8, 24, 1), Verdict.REJECTED, "planner"),
        (("gfx950", FP8, 32, 5), Verdict.NO_KERNEL, "host"),
        (("gfx950", BF16, 24, 1), Verdict.NO_REDUCER, "reducer"),
        (("gfx950", BF16, 40, 1), Verdict.NO_KERNEL, "host"),
        (("gfx942", FP8, 16, 2), Verdict.NO_KERNEL, "host"),
        (("gfx942", FP8, 144, 1), Verdict.REJECTED, "dispatcher"),
    ],
)
def test_what_fails(
    capability: Capability,
    question: tuple[str, tuple[str, str], int, int],
    verdict: Verdict,
    stage: str,
) -> None:
    decision = ask(capability, *question)
    assert (decision.verdict, decision.stage) == (verdict, stage)
    python = stage in ("sizing", "dispatcher")
    assert decision.failure is (Failure.EXCEPTION if python else Failure.ABORT)


def test_a_gate_on_the_batch_size(capability: Capability) -> None:
    free = ask(capability, "gfx950", BF16, 16)
    assert free.verdict is Verdict.NATIVE
    assert any("from batch 32 on" in note for note in free.notes)
    assert ask(capability, "gfx950", BF16, 16, batch=31).verdict is Verdict.NATIVE
    high = ask(capability, "gfx950", BF16, 16, batch=32)
    assert high.verdict is Verdict.NO_KERNEL  # there is no such row for the other path
    limit = {"AITER_MLA_DECODE_PERSISTENT_MAX_BATCH": "64"}
    assert ask(capability, "gfx950", BF16, 16, batch=32, env=limit).verdict is Verdict.NATIVE
    assert "AITER_MLA_DECODE_PERSISTENT_MAX_BATCH" in capability.knobs


def test_the_non_persistent_path(capability: Capability) -> None:
    taken = ask(capability, "gfx950", FP8, 16, persistent=False)
    assert taken.verdict is Verdict.NATIVE
    assert [name for name, _ in taken.stages] == ["dispatcher", "host", "kernel table"]
    missing = ask(capability, "gfx950", FP8, 16, 3, persistent=False)
    assert (missing.verdict, missing.failure) == (Verdict.REJECTED, Failure.EXCEPTION)
    assert "KeyError" in (missing.message or "")


def test_another_entry_point(capability: Capability) -> None:
    decision = ask(capability, "gfx950", FP8, 128, env={"AITER_ENABLE_EXPERIMENTAL": "1"})
    assert decision.verdict is Verdict.NATIVE
    outcome = decision.outcome("host")
    assert outcome is not None
    assert outcome.status == "absent"
    assert any("hk_mla_decode_fwd" in note for note in decision.notes)


def test_an_entry_point_that_nobody_defines(tmp_path: Path) -> None:
    tree = dict(today.tree())
    ops = tree[today.OPS]
    assert isinstance(ops, str)
    tree[today.OPS] = ops.replace("def hk_mla_decode_fwd(", "def hk_fwd(")
    decision = ask(
        opened(tmp_path, tree), "gfx950", FP8, 128, env={"AITER_ENABLE_EXPERIMENTAL": "1"}
    )
    assert (decision.verdict, decision.failure) == (Verdict.REJECTED, Failure.EXCEPTION)
    assert "hk_mla_decode_fwd" in (decision.message or "")


def test_gluon(capability: Capability) -> None:

    def gluon(arch: str, heads: int) -> Verdict:
        return capability.judge(shape(arch, BF16, heads, route=Route.GLUON)).verdict

    assert gluon("gfx950", 16) is Verdict.NATIVE
    assert gluon("gfx950", 17) is Verdict.REJECTED
    assert gluon("gfx942", 16) is Verdict.REJECTED


def test_kernels_that_do_not_ship(tmp_path: Path) -> None:
    tree = today.tree()
    symbol = "mla_fp8_fp8_h32_q1_ps"
    path = f"hsa/gfx950/mla/{symbol}.co"
    without: Tree = {p: d for p, d in tree.items() if p != path}
    gone = ask(opened(tmp_path / "a", without), "gfx950", FP8, 32)
    assert gone.verdict is Verdict.NO_KERNEL
    assert "not shipped" in (gone.message or "")
    wrong = ask(opened(tmp_path / "b", {**tree, path: code_object("another")}), "gfx950", FP8, 32)
    assert wrong.verdict is Verdict.NO_KERNEL
    assert "does not define" in (wrong.message or "")
    pointer = {**tree, path: "version https://git-lfs.github.com/spec/v1\n"}
    left_open = ask(opened(tmp_path / "c", pointer), "gfx950", FP8, 32)
    assert left_open.verdict is Verdict.NATIVE
    assert left_open.kernels[0].has_symbol is None
    assert left_open.kernels[0].lds is None


@pytest.mark.parametrize(
    ("arch", "lds", "verdict"),
    [
        ("gfx950", 163_840, Verdict.NATIVE),
        ("gfx950", 163_841, Verdict.NO_KERNEL),
        ("gfx942", 65_536, Verdict.NATIVE),
        ("gfx942", 65_537, Verdict.NO_KERNEL),
    ],
)
def test_a_kernel_with_more_lds_than_the_arch_has(
    tmp_path: Path, arch: str, lds: int, verdict: Verdict
) -> None:
    symbol = "mla_fp8_fp8_h16_q1_ps"
    data = code_object(symbol, lds=lds)
    tree = {**today.tree(), f"hsa/{arch}/mla/{symbol}.co": data}
    decision = ask(opened(tmp_path, tree), arch, FP8, 16)
    assert decision.verdict is verdict
    (kernel,) = decision.kernels
    assert kernel.lds == lds
    assert kernel.blob == sha1(b"blob %d\0" % len(data) + data).hexdigest()
    if verdict is Verdict.NO_KERNEL:
        assert decision.stage == "kernel table"
        assert f"takes {lds} bytes of LDS" in (decision.message or "")


@pytest.mark.parametrize("generation", sorted(old.ROUTERS))
def test_three_generations_of_the_router(tmp_path: Path, generation: str) -> None:
    text = today.REDUCER_HEAD + old.ROUTERS[generation] + old.ENTRIES[generation]
    capability = opened(tmp_path, {**today.tree(), today.REDUCER: text})
    assert capability.reducer is not None
    found = {
        (heads, dim)
        for heads, dim, outcome in capability.reducer_rows(range(1, 130))
        if outcome.status == "instantiated"
    }
    assert found == set(today.ROUTED)


def test_a_merge_that_is_followed_by_a_failure_is_none(tmp_path: Path) -> None:
    """A router of two chains: what the first merges, the second does not know, and fails."""
    start = "    else MERGE_IF(HEADS, 32,"
    text = today.router()
    assert text.count(start) == 1
    split = text.replace(start, start.replace("else ", ""))
    text = today.REDUCER_HEAD + split + today.REDUCER_ENTRY
    capability = opened(tmp_path, {**today.tree(), today.REDUCER: text})
    at = today.ROUTED.index((32, 512))
    for heads, dim in today.ROUTED:
        assert capability.reducer is not None
        outcome = capability.reducer.decide((heads, dim))
        returns = (heads, dim) in today.ROUTED[at:]
        assert outcome.status == ("instantiated" if returns else "missing"), (heads, dim)
        assert outcome.failure is (None if returns else Failure.ABORT)
    lost = ask(capability, "gfx950", FP8, 16)
    assert (lost.verdict, lost.failure) == (Verdict.NO_REDUCER, Failure.ABORT)


def test_kernels_in_the_host_code(tmp_path: Path) -> None:
    capability = opened(tmp_path, old.tree())
    status = {name: there for name, there, _ in capability.stage_status}
    assert status["kernel table"] == status["gluon"] == "absent"
    assert ask(capability, "gfx942", BF16, 16).verdict is Verdict.NATIVE
    assert ask(capability, "gfx942", BF16, 32).verdict is Verdict.FOLDED
    assert ask(capability, "gfx942", BF16, 128).verdict is Verdict.NATIVE
    no_kernel = ask(capability, "gfx942", BF16, 16, 9)
    assert (no_kernel.verdict, no_kernel.failure) == (Verdict.NO_KERNEL, Failure.EXCEPTION)
    assert ask(capability, "gfx942", FP8, 128).verdict is Verdict.REJECTED
    # the fold condition itself says what is native in such a release
    planner = capability.ask("planner", shape("gfx942", BF16, 32))
    assert (planner.status, planner.fold) == ("fold", 2)


PARTS = {
    "planner": [today.PLANNER, today.BINDING],
    "reducer": [today.REDUCER, today.PLANNER],
    "host": [today.HOST, today.PLANNER],
}


@pytest.mark.parametrize("part", sorted(PARTS))
def test_parts_of_a_tree(tmp_path: Path, part: str) -> None:
    whole = today.tree()
    headers = {p: d for p, d in PACKAGE.items() if p.startswith("csrc")}
    tree: Tree = {**headers, "aiter/__init__.py": "", **{p: whole[p] for p in PARTS[part]}}
    capability = opened(tmp_path, tree)
    status = {name: there for name, there, _ in capability.stage_status}
    assert status[part] == "present"
    assert status["dispatcher"] == status["sizing"] == status["gluon"] == "absent"
    decision = ask(capability, "gfx950", FP8, 16)
    assert decision.verdict is Verdict.UNKNOWN
    assert decision.message
    if part == "planner":
        assert capability.ask("planner", shape("gfx950", FP8, 32)).status == "native"
        assert capability.ask("host", shape("gfx950", FP8, 32)).status == "absent"


def test_a_source_without_any_stage(tmp_path: Path) -> None:
    tree: Tree = {
        "aiter/__init__.py": "",
        "aiter/ops/__init__.py": "",
        "aiter/jit/core.py": "",
        "hsa/gfx950/mla/note.txt": "",
        "csrc/kernels/mla/metadata/v1_2_device.cuh": "",
    }
    with pytest.raises(SourceError):
        opened(tmp_path, {k: v for k, v in tree.items() if not k.startswith("csrc")})


def test_an_empty_planner_file_is_unknown(tmp_path: Path) -> None:
    decision = ask(
        opened(tmp_path, {**today.tree(), today.BINDING: "", today.PLANNER: ""}), "gfx950", FP8, 16
    )
    assert decision.verdict is Verdict.UNKNOWN
    assert decision.stage == "planner"


def test_planner_told_something_else(capability: Capability) -> None:
    question = DecodeShape(
        arch="gfx950",
        q_dtype="fp8",  # type: ignore[arg-type]
        kv_dtype="fp8",  # type: ignore[arg-type]
        num_heads=48,
        planner={"q_dtype": None, "kv_dtype": None},  # type: ignore[arg-type]
    )
    decision = capability.judge(question)
    assert decision.verdict is Verdict.INCOHERENT
    assert "folds" in (decision.message or "")
