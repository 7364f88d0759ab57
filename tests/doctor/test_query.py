"""Asking AITER itself, where it has an answer."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mlaprobe.core.shape import DecodeShape, Dtype
from mlaprobe.decode import support
from mlaprobe.decode.support import Agreement, Disagreement
from mlaprobe.system.doctor import query
from mlaprobe.system.doctor.model import Check, Severity

SHAPE = DecodeShape(arch="gfx950", q_dtype=Dtype.FP8, kv_dtype=Dtype.FP8, num_heads=96)
DEFINED = "def get_mla_decode_shape_support(num_heads, max_seqlen_qo, q_dtype, kv_dtype):\n"


def answers(text: str = DEFINED, kind: str = "installed") -> Any:
    """A source with some text in the file that would define it."""
    texts = {"aiter/ops/attention.py": text}
    return SimpleNamespace(source=SimpleNamespace(kind=kind), source_text=texts.get)


def checks(found: dict[str, Any], **source: str) -> list[Check]:
    """What is made of an answer."""
    asked = answers(**source)
    return list(query.query_check(asked, ("gfx950",), rocm=True, ask=lambda archs: found))


def test_only_where_it_is_defined() -> None:
    assert checks({}, text="def get_mla_metadata_info_v1():\n") == []
    assert checks({}, kind="git") == []
    assert not query.offers_query(answers(text=""))


def test_not_without_rocm() -> None:
    (check,) = query.query_check(answers(), ("gfx950",), rocm=False)
    assert check.severity is Severity.NOTE
    assert "was not asked" in check.found


def test_agreement() -> None:
    (check,) = checks({"asked": 36, "disagreements": [], "failures": []})
    assert check.severity is Severity.OK
    assert "36 shapes" in check.found


def test_disagreement() -> None:
    differ = [f"gfx950 fp8/fp8, {heads} heads: ..." for heads in range(7)]
    (check,) = checks({"asked": 36, "disagreements": differ, "failures": []})
    assert check.severity is Severity.WARNING
    assert check.more == (*differ[:5], "and 2 more")
    assert "report" in check.advice
    (check,) = checks({"asked": 36, "disagreements": [], "failures": ["96 heads: KeyError"]})
    assert check.severity is Severity.WARNING


@pytest.mark.parametrize("found", [{}, {"error": "no module named torch"}])
def test_it_cannot_be_asked(found: dict[str, Any]) -> None:
    (check,) = checks(found)
    assert check.severity is Severity.NOTE
    assert "could not be asked" in check.found
    assert found.get("error", "not there") in check.found


def test_the_process_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    script = "import sys; print('noise'); open(sys.argv[1], 'w').write('{\"asked\": 3}')"
    assert query.ask_elsewhere(("gfx950",), script) == {"asked": 3}
    aborted = query.ask_elsewhere((), "import os; os.abort()")
    assert "its process ended with -6" in aborted["error"]
    refused = query.ask_elsewhere((), "raise SystemExit('bad build')")
    assert refused["error"] == "its process ended with 1: bad build"
    monkeypatch.setattr(query, "PATIENCE", 0.2)
    assert "took more than" in query.ask_elsewhere((), "import time; time.sleep(60)")["error"]
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    assert "No such file" in query.ask_elsewhere(())["error"]


@pytest.mark.usefixtures("aiter_wheel")
def test_what_the_process_writes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    differ = Disagreement(shape=SHAPE, field="fold_factor", aiter="6", mlaprobe="1")
    asked: list[DecodeShape] = []

    def agree(functions: Any, capability: Any, shapes: list[DecodeShape]) -> Agreement:
        asked.extend(shapes)
        return Agreement(asked=len(shapes), disagreements=(differ,), failures=())

    monkeypatch.setattr(support, "agreement", agree)
    file = tmp_path / "answer.json"
    query.child(str(file), ["gfx950"])
    found = json.loads(file.read_text())
    assert found["asked"] == len(asked) > 10
    assert found["disagreements"] == [
        "gfx950 fp8/fp8, 96 heads, qlen 1: fold_factor is 6, and 1 by the source"
    ]
