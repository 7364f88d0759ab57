"""What commands print for programs is what ``rows-v1.schema.json`` says."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from mlaprobe.core.needs import Consequence
from mlaprobe.core.shape import Dtype, Failure, Route, Verdict
from mlaprobe.output.rows import STAGES
from tests.cli.conftest import Run, fake, run
from tests.trees import today
from tests.trees.common import write

__all__ = ["fake", "run"]
SCHEMA: dict[str, Any] = json.loads(
    (resources.files("mlaprobe.output") / "rows-v1.schema.json").read_text(encoding="utf-8")
)
ONE = ("--arch", "gfx950", "--dtype", "fp8/fp8", "--heads")


def faults(kind: str, value: object) -> list[str]:
    """What is wrong with a value, and what of it the schema does not know."""
    schema = {"$ref": f"#/$defs/{kind}", "$defs": SCHEMA["$defs"]}
    found = [error.message for error in Draft202012Validator(schema).iter_errors(value)]
    known = SCHEMA["$defs"][kind].get("properties")
    if known is not None and isinstance(value, dict):
        found += [f"{name} is not in the schema" for name in value.keys() - known.keys()]
    return found


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("aiter"), today.tree())


def lines(run: Run, *words: str) -> list[Any]:
    done = run(*words)
    assert (done.code, done.err) == (0, "")
    return [json.loads(line) for line in done.out.splitlines()]


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    kinds = {each["$ref"].rpartition("/")[2] for each in SCHEMA["anyOf"]}
    assert kinds < SCHEMA["$defs"].keys()
    assert set(STAGES) < kinds


def test_rows(run: Run, tree: Path) -> None:
    found = lines(run, "table", "--aiter", str(tree), *ONE, "8,16,40,48", "--lse", "0,1")
    assert {row["verdict"] for row in found} >= {"NATIVE", "FOLDED"}
    for row in found:
        assert faults("decision", row) == []
    for row in lines(run, "report", "--aiter", str(tree), *ONE, "16,48", "--format", "jsonl"):
        assert faults("decision", row) == []


@pytest.mark.parametrize("stage", STAGES)
def test_stages(run: Run, tree: Path, stage: str) -> None:
    found = lines(run, "table", "--stage", stage, "--aiter", str(tree), *ONE, "1,16,48,200")
    assert found
    for row in found:
        assert faults(stage, row) == []


@pytest.mark.parametrize("heads", ["16", "48", "12"])
def test_needs(run: Run, tree: Path, heads: str) -> None:
    words = ("--needs", "--format", "json")
    (value,) = lines(run, "explain", "--aiter", str(tree), *ONE, heads, *words)
    assert faults("explanation", value) == []
    assert (value["needs"] is None) == (heads == "12") == (value["needs_missing"] is not None)
    for need in value["needs"] or ():
        assert faults("found_need", need) == []


@pytest.mark.parametrize("heads", ["16", "48", "8"])
def test_plans_and_explanations(run: Run, tree: Path, heads: str) -> None:
    for command, kind in (("resolve", "plan"), ("explain", "explanation")):
        (value,) = lines(run, command, "--aiter", str(tree), *ONE, heads, "--format", "json")
        assert faults(kind, value) == []


def test_deployments(run: Run, tree: Path) -> None:
    asked = ("--arch", "gfx950", "--model", "kimi", "--format", "jsonl")
    for row in lines(run, "models", "--aiter", str(tree), *asked):
        assert faults("deployment", row) == []


def test_words_are_the_codes_words() -> None:
    words = SCHEMA["$defs"]
    assert words["verdict"]["enum"] == [v.value for v in Verdict]
    assert words["failure"]["enum"] == [*(f.value for f in Failure), None]
    outcomes = words["found_need"]["properties"]["outcome"]["enum"]
    assert outcomes == [consequence.value for consequence in Consequence]
    shape = words["shape"]["properties"]
    assert shape["route"]["enum"] == [r.value for r in Route]
    assert shape["q_dtype"]["enum"] == [d.value for d in Dtype]


def test_a_fault_is_found(run: Run, tree: Path) -> None:
    (row,) = lines(run, "table", "--aiter", str(tree), *ONE, "16")
    assert faults("decision", {**row, "verdict": "FINE"})
    assert faults("decision", {**row, "extra": 1})
    assert faults("decision", {name: value for name, value in row.items() if name != "key"})
