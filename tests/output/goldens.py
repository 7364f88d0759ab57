"""What people read, kept as files: a change of them is seen in review."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).parent / "golden"
UPDATE = "MLAPROBE_UPDATE_GOLDEN"
"""Set it to write the files anew."""


def check(name: str, text: str) -> None:
    """Compares text with its file."""
    file = FOLDER / name
    if os.environ.get(UPDATE):
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8"), f"set {UPDATE}=1 to accept the new {name}"
