"""The HTML report as text: what it holds, and that nothing in it can get out."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlaprobe.core.shape import Decision, DecodeShape, Dtype, Operation, Verdict
from mlaprobe.output.escape import printable
from mlaprobe.output.html import Page, html_report, script_json
from mlaprobe.output.html.answers import Shared, base36, runs
from mlaprobe.output.html.page import page_data
from mlaprobe.reports.operations import Missing, Overview
from mlaprobe.reports.survey import survey
from mlaprobe.rulefiles.operations import operations
from tests.output import pages
from tests.output.fake import Fake


@pytest.fixture(scope="module")
def text() -> str:
    return html_report(pages.page())


@pytest.fixture(scope="module")
def hostile() -> str:
    return html_report(pages.hostile())


class Tags(HTMLParser):
    """Which elements a file has, with what in them."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str | None], str]] = []
        self._open = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs), ""))
        self._open = True

    def handle_endtag(self, tag: str) -> None:
        self._open = False

    def handle_data(self, data: str) -> None:
        if self._open:
            tag, attributes, before = self.found[-1]
            self.found[-1] = (tag, attributes, before + data)

    def all(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        """The elements of one kind."""
        return [(attributes, inside) for name, attributes, inside in self.found if name == tag]


def island(text: str) -> Any:
    """The data of a page."""
    ((_, data), _) = Tags(text).all("script")
    return json.loads(data)


def numbers(text: str) -> Iterator[int]:
    """What ``runs`` wrote."""
    for run in filter(None, text.split(" ")):
        number, _, count = run.partition("*")
        yield from [int(number, 36)] * int(count or "1", 36)


def filled(text: str, shape: DecodeShape) -> str:
    """A text with the numbers that the page fills in."""
    heads, qlen = shape.num_heads, shape.qlen
    for mark, number in (("\1", heads), ("\2", qlen), ("\3", heads * qlen)):
        text = text.replace(mark, str(number))
    return text


@given(st.text(max_size=40) | st.from_regex(r"[a-z=:]{0,3}([0-9]{1,3}[ ,=.:]){1,6}"))
def test_texts_with_numbers_left_open_are_read_back(text: str) -> None:
    for heads, qlen in ((16, 1), (48, 4), (4, 4), (1, 1), (128, 8)):
        shape = replace(pages.SHAPE, num_heads=heads, qlen=qlen)
        book = Shared()
        place = book.about(text, shape)
        assert filled(book.texts.by_number[place], shape) == printable(text)


def test_what_is_the_same_of_many_shapes_is_there_once() -> None:
    book = Shared()
    for heads in range(16, 129, 16):
        shape = replace(pages.SHAPE, num_heads=heads, qlen=3)
        book.about(f"no kernel for heads={heads}, rows {heads * 3}, qlen 3", shape)
    assert len(book.texts.by_number) == 1


@given(st.lists(st.integers(0, 50000) | st.integers(0, 2)))
def test_runs_are_read_back(wanted: list[int]) -> None:
    assert list(numbers(runs(wanted))) == wanted


@given(st.integers(0, 10**12))
def test_base_36(number: int) -> None:
    assert int(base36(number), 36) == number


def check_clauses(data: Any, outcomes: list[int], decision: Decision) -> None:
    """Compares the clauses of a cell with the decision's, up to the stage that decided."""
    texts, decided = data["texts"], False
    for at, (stage, outcome) in zip(outcomes, decision.stages, strict=True):
        name, *_, places, _ = data["outcomes"][at]
        clauses = [data["clauses"][place] for place in places]
        found = [(texts[file], line, texts[clause]) for _, file, line, clause in clauses]
        expected = () if decided else outcome.evidence
        assert texts[name] == stage
        assert found == [(each.file, each.line, each.text) for each in expected]
        decided = decided or stage == decision.stage


def test_every_cell_is_the_decision(text: str) -> None:
    data = island(text)
    answers, grid, texts = Fake(), pages.grid(), data["texts"]
    seen = set()
    for block in data["map"]["blocks"]:
        for place, cells in block["planes"].items():
            lse, mode = map(int, place.split(","))
            found = list(numbers(cells))
            assert len(found) == len(grid.heads) * len(grid.qlens)
            for at, record in enumerate(found):
                q_dtype, kv_dtype = map(Dtype, block["dtype"].split("/"))
                shape = DecodeShape(
                    arch=block["arch"],
                    q_dtype=q_dtype,
                    kv_dtype=kv_dtype,
                    num_heads=grid.heads[at // len(grid.qlens)],
                    qlen=grid.qlens[at % len(grid.qlens)],
                    lse=grid.lse[lse],
                    persistent=grid.persistent[mode],
                )
                decision = answers.decide(shape)
                verdict, _, passes, _, _, message, kernels, *_ = data["records"][record]
                assert texts[verdict] == decision.verdict.value
                assert passes == decision.fold
                said = "" if message < 0 else filled(texts[message], shape)
                assert said == (decision.message or "")
                assert [texts[data["kernels"][k][0]] for k in kernels] == [
                    kernel.symbol for kernel in decision.kernels
                ]
                seen.add(decision.verdict)
                check_clauses(data, data["records"][record][8], decision)
    assert {Verdict.NATIVE, Verdict.FOLDED, Verdict.NO_KERNEL, Verdict.UNKNOWN} <= seen


def test_what_is_different_from_before(text: str) -> None:
    data = island(text)
    grid = pages.grid()
    different = set()
    for block in data["map"]["blocks"]:
        for place, cells in block["planes"].items():
            before = numbers(block["before"][place])
            for at, (record, was) in enumerate(zip(numbers(cells), before, strict=True)):
                if data["records"][record][1] != was:
                    different.add(grid.heads[at // len(grid.qlens)])
    assert different == {64}


@pytest.mark.parametrize("page", ["text", "hostile"])
def test_only_its_own_script_and_style_may_run(page: str, request: pytest.FixtureRequest) -> None:
    tags = Tags(request.getfixturevalue(page))
    names = {tag for tag, _, _ in tags.found}
    assert names <= {"html", "head", "meta", "title", "style", "body", "noscript", "script"}
    (policy,) = [
        attributes["content"]
        for attributes, _ in tags.all("meta")
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy is not None
    assert policy.startswith("default-src 'none';")
    allowed = dict(part.split(" ", 1) for part in policy.split("; "))
    (data, _), (attributes, script) = tags.all("script")
    assert (data["type"], attributes) == ("application/json", {})
    ((_, style),) = tags.all("style")
    for name, inside in (("script-src", script), ("style-src", style)):
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert allowed[name] == f"'sha256-{digest}'"


def test_nothing_is_loaded_from_anywhere(text: str) -> None:
    ((_, style),) = Tags(text).all("style")
    script = Tags(text).all("script")[1][1]
    assert not re.search(r"url\(|@import|https?:", style)
    assert not re.search(r"https?:|innerHTML|eval\(|document\.write|fetch\(|import\(", script)


def test_hostile_text_is_data(hostile: str) -> None:
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', hostile, re.S)
    assert data is not None
    assert re.fullmatch(r"[\x20-\x7e]*", data[1])
    assert not re.search("[<>&]", data[1])
    loaded = json.loads(data[1])
    assert printable(pages.HOSTILE) in loaded["texts"]
    assert pages.HOSTILE not in json.dumps(loaded, ensure_ascii=False)
    (title,) = Tags(hostile).all("title")
    assert printable(pages.HOSTILE) in title[1]


@given(st.text())
def test_script_json_is_read_back(text: str) -> None:
    written = script_json([text, {text: None}])
    assert json.loads(written) == [text, {text: None}]
    assert not re.search("[<>&\u2028]", written)


def test_the_same_page_twice(text: str) -> None:
    assert html_report(pages.page()) == text


def test_one_arch_without_switches() -> None:
    grid = pages.grid()
    small = replace(grid, archs=("gfx950",), lse=(True,), persistent=(False,), page_sizes=(64,))
    data = page_data(Page(survey=survey(Fake(), small), spec="installed"))
    assert data["map"]["switches"] == []
    assert data["fixed"] == "with LSE, non-persistent, causal, page size 64"
    assert data["options"] == "--lse --no-persistent --page-size 64"
    assert data["spec"] == ""
    assert (data["findings"], data["changes"], data["deployments"]["places"]) == (None, None, [])


def test_other_operations_are_listed() -> None:
    entry = operations()[Operation.TRITON].entries[0]
    found = Overview(entry=entry, setting=pages.SHAPE, runs=(1, 2, 16), fails=())
    missing = Missing(entry=entry, why=pages.HOSTILE)
    asked = replace(survey(Fake(), pages.grid()), operations=(found, missing))
    data = page_data(Page(survey=asked, spec="installed"))
    first, second = data["operations"]
    assert first == "triton (mla_decode_fwd) gfx950 fp8/fp8: runs at 1-2, 16"
    assert second.startswith("triton (mla_decode_fwd): ")
    assert "\x1b" not in second
    assert page_data(Page(survey=survey(Fake(), pages.grid()), spec="x"))["operations"] == []
