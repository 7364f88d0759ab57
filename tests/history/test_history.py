"""Shapes from release to release, on releases that never were."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlaprobe.compare.history import History, Named, bundled_releases, history, within
from mlaprobe.core.grid import Grid
from mlaprobe.core.protocols import Opened
from mlaprobe.core.shape import Dtype
from mlaprobe.errors import UsageError
from mlaprobe.output.history import history as lines_of
from mlaprobe.output.history import history_json, history_markdown, history_svg
from mlaprobe.output.style import plain
from tests.output.test_svg import SVG, parsed, texts
from tests.padding.fake import Fake

FP8 = ((Dtype.FP8, Dtype.FP8),)
GRID = Grid(archs=("gfx950",), dtypes=FP8, heads=(8, 16, 32, 48, 64))
NATIVE = {
    "v0.1.14": (16,),
    "v0.1.14.post1": (16, 32),
    "v0.1.15": (16, 32),
    "v0.1.16": (16, 64),
    "v0.1.17": (16, 32, 64),
}


def releases(native: dict[str, tuple[int, ...]] | None = None) -> Iterator[Named]:
    """Releases with these native counts."""
    for name, heads in (NATIVE if native is None else native).items():
        fake = Fake(native=lambda shape, heads=heads: shape.num_heads in heads)  # type: ignore[misc]
        yield name, nullcontext(fake.opened)


@pytest.fixture(scope="module")
def asked() -> History:
    return history(releases(), GRID, source="made up")


def test_eras_of_one_shape(asked: History) -> None:
    (line,) = (each for each in asked.lines if each.shape.num_heads == 32)
    assert [(e.first, e.last, e.releases, e.behaviour.words) for e in asked.eras(line)] == [
        ("v0.1.14", "v0.1.14", 1, "fold 2"),
        ("v0.1.14.post1", "v0.1.15", 2, "native"),
        ("v0.1.16", "v0.1.16", 1, "fold 2"),
        ("v0.1.17", "v0.1.17", 1, "native"),
    ]


def test_where_the_file_of_a_kernel_was_replaced() -> None:
    """By git, the file of 16 heads differs between these tags and no others of the six."""
    names = ("v0.1.18", "v0.1.19", "v0.1.19.post1", "v0.1.19.post2", "v0.1.20", "v0.1.20.post1")
    grid = Grid(archs=("gfx950",), dtypes=FP8, heads=(16,))
    found = history(bundled_releases(names), grid, source="bundled")
    (line,) = found.lines
    (era,) = found.eras(line)
    assert era.replaced == ("v0.1.19.post1", "v0.1.19.post2")
    text = plain(lines_of(found, native=False, width=120))
    assert "native (6 releases; the kernel's file replaced in v0.1.19.post1, v0.1.19.post2)" in text


def test_native_head_counts(asked: History) -> None:
    (tiles,) = asked.tiles
    assert dict(zip(asked.releases, tiles.native, strict=True)) == NATIVE
    assert asked.turns == (0, 1, 3, 4)


def test_a_release_from_before_an_arch() -> None:
    """What does not name an arch has no answer about it, which is nothing to look into."""

    older = Fake(archs=("gfx942",), unknown=lambda shape: True)
    newer = Fake(native=lambda shape: shape.num_heads == 16)
    named = [
        ("v0.1.6.post2", nullcontext(older.opened)),
        ("v0.1.14", nullcontext(newer.opened)),
    ]
    found = history(named, GRID, source="made up")
    assert "it does not name the arch" in plain(lines_of(found, native=True, width=100))
    assert "unknown" not in plain(lines_of(found, native=True, width=100))
    assert "it does not name the arch (1 release)" in plain(
        lines_of(found, native=False, width=100)
    )
    (tiles,) = json.loads(history_json(found, native=True))["tiles"]
    assert tiles["names_arch"] == {"v0.1.6.post2": False, "v0.1.14": True}
    assert tiles["unknown"] == {}


@given(st.lists(st.sets(st.sampled_from(GRID.heads[1:])), min_size=1, max_size=6))
def test_eras_cover_every_release_once(sets: list[set[int]]) -> None:
    native = {f"v1.{at}": tuple(sorted(found)) for at, found in enumerate(sets)}
    found = history(releases(native), GRID, source="made up")
    for line in found.lines:
        eras = found.eras(line)
        assert sum(era.releases for era in eras) == len(native)
        assert eras[0].first == "v1.0"
        assert eras[-1].last == found.releases[-1]
        words = [era.behaviour.words for era in eras]
        assert all(one != other for one, other in pairwise(words))


def test_each_release_is_open_only_while_it_is_asked() -> None:
    events: list[str] = []

    class Closing(nullcontext[Opened]):
        def __exit__(self, *error: object) -> None:
            events.append("closed")

    def named() -> Iterator[Named]:
        for name in ("v1", "v2"):
            events.append(name)
            yield name, Closing(Fake().opened)

    steps: list[None] = []
    history(named(), GRID, source="made up", step=lambda: steps.append(None))
    assert events == ["v1", "closed", "v2", "closed"]
    assert len(steps) == 2 * GRID.size


def test_bounds() -> None:
    names = ("v0.1.20", "v0.1.9", "main", "v0.1.14-rc0", "v0.1.14")
    assert within(names, None, None) == ("v0.1.9", "v0.1.14-rc0", "v0.1.14", "v0.1.20")
    assert within(names, "v0.1.14", "0.1.20") == ("v0.1.14", "v0.1.20")
    assert within(names, None, "v0.1.13") == ("v0.1.9",)
    with pytest.raises(UsageError, match="is no release"):
        within(names, "main", None)


SHAPE_TEXT = """\
AITER v0.1.14 to v0.1.17, made up

gfx950 fp8/fp8, 32 heads, qlen 1, without LSE
  v0.1.14        fold 2 (1 release)
  v0.1.14.post1  native (2 releases)
  v0.1.16        fold 2 (1 release)
  v0.1.17        native (1 release)
"""
TILES_TEXT = """\
AITER v0.1.14 to v0.1.17, made up

gfx950 fp8/fp8, qlen 1, without LSE: native head counts
  v0.1.14        16
  v0.1.14.post1  16, 32   (+32)
  v0.1.16        16, 64   (+64 -32)
  v0.1.17        16, 32, 64   (+32)

head counts asked: 8, 16, 32, 48, 64
"""


def test_what_people_read(asked: History) -> None:
    one = history(releases(), Grid(archs=("gfx950",), dtypes=FP8, heads=(32,)), source="made up")
    assert plain(lines_of(one, native=False, width=100)) == SHAPE_TEXT
    assert plain(lines_of(asked, native=True, width=100)) == TILES_TEXT
    assert "| v0.1.16 | fold 2 (1 release) |" in history_markdown(one, native=False)


def test_what_programs_read(asked: History) -> None:
    tiles = json.loads(history_json(asked, native=True))
    assert tiles["schema"] == 1
    assert tiles["releases"] == list(NATIVE)
    (row,) = tiles["tiles"]
    assert {name: tuple(heads) for name, heads in row["native"].items()} == NATIVE
    assert "num_heads" not in row["shape"]
    lines = json.loads(history_json(asked, native=False))["lines"]
    assert [line["shape"]["num_heads"] for line in lines] == list(GRID.heads)
    assert lines[0]["eras"] == [
        {
            **{"first": "v0.1.14", "last": "v0.1.17", "releases": 5, "names_arch": True},
            **{"verdict": "REJECTED", "fold": 1, "qlen_fold": 1, "failure": "exception"},
            "replaced": [],
        }
    ]


def test_the_picture(asked: History) -> None:
    root = parsed(history_svg(asked, native=True))
    letters = [text for text in texts(root) if text in ("N", "F2", "F4")]
    # Rows of 16, 32 and 64 heads by the four releases from which on something differs, and the
    # legend.
    assert letters == [
        *("N", "N", "N", "N"),
        *("F2", "N", "F2", "N"),
        *("F4", "F4", "N", "N"),
        *("N", "F2"),
    ]
    assert {"v0.1.14", "v0.1.14.post1", "v0.1.16", "v0.1.17"} <= set(texts(root))
    assert "v0.1.15" not in texts(root)
    assert {"16 heads", "32 heads", "64 heads"} <= set(texts(root))
    assert "48 heads" not in texts(root)
    assert "gfx950 fp8/fp8, qlen 1, without LSE" in texts(root)
    every = parsed(history_svg(asked, native=False))
    assert {"8 heads", "48 heads"} <= set(texts(every))
    classes = [each.get("class") for each in root.iter(f"{SVG}rect")]
    assert classes[4:8] == ["v-fold2", "v-native", "v-fold2", "v-native"]
