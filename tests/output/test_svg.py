"""Pictures: well-formed whatever the text, and what is drawn stands where it belongs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlaprobe.output.escape import printable
from mlaprobe.output.pictures.curves import Curve, Curves, Panel, Point, curves, short
from mlaprobe.output.pictures.tiles import Tile, Tiles, fold_style, tiles
from tests.browser import browser, missing
from tests.output.pages import HOSTILE
from tests.output.test_browser import contrast

SVG = "{http://www.w3.org/2000/svg}"
STYLES = ("native", "fold2", "fold4", "fold8", "fail", "wrong", "unknown", "dim")


def rows(text: str = "heads") -> Tiles:
    """Every colour, in two rows, with a hole."""
    each = tuple(Tile(text=style[:2], style=style, hint=text) for style in STYLES)
    return Tiles(
        title=f"gfx950 {text}",
        remarks=(f"what {text} is",),
        columns=tuple(f"v0.1.{at} {text}" for at in range(len(each))),
        rows=((f"16 {text}", each), (f"128 {text}", (None, *each[1:]))),
        legend=((each[0], text),),
    )


def points(*pairs: tuple[float, float]) -> tuple[Point, ...]:
    """Measurements with a spread of a tenth."""
    return tuple(Point(x=x, y=y, low=y * 0.9, high=y * 1.1) for x, y in pairs)


def measured(text: str = "heads") -> Curves:
    """Two curves that cross, and a panel without any."""
    fold = Curve(name=f"fold 3 {text}", style="fold", points=points((128, 20), (16384, 600)))
    pad = Curve(name="pad 64", style="pad", points=points((128, 30), (1024, 60), (16384, 350)))
    return Curves(
        title=f"Fold against pad, {text}",
        remarks=(text,),
        x_title="KV tokens",
        y_title="us",
        panels=(
            Panel(title=f"48 {text}", curves=(fold, pad), crossover=512.0),
            Panel(title="nothing", curves=()),
        ),
    )


def parsed(text: str) -> ElementTree.Element:
    """A picture's elements."""
    return ElementTree.fromstring(text)


def texts(root: ElementTree.Element, kind: str = "text") -> list[str]:
    """What is written in a picture."""
    return [each.text or "" for each in root.iter(f"{SVG}{kind}")]


@given(st.text(max_size=30))
@settings(max_examples=60)
def test_any_text_is_shown_as_it_is(text: str) -> None:
    for picture in (tiles(rows(text)), curves(measured(text))):
        root = parsed(picture)
        assert any(printable(f" {text}") in each for each in texts(root))
        assert {each.tag.removeprefix(SVG) for each in root.iter()} <= {
            *("svg", "g", "rect", "text", "title", "style", "line", "path", "circle"),
        }


def test_harm_is_text() -> None:
    for picture in (tiles(rows(HOSTILE)), curves(measured(HOSTILE))):
        assert "<script" not in picture
        root = parsed(picture)
        names = {name for each in root.iter() for name in each.attrib}
        assert not [name for name in names if name.startswith("on") or "href" in name]
        assert not re.search(r"url\(|@import", "".join(texts(root, "style")))
        assert any(printable(HOSTILE) in each for each in texts(root))


def test_tiles_stand_in_their_row_and_column() -> None:
    root = parsed(tiles(rows()))
    drawn = [
        (each.get("class"), float(each.get("x", "")), float(each.get("y", "")))
        for each in root.iter(f"{SVG}rect")
    ]
    *found, key = drawn
    first, second = found[: len(STYLES)], found[len(STYLES) :]
    assert [style for style, _, _ in first] == [f"v-{style}" for style in STYLES]
    assert [style for style, _, _ in second] == [f"v-{style}" for style in STYLES[1:]]
    assert [x for _, x, _ in first[1:]] == [x for _, x, _ in second]
    assert len({y for _, _, y in first}) == len({y for _, _, y in second}) == 1
    assert second[0][2] > first[0][2]
    assert key[2] > second[0][2]
    width, height = (float(size) for size in root.get("viewBox", "").split()[2:])
    assert all(0 <= x < width and 0 <= y < height for _, x, y in drawn)


def test_folds_by_how_often_the_cache_is_read() -> None:
    assert [fold_style(passes) for passes in (2, 3, 4, 5, 8)] == [
        *("fold2", "fold4", "fold4", "fold8", "fold8"),
    ]


def circles(root: ElementTree.Element, style: str) -> Iterator[tuple[float, float]]:
    """Where the points of a curve are; the last of its marks is in the key."""
    for each in root.iter(f"{SVG}circle"):
        if each.get("class") == f"{style}-mark" and len(each):
            yield float(each.get("cx", "")), float(each.get("cy", ""))


def test_points_stand_where_they_belong() -> None:
    root = parsed(curves(measured()))
    fold, pad = list(circles(root, "fold")), list(circles(root, "pad"))
    assert (len(fold), len(pad)) == (2, 3)
    # Equal x at equal places; powers of two at equal steps.
    assert (fold[0][0], fold[1][0]) == (pad[0][0], pad[2][0])
    per_octave = (pad[2][0] - pad[0][0]) / 7
    assert pad[1][0] - pad[0][0] == pytest.approx(3 * per_octave, abs=0.2)
    # The slower is higher: y grows downwards.
    assert fold[0][1] > pad[0][1]
    assert fold[1][1] < pad[2][1]
    (line,) = (each for each in root.iter(f"{SVG}line") if each.get("class") == "crossover")
    assert float(line.get("x1", "")) == pytest.approx(pad[0][0] + 2 * per_octave, abs=0.2)
    assert {"pad from 512", "128", "1k", "16k", "nothing was measured"} <= set(texts(root))


def test_one_measurement_alone() -> None:
    alone = Curve(name="fold", style="fold", points=(Point(x=64, y=10, low=10, high=10),))
    panel = Panel(title="one", curves=(alone,))
    picture = Curves(title="t", remarks=(), x_title="x", y_title="y", panels=(panel,))
    assert len(list(circles(parsed(curves(picture)), "fold"))) == 1


def test_short_numbers() -> None:
    assert [short(v, base=1024) for v in (128.0, 1024.0, 131072.0, 1500.0)] == [
        *("128", "1k", "128k", "1500"),
    ]
    assert [short(v) for v in (0.5, 5000.0, 2e6)] == ["0.5", "5k", "2M"]


@pytest.mark.skipif(missing() is not None, reason=str(missing()))
def test_both_themes_can_be_read(tmp_path: Path) -> None:
    file = tmp_path / "picture.svg"
    script = """
      const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
      const paper = rgb(getComputedStyle(document.documentElement).backgroundColor);
      return [...document.querySelectorAll("text, path.line")].map((each) => {
        const style = getComputedStyle(each);
        const box = each.previousElementSibling;
        const behind = box && box.tagName === "rect" ? rgb(getComputedStyle(box).fill) : paper;
        return [each.textContent, rgb(each.tagName === "text" ? style.fill : style.stroke), behind];
      });
    """
    with browser() as window:
        for picture in (tiles(rows()), curves(measured())):
            file.write_text(picture, encoding="utf-8")
            papers = set()
            for scheme in ("light", "dark"):
                window.prefer(scheme)
                window.open(file)
                assert window.complaints() == []
                found = window.run(script)
                assert len(found) > 5
                for text, ink, behind in found:
                    assert contrast(ink, behind) >= 4.5, (scheme, text)
                papers.add(str(window.run(script)[0][2]))
            assert len(papers) == 2, "the paper is another in the dark"
