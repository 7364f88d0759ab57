"""Writing the pin of ``mlaprobe check``."""

from __future__ import annotations

from typing import Any


def pin_text(answers: Any) -> str:
    """The snapshot of a source, as a file holds it."""
    from mlaprobe.snapshot import snapshot_text

    text: str = snapshot_text(answers)
    return text
