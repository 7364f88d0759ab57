"""Second opinions on generated C++: another preprocessor, another grammar.

Both are development tools that mlaprobe itself does not use.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
import tree_sitter
import tree_sitter_cuda

from mlaprobe.deciding.capability import Capability
from tests.evaluator.test_cpp_machine import PAIRS, Program, result
from tests.generated.cpp_programs import Writer
from tests.generated.deep import examples
from tests.generated.rules import random_rule
from tests.generated.scramble import scrambled_cpp
from tests.generated.trees import Memory, opened, planner_text, question, said, shapes, text_of
from tests.trees import following, today
from tests.trees.common import Tree

SEEDS = range(examples(6, 300))
PREDEFINED = "#define __HIPCC__ 1\n#define __linux__ 1\n#define __cplusplus 201703L\n"


def preprocessed(text: str) -> str:
    """The text after pcpp: macros expanded, conditions taken, comments gone."""
    pcpp = pytest.importorskip("pcpp", reason="pcpp is not installed")

    class Quiet(pcpp.Preprocessor):  # type: ignore[misc,name-defined]
        def on_include_not_found(self, *_: Any) -> None:
            raise pcpp.OutputDirective(pcpp.Action.IgnoreAndPassThrough)

        def on_error(self, file: str, line: int, message: str) -> None:
            raise AssertionError(f"{line}: {message}")

    reader = Quiet()
    reader.line_directive = None
    reader.parse(PREDEFINED + text)
    out = io.StringIO()
    reader.write(out)
    return out.getvalue()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_program_means_the_same_to_another_preprocessor(seed: int) -> None:
    text = Writer(Random(seed)).program()
    ours, theirs = Program(text), Program(preprocessed(text))
    for a, b in PAIRS:
        answers = [result(p.paths((a, b, 3))) for p in (ours, theirs)]
        assert answers[0] == answers[1], (a, b, answers)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_planner_means_the_same_to_another_preprocessor(seed: int) -> None:
    random = Random(seed)
    text = scrambled_cpp(planner_text(random_rule(random), random), random)
    ours, theirs = opened(text), opened(preprocessed(text))
    for shape in shapes(random, 30):
        asked = question(shape)
        assert said(ours.ask("planner", asked)) == said(theirs.ask("planner", asked)), shape


@pytest.mark.parametrize("tree", [today.tree, following.tree], ids=["today", "following"])
def test_a_router_means_the_same_to_another_preprocessor(tree: Any) -> None:
    files: Tree = tree()
    cases = {p: d for p, d in files.items() if p.startswith("csrc/include/mla_reduce")}
    text = text_of(files, today.REDUCER)
    for path, included in cases.items():
        assert isinstance(included, str)
        text = text.replace(f'#include "{path.rsplit("/", 1)[-1]}"', included)
    ours = Capability(Memory(files))
    theirs = Capability(Memory({**files, today.REDUCER: preprocessed(text)}))
    asked = (8, 12, 16, 24, 32, 64, 96, 128, 144)
    found = [
        [c.reducer.decide((h, 512)).status for h in asked] for c in (ours, theirs) if c.reducer
    ]
    assert len(found) == 2
    assert found[0] == found[1]
    assert {"instantiated", "missing"} == set(found[0])


@pytest.mark.parametrize("seed", SEEDS)
def test_two_grammars_read_a_program_alike(seed: int) -> None:
    """The CUDA grammar extends that of C++: both must see the same expressions and statements in
    the same places. (How a lambda's parameters hang together is named differently.)"""
    other = pytest.importorskip("tree_sitter_cpp", reason="tree-sitter-cpp is not installed")
    text = preprocessed(Writer(Random(seed)).program()).encode()
    trees = [
        tree_sitter.Parser(tree_sitter.Language(grammar.language())).parse(text)
        for grammar in (tree_sitter_cuda, other)
    ]
    assert not trees[0].root_node.has_error
    seen = [list(_meaningful(tree.root_node)) for tree in trees]
    assert seen[0] == seen[1]
    assert len(seen[0]) > 50


def _meaningful(node: Any) -> Iterator[tuple[str, int, int]]:
    if node.type.endswith(("_expression", "_statement", "_literal", "identifier", "declaration")):
        yield node.type, node.start_byte, node.end_byte
    for child in node.children:
        yield from _meaningful(child)
