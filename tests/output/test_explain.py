"""One shape, explained."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mlaprobe.core.shape import Decision, DecodeShape, Verdict
from mlaprobe.output.explaining.explain import excerpt_lines, outcome_words
from mlaprobe.output.explaining.explain import explain as lines_of
from mlaprobe.output.explaining.explain_data import explain_json
from mlaprobe.output.style import plain
from mlaprobe.reports.explanation import Excerpt, explain
from tests.output.fake import LONG_KNOB, QUIET_KNOB, Fake, at
from tests.output.goldens import check


def shape(**fields: Any) -> DecodeShape:
    given = {"arch": "gfx950", "q_dtype": "fp8", "kv_dtype": "fp8", "num_heads": 48, **fields}
    return DecodeShape(**given)


class Plainly(Fake):
    """A snapshot that was made without needs."""

    def records_needs(self, shape: DecodeShape) -> bool:
        return False


CASES: dict[str, dict[str, Any]] = {
    "native": {"num_heads": 64, "lse": True},
    "fold": {},
    "no-kernel": {"num_heads": 128, "qlen": 6},
    "no-reducer": {"q_dtype": "bf16", "kv_dtype": "bf16", "num_heads": 40},
    "rejected": {"num_heads": 12, "env": {LONG_KNOB: "1"}},
    "incoherent": {"q_dtype": "bf16", "num_heads": 128, "planner": {"q_dtype": None}},
    "unknown": {"arch": "gfx942", "num_heads": 112},
    "page-size": {"arch": "gfx1250", "num_heads": 16, "persistent": False, "batch": 4},
}


@pytest.mark.parametrize("name", CASES)
def test_explanations(name: str) -> None:
    found = explain(Fake(), shape(**CASES[name]))
    shown = plain(lines_of(found, width=100, spec="installed", can_resolve=True))
    check(f"explain-{name}.txt", shown)


def test_needs() -> None:
    found = explain(Fake(), shape(num_heads=64), needs=True)
    shown = plain(lines_of(found, width=100, spec="installed"))
    check("explain-needs.txt", shown)
    row = json.loads(explain_json(found))
    assert [need["outcome"] for need in row["needs"]] == ["REJECTED", "OTHER_METADATA", "UNKNOWN"]
    assert row["needs"][0]["evidence"][0]["file"] == "csrc/host.cu"
    assert row["needs"][1]["settings"] == {"limit": -1}


@pytest.mark.parametrize(
    ("answers", "asked", "said"),
    [
        (Fake(), {"num_heads": 12}, "does not run"),
        (Fake(), {"num_heads": 64, "route": "gluon"}, "gluon route"),
        (Plainly(), {"num_heads": 64}, "not recorded"),
    ],
)
def test_needs_that_are_not_there(answers: Fake, asked: dict[str, Any], said: str) -> None:
    found = explain(answers, shape(**asked), needs=True)
    assert found.needs is None
    row = json.loads(explain_json(found))
    assert row["needs"] is None
    assert said in row["needs_missing"]
    assert said in plain(lines_of(found, width=200, spec="installed"))
    assert "needs" not in plain(lines_of(explain(answers, shape(**asked)), width=99, spec=""))


def test_narrow() -> None:
    found = explain(Fake(), shape(num_heads=128, qlen=6))
    shown = plain(lines_of(found, width=60, spec="installed"))
    check("explain-narrow.txt", shown)
    assert max(map(len, shown.splitlines())) <= 60


def test_json() -> None:
    found = json.loads(explain_json(explain(Fake(), shape(num_heads=128, qlen=6))))
    assert found["verdict"] == "NO_KERNEL"
    assert found["stages"]["host"] == "no_kernel"
    assert [each["differs"] for each in found["nearest_rows"]] == [["lse"], ["Gqa", "lse"]]
    assert found["chain"][1]["evidence"][0]["source"].strip().startswith("const bool native")
    assert [each["differs"] for each in found["alternatives"]] == ["qlen"]
    assert found["alternatives"][0]["shape"]["qlen"] == 4


def test_knobs_are_tried_either_way() -> None:
    unset = explain(Fake(), shape())
    assert [(k.name, k.value, k.decision.verdict) for k in unset.knobs] == [
        (LONG_KNOB, "1", Verdict.NATIVE)
    ]
    assert unset.knobs_tried == (LONG_KNOB, QUIET_KNOB)
    given = explain(Fake(), shape(env={LONG_KNOB: "1"}))
    assert [(k.name, k.value, k.decision.verdict) for k in given.knobs] == [
        (LONG_KNOB, None, Verdict.FOLDED)
    ]


def test_knobs_that_were_not_read_are_not_asked_about() -> None:
    asked: list[DecodeShape] = []

    class Reads(Fake):
        def knobs_read(self, shape: DecodeShape) -> frozenset[str]:
            return frozenset({QUIET_KNOB})

        def decide(self, shape: DecodeShape) -> Decision:
            asked.append(shape)
            return super().decide(shape)

    found = explain(Reads(), shape())
    assert found.knobs == ()
    assert found.knobs_tried == (LONG_KNOB, QUIET_KNOB)
    assert {name for each in asked for name, _ in each.env} == {QUIET_KNOB}


def test_alternatives_are_the_nearest_that_do_better() -> None:
    fake = Fake()
    found = explain(fake, shape(arch="gfx1250", num_heads=16))
    assert [(a.what, a.decision.shape.page_size) for a in found.alternatives] == [("page_size", 64)]
    failing = explain(fake, shape(num_heads=12, lse=True))
    assert [(a.what, a.decision.shape.num_heads) for a in failing.alternatives] == [("heads", 16)]
    runs = explain(fake, shape(num_heads=40, q_dtype="bf16", kv_dtype="bf16"))
    assert [(a.what, a.decision.verdict) for a in runs.alternatives] == [
        ("heads", Verdict.FOLDED),
        ("heads", Verdict.NATIVE),
    ]


def excerpt(text: str | None, column: int = 1, clause: str = "clause", line: int = 7) -> Excerpt:
    return Excerpt(evidence=at("planner", "a.cu", line, column, clause), text=text)


def test_caret_stands_under_the_clause() -> None:
    lines = plain(excerpt_lines(excerpt("\t  if (a)\tb();", column=11), 80)).splitlines()
    assert lines[1].index("b()") == lines[2].index("^")


@pytest.mark.parametrize("column", [1, 50, 300, 390, 1000])
def test_long_lines_are_cut_around_the_caret(column: int) -> None:
    raw = "".join(f"{at:>9}|" for at in range(0, 400, 10))
    lines = plain(excerpt_lines(excerpt(raw, column=column), 60)).splitlines()
    assert all(len(each) <= 62 for each in lines)
    if column < len(raw):
        under = lines[1][lines[2].index("^")]
        assert under == raw[column - 1] or raw[column - 1] == " "


def test_no_line_to_show() -> None:
    lines = plain(excerpt_lines(excerpt(None, clause="a == b"), 60)).splitlines()
    assert lines[1].endswith("| a == b")
    assert len(lines) == 2


def test_hostile_source_is_shown_as_it_is() -> None:
    lines = plain(excerpt_lines(excerpt("a\x1b[2Jb == c", column=6), 60)).splitlines()
    assert "\\x1b[2Jb" in lines[1]
    assert lines[1].index("b ==") == lines[2].index("^")


def test_folds_in_words() -> None:
    def folded(fold: int = 1, qlen_fold: int = 1) -> str:
        decision = Decision(shape=shape(), verdict=Verdict.FOLDED, fold=fold, qlen_fold=qlen_fold)
        return outcome_words(decision)

    assert folded(fold=3) == "FOLDED by 3"
    assert folded(qlen_fold=2) == "FOLDED (query length by 2)"
    assert folded(fold=3, qlen_fold=2) == "FOLDED by 3 (query length by 2)"
