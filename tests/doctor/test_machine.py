"""ROCm, PyTorch and Triton, as machines have them."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import SimpleNamespace

import pytest

from mlaprobe.system import machine
from mlaprobe.system.gpu import Gpus
from mlaprobe.system.machine import Places


def places(root: Path, **environ: str) -> Places:
    """A machine in a folder."""
    return Places(
        topology=root / "nodes",
        device=root / "kfd",
        rocm=root / "rocm",
        nvidia=root / "nvidia",
        environ={"PATH": str(root), **environ},
    )


def _rocm(root: Path, version: str | None) -> Path:
    (root / "bin").mkdir(parents=True)
    if version is not None:
        (root / ".info").mkdir()
        (root / ".info" / "version").write_text(f"{version}\nmore\n")
    return root


def test_rocm(tmp_path: Path) -> None:
    assert machine.find_rocm(places(tmp_path)) is None
    usual = _rocm(tmp_path / "rocm", "7.0.2-56")
    found = machine.find_rocm(places(tmp_path))
    assert found is not None
    assert (found.version, str(usual) in found.how) == ("7.0.2-56", True)
    other = _rocm(tmp_path / "other", None)
    found = machine.find_rocm(places(tmp_path, ROCM_PATH=str(other)))
    assert found is not None
    assert (found.version, "ROCM_PATH" in found.how) == (None, True)
    # A variable that names nothing does not hide what is there.
    found = machine.find_rocm(places(tmp_path, ROCM_PATH=str(tmp_path / "gone")))
    assert found is not None
    assert found.version == "7.0.2-56"


def test_rocm_as_packages_or_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "hipcc"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    found = machine.find_rocm(places(tmp_path))
    assert found is not None
    assert (found.version, str(program) in found.how) == (None, True)
    versions = {"rocm-sdk-core": "7.9"}
    monkeypatch.setattr(machine, "distribution_version", versions.get)
    found = machine.find_rocm(places(tmp_path))
    assert found is not None
    assert found.version == "7.9"


@pytest.mark.parametrize(
    ("text", "builds", "for_rocm"),
    [
        ("cuda: Optional[str] = None\nhip: Optional[str] = '7.0.5'\n", (("hip", "7.0.5"),), True),
        ("cuda: Optional[str] = '13.0'\nhip = None\n", (("cuda", "13.0"),), False),
        ("cuda = None\nhip = None\n", (), False),
        (None, (), False),
    ],
)
def test_torch(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str | None,
    builds: tuple[tuple[str, str], ...],
    for_rocm: bool,
) -> None:
    if text is not None:
        (tmp_path / "version.py").write_text(text)
    monkeypatch.setattr(machine, "distribution_version", {"torch": "2.13.0"}.get)
    spec = SimpleNamespace(origin=str(tmp_path / "__init__.py"))
    found = machine.find_torch(lambda name: spec)
    assert found is not None
    assert (found.version, found.builds, found.for_rocm) == ("2.13.0", builds, for_rocm)


def test_no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    assert machine.find_torch(lambda name: None) is None
    monkeypatch.setattr(machine, "distribution_version", lambda name: None)
    assert machine.find_torch() is None


class _Cuda:
    def __init__(self, *names: str) -> None:
        self.names = names

    def device_count(self) -> int:
        return len(self.names)

    def get_device_properties(self, at: int) -> object:
        return SimpleNamespace(gcnArchName=self.names[at])


def test_the_gpus_of_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = SimpleNamespace(cuda=_Cuda("gfx950:sramecc+:xnack-", "gfx950:sramecc+:xnack-"))
    monkeypatch.setattr(importlib, "import_module", lambda name: torch)
    assert machine.gpus_of_torch() == Gpus(archs=("gfx950", "gfx950"), how="PyTorch")
    monkeypatch.setattr(importlib, "import_module", lambda name: SimpleNamespace())
    assert machine.gpus_of_torch() == Gpus(archs=(), how="")


def test_looking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))  # no rocminfo
    found = machine.look(places(tmp_path))
    assert found.gpus.archs == ()
    assert (found.device_there, found.device_usable, found.nvidia) == (False, False, False)
    node = tmp_path / "nodes" / "1"
    node.mkdir(parents=True)
    (node / "properties").write_text("gfx_target_version 90500\n")
    (tmp_path / "kfd").touch()
    (tmp_path / "nvidia").touch()
    found = machine.look(places(tmp_path))
    assert found.gpus.archs == ("gfx950",)
    assert str(tmp_path / "nodes") in found.gpus.how
    assert found.device_there
    assert found.device_usable
    assert found.nvidia


def test_torch_for_rocm_is_asked_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = machine.Torch(version="2", builds=(("hip", "7"),), how="")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(machine, "find_torch", lambda: built)
    monkeypatch.setattr(machine, "gpus_of_torch", lambda: Gpus(archs=("gfx942",), how="PyTorch"))
    assert machine.look(places(tmp_path)).gpus.how == "PyTorch"
