"""What is shown of emulated launches, and which of them belong to a decision."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from mlaprobe.core.enums import Standing, Status, Verdict
from mlaprobe.core.shape import Decision, DecodeShape, Dtype, Kernel, StageName, StageOutcome
from mlaprobe.output.explaining.emulated import emulation_lines, emulation_rows, overview_lines
from mlaprobe.output.style import Line
from mlaprobe.reports import emulated
from mlaprobe.reports.emulated import emulations, overview
from mlaprobe.rulefiles.outcomes import KernelRecord, KernelRun

GIB = 1 << 30
BLOB, OTHER = "a" * 40, "b" * 40
KERNEL = Kernel(symbol="k", co="hsa/gfx950/mla/k.co", co_present=True, blob=BLOB)
SHAPE = DecodeShape(arch="gfx950", q_dtype=Dtype.FP8, kv_dtype=Dtype.FP8, num_heads=16)
RUN = KernelRun(dtype="fp8/fp8", heads=16, qlen=1, kv=((200, 163),), outcome=Standing.PASSED)
WRONG = replace(RUN, outcome=Standing.WRONG, text="7 of 9 values differ")

Know = Callable[..., None]


@pytest.fixture
def know(monkeypatch: pytest.MonkeyPatch) -> Know:
    """Makes some runs of the kernel's file known."""

    def make(*runs: KernelRun) -> None:
        record = KernelRecord(blob=BLOB, kernel="k", co="k.co", release="v0.1.20", runs=runs)
        monkeypatch.setattr(emulated, "record_of", {BLOB: record}.get)

    return make


def decided(shape: DecodeShape = SHAPE, **dispatched: Any) -> Decision:
    """A decision that launches the kernel."""
    dispatcher = StageOutcome(
        stage="dispatcher",
        status=Status.NATIVE,
        **{"final_heads": shape.num_heads, "persistent": shape.persistent, **dispatched},
    )
    return Decision(
        shape=shape,
        verdict=Verdict.NATIVE,
        kernels=(KERNEL,),
        stages=((StageName.DISPATCHER, dispatcher),),
    )


def text(lines: list[Line]) -> str:
    return "\n".join("".join(span.text for span in each) for each in lines)


@pytest.mark.parametrize(
    "change",
    [
        {"dtype": "bf16/bf16"},
        {"heads": 32},
        {"qlen": 2},
        {"lse": True},
        {"persistent": False},
        {"world": 2},
    ],
)
def test_another_launch_says_nothing_of_this_one(know: Know, change: dict[str, Any]) -> None:
    know(replace(WRONG, **change))
    (found,) = emulations(decided())
    assert found.outcome is None
    assert found.alike == found.otherwise == ()


@pytest.mark.parametrize(
    "change",
    [{"page_size": 64}, {"kv_splits": 1}, {"kv_cache_bytes": 5 * GIB}, {"scales": (0.5, 1.5)}],
)
def test_other_circumstances_are_kept_apart(know: Know, change: dict[str, Any]) -> None:
    know(RUN, replace(WRONG, **change))
    (found,) = emulations(decided())
    assert found.outcome is Standing.PASSED
    assert found.otherwise == (replace(WRONG, **change),)


def test_the_page_size_of_the_shape_is_the_usual_one(know: Know) -> None:
    know(RUN, replace(WRONG, page_size=64))
    (found,) = emulations(decided(replace(SHAPE, page_size=64)))
    assert found.outcome is Standing.WRONG
    assert found.otherwise == (RUN,)


def test_the_worst_outcome_counts(know: Know) -> None:
    know(RUN, replace(WRONG, kv=((1,),)), replace(RUN, kv=((5,),)))
    (found,) = emulations(decided())
    assert found.outcome is Standing.WRONG


def test_the_mask_of_one_token_hides_nothing(know: Know) -> None:
    know(RUN)
    (found,) = emulations(decided(replace(SHAPE, causal=False)))
    assert found.outcome is Standing.PASSED
    know(replace(RUN, qlen=2))
    (found,) = emulations(decided(replace(SHAPE, causal=False, qlen=2)))
    assert found.outcome is None


@pytest.mark.parametrize("fold", [{"fold": 3}, {"qlen_fold": 2}])
def test_no_run_says_that_a_folded_launch_is_right(know: Know, fold: dict[str, int]) -> None:
    """Its kernel may be right and the tensors not fit the fold."""
    know(RUN, replace(RUN, qlen=2), replace(RUN, heads=48))
    folded = replace(decided(replace(SHAPE, num_heads=48), final_heads=16), **fold)  # type: ignore[arg-type]
    (found,) = emulations(folded)
    assert found.record is not None
    assert found.outcome is None
    assert found.otherwise == ()


def test_a_page_size_that_was_never_run(know: Know) -> None:
    know(RUN, replace(WRONG, page_size=64))
    found = emulations(decided(replace(SHAPE, page_size=16)))
    assert text(emulation_lines(found, 80)).endswith(
        "\n  the file was run, but not with such a launch"
        "\n  right also at page size 1"
        "\n  WRONG at page size 64: 7 of 9 values differ"
    )


def test_a_downgrade_to_the_other_mode_is_what_is_launched(know: Know) -> None:
    know(replace(RUN, persistent=False))
    (found,) = emulations(decided(persistent=False))
    assert found.outcome is Standing.PASSED


def test_another_file_is_not_blamed(know: Know) -> None:
    know(WRONG)
    for blob in (OTHER, None):
        decision = replace(decided(), kernels=(replace(KERNEL, blob=blob),))
        (found,) = emulations(decision)
        assert found.record is None
        assert emulation_lines([found], 80) == []
        assert emulation_rows(decision) == []


def test_what_does_not_run_launches_nothing(know: Know) -> None:
    know(WRONG)
    assert emulations(replace(decided(), verdict=Verdict.NO_KERNEL)) == ()
    assert len(emulations(replace(decided(), verdict=Verdict.ERRATUM))) == 1


def test_lines(know: Know) -> None:
    know(
        RUN,
        replace(RUN, kv=((1, 2, 64),)),
        replace(RUN, kv_splits=1),
        replace(RUN, kv_cache_bytes=3 * GIB, kv=((40,),)),
        replace(WRONG, kv_cache_bytes=5 * GIB, kv=((40,),)),
        replace(WRONG, kv_cache_bytes=20 * GIB, text="9 of 9"),
        replace(WRONG, kv_cache_bytes=20 * GIB, scales=(0.5, 1.5)),
        replace(RUN, scales=(0.5, 1.5)),
        replace(WRONG, page_size=64, outcome=Standing.UNWRITTEN, text=""),
    )
    assert text(emulation_lines(emulations(decided()), 80)) == (
        "\n"
        "Emulated, nothing was run on a GPU\n"
        "  right at 1 to 200 KV tokens, as v0.1.20 launches it\n"
        "  right also with 1 KV split; in a cache of 3 GiB\n"
        "  UNWRITTEN at page size 64\n"
        "  WRONG in a cache of 5 GiB; in a cache of 20 GiB: 7 of 9 values differ"
    )
    know(RUN, replace(WRONG, scales=(0.5, 1.5)))
    assert text(emulation_lines(emulations(decided()), 80)).endswith(
        "\n  WRONG with scales 0.5 and 1.5: 7 of 9 values differ"
    )
    know(WRONG)
    assert text(emulation_lines(emulations(decided()), 80)).endswith(
        "\n  WRONG at 163 to 200 KV tokens, as v0.1.20 launches it: 7 of 9 values differ"
    )
    know(replace(RUN, qlen=4))
    assert text(emulation_lines(emulations(decided()), 80)).endswith(
        "\n  the file was run, but not with such a launch"
    )


def test_lines_of_several_launches(know: Know) -> None:
    know(RUN, replace(WRONG, qlen=2))
    several = [*emulations(decided()), *emulations(decided(replace(SHAPE, qlen=2)))]
    assert text(emulation_lines([*several, *several], 80)) == (
        "\n"
        "Emulated, nothing was run on a GPU\n"
        "  hsa/gfx950/mla/k.co\n"
        "    right at 163 to 200 KV tokens, as v0.1.20 launches it\n"
        "  hsa/gfx950/mla/k.co\n"
        "    WRONG at 163 to 200 KV tokens, as v0.1.20 launches it: 7 of 9 values differ"
    )


def test_rows(know: Know) -> None:
    know(RUN, replace(WRONG, kv_cache_bytes=5 * GIB, kv=((40,), (41,))))
    (row,) = json.loads(json.dumps(emulation_rows(decided())))
    assert row["blob"] == BLOB
    assert (row["launched_as"], row["outcome"]) == ("v0.1.20", "PASSED")
    assert [run["kv_cache_bytes"] for run in row["runs"]] == [None, 5 * GIB]
    assert [run["kv_lens"] for run in row["runs"]] == [[[200, 163]], [[40], [41]]]


def test_overview(know: Know) -> None:
    """Three files: one right, one not, one that was never run; what does not run counts for
    nothing."""
    know(RUN, replace(WRONG, qlen=2))
    unknown = replace(KERNEL, co="hsa/gfx950/mla/u.co", blob=OTHER)
    right, wrong = decided(), decided(replace(SHAPE, qlen=2))
    other = replace(decided(), kernels=(unknown,))
    found = overview([right, other])
    assert (found.kernels, found.right, found.not_run, found.faults) == (2, 1, 1, ())
    found = overview([right, wrong, other, replace(wrong, verdict=Verdict.ERRATUM)])
    assert (found.kernels, found.right, found.not_run) == (2, 0, 1)
    (fault,) = found.faults
    assert fault.shapes == (wrong.shape,)
    assert text(overview_lines(found, 80)) == (
        "\n"
        "Emulated, nothing was run on a GPU\n"
        "  of 2 code objects behind these answers 0 right where they were run, 1 not, 1\n"
        "  not run\n"
        "  WRONG: 7 of 9 values differ\n"
        "    gfx950 fp8/fp8: 16 heads at qlen 2\n"
        "    in hsa/gfx950/mla/k.co"
    )
    assert overview_lines(overview([other]), 80) == []
