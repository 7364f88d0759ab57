"""PyTorch for the tests that want it."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import pytest


def torch_or_skip() -> Any:
    """PyTorch, or a skip with the reason."""
    with warnings.catch_warnings():
        # Builds without numpy say so when they are imported.
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module("torch")
        except ImportError:
            pytest.skip("PyTorch is not installed: pip install 'mlaprobe[torch]'")
