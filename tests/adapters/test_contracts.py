"""The adapters have the names and parameters of the engines' own functions, as recorded from the
released wheels (``make engines`` records anew)."""

from __future__ import annotations

import ast
import inspect
import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from mlaprobe.adapters import atom, sglang, vllm
from tools import engines

ADAPTERS: dict[str, ModuleType] = {"vllm": vllm, "sglang": sglang, "atom": atom}
OWN = {"AiterAttnBackend.check_fp8_prefill_num_head": "check_fp8_prefill_num_head"}
"""Methods of a class that stays the engine's are functions here."""
WHEELS = "MLAPROBE_ENGINE_WHEELS"


def recorded(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((engines.RECORDED / f"{name}.json").read_text("utf-8"))
    return found


FUNCTIONS = [(name, each) for name in ADAPTERS for each in recorded(name)["functions"]]


def found_in(module: ModuleType, dotted: str) -> Callable[..., Any]:
    value: Any = module
    for part in OWN.get(dotted, dotted).split("."):
        value = getattr(value, part)
    function: Callable[..., Any] = value
    return function


@pytest.mark.parametrize("name", ADAPTERS)
def test_what_is_recorded_is_of_the_version_that_the_adapter_follows(name: str) -> None:
    assert recorded(name)["version"] == ADAPTERS[name].VERSION == engines.ENGINES[name].version
    names = [each for names in engines.ENGINES[name].files.values() for each in names]
    assert list(recorded(name)["functions"]) == names


@pytest.mark.parametrize(("name", "dotted"), FUNCTIONS)
def test_a_call_of_the_engine_s_is_a_call_of_the_adapter_s(name: str, dotted: str) -> None:
    theirs = recorded(name)["functions"][dotted]
    ours = inspect.signature(found_in(ADAPTERS[name], dotted)).parameters
    assert list(ours) == [each["name"] for each in theirs]
    for each, parameter in zip(theirs, ours.values(), strict=True):
        keyword = parameter.kind is inspect.Parameter.KEYWORD_ONLY
        assert keyword == (each["kind"] == "keyword"), each
        assert (parameter.default is not parameter.empty) == ("default" in each), each
        if "default" in each and "." not in each["default"]:
            assert parameter.default == ast.literal_eval(each["default"]), each


@pytest.mark.parametrize("name", ADAPTERS)
def test_the_released_engine_says_what_is_recorded(name: str) -> None:
    folder = os.environ.get(WHEELS)
    if not folder:
        pytest.skip(f"{WHEELS} names no folder with the engines")
    engine = engines.ENGINES[name]
    read = partial(engines.text_in, Path(folder), name, engine)
    assert json.loads(engines.recorded(name, engine, read)) == recorded(name)
