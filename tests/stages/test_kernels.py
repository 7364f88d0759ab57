"""Kernel maps, caches and kernels, as host code asks them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mlaprobe.evaluator.engine.machine import Machine
from mlaprobe.evaluator.engine.runs import Run
from mlaprobe.evaluator.ir import NOWHERE
from mlaprobe.evaluator.stl.keptmaps import END, End, KeptMap
from mlaprobe.evaluator.values.kinds import Builtin, Pointer
from mlaprobe.evaluator.values.unknown import Unknown
from mlaprobe.stages.environment.kernels import AsmKernel, Column, KernelCache
from tests.stages.ask import BF16, answers, grid, opened, shape
from tests.trees import today
from tests.trees.common import changed

TAKEN = """\
    auto it                  = config_map->find(kernelName);
    if(it != config_map->end())
    {
        const auto& cfg     = it->second;
"""
MADE = """\
        impl_ptr            = &impl_ptr_map.get_or_create(
            name, [&]() { return AiterAsmKernel(name, co_name); });
"""
SAME = {
    "counted": (
        (TAKEN, "if(config_map->count(kernelName) > 0) { auto& cfg = config_map->at(kernelName);"),
    ),
    "contained": (
        (TAKEN, "if(config_map->contains(kernelName)) { auto& cfg = (*config_map)[kernelName];"),
    ),
    "not empty": (
        (
            TAKEN,
            "auto it = config_map->find(kernelName); if(!config_map->empty() && "
            "config_map->size() > 0 && it != config_map->cend()) { auto& cfg = it->second;",
        ),
    ),
    "kept in a map": (
        (
            MADE,
            "std::unordered_map<std::string, std::unique_ptr<AiterAsmKernel>> kept;"
            "auto had = kept.find(name); if(had != kept.end()) impl_ptr = had->second.get();"
            "else impl_ptr = kept.emplace(name, std::make_unique<AiterAsmKernel>(name, co_name))"
            ".first->second.get();",
        ),
    ),
    "a map that is written by key": (
        (
            "std::string kernelName",
            "std::unordered_map<std::string, std::unique_ptr<AiterAsmKernel>> kept;"
            'kept["a"] = nullptr;'
            'AITER_CHECK(kept.find("a") != kept.end(), "none"); std::string kernelName',
        ),
    ),
    "a map with an initialiser": (
        (
            "std::string kernelName",
            "static const std::map<int, int> sizes = {{16, 1}, {32, 2}};"
            'AITER_CHECK(sizes.find(16) != sizes.end(), "none"); std::string kernelName',
        ),
    ),
    "looked for again": (
        (
            MADE,
            "std::unordered_map<std::string, std::unique_ptr<AiterAsmKernel>> kept;"
            "kept.emplace(name, std::make_unique<AiterAsmKernel>(name, co_name));"
            "kept.emplace(name, nullptr);"
            "auto had = kept.find(name); if(had != kept.end()) impl_ptr = had->second.get();",
        ),
    ),
}


@pytest.mark.parametrize("how", sorted(SAME))
def test_a_kernel_is_found_however_it_is_looked_up(tmp_path: Path, how: str) -> None:
    asked = list(grid((8, 16, 32, 48, 64, 128), (1, 2)))
    whole = opened(tmp_path / "whole", today.tree())
    edited = opened(tmp_path / "edited", changed(today.tree(), today.HOST, *SAME[how]))
    assert answers(edited, asked) == answers(whole, asked)


OPEN = {
    "a name that is not known": ("config_map->find(kernelName)", "config_map->find(Q->label())"),
    "a count of it": ("it != config_map->end()", "config_map->count(Q->label()) > 0"),
    "a question whether it is there": (
        "it != config_map->end()",
        "config_map->contains(Q->label())",
    ),
    "a map that held something before": (
        "std::string kernelName",
        "static std::unordered_map<std::string, std::unique_ptr<AiterAsmKernel>> kept;"
        'AITER_CHECK(kept.find("a") != kept.end(), "none"); std::string kernelName',
    ),
    "another method": ("it != config_map->end()", "config_map->bucket_count() > 3"),
    "another method of a kernel": ("impl_ptr->launch_kernel(", "impl_ptr->enqueue("),
    "a kernel without a name": ("AiterAsmKernel(name, co_name)", "AiterAsmKernel(name)"),
    "a kernel of another kind": (
        "AiterAsmKernel(name, co_name)",
        "*std::make_unique<OtherKernel>(name, co_name)",
    ),
}


@pytest.mark.parametrize("what", sorted(OPEN))
def test_what_is_not_known_of_a_kernel_is_no_answer(tmp_path: Path, what: str) -> None:
    host = opened(tmp_path, changed(today.tree(), today.HOST, OPEN[what]))
    assert host.ask("host", shape("gfx950", BF16, 16)).status == "unknown"


def method(value: Any, name: str, *args: Any) -> Any:
    """What a method gives."""
    found = value.get(name, NOWHERE)
    assert isinstance(found, Builtin), found
    return found.call(Run(Machine()), args, {}, NOWHERE)


def second(element: Any) -> Any:
    """What an iterator of a map refers to."""
    assert isinstance(element, Pointer)
    return element.load().fields["second"]


def test_a_map_with_a_key_that_is_not_known_tells_nothing() -> None:
    """The unknown key may be the one that is asked for."""
    kept = KeptMap()
    assert method(kept, "find", "a") is END
    assert (method(kept, "size"), method(kept, "empty")) == (0, True)
    assert method(kept, "emplace", "a", 4).fields["second"] is True
    assert method(kept, "try_emplace", "a", 5).fields["second"] is False
    assert second(method(kept, "find", "a")) == 4
    assert (method(kept, "count", "a"), method(kept, "contains", "b")) == (1, False)
    assert isinstance(method(kept, "find", Unknown("a key")), Unknown)
    assert isinstance(method(kept, "find"), Unknown)
    assert method(kept, "find", "b") is END
    assert (method(kept, "size"), method(kept, "empty")) == (1, False)
    assert isinstance(method(kept, "emplace", Unknown("a key"), 6), Unknown)
    for key in ("a", "b"):
        for name in ("find", "count", "contains"):
            assert isinstance(method(kept, name, key), Unknown)
        assert isinstance(method(kept, "try_emplace", key, 7), Unknown)
    assert isinstance(method(kept, "size"), Unknown)
    assert isinstance(kept.get("erase", NOWHERE), Unknown)


def test_a_map_that_earlier_calls_have_filled_tells_what_this_call_put_there() -> None:
    kept = KeptMap(filled=True)
    assert isinstance(method(kept, "find", "a"), Unknown)
    assert isinstance(method(kept, "contains", "a"), Unknown)
    assert isinstance(method(kept, "empty"), Unknown)
    method(kept, "emplace", "a", 4)
    assert second(method(kept, "find", "a")) == 4
    assert isinstance(method(kept, "count", "b"), Unknown)


def test_ends_are_equal_and_nothing_else_is_one() -> None:
    assert END.equals(End()) is True
    assert END.equals(None) is False
    assert END.identity == End().identity


def test_kernels_are_themselves_and_there() -> None:
    kernel = AsmKernel("k", "k.co", ("launch_kernel",))
    assert kernel.equals(None) is False
    assert kernel.equals(kernel) is True
    assert kernel.equals(AsmKernel("k", "k.co", ())) is None
    assert method(kernel, "get") is kernel
    assert isinstance(kernel.get("size", NOWHERE), Unknown)


def test_a_cache_that_is_asked_otherwise_tells_nothing() -> None:
    cache = KernelCache()
    assert isinstance(cache.get("clear", NOWHERE), Unknown)
    assert isinstance(method(cache, "get_or_create", "only a name"), Unknown)


def test_a_column_that_watches_agrees_with_whatever_it_is_compared_with() -> None:
    """What is not known is not written down as a part of the key."""
    column = Column("Gqa", None)  # type: ignore[arg-type]
    assert column.equals(Unknown("a head count")) is True
    assert method(column, "find", "gfx950") == 0
    assert isinstance(column.get("size", NOWHERE), Unknown)
