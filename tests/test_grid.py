"""Grids of shapes."""

from __future__ import annotations

from mlaprobe.core.grid import by_generation


def test_archs_in_the_order_of_their_generation() -> None:
    archs = ("gfx1250", "gfx90a", "gfx9-4-generic", "gfx950", "gfx942", "gfx908")
    wanted = ("gfx908", "gfx90a", "gfx942", "gfx950", "gfx1250", "gfx9-4-generic")
    assert by_generation(archs) == wanted
