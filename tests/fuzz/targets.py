"""What is fuzzed: for each kind of file the seeds, and what reads it."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

from mlaprobe.compare.diff import Kind
from mlaprobe.compare.waivers import SCHEMA as WAIVERS
from mlaprobe.compare.waivers import load_waivers
from mlaprobe.core.shape import DecodeShape
from mlaprobe.deciding.capability import Capability
from mlaprobe.errors import MlaprobeError, RuleError
from mlaprobe.evaluator.cpp.builtins import builtins
from mlaprobe.evaluator.cpp.preprocess import TranslationUnit
from mlaprobe.evaluator.cpp.unit import CppModule
from mlaprobe.evaluator.engine.machine import Machine
from mlaprobe.evaluator.engine.runs import Run
from mlaprobe.evaluator.ir import NOWHERE
from mlaprobe.kernels import read_tables
from mlaprobe.rulefiles.errata import BLOB_SCHEMA
from mlaprobe.rulefiles.errata import SCHEMA as ERRATA
from mlaprobe.rulefiles.loader import RuleMap, load_yaml, rules_dir
from mlaprobe.snapshot import Snapshot
from mlaprobe.snapshot.file import parse
from mlaprobe.snapshot.making import make, sealed
from mlaprobe.snapshot.scope import Scope
from tests.evaluator.session import SourceSession
from tests.evaluator.test_cpp_machine import CASES
from tests.generated.cpp_programs import Writer
from tests.generated.trees import Memory
from tests.trees import following, old, today
from tests.trees.common import Tree

SHAPES = tuple(
    DecodeShape(arch=arch, q_dtype=q, kv_dtype=kv, num_heads=heads, qlen=qlen)  # type: ignore[arg-type]
    for arch, q, kv, heads, qlen in (
        ("gfx950", "fp8", "fp8", 48, 1),
        ("gfx942", "bf16", "bf16", 16, 2),
    )
)


@dataclass(frozen=True)
class Target:
    """One kind of input."""

    name: str
    weight: int
    """How often it is taken, against the others."""
    seeds: Callable[[], tuple[bytes, ...]]
    read: Callable[[bytes, Random], object]
    """Raises nothing but ``MlaprobeError``, and ``RecursionError`` for what is nested more deeply
    than the stack: a stage makes an answer of that."""


def _cpp_seeds() -> tuple[bytes, ...]:
    cases = [code for code, _ in CASES.values()]
    return tuple(c.encode() for c in (*cases, *(Writer(Random(s)).program() for s in range(12))))


def _read_cpp(data: bytes, random: Random) -> object:
    text = data.decode("utf-8", "replace")
    machine = Machine()
    module = CppModule(TranslationUnit({"f.cu": text}.get, "f.cu"), externals=builtins())
    function = module.function("f")
    if function is None:
        return None
    args = tuple(random.choice((0, 1, 16, -3)) for _ in function.function.params)
    return machine.explore(
        lambda run: machine.call(run, function, args, {}, NOWHERE),
        lambda script: Run(machine, script=script),
    )


def _python_seeds() -> tuple[bytes, ...]:
    paths = (today.DISPATCHER, today.OPS, today.GLUON, "aiter/utility/dtypes.py")
    whole = [_bytes(today.tree(), path) for path in paths]
    small = (
        "def f(a, b=2, *c, **d):\n    x = {k: v for k, v in d.items() if k}\n"
        "    for n in range(a):\n        if n in (1, 2) or x.get(n, b):\n            return n\n"
        "    else:\n        return [y for y in c]\n",
        "import os\nV = int(os.environ.get('K', '3'))\ndef f(a, b):\n    try:\n"
        "        return {1: a, 2: b}[V] // (a - b)\n"
        "    except (KeyError, ZeroDivisionError) as e:\n"
        "        assert a, f'{a=} {b!r:>10}'\n    finally:\n        a = b\n    return a\n",
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n    y: int = 3\n"
        "def f(a, b):\n    match (a, b):\n        case (1, y) | (y, 1) if y > 2:\n"
        "            return P(y).x\n        case {'k': v, **r}:\n            return v\n"
        "    p = P(a)\n    p.y += b\n    while (n := p.y) < 9:\n        p.y += 1\n    return n\n",
    )
    return tuple(s.encode() for s in small for _ in range(4)) + tuple(whole)


def _read_python(data: bytes, random: Random) -> object:
    text = data.decode("utf-8", "replace")
    session = SourceSession({"pkg/m.py": text})
    names = [n for n in ("f", "mla_decode_fwd", "get_mla_metadata_info_v1") if n in text]
    for name in names[:1]:
        found = session.paths(name, *(random.choice((0, 1, 16)) for _ in range(2)))
        assert found
    return None


def _table_seeds() -> tuple[bytes, ...]:
    tables = (today.TABLE, "hsa/gfx942/mla/mla_asm.csv")
    return tuple(_bytes(today.tree(), path) for path in tables)


def _read_table(data: bytes, random: Random) -> object:
    files = [("gfx950", today.TABLE, data)]
    return read_tables(files, strip_comments=random.random() < 0.5)


def _yaml_seeds() -> tuple[bytes, ...]:
    files = sorted(rules_dir().glob("*.yaml")) + sorted(rules_dir().glob("findings/*.yaml"))
    return tuple(f.read_bytes()[:6000] for f in files)


def _read_yaml(data: bytes, random: Random) -> object:
    loaded = load_yaml(data.decode("utf-8", "replace"))
    if isinstance(loaded, RuleMap):
        for schema in (ERRATA, BLOB_SCHEMA, WAIVERS):
            with suppress(RuleError):
                schema.check(loaded, loaded.place)
    return loaded


@lru_cache(maxsize=1)
def _snapshot_seeds() -> tuple[bytes, ...]:
    scope = Scope(archs=("gfx950",), heads=(16, 24, 48), qlens=(1, 2), page_sizes=(1,))
    capability = Capability(Memory(today.tree()))
    return (make(capability, scope=scope).encode(),)


def _read_snapshot(data: bytes, random: Random) -> object:
    if random.random() < 0.8:  # an edit that also repairs the checksum
        text = data.decode("utf-8", "replace")
        data = sealed(text[: text.rfind(',\n"sha256"')] + "\n}").encode()
    snapshot = Snapshot(parse(data, "fuzzed"), label="fuzzed")
    return [snapshot.decide(shape) for shape in SHAPES]


def _waiver_seeds() -> tuple[bytes, ...]:
    return (
        b"waivers:\n  - change: KIND\n    shapes: {arch: [gfx950], heads: [16, 32]}\n"
        b"    reason: measured\n    until: v0.1.20\n".replace(b"KIND", str(min(Kind)).encode()),
    )


def _read_waivers(data: bytes, random: Random) -> object:
    where = Path("/dev/shm" if Path("/dev/shm").is_dir() else "/tmp")
    file = where / f"mlaprobe-fuzz-{os.getpid()}.yaml"
    file.write_bytes(data)
    try:
        return load_waivers(file)
    finally:
        file.unlink()


_TREES: tuple[tuple[Callable[[], Tree], tuple[str, ...]], ...] = (
    (today.tree, (today.PLANNER, today.HOST, today.REDUCER, today.DISPATCHER, today.BINDING)),
    (today.tree, (today.OPS, today.TABLE, "csrc/include/aiter_hip_common.h")),
    (following.tree, (following.SHAPE, following.CASES, following.BRIDGE, today.BINDING)),
    (old.tree, (today.PLANNER, today.HOST, today.DISPATCHER)),
)


def _bytes(tree: Tree, path: str) -> bytes:
    data: Any = tree[path]
    return data if isinstance(data, bytes) else data.encode()


def _tree_seeds() -> tuple[bytes, ...]:
    return tuple(
        f"{at} {path}\n".encode() + _bytes(make_tree(), path)
        for at, (make_tree, paths) in enumerate(_TREES)
        for path in paths
        if path in make_tree()
    )


def _read_tree(data: bytes, random: Random) -> object:
    """A whole source with one file damaged; the first line says which."""
    head, _, body = data.partition(b"\n")
    words = head.decode("utf-8", "replace").split(" ", 1)
    if len(words) != 2 or not words[0].isdigit() or int(words[0]) >= len(_TREES):
        return None
    make_tree, paths = _TREES[int(words[0])]
    if words[1] not in paths:
        return None
    capability = Capability(Memory({**make_tree(), words[1]: body}))
    return [capability.judge(shape) for shape in SHAPES]


TARGETS = (
    Target("C++", 150, _cpp_seeds, _read_cpp),
    Target("Python", 100, _python_seeds, _read_python),
    Target("table", 100, _table_seeds, _read_table),
    Target("rules", 90, _yaml_seeds, _read_yaml),
    Target("snapshot", 10, _snapshot_seeds, _read_snapshot),
    Target("waivers", 25, _waiver_seeds, _read_waivers),
    Target("source", 5, _tree_seeds, _read_tree),
)
REFUSED = (MlaprobeError, RecursionError)
