"""What is asked where no capability is passed, and what resolving costs a process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from mlaprobe import bundled, probing, resolve
from mlaprobe.errors import NotInstalledError, SourceError
from mlaprobe.resolve import padded_num_heads, plan
from tests.resolve.fake import Fake, later


@pytest.fixture
def probed(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Fake]]:
    """What each spec turns out to be; the rest is not there."""
    found: dict[str, Fake] = {}

    def probe(spec: str = "installed") -> Fake:
        if spec not in found:
            raise NotInstalledError(f"there is nothing at {spec}")
        return found[spec]

    monkeypatch.setattr(probing, "probe", probe)
    monkeypatch.setattr(bundled, "load", lambda name: probe(f"release:{name}"))
    resolve.default_capability.cache_clear()
    yield found
    resolve.default_capability.cache_clear()


def ask(heads: int = 48) -> int:
    return padded_num_heads(heads, arch="gfx950", q_dtype="fp8", kv_dtype="fp8")


def test_the_installed_aiter_is_asked_once(probed: dict[str, Fake]) -> None:
    probed["installed"] = later()
    assert ask() == 64
    del probed["installed"]
    assert ask() == 64
    assert plan(80, arch="gfx950", q_dtype="fp8", kv_dtype="fp8").padded_num_heads == 96


def test_else_the_newest_bundled_release(
    probed: dict[str, Fake], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundled, "newest", lambda: "v0.1.20")
    probed["release:v0.1.20"] = later()
    assert ask() == 64


def test_else_there_is_nothing_to_ask(
    probed: dict[str, Fake], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundled, "newest", lambda: None)
    with pytest.raises(SourceError, match="nothing at installed"):
        ask()
    with pytest.raises(SourceError):
        ask()  # and it is looked for anew: an installation may have come


def test_resolving_imports_nothing_heavy() -> None:
    code = (
        "import sys; from tests.resolve.fake import later; from mlaprobe.resolve import plan;"
        "plan(48, capability=later(), arch='gfx950', q_dtype='fp8', kv_dtype='fp8');"
        "heavy = {'torch', 'tree_sitter', 'typer', 'rich', 'aiter'} & set(sys.modules);"
        "sys.exit(' '.join(sorted(heavy)) if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not bundled.releases(), reason="no release is bundled: make releases")
def test_resolving_on_a_bundled_release_reads_no_source() -> None:
    code = (
        "import sys, mlaprobe;"
        "found = mlaprobe.plan(48, capability=mlaprobe.probe('release:' + sys.argv[1]),"
        "    arch='gfx950', q_dtype='fp8', kv_dtype='fp8');"
        "assert found.padded_num_heads >= 48, found;"
        "heavy = {'torch', 'tree_sitter', 'typer', 'rich', 'aiter', 'mlaprobe.capability'};"
        "heavy &= set(sys.modules);"
        "sys.exit(' '.join(sorted(heavy)) if heavy else 0)"
    )
    command = [sys.executable, "-c", code, str(bundled.newest())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolve, "_LIMIT", 3)
    source = later()
    for heads in range(1, 12):
        found = plan(heads, capability=source, arch="gfx950", q_dtype="fp8", kv_dtype="fp8")
        assert found.padded_num_heads == 16
        assert len(resolve._caches[id(source)].value.answers) <= 3
