"""What AMD's AITER does with an MLA decode shape, read from AITER's own source.

    import mlaprobe

    capability = mlaprobe.probe("path/to/aiter@v0.1.20")  # by default the installed AITER
    shape = mlaprobe.DecodeShape(arch="gfx950", q_dtype="fp8", kv_dtype="fp8", num_heads=48)
    decision = capability.decide(shape)
    decision.verdict, decision.fold, decision.evidence

    plan = mlaprobe.plan(
        48, capability=capability, arch="gfx950", q_dtype="fp8", kv_dtype="fp8", qlens=(1, 2)
    )
    plan.padded_num_heads, plan.reason, plan.pad_q, plan.unpad_o

    mlaprobe.emulate(12, kv_lens=(200, 77), capability=capability, arch="gfx950", q_dtype="bf16",
                     kv_dtype="bf16").standing  # AITER's own kernel, run on the CPU

Everything here is loaded when it is first used: importing mlaprobe costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mlaprobe.core.shape import (
        Decision,
        DecodeShape,
        Dtype,
        Evidence,
        Failure,
        Kernel,
        Operation,
        PlannerCall,
        Route,
        StageOutcome,
        Verdict,
    )
    from mlaprobe.deciding.capability import Capability
    from mlaprobe.decode.backends.emulate import emulate
    from mlaprobe.errors import (
        MlaprobeError,
        NotAiterError,
        NotInstalledError,
        OutOfRangeError,
        RuleError,
        SourceError,
        UsageError,
    )
    from mlaprobe.opening.probing import probe
    from mlaprobe.padding.api import CannotRunError, padded_num_heads, plan
    from mlaprobe.padding.operations import LeastCount, least_count
    from mlaprobe.padding.origin import PlanSource
    from mlaprobe.padding.plan import PadPlan, Rejected, Way
    from mlaprobe.padding.request import Mode
    from mlaprobe.padding.runplan import CannotServeError, RunCase, RunConflict, RunPlan, plan_run
    from mlaprobe.padding.tensors import Strategy
    from mlaprobe.snapshot import Snapshot

    __version__: str

__all__ = [
    "CannotRunError",
    "CannotServeError",
    "Capability",
    "Decision",
    "DecodeShape",
    "Dtype",
    "Evidence",
    "Failure",
    "Kernel",
    "LeastCount",
    "MlaprobeError",
    "Mode",
    "NotAiterError",
    "NotInstalledError",
    "Operation",
    "OutOfRangeError",
    "PadPlan",
    "PlanSource",
    "PlannerCall",
    "Rejected",
    "Route",
    "RuleError",
    "RunCase",
    "RunConflict",
    "RunPlan",
    "Snapshot",
    "SourceError",
    "StageOutcome",
    "Strategy",
    "UsageError",
    "Verdict",
    "Way",
    "__version__",
    "emulate",
    "least_count",
    "padded_num_heads",
    "plan",
    "plan_run",
    "probe",
]

_HOMES = {
    "deciding.capability": ("Capability",),
    "decode.backends.emulate": ("emulate",),
    "errors": (
        *("MlaprobeError", "NotAiterError", "NotInstalledError", "OutOfRangeError"),
        *("RuleError", "SourceError", "UsageError"),
    ),
    "padding.operations": ("LeastCount", "least_count"),
    "padding.origin": ("PlanSource",),
    "padding.tensors": ("Strategy",),
    "padding.plan": ("PadPlan", "Rejected", "Way"),
    "padding.request": ("Mode",),
    "opening.probing": ("probe",),
    "padding.api": ("CannotRunError", "padded_num_heads", "plan"),
    "padding.runplan": ("CannotServeError", "RunCase", "RunConflict", "RunPlan", "plan_run"),
    "core.shape": (
        *("Decision", "DecodeShape", "Dtype", "Evidence", "Failure", "Kernel"),
        *("Operation", "PlannerCall", "Route", "StageOutcome", "Verdict"),
    ),
    "snapshot": ("Snapshot",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version("mlaprobe")
    elif name == "decode":
        value = import_module("mlaprobe.decode")
    elif name in _HOME:
        value = getattr(import_module(f"mlaprobe.{_HOME[name]}"), name)
    else:
        raise AttributeError(f"module 'mlaprobe' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
