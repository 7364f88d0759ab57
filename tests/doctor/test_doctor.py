"""What the doctor says of sources, environments and machines of every kind."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from mlaprobe.opening import bundled
from mlaprobe.output.doctor import doctor, doctor_json
from mlaprobe.output.style import plain
from mlaprobe.snapshot.making import make
from mlaprobe.snapshot.scope import Scope
from mlaprobe.system.doctor import Check, Severity, checkup
from mlaprobe.system.doctor.aiter import stranger_checks
from mlaprobe.system.doctor.here import bundled_check, machine_checks
from mlaprobe.system.gpu import Gpus
from mlaprobe.system.machine import Machine, Rocm, Torch
from tests.sources.trees import STRANGER, installed, with_metadata
from tests.stages.ask import opened
from tests.trees import today
from tests.trees.common import Tree, changed, write

KNOB = "AITER_ENABLE_EXPERIMENTAL"


def machine(
    *archs: str, usable: bool = True, rocm: bool = True, torch: str | None = "hip"
) -> Machine:
    """A machine with some GPUs."""
    return Machine(
        gpus=Gpus(archs=archs, how="the driver" if archs else ""),
        device_there=bool(archs),
        device_usable=bool(archs) and usable,
        nvidia=False,
        rocm=Rocm(version="7.0.2", how="/opt/rocm") if rocm else None,
        torch=Torch(version="2.13.0", builds=((torch, "7.0"),) if torch else (), how="version.py"),
        triton=(("triton", "3.9.0"),),
    )


BARE = machine(rocm=False, torch=None)


@pytest.fixture
def no_releases(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is bundled."""
    monkeypatch.setattr(bundled, "folder", lambda: tmp_path / "no releases")
    bundled.index.cache_clear()
    monkeypatch.setattr(bundled, "index", dict)


def by_topic(checks: tuple[Check, ...]) -> dict[str, Check]:
    """The checks by what they are about."""
    return {check.topic: check for check in checks}


def look(root: Path, tree: Tree, environ: dict[str, str] | None = None) -> dict[str, Check]:
    """The doctor's checks of a tree, on a machine with one gfx950."""
    here = machine("gfx950")
    source = str(write(root, tree))
    return by_topic(checkup(source, environ=environ or {}, machine=here).checks)


def test_a_tree_in_order(tmp_path: Path) -> None:
    found = look(tmp_path, today.tree())
    aiter = found["AITER"]
    assert aiter.severity is Severity.OK
    assert aiter.detail["stages"]["planner"] == "present"
    assert f"present dispatcher: {today.DISPATCHER}" in aiter.more
    assert found["answers"].severity is Severity.OK
    # Only the arch of this machine is asked.
    assert "on gfx950" in found["answers"].found
    assert found["answers"].detail["UNKNOWN"] == 0
    assert found["answers"].detail["NATIVE"] > 0
    # Our own text is that of no release.
    assert found["files"].severity is Severity.NOTE
    assert "not one of the files" in found["files"].found


def test_a_stage_that_is_not_there(tmp_path: Path) -> None:
    tree = {path: data for path, data in today.tree().items() if path != today.REDUCER}
    aiter = look(tmp_path, tree)["AITER"]
    assert aiter.severity is Severity.WARNING
    assert aiter.detail["stages"]["reducer"] == "absent"
    assert "reducer" in aiter.advice


def test_source_that_cannot_be_followed(tmp_path: Path) -> None:
    edit = ("(num_heads == 16) ||", "somebody_elses(num_heads) ||")
    answers = look(tmp_path, changed(today.tree(), today.PLANNER, edit))["answers"]
    assert answers.severity is Severity.WARNING
    assert answers.detail["UNKNOWN"] > 0
    assert answers.shape is not None


KNOBBED = (
    "    const bool natively_supported =\n",
    f'    const char* k = std::getenv("{KNOB}");\n'
    "    const bool natively_supported = ((k != nullptr) && (std::atoi(k) == 1)) ||\n",
)


@pytest.mark.parametrize(
    ("environ", "severity", "changes"),
    [
        ({}, Severity.OK, {}),
        ({"SOMETHING_ELSE": "1"}, Severity.OK, {}),
        ({KNOB: "0"}, Severity.OK, {KNOB: False}),
        ({KNOB: "1"}, Severity.WARNING, {KNOB: True}),
    ],
)
def test_knobs_that_are_set(
    tmp_path: Path, environ: dict[str, str], severity: Severity, changes: dict[str, bool]
) -> None:
    knobs = look(tmp_path, changed(today.tree(), today.PLANNER, KNOBBED), environ)["knobs"]
    assert KNOB in knobs.detail["read"]
    assert knobs.severity is severity
    assert {name: bool(count) for name, count in knobs.detail["changed"].items()} == changes
    assert (f"--env {KNOB}=1" in knobs.advice) is (severity is Severity.WARNING)


def test_a_snapshot_does_not_know_what_knobs_do(tmp_path: Path) -> None:
    scope = Scope(archs=("gfx950",), heads=(8, 16, 32, 48, 64, 128), qlens=(1, 4), page_sizes=(1,))
    with opened(tmp_path / "aiter", today.tree()) as capability:
        pin = tmp_path / "aiter.pin"
        pin.write_text(make(capability, scope=scope))
    found = checkup(str(pin), environ={KNOB: "1"}, machine=machine("gfx950"))
    checks = by_topic(found.checks)
    assert "files" not in checks
    assert checks["answers"].detail["UNKNOWN"] == 0
    assert checks["knobs"].severity is Severity.WARNING
    assert checks["knobs"].detail["changed"] == {KNOB: None}
    assert "an AITER whose source is at hand" in checks["knobs"].advice


@pytest.mark.usefixtures("no_releases")
def test_nothing_to_read(tmp_path: Path) -> None:
    found = checkup(str(tmp_path / "gone"), environ={}, machine=BARE)
    assert not found.works
    aiter = by_topic(found.checks)["AITER"]
    assert aiter.severity is Severity.FAULT
    assert "name a directory" in aiter.advice
    text = plain(doctor(found, width=100, spec="gone"))
    assert text.endswith("mlaprobe cannot do its main job here\n")


def test_a_bundled_release_stands_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundled, "index", lambda: {"v9.9.9": "v9.9.9.json"})
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    found = checkup("installed", environ={}, machine=BARE)
    assert found.works
    aiter = by_topic(found.checks)["AITER"]
    assert aiter.severity is Severity.WARNING
    assert "--aiter release:v9.9.9" in aiter.advice
    # A source that was named must be there.
    assert not checkup(str(tmp_path / "gone"), environ={}, machine=BARE).works


def test_the_stranger_of_the_same_name(tmp_path: Path) -> None:
    stranger = write(tmp_path / "one", dict(with_metadata(STRANGER, "aiter", "0.13.20191203")))
    (alone,) = stranger_checks([str(stranger)])
    assert alone.severity is Severity.WARNING
    assert "0.13.20191203" in alone.found
    assert alone.advice == "pip uninstall aiter"
    amd = write(tmp_path / "two", dict(with_metadata(installed())))
    (both,) = stranger_checks([str(stranger), str(amd)])
    assert "install amd-aiter again" in both.advice
    forked = write(tmp_path / "three", dict(with_metadata(installed(), "aiter", "9.0")))
    assert list(stranger_checks([str(forked)])) == []


def test_machines() -> None:
    found = by_topic(tuple(machine_checks(machine("gfx950", "gfx950"), ("gfx942", "gfx950"))))
    assert {check.severity for check in found.values()} == {Severity.OK}
    assert found["GPU"].found == "2 x gfx950"
    found = by_topic(tuple(machine_checks(BARE, ("gfx942", "gfx950"))))
    assert {check.severity for check in found.values()} <= {Severity.OK, Severity.NOTE}
    assert "--arch gfx950" in found["GPU"].advice
    other = machine("gfx90a", usable=False, rocm=False, torch="cuda")
    found = by_topic(tuple(machine_checks(other, ("gfx942", "gfx950"))))
    for topic, advice in {
        "GPU": "no MLA kernels for gfx90a",
        "ROCm": "running it does",
        "PyTorch": "install PyTorch for ROCm",
    }.items():
        assert found[topic].severity is Severity.WARNING
        assert advice in found[topic].advice
    assert "/dev/kfd" in found["GPU"].advice
    mixed = by_topic(tuple(machine_checks(machine("gfx942", "gfx950"), ("gfx942", "gfx950"))))
    assert "several archs" in mixed["GPU"].advice


def test_bundled_releases(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text("{}")
    monkeypatch.setattr(bundled, "folder", lambda: tmp_path)
    monkeypatch.setattr(bundled, "index", lambda: {"v1.0": "a.json", "v1.1": "b.json"})
    check = bundled_check()
    assert check.severity is Severity.WARNING
    assert check.detail == {"releases": ["v1.0", "v1.1"], "missing": ["v1.0"]}
    (tmp_path / "a.json").write_text("{}")
    assert bundled_check().severity is Severity.OK


@pytest.mark.parametrize("width", [40, 100])
def test_what_people_read(tmp_path: Path, width: int) -> None:
    here = machine("gfx950")
    source = str(write(tmp_path, today.tree()))
    found = checkup(source, environ={}, machine=here)
    lines = plain(doctor(found, width=width, spec=source)).splitlines()
    assert lines[-1].startswith("mlaprobe works here")
    long = [each for each in lines if len(each) > width and " " in each[width:].strip()]
    assert not long
    for check in found.checks:
        assert any(each.startswith(f"{check.severity.value:9}{check.topic}: ") for each in lines)


def test_for_programs_and_hostile_names(tmp_path: Path) -> None:
    source = tmp_path / "a \x1b[31m\nb"
    write(source, today.tree())
    found = checkup(str(source), environ={}, machine=BARE)
    data = json.loads(doctor_json(found))
    assert data["works"] is True
    assert [row["topic"] for row in data["checks"]] == [check.topic for check in found.checks]
    assert "\x1b" not in plain(doctor(found, width=100, spec=str(source)))


@pytest.mark.skipif(os.name != "posix", reason="the shell's quoting is POSIX's")
def test_real_releases(aiter_git: Path) -> None:
    found = checkup(f"{aiter_git}@v0.1.19.post2", environ={KNOB: "1"}, machine=machine("gfx950"))
    checks = by_topic(found.checks)
    assert checks["files"].detail["release"] == "v0.1.19.post2"
    assert checks["files"].severity is Severity.OK
    assert checks["knobs"].detail["changed"][KNOB] > 0
    assert found.works
