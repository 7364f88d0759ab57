"""Parts of the stages: where they look, what they pass, what they say when that fails."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from mlaprobe.core.shape import Evidence, Route, Verdict
from mlaprobe.errors import UsageError
from mlaprobe.evaluator.ir import NOWHERE, Span
from mlaprobe.stages.evidence import LazyEvidence, evidence, line_of
from tests.stages.ask import BF16, FP8, opened, shape
from tests.trees import today
from tests.trees.common import Tree, changed

BROKEN = "def broken(:\n"


def without(tree: Tree, *paths: str) -> Tree:
    """A tree without some files."""
    return {path: text for path, text in tree.items() if path not in paths}


# --- functions that are elsewhere, not there, or cannot be read ---


def test_a_function_is_found_in_another_file_of_the_source(tmp_path: Path) -> None:
    """The file that usually defines it is there and defines something else."""
    tree = today.tree()
    moved = {**tree, "csrc/py_itfs_cu/other.cu": tree[today.HOST], today.HOST: "int unused;\n"}
    found = opened(tmp_path, moved).ask("host", shape("gfx950", FP8, 16))
    assert found.status == "kernel"
    assert {e.file for e in found.evidence} == {"csrc/py_itfs_cu/other.cu", today.TABLE}


@pytest.mark.parametrize(
    ("stage", "path", "text"),
    [
        ("planner", today.BINDING, "int unused;\n"),
        ("host", today.HOST, "int unused;\n"),
        ("reducer", today.REDUCER, "int unused;\n"),
        ("sizing", today.OPS, BROKEN + "# get_mla_metadata_info_v1"),
        ("dispatcher", today.DISPATCHER, BROKEN + "# mla_decode_fwd"),
        ("gluon", today.GLUON, BROKEN + "# mla_gluon"),
    ],
)
def test_a_stage_that_cannot_be_read_is_unknown(
    tmp_path: Path, stage: str, path: str, text: str
) -> None:
    """Its file is there, so it is not absent; the evidence is the file."""
    edits = {path: text}
    if stage == "planner":
        edits[today.PLANNER] = text
    found = opened(tmp_path, {**today.tree(), **edits})
    outcome = found.ask(stage, shape("gfx950", FP8, 16))
    assert outcome.status == "unknown"
    expected = "has a syntax error for Python" if BROKEN in text else "that can be read"
    assert expected in (outcome.message or "")
    assert outcome.evidence[0].file in edits
    route = Route.GLUON if stage == "gluon" else Route.ASM
    # Python cannot import a broken file either, so the dispatcher fails for certain
    expected = Verdict.REJECTED if stage == "sizing" else Verdict.UNKNOWN
    assert found.judge(shape("gfx950", FP8, 16, route=route)).verdict is expected
    assert found.takes("causal") is False
    if stage == "planner":
        assert found.planner is not None
        assert found.planner.takes("num_heads") is False
    if stage == "host":
        assert found.host is not None
        assert found.host.takes("lse") is False
    if stage == "reducer":
        assert found.reducer is not None
        assert found.reducer.head_dims == (512,)


@pytest.mark.parametrize(
    ("stage", "paths"),
    [
        ("planner", (today.BINDING, today.PLANNER)),
        ("host", (today.HOST,)),
        ("reducer", (today.REDUCER,)),
        ("sizing", (today.OPS,)),
        ("dispatcher", (today.DISPATCHER,)),
        ("gluon", (today.GLUON,)),
    ],
)
def test_a_stage_without_a_file_is_absent(
    tmp_path: Path, stage: str, paths: tuple[str, ...]
) -> None:
    found = opened(tmp_path, without(today.tree(), *paths))
    outcome = found.ask(stage, shape("gfx950", FP8, 16))
    assert outcome.status == "absent"
    assert paths[0] in (outcome.message or "")
    status = {name: there for name, there, _ in found.stage_status}
    assert status.pop(stage) == "absent"
    assert set(status.values()) == {"present"}
    assert list(found.reducer_rows((16,))) == [] or stage != "reducer"
    assert found.has_route(Route.GLUON) is (stage != "gluon")
    assert found.has_route(Route.ASM) is (stage != "dispatcher")
    found.forget()
    assert found.ask(stage, shape("gfx950", FP8, 16)) == outcome


def test_there_is_no_stage_of_another_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown stage 'merger'"):
        opened(tmp_path, today.tree()).ask("merger", shape("gfx950", FP8, 16))


# --- what is passed ---

LAST = "                         const std::optional<int64_t> dtype_kv)\n"


@pytest.mark.parametrize(
    ("parameter", "test", "status"),
    [
        ("const int32_t reserve = 3", "reserve == 3", "native"),
        ("const int32_t reserve = 3", "reserve != 3", "rejected"),
        ("const int32_t reserve", "reserve == 3", "unknown"),
        ("const int32_t reserve", "reserve == 3 || true", "native"),
        ("const torch::Tensor& more", "more.size(0) == 8", "native"),
        ("const Options& more", "more.size(0) == 8", "unknown"),
    ],
)
def test_a_parameter_of_unknown_meaning(
    tmp_path: Path, parameter: str, test: str, status: str
) -> None:
    """It keeps its default; without one it is unknown, unless it is a tensor like the others."""
    edits = (
        (LAST, LAST.replace(")\n", f", {parameter})\n")),
        (
            "    const AiterDtype q_dtype =\n",
            f"    AITER_CHECK({test});\n    const AiterDtype q_dtype =\n",
        ),
    )
    found = opened(tmp_path, changed(today.tree(), today.BINDING, *edits))
    assert found.ask("planner", shape("gfx950", FP8, 16)).status == status


SIZED = "    is_sparse: bool,\n"
CHECKED = "    tiles = math.ceil("


@pytest.mark.parametrize(
    ("parameter", "test", "status"),
    [
        ("    reserve=3,\n", "reserve == 3", "accepted"),
        ("    reserve=3,\n", "reserve != 3", "rejected"),
        ("    reserve,\n", "reserve == 3", "unknown"),
        ("    *rest,\n", "rest == ()", "accepted"),
        ("    *rest,\n    **more,\n", "more", "rejected"),
    ],
)
def test_a_python_parameter_of_unknown_meaning(
    tmp_path: Path, parameter: str, test: str, status: str
) -> None:
    edits: tuple[tuple[str, str], ...] = (
        (SIZED, SIZED if "=" in parameter or "*" in parameter else parameter + SIZED),
        (
            "    fast_mode: bool = True,\n",
            "    fast_mode: bool = True,\n"
            + (parameter if "=" in parameter or "*" in parameter else ""),
        ),
        (CHECKED, f"    assert {test}\n{CHECKED}"),
    )
    found = opened(tmp_path, changed(today.tree(), today.OPS, *edits))
    assert found.ask("sizing", shape("gfx950", FP8, 16)).status == status


@pytest.mark.parametrize("name", ["num_batches", "num_heads", "uni_seqlen_qo"])
def test_a_launch_whose_numbers_are_not_known(tmp_path: Path, name: str) -> None:
    """Which of them it was is shown."""
    edit = ("    params.is_causal      = is_causal;\n", f"    params.{name} = dev_prop.{name};\n")
    found = opened(tmp_path, changed(today.tree(), today.PLANNER, edit))
    outcome = found.ask("planner", shape("gfx950", FP8, 16))
    assert outcome.status == "unknown"
    assert "run time" in (outcome.message or "")
    assert outcome.evidence[0].text == f"dev_prop.{name}"
    launched = "    kn_plan<128><<<dim3(1, 1, 1), dev_prop.warpSize, 0, stream>>>(params);\n"
    gone = opened(tmp_path / "gone", changed(today.tree(), today.PLANNER, (launched, "")))
    outcome = gone.ask("planner", shape("gfx950", FP8, 16))
    assert (outcome.status, outcome.message) == (
        "unknown",
        "what the planner launches was not found",
    )


def test_sizes_that_cannot_be_followed(tmp_path: Path) -> None:
    edit = (CHECKED, f"    if math.frexp(num_head_qo):\n        raise ValueError()\n{CHECKED}")
    outcome = opened(tmp_path, changed(today.tree(), today.OPS, edit)).ask(
        "sizing", shape("gfx950", FP8, 16)
    )
    assert outcome.status == "unknown"
    assert "frexp" in (outcome.message or "")
    assert "frexp" in outcome.evidence[0].text


def test_a_gluon_route_that_cannot_be_followed(tmp_path: Path) -> None:
    edit = ("    heads = q_nope.shape[-2]\n", "    heads = triton.frobnicate(q_nope)\n")
    outcome = opened(tmp_path, changed(today.tree(), today.GLUON, edit)).ask(
        "gluon", shape("gfx950", BF16, 16)
    )
    assert outcome.status == "unknown"
    assert "frobnicate" in (outcome.message or "")


def test_a_gluon_route_shows_what_it_checked(tmp_path: Path) -> None:
    found = opened(tmp_path, today.tree())
    taken = found.ask("gluon", shape("gfx950", BF16, 16))
    assert taken.status == "accepted"
    refused = found.ask("gluon", shape("gfx950", BF16, 17))
    assert (refused.status, refused.message) == (
        "rejected",
        "mla_gluon takes up to 16 heads, got 17",
    )
    assert "heads <= 16" in refused.evidence[0].text


# --- evidence ---


def test_evidence_that_is_looked_for_later_is_a_tuple_of_evidence() -> None:
    proof = (Evidence(stage="host", file="a.cu", line=3, column=5, text="x == 4"),)
    asked: list[int] = []

    def find() -> tuple[Evidence, ...]:
        asked.append(1)
        return proof

    lazy = LazyEvidence(find)
    assert asked == []
    assert lazy == proof
    assert hash(lazy) == hash(proof)
    assert repr(lazy) == repr(proof)
    assert pickle.loads(pickle.dumps(lazy)) == proof
    assert (len(lazy), lazy[0], lazy[:], list(lazy)) == (1, proof[0], proof, list(proof))
    assert lazy != list(proof)
    assert asked == [1]


TEXT = "first\n    if(x) \\\n{\n"


def texts(path: str) -> str | None:
    """One file."""
    return TEXT if path == "a.cu" else None


def test_a_place_as_evidence() -> None:
    found = evidence("host", Span("a.cu", 2, 8, 2, 9), texts)
    assert found is not None
    assert (found.line, found.column, found.text) == (2, 8, "x")
    longer = evidence("host", Span("a.cu", 1, 3, 2, 8), texts)
    assert longer is not None
    assert longer.text == "rst if("


@pytest.mark.parametrize("span", [NOWHERE, Span("b.cu", 1, 1, 1, 2), Span("a.cu", 9, 1, 9, 2)])
def test_a_place_that_is_not_there_is_no_evidence(span: Span) -> None:
    assert evidence("host", span, texts) is None
    assert line_of(span, texts).line == span.line


def test_the_line_of_a_place() -> None:
    assert line_of(Span("a.cu", 2, 8, 2, 9), texts) == Span("a.cu", 2, 5, 2, 10)


def test_evidence_of_a_long_place_is_cut() -> None:
    found = evidence("host", Span("a.cu", 1, 1, 1, 1), lambda path: "x" * 500)
    assert found is not None
    assert len(found.text) == 400
    assert found.text.endswith("x...")
