"""Questions that name a device, and those that do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mlaprobe.evaluator.ir import NOWHERE
from mlaprobe.evaluator.values.unknown import Unknown
from mlaprobe.sources import open_source
from mlaprobe.stages.environment.device import Device, in_context
from mlaprobe.stages.environment.session import SourceSession

CODE = """
int f() {
    hipDeviceProp_t properties;
    hipGetDeviceProperties(&properties, 0);
    return properties.multiProcessorCount * 1000 + get_cu_num() + properties.warpSize;
}
int g() {
    hipDeviceProp_t properties;
    hipGetDeviceProperties(&properties, 0);
    return properties.clockRate;
}
int h() {
    const dim3 grid = dim3(2, 3);
    kernel<7, true><<<grid, get_cu_num(), 1024>>>(5);
    return 0;
}
"""


def answers(tmp_path: Path, name: str, *devices: Device | None) -> list[Any]:
    """What a function returns on each device, in one session."""
    (tmp_path / "csrc").mkdir()
    (tmp_path / "csrc" / "a.cu").write_text(CODE)
    with open_source(str(tmp_path)) as source:
        session = SourceSession(source)
        function = session.cpp_function(name)
        assert function is not None
        found = []
        for device in devices:
            context, facts = in_context("gfx950", (), device)
            (outcome,) = session.explore(
                lambda run: run.machine.call(run, function, (), {}, NOWHERE), context, facts=facts
            )
            found.append(outcome.value)
    return found


def test_what_is_known_of_a_device_is_of_that_device(tmp_path: Path) -> None:
    devices = (Device.of("gfx950", 256), None, Device(compute_units=80, wave_size=32))
    first, unknown, other = answers(tmp_path, "f", *devices)
    assert (first, other) == (256 * 1001 + 64, 80 * 1001 + 32)
    assert isinstance(unknown, Unknown)


def test_what_a_device_does_not_tell_is_unknown(tmp_path: Path) -> None:
    (found,) = answers(tmp_path, "g", Device.of("gfx950", 256))
    assert isinstance(found, Unknown)
    assert "clockRate" in found.reason


def test_a_launch_tells_its_sizes_where_they_are_wanted(tmp_path: Path) -> None:
    (tmp_path / "csrc").mkdir()
    (tmp_path / "csrc" / "a.cu").write_text(CODE)
    with open_source(str(tmp_path)) as source:
        session = SourceSession(source)
        function = session.cpp_function("h")
        assert function is not None
        context, facts = in_context("gfx950", (), Device.of("gfx950", 64))

        def launch(**more: bool) -> dict[str, Any]:
            (outcome,) = session.explore(
                lambda run: run.machine.call(run, function, (), {}, NOWHERE),
                context,
                facts={**facts, **more},
            )
            (event,) = outcome.events
            assert (event.kind, event.args) == ("launch", (5,))
            return dict(event.kwargs)

        assert launch(launches=True) == {"<>": (7, True), "<<<>>>": ((2, 3, 1), 64, 1024)}
        assert launch() == {}


def test_lds_is_that_of_the_architecture() -> None:
    assert Device.of("gfx942", 304).lds_bytes == 65_536
    assert Device.of("gfx950", 256).lds_bytes == 163_840
