"""One decode in a simulated AITER, against the reference."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from mlaprobe.core.shape import Dtype
from mlaprobe.deciding.capability import Capability
from mlaprobe.decode.backends.aiter import AiterBackend
from mlaprobe.decode.backends.aiter_calls import Functions
from mlaprobe.decode.driver import Driver
from mlaprobe.decode.problem import Problem, make_inputs
from mlaprobe.decode.reference import reference
from mlaprobe.padding.api import plan
from mlaprobe.padding.plan import PadPlan
from tests.simulator.package import Simulation

KV_LENS = (300, 9, 77)
SCALES = (0.7, 1.3)
CLOSE = 1e-2
"""For fp8 too: the stand-ins compute in float32, so only the output is rounded, to bf16."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is decoded."""

    arch: str
    dtype: str
    heads: int
    qlen: int = 1
    lse: bool = False
    persistent: bool = True
    page_size: int = 1
    mode: str = "auto"

    def __str__(self) -> str:
        flags = "".join(
            text
            for text, on in (
                (" lse", self.lse),
                (" split", not self.persistent),
                (f" page {self.page_size}", self.page_size > 1),
            )
            if on
        )
        return f"{self.arch} {self.dtype} {self.heads}h q{self.qlen}{flags} {self.mode}"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of it."""

    plan: PadPlan
    error: float
    """The largest difference of an output value; infinite where one was not written."""
    lse_error: float
    calls: tuple[str, ...]
    kernels: tuple[str, ...]
    predicted: tuple[str, ...]

    @property
    def right(self) -> bool:
        """Whether the result is what attention gives."""
        return self.error < CLOSE and self.lse_error < 1e-3


def plan_for(capability: Capability, case: Case) -> PadPlan:
    """The plan of a case."""
    q_dtype, kv_dtype = case.dtype.split("/")
    return plan(
        case.heads,
        capability=capability,
        arch=case.arch,
        q_dtype=q_dtype,
        kv_dtype=kv_dtype,
        qlens=case.qlen,
        lse=case.lse,
        persistent=case.persistent,
        page_size=case.page_size,
        mode=case.mode,
        route="asm",
    )


def run(
    simulation: Simulation, case: Case, *, force: bool = False, functions: Functions | None = None
) -> Outcome:
    """Runs a case through the driver.

    Args:
        functions: in the place of the simulation's own: those of a broken driver.

    Raises:
        MlaprobeError: the driver refuses it, or the simulated AITER fails.
    """
    capability = simulation.capability
    found = plan_for(capability, case)
    q_dtype, kv_dtype = case.dtype.split("/")
    problem = Problem(
        arch=case.arch,
        num_heads=case.heads,
        q_dtype=Dtype(q_dtype),
        kv_dtype=Dtype(kv_dtype),
        kv_lens=KV_LENS,
        qlen=case.qlen,
        page_size=case.page_size,
        lse=case.lse,
        persistent=case.persistent,
    )
    inputs = make_inputs(replace(problem, scales=SCALES))
    backend = AiterBackend(
        functions=functions or simulation, capability=capability, arch=case.arch, force=force
    )
    simulation.natives.calls.clear()
    simulation.natives.kernels.clear()
    scales: dict[str, Any] = {"q_scale": inputs.q_scale, "kv_scale": inputs.kv_scale}
    driver = Driver(found, inputs.layout, backend=backend, **scales)
    o, lse = driver(inputs.q, inputs.kv)
    want, want_lse = reference(
        inputs.q, inputs.kv, inputs.layout, sm_scale=problem.sm_scale, **scales
    )
    return Outcome(
        plan=found,
        error=_largest(o, want),
        lse_error=0.0 if lse is None else _largest(lse, want_lse),
        calls=tuple(simulation.natives.calls),
        kernels=tuple(simulation.natives.kernels),
        predicted=driver.prepared.kernels,
    )


def _largest(got: Any, want: Any) -> float:
    difference = (got.float() - want).abs()
    return float(difference.nan_to_num(nan=float("inf")).max())


@contextlib.contextmanager
def poisoned(torch: Any) -> Iterator[None]:
    """Memory that is new holds NaN, so that what was never written is seen; one thread, because
    the tensors are small."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)
        torch.set_num_threads(threads)
