"""What mlaprobe reads of the installed amd-aiter, against what Python itself says of it.

The package cannot be imported without ROCm. What needs no import can be asked of Python's own
machinery: where the distribution's files are, what its modules define (compiled, not parsed by
mlaprobe), and what functions that need nothing else compute.
"""

from __future__ import annotations

import ast
import inspect
from importlib import metadata, util
from pathlib import Path
from typing import Any

import pytest

from mlaprobe.deciding.capability import Capability
from mlaprobe.sources import Source
from mlaprobe.stages.environment.session import SourceSession


@pytest.fixture(scope="module")
def session(aiter_wheel: Source) -> SourceSession:
    return SourceSession(aiter_wheel)


def _package() -> Path:
    spec = util.find_spec("aiter")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return Path(spec.submodule_search_locations[0])


def test_the_files_are_those_that_python_finds(aiter_wheel: Source) -> None:
    for path in ("aiter/mla.py", "aiter/ops/attention.py", "aiter/jit/core.py"):
        file = aiter_wheel.read(path)
        assert file is not None
        assert file.data == (_package().parent / path).read_bytes()


def test_the_distribution_is_that_of_the_metadata(aiter_wheel: Source) -> None:
    assert aiter_wheel.distribution is not None
    name, version = aiter_wheel.distribution
    assert metadata.version(name) == version
    listed = {str(f) for f in metadata.files(name) or ()}
    missing = [
        path
        for path in (*aiter_wheel.list("csrc/kernels/mla"), *aiter_wheel.list("aiter/ops"))
        if not path.endswith(".pyc") and not {path, f"aiter_meta/{path}"} & listed
    ]
    assert not missing


def _signatures(path: Path) -> dict[str, inspect.Signature]:
    """The signatures of a module's own functions, made by Python from bodiless copies of them."""
    tree = ast.parse(path.read_text())
    functions = [n for n in tree.body if isinstance(n, ast.FunctionDef)]
    for node in functions:
        node.decorator_list, node.body, node.returns = [], [ast.Pass()], None
        for arg in ast.walk(node.args):
            if isinstance(arg, ast.arg):
                arg.annotation = None
        defaults = (*node.args.defaults, *node.args.kw_defaults)
        plain = [d if isinstance(d, ast.Constant) else ast.Constant(...) for d in defaults]
        count = len(node.args.defaults)
        node.args.defaults, node.args.kw_defaults = list(plain[:count]), list(plain[count:])
    module = ast.fix_missing_locations(ast.Module([*functions], []))
    names: dict[str, Any] = {}
    exec(compile(module, str(path), "exec"), names)
    return {n.name: inspect.signature(names[n.name]) for n in functions}


_KINDS: dict[Any, str] = {
    inspect.Parameter.POSITIONAL_OR_KEYWORD: "normal",
    inspect.Parameter.KEYWORD_ONLY: "keyword",
    inspect.Parameter.VAR_POSITIONAL: "*",
    inspect.Parameter.VAR_KEYWORD: "**",
}


@pytest.mark.parametrize(
    "dotted", ["aiter.mla", "aiter.ops.attention", "aiter.jit.utils.chip_info"]
)
def test_signatures_are_those_that_python_makes(session: SourceSession, dotted: str) -> None:
    path = _package().parent / (dotted.replace(".", "/") + ".py")
    compared = 0
    for name, signature in _signatures(path).items():
        function = session.python.function(dotted, name)
        assert function is not None, name
        theirs = [
            (p.name, _KINDS[p.kind], p.default is not inspect.Parameter.empty)
            for p in signature.parameters.values()
        ]
        ours = [(p.name, p.kind, p.default is not None) for p in function.params]
        assert ours == theirs, name
        compared += 1
    assert compared >= 1


def test_the_stages_start_from_functions_that_python_sees(aiter_wheel: Source) -> None:
    capability = Capability(aiter_wheel)
    assert capability.dispatcher is not None
    signature = _signatures(_package() / "mla.py")["mla_decode_fwd"]
    for role in ("causal", "global_indptr"):
        names = [n for n, r in capability.session.names.roles("dispatcher").items() if r == role]
        assert capability.takes(role) is any(n in signature.parameters for n in names)


def test_no_table_is_found_where_none_is_installed(aiter_wheel: Source) -> None:
    listed = [str(f) for f in metadata.files("amd-aiter") or ()]
    tables = [f for f in listed if "/mla/" in f and f.endswith(".csv")]
    capability = Capability(aiter_wheel)
    assert capability.has_tables is bool(tables)
    objects = {f.rpartition("/")[2] for f in listed if "/mla/" in f and f.endswith(".co")}
    seen = {p.rpartition("/")[2] for p in aiter_wheel.list("hsa") if "/mla/" in p}
    assert objects
    assert objects <= seen
