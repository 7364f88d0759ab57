"""``mlaprobe kernels`` with code objects that are none, and launches that cannot be."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mlaprobe.emulation import launch, rules
from mlaprobe.kernels.codeobject import CodeObject
from mlaprobe.stages.kernelargs import ArgumentBlock
from tests.cli.conftest import Result, Run
from tests.trees import today
from tests.trees.common import write

KERNEL = "qh16_qseqlen1_gqaratio16_ps"
ONE = f"--arch gfx942 --dtype fp8/fp8 --heads 16 --qlen 1 --name {KERNEL} --jobs 1 -q"


def kernels(run: Run, words: str) -> Result:
    return run("kernels", *words.split())


def _packed(data: bytes, form: str, offset: int, value: int) -> bytes:
    changed = bytearray(data)
    struct.pack_into(form, changed, offset, value)
    return bytes(changed)


SPOILED: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "empty": (lambda data: b"", "is empty"),
    "truncated": (lambda data: data[:1000], "truncated or malformed"),
    "of another machine": (lambda data: _packed(data, "<H", 18, 62), "for machine 62"),
    "RDNA": (lambda data: _packed(data, "<I", 48, 0x541), "gfx1100 (RDNA"),
    "of another GPU": (lambda data: _packed(data, "<I", 48, 0x53F), "gfx90a"),
    "another kernel": (lambda data: data.replace(b"16_psE", b"17_psE"), "has no kernel _ZN5aiter"),
}


@pytest.mark.usefixtures("aiter_wheel")
@pytest.mark.parametrize("what", SPOILED)
def test_what_is_no_code_object_is_not_known(
    run: Run, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    spoil, says = SPOILED[what]
    reader = SimpleNamespace(read=lambda data: CodeObject.read(spoil(data)))
    monkeypatch.setattr(launch, "CodeObject", reader)
    done = kernels(run, f"--run {ONE} --kv-len 20 --format json")
    (found,) = json.loads(done.out)["results"]
    assert (done.code, found["standing"]) == (11, "UNKNOWN")
    assert says in found["said"][0]


@pytest.mark.usefixtures("aiter_wheel")
def test_a_kernel_that_wants_more_arguments_than_the_host_has(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reads what lies behind them."""
    whole = ArgumentBlock.pack

    def short(self: ArgumentBlock, *args: Any) -> bytes:
        return whole(self, *args)[:240]

    monkeypatch.setattr(ArgumentBlock, "pack", short)
    done = kernels(run, f"--run {ONE} --kv-len 20 --schedules one")
    assert done.code == 10
    assert "reads outside arguments (240 bytes) at byte 240" in done.out


@pytest.mark.usefixtures("aiter_wheel")
def test_a_kernel_that_does_not_end(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    cheap = replace(rules.rules(), per_token=1, per_workgroup=1)
    monkeypatch.setattr("mlaprobe.emulation.planned.rules", lambda: cheap)
    done = kernels(run, f"--run {ONE} --kv-len 20 --schedules one")
    assert done.code == 11
    assert "the kernel had not ended after" in done.out


@pytest.mark.usefixtures("aiter_wheel")
def test_what_would_take_an_hour_is_refused(run: Run) -> None:
    """Before anything is run."""
    done = kernels(run, f"--run {ONE} --kv-len 20,4000000")
    assert (done.code, done.out) == (2, "")
    assert "error: emulating 4000020 KV tokens would take about" in done.err
    assert "KV lengths up to about" in done.err


@pytest.mark.parametrize("more", ["", "--run"])
@pytest.mark.parametrize("bare", [True, False])
def test_no_code_object(run: Run, tmp_path: Path, bare: bool, more: str) -> None:
    """Of a source that ships none, and by a name that none has."""
    tree = today.tree()
    if bare:
        tree = {path: data for path, data in tree.items() if not path.startswith("hsa/")}
    name = "" if bare else "--name nothing"
    done = kernels(run, f"--aiter {write(tmp_path, tree)} --arch gfx950 -q {name} {more}")
    assert done.code == 1
    assert "has no code object of a decode kernel for gfx950" in done.err
    assert "help: --aiter names a source that has" in done.err


def test_files_that_are_no_code_objects(run: Run, tmp_path: Path) -> None:
    """What is in them is not known."""
    source = write(tmp_path, today.tree())
    name = "mla_fp8_fp8_h16_q1_ps"
    words = f"--aiter {source} --arch gfx950 --name {name} -q"
    shown = kernels(run, words)
    assert shown.code == 0
    assert "the code object is for an unknown arch" in shown.out
    assert "1 kernels; the emulator knows all of 0" in shown.out
