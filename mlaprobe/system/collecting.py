"""How often Python looks for garbage in cycles, while AITER is read.

Reading makes many objects that stay. With Python's own thresholds, a third of a report's time went
into looking for cycles (measured on v0.1.20), and its memory was the same. What a look costs grows
with what there is, so one at the end of a command, or as its process ends, costs the most and frees
what ends anyway.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
from collections.abc import Iterator

THRESHOLDS = (200_000, 10, 100)
"""Of each generation; Python's own are (700, 10, 10)."""


@contextlib.contextmanager
def collect_rarely() -> Iterator[None]:
    """Until its end the garbage collector runs rarely, in the whole process."""
    before = gc.get_threshold()
    gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        _grow_old()
        gc.set_threshold(*before)


def end_without_collecting() -> None:
    """Spares the process the look for garbage with which Python ends."""
    # Registered anew, it runs once all the same, and before what was registered earlier.
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)


def _grow_old() -> None:
    """Moves all objects to the oldest generation, as if they had been looked at.

    Otherwise what was made meanwhile would be looked at as soon as the threshold is low again.
    """
    if not gc.get_freeze_count():  # else something else uses it: thawing would undo that
        gc.freeze()
        gc.unfreeze()
