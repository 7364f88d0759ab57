"""The machine interface: fields, their order and their types."""

from __future__ import annotations

import csv
import io
import json

import pytest

from mlaprobe.core.grid import Grid
from mlaprobe.core.shape import (
    Decision,
    DecodeShape,
    Dtype,
    Evidence,
    StageOutcome,
    Status,
    Verdict,
)
from mlaprobe.output.rows import decision_row, reducer_row, stage_row, to_json
from mlaprobe.output.tabular import csv_lines, json_array, jsonl, markdown_table, table_text
from tests.output.fake import Fake

SHAPE = DecodeShape(
    arch="gfx950",
    q_dtype=Dtype.FP8,
    kv_dtype=Dtype.FP8,
    num_heads=128,
    lse=True,
    env={"B": "2", "A": "1"},  # type: ignore[arg-type]
    planner={"q_dtype": None, "kv_dtype": "bf16", "num_heads": 16},  # type: ignore[arg-type]
)


def test_a_row_has_exactly_the_fields_of_the_interface() -> None:
    row = decision_row(Fake().decide(SHAPE))
    assert list(row) == [
        *("shape", "verdict", "fold", "qlen_fold", "failure", "kernels", "key", "stages"),
        *("notes", "evidence"),
    ]
    assert row["shape"] == {
        "arch": "gfx950",
        "q_dtype": "fp8",
        "kv_dtype": "fp8",
        "num_heads": 128,
        "qlen": 1,
        "lse": True,
        "persistent": True,
        "causal": True,
        "cp_round_robin": False,
        "batch": None,
        "page_size": 1,
        "kv_cache_bytes": None,
        "num_kv_splits": None,
        "sparse": False,
        "route": "asm",
        "env": {"A": "1", "B": "2"},
        "planner": {"q_dtype": None, "kv_dtype": "bf16", "num_heads": 16},
        "op": "decode",
        "num_kv_heads": None,
    }
    assert row["verdict"] == "NO_KERNEL"
    assert row["failure"] == "abort"
    assert row["key"]["Gqa"] == 128
    assert row["stages"]["host"] == "no_kernel"
    assert list(row["evidence"][0]) == ["stage", "file", "line", "text"]


def test_kernels_of_a_row() -> None:
    shape = DecodeShape(arch="gfx950", q_dtype=Dtype.FP8, kv_dtype=Dtype.FP8, num_heads=64)
    row = decision_row(Fake().decide(shape))
    fields = ["symbol", "co", "co_present", "blob", "lds"]
    assert [list(each) for each in row["kernels"]] == [fields]
    assert row["kernels"][0]["co_present"] is True
    assert row["kernels"][0]["blob"] is None
    assert row["failure"] is None


ASKED = ["arch", "q_dtype", "kv_dtype", "num_heads", "qlen"]
FOLDS = [*ASKED, "status", "fold", "qlen_fold", "final_heads"]


@pytest.mark.parametrize(
    ("stage", "fields"),
    [
        ("planner", FOLDS),
        ("dispatcher", [*FOLDS, "persistent", "entry"]),
        (
            "host",
            [
                *(*ASKED, "persistent", "lse", "causal", "cp_round_robin", "status", "key"),
                *("kernels", "message"),
            ],
        ),
        ("sizing", [*ASKED, "status", "message", "sizes"]),
        ("gluon", [*ASKED, "status", "message"]),
    ],
)
def test_stage_rows(stage: str, fields: list[str]) -> None:
    row = stage_row(stage, SHAPE, Fake().ask(stage, SHAPE))
    assert list(row) == fields
    assert json.loads(to_json(row)) == row


def test_reducer_rows() -> None:
    rows = [reducer_row(*each) for each in Fake().reducer_rows([16, 17])]
    assert rows == [
        {"num_heads": 16, "head_dim": 128, "status": "missing"},
        {"num_heads": 16, "head_dim": 512, "status": "instantiated"},
        {"num_heads": 17, "head_dim": 128, "status": "missing"},
        {"num_heads": 17, "head_dim": 512, "status": "missing"},
    ]


HOSTILE = 'a"b,|`<x>\x1b[31m\r\n\u202e=1+1'


def hostile() -> Decision:
    evidence = Evidence(stage="host", file=HOSTILE, line=1, text=HOSTILE)
    outcome = StageOutcome(
        stage="host", status=Status.REJECTED, evidence=(evidence,), message=HOSTILE
    )
    return Decision(
        shape=SHAPE,
        verdict=Verdict.REJECTED,
        stages=(("host", outcome),),
        notes=(HOSTILE,),
        key=((HOSTILE, HOSTILE),),
    )


def test_json_survives_hostile_text() -> None:
    (text,) = jsonl([decision_row(hostile())])
    assert text.isascii()
    assert text.count("\n") == 1
    assert json.loads(text)["notes"] == [HOSTILE]
    whole = json.loads("".join(json_array([decision_row(hostile())] * 2, {"schema": 1})))
    assert len(whole["rows"]) == 2
    assert json.loads("".join(json_array([], {"schema": 1}))) == {"schema": 1, "rows": []}


def test_csv_survives_hostile_text() -> None:
    outcome = hostile().stages[0][1]
    rows = [decision_row(hostile()), decision_row(hostile())]
    text = "".join(csv_lines(rows))
    assert not {c for c in text if ord(c) < 32 and c != "\n"}
    read = list(csv.DictReader(io.StringIO(text)))
    assert len(read) == 2
    assert json.loads(read[0]["notes"]) == [HOSTILE]
    assert read[0]["lse"] == "true"
    assert read[0]["batch"] == ""
    stage = "".join(csv_lines([stage_row("sizing", SHAPE, outcome)]))
    assert "\\x1b" in next(csv.DictReader(io.StringIO(stage)))["message"]


def test_markdown_survives_hostile_text() -> None:
    outcome = hostile().stages[0][1]
    for rows in ([decision_row(hostile())], [stage_row("sizing", SHAPE, outcome)]):
        lines = "".join(markdown_table(rows)).splitlines()
        assert len(lines) == 3
        unescaped = [line.replace("\\|", "").count("|") for line in lines]
        assert len(set(unescaped)) == 1, "as many cells as columns"
        assert "\x1b" not in lines[2]


def test_every_format_takes_no_rows() -> None:
    for format in ("jsonl", "csv", "markdown"):
        assert "".join(table_text(format, [], {"schema": 1})) == ""


def test_a_grid_gives_each_combination_once_and_in_order() -> None:
    grid = Grid(
        archs=("gfx942", "gfx950"),
        heads=(1, 2, 3),
        qlens=(1, 2),
        lse=(False, True),
        persistent=(True, False),
        causal=(True, False),
        cp_round_robin=(False, True),
        batches=(None, 4),
        page_sizes=(1, 64),
    )
    shapes = list(grid.shapes())
    assert len(shapes) == len(set(shapes)) == grid.size == 2 * 3 * 3 * 2**7
    assert shapes[0].page_size == 1
    assert shapes[1].page_size == 64
    assert [shape.arch for shape in shapes] == sorted(shape.arch for shape in shapes)
