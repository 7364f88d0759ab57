"""Snapshots that were edited and given a right checksum."""

from __future__ import annotations

import json

import pytest

from mlaprobe.deciding.capability import Capability
from mlaprobe.snapshot.file import SnapshotError, parse
from mlaprobe.snapshot.making import make, sealed
from mlaprobe.snapshot.scope import Scope
from tests.generated.trees import Memory
from tests.trees import today


def test_evidence_in_a_file_that_is_not_listed_is_refused() -> None:
    scope = Scope(archs=("gfx950",), heads=(16,), qlens=(1,), page_sizes=(1,))
    text = make(Capability(Memory(today.tree())), scope=scope)
    data = json.loads(text)
    assert parse(text.encode(), "whole").evidence
    for wrong in (len(data["files"]), "no number", None):
        next(iter(data["evidence"].values()))[1] = wrong
        body = json.dumps({k: v for k, v in data.items() if k != "sha256"})
        edited = sealed(body[:-1] + "\n}").encode()
        with pytest.raises(SnapshotError, match="damaged"):
            parse(edited, "edited")
