"""The curves of a bench, from measurements that never were."""

from __future__ import annotations

from mlaprobe.core.shape import Dtype
from mlaprobe.decode.bench import Case, Form, Outcome, Point, Variant
from mlaprobe.decode.timing import Timing
from mlaprobe.output.pictures.bench import bench_svg
from tests.output.pages import HOSTILE
from tests.output.test_svg import SVG, circles, parsed, texts

AROUND = {"device": "a GPU", "ran_on": "sm_90", "arch": "gfx950", "aiter": "v0.1.20"}


def form(name: Variant, launched: int, fold: int, us: float | None) -> Form:
    """One way to launch, timed or not."""
    timing = None
    if us is not None:
        timing = Timing(us=us, low_us=us * 0.9, high_us=us * 1.2, runs=9, clock="device", cold=True)
    return Form(
        name=name, launched=launched, fold=fold, verdict="", backend="triton", timing=timing
    )


def point(heads: int, kv_len: int, stay: float | None, pad: float | None, batch: int = 52) -> Point:
    """A case that folds, and the same padded to 64 heads."""
    case = Case(
        heads=heads, q_dtype=Dtype.FP8, kv_dtype=Dtype.FP8, qlen=1, batch=batch, kv_len=kv_len
    )
    forms = (form(Variant.STAY, heads, heads // 16, stay), form(Variant.PAD, 64, 1, pad))
    return Point(case=case, status=Outcome.MEASURED, forms=forms)


POINTS = (
    # In the order of a sweep, which is not that of a curve.
    point(48, 16384, 600, 350),
    point(48, 128, 20, 30),
    point(48, 1024, 80, 60),
    point(64, 1024, 60, None),
    point(48, 1024, 20, 15, batch=1),
)


def test_a_panel_for_each_count_that_folds() -> None:
    root = parsed(bench_svg(POINTS, AROUND))
    said = texts(root)
    assert said.count("48 heads, fp8/fp8, batch 52") == 1
    assert said.count("48 heads, fp8/fp8, batch 1") == 1
    assert not [text for text in said if text.startswith("64 heads")]
    assert {"fold 3", "pad 64", "KV tokens per request", "us"} <= set(said)
    assert any("a GPU (sm_90)" in text for text in said)
    assert any(text.startswith("Medians and quartiles, caches cold.") for text in said)
    first, _ = (each for each in root.iter(f"{SVG}g") if each.get("transform"))
    places = [x for x, _ in circles(first, "fold")]
    assert len(places) == 3
    assert places == sorted(places)
    # 128 tokens lose 10 us, 1024 gain 20: a straight line changes sign after a third of the way.
    assert [text for text in texts(first) if text.startswith("pad from")] == ["pad from 427"]


def test_nothing_to_show() -> None:
    assert "nothing folds" in texts(parsed(bench_svg((point(64, 1024, 60, None),), AROUND)))


def test_harm() -> None:
    picture = bench_svg(POINTS, dict.fromkeys(AROUND, HOSTILE))
    assert "<script" not in picture
    parsed(picture)
