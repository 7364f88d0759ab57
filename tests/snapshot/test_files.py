"""Snapshot files: small differences are read as such, and what is no whole snapshot is refused."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from mlaprobe.core.shape import DecodeShape, Dtype
from mlaprobe.errors import SourceError
from mlaprobe.snapshot import Snapshot
from mlaprobe.snapshot.file import SCHEMA, SnapshotError, parse
from mlaprobe.snapshot.making import make, sealed
from mlaprobe.snapshot.scope import Scope
from tests.findings.pairs import fold_32
from tests.stages.ask import opened
from tests.trees import today
from tests.trees.common import Tree, code_object

SCOPE = Scope(archs=("gfx950",), heads=(8, 16, 32, 48, 64, 128), qlens=(1, 2), page_sizes=(1,))
INSIDE = DecodeShape(arch="gfx950", q_dtype=Dtype.FP8, kv_dtype=Dtype.FP8, num_heads=32)


@pytest.fixture(scope="module")
def take(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Tree], str]:
    """Takes snapshots of trees."""
    return lambda tree: make(opened(tmp_path_factory.mktemp("tree"), tree), scope=SCOPE)


@pytest.fixture(scope="module")
def text(take: Callable[[Tree], str]) -> str:
    return take(today.tree())


# --- readable differences ------------------------------------------------------------------------


def changed_lines(old: str, new: str) -> list[str]:
    """What a diff shows, without the marks of a list that goes on or ends."""
    found = difflib.ndiff(old.splitlines(), new.splitlines())
    return [line[2:].rstrip(",") for line in found if line[0] in "+-"]


def about(line: str) -> str:
    """What a line is about, by its own words."""
    forms = {
        "a file": r'"[\w./]+\.(?:py|cuh?|h|csv)":"[0-9a-f]{40}"',
        "a clause": r'"\w+":\["[a-z ]+",\d+,\d+,\d+,".+"\]',
        "a record": r'"~?\w+":\{.*"(?:status|unset)":.*\}',
        "a setting": r'\{"for":\["[^"]+".*\}',
        "the checksum": r'"sha256":"[0-9a-f]{64}"',
    }
    return next((name for name, form in forms.items() if re.fullmatch(form, line)), line)


def test_a_changed_clause_changes_few_lines(text: str, take: Callable[[Tree], str]) -> None:
    """32 heads of fp8 leave a clause of the planner and one of the dispatcher."""
    lines = changed_lines(text, take(fold_32()))
    assert {about(line) for line in lines} <= {
        *("a file", "a clause", "a record", "a setting", "the checksum"),
    }
    assert len(lines) < len(text.splitlines()) // 10
    assert {line.partition(":")[0] for line in lines if about(line) == "a file"} == {
        f'"{today.DISPATCHER}"',
        f'"{today.PLANNER}"',
    }
    clauses = [line for line in lines if about(line) == "a clause"]
    assert len(clauses) == 4, "each is gone as it was, and there as it is"
    assert all("128" in each for each in clauses)
    settings = [line for line in lines if about(line) == "a setting"]
    assert all("fp8/fp8" in each and "bf16" not in each for each in settings)


def test_a_line_above_moves_nothing_but_places(text: str, take: Callable[[Tree], str]) -> None:
    tree = today.tree()
    lines = changed_lines(text, take({**tree, today.PLANNER: "//\n" + str(tree[today.PLANNER])}))
    assert {about(line) for line in lines} == {"a file", "a clause", "the checksum"}


def test_a_replaced_code_object_changes_its_own_line(
    text: str, take: Callable[[Tree], str]
) -> None:
    symbol = "mla_fp8_fp8_h32_q1_ps"
    file = {f"hsa/gfx950/mla/{symbol}.co": code_object(symbol, lds=1024)}
    lines = changed_lines(text, take({**today.tree(), **file}))
    assert len([line for line in lines if symbol in line]) == 2
    assert {about(line) for line in lines if symbol not in line} == {"the checksum"}


def test_equal_sources_make_equal_bytes(text: str, take: Callable[[Tree], str]) -> None:
    assert take(dict(reversed(list(today.tree().items())))) == text


def test_each_record_has_a_line(text: str) -> None:
    data = json.loads(text)
    parts = [data[part] for part in ("evidence", "phrases", "records")]
    for part in (*parts, *data["kernels"].values()):
        for name, value in part.items():
            line = f"{json.dumps(name)}:{json.dumps(value, separators=(',', ':'))}"
            assert re.search(rf"^{re.escape(line)},?$", text, re.MULTILINE), line


def as_schema_2(text: str) -> dict[str, Any]:
    """What schema 2 wrote: everything in full."""
    data: dict[str, Any] = json.loads(text)
    phrases = data.pop("phrases")
    for record in data["records"].values():
        if isinstance(record.get("message"), list):
            record["message"] = phrases[record["message"][0]]
        for part in {"evidence", "kernels"} & record.keys():
            record[part] = record[part].split()
        if record.get("status") in ("no_kernel", "rejected"):
            record.setdefault("failure", "abort")
            if record["failure"] is None:
                del record["failure"]
    for name, table in data["tables"].items():
        data["tables"][name] = data["tables"][table] if isinstance(table, str) else table
    rows = [(folder, n, row) for folder, of in data["kernels"].items() for n, row in of.items()]
    data["kernels"] = {}
    for folder, name, (symbol, file, *others) in rows:
        if isinstance(symbol, list):
            symbol = file.removesuffix(".co").join(symbol)
        data["kernels"][name] = [symbol, folder + file, *others]
    return data


def test_schema_1_is_read(text: str) -> None:
    """It says neither blob nor LDS of a kernel."""
    data = as_schema_2(text)
    before = {name: row[:4] for name, row in data["kernels"].items()}
    data |= {"schema": 1, "kernels": before}
    contents = parse(resealed(json.dumps(data)).encode(), "aiter.pin")
    assert {(k.blob, k.lds) for k in contents.kernels.values()} == {(None, None)}
    assert [[k.symbol, k.co, k.co_present, k.has_symbol] for k in contents.kernels.values()] == [
        *before.values()
    ]


def test_schema_2_is_read(text: str) -> None:
    """It shares and leaves out nothing."""
    now = json.loads(text)
    assert now["phrases"]
    assert any(isinstance(row[0], list) for of in now["kernels"].values() for row in of.values())
    assert any("failure" not in r for r in now["records"].values() if r.get("key"))
    both = (resealed(json.dumps(as_schema_2(text)), schema=2), text)
    before, after = (Snapshot(parse(each.encode(), "a.pin"), label="a.pin") for each in both)
    for heads, lse, persistent in product(SCOPE.heads, (False, True), (False, True)):
        shape = replace(INSIDE, num_heads=heads, lse=lse, persistent=persistent)
        assert before.decide(shape) == after.decide(shape)


# --- what is refused -----------------------------------------------------------------------------


def resealed(text: str, **changed: object) -> str:
    """A snapshot with some values changed, and a checksum that fits."""
    data = {**json.loads(text), **changed}
    del data["sha256"]
    return sealed(json.dumps(data) + "\n")


def test_a_whole_one_is_read(text: str) -> None:
    assert parse(text.encode(), "aiter.pin").scope == SCOPE
    assert parse(resealed(text).encode(), "aiter.pin").scope == SCOPE
    assert parse(text.replace("\n", "\r\n").encode(), "aiter.pin").scope == SCOPE


def decided(text: str) -> None:
    """Reads a snapshot, and asks it something: parts that do not fit show when they are wanted."""
    Snapshot(parse(text.encode(), "aiter.pin"), label="aiter.pin").decide(INSIDE)


@pytest.mark.parametrize(
    ("edit", "message", "hint"),
    [
        (
            lambda text: resealed(text, schema=SCHEMA + 1),
            f"aiter.pin is a snapshot of schema {SCHEMA + 1}, and this mlaprobe reads schema "
            f"{SCHEMA}",
            "upgrade mlaprobe",
        ),
        (lambda text: resealed(text, schema=None), "of schema None", "take the snapshot anew"),
        (
            lambda text: json.dumps({"format": "mlaprobe snapshot", "schema": 99, "new": {}}),
            "of schema 99",
            "upgrade mlaprobe",
        ),
        (lambda text: text[:-1000], "is damaged: it is cut off or was edited", "take it anew"),
        (lambda text: text[:40], "is damaged: it is cut off or was edited", "take it anew"),
        (
            lambda text: text.replace('"native"', '"rejected"', 1),
            "is damaged: its checksum is another",
            "take it anew",
        ),
        (
            lambda text: text.replace('"archs":', '<<<<<<< ours\n"archs":', 1),
            "is damaged: it is cut off or was edited",
            "not made to be edited or merged by hand",
        ),
        (lambda text: resealed(text, evidence={}, records=3), "damaged", "take it anew"),
        (lambda text: resealed(text, archs=None), "is damaged: something is missing", "take it"),
        (lambda text: resealed(text, heads="1-x"), "is damaged: something is missing", "take it"),
        (lambda text: "", "is no snapshot of mlaprobe", "take one"),
        (lambda text: "{}", "is no snapshot of mlaprobe", "take one"),
        (lambda text: "[1]", "is no snapshot of mlaprobe", "take one"),
        (lambda text: "deployments: []\n", "is no snapshot of mlaprobe", "take one"),
        (lambda text: '{"format":"of another program","schema":1}', "is no snapshot", "take one"),
    ],
)
def test_refused(text: str, edit: Callable[[str], str], message: str, hint: str) -> None:
    assert edit(text) != text
    with pytest.raises(SnapshotError) as caught:
        decided(edit(text))
    assert message in caught.value.message
    assert "aiter.pin" in caught.value.message
    assert hint in str(caught.value.hint)
    assert isinstance(caught.value, SourceError)
    assert caught.value.exit_code == 1
