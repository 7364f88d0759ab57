"""``mlaprobe snapshot``: makes the file that the other commands read instead of an AITER."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from mlaprobe.snapshot.making import make
from mlaprobe.snapshot.scope import Scope
from tests.cli.conftest import Run
from tests.trees import today
from tests.trees.common import write

SMALL = Scope(archs=("gfx950",), heads=(16, 32, 48, 64), qlens=(1,))
ASKED = ("--arch", "gfx950", "--dtype", "fp8/fp8", "--heads", "16,32,48,64", "--qlen", "1")


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An AITER-shaped tree, of which snapshots of a few shapes are taken."""
    monkeypatch.setattr("mlaprobe.snapshot.making.make", partial(make, scope=SMALL))
    root = tmp_path / "aiter"
    write(root, today.tree())
    return root


def test_a_snapshot_stands_for_its_source(run: Run, tree: Path, tmp_path: Path) -> None:
    pin = tmp_path / "aiter.pin"
    done = run("snapshot", "--aiter", str(tree), "-o", str(pin))
    assert (done.code, done.out) == (0, "")
    live, kept = (
        run("table", "--aiter", str(s), *ASKED, "--format", "csv", "-o", "-") for s in (tree, pin)
    )
    assert live.code == kept.code == 0
    assert live.out == kept.out
    assert len(live.out.splitlines()) > 4


def test_it_goes_through_a_pipe_as_well(run: Run, tree: Path, tmp_path: Path) -> None:
    pin = tmp_path / "aiter.pin"
    run("snapshot", "--aiter", str(tree), "-o", str(pin))
    assert run("snapshot", "--aiter", str(tree), "-o", "-").out == pin.read_text(encoding="utf-8")


def test_wrong_usage(run: Run, tree: Path, tmp_path: Path) -> None:
    pin = tmp_path / "aiter.pin"
    run("snapshot", "--aiter", str(tree), "-o", str(pin))
    again = run("snapshot", "--aiter", str(pin), "-o", str(tmp_path / "other"))
    assert (again.code, again.out) == (2, "")
    assert "is a snapshot already" in again.err
    nowhere = run("snapshot", "--aiter", str(tree), "-o", str(tmp_path / "no" / "pin"))
    assert nowhere.code == 2
    assert "cannot write" in nowhere.err
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("damage", ["", "{}", "\x00", "cut", "changed"])
def test_a_damaged_snapshot(run: Run, tree: Path, tmp_path: Path, damage: str) -> None:
    pin = tmp_path / "aiter.json"
    run("snapshot", "--aiter", str(tree), "-o", str(pin))
    whole = pin.read_text(encoding="utf-8")
    broken = {"cut": whole[:-40], "changed": whole.replace("native", "Native", 1)}
    pin.write_text(broken.get(damage, damage), encoding="utf-8")
    done = run("report", "--aiter", str(pin))
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("error: ")
    assert "Traceback" not in done.err
