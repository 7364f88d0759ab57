"""Every rule over every pair: a rule finds what its own pair was made for, and is silent about
the faults of all others."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import pytest

from mlaprobe.compare.signatures import signature_facts
from mlaprobe.core.shape import Dtype, Operation
from mlaprobe.deciding.capability import Capability
from mlaprobe.findings.engine import apply, known_as
from mlaprobe.findings.facts import Fact
from mlaprobe.findings.facts.calls import parameter_lists
from mlaprobe.findings.facts.shapes import Scope
from mlaprobe.findings.inspection import gather
from mlaprobe.findings.rules import finding_rules, settings
from mlaprobe.reports import emulated
from tests.findings.operation_pairs import operation_pairs
from tests.findings.pairs import RECORD, Pair, pairs
from tests.trees.common import Tree, write

SCOPE = Scope(
    archs=("gfx942", "gfx950"),
    dtypes=((Dtype.BF16, Dtype.BF16), (Dtype.FP8, Dtype.FP8)),
    heads=(8, 16, 24, 32, 48, 64, 96, 128),
    beyond=(144,),
    qlens=(1, 2),
    plain_heads=(8, 16, 32, 64, 128),
)
PAIRS = {**pairs(), **operation_pairs()}
RULES = finding_rules()


@pytest.fixture(autouse=True)
def _record(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known of the code object of a pair's own."""
    monkeypatch.setattr(emulated, "record_of", {RECORD.blob: RECORD}.get)


FUNCTIONS = [(each["module"], each["function"]) for each in settings()["functions"]]


def facts(root: Path, tree: Tree, op: Operation) -> list[Fact]:
    """Everything about decodes in one tree, and about an operation, however long it takes."""
    able = tuple(rule for rule in RULES if "signature" not in rule.about)
    answers = Capability.open(str(write(root, tree)))
    scopes = [replace(SCOPE, op=each) for each in dict.fromkeys((Operation.DECODE, op))]
    return [fact for scope in scopes for fact in gather(answers, scope, able, lambda: None)]


@lru_cache(maxsize=1)
def base_facts(root: Path) -> list[Fact]:
    """What most pairs are compared with."""
    return facts(root / "base", PAIRS["MLA001"].good, Operation.DECODE)


def new_in(pair: Pair, root: Path, shared: Path) -> dict[str, list[str]]:
    """What each rule finds in the bad tree and not in the good one, by rule."""
    usual = pair.good == PAIRS["MLA001"].good
    before = base_facts(shared) if usual else facts(root / "good", pair.good, pair.op)
    after = facts(root / "bad", pair.bad, pair.op)
    good, bad = write(root / "old", pair.good), write(root / "new", pair.bad)
    lists = [parameter_lists(Capability.open(str(root)).session, FUNCTIONS) for root in (good, bad)]
    after += signature_facts(*lists)
    known = {known_as(rule, f) for f in before for rule in RULES if rule.means(f)}
    found: dict[str, list[str]] = {}
    for finding in apply(after, known=known):
        found.setdefault(finding.rule.id, []).append(finding.message)
    return found


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the tree lies that most pairs have in common."""
    return tmp_path_factory.mktemp("shared")


def test_every_rule_has_a_pair() -> None:
    assert [rule.rule.id for rule in RULES] == sorted(PAIRS)


@pytest.mark.parametrize("rule", sorted(PAIRS))
def test_pair(rule: str, tmp_path: Path, shared: Path) -> None:
    pair = PAIRS[rule]
    found = new_in(pair, tmp_path, shared)
    assert rule in found, "the rule finds what its pair was made for"
    assert set(found) <= {rule, *pair.also}, "and the others are silent"
    for message in found[rule]:
        assert "{" not in message, "a field that the facts do not have"
        assert not message.startswith("None")


def test_the_same_tree_twice(tmp_path: Path, shared: Path) -> None:
    base = PAIRS["MLA001"].good
    assert new_in(Pair(base, base), tmp_path, shared) == {}
