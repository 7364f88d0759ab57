"""Pure functions from data to text. Nothing here decides, prints or opens a file."""

from __future__ import annotations

SCHEMA = 1
"""The version of the machine-readable outputs. It grows when a field changes its meaning or goes;
a new field alone leaves it."""
