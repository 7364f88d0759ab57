"""How often Python looks for garbage in cycles, while AITER is read.

Reading makes many objects that stay and hardly any cycles. With Python's own thresholds, a third of
a report's time went into looking for them (measured on v0.1.20), and its memory was the same.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

THRESHOLDS = (50_000, 10, 100)
"""Of each generation; Python's own are (700, 10, 10)."""


@contextlib.contextmanager
def collect_rarely() -> Iterator[None]:
    """Until its end the garbage collector runs rarely, in the whole process."""
    before = gc.get_threshold()
    gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
