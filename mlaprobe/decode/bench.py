"""Measures a sweep of decodes, each as it is and padded, in turn.

What is launched, folded how often, is what AITER would do on the sweep's arch; which back end
carries it out, and on what device, is part of every result.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from mlaprobe.core.enums import TextEnum
from mlaprobe.core.protocols import Decider
from mlaprobe.core.shape import Dtype, Route
from mlaprobe.decode.backends import registry as backends
from mlaprobe.decode.driver import Driver
from mlaprobe.decode.memory import OutOfMemoryError
from mlaprobe.decode.problem import Inputs, Problem, make_inputs
from mlaprobe.decode.tensors import torch
from mlaprobe.decode.timing import Timing, time_calls
from mlaprobe.errors import MlaprobeError
from mlaprobe.padding.api import plan
from mlaprobe.padding.plan import PadPlan
from mlaprobe.padding.request import Mode


class Variant(TextEnum):
    """How many heads a decode is launched with."""

    STAY = "stay"
    """The next multiple of 16 heads, as AITER runs it."""
    PAD = "pad"
    """A native count."""


class Outcome(TextEnum):
    """What came of a case."""

    MEASURED = "measured"
    SKIPPED = "skipped"
    """The device has too little memory."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One decode of a sweep."""

    heads: int
    """Query heads."""
    q_dtype: Dtype
    kv_dtype: Dtype
    qlen: int
    """Query tokens per request."""
    batch: int
    """Requests."""
    kv_len: int
    """KV tokens of each request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """What to measure."""

    arch: str
    """Whose decisions are carried out."""
    heads: tuple[int, ...]
    dtypes: tuple[tuple[Dtype, Dtype], ...]
    """Of query and cache."""
    qlens: tuple[int, ...]
    batches: tuple[int, ...]
    kv_lens: tuple[int, ...]
    page_size: int = 1
    lse: bool = False
    backend: str = backends.AUTO
    device: str = "cuda"
    """A torch device."""
    seconds: float = 0.5
    """For each decode: how long its runs may take."""

    @property
    def cases(self) -> tuple[Case, ...]:
        """Every decode, small caches first; decodes of one cache follow each other."""
        caches = sorted(product(self.batches, self.kv_lens), key=lambda x: (x[0] * x[1], x))
        return tuple(
            Case(heads=heads, q_dtype=q, kv_dtype=kv, qlen=qlen, batch=batch, kv_len=kv_len)
            for (batch, kv_len), (q, kv), qlen, heads in product(
                caches, self.dtypes, self.qlens, self.heads
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One way to launch a decode."""

    name: Variant
    launched: int
    """Query heads, padding included."""
    fold: int
    """How often the KV tokens are read."""
    verdict: str
    """What AITER does with it on the sweep's arch."""
    backend: str
    """What ran it; empty: it was not run, because AITER would not."""
    graph: bool = False
    """Whether a captured graph was timed, without the host's share."""
    timing: Timing | None = None

    @property
    def us(self) -> float:
        """Microseconds, the median; of a form that was timed."""
        assert self.timing is not None
        return self.timing.us


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What came of a case."""

    case: Case
    status: Outcome
    reason: str = ""
    """Why it was skipped, or how it failed."""
    forms: tuple[Form, ...] = ()

    def form(self, name: Variant) -> Form | None:
        """The form of that name, if it was timed."""
        return next((f for f in self.forms if f.name == name and f.timing is not None), None)


def run(
    capability: Decider,
    sweep: Sweep,
    cases: tuple[Case, ...],
    *,
    begin: Callable[[Case], None] | None = None,
    deadline: float | None = None,
) -> Iterator[Point]:
    """Measures cases, one after the other.

    A case that fails, or for which there is no memory, is a point that says so.

    Args:
        begin: called before each case is measured.
        deadline: of ``time.monotonic()``: no case is begun after it.
    """
    store = _Store(sweep)
    for case in cases:
        if deadline is not None and time.monotonic() >= deadline:
            return
        if begin is not None:
            begin(case)
        yield _guarded(capability, sweep, case, store)
    store.clear()


def _guarded(capability: Decider, sweep: Sweep, case: Case, store: _Store) -> Point:
    try:
        forms = measure(capability, sweep, case, store)
    except (OutOfMemoryError, torch().OutOfMemoryError):
        store.clear()
        return Point(case=case, status=Outcome.SKIPPED, reason="out of memory")
    except MlaprobeError as error:
        return Point(case=case, status=Outcome.FAILED, reason=error.message)
    except Exception as error:
        # Whatever a back end's library raises: what was measured before must not be lost.
        lines = str(error).splitlines() or [""]
        reason = f"{type(error).__name__}: {lines[0]}"
        return Point(case=case, status=Outcome.FAILED, reason=reason)
    return Point(case=case, status=Outcome.MEASURED, forms=forms)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ready:
    """A decode that can be timed."""

    driver: Driver
    call: Callable[[], Any]
    graph: bool
    """Whether the call replays a captured graph."""


def measure(capability: Decider, sweep: Sweep, case: Case, store: _Store) -> tuple[Form, ...]:
    """Times the forms of a case."""
    plans = {name: _plan(capability, sweep, case, mode) for name, mode in _MODES.items()}
    if plans[Variant.PAD].padded_num_heads == plans[Variant.STAY].padded_num_heads:
        del plans[Variant.PAD]
    inputs = store.inputs(case)
    ready = {
        name: _ready(found, inputs, sweep) for name, found in plans.items() if found.verdict.runs
    }
    calls = [each.call for each in ready.values()]
    times = time_calls(calls, sweep.device, budget_s=sweep.seconds) if calls else ()
    timings = dict(zip(ready, times, strict=True))
    return tuple(
        _form(name, found, ready.get(name), timings.get(name)) for name, found in plans.items()
    )


def _form(name: Variant, found: PadPlan, ready: _Ready | None, timing: Timing | None) -> Form:
    return Form(
        name=name,
        launched=found.padded_num_heads,
        fold=1 if ready is None else ready.driver.launch.fold,
        verdict=found.verdict.value,
        backend="" if ready is None else ready.driver.backend.name,
        timing=timing,
        graph=ready is not None and ready.graph,
    )


_MODES = {Variant.STAY: Mode.OFF, Variant.PAD: Mode.FORCE}


def _plan(capability: Decider, sweep: Sweep, case: Case, mode: Mode) -> PadPlan:
    question = _problem(sweep, case).question
    return plan(capability=capability, mode=mode, route=Route.ASM, batch=case.batch, **question)


def _problem(sweep: Sweep, case: Case) -> Problem:
    return Problem(
        arch=sweep.arch,
        num_heads=case.heads,
        q_dtype=case.q_dtype,
        kv_dtype=case.kv_dtype,
        kv_lens=(case.kv_len,) * case.batch,
        qlen=case.qlen,
        page_size=sweep.page_size,
        lse=sweep.lse,
        device=sweep.device,
    )


def _ready(found: PadPlan, inputs: Inputs, sweep: Sweep) -> _Ready:
    """The decode of a plan: a graph of it where there is a GPU that can capture it."""
    t, device = torch(), sweep.device
    driver = Driver(
        found,
        inputs.layout,
        q_scale=inputs.q_scale,
        kv_scale=inputs.kv_scale,
        backend=sweep.backend,
    )

    def call() -> Any:
        return driver(inputs.q, inputs.kv)

    call()
    if t.device(device).type != "cuda":
        return _Ready(driver=driver, call=call, graph=False)
    t.cuda.synchronize(device)
    graph = t.cuda.CUDAGraph()
    try:
        with t.cuda.graph(graph):
            call()
    except MlaprobeError:
        t.cuda.synchronize(device)
        return _Ready(driver=driver, call=call, graph=False)
    return _Ready(driver=driver, call=graph.replay, graph=True)


class _Store:
    """Inputs, of which those of the last cache are kept: making them takes longer than most
    decodes do."""

    def __init__(self, sweep: Sweep) -> None:
        self._sweep = sweep
        self._key: Case | None = None
        self._inputs: Inputs | None = None

    def clear(self) -> None:
        """Gives memory back."""
        self._key = self._inputs = None
        gc.collect()  # a traceback may hold tensors in a cycle
        if torch().cuda.is_available():
            torch().cuda.empty_cache()

    def inputs(self, case: Case) -> Inputs:
        """Random inputs for a case: it has the first of the heads of the sweep."""
        key = replace(case, heads=max(self._sweep.heads))
        if self._inputs is None or self._key != key:
            self.clear()
            self._inputs, self._key = make_inputs(_problem(self._sweep, key)), key
        return replace(self._inputs, q=self._inputs.q[:, : case.heads].contiguous())
