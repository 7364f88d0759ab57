"""What engines ask of the machine, answered for an arch: modules that stand in for theirs while a
function that was cut out of an engine is called."""

from __future__ import annotations

import functools
import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar, Final

ARCHS = ("gfx942", "gfx950")


def names() -> dict[str, Any]:
    """What functions that are cut out find in their module besides."""
    logger = logging.getLogger(__name__)
    logger.disabled = True
    return {
        "Final": Final,
        "ClassVar": ClassVar,
        "functools": functools,
        "logger": SimpleNamespace(warning=logger.warning, warning_once=logger.warning),
        # vLLM searches AITER for two texts that no release has.
        "_aiter_mla_native_h24_supported": lambda: False,
        "is_quantized_kv_cache": lambda name: name.startswith("fp8"),
        "dtypes": SimpleNamespace(fp8="fp8", bf16="bf16"),
    }


def _stands_in(arch: str) -> Mapping[str, Mapping[str, Any]]:
    """By module, what it has."""
    return {
        "vllm": {},
        "vllm.envs": {"VLLM_ROCM_AITER_MLA_ASM_PADDING": "auto"},
        "vllm.platforms": {},
        "vllm.platforms.rocm": {
            "on_gfx942": lambda: arch == "gfx942",
            "on_gfx950": lambda: arch == "gfx950",
        },
        **{name: {} for name in ("aiter", "aiter.jit", "aiter.jit.utils")},
        "aiter.jit.utils.chip_info": {"get_gfx": lambda: arch},
    }


@contextmanager
def on(arch: str) -> Iterator[None]:
    """The machine has GPUs of an arch, for what imports an engine's modules meanwhile."""
    with standing_in(_stands_in(arch)):
        yield


@contextmanager
def standing_in(wanted: Mapping[str, Mapping[str, Any]]) -> Iterator[None]:
    """Modules that have what is said, by their names, and what was there before once it is left."""
    modules = {}
    for name, has in wanted.items():
        modules[name] = ModuleType(name)
        vars(modules[name]).update(has)
        parent, _, own = name.rpartition(".")
        if parent in modules:
            setattr(modules[parent], own, modules[name])
    before = {name: sys.modules.get(name) for name in modules}
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name, module in before.items():
            if module is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = module
