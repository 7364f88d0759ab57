"""Questions that name a device, and those that do not."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from mlaprobe.core.enums import StageName
from mlaprobe.core.needs import Consequence
from mlaprobe.core.shape import PlannerCall, Status
from mlaprobe.deciding.capability import Capability
from mlaprobe.evaluator.ir import NOWHERE
from mlaprobe.evaluator.values.unknown import Unknown
from mlaprobe.sources import open_source
from mlaprobe.stages.environment.device import Device, in_context
from mlaprobe.stages.environment.session import SourceSession
from tests.stages.ask import FP8, shape

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

COMMON = """
#define ASK hipDeviceProp_t p; hipGetDeviceProperties(&p, 0); const int n = p.multiProcessorCount;
int common() { ASK return p.warpSize * 1000000 + p.sharedMemPerBlock; }
int version() { ASK return p.major * 10 + p.minor; }
int same() { ASK return p.multiProcessorCount == n; }
"""
"""What all GPUs of an arch have in common."""
TOLD = {
    "n * 8 + 100 <= 65536": True,
    "n <= 256": True,
    "n > 256 || n < 1": False,
    "3 * n * 4 + 16 * 7 < 4096": True,
    "n / 257 == 0": True,
    "n - 257 >= 0": None,  # it is negative
    "n <= 255": None,
    "n == 80": None,
    "n - 400u < 5u": None,  # it wraps around
    "n - 400u > 1000u": None,
    "static_cast<uint8_t>(n) > 200": None,
    "static_cast<int8_t>(n) >= 0": None,
    "static_cast<float>(n) / 257 == 0": None,
    "n / 257.0f == 0": None,
    "n * n * n * n < 0": None,  # it overflows
    "(n > 100) > 1": None,
    "static_cast<bool>(n) < 2": None,
    "n % 8 == 0": None,
}
"""What holds of the compute units of every gfx950, of which there are 1 to 256; ``None``: it
depends on the GPU, or is not followed."""


def answers(
    tmp_path: Path, name: str, *devices: Device | None, code: str = CODE, arch: str = "gfx950"
) -> list[Any]:
    """What a function returns on each device, in one session."""
    (tmp_path / "csrc").mkdir(exist_ok=True)
    (tmp_path / "csrc" / "a.cu").write_text(code)
    with open_source(str(tmp_path)) as source:
        session = SourceSession(source)
        function = session.cpp_function(name)
        assert function is not None
        found = []
        for device in devices:
            context, facts = in_context(arch, (), device)
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


@pytest.mark.parametrize(
    ("arch", "common", "version"), [("gfx942", 64_065_536, 94), ("gfx950", 64_163_840, 95)]
)
def test_what_all_gpus_of_an_arch_have_is_known_without_one(
    tmp_path: Path, arch: str, common: int, version: int
) -> None:
    assert answers(tmp_path, "common", None, code=COMMON, arch=arch) == [common]
    assert answers(tmp_path, "version", None, code=COMMON, arch=arch) == [version]
    assert answers(tmp_path, "same", None, code=COMMON, arch=arch) == [True]
    for other in ("gfx942", "gfx9999"):
        (found,) = answers(tmp_path, "common", None, code=COMMON, arch=other)
        assert isinstance(found, Unknown) is (other == "gfx9999")


def test_what_holds_for_every_number_of_compute_units(tmp_path: Path) -> None:
    functions = (f"bool t{at}() {{ ASK return {text}; }}\n" for at, text in enumerate(TOLD))
    code = COMMON + "".join(functions)
    for at, (text, expected) in enumerate(TOLD.items()):
        found = answers(tmp_path, f"t{at}", None, code=code)[0]
        assert (None if isinstance(found, Unknown) else found) is expected, text


def _lds(batch: int, heads: int) -> int:
    """The LDS that the metadata of v0.1.20.post1 takes without its fast mode, on an MI300X: by its
    comments, for each batch three numbers and one more, four for the tile that is merged, and two
    for each compute unit; or two for each lane that sorts."""
    folds = heads // 16 if heads < 128 else 1
    batch *= folds
    own = 4 * (3 * batch + batch + 1)
    lanes = -(-(1 << (batch - 1).bit_length()) // 64) * 64
    return max(own + 4 * 2 * 304 + 4 * 4 * batch, own + 4 * 2 * lanes)


def test_metadata_without_the_fast_mode_takes_lds_by_the_batch(aiter_git: str) -> None:
    capability = Capability(open_source(f"{aiter_git}@v0.1.20.post1"))
    call = PlannerCall(fast_mode=False)
    for heads, batch in product((16, 32, 128), (1, 128, 900, 1971, 1972, 2600)):
        asked = replace(shape("gfx942", FP8, heads), planner=call, batch=batch)
        outcome = capability.ask(StageName.PLANNER, asked)
        allowed = {Status.REJECTED} if _lds(batch, heads) > 65_536 else {Status.NATIVE, Status.FOLD}
        # a part of a GPU has fewer compute units, and takes less
        open_ = _lds(batch, heads) - 8 * 303 <= 65_536 < _lds(batch, heads)
        known = allowed | {Status.UNKNOWN} if open_ else allowed
        assert outcome.status in known, (heads, batch)
    outcome = capability.ask(StageName.PLANNER, replace(asked, batch=None))
    assert outcome.status in (Status.NATIVE, Status.FOLD)
    assert any("LDS" in note for note in outcome.notes)


def test_a_launch_needs_the_fast_mode_of_its_metadata(aiter_git: str) -> None:
    capability = Capability(open_source(f"{aiter_git}@v0.1.20.post1"))
    for arch, heads in (("gfx942", 128), ("gfx950", 16)):
        needs = {need.id: need for need in capability.needs(shape(arch, FP8, heads))}
        need = needs["planner-fast-mode-off"]
        assert need.outcome is Consequence.OTHER_METADATA, (arch, heads)
        assert need.evidence[0].text.startswith("dispatch_mla_metadata_v1_1_device")


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
