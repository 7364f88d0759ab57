"""Operations whose functions launch kernels of their own, on a tree of our own text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mlaprobe.core.shape import Decision, Failure, Verdict
from mlaprobe.deciding.capability import Capability
from mlaprobe.errors import UsageError
from mlaprobe.rulefiles.operations import entry_of
from tests.stages.ask import BF16, FP8, ask, opened, shape
from tests.trees import launching, today
from tests.trees.common import Tree, changed

MIXED = ("bf16", "fp8")
MLA = f"{launching.FOLDER}/attention/mla.py"
PICKED = f"{launching.FOLDER}/attention/pa_decode_sparse.py"


@pytest.fixture(scope="module")
def capability(tmp_path_factory: pytest.TempPathFactory) -> Capability:
    """The tree, opened."""
    return opened(tmp_path_factory.mktemp("launching"), launching.tree())


def before_the_tiles(statement: str) -> Tree:
    """The tree, whose decode has one statement more."""
    line = "    rows = triton"
    return changed(launching.tree(), MLA, (line, f"    {statement}\n{line}"))


def sparse(capability: Capability, arch: str, dtypes: tuple[str, str], heads: int) -> Decision:
    return ask(capability, arch, dtypes, heads, op="sparse", persistent=False)


@pytest.mark.parametrize(
    ("op", "arch", "dtypes", "heads", "more", "verdict"),
    [
        *(("triton", "gfx942", BF16, n, {}, Verdict.NATIVE) for n in (1, 7, 16, 33, 64)),
        *(("triton", "gfx942", BF16, n, {}, Verdict.REJECTED) for n in (65, 128)),
        ("triton", "gfx950", MIXED, 16, {"qlen": 3, "batch": 5}, Verdict.NATIVE),
        ("triton", "gfx950", BF16, 16, {"causal": False}, Verdict.REJECTED),
        ("triton", "gfx950", ("fp16", "fp16"), 16, {}, Verdict.UNKNOWN),  # nothing checks it
        ("triton", "gfx950", ("fp16", "fp16"), 65, {}, Verdict.REJECTED),
        ("triton-rope", "gfx942", BF16, 16, {}, Verdict.NATIVE),
        ("triton-rope", "gfx942", BF16, 17, {}, Verdict.REJECTED),
        ("triton-rope", "gfx950", BF16, 64, {}, Verdict.NATIVE),
        ("triton-rope", "gfx1250", BF16, 16, {}, Verdict.REJECTED),
        *(("triton-sparse", "gfx950", BF16, n, {}, Verdict.NO_KERNEL) for n in (1, 15)),
        *(("triton-sparse", "gfx950", BF16, n, {}, Verdict.NATIVE) for n in (16, 64)),
        ("triton-sparse", "gfx950", BF16, 8, {"batch": 4, "qlen": 2}, Verdict.NO_KERNEL),
        ("triton-split", "gfx950", BF16, 16, {}, Verdict.REJECTED),  # the tree has none
    ],
)
def test_verdicts(
    capability: Capability,
    op: str,
    arch: str,
    dtypes: tuple[str, str],
    heads: int,
    more: dict[str, Any],
    verdict: Verdict,
) -> None:
    assert ask(capability, arch, dtypes, heads, op=op, **more).verdict is verdict


def test_what_is_launched_is_said(capability: Capability) -> None:
    decision = ask(capability, "gfx950", BF16, 16, op="triton")
    ((stage, outcome),) = decision.stages
    assert (str(stage), outcome.status, outcome.entry) == ("dispatcher", "native", "triton")
    assert outcome.final_heads == 16
    assert (decision.kernels, decision.key) == ((), None)
    assert any("_tiled_kernel, _merging_kernel" in note for note in decision.notes)
    # the first check, and the launch
    assert next(iter(decision.evidence)).text.startswith("assert causal")
    assert any(e.text.startswith("_tiled_kernel[") for e in decision.evidence)


def test_a_refusal_has_its_place(capability: Capability) -> None:
    decision = ask(capability, "gfx942", BF16, 65, op="triton")
    assert (decision.stage, decision.failure) == ("dispatcher", Failure.EXCEPTION)
    assert decision.message == "65 heads are too many"
    (place,) = decision.evidence
    assert (place.file, place.text) == (MLA, "rows <= 64")


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("{}[heads]", "{}[heads]"),
        ("assert heads\n    {}[heads]", "{}[heads]"),
        ('if heads > 2:\n        raise ValueError("many")', "heads > 2"),
        ("try:\n        {}[heads]\n    except KeyError:\n        assert heads < 2", "heads < 2"),
        ("1 + out.shape[7]", "out.shape[7]"),
    ],
)
def test_a_refusal_inside_an_expression_has_its_own_place(
    tmp_path: Path, statement: str, text: str
) -> None:
    decision = ask(opened(tmp_path, before_the_tiles(statement)), "gfx950", BF16, 16, op="triton")
    assert decision.verdict is Verdict.REJECTED
    (place,) = decision.evidence
    assert (place.file, place.text) == (MLA, text)


def test_an_arch_without_a_configuration(capability: Capability) -> None:
    decision = ask(capability, "gfx1250", BF16, 16, op="triton-rope")
    path = f"{launching.FOLDER}/configs/gfx1250-ROPE.json"
    assert decision.message == f"FileNotFoundError: {path}"
    assert [place.text for place in decision.evidence] == [
        'open(f"{FOLDER}/{get_arch()}-ROPE.json", "r")'
    ]
    first = ask(capability, "gfx950", BF16, 16, op="triton-rope")
    assert any("called for the first time" in note for note in first.notes)


def test_counts_that_round_up_to_one_power_of_two_share_a_run(capability: Capability) -> None:
    point = capability.entry_point(entry_of(shape("gfx942", BF16, 1, op="triton")))
    for group in (range(17, 33), range(33, 65)):
        solved = [point.solve_launch(shape("gfx942", BF16, n, op="triton")) for n in group]
        assert len({id(each.leaf.run) for each in solved if each.leaf is not None}) == 1
        assert [each.answer.outcome.final_heads for each in solved] == list(group)


def test_a_kernel_in_gluon_needs_a_triton_that_has_it(capability: Capability) -> None:
    decision = sparse(capability, "gfx950", BF16, 16)
    assert decision.verdict is Verdict.NATIVE
    assert decision.stages[0][1].entry == "gluon"
    place = f"{launching.FOLDER}/gluon_kernels.py:1"
    assert f"needs a Triton with triton.experimental.gluon ({place})" in decision.notes
    plain = ask(capability, "gfx950", BF16, 16, op="triton")
    assert not any("needs a Triton" in note for note in plain.notes)


def test_what_a_caller_passes_depends_on_the_dtype(capability: Capability) -> None:
    assert sparse(capability, "gfx950", MIXED, 16).verdict is Verdict.NATIVE
    rejected = sparse(capability, "gfx950", FP8, 16)
    assert (rejected.verdict, rejected.message) == (
        Verdict.REJECTED,
        "RuntimeError: no kernel for <q.dtype>",
    )


def test_python_asks_a_tensor_of_several_elements_whether_it_is_true(
    capability: Capability,
) -> None:
    """``attn_sink or ...`` raises for more than one head."""
    decision = sparse(capability, "gfx942", BF16, 2)
    assert decision.verdict is Verdict.REJECTED
    assert (decision.message or "").startswith("RuntimeError: Boolean value of Tensor")
    assert sparse(capability, "gfx942", BF16, 1).verdict is Verdict.NATIVE


def test_a_function_of_another_module_is_not_taken_for_it(tmp_path: Path) -> None:
    """The package exports a decode of the same name, which is no Triton kernel's."""
    capability = opened(tmp_path, today.tree())
    decision = ask(capability, "gfx950", BF16, 16, op="triton")
    assert (decision.verdict, decision.stages[0][1].status) == (Verdict.REJECTED, "absent")
    assert "aiter/ops/triton/attention/mla.py" in (decision.message or "")


@pytest.mark.parametrize("op", ["prefill", "sparse"])
def test_another_function_that_the_package_exports_is_not_taken_for_it(
    tmp_path: Path, op: str
) -> None:
    text = today.tree()["aiter/__init__.py"]
    assert isinstance(text, str)
    tree = {**today.tree(), "aiter/__init__.py": text + "\nfrom aiter.mla import mla_decode_fwd\n"}
    decision = ask(opened(tmp_path, tree), "gfx950", FP8, 16, op=op)
    assert (decision.verdict, decision.stages[0][1].status) == (Verdict.REJECTED, "absent")


def test_a_call_that_may_return_without_a_launch_is_not_known(tmp_path: Path) -> None:
    tree = before_the_tiles("if max_seqlen_kv > 100:\n        return out")
    decision = ask(opened(tmp_path, tree), "gfx950", BF16, 16, op="triton")
    assert (decision.verdict, decision.stage) == (Verdict.UNKNOWN, "dispatcher")


def test_a_check_of_the_batch_is_a_note(tmp_path: Path) -> None:
    tree = before_the_tiles('assert len(seqused_k) < 65, "a large batch"')
    capability = opened(tmp_path, tree)
    decision = ask(capability, "gfx950", BF16, 16, op="triton")
    assert decision.verdict is Verdict.NATIVE
    assert "from batch 65 on it fails: a large batch" in decision.notes
    for batch, verdict in ((64, Verdict.NATIVE), (65, Verdict.REJECTED)):
        assert ask(capability, "gfx950", BF16, 16, op="triton", batch=batch).verdict is verdict


def test_kernels_that_depend_on_the_batch_size(tmp_path: Path) -> None:
    other = "if len(seqused_k) > 64:\n        _merging_kernel[(1,)](q, out)\n        return out"
    capability = opened(tmp_path, before_the_tiles(other))
    text = "which of them run may depend on the number of requests"
    free = ask(capability, "gfx950", BF16, 16, op="triton")
    assert (free.verdict, text in free.notes) == (Verdict.NATIVE, True)
    for batch in (64, 65):
        found = ask(capability, "gfx950", BF16, 16, op="triton", batch=batch)
        assert (found.verdict, text in found.notes) == (Verdict.NATIVE, False)
        tiled = any("_tiled_kernel" in note for note in found.notes)
        assert tiled is (batch == 64)


def test_a_check_of_what_a_tensor_holds_is_not_known(tmp_path: Path) -> None:
    tree = before_the_tiles('assert seqused_k[0] > 3, "too short"')
    decision = ask(opened(tmp_path, tree), "gfx950", BF16, 16, op="triton")
    assert decision.verdict is Verdict.UNKNOWN


def test_the_gluon_operation_answers_as_the_route(capability: Capability) -> None:
    for heads in (1, 8, 16, 64, 128):
        by_op = ask(capability, "gfx950", BF16, heads, op="gluon")
        by_route = ask(capability, "gfx950", BF16, heads, route="gluon")
        assert by_op.verdict is by_route.verdict
        assert by_op.stages == by_route.stages
        assert by_op.shape.op == "gluon"


@pytest.mark.parametrize(
    "more", [{"persistent": False}, {"lse": True}, {"op": "triton-split", "qlen": 2}]
)
def test_what_a_function_has_no_argument_for_is_refused(
    capability: Capability, more: dict[str, Any]
) -> None:
    with pytest.raises(UsageError, match="has no use for --"):
        ask(capability, "gfx950", BF16, 16, **{"op": "triton", **more})
