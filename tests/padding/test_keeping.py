"""What a process keeps between calls: shared by threads, and of the right object."""

from __future__ import annotations

import gc
import inspect
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from mlaprobe.core.caches import Cache
from mlaprobe.core.keeping import Keeper, Kept, Memo, Once, Topics
from mlaprobe.core.shape import Decision, DecodeShape, PlannerCall, Verdict
from mlaprobe.padding import api as resolve
from mlaprobe.padding.api import padded_num_heads, plan
from tests.padding.fake import Fake, later

THREADS = 16


@pytest.fixture
def switching() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def at_once(work: Callable[[int], Any]) -> list[Any]:
    """What so many threads get that start together."""
    gate = threading.Barrier(THREADS)

    def start(number: int) -> Any:
        gate.wait()
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(start, range(THREADS)))


@pytest.mark.usefixtures("switching")
def test_a_thing_is_made_once_whoever_asks_first() -> None:
    made: list[object] = []

    def make() -> object:
        made.append(object())
        return made[-1]

    once = Once(make)
    found = at_once(lambda _: once())
    assert len(made) == 1
    assert all(each is made[0] for each in found)


@pytest.mark.usefixtures("switching")
def test_a_failure_is_not_remembered() -> None:
    tries = iter([ValueError("not yet"), ValueError("not yet"), None])

    def make() -> str:
        error = next(tries)
        if error is not None:
            raise error
        return "made"

    once = Once(make)
    for _ in range(2):
        with pytest.raises(ValueError, match="not yet"):
            once()
    assert at_once(lambda _: once()) == ["made"] * THREADS
    once.cache_clear()
    with pytest.raises(StopIteration):
        once()


@pytest.mark.usefixtures("switching")
def test_a_topic_comes_up_first_for_one_thread() -> None:
    topics = Topics()
    assert sum(at_once(lambda _: topics.first("a"))) == 1
    assert topics.first("b")


@pytest.mark.usefixtures("switching")
def test_the_first_answer_to_a_question_is_everyones() -> None:
    book: Memo[list[int]] = Memo(Cache.PLANS, limit=8)
    for question in range(50):
        found = at_once(lambda number, q=question: book.put(q, [number]))  # type: ignore[misc]
        assert all(each is found[0] for each in found)
        assert len(book.answers) <= 8


class Thing:
    """Something to keep a thing for."""


def test_what_is_kept_goes_with_its_object() -> None:
    keeper: Keeper[list[Any]] = Keeper(lambda owner: [])
    thing = Thing()
    assert keeper.of(thing) is keeper.of(thing)
    del thing
    gc.collect()
    assert not keeper.kept


def test_another_object_at_the_same_address_gets_its_own() -> None:
    keeper: Keeper[list[Any]] = Keeper(lambda owner: [])
    gone, here = Thing(), Thing()
    kept: Kept[list[Any]] = Kept(weakref.ref(gone), ["of another"])
    keeper.kept[id(here)] = kept
    del gone
    assert keeper.of(here) == []
    assert keeper.kept[id(here)] is not kept


def test_the_end_of_an_object_leaves_its_successors_place_alone() -> None:
    keeper: Keeper[list[Any]] = Keeper(lambda owner: [])
    first = Thing()
    keeper.of(first)
    successor, key = Thing(), id(first)
    kept: Kept[list[Any]] = Kept(weakref.ref(successor), ["its own"])
    keeper.kept[key] = kept
    del first
    gc.collect()
    assert keeper.kept[key] is kept


def ask(capability: Any, heads: int) -> int:
    return padded_num_heads(
        heads, capability=capability, arch="gfx950", q_dtype="fp8", kv_dtype="fp8"
    )


def test_a_plan_is_never_of_another_capability() -> None:
    """Though one at its address was asked before."""
    old, new = later(), Fake()
    assert (ask(old, 48), ask(later(), 48)) == (64, 64)
    held = resolve.PLANS.kept[id(old)]
    resolve.PLANS.kept[id(new)] = held
    assert ask(new, 48) == 48
    assert ask(old, 48) == 64


class Slotted:
    """A capability that cannot be referred to weakly."""

    __slots__ = ("native",)
    archs = ("gfx950",)

    def __init__(self, native: int) -> None:
        self.native = native

    def decide(self, shape: DecodeShape) -> Decision:
        native = shape.num_heads == self.native
        verdict = Verdict.NATIVE if native else Verdict.FOLDED
        return Decision(shape=shape, verdict=verdict, fold=1 if native else 3)


def test_a_capability_need_not_be_weakly_referable() -> None:
    before = dict(resolve.PLANS.kept)
    for native in (64, 80, 96):
        assert ask(Slotted(native), 48) == native
    assert {*resolve.PLANS.kept} <= {*before}


@pytest.mark.usefixtures("switching")
def test_threads_that_plan_at_once_get_the_same_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolve, "MOST_PLANS", 7)  # so that the cache is emptied again and again
    alone = {heads: ask(later(), heads) for heads in range(1, 129)}
    shared = later()

    def work(number: int) -> dict[int, int]:
        heads = [1 + (number * 37 + step) % 128 for step in range(128)]
        return {count: ask(shared, count) for count in heads}

    assert at_once(work) == [alone] * THREADS
    assert {count: ask(shared, count) for count in alone} == alone
    assert len(resolve.PLANS.kept[id(shared)].value.answers) <= 7


def test_every_argument_gets_to_its_place() -> None:
    """In what a plan is remembered by as well."""
    source = later()
    question: dict[str, Any] = {
        **{"num_heads": 24, "arch": "gfx942", "q_dtype": "bf16", "kv_dtype": "fp8"},
        **{"qlens": (2, 3), "lse": True, "mode": "force", "page_size": 64, "route": "asm"},
        **{"causal": False, "cp_round_robin": True, "kv_len": 77, "batch": 5, "env": (("A", "1"),)},
        **{"persistent": False, "pad_qlen": True, "planner": None, "strategy": "zero"},
        **{"profile": None, "kv_cache_bytes": 7 << 30, "num_kv_splits": 3, "sparse": True},
    }
    assert {*question} == {*inspect.signature(plan).parameters} - {"capability", "strict"}
    found = plan(capability=source, **question)
    request, written = resolve.PLANS.kept[id(source)].value.answers
    meant = {name: getattr(request, name) for name in question}
    assert meant == {**question, "planner": PlannerCall()}
    assert {*written} == {*question.values()}
    assert (found.num_heads, found.lse, str(found.strategy)) == (24, True, "zero")
    assert plan(capability=source, **question) is found
