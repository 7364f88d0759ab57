"""One decode by a plan, from random inputs to a verified and timed result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from mlaprobe.core.accuracy import Error
from mlaprobe.decode.backends import registry as backends
from mlaprobe.decode.backends.aiter import AiterBackend
from mlaprobe.decode.driver import Driver
from mlaprobe.decode.interface import Backend
from mlaprobe.decode.launched import Launched, watch
from mlaprobe.decode.memory import memory_watched
from mlaprobe.decode.problem import Inputs, Problem, make_inputs
from mlaprobe.decode.reference import reference, verify
from mlaprobe.decode.rules import rules
from mlaprobe.decode.timing import Timing, read_bandwidth, time_calls
from mlaprobe.padding.plan import PadPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A decode that was run."""

    problem: Problem
    plan: PadPlan
    backend: str
    """The back end that ran."""
    passed_over: tuple[str, ...]
    """Why the back ends before it were not taken."""
    fold: int
    """How often the back end read the KV cache, as far as the plan says."""
    predicted: tuple[str, ...]
    """The kernels of AITER that its source says are launched; on another back end, those that
    would be."""
    launched: Launched | None
    """What the profiler saw; ``None`` where there is nothing to see."""
    error: Error
    timing: Timing | None = None
    read_bandwidth: float | None = None
    """Bytes per second that the GPU was measured to read; ``None`` where that was not measured."""

    @property
    def passed(self) -> bool:
        """Whether the result is near enough to the reference."""
        return self.error.passed

    @property
    def bandwidth(self) -> float | None:
        """Bytes of unique KV cache per second."""
        return None if self.timing is None else self.problem.kv_bytes / (self.timing.us * 1e-6)

    @property
    def share(self) -> float | None:
        """The part of the GPU's measured read bandwidth."""
        if self.bandwidth is None or not self.read_bandwidth:
            return None
        return self.bandwidth / self.read_bandwidth


class Session:
    """Inputs of one problem, and what plans make of them on one back end."""

    def __init__(
        self,
        problem: Problem,
        *,
        backend: str | Backend = backends.AUTO,
        force: bool = False,
        seed: int = 0,
    ) -> None:
        """
        Args:
            backend: a name, ``auto`` or a back end.
            force: whether AITER is to launch what its source does not call safe.
            seed: of the inputs.

        Raises:
            UsageError: a data type that the driver does not run.
            OutOfMemoryError: memory is short.
        """
        self.problem = problem
        self._backend = backend
        self._force = force
        with memory_watched():
            self.inputs: Inputs = make_inputs(problem, seed=seed)
            self._want = reference(
                self.inputs.q,
                self.inputs.kv,
                self.inputs.layout,
                sm_scale=problem.sm_scale,
                q_scale=self.inputs.q_scale,
                kv_scale=self.inputs.kv_scale,
                causal=problem.causal,
            )

    def run(self, *plans: PadPlan, timed: bool = True, budget_s: float = 2.0) -> tuple[Run, ...]:
        """Runs plans for the same problem, and times them in turn.

        Raises:
            UsageError: a plan is for something else.
            DecodeError: a plan cannot be run, or the back end failed.
        """
        with memory_watched():
            ready = [self._driver(plan) for plan in plans]
            runs = [self._verified(driver, passed_over) for driver, passed_over in ready]
            if not timed:
                return tuple(runs)
            device = self.problem.device
            calls = [self._call(driver) for driver, _ in ready]
            times = time_calls(calls, device, budget_s=budget_s)
            reads = _read_bandwidth(device) if device != "cpu" else None
        return tuple(
            replace(run, timing=time, read_bandwidth=reads)
            for run, time in zip(runs, times, strict=True)
        )

    def _driver(self, plan: PadPlan) -> tuple[Driver, tuple[str, ...]]:
        """A driver, and why back ends before its own cannot run the problem."""
        backend = self._backend
        passed_over: tuple[str, ...] = ()
        if isinstance(backend, str):
            backend, passed_over = backends.choose(backend, self.problem, plan)
            if self._force and backend.name == "aiter":
                backend = AiterBackend(force=True)
        driver = Driver(
            plan,
            self.inputs.layout,
            sm_scale=self.problem.sm_scale,
            q_scale=self.inputs.q_scale,
            kv_scale=self.inputs.kv_scale,
            backend=backend,
        )
        return driver, passed_over

    def _call(self, driver: Driver) -> Callable[[], Any]:
        return lambda: driver(self.inputs.q, self.inputs.kv)

    def _verified(self, driver: Driver, passed_over: tuple[str, ...]) -> Run:
        o, lse = driver(self.inputs.q, self.inputs.kv)
        want, want_lse = self._want
        plan = driver.plan
        error = verify(
            o,
            want,
            rules().tolerance(plan.q_dtype, plan.kv_dtype),
            lse=lse,
            want_lse=want_lse,
        )
        predicted = driver.prepared.kernels
        if driver.backend.name != "aiter":
            predicted = tuple(kernel.symbol for kernel in driver.launch.decision.kernels)
        return Run(
            problem=self.problem,
            plan=plan,
            backend=driver.backend.name,
            passed_over=passed_over,
            fold=driver.launch.fold,
            predicted=predicted,
            launched=watch(self._call(driver), self.problem.device, driver.prepared.kernels),
            error=error,
        )


@lru_cache(maxsize=8)
def _read_bandwidth(device: str) -> float:
    """Measured once per device and process."""
    return read_bandwidth(device)
