"""The code objects of real releases, by the operation that they carry out."""

from __future__ import annotations

import csv
import subprocess
from pathlib import Path

import pytest

from mlaprobe.core.enums import Operation
from mlaprobe.deciding.capability import Capability
from mlaprobe.emulation.inspecting import facts
from mlaprobe.emulation.shipped import code_objects, with_code_objects


def text(repository: Path, name: str) -> str:
    """What git shows of something."""
    command = ["git", "--git-dir", str(repository), "show", name]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def rows(repository: Path, release: str, arch: str, column: str) -> set[str]:
    """The code objects of the rows of a table that have 1 in a column."""
    table = text(repository, f"{release}:hsa/{arch}/mla/mla_asm.csv").splitlines()
    found = csv.DictReader(table)
    return {f"hsa/{arch}/mla/{row['co_name']}" for row in found if row[column] == "1"}


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize("release", ["v0.1.10.post1", "v0.1.17", "v0.1.20.post1"])
def test_rows_of_a_table(aiter_git: Path, release: str, arch: str) -> None:
    """Every code object of the table belongs to one operation."""
    with Capability.open(f"{aiter_git}@{release}") as capability:
        prefill = set(code_objects(capability, Operation.PREFILL, arch))
        decode = set(code_objects(capability, Operation.DECODE, arch))
        named = {row.co for row in capability.tables.modules["mla"].rows if row.arch == arch}
    assert prefill == rows(aiter_git, release, arch, "prefill")
    assert prefill
    assert decode == named - prefill


def test_releases_without_a_table(aiter_git: Path) -> None:
    """There the names of the files say it."""
    folder = text(aiter_git, "v0.1.7:hsa/gfx950/mla").splitlines()
    files = {f"hsa/gfx950/mla/{name}" for name in folder if name.endswith(".co")}
    with Capability.open(f"{aiter_git}@v0.1.7") as capability:
        prefill = set(code_objects(capability, Operation.PREFILL, "gfx950"))
        decode = set(code_objects(capability, Operation.DECODE, "gfx950"))
        assert code_objects(capability, Operation.V4, "gfx950") == ()
    assert prefill == {file for file in files if "_pfl_" in file}
    assert len(prefill) == 2
    assert decode == files - prefill


def test_operations_with_code_objects(aiter_git: Path) -> None:
    assert with_code_objects() == (Operation.DECODE, Operation.PREFILL, Operation.V4)
    with Capability.open(f"{aiter_git}@v0.1.20.post1") as capability:
        assert code_objects(capability, Operation.SPARSE, "gfx950") == ()
        (path,) = code_objects(capability, Operation.V4, "gfx950")
        file = capability.source.read(path)
    assert file is not None
    (kernel,) = facts(path, file.data)
    # By the file's metadata note: .group_segment_fixed_size, .kernarg_segment_size.
    assert (kernel.lds_bytes, kernel.argument_bytes, kernel.problem) == (163840, 336, None)
