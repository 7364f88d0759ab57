"""Files that are not what they should be: never an exception, never a native claim that the whole
text would not give."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from mlaprobe.core.shape import DecodeShape, Verdict
from mlaprobe.errors import MlaprobeError, UsageError
from tests.stages.ask import BF16, FP8, ask, grid, native, opened, shape
from tests.trees import following, today
from tests.trees.common import Tree

SHAPES = list(grid((16, 24, 32, 48, 64, 128), (1, 2)))
FILES = (
    today.PLANNER,
    today.HOST,
    today.REDUCER,
    today.DISPATCHER,
    today.TABLE,
    "aiter/utility/dtypes.py",
)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> set[DecodeShape]:
    """What is native in the tree as it is."""
    return native(opened(tmp_path_factory.mktemp("sound"), today.tree()), SHAPES)


def claims(root: Path, tree: Tree, shapes: list[DecodeShape]) -> set[DecodeShape]:
    """What a damaged tree claims to be native; nothing, where it is refused."""
    try:
        capability = opened(root, tree)
    except MlaprobeError:
        return set()
    for stage in ("planner", "sizing", "dispatcher", "host", "reducer", "gluon"):
        capability.ask(stage, shapes[0])
    return native(capability, shapes)


def _text(tree: Tree, path: str) -> bytes:
    data = tree[path]
    return data if isinstance(data, bytes) else data.encode()


Damage = Callable[[bytes], bytes]
DAMAGE: dict[str, Damage] = {
    "empty": lambda data: b"",
    "binary": lambda data: bytes(range(256)) * 20,
    "zeros": lambda data: b"\0" * 5000,
    "prose": lambda data: b"This is not the file that you are looking for.\n" * 40,
    "another language": lambda data: b"fn main() { let x = 'a; match x { _ => () } }\n" * 9,
    "open braces": lambda data: b"{([" * 3000,
    "close braces": lambda data: b"})]" * 3000 + data,
    "latin-1": lambda data: "# ä ö ü ß\n// ÿ\n".encode("latin-1") + data,
    "an open comment": lambda data: data[: len(data) // 2] + b"/*" + data[len(data) // 2 :],
    "an open string": lambda data: data[: len(data) // 2] + b'"' + data[len(data) // 2 :],
    "conflict marks": lambda data: b"<<<<<<< ours\n" + data + b"=======\n>>>>>>> theirs\n",
    "twice": lambda data: data + b"\n" + data,
    "deep": lambda data: b"int x = " + b"(" * 4000 + b"1" + b")" * 4000 + b";\n" + data,
    "macro bomb": lambda data: (
        b"".join(f"#define A{i} A{i + 1} A{i + 1}\n".encode() for i in range(40))
        + b"int bomb = A0;\n"
        + data
    ),
    "an include of itself": lambda data: (
        b'#include "v1_2_device.cuh"\n#include "asm_mla.cu"\n' + data
    ),
}


@pytest.mark.parametrize("path", FILES)
@pytest.mark.parametrize("name", sorted(DAMAGE))
def test_damage(tmp_path: Path, sound: set[DecodeShape], path: str, name: str) -> None:
    tree = today.tree()
    shapes = SHAPES[::17]
    damaged = {**tree, path: DAMAGE[name](_text(tree, path))}
    assert claims(tmp_path, damaged, shapes) <= sound


@pytest.mark.parametrize("path", [today.PLANNER, today.HOST, today.DISPATCHER, today.REDUCER])
def test_truncation(tmp_path: Path, sound: set[DecodeShape], path: str) -> None:
    tree = today.tree()
    data = _text(tree, path)
    offsets = random.Random(path).sample(range(len(data)), 5)
    for at in sorted(offsets):
        root = tmp_path / str(at)
        assert claims(root, {**tree, path: data[:at]}, SHAPES[::14]) <= sound, at


def test_truncation_of_the_next_layout(tmp_path: Path) -> None:
    tree = following.tree()
    whole = native(opened(tmp_path / "whole", tree), SHAPES[::9])
    chosen = random.Random(3)
    for path in (following.SHAPE, following.CASES, following.BRIDGE, today.BINDING, today.OPS):
        data = _text(tree, path)
        for at in chosen.sample(range(len(data)), 2):
            root = tmp_path / path.replace("/", "_") / str(at)
            assert claims(root, {**tree, path: data[:at]}, SHAPES[::9]) <= whole, (path, at)


def test_words_removed(tmp_path: Path, sound: set[DecodeShape]) -> None:
    """Any word of the planner or the host cut out: mostly nonsense, never a new claim of native
    where the rest of the chain does not grant it."""
    tree, chosen = today.tree(), random.Random(8)
    for path in (today.PLANNER, today.HOST):
        words = _text(tree, path).split(b" ")
        for at in chosen.sample(range(len(words)), 5):
            damaged = b" ".join(words[:at] + words[at + 1 :])
            root = tmp_path / path.replace("/", "_") / str(at)
            found = claims(root, {**tree, path: damaged}, SHAPES[::9])
            # a clause may be lost or widened: what the dispatcher folds is never native
            assert all(s in sound or s.num_heads % 16 for s in found), words[at]


@pytest.mark.parametrize("form", ["crlf", "bom", "tabs", "no final newline"])
def test_harmless_forms(tmp_path: Path, sound: set[DecodeShape], form: str) -> None:
    changes: dict[str, Damage] = {
        "crlf": lambda data: data.replace(b"\n", b"\r\n"),
        "bom": lambda data: b"\xef\xbb\xbf" + data,
        "tabs": lambda data: data.replace(b"    ", b"\t"),
        "no final newline": lambda data: data.rstrip(b"\n"),
    }
    tree: Tree = {
        path: data if path.endswith(".co") else changes[form](_text(today.tree(), path))
        for path, data in today.tree().items()
    }
    assert native(opened(tmp_path, tree), SHAPES) == sound


def test_a_huge_file(tmp_path: Path, sound: set[DecodeShape]) -> None:
    tree = today.tree()
    padding = b"".join(
        f"// line {i} of padding\nstatic int x{i} = {i};\n".encode() for i in range(15_000)
    )
    shapes = SHAPES[::11]
    found = claims(tmp_path, {**tree, today.PLANNER: padding + _text(tree, today.PLANNER)}, shapes)
    assert found <= sound


def test_a_file_of_one_endless_line(tmp_path: Path, sound: set[DecodeShape]) -> None:
    tree = today.tree()
    for path, text in (
        (today.PLANNER, b"int x = " + b"1 + " * 60_000 + b"1;"),
        (today.DISPATCHER, b"x = " + b"1 + " * 60_000 + b"1\n"),
        (today.TABLE, b"a," * 60_000),
    ):
        root = tmp_path / path.replace("/", "_")
        assert claims(root, {**tree, path: text}, SHAPES[::40]) <= sound


TABLES: dict[str, Callable[[str], str]] = {
    "a column less": lambda t: t.replace(",prefill", "").replace(",0,1,", ",1,"),
    "a column more": lambda t: t.replace("knl_name", "waves,knl_name"),
    "a repeated column": lambda t: t.replace("ps,", "ps,ps,", 1),
    "words for numbers": lambda t: t.replace(",16,1,", ",sixteen,1,"),
    "a negative number": lambda t: t.replace(",16,1,", ",-16,1,"),
    "no header": lambda t: t.split("\n", 1)[1],
    "a repeated name": lambda t: t + t.split("\n")[1] + "\n",
    "a short row": lambda t: t + "fp8,fp8,48\n",
    "a long row": lambda t: t + "fp8,fp8,48,1,1,0,1,0,0,a,b.co,c,d\n",
    "quotes": lambda t: t + '"fp8,fp8,48,1,1,0,1,0,0,a,b.co\n',
    "only a header": lambda t: t.split("\n", 1)[0] + "\n",
}


@pytest.mark.parametrize("name", sorted(TABLES))
def test_odd_tables(tmp_path: Path, sound: set[DecodeShape], name: str) -> None:
    tree = today.tree()
    text = tree[today.TABLE]
    assert isinstance(text, str)
    assert claims(tmp_path, {**tree, today.TABLE: TABLES[name](text)}, SHAPES[::8]) <= sound


def test_hostile_names_and_numbers(tmp_path: Path) -> None:
    capability = opened(tmp_path, today.tree())
    for arch in ("gfx9999", "gfx9-4-generic", "gfx950\n"):
        assert ask(capability, arch, FP8, 48).verdict is not Verdict.NATIVE
    for arch in ("", "gfx", "../..", "\u0391"):
        with pytest.raises(UsageError, match="is no GPU architecture"):
            ask(capability, arch, FP8, 48)
    for heads in (2**31, 2**40):
        with pytest.raises(UsageError, match="num_heads must be a positive whole number"):
            ask(capability, "gfx950", FP8, heads)
    for heads in (1, 7, 1_000_003, 2**31 - 16):
        for qlen in (1, 3, 10**6):
            verdict = ask(capability, "gfx950", FP8, heads, qlen).verdict
            assert verdict is not Verdict.NATIVE, (heads, qlen)
    odd = {"AITER_MLA_DECODE_PERSISTENT_MAX_BATCH": "many"}
    assert ask(capability, "gfx950", BF16, 16, env=odd).verdict is not Verdict.NATIVE
    assert capability.judge(shape("gfx950", FP8, 16, batch=10**9)).verdict is Verdict.NATIVE
