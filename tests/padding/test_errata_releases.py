"""How the release is found that errata are looked up for."""

from __future__ import annotations

import pytest

from mlaprobe.core.blobs import blob_hash
from mlaprobe.rulefiles import errata
from mlaprobe.rulefiles import loader as rulebook
from mlaprobe.sources.interface import Source


class Held(Source):
    """A source that holds the given texts and knows its release or not."""

    kind = "directory"

    def __init__(self, files: dict[str, bytes], release: str | None = None) -> None:
        super().__init__("held")
        self._held = files
        self._named = release

    def _find_release(self) -> str | None:
        return self._named

    def _load(self, path: str) -> tuple[bytes, str | None] | None:
        return (self._held[path], None) if path in self._held else None

    def _exists(self, path: str) -> bool:
        return path in self._held

    def _list(self, prefix: str) -> set[str]:
        return set(self._held)

    def _size(self, path: str) -> int | None:
        return len(self._held[path]) if path in self._held else None


def test_a_release_that_the_source_knows_is_taken() -> None:
    assert errata.release_of(Held({}, "v0.1.18")) == "v0.1.18"


def test_a_release_is_found_by_its_files(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = Held({"a": b"1"}), Held({"a": b"1", "b": b"2"})
    known = errata.fingerprint(one, ("a", "b"))
    assert known == blob_hash(f"a {blob_hash(b'1')}\nb -\n".encode())
    rules = {"files": ["a", "b"], "releases": {"v0.1.9": known, "v0.1.10": known, "v0.1.8": "x"}}
    monkeypatch.setattr(errata, "load_rules", lambda name, schema: rules)
    assert errata.release_of(one) == "v0.1.10"
    assert errata.release_of(other) is None
    assert errata.release_of(Held({}, "main")) is None


def test_the_rule_file_of_releases_is_valid() -> None:
    rules = rulebook.load_rules(errata.BLOBS, errata.BLOB_SCHEMA)
    assert len(rules["releases"]) == 52
    assert "aiter/mla.py" in rules["files"]
