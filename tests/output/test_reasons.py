"""Why something is refused: never by the name of an exception alone."""

from __future__ import annotations

import itertools
import re

import pytest

from mlaprobe import plan, probe
from mlaprobe.core.reasons import reason, stage_reason
from mlaprobe.core.shape import DecodeShape, Dtype, Evidence, Route, StageOutcome, Status, Verdict
from tests.cli.conftest import Run, run

__all__ = ["run"]
NAMELESS = re.compile(r"\w*(Error|Exception)|")


def refused(message: str | None, *clauses: str) -> StageOutcome:
    places = tuple(
        Evidence(stage="x", file="a.py", line=at, text=text) for at, text in enumerate(clauses, 7)
    )
    return StageOutcome(stage="x", status=Status.REJECTED, message=message, evidence=places)


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (refused("no such count", "n % 8 == 0"), "no such count"),
        (refused("KeyError: 24", "n in sizes"), "KeyError: 24"),
        (refused("AssertionError", "n > 0", "n % 8 == 0"), "assert n % 8 == 0 (a.py:8)"),
        (refused("AssertionError", "assert False"), "assert False (a.py:7)"),
        (refused("ValueError", "n % 8"), "ValueError: n % 8 (a.py:7)"),
        (refused(None, "n == 16"), "fails the check n == 16 (a.py:7)"),
        (refused("AssertionError"), "AssertionError"),
        (StageOutcome(stage="x", status=Status.UNKNOWN, message="Error"), "Error"),
    ],
)
def test_one_outcome(outcome: StageOutcome, told: str) -> None:
    assert stage_reason(outcome, place=True) == told
    assert stage_reason(outcome) == told.partition(" (a.py")[0]


@pytest.mark.parametrize("release", ["v0.1.6.post2", "v0.1.20"])
def test_what_a_release_refuses_has_a_reason(release: str) -> None:
    capability = probe(f"release:{release}")
    nameless = 0
    for heads, dtype, qlen, persistent, route in itertools.product(
        (1, 2, 4, 12, 16, 20, 33, 48, 128), ("bf16", "fp8"), (1, 2, 5), (True, False), Route
    ):
        shape = DecodeShape(
            arch="gfx942",
            q_dtype=Dtype(dtype),
            kv_dtype=Dtype(dtype),
            num_heads=heads,
            qlen=qlen,
            persistent=persistent,
            route=route,
        )
        decision = capability.decide(shape)
        if decision.verdict is Verdict.REJECTED and decision.stage != route.value:
            nameless += bool(NAMELESS.fullmatch(decision.message or ""))
            assert not NAMELESS.fullmatch(reason(decision) or ""), shape
        for _, outcome in decision.stages:
            if outcome.status == "rejected" and outcome.evidence:
                assert not NAMELESS.fullmatch(stage_reason(outcome) or ""), shape
    assert nameless, "nothing here shows what is new"


@pytest.mark.parametrize(
    "words",
    [
        ("explain", "--arch", "gfx950", "--dtype", "fp8/fp8", "--heads", "12"),
        ("resolve", "--arch", "gfx950", "--dtype", "fp8/fp8", "--heads", "44"),
        ("report", "--arch", "gfx950", "--dtype", "fp8/fp8", "--heads", "12"),
        ("report", "--arch", "gfx950", "--heads", "12,20", "--format", "html"),
    ],
    ids=" ".join,
)
def test_what_commands_show(run: Run, words: tuple[str, ...]) -> None:
    done = run(*words, "--aiter", "release:v0.1.20")
    assert done.code == 0
    assert "AssertionError" not in done.out
    assert "assert num_head_qo % " in " ".join(done.out.split())


def test_what_the_library_says() -> None:
    found = plan(
        44,
        capability=probe("release:v0.1.20"),
        arch="gfx950",
        q_dtype="fp8",
        kv_dtype="fp8",
    )
    own = next(each for each in found.rejected if each.num_heads == 44)
    assert own.reason == (
        "REJECTED at qlen 1 (sizing): assert num_head_qo % 8 == 0 (aiter/ops/attention.py:1158)"
    )
