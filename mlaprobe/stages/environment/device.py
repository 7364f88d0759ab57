"""The GPU that a question is about, where more than its architecture matters.

Where a question names none, what all GPUs of its architecture have in common is known of the
device; its answers hold for each of them then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mlaprobe.evaluator.engine.runs import Run
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.values import Args, Kwargs, Unknown, Value
from mlaprobe.evaluator.values.kinds import Builtin, Model, Pointer
from mlaprobe.evaluator.values.within import Within
from mlaprobe.rulefiles.archs import Arch, archs

_FACT = "device"
Environment = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """The properties that the GPU runtime reports."""

    compute_units: int
    wave_size: int = 64
    lds_bytes: int = 65_536
    """Bytes of LDS of a compute unit: 64 KiB on CDNA3, 160 KiB on CDNA4."""

    @staticmethod
    def of(arch: str, compute_units: int) -> Device:
        """A device of an arch of ``rules/archs.yaml``."""
        return Device(compute_units=compute_units, lds_bytes=archs()[arch].lds_bytes)

    def value(self, name: str) -> int | None:
        """What a member of HIP's ``hipDeviceProp_t`` or of torch's device properties, or a function
        of AITER, gives for the device; ``None`` for what is not known."""
        return {
            "multiProcessorCount": self.compute_units,
            "multi_processor_count": self.compute_units,
            "warpSize": self.wave_size,
            "maxSharedMemoryPerMultiProcessor": self.lds_bytes,
            "get_cu_num": self.compute_units,
            "get_num_cu_func": self.compute_units,
        }.get(name)

    @property
    def facts(self) -> dict[str, Any]:
        """What a run is given to know the device (``Run.facts``)."""
        return {_FACT: self}


def in_context(
    arch: str, env: Environment, device: Device | None
) -> tuple[tuple[str, Environment], dict[str, Any]]:
    """The context in which a question is evaluated, and the facts of its runs. Values that depend
    on the device are kept apart by a name that no environment variable can have."""
    if device is None:
        return (arch, env), {}
    return (arch, (*env, ("=device", repr(device)))), device.facts


def known(run: Run, name: str) -> int | None:
    """A property of the device that the question names, ``None`` where it names none."""
    device = run.facts.get(_FACT)
    return device.value(name) if isinstance(device, Device) else None


def is_named(run: Run) -> bool:
    """Whether the question is about a certain device."""
    return _FACT in run.facts


class Properties(Model):
    """The properties of one device, as an object of the GPU runtime."""

    __slots__ = ("_open", "_run")

    def __init__(self, run: Run) -> None:
        self._run = run
        self._open: dict[str, Unknown] = {}
        """What is not known, by name: asked again, it is the same."""

    def get(self, name: str, span: Span) -> Any:
        if is_named(self._run):
            value = known(self._run, name)
            return Unknown(f"{name} of the device", span, foreign=True) if value is None else value
        arch = archs().get(self._run.facts["arch"])
        value = None if arch is None else _of_arch(arch, name)
        if value is None and name not in self._open:
            self._open[name] = _open(arch, name, span)
        return self._open[name] if value is None else value


def _of_arch(arch: Arch, name: str) -> int | None:
    """What a member of ``hipDeviceProp_t`` is for every GPU of an arch; ``None`` where they may
    differ, or it is not known."""
    major, minor = arch.version[:2] or (None, None)
    found = {
        "warpSize": arch.wave_size or None,
        "sharedMemPerBlock": arch.lds_bytes,
        "maxSharedMemoryPerMultiProcessor": arch.lds_bytes,
        "major": major,
        "minor": minor,
    }
    return found.get(name)


def _open(arch: Arch | None, name: str, span: Span) -> Unknown:
    """A property in which GPUs of one arch differ."""
    why = Unknown(f"{name} of the device is known at run time only", span, free=_FACT, foreign=True)
    most = arch.compute_units if arch is not None and name == "multiProcessorCount" else 0
    return Within(why, 1, most) if most else why


def sizes(otherwise: Model) -> Builtin:
    """``dim3``, the sizes of a launch, for questions that name a device; ``otherwise`` answers for
    others."""

    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        if not is_named(run) or not all(type(a) is int for a in args):
            return otherwise.call(run, args, kwargs, span)
        return (*args, *(1,) * (3 - len(args)))

    return Builtin("dim3", call, symbolic=True)


def get_properties(success: Any, otherwise: Builtin | Model) -> Builtin:
    """``hipGetDeviceProperties``; ``otherwise`` answers where it is not followed."""

    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        if len(args) != 2 or not isinstance(args[0], Pointer):
            return otherwise.call(run, args, kwargs, span)
        args[0].store(Properties(run))
        return success

    return Builtin("hipGetDeviceProperties", call, symbolic=True)
