"""Real releases, as ``aiter/mla.py`` sees them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mlaprobe.evaluator.closures.attributes import attribute
from mlaprobe.evaluator.engine.machine import Machine
from mlaprobe.evaluator.engine.runs import Run
from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.ir import NOWHERE
from mlaprobe.evaluator.python.project import PyProject
from mlaprobe.evaluator.python.values import EntryPoint, MissingName
from mlaprobe.evaluator.values.kinds import Builtin, Closure
from mlaprobe.sources import Source, open_source

ARCH = Builtin("arch", lambda run, args, kwargs, span: "gfx950")
EXTERNALS = {"torch.float8_e4m3fn": "e4m3fn", "torch.bfloat16": "bf16"}


class View:
    """Names as a module of a source sees them."""

    def __init__(self, source: Source) -> None:
        def read(path: str) -> str | None:
            found = source.read(path)
            return None if found is None else found.text

        overrides = {"get_gfx": ARCH, "get_gfx_runtime": ARCH}
        project = PyProject(read, externals=EXTERNALS, overrides=overrides)
        module = project.module("aiter.mla")
        assert module is not None
        self.module = module
        self.run = Run(Machine())

    def get(self, path: str) -> Any:
        name, *rest = path.split(".")
        value = self.module.lookup(self.run, name, NOWHERE)
        for part in rest:
            value = attribute(self.run, None, value, part, NOWHERE, python=True)
        return value

    def kind(self, path: str) -> str:
        try:
            return type(self.get(path)).__name__
        except MissingName:
            return "missing"
        except Failed as failure:
            return failure.how


def check(view: View) -> None:
    """What holds of every release in range."""
    assert view.get("dtypes.fp8") == "e4m3fn"
    assert view.get("dtypes.bf16") == "bf16"
    assert isinstance(view.get("mla_decode_fwd"), Closure)
    assert isinstance(view.get("aiter.get_mla_metadata_info_v1"), Closure)
    for name in ("mla_decode_stage1_asm_fwd", "mla_reduce_v1"):
        entry = view.get(f"aiter.{name}")
        assert isinstance(entry, EntryPoint)
        assert entry.function.params
        assert all(d.split(".")[-1] == "compile_ops" for d in entry.decorators)
    assert view.kind("aiter.get_mla_metadata_v1") in ("Closure", "EntryPoint")
    assert view.kind("get_gfx") in ("missing", "Builtin")
    assert view.kind("is_experimental_enabled") in ("missing", "Closure")
    assert view.kind("aiter.not_in_any_release") == "AttributeError"


@pytest.mark.parametrize(
    ("tag", "hk"),
    [
        ("v0.1.6.post2", "AttributeError"),
        ("v0.1.10.post3", "AttributeError"),
        ("v0.1.12", "EntryPoint"),
        ("v0.1.14", "EntryPoint"),
        ("v0.1.16.post2", "EntryPoint"),
        ("v0.1.18", "AttributeError"),
        ("v0.1.20", "AttributeError"),
    ],
)
def test_names_of_releases(aiter_git: Path, tag: str, hk: str) -> None:
    with open_source(f"{aiter_git}@{tag}") as source:
        view = View(source)
        check(view)
        assert view.kind("aiter.hk_mla_decode_fwd") == hk


def test_names_of_the_wheel(aiter_wheel: Source) -> None:
    check(View(aiter_wheel))
