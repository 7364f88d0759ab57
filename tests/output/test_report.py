"""The report that people read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

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
from mlaprobe.output.report import report
from mlaprobe.output.report_data import report_text
from mlaprobe.output.style import plain
from mlaprobe.reports.survey import Others, Survey, head_counts, survey
from tests.output.fake import Fake, FakeSource
from tests.output.goldens import check

FP8 = (Dtype.FP8, Dtype.FP8)


def asked(fake: Fake | None = None, **fields: Any) -> Survey:
    fake = fake or Fake()
    grid = Grid(**{"archs": fake.archs, "qlens": tuple(range(1, 9)), **fields})
    if "heads" in fields:
        return survey(fake, grid)
    heads, others = head_counts(fake, grid)
    return survey(fake, replace(grid, heads=heads), others=others)


def text(found: Survey, width: int = 100, spec: str = "installed", **more: Any) -> str:
    return plain(report(found, width=width, spec=spec, **more))


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_whole_report(width: int) -> None:
    shown = text(asked(), width, can_resolve=True)
    check(f"report-{width}.txt", shown)
    assert max(map(len, shown.splitlines())) <= max(width, 80), "only commands may be longer"


def test_too_narrow_for_words() -> None:
    fake = Fake()
    fake.rules["fp8/fp8"] = lambda shape: shape.num_heads == 16 * shape.qlen
    shown = text(asked(fake, archs=("gfx950",), dtypes=(FP8,)), 60)
    check("report-short.txt", shown)
    assert max(map(len, shown.splitlines())) <= 70


def test_a_git_revision_with_every_mode() -> None:
    source = FakeSource(
        label="/src/aiter @ v9", kind="git", release=None, commit="0" * 40, location="/src/aiter"
    )
    found = asked(
        Fake(source=source),
        archs=("gfx950",),
        dtypes=(FP8,),
        heads=(*range(1, 17), 48, 128),
        qlens=(1, 4),
        lse=(False, True),
        persistent=(True, False),
        env=(("AITER_TRY_OTHER_KERNELS", "1"),),
    )
    check("report-modes.txt", text(found, spec="/src/my aiter@v9"))
    assert found.others is Others.NONE


def test_counts_are_ranges_as_far_as_their_marks_agree() -> None:
    """Of 1 to 20 heads all are native; where the LSE is wanted too, 8 and 9 are not."""

    class Gapped(Fake):
        def decide(self, shape: DecodeShape) -> Decision:
            gap = shape.lse and shape.num_heads in (8, 9)
            return Decision(shape=shape, verdict=Verdict.NO_KERNEL if gap else Verdict.NATIVE)

    found = asked(
        Gapped(), archs=("gfx950",), dtypes=(FP8,), heads=(*range(1, 13), 16, 20), qlens=(1,)
    )
    assert "native at qlen 1: 1-7, 8-9*, 10-12, 16, 20\n" in text(found)


def test_markdown() -> None:
    found = asked(archs=("gfx950",))
    check("report.md", "".join(report_text("markdown", found)))


def test_where_the_cells_are_native_everywhere_there_is_no_trouble() -> None:
    shown = text(asked(archs=("gfx950",), dtypes=(FP8,), heads=(16,), qlens=(1,)))
    assert "Contradictions" not in shown
    assert "native at qlen 1: 16" in shown


def test_no_native_count() -> None:
    shown = text(asked(archs=("gfx950",), dtypes=(FP8,), heads=(48,), qlens=(1,)))
    assert "no head count is native" in shown


def test_many_reasons_are_cut() -> None:
    heads = tuple(range(1, 8))
    shown = text(asked(archs=("gfx950",), dtypes=(FP8,), heads=heads, qlens=(1,)))
    assert "and 4 more: mlaprobe explain tells each" in shown


def test_heads_without_a_reducer_to_ask() -> None:
    fake = Fake(stage_status=(("reducer", "absent", ""),))
    grid = Grid(archs=("gfx950",))
    assert head_counts(fake, grid)[1] is Others.NOT_ASKED
    assert head_counts(Fake(), replace(grid, persistent=(True, False)))[1] is Others.NOT_ASKED
    heads, others = head_counts(Fake(), grid)
    assert others is Others.NOT_NATIVE
    assert 72 in heads, "not usual, but it has a reducer"


def test_every_asked_shape_is_asked_once() -> None:
    fake = Fake()
    found = asked(fake, archs=("gfx950",), heads=(16, 24, 48), qlens=(1, 2))
    assert len(fake.asked) == len(set(fake.asked)) == len(list(found.decisions))


def test_hostile_text_is_harmless() -> None:
    source = FakeSource(
        label="a`b|c\x1b[31m", kind="git", release="v1\n# title", commit="x\x1b]0;y\x07"
    )
    fake = Fake(source=source, archs=("gfx\x1b[2J",), stage_status=(("a\nb", "absent", "c\rd"),))
    found = asked(fake, archs=("gfx950",), dtypes=(FP8,), heads=(16, 48), qlens=(1,))
    for shown in (text(found), "".join(report_text("markdown", found))):
        assert not {c for c in shown if ord(c) < 32 and c != "\n"}
        assert "\n# title" not in shown
    for format in ("json", "jsonl", "csv"):
        assert "\x1b" not in "".join(report_text(format, found))


def test_what_runs_otherwise() -> None:
    fake = Fake()
    found = asked(fake, archs=("gfx1250",), dtypes=(FP8,), heads=(16,), qlens=(1,))
    assert "some of it runs with --page-size 64" in text(found)
    assert found.blocks[0].runs_with == replace(found.blocks[0].setting, page_size=64)
    never = asked(fake, archs=("gfx1250",), dtypes=(FP8,), heads=(12,), qlens=(1,))
    assert never.blocks[0].runs_with is None
    assert "some of it runs" not in text(never)


class Obscure(Fake):
    """A source of which some head counts cannot be known, and the rest is refused."""

    def __init__(self, unknown: tuple[tuple[int, int], ...]) -> None:
        super().__init__()
        self.unknown = unknown

    def decide(self, shape: DecodeShape) -> Decision:
        known = (shape.num_heads, shape.qlen) not in self.unknown
        clause = Evidence(stage="planner", file="p.cuh", line=3 if known else 77, text="x")
        outcome = StageOutcome(
            stage="planner",
            status=Status.REJECTED if known else Status.UNKNOWN,
            message="no such count" if known else "a loop without an end",
            evidence=(clause,),
        )
        return Decision(
            shape=shape,
            verdict=Verdict.REJECTED if known else Verdict.UNKNOWN,
            stage="planner",
            message=outcome.message,
            stages=(("planner", outcome),),
        )


@pytest.mark.parametrize("qlens", [(1,), (1, 2)])
def test_nothing_runs_only_where_all_is_known(qlens: tuple[int, ...]) -> None:
    heads = (16, 32, 48, 64)
    for number in range(len(heads) + 1):
        fake = Obscure(tuple((count, qlens[-1]) for count in heads[len(heads) - number :]))
        found = asked(fake, archs=("gfx950",), dtypes=(FP8,), heads=heads, qlens=qlens)
        shown = text(found)
        assert ("  nothing runs\n" in shown) is (number == 0)
        told = f"nothing is known to run: not known for {number} of 4 head counts"
        assert (told in shown) is (number > 0)
        assert ("p.cuh:77" in shown.partition("Not known")[0]) is (number > 0), "the obstacle"
        assert ("no such count" in shown) is (number < 4)
        (block,) = found.blocks
        assert len(block.unknown) == number
        page = "".join(report_text("markdown", found))
        assert ("No head count is native." in page) is (number == 0)
        assert ("No head count is known to be native." in page) is (number > 0)
