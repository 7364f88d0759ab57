"""What explain says of the route that was not asked for."""

from __future__ import annotations

import pytest

from mlaprobe import probe
from mlaprobe.core.shape import DecodeShape, Dtype, Route, Verdict
from mlaprobe.output.explaining.explain import explain as lines_of
from mlaprobe.output.style import plain
from mlaprobe.reports.explanation import explain


@pytest.mark.parametrize(
    ("route", "arch", "dtype", "heads", "shown"),
    [
        ("gluon", "gfx950", "fp8", 48, ("by the asm route: FOLDED by 3", "64 heads: NATIVE")),
        ("gluon", "gfx942", "bf16", 12, ("by the asm route, padded to 16 heads: NATIVE",)),
        ("asm", "gfx950", "bf16", 8, ("by the gluon route: NATIVE",)),
        ("asm", "gfx942", "bf16", 12, ()),
    ],
)
def test_the_other_route(
    route: str, arch: str, dtype: str, heads: int, shown: tuple[str, ...]
) -> None:
    answers = probe("release:v0.1.20")
    kind = Dtype(dtype)
    shape = DecodeShape(arch=arch, q_dtype=kind, kv_dtype=kind, num_heads=heads, route=Route(route))
    found = explain(answers, shape)
    assert found.decision.verdict is not Verdict.NATIVE
    others = [each for each in found.alternatives if each.what == "route"]
    for each in others:
        assert each.decision.shape.route is (Route.GLUON if route == "asm" else Route.ASM)
        assert each.decision == answers.decide(each.decision.shape)
        assert each.decision.verdict.runs
    text = plain(lines_of(found, width=100, spec="release:v0.1.20"))
    better = text.partition("Nearest that do better\n")[2]
    assert all(words in better for words in shown), better
    assert bool(others) is bool(shown)
