"""Records the decisions in serving engines that the adapters replace: their names and parameters,
and what those that are pure functions return.

    python -m tools.engines FOLDER [--check]

The folder holds the engines as they are released: wheels, as ``pip download --no-deps vllm==0.33.0
sglang==0.5.23`` leaves them there, and of ATOM, which has none, the git repository in ``ATOM.git``.
Wheels are opened as archives, and no engine is installed. ``--check`` writes
nothing, and tells whether what is recorded is what the engines say.
"""

from __future__ import annotations

import argparse
import ast
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tools import engine_decisions

RECORDED = Path(__file__).parents[1] / "tests" / "adapters" / "recorded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """A serving engine."""

    version: str
    """The release, or of ATOM the commit, that its adapter follows."""
    files: Mapping[str, tuple[str, ...]]
    """What the adapter replaces, by the file in which it stands."""
    aiter: str | None = None
    """The AITER that it asks for, or an image recipe of it does, where one is named."""


VLLM_HELPER = (
    *("qo_indptr_for_uniform_qlen", "check_num_heads_validity", "is_valid_num_heads"),
    *("has_fp8_non_causal_qlen2_kernel", "get_actual_mla_num_heads", "get_fp8_prefill_num_heads"),
    *("get_mla_padded_q", "get_mla_unpadded_o", "get_mla_unpadded_lse"),
    *("use_gluon_decode", "use_gluon_verify"),
)
ENGINES: Mapping[str, Engine] = {
    "vllm": Engine(
        version="0.33.0",
        aiter="v0.1.21.post2",  # as rocm_aiter_mla.py says
        files={
            "vllm/v1/attention/backends/mla/rocm_aiter_mla.py": (
                *(f"AiterMLAHelper.{name}" for name in VLLM_HELPER),
                *("_aiter_mla_native_h24_supported", "_aiter_mla_non_causal_asm_kernels"),
                *("_aiter_mla_small_head_mode", "_asm_dcp_verify_configured"),
                *("_asm_dcp_verify_heads", "_fp8_mla_prefill_supported"),
                "_gluon_kv_cache_in_bounds",
                "_gluon_mla_decode_supported",
            )
        },
    ),
    "sglang": Engine(
        version="0.5.23",
        aiter="c16d44b93a528b2a4bfd6d8d3409116d465872a9",  # docker/rocm.Dockerfile at 004ae46f
        files={
            "sglang/srt/layers/attention/aiter_backend.py": (
                *("_asm_cprr_supports_shape", "_asm_cprr_kernel_heads"),
                "AiterAttnBackend.check_fp8_prefill_num_head",
            ),
            "sglang/srt/layers/attention/aiter_mla_gluon.py": ("prefer_mla_gluon_decode",),
        },
    ),
    "atom": Engine(
        version="ffdf3bb5ddf8a15a64d521a2eeb3bc7438f9ac21",
        files={
            "atom/model_ops/attention_mla.py": (
                *("mla_min_query_heads", "mla_kernel_num_heads", "mla_dcp_kernel_num_heads"),
            ),
            "atom/distributed/dcp_utils.py": ("dcp_persistent_supported",),
            "atom/plugin/sglang/attention_backend/sparse_mla_indexer.py": (
                "_supports_sparse_mla_fast_metadata",
            ),
        },
    ),
}


def main(words: Sequence[str] | None = None) -> int:
    """Records, or checks, and says what differs: the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=Path, help="a folder with wheels")
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    options = parser.parse_args(words)
    differing = 0
    for name, engine in ENGINES.items():
        text = recorded(name, engine, partial(text_in, options.folder, name, engine))
        path = RECORDED / f"{name}.json"
        if not options.check:
            path.write_text(text, encoding="utf-8", newline="\n")
        elif path.read_text(encoding="utf-8") != text:
            differing += 1
            print(f"{name} {engine.version} says something else than {path.name}")
    return 1 if differing else 0


def text_in(folder: Path, name: str, engine: Engine, path: str) -> str:
    """A file of an engine."""
    git = folder / f"{name.upper()}.git"
    if git.exists():
        what = f"{engine.version}:{path}"
        return subprocess.check_output(["git", "--git-dir", git, "show", what]).decode("utf-8")
    wheel = next(folder.glob(f"{name}-{engine.version}-*.whl"), None)
    if wheel is None:
        sys.exit(f"{name} {engine.version} is not in {folder}")
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(path).decode("utf-8")


def recorded(name: str, engine: Engine, read: Callable[[str], str]) -> str:
    """The names and parameters of what an engine decides, and what it decides, as JSON."""
    found: dict[str, Any] = {}
    for path, names in engine.files.items():
        body = ast.parse(read(path)).body
        functions, constants = dict(_functions(body, "")), dict(_constants(body))
        missing = [each for each in names if each not in functions]
        if missing:
            sys.exit(f"{path} of {name} {engine.version} has no {', '.join(missing)}")
        found |= {each: _parameters(functions[each], constants) for each in names}
    decisions = engine_decisions.decided(name, read)
    text = {"engine": name, "version": engine.version, "functions": found, "decisions": decisions}
    return json.dumps(text, indent=1) + "\n"


def _functions(body: Sequence[ast.stmt], inside: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in body:
        if isinstance(node, ast.FunctionDef):
            yield inside + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body, f"{node.name}.")


def _constants(body: Sequence[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    for node in body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            yield from (
                (each.id, node.value) for each in node.targets if isinstance(each, ast.Name)
            )


def _parameters(node: ast.FunctionDef, constants: Mapping[str, ast.expr]) -> list[dict[str, Any]]:
    """Each with its name, its kind, its type and, where it has one, its default, as text."""
    plain, named = node.args.args, node.args.kwonlyargs
    defaults = [None] * (len(plain) - len(node.args.defaults)) + list(node.args.defaults)
    pairs = [
        *((each, "positional", default) for each, default in zip(plain, defaults, strict=True)),
        *((e, "keyword", d) for e, d in zip(named, node.args.kw_defaults, strict=True)),
    ]
    return [
        {
            "name": each.arg,
            "kind": kind,
            "type": None if each.annotation is None else ast.unparse(each.annotation),
            **({} if default is None else {"default": _text(default, constants)}),
        }
        for each, kind, default in pairs
        if each.arg != "self"
    ]


def _text(default: ast.expr, constants: Mapping[str, ast.expr]) -> str:
    if isinstance(default, ast.Name):
        default = constants.get(default.id, default)
    return ast.unparse(default)


if __name__ == "__main__":
    sys.exit(main())
