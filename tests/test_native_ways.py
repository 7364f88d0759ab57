"""Which of two native ways: what else is native, and what is known of the speed."""

from __future__ import annotations

import pytest

from mlaprobe.core.shape import Decision, DecodeShape, Dtype, Route, Verdict
from mlaprobe.output.explaining.nativeways import native_way_lines, native_way_rows
from mlaprobe.output.style import plain
from mlaprobe.reports.nativeways import native_ways
from mlaprobe.rulefiles.speed import Between, known_speeds

SHAPE = DecodeShape(arch="gfx950", q_dtype=Dtype.BF16, kv_dtype=Dtype.BF16, num_heads=16)


class Source:
    """Answers with one verdict for each route and mode."""

    archs = ("gfx950",)

    def __init__(self, persistent: str, plain: str, gluon: str) -> None:
        self._verdicts = {"persistent": persistent, "plain": plain, "gluon": gluon}

    def decide(self, shape: DecodeShape) -> Decision:
        way = "persistent" if shape.persistent else "plain"
        way = "gluon" if shape.route is Route.GLUON else way
        return Decision(shape=shape, verdict=Verdict(self._verdicts[way]))


@pytest.mark.parametrize(
    ("verdicts", "between"),
    [
        (("NATIVE", "NATIVE", "NATIVE"), ["mode", "route"]),
        (("NATIVE", "FOLDED", "NATIVE"), ["route"]),
        (("NATIVE", "NATIVE", "REJECTED"), ["mode"]),
        (("FOLDED", "NATIVE", "NATIVE"), []),
    ],
)
def test_what_else_is_native(verdicts: tuple[str, str, str], between: list[str]) -> None:
    source = Source(*verdicts)
    found = native_ways(source, source.decide(SHAPE))
    assert [way.between.value for way in found] == between


def test_what_is_known_and_what_is_not() -> None:
    source = Source("NATIVE", "NATIVE", "NATIVE")
    mode, route = native_ways(source, source.decide(SHAPE))
    assert mode.known == known_speeds(SHAPE, Between.MODE)
    assert mode.known[0].reference[0] == "https://github.com/ROCm/aiter/pull/4144"
    assert route.known == ()
    text = plain(native_way_lines((mode, route), 200))
    assert "without work metadata: measured on an MI350X" in text
    assert "the gluon route: which is faster is not known" in text
    rows = native_way_rows((mode, route))
    assert [row["between"] for row in rows] == ["mode", "route"]
    assert [len(row["known"]) for row in rows] == [1, 0]


def test_of_the_gluon_route() -> None:
    source = Source("NATIVE", "NATIVE", "NATIVE")
    shape = DecodeShape(
        arch="gfx950", q_dtype=Dtype.BF16, kv_dtype=Dtype.BF16, num_heads=8, route=Route.GLUON
    )
    (way,) = native_ways(source, source.decide(shape))
    assert way.decision.shape.route is Route.ASM
