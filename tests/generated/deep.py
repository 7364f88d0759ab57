"""How much the generated tests try."""

from __future__ import annotations

import os

DEEP = bool(os.environ.get("MLAPROBE_DEEP"))
"""Set to try much more than the default suite does (about an hour)."""


def examples(quick: int, deep: int) -> int:
    """A number of examples."""
    return deep if DEEP else quick
