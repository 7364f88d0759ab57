"""Questions that are decided for the same reason have the same evidence."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stages.ask import BF16, FP8, opened, shape
from tests.trees import following, today
from tests.trees.common import Tree

TREES = {"today": today.tree, "following": following.tree}


@pytest.mark.parametrize("name", sorted(TREES))
def test_one_leaf_has_one_evidence(tmp_path: Path, name: str) -> None:
    tree: Tree = TREES[name]()
    capability = opened(tmp_path, tree)
    seen: dict[object, tuple[object, tuple[str, ...]]] = {}
    clauses = set()
    for dtypes in (BF16, FP8):
        for heads in (8, 12, 16, 24, 32, 48, 64, 96, 128, 144):
            for qlen in (1, 2, 4):
                solved = capability.solve("planner", shape("gfx950", dtypes, heads, qlen))
                outcome = solved.answer
                assert solved.leaf is not None
                leaf = solved.leaf.clauses
                found = (outcome.status, tuple(e.text for e in outcome.evidence))
                clauses.add(found)
                assert seen.setdefault(leaf, found) == found, (dtypes, heads, qlen)
    assert len(clauses) > 1
