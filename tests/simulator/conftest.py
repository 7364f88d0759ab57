"""Simulations, made once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mlaprobe.deciding.capability import Capability
from mlaprobe.sources import Source
from tests.padding.tensors import torch_or_skip
from tests.simulator.cases import poisoned
from tests.simulator.package import Simulation

Simulate = Callable[[str, str], Simulation]


@pytest.fixture(scope="session", autouse=True)
def torch() -> Any:
    return torch_or_skip()


@pytest.fixture(autouse=True)
def _poison(torch: Any) -> Iterator[None]:
    with poisoned(torch):
        yield


@pytest.fixture(scope="session")
def wheel(aiter_wheel: Source) -> Callable[[str], Simulation]:
    """A simulation of PyPI's AITER for an arch."""
    capability = Capability(aiter_wheel)
    made: dict[str, Simulation] = {}

    def get(arch: str) -> Simulation:
        if arch not in made:
            made[arch] = Simulation(capability, arch)
        return made[arch]

    return get


@pytest.fixture(scope="session")
def release(aiter_git: Path) -> Iterator[Simulate]:
    """A simulation of a release for an arch."""
    made: dict[tuple[str, str], Simulation] = {}
    capabilities: dict[str, Capability] = {}

    def get(tag: str, arch: str) -> Simulation:
        if tag not in capabilities:
            capabilities[tag] = Capability.open(f"{aiter_git}@{tag}")
        if (tag, arch) not in made:
            made[tag, arch] = Simulation(capabilities[tag], arch)
        return made[tag, arch]

    yield get
    for capability in capabilities.values():
        capability.close()
