"""A planner that takes some of what decides as a map of named options."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlaprobe.deciding.capability import Capability
from mlaprobe.evaluator.engine.machine import Machine
from mlaprobe.evaluator.engine.runs import Run
from mlaprobe.evaluator.ir import NOWHERE
from mlaprobe.evaluator.values.kinds import Builtin
from mlaprobe.evaluator.values.unknown import Unknown
from mlaprobe.stages.environment.options import Options
from tests.stages.ask import FP8, answers, grid, opened, shape
from tests.trees import today
from tests.trees.common import changed

ONE_BY_ONE = """\
                         const int32_t max_seqlen_qo,
                         const int32_t uni_seqlen_qo,
"""
AS_A_MAP = """\
                         std::optional<std::map<std::string, int32_t>> split_params,
"""
BODY = '    AITER_CHECK(seqlens_qo_indptr.stride(0) == 1, __func__, ": indptr must be dense");\n'
FOUND = """\
    int32_t max_seqlen_qo = 77;
    int32_t uni_seqlen_qo = 77;
    if(split_params.has_value())
    {
        if(split_params->find("uni_seqlen_qo") != split_params->end())
        {
            uni_seqlen_qo = split_params->find("uni_seqlen_qo")->second;
        }
        if(split_params->count("max_seqlen_qo") > 0)
        {
            max_seqlen_qo = split_params->at("max_seqlen_qo");
        }
    }
"""


def planner(root: Path, code: str) -> Capability:
    """Today's tree, whose planner takes the query lengths from a map."""
    edits = ((ONE_BY_ONE, AS_A_MAP), (BODY, BODY + code))
    return opened(root, changed(today.tree(), today.BINDING, *edits))


def test_options_in_a_map_decide_like_parameters(tmp_path: Path) -> None:
    asked = list(grid())
    expected = answers(opened(tmp_path / "plain", today.tree()), asked)
    assert answers(planner(tmp_path / "map", FOUND), asked) == expected


CUT = '    if(split_params->find("{}") {} split_params->end()) max_seqlen_qo = uni_seqlen_qo = 1;\n'


@pytest.mark.parametrize(
    ("name", "op", "status"),
    [
        # 64 heads of fp8 are native for one query token; two are asked
        ("max_seqlen_qo", "!=", "native"),
        ("max_seqlen_qo", "==", "fold"),
        ("a_new_option", "!=", "fold"),
        ("a_new_option", "==", "native"),
    ],
)
def test_an_option_that_means_nothing_known_is_not_given(
    tmp_path: Path, name: str, op: str, status: str
) -> None:
    found = planner(tmp_path, FOUND + CUT.format(name, op))
    question = shape("gfx950", FP8, 64, 2, planner={"uniform_qlen": 1})
    assert found.ask("planner", question).status == status


def method(name: str, *args: object) -> object:
    """What a method of a map of two options gives."""
    found = Options({"qlen": 4, "topk": -1}).get(name, NOWHERE)
    assert isinstance(found, Builtin), found
    return found.call(Run(Machine()), args, {}, NOWHERE)


def test_what_a_map_of_options_tells() -> None:
    assert method("at", "qlen") == 4
    assert method("count", "qlen") == 1
    assert method("count", "heads") == 0
    assert method("contains", "topk") is True
    assert method("contains", "heads") is False
    assert Options({"qlen": 4}).index("qlen", NOWHERE) == 4
    given = Options({})
    assert given.equals(None) is False
    assert given.equals(given) is True
    assert given.equals(Options({})) is None


@pytest.mark.parametrize(
    ("name", "args"),
    [("at", ("heads",)), ("find", (Unknown("a name"),)), ("count", ()), ("at", (7,))],
)
def test_what_a_map_of_options_does_not_tell(name: str, args: tuple[object, ...]) -> None:
    assert isinstance(method(name, *args), Unknown)


def test_a_method_that_a_map_of_options_is_not_asked_for() -> None:
    assert isinstance(Options({}).get("extract", NOWHERE), Unknown)
