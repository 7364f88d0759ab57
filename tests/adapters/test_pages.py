"""The how-to pages can be followed: what they change in an engine's file fits there, leaves no name
undefined, and decides what mlaprobe answers. The files are the released engines' own."""

from __future__ import annotations

import ast
import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

import mlaprobe
from tests.adapters import pages
from tests.documents import ROOT
from tools import engines

HOW_TO = [ROOT / "docs" / "how-to" / name for name in ("vllm-backend.md", "sglang-and-atom.md")]
EDITS = {file: each for page in HOW_TO for file, each in pages.edits(page).items()}
WHEELS = "MLAPROBE_ENGINE_WHEELS"
VLLM = "vllm/v1/attention/backends/mla/rocm_aiter_mla.py"
SGLANG = "sglang/srt/layers/attention/aiter_backend.py"
LAYER, BUILDER = "atom/model_ops/attention_mla.py", "atom/model_ops/attentions/aiter_mla.py"
RUNS = [("gfx942", "fp8", 0), ("gfx942", "bf16", 3), ("gfx950", "fp8", 3), ("gfx950", "bf16", 0)]
SPARE = {
    VLLM: {"pathlib.Path"},
    LAYER: {"mlaprobe.adapters.atom.mla_min_query_heads"},
    "atom/distributed/dcp_utils.py": {"mlaprobe.adapters.atom.dcp_persistent_supported"},
}
"""What is imported and not read there: for others, and what the page says."""


def original(file: str) -> str:
    folder = os.environ.get(WHEELS)
    if not folder:
        pytest.skip(f"{WHEELS} names no folder with the engines")
    name = file.partition("/")[0]
    return engines.text_in(Path(folder), name, engines.ENGINES[name], file)


def followed(file: str) -> ast.Module:
    return ast.parse(pages.changed(original(file), EDITS[file]))


def test_the_pages_change_what_they_are_about() -> None:
    assert {VLLM, SGLANG, LAYER, BUILDER} < set(EDITS)


@pytest.mark.parametrize("file", EDITS)
def test_a_page_takes_nothing_from_mlaprobe_that_it_has_not(file: str) -> None:
    for edit in EDITS[file]:
        for node in ast.walk(ast.parse(edit.code)):
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                module = importlib.import_module(node.module)
                for each in node.names:
                    found = getattr(module, each.name, None)
                    assert found is not None or importlib.import_module(
                        f"{node.module}.{each.name}"
                    )


def lint(text: str) -> set[tuple[str, str]]:
    """The code of each complaint, and the name that it is about."""
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--quiet", "-"]
    command += ["--select", "F821,F811,F401,E9", "--output-format", "concise"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    rows = [line.split(": ", 1)[1] for line in done.stdout.splitlines() if ": " in line]
    return {(row.split()[0], row.split("`")[1] if "`" in row else row) for row in rows}


@pytest.mark.parametrize("file", EDITS)
def test_a_file_that_a_page_changed_is_whole(file: str) -> None:
    text = pages.changed(original(file), EDITS[file])
    compile(text, file, "exec")
    new = lint(text) - lint(original(file))
    assert new == {("F401", name) for name in SPARE.get(file, set())}


# --- what the changed files decide ---------------------------------------------------------------


def use(monkeypatch: pytest.MonkeyPatch, arch: str) -> None:
    """Answers by a bundled release, where the pages' own ``configure`` names none."""
    monkeypatch.setattr("mlaprobe.padding.api.default_capability", lambda: BUNDLED)
    monkeypatch.setattr("mlaprobe.system.gpu.archs", lambda: (arch,))


BUNDLED = mlaprobe.probe("release:v0.1.20.post1")


def answered(heads: int, arch: str, dtype: str, drafts: int, least: int) -> int:
    qlens = {1, drafts + 1} if least == 0 else range(1, drafts + 2)
    found = mlaprobe.plan(
        heads,
        capability=BUNDLED,
        arch=arch,
        q_dtype=dtype,
        kv_dtype=dtype,
        qlens=qlens,
        route="asm",
    )
    return found.padded_num_heads


def made(body: list[ast.stmt], names: dict[str, Any]) -> Callable[..., Any]:
    """A function of ``self`` and ``model_runner`` with some statements of a method."""
    module = ast.parse("def part(self, model_runner): pass")
    function = module.body[0]
    assert isinstance(function, ast.FunctionDef)
    function.body = body
    exec(compile(ast.fix_missing_locations(module), "engine", "exec"), names)
    found: Callable[..., Any] = names["part"]
    return found


def method(module: ast.Module, cls: str, name: str) -> ast.FunctionDef:
    (found,) = (
        each
        for node in module.body
        if isinstance(node, ast.ClassDef) and node.name == cls
        for each in node.body
        if isinstance(each, ast.FunctionDef) and each.name == name
    )
    return found


def mentioning(body: list[ast.stmt], *texts: str) -> list[ast.stmt]:
    return [node for node in body if any(text in ast.unparse(node) for text in texts)]


def imports(module: ast.Module) -> dict[str, Any]:
    """What a changed file takes from mlaprobe."""
    names: dict[str, Any] = {}
    for node in module.body:
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("mlaprobe"):
            exec(compile(ast.Module([node], []), "engine", "exec"), names)
    return names


@pytest.mark.parametrize(("arch", "dtype", "drafts"), RUNS)
def test_sglang_launches_what_is_answered(
    monkeypatch: pytest.MonkeyPatch, arch: str, dtype: str, drafts: int
) -> None:
    """The count of the launch is that of the metadata, and both are mlaprobe's; what the mode says
    runs."""
    use(monkeypatch, arch)
    module = followed(SGLANG)
    body = mentioning(
        method(module, "AiterAttnBackend", "__init__").body,
        *("quantized", "use_any_mla_persist"),
    )
    for heads in [*range(1, 16), *range(16, 129, 16)]:
        names = imports(module) | {
            **{name: MagicMock() for name in ("torch", "logger", "get_spec", "envs", "max_bs")},
            "is_dp_attention_enabled": lambda: False,
            "is_gfx95_supported": lambda: True,
            "prefer_mla_gluon_decode": lambda **_: False,
            "log_mla_gluon_capability": lambda _: None,
            "fp8_dtype": "fp8",
            **{"_use_mla_ps_kernel": True, "fast_mode": False, "intra_batch_mode": True},
        }
        names["envs"].SGLANG_AITER_MLA_AUTO_KV_SPLITS.get = lambda: False
        backend = SimpleNamespace(
            **{"num_head": heads, "dcp_world_size": 1, "use_mla_dcp_asm": False},
            **{"use_mla": True, "input_dtype": dtype, "kv_cache_dtype": dtype},
            **{"num_draft_tokens": drafts + 1 if drafts else None},
            may_run_mla_decode_kernel=lambda **_: True,
        )
        made(body, names)(backend, MagicMock())
        assert backend.num_head_padded == backend.mla_kernel_num_head_padded
        assert backend.num_head_padded == max(answered(heads, arch, dtype, drafts, 0), 16), heads
        told = {name: names[name] for name in ("fast_mode", "intra_batch_mode")}
        for qlen in (1, drafts + 1) if names["_use_mla_ps_kernel"] else ():
            shape = mlaprobe.DecodeShape(
                arch=arch,
                q_dtype=dtype,  # type: ignore[arg-type]
                kv_dtype=dtype,  # type: ignore[arg-type]
                num_heads=backend.num_head_padded,
                qlen=qlen,
                planner=told,  # type: ignore[arg-type]
            )
            assert BUNDLED.decide(shape).verdict.runs, shape


@pytest.mark.parametrize(("arch", "dtype", "drafts"), RUNS)
def test_atom_launches_what_is_answered(
    monkeypatch: pytest.MonkeyPatch, arch: str, dtype: str, drafts: int
) -> None:
    """In the layer and in its metadata alike; nothing changes where nothing was configured."""
    use(monkeypatch, arch)
    layer, builder = followed(LAYER), followed(BUILDER)
    parts = {
        "layer": made(
            mentioning(method(layer, "MLAAttention", "__init__").body, "padded_num_heads =")[:2],
            imports(layer),
        ),
        "builder": made(
            mentioning(
                method(builder, "AiterMLAMetadataBuilder", "__init__").body,
                "padded_num_attention_heads =",
            ),
            imports(builder) | {"_MLA_MIN_HEADS": 16},
        ),
    }
    runner = followed("atom/model_engine/model_runner.py")
    configured = mentioning(
        method(runner, "ModelRunner", "__init__").body, "mla.configure", "as mla"
    )
    for said in (False, True):
        if said:
            config = SimpleNamespace(kv_cache_dtype=dtype, decode_context_parallel_size=1)
            made(configured, {"config": config})(SimpleNamespace(num_spec_tokens=drafts), None)
        for heads in range(1, 129):
            own = SimpleNamespace(num_attention_heads=heads, min_query_heads=16)
            parts["layer"].__globals__["num_heads"] = heads
            for part in parts.values():
                part(own, None)
            expected = answered(heads, arch, dtype, drafts, 1) if said else heads
            assert own.padded_num_heads == max(expected, 16), heads
            assert own.padded_num_attention_heads == own.padded_num_heads


@pytest.mark.parametrize(("arch", "dtype", "drafts"), RUNS)
def test_vllm_launches_what_is_answered(
    monkeypatch: pytest.MonkeyPatch, arch: str, dtype: str, drafts: int
) -> None:
    use(monkeypatch, arch)
    module = followed(VLLM)
    names = imports(module) | {
        "torch": MagicMock(),
        "max_decode_query_len": lambda _: drafts + 1,
        "is_quantized_kv_cache": lambda name: name.startswith("fp8"),
        "vllm_config": SimpleNamespace(
            cache_config=SimpleNamespace(cache_dtype="fp8" if dtype == "fp8" else "auto"),
            model_config=SimpleNamespace(dtype="bf16"),
            parallel_config=SimpleNamespace(decode_context_parallel_size=1),
        ),
    }
    init = method(module, "AiterMLAMetadataBuilder", "__init__").body
    made(init[:2], names)(None, None)
    (helper,) = (n for n in module.body if getattr(n, "name", "") == "AiterMLAHelper")
    exec(compile(ast.Module([helper], []), "engine", "exec"), names)
    for heads in range(1, 129):
        expected = answered(heads, arch, dtype, drafts, 1)
        assert names["AiterMLAHelper"].get_actual_mla_num_heads(heads) == expected, heads
    assert names["AiterMLAHelper"].dcp_local_verify_row_lens


def places() -> Iterator[str]:
    yield from (edit.place for each in EDITS.values() for edit in each)


def test_a_place_that_is_not_there_is_an_error() -> None:
    for place in (
        "before gone",
        "first in Gone.method",
        "in C.method behind self.gone",
        "anywhere",
    ):
        edit = pages.Edit("engine.py", place, "pass\n")
        with pytest.raises(ValueError, match=r"unpack|is no place"):
            pages.changed("class C:\n    def method(self): self.here = 1\n", [edit])
    assert len(set(places())) == sum(map(len, EDITS.values()))
