"""Runs a plan: pads, decodes on a back end, unpads; and says how far the result is from a
reference.

    from mlaprobe.decode import Driver

    driver = Driver(plan, layout)      # once; the layout is from ``kv_layout``
    o, lse = driver(q, kv)             # many times; can be captured in a graph

PyTorch is needed here and nowhere else in mlaprobe; it is imported when something here is first
used. Back ends are modules of this package, each behind ``interface.Backend``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mlaprobe.decode.driver import Driver
    from mlaprobe.decode.interface import Backend, KvLayout, Launch, Prepared
    from mlaprobe.decode.layout import kv_layout
    from mlaprobe.decode.problem import Inputs, Problem, make_inputs

__all__ = [
    "Backend",
    "Driver",
    "Inputs",
    "KvLayout",
    "Launch",
    "Prepared",
    "Problem",
    "kv_layout",
    "make_inputs",
]

_HOME = {
    "Backend": "interface",
    "Driver": "driver",
    "Inputs": "problem",
    "KvLayout": "interface",
    "Launch": "interface",
    "Prepared": "interface",
    "Problem": "problem",
    "kv_layout": "layout",
    "make_inputs": "problem",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'mlaprobe.decode' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"mlaprobe.decode.{_HOME[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
