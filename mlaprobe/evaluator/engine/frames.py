"""What a running function holds: its variables by slot, and two entries besides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Frame = dict[str, Any]
"""One activation of a function: its slots, ``OUTER`` and ``RUN``."""
OUTER = "^"
"""The frame of the function around, or ``None``."""
RUN = "@"
"""The path that is being taken (``machine.Run``). Compiled code finds it here and nowhere else, so
that it can be run for several questions at a time."""
Eval = Callable[[Frame], Any]
"""A compiled expression."""
