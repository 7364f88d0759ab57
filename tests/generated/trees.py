"""AITER-shaped trees in memory that follow a generated rule, and what they must answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

from mlaprobe.core.shape import DecodeShape, Dtype, StageOutcome
from mlaprobe.deciding.capability import Capability
from mlaprobe.sources import Source
from tests.generated.rules import KNOB, Cpp, Python, Rule, Shape
from tests.trees import today
from tests.trees.common import Tree, changed

HEADS = (8, 12, 16, 24, 32, 48, 64, 96, 100, 128, 144)
QLENS = (1, 2, 4)
RULE = re.compile(r"    const bool natively_supported =\n.*?;\n", re.S)
PLANNER_HEAD = "void get_mla_metadata_v1_2_device("
CONDITION = re.compile(r"    if \(\n        nhead == 16\n.*?\n    \):\n", re.S)
GATE = re.compile(r"    if persistent and nhead == 16.*?_max_batch\(\)\n", re.S)
TREE: Tree = today.tree()


class Memory(Source):
    """Files that only exist here."""

    kind = "directory"

    def __init__(self, tree: Tree) -> None:
        super().__init__("memory")
        self._tree = {p: d if isinstance(d, bytes) else d.encode() for p, d in tree.items()}

    def _find_release(self) -> str | None:
        return None

    def _load(self, path: str) -> tuple[bytes, str | None] | None:
        data = self._tree.get(path)
        return None if data is None else (data, None)

    def _exists(self, path: str) -> bool:
        return path in self._tree

    def _list(self, prefix: str) -> set[str]:
        return {p for p in self._tree if not prefix or p.startswith(prefix + "/")}

    def _size(self, path: str) -> int | None:
        data = self._tree.get(path)
        return None if data is None else len(data)


def text_of(tree: Tree, path: str) -> str:
    """One file as text."""
    text = tree[path]
    assert isinstance(text, str)
    return text


def planner_text(rule: Rule, random: Random) -> str:
    """The planner's file with the rule in it."""
    writer = Cpp(random)
    test = writer.expression(rule)
    lines = "".join(f"    {line}\n" for line in writer.local)
    lines += f"    const bool natively_supported = {test};\n"
    text = text_of(TREE, today.PLANNER)
    text, count = RULE.subn(lambda _: lines, text)
    assert count == 1
    before = "\n".join(writer.before) + "\n\n"
    return text.replace(PLANNER_HEAD, before + PLANNER_HEAD)


def dispatcher_text(rule: Rule, random: Random) -> str:
    """The dispatcher's file with the rule in it, and without the gate on the batch size."""
    writer = Python(random)
    test = writer.expression(rule)
    lines = "".join(f"    {line}\n" for line in writer.local) + f"    if {test}:\n"
    text, count = CONDITION.subn(lambda _: lines, text_of(TREE, today.DISPATCHER))
    text, gates = GATE.subn("", text)
    assert (count, gates) == (1, 1)
    before = "\n\n\n".join(writer.before) + "\n\n\n"
    return text.replace("def mla_decode_fwd(", before + "def mla_decode_fwd(")


def opened(planner: str | None = None, dispatcher: str | None = None) -> Capability:
    """The capability of today's tree with other files."""
    tree = dict(TREE)
    if planner is not None:
        tree[today.PLANNER] = planner
    if dispatcher is not None:
        tree[today.DISPATCHER] = dispatcher
    return Capability(Memory(tree))


def shapes(random: Random, count: int) -> Iterator[Shape]:
    """Some of the questions."""
    for _ in range(count):
        yield Shape(
            arch=random.choice(["gfx942", "gfx950"]),
            q_fp8=random.random() < 0.5,
            kv_fp8=random.random() < 0.5,
            heads=random.choice(HEADS),
            qlen=random.choice(QLENS),
            knob=random.random() < 0.3,
        )


def question(shape: Shape) -> DecodeShape:
    """The shape as mlaprobe asks."""
    return DecodeShape(
        arch=shape.arch,
        q_dtype=Dtype.FP8 if shape.q_fp8 else Dtype.BF16,
        kv_dtype=Dtype.FP8 if shape.kv_fp8 else Dtype.BF16,
        num_heads=shape.heads,
        qlen=shape.qlen,
        env=((KNOB, "1"),) if shape.knob else (),
    )


def planned(native: bool, shape: Shape) -> tuple[str, int]:
    """What today's planner answers where its flag is ``native``: status and fold."""
    if native:
        return "native", 1
    if shape.heads % 16:
        return "rejected", 1
    fold = shape.heads // 16
    return ("fold" if fold > 1 else "passthrough"), fold


def dispatched(native: bool, shape: Shape) -> tuple[str, int]:
    """What today's dispatcher answers where its condition is ``native``."""
    if native:
        return "native", 1
    if shape.heads in range(32, 129, 16):
        return "fold", shape.heads // 16
    return "rejected", 1


def said(outcome: StageOutcome) -> tuple[str, int]:
    """Status and fold of an answer."""
    return outcome.status, outcome.fold


__all__ = ["changed", "dispatched", "dispatcher_text", "opened", "planned", "planner_text", "said"]
