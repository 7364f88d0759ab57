"""A source that is asked in another process says there what it says here."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mlaprobe.compare.apart import ForkedSide
from mlaprobe.compare.diff import compare
from mlaprobe.compare.scope import compare_served
from mlaprobe.compare.sides import decide
from mlaprobe.compare.signatures import changed_signatures
from mlaprobe.core.grid import Grid
from mlaprobe.core.shape import DecodeShape, Dtype
from mlaprobe.deciding.capability import Capability
from mlaprobe.errors import NotAiterError, SourceError
from mlaprobe.rulefiles.serving import Serving
from tests.findings.pairs import fold_32
from tests.trees import today
from tests.trees.common import write

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="sources are forked off on Linux only"),
    # The test runner has threads of its own; none of them holds what the fork needs.
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning"),
]
FP8 = ((Dtype.FP8, Dtype.FP8),)
GRID = Grid(
    archs=("gfx942", "gfx950"),
    dtypes=FP8,
    heads=(16, 24, 32, 48, 64, 128),
    qlens=(1, 2),
    lse=(False, True),
    persistent=(True, False),
)
Open = Callable[[Callable[[], Any]], ForkedSide]


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    trees = {"old": today.tree(), "new": fold_32()}
    old, new = (write(tmp_path_factory.mktemp(name), tree) for name, tree in trees.items())
    return str(old), str(new)


@pytest.fixture
def apart() -> Iterator[Open]:
    with ExitStack() as stack:
        yield lambda open_: stack.enter_context(closing(ForkedSide(open_)))


def said(comparison: Any) -> Any:
    """Everything of a comparison, evidence looked up."""
    changes = [
        (
            *(change.message, change.kind, change.pad, change.old_clause, change.new_clause),
            *(change.old_decision.evidence, change.new_decision.evidence),
            *(change.witness, change.deployments),
        )
        for change in comparison.changes
    ]
    counts = (comparison.shapes, comparison.fails_otherwise, comparison.unknown, comparison.pads)
    return changes, counts, comparison.new.label


def test_it_compares_like_one_at_hand(paths: tuple[str, str], apart: Open) -> None:
    old, new = paths
    here = compare(Capability.open(old), Capability.open(new), (GRID,))
    assert here.changes
    assert said(
        compare(Capability.open(old), apart(partial(Capability.open, new)), (GRID,))
    ) == said(here)
    assert said(
        compare(apart(partial(Capability.open, old)), apart(partial(Capability.open, new)), (GRID,))
    ) == said(here)


def test_deployments(paths: tuple[str, str], apart: Open) -> None:
    old, new = paths
    grid = replace(
        GRID, archs=("gfx950",), heads=(32,), qlens=(1,), lse=(False,), persistent=(True,)
    )
    served = (Serving(name="one", num_heads=32, grid=grid),)
    here = compare_served(Capability.open(old), Capability.open(new), served)
    assert here.pads
    assert said(
        compare_served(Capability.open(old), apart(partial(Capability.open, new)), served)
    ) == said(here)


def test_signatures(paths: tuple[str, str], tmp_path: Path, apart: Open) -> None:
    old = paths[0]
    tree = today.tree()
    path = next(p for p, text in tree.items() if "def mla_decode_fwd(" in str(text))
    other = str(tree[path]).replace("def mla_decode_fwd(", "def mla_decode_fwd(added, ")
    changed = str(write(tmp_path, {**tree, path: other}))
    here = changed_signatures(Capability.open(old), Capability.open(changed))
    assert here
    assert (
        changed_signatures(Capability.open(old), apart(partial(Capability.open, changed))) == here
    )


def test_facts(paths: tuple[str, str], apart: Open) -> None:
    here, there = Capability.open(paths[0]), apart(partial(Capability.open, paths[0]))
    shape = DecodeShape(arch="gfx950", q_dtype=Dtype.FP8, kv_dtype=Dtype.FP8, num_heads=32)
    assert there.ask(decide, shape) == here.decide(shape)
    assert there.archs == here.archs
    assert (there.source.label, there.source.location) == (here.source.label, here.source.location)


def test_one_that_cannot_be_opened(tmp_path: Path, apart: Open) -> None:
    (tmp_path / "setup.py").write_text("")
    with pytest.raises(NotAiterError) as here:
        Capability.open(str(tmp_path))
    with pytest.raises(NotAiterError) as there:
        apart(partial(Capability.open, str(tmp_path))).archs  # noqa: B018
    assert there.value.render() == here.value.render()


def _killed() -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_process_that_is_ended(apart: Open) -> None:
    other = apart(_killed)
    for _ in range(2):
        with pytest.raises(SourceError, match="has ended"):
            other.archs  # noqa: B018
