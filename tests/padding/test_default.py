"""What is asked where no capability is passed, and what resolving costs a process."""

from __future__ import annotations

import logging
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from mlaprobe.adapters import settings
from mlaprobe.core.keeping import Topics
from mlaprobe.errors import NotAiterError, NotInstalledError, OutOfRangeError, SourceError
from mlaprobe.opening import bundled, shortcut
from mlaprobe.padding import api as resolve
from mlaprobe.padding import planning
from mlaprobe.padding.api import padded_num_heads, plan
from tests.padding.fake import Fake, later
from tests.padding.test_keeping import at_once


@pytest.fixture
def probed(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Fake]]:
    """What each spec turns out to be; the rest is not there."""
    found: dict[str, Fake] = {}

    def probe(spec: str = "installed") -> Fake:
        if spec not in found:
            raise NotInstalledError(f"there is nothing at {spec}")
        return found[spec]

    monkeypatch.setattr(shortcut, "quickest", probe)
    monkeypatch.setattr(shortcut, "probe", probe)
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
        "import sys; from tests.padding.fake import later; from mlaprobe.padding.api import plan;"
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
        "heavy = {'torch', 'tree_sitter', 'typer', 'rich', 'aiter'};"
        "heavy.add('mlaprobe.deciding.capability');"
        "heavy &= set(sys.modules);"
        "sys.exit(' '.join(sorted(heavy)) if heavy else 0)"
    )
    command = [sys.executable, "-c", code, str(bundled.newest())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolve, "MOST_PLANS", 3)
    source = later()
    for heads in range(1, 12):
        found = plan(heads, capability=source, arch="gfx950", q_dtype="fp8", kv_dtype="fp8")
        assert found.padded_num_heads == 16
        assert len(resolve.PLANS.kept[id(source)].value.answers) <= 3


@pytest.fixture
def warnings(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> pytest.LogCaptureFixture:
    """What is logged, as in a process that has said nothing yet."""
    monkeypatch.setattr(planning, "WARNED", Topics())
    caplog.set_level(logging.WARNING, "mlaprobe")
    return caplog


def test_a_release_that_stands_in_is_named_once(
    probed: dict[str, Fake],
    monkeypatch: pytest.MonkeyPatch,
    warnings: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(bundled, "newest", lambda: "v0.1.20")
    probed["release:v0.1.20"] = later()
    assert [ask(heads) for heads in (48, 48, 80)] == [64, 64, 96]
    assert warnings.messages == [
        "there is nothing at installed: plans are made by fake, which may not be what is launched"
    ]


@pytest.mark.parametrize(
    "error",
    [
        OutOfRangeError("AITER 0.1.5 is older than v0.1.6.post2", hint="name a newer one"),
        NotAiterError("the package 'aiter' in /x is not AMD's AITER: it has no mla.py"),
        SourceError("amd-aiter 0.1.20 is installed, and its files are not there"),
    ],
)
def test_an_installed_aiter_that_cannot_be_read_is_not_replaced(
    probed: dict[str, Fake], monkeypatch: pytest.MonkeyPatch, error: SourceError
) -> None:
    """Too old, refactored, half installed: the release that stands in is not what would run."""
    monkeypatch.setattr(bundled, "newest", lambda: "v0.1.20")
    probed["release:v0.1.20"] = later()

    def probe(spec: str = "installed") -> Fake:
        raise error

    monkeypatch.setattr(shortcut, "quickest", probe)
    monkeypatch.setattr(shortcut, "probe", probe)
    with pytest.raises(SourceError, match=f"cannot be read.*{error.message}") as caught:
        ask()
    assert "install it again" in str(caught.value.hint)
    with pytest.raises(SourceError):
        plan(48, arch="gfx950", q_dtype="fp8", kv_dtype="fp8")
    with pytest.raises(SourceError):
        settings.capability_for(None)


def test_threads_that_ask_first_get_one_default_and_one_warning(
    probed: dict[str, Fake],
    monkeypatch: pytest.MonkeyPatch,
    warnings: pytest.LogCaptureFixture,
) -> None:
    made: list[Fake] = []

    def load(spec: str = "installed") -> Fake:
        if spec == "installed":
            raise NotInstalledError("no AITER is installed")
        time.sleep(0.01)  # as reading does: the others come in meanwhile
        made.append(later())
        return made[-1]

    monkeypatch.setattr(bundled, "newest", lambda: "v0.1.20")
    for name in ("quickest", "probe"):
        monkeypatch.setattr(shortcut, name, load)
    found = at_once(lambda _: resolve.default_capability())
    assert len(made) == 1
    assert all(each is made[0] for each in found)
    assert len(warnings.messages) == 1
