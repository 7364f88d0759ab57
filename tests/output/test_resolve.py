"""What ``mlaprobe resolve`` shows: a launch, and plans that are none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mlaprobe.core.shape import Decision, DecodeShape, Evidence, StageOutcome, Status
from mlaprobe.output.resolve_text import resolve as lines_of
from mlaprobe.output.style import plain
from mlaprobe.padding.api import plan
from mlaprobe.padding.doubt import Doubt, doubt
from mlaprobe.padding.plan import PadPlan
from tests.output import goldens
from tests.padding.fake import Fake, later

PLACE = Evidence(stage="planner", file="csrc/p.cuh", line=12, text="if (f(heads))")
NARROW, WIDE = 60, 100


class Lost(Fake):
    """A source whose planner asks something that cannot be followed."""

    def decide(self, shape: DecodeShape) -> Decision:
        found = super().decide(shape)
        outcome = StageOutcome(stage="planner", status=Status.UNKNOWN, evidence=(PLACE,))
        return replace(found, stages=(("planner", outcome),)) if self.unknown(shape) else found


def asked(source: Fake, heads: int, **more: Any) -> PadPlan:
    question = {"arch": "gfx950", "q_dtype": "fp8", "kv_dtype": "fp8", "route": "asm", **more}
    return plan(heads, capability=source, **question)


def shown(source: Fake, found: PadPlan, width: int = WIDE, why: Doubt | None = None) -> str:
    return plain(lines_of(source.source, found, width=width, doubt=why, spec="installed"))


def test_a_launch() -> None:
    source = later(release="v0.1.21")
    goldens.check("resolve-launch.txt", shown(source, asked(source, 48, qlens=(1, 2))))


def test_a_borrowed_cost() -> None:
    source = later(release="v0.1.21")
    text = shown(source, asked(source, 112, arch="gfx942"))
    assert " us " not in text
    goldens.check("resolve-borrowed.txt", text)


@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_nothing_runs(width: int) -> None:
    source = later(release="v0.1.21", no_kernel=lambda s: s.lse and s.persistent)
    text = shown(source, asked(source, 112, lse=True, qlens=(1, 4)), width)
    assert max(map(len, text.split("\n"))) <= width
    goldens.check(f"resolve-nothing-{width}.txt", text)


def test_it_is_not_known() -> None:
    source: Any = Lost(release=None, unknown=lambda s: True)
    found = asked(source, 48)
    why = doubt(source, found, {})
    assert why is not None
    assert (why.place, why.outside) == (PLACE, False)
    near = asked(later(), 48)
    told = replace(why, release="v0.1.20", differing=3, there=near)
    goldens.check("resolve-unknown.txt", shown(source, found, why=told))


def test_a_plan_that_fails_for_certain_leaves_no_doubt() -> None:
    source: Any = Fake(no_kernel=lambda s: True)
    assert doubt(source, asked(source, 48), {}) is None
