"""Requirements that came or went between two trees."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mlaprobe.compare.diff import Kind, compare
from mlaprobe.compare.gate import check
from mlaprobe.compare.results import CLEAN, FAILED, UNKNOWN, compared
from mlaprobe.compare.scope import compare_wanted
from mlaprobe.core.axes import OMITTED
from mlaprobe.core.grid import Grid
from mlaprobe.core.shape import Dtype
from mlaprobe.deciding.capability import Capability
from mlaprobe.rulefiles.serving import Serving
from tests.padding.fake import Fake
from tests.stages.ask import opened
from tests.stages.test_needs import needing
from tests.trees import today

GRID = Grid(
    archs=("gfx950",),
    dtypes=((Dtype.FP8, Dtype.FP8),),
    heads=(16, 48),
    qlens=(1, 2),
    lse=(False,),
    persistent=(True,),
)


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Capability:
    return opened(tmp_path_factory.mktemp("old"), today.tree())


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> Capability:
    return opened(tmp_path_factory.mktemp("new"), needing())


def test_what_came(old: Capability, new: Capability) -> None:
    plain = compare(old, new, (GRID,))
    found = compare_wanted(old, new, grids=(GRID, replace(GRID, planner=OMITTED)), needs=True)
    assert plain.of(Kind.NEEDS) == ()
    came = {c.need.id: c for c in found.of(Kind.NEEDS) if c.need is not None}
    assert {"q-scale-absent", "output-fp8", "planner-split-limit"} <= came.keys()
    assert "q-sliced" not in came, "it was needed before"
    scale = came["q-scale-absent"]
    assert scale.message == (
        "gfx950 fp8/fp8, 16, 48 heads, qlen 1-2: "
        "needs: pass q_scale (with no q_scale it is REJECTED)"
    )
    assert scale.new_clause is not None
    assert scale.new_clause.file == today.HOST
    assert found.of(Kind.RELAXED) == ()
    assert (found.needs_unrecorded, found.needs_unknown) == (0, 0)


def test_what_went(old: Capability, new: Capability) -> None:
    found = compare_wanted(new, old, grids=(GRID,), needs=True)
    went = {c.need.id: c for c in found.of(Kind.RELAXED) if c.need is not None}
    assert "q-scale-absent" in went
    assert "no longer needs: pass q_scale" in went["q-scale-absent"].words
    assert went["q-scale-absent"].old_clause is not None
    assert found.of(Kind.NEEDS) == ()


def test_each_is_a_finding_of_its_own(old: Capability, new: Capability) -> None:
    results = compared(compare_wanted(old, new, grids=(GRID,), needs=True))
    came = [each for each in results.changes if each.rule.id == "needs"]
    assert len({each.fingerprint for each in came}) == len(came) > 3
    assert all(each.detail["need"] for each in came)


def test_what_cannot_be_compared_is_said(old: Capability) -> None:
    other: Any = Fake()
    found = compare_wanted(old, other, grids=(GRID,), needs=True)
    runs = [s for s in GRID.shapes() if other.decide(s).verdict.runs and old.decide(s).verdict.runs]
    assert found.needs_unrecorded == len(runs)
    assert any("not recorded" in remark for remark in compared(found).remarks) == bool(runs)


def test_releases(aiter_git: Path) -> None:
    """An fp8 cache under a bf16 query did not need its scale any more from v0.1.10.post1 on."""
    one, two = (Capability.open(f"{aiter_git}@{r}") for r in ("v0.1.10", "v0.1.10.post1"))
    grid = replace(
        GRID, archs=("gfx942",), dtypes=((Dtype.BF16, Dtype.FP8),), heads=(16,), qlens=(1,)
    )
    found = compare_wanted(one, two, grids=(grid,), needs=True)
    assert "kv-scale-absent" in {c.need.id for c in found.of(Kind.RELAXED) if c.need}


# --- check -----------------------------------------------------------------------------------


def test_a_requirement_that_came_fails_where_it_is_to(old: Capability, new: Capability) -> None:
    judged = check(old, new, grids=(GRID,), fail_on=(Kind.NEEDS,))
    assert judged.code == FAILED
    failing = judged.results.failing
    assert {f.rule.id for f in judged.results.changes if f.fingerprint in failing} == {"needs"}
    assert check(new, old, grids=(GRID,), fail_on=(Kind.NEEDS,)).code == CLEAN
    assert check(new, old, grids=(GRID,), fail_on=(Kind.RELAXED,)).code == FAILED


def test_requirements_are_listed_where_they_do_not_fail(old: Capability, new: Capability) -> None:
    assert check(old, new, grids=(GRID,)).comparison.of(Kind.NEEDS) == ()
    listed = check(old, new, grids=(GRID,), needs=True)
    assert listed.comparison.of(Kind.NEEDS)
    assert listed.code == CLEAN


def test_requirements_that_cannot_be_compared_are_not_known(old: Capability) -> None:
    other: Any = Fake()
    assert check(old, other, grids=(GRID,), needs=True, fail_on=()).code == CLEAN
    assert check(old, other, grids=(GRID,), fail_on=(Kind.NEEDS,)).code == UNKNOWN


def test_what_deployments_launch_padded_is_asked_too(old: Capability, new: Capability) -> None:
    """12 heads do not run, and are launched as 16."""
    served = Serving(name="twelve", num_heads=12, grid=replace(GRID, heads=(12,), qlens=(1,)))
    found = compare_wanted(old, new, served=(served,), needs=True)
    came = {c.need.id: c for c in found.of(Kind.NEEDS) if c.need is not None}
    assert came["q-scale-absent"].deployments == ("twelve",)
    assert came["q-scale-absent"].witness.num_heads == 16
