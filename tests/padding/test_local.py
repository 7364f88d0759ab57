"""The local GPU's arch, from files like those of the kernel driver."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mlaprobe.errors import UsageError
from mlaprobe.system import gpu as local


def _topology(root: Path, *versions: int | None) -> Path:
    for number, version in enumerate(versions):
        node = root / str(number)
        node.mkdir(parents=True)
        if version is not None:
            lines = f"cpu_cores_count 0\ngfx_target_version {version}\nvendor_id 4098\n"
            (node / "properties").write_text(lines)
    return root


@pytest.mark.parametrize(
    ("version", "name"),
    [(90402, "gfx942"), (90500, "gfx950"), (120500, "gfx1250"), (90010, "gfx90a"), (0, None)],
)
def test_names_of_versions(version: int, name: str | None) -> None:
    assert local.name_of(version) == name


def test_gpus_of_one_kind(tmp_path: Path) -> None:
    root = _topology(tmp_path / "nodes", 0, 90500, 90500)
    assert local.archs(root) == ("gfx950",)
    assert local.arch(root) == "gfx950"


def test_gpus_of_several_kinds_must_be_told_apart(tmp_path: Path) -> None:
    root = _topology(tmp_path / "nodes", 0, 90402, 90500)
    assert local.archs(root) == ("gfx942", "gfx950")
    with pytest.raises(UsageError, match="several archs: gfx942, gfx950"):
        local.arch(root)


@pytest.fixture
def no_rocminfo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.devnull)


def test_no_gpu(tmp_path: Path, no_rocminfo: None) -> None:
    root = _topology(tmp_path / "nodes", 0, None)
    (root / "not a node").mkdir()
    assert local.archs(root) == ()
    assert local.archs(tmp_path / "nothing") == ()
    with pytest.raises(UsageError, match="no AMD GPU") as caught:
        local.arch(root)
    assert "--arch gfx950" in str(caught.value.hint)


def _program(folder: Path, text: str) -> None:
    program = folder / "rocminfo"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)


def test_rocminfo_is_asked_where_the_driver_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    _program(tmp_path, "printf '  Name:    EPYC\\n  Name:    gfx942\\n  Name:    gfx942\\n'")
    assert local.archs(tmp_path / "nothing") == ("gfx942",)
    _program(tmp_path, "exit 1")
    assert local.archs(tmp_path / "nothing") == ()


def test_a_rocminfo_that_cannot_be_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "rocminfo").write_bytes(b"\x7fnot a program")
    (tmp_path / "rocminfo").chmod(0o755)
    assert local.archs(tmp_path / "nothing") == ()
