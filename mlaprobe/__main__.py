"""``python -m mlaprobe``."""

from __future__ import annotations

import sys

from mlaprobe.cli import main

if __name__ == "__main__":
    sys.exit(main())
