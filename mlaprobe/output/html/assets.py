"""Style sheets and scripts that pages and pictures hold in themselves."""

from __future__ import annotations

from pathlib import Path

from mlaprobe.core.caches import Cache, cached

_FOLDER = Path(__file__).parent


@cached(Cache.TEXTS, 8)
def asset(names: tuple[str, ...]) -> str:
    """Files of this package as one text, as a browser sees it between the tags."""
    return "\n" + "".join((_FOLDER / name).read_text(encoding="utf-8") for name in names)
