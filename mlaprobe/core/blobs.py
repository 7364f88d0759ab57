"""The names that git gives to contents."""

from __future__ import annotations

import hashlib


def blob_hash(data: bytes) -> str:
    """The name that git gives to these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
