"""Which kernels a call really launched, from PyTorch's profiler."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from mlaprobe.decode.tensors import torch

_OWN = ("Memcpy", "Memset", "memcpy", "memset")
"""How the names of copies begin that the runtime makes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched:
    """The kernels that a call launched, against the predicted ones."""

    kernels: tuple[str, ...]
    """Names as the profiler has them, each once, in order."""
    predicted: tuple[str, ...]
    """Symbols that the source says."""

    @property
    def as_predicted(self) -> bool | None:
        """Whether every predicted kernel was launched; ``None`` where nothing was predicted."""
        if not self.predicted:
            return None
        return not self.missing

    @property
    def missing(self) -> tuple[str, ...]:
        """Predicted kernels that were not launched."""
        return tuple(
            symbol
            for symbol in self.predicted
            if not any(plain_name(symbol) in name for name in self.kernels)
        )


def watch(call: Callable[[], Any], device: Any, predicted: tuple[str, ...]) -> Launched | None:
    """Runs a call under the profiler; ``None`` on a device that launches no kernels, or where the
    profiler does not see any."""
    t = torch()
    if t.device(device).type != "cuda":
        return None
    # Without it, PyTorch warns of cycles, of which there is one.
    keeps = "acc_events" in inspect.signature(t.profiler.profile).parameters
    activities = [t.profiler.ProfilerActivity.CUDA]
    options = {"acc_events": True} if keeps else {}
    with t.profiler.profile(activities=activities, **options) as profile:
        call()
        t.cuda.synchronize(device)
    names = device_kernels(profile.events())
    return Launched(kernels=names, predicted=predicted) if names else None


def device_kernels(events: Iterable[Any]) -> tuple[str, ...]:
    """The names of the kernels among a profiler's events, each once, in order."""
    on_device = (e for e in events if str(e.device_type).rpartition(".")[2] == "CUDA")
    return tuple(dict.fromkeys(e.name for e in on_device if not e.name.startswith(_OWN)))


def short_name(kernel: str) -> str:
    """A kernel's name as people say it: without its result, template arguments and parameters."""
    return re.split(r"[<(]", kernel.removeprefix("void "), maxsplit=1)[0].strip() or kernel


def plain_name(symbol: str) -> str:
    """The last part of a mangled name, which is in the demangled name as well:
    ``_ZN5aiter3fooE`` is foo. Any other symbol is itself."""
    rest = symbol.removeprefix("_Z")
    if rest == symbol:
        return symbol
    found = symbol
    at = len(rest) - len(rest.removeprefix("N"))
    while (match := re.compile(r"[0-9]+").match(rest, at)) is not None:
        end = match.end() + int(match[0])
        if end > len(rest):
            break
        found, at = rest[match.end() : end], end
    return found
