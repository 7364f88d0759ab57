"""What launches need, found by asking: on trees, and known answers on releases."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from mlaprobe.core.needs import Consequence, Need
from mlaprobe.core.shape import DecodeShape, Failure, PlannerCall, StageName, Verdict
from mlaprobe.deciding.capability import Capability
from mlaprobe.rulefiles.variations import Variation, variation, variations
from mlaprobe.stages.environment.dtypes import DtypeToken
from mlaprobe.stages.environment.tensors import Tensor
from tests.stages.ask import BF16, FP8, grid, opened, shape
from tests.trees import today
from tests.trees.common import Tree, changed


def needing() -> Tree:
    """A tree whose stages ask for more: a scale, a bf16 result, round robin, a limit of parts."""
    tree = changed(
        today.tree(),
        today.HOST,
        (
            "aiter_tensor_t* lse, // nullable\n                               hip",
            "aiter_tensor_t* lse, aiter_tensor_t* q_scale,\n                               hip",
        ),
        (
            "    std::string q_type, kv_type;",
            '    AITER_CHECK(Q->dtype() != AITER_DTYPE_fp8 || q_scale != nullptr, ": no scale");\n'
            '    AITER_CHECK(Q->size(2) == KV->size(3), ": other widths");\n'
            "    std::string q_type, kv_type;",
        ),
    )
    tree = changed(
        tree,
        today.REDUCER,
        (
            "    if(num_tiles > 0)",
            "    AITER_CHECK(final_output.dtype() == AITER_DTYPE_bf16 ||\n"
            '                final_output.dtype() == AITER_DTYPE_fp16, "no such result");\n'
            "    if(num_tiles > 0)",
        ),
    )
    tree = changed(
        tree,
        today.PLANNER,
        ("    bool is_causal;", "    bool is_causal;\n    bool is_cp_round_robin;\n    int parts;"),
        (
            "const AiterDtype q_dtype,",
            "const int limit, const bool robin,\n const AiterDtype q_dtype,",
        ),
        (
            "    params.is_causal      = is_causal;",
            "    params.is_causal      = is_causal;\n    params.is_cp_round_robin = robin;\n"
            "    const int parts = limit < 0 ? dev_prop.multiProcessorCount\n"
            "        : min(dev_prop.multiProcessorCount, limit * num_batches);\n"
            "    params.parts = parts;",
        ),
    )
    tree = changed(
        tree,
        today.BINDING,
        (
            "const int32_t uni_seqlen_qo,\n",
            "const int32_t uni_seqlen_qo,\n const int max_split_per_batch,\n"
            " const bool is_cp_round_robin,\n",
        ),
        (
            "uni_seqlen_qo, q_dtype,",
            "uni_seqlen_qo, max_split_per_batch, is_cp_round_robin, q_dtype,",
        ),
    )
    tree = changed(
        tree,
        today.OPS,
        (
            "    lse: torch.Tensor | None = None,\n",
            "    lse: torch.Tensor | None = None,\n    q_scale: torch.Tensor | None = None,\n",
        ),
    )
    return changed(
        tree,
        today.DISPATCHER,
        ("    return_lse=False,\n):", "    return_lse=False,\n    q_scale=None,\n):"),
        (
            "            final_lse,\n        )",
            "            final_lse,\n            q_scale,\n        )",
        ),
        ("nhead_kv, logits, o, final_lse\n", "nhead_kv, logits, o, final_lse, q_scale\n"),
    )


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Capability:
    return opened(tmp_path_factory.mktemp("plain"), today.tree())


@pytest.fixture(scope="module")
def needy(tmp_path_factory: pytest.TempPathFactory) -> Capability:
    return opened(tmp_path_factory.mktemp("needy"), needing())


def found(capability: Capability, asked: DecodeShape) -> dict[str, Need]:
    return {need.id: need for need in capability.needs(asked)}


def known(name: str) -> Variation:
    picked = variation(name)
    assert picked is not None
    return picked


def test_what_a_host_checks(needy: Capability) -> None:
    needs = found(needy, shape("gfx950", FP8, 16))
    scale = needs["q-scale-absent"]
    assert (scale.outcome, scale.failure, scale.stage) == (
        Consequence.REJECTED,
        Failure.ABORT,
        StageName.HOST,
    )
    assert scale.message is not None
    assert "no scale" in scale.message
    assert [place.text for place in scale.evidence] == [
        "Q->dtype() != AITER_DTYPE_fp8 || q_scale != nullptr"
    ]
    assert "kv-scale-absent" not in needs, "nothing asks for it"
    assert "scales-absent" not in needs, "one of them says it"
    assert {"q-width", "kv-width", "q-sliced"} <= needs.keys()
    assert "widths" not in needs, "two rows of one width fit each other"
    assert "q-scale-absent" not in found(needy, shape("gfx950", BF16, 16))


def test_what_nothing_checks_is_no_need(plain: Capability) -> None:
    needs = found(plain, shape("gfx950", FP8, 16))
    assert needs.keys().isdisjoint(
        ("q-scale-absent", "output-fp8", "q-width", "planner-split-limit")
    )
    assert "q-sliced" in needs


def test_the_result_that_a_reducer_takes(needy: Capability) -> None:
    needs = found(needy, shape("gfx950", FP8, 16))
    assert needs["output-fp8"].outcome is Consequence.NO_REDUCER
    assert needs["output-fp8"].evidence[0].file == today.REDUCER
    assert needs["output-fp32"].outcome is Consequence.NO_REDUCER
    assert "output-fp16" not in needs
    # Without metadata no reducer runs.
    assert "output-fp8" not in found(needy, shape("gfx950", FP8, 16, persistent=False))


def test_a_fold_that_copies_takes_rows_of_any_spacing(plain: Capability) -> None:
    assert "q-sliced" in found(plain, shape("gfx950", FP8, 48))
    assert "q-sliced" not in found(plain, shape("gfx950", FP8, 48, 2))


def test_what_the_planner_is_told(plain: Capability, needy: Capability) -> None:
    told = found(plain, shape("gfx950", FP8, 48))["planner-dtypes-left-out"]
    assert told.outcome is Consequence.INCOHERENT
    assert {place.stage for place in told.evidence} == {StageName.PLANNER, StageName.DISPATCHER}
    assert dict(told.settings) == {"dtype_q": "fp8", "dtype_kv": "fp8"}
    assert "planner-dtypes-left-out" not in found(plain, shape("gfx950", FP8, 16))
    needs = found(needy, shape("gfx950", FP8, 16))
    limit = needs["planner-split-limit"]
    assert (limit.outcome, limit.stage) == (Consequence.OTHER_METADATA, StageName.PLANNER)
    assert limit.message is not None
    assert limit.message.endswith("another parts")
    assert limit.evidence[0].text.startswith("parts = limit < 0")
    assert "planner-round-robin-off" not in needs
    robin = found(needy, shape("gfx950", FP8, 16, cp_round_robin=True))["planner-round-robin-off"]
    assert robin.message is not None
    assert robin.message.endswith("another is_cp_round_robin")
    assert robin.settings == (("is_cp_round_robin", True),)


def test_what_the_caller_does_already_is_not_tried(needy: Capability) -> None:
    limited = shape("gfx950", FP8, 16, planner=PlannerCall(max_split_per_batch=4))
    assert "planner-split-limit" not in found(needy, limited)


def test_what_cannot_be_followed_is_said_to_be_unknown(tmp_path: Path) -> None:
    tree = changed(
        today.tree(),
        today.HOST,
        ("AITER_CHECK(Q->is_contiguous(), __func__", "AITER_CHECK(dense_enough(Q), __func__"),
        (
            "AITER_C_ITFS\n",
            "bool dense_enough(aiter_tensor_t* q)\n{\n"
            "    return q->is_contiguous() || asm_says();\n}\n\nAITER_C_ITFS\n",
        ),
    )
    need = found(opened(tmp_path, tree), shape("gfx950", FP8, 16))["q-sliced"]
    assert need.outcome is Consequence.UNKNOWN
    assert need.message is not None
    assert "asm_says" in need.message
    assert need.evidence


def test_what_does_not_run_needs_nothing(plain: Capability) -> None:
    assert plain.needs(shape("gfx950", FP8, 12)) == ()


def test_many_share_few_runs(needy: Capability) -> None:
    shapes = [shape("gfx950", FP8, heads) for heads in (48, 80, 112)]
    needs = [found(needy, each) for each in shapes]
    assert needs[0].keys() == needs[1].keys() == needs[2].keys()
    message = needs[1]["planner-dtypes-left-out"].message
    assert message is not None
    assert "(to 80 heads)" in message


# --- the law -------------------------------------------------------------------------------------


def alter(capability: Capability, tried: Variation) -> None:
    """Changes the arguments of every call of the dispatcher's."""
    dispatcher = capability.dispatcher
    assert dispatcher is not None
    valid = dispatcher._values

    def values(question: DecodeShape, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        given = dict(valid(question, inputs))
        for role, other in tried.arguments:
            tensor = given.get(role)
            if other.absent or not isinstance(tensor, Tensor):
                given[role] = other.number
                continue
            dims = (*tensor.shape[:-1], other.width or tensor.shape[-1])
            dtype = DtypeToken(other.dtype) if other.dtype else tensor.dtype
            given[role] = Tensor(tensor.name, dims, dtype, sliced=other.sliced)
        return given

    dispatcher._values = values  # type: ignore[method-assign]


ASKED = tuple(grid(heads=(16, 48), qlens=(1, 2)))


@pytest.mark.parametrize(
    "name",
    # What the reducer is given is looked at above.
    [v.id for v in variations() if "output" not in dict(v.arguments)],
)
def test_a_need_changes_the_verdict_and_nothing_else_does(
    name: str, needy: Capability, tmp_path: Path
) -> None:
    tried = known(name)
    other = opened(tmp_path, needing())
    alter(other, tried)
    for asked in ASKED:
        base = needy.decide(asked)
        if not base.verdict.runs or not tried.tried_on(asked):
            continue
        needs = found(needy, asked)
        if tried.follows_from(needs):
            continue
        need = needs.get(name)
        really = other.decide(tried.applied(asked))
        changes = (really.verdict, really.fold) != (base.verdict, base.fold)
        listed = need is not None and not need.outcome.value.startswith("OTHER_")
        assert changes == listed, (asked, need)


# --- releases ------------------------------------------------------------------------------------


@lru_cache(maxsize=4)
def _release(git: Path, release: str) -> Capability:
    return Capability.open(f"{git}@{release}")


def test_an_fp8_cache_alone_needed_its_scale_once(aiter_git: Path) -> None:
    asked = shape("gfx942", ("bf16", "fp8"), 16)
    before = found(_release(aiter_git, "v0.1.10"), asked)
    assert before["kv-scale-absent"].outcome is Consequence.REJECTED
    assert "q-scale-absent" not in before
    assert "kv-scale-absent" not in found(_release(aiter_git, "v0.1.10.post1"), asked)


SCALES = ("v0.1.10.post1", "v0.1.10.post2", "v0.1.12.post2", "v0.1.17", "v0.1.20.post1")


@pytest.mark.parametrize("release", SCALES)
def test_an_fp8_query_needs_scales(aiter_git: Path, release: str) -> None:
    capability = _release(aiter_git, release)
    for persistent in (False, True):
        asked = shape("gfx950", FP8, 16, persistent=persistent)
        if capability.decide(asked).verdict is Verdict.ERRATUM:
            continue
        needs = found(capability, asked)
        for name in ("q-scale-absent", "kv-scale-absent"):
            assert (needs[name].outcome, needs[name].stage) == (Consequence.REJECTED, "host")
            assert needs[name].failure is Failure.ABORT
            places = needs[name].evidence
            assert {place.file for place in places} == {"csrc/py_itfs_cu/asm_mla.cu"}
            assert any("scale" in place.text for place in places)


@pytest.mark.parametrize("release", ["v0.1.10.post2", "v0.1.17", "v0.1.20.post1"])
def test_the_reducer_takes_no_fp8_result(aiter_git: Path, release: str) -> None:
    needs = found(_release(aiter_git, release), shape("gfx950", FP8, 16, 4))
    assert needs["output-fp8"].outcome is Consequence.NO_REDUCER
    assert needs["output-fp8"].stage == StageName.REDUCER
    assert "output-fp16" not in needs


@pytest.mark.parametrize("release", ["v0.1.17", "v0.1.20.post1"])
def test_round_robin_is_for_the_planner_too(aiter_git: Path, release: str) -> None:
    asked = shape("gfx950", BF16, 16, lse=True, cp_round_robin=True)
    need = found(_release(aiter_git, release), asked)["planner-round-robin-off"]
    assert need.outcome is Consequence.OTHER_METADATA
    assert need.settings == (("is_cp_round_robin", True),)


def test_a_limit_caps_the_parts(aiter_git: Path) -> None:
    """ATOM-611."""
    need = found(_release(aiter_git, "v0.1.12.post2"), shape("gfx950", FP8, 16, batch=2))
    limit = need["planner-split-limit"]
    assert limit.outcome is Consequence.OTHER_METADATA
    assert limit.message is not None
    assert limit.message.endswith("another num_splits")
    assert limit.settings == (("max_split_per_batch", -1),)
    assert any("min(" in place.text for place in limit.evidence)


def test_the_planner_is_told_the_dtypes(aiter_git: Path) -> None:
    capability = _release(aiter_git, "v0.1.20.post1")
    need = found(capability, shape("gfx950", FP8, 48, 4))["planner-dtypes-left-out"]
    assert need.outcome is Consequence.INCOHERENT
