"""Releases whose lists of head counts are written in another form: the answers are the same.

The text of a release is edited here: every comparison of a head count with a list of numbers, in
the planner, and with one number, in the host function, becomes another form with the same numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

from mlaprobe.core.enums import StageName
from mlaprobe.core.shape import DecodeShape
from mlaprobe.deciding.capability import Capability
from mlaprobe.sources import open_source
from mlaprobe.sources.interface import Source, SourceFile
from tests.generated.deep import examples
from tests.stages.ask import BF16, FP8, shape

RELEASE = "v0.1.20"
PLANNER = "csrc/kernels/mla/metadata/v1_2_device.cuh"
HOST = "csrc/py_itfs_cu/asm_mla.cu"
LISTED = r"\(\s*(?:\({0} == \d+\)\s*\|\|\s*)+\({0} == \d+\)\s*\)"
SINGLE = r"\b{0} == \d+\b"

FORMS: dict[str, tuple[str, str]] = {
    "a set": ("static const std::set<int> {k} = {{{n}}};", "({k}.count({v}) > 0)"),
    "a hash set": (
        "static const std::unordered_set<int> {k}{{{n}}};",
        "({k}.find({v}) != {k}.end())",
    ),
    "a set that is asked": ("const std::set<int> {k}({{{n}}});", "{k}.contains({v})"),
    "a vector": (
        "static const std::vector<int> {k} = {{{n}}};",
        "(std::find({k}.begin(), {k}.end(), {v}) != {k}.end())",
    ),
    "an array": (
        "constexpr std::array {k}{{{n}}};",
        "std::any_of({k}.begin(), {k}.end(), [&](int h) {{ return h == {v}; }})",
    ),
    "an array in two pairs of braces": (
        "static constexpr std::array<int32_t, {c}> {k}{{{{{n}}}}};",
        "std::binary_search({k}.cbegin(), {k}.cend(), {v})",
    ),
    "an array of unsigned bytes": (
        "static constexpr std::array<uint8_t, {c}> {k} = {{{n}}};",
        "(std::count({k}.begin(), {k}.end(), {v}) == 1)",
    ),
    "a C array": (
        "static const int {k}[] = {{{n}}};"
        "static bool in_{k}(int h) {{ for(int x : {k}) if(x == h) return true; return false; }}",
        "in_{k}({v})",
    ),
    "a C array by index": (
        "static constexpr int {k}[{c}] = {{{n}}}; static inline bool in_{k}(int h) {{"
        "for(size_t i = 0; i < sizeof({k}) / sizeof({k}[0]); ++i) if({k}[i] == h) return true;"
        "return false; }}",
        "in_{k}({v})",
    ),
    "a table of structs": (
        "struct Row{k} {{ int heads; bool native; }};"
        "static constexpr Row{k} {k}[] = {{{r}, {{7, false}}}};"
        "static bool in_{k}(int h) {{ for(const auto& r : {k}) if(r.heads == h) return r.native;"
        "return false; }}",
        "in_{k}({v})",
    ),
    "a map": (
        "static const std::map<int, bool> {k} = {{{r}}};",
        "[&] {{ auto it = {k}.find({v}); return it != {k}.end() && it->second; }}()",
    ),
    "a hash map": (
        "static const std::unordered_map<int, bool> {k}{{{r}}};",
        "({k}.count({v}) && {k}.at({v}))",
    ),
    "a map that is walked": (
        "static const std::map<int, bool> {k}{{{r}}};",
        "[&] {{ for(const auto& [h, ok] : {k}) if(h == {v}) return ok; return false; }}()",
    ),
    "a set that a lambda fills": (
        "static const std::set<int> {k} = [] {{ std::set<int> s;"
        "for(int h : {{{n}}}) s.insert(h); return s; }}();",
        "({k}.count({v}) == 1)",
    ),
    "a vector that a function returns": (
        "static std::vector<int> {k}() {{ std::vector<int> v; for(int h : {{{n}}})"
        "v.push_back(h); return v; }}",
        "[&] {{ for(auto h : {k}()) if(h == {v}) return true; return false; }}()",
    ),
    "a static local": (
        "static bool {k}(int h) {{ static const std::set<int> s{{{n}}};"
        "return s.find(h) != s.end(); }}",
        "{k}({v})",
    ),
    "a member": (
        "struct Of{k} {{ std::set<int> heads{{{n}}};"
        "bool has(int h) const {{ return heads.count(h) > 0; }} }};",
        "Of{k}{{}}.has({v})",
    ),
    "a static member": (
        "struct Of{k} {{ static constexpr std::array<int, {c}> heads{{{n}}};"
        "static bool has(int h) {{ for(int x : heads) if(x == h) return true; return false; }} }};",
        "Of{k}::has({v})",
    ),
    "a list in a loop": (
        "",
        "[&] {{ for(int h : {{{n}}}) if(h == {v}) return true; return false; }}()",
    ),
    "a switch": ("", "[&] {{ switch({v}) {{ {s} return true; default: return false; }} }}()"),
    "a fold over arguments": (
        "template <typename... T> static bool {k}(int h, T... x) {{ return ((h == x) || ...); }}",
        "{k}({v}, {n})",
    ),
    "a fold over numbers": (
        "template <int... N> static bool {k}(int h) {{ return ((h == N) || ...); }}",
        "{k}<{n}>({v})",
    ),
    "a specialisation": (
        "template <int N> struct Of{k} {{ static constexpr bool value = false; }}; {t}",
        "[&] {{ switch({v}) {{ {u} default: return false; }} }}()",
    ),
    "an optional": (
        "static std::optional<int> {k}(int h) {{ static const std::map<int, bool> m{{{r}}};"
        "auto it = m.find(h); if(it == m.end()) return std::nullopt; return h; }}",
        "{k}({v}).has_value()",
    ),
    "pairs": (
        "static const std::vector<std::pair<int, bool>> {k} = {{{r}}};",
        "(std::find_if({k}.begin(), {k}.end(), [&](const auto& p) {{ return p.first == {v}; }})"
        " != {k}.end())",
    ),
    "a bound": (
        "static constexpr int {k}[] = {{{n}}};",
        "[&] {{ auto it = std::lower_bound(std::begin({k}), std::end({k}), {v});"
        "return it != std::end({k}) && *it == {v}; }}()",
    ),
}


def _form(name: str, at: int, variable: str, numbers: list[int]) -> tuple[str, str]:
    """What stands in front of the functions, and the expression."""
    values: dict[str, Any] = {
        "k": f"kListed{at}",
        "v": variable,
        "n": ", ".join(map(str, numbers)),
        "c": len(numbers),
        "r": ", ".join(f"{{{n}, true}}" for n in numbers),
        "s": " ".join(f"case {n}:" for n in numbers),
        "t": " ".join(
            f"template <> struct OfkListed{at}<{n}> {{ static constexpr bool value = true; }};"
            for n in numbers
        ),
        "u": " ".join(f"case {n}: return OfkListed{at}<{n}>::value;" for n in numbers),
    }
    outside, inside = FORMS[name]
    return outside.format(**values), inside.format(**values)


def rewritten(text: str, name: str, variable: str, pattern: str) -> str:
    """A text with another form for what a pattern finds."""
    found = re.compile(pattern.format(variable))
    outside: list[str] = []

    def other(match: re.Match[str]) -> str:
        numbers = sorted({int(n) for n in re.findall(r"== (\d+)", match.group())})
        before, inside = _form(name, len(outside), variable, numbers)
        outside.append(before)
        return inside

    edited = found.sub(other, text)
    assert outside
    first = re.search(r"^#include .*\n", edited, re.MULTILINE)
    assert first is not None
    return edited[: first.end()] + "\n".join(outside) + "\n" + edited[first.end() :]


class Edited(Source):
    """A source with another text for one of its files."""

    kind = "git"

    def __init__(self, inner: Source, path: str, edit: Callable[[str], str]) -> None:
        super().__init__(inner.label)
        self.inner, self.path, self.edit = inner, path, edit

    def _find_release(self) -> str | None:
        return None

    def _load(self, path: str) -> tuple[bytes, str | None] | None:
        found: SourceFile | None = self.inner.read(path)
        if found is None:
            return None
        if path == self.path:
            return self.edit(found.text).encode(), None
        return found.data, None

    def _exists(self, path: str) -> bool:
        return self.inner.exists(path)

    def _list(self, prefix: str) -> set[str]:
        return set(self.inner.list(prefix))


def _questions() -> Iterator[DecodeShape]:
    for arch in ("gfx942", "gfx950"):
        for dtypes in (FP8, BF16):
            for heads in (*range(1, 40), *range(40, 161, 4)):
                for qlen in (1, 2, 4):
                    yield shape(arch, dtypes, heads, qlen)


def _answers(capability: Capability, stage: str) -> list[Any]:
    outcomes = (capability.ask(StageName(stage), q) for q in _questions())
    return [(o.status, o.fold, o.qlen_fold, o.failure, o.key) for o in outcomes]


@cache
def _original(git: str, stage: str) -> list[Any]:
    return _answers(Capability(open_source(f"{git}@{RELEASE}")), stage)


NAMES = sorted(FORMS)[:: 1 if examples(1, 2) > 1 else 3]


@pytest.mark.parametrize("name", NAMES)
def test_a_planner_with_another_form_answers_the_same(aiter_git: str, name: str) -> None:
    inner = open_source(f"{aiter_git}@{RELEASE}")
    source = Edited(inner, PLANNER, lambda text: rewritten(text, name, "num_heads", LISTED))
    assert _answers(Capability(source), "planner") == _original(aiter_git, "planner")


@pytest.mark.parametrize("name", NAMES)
def test_a_host_function_with_another_form_answers_the_same(aiter_git: str, name: str) -> None:
    inner = open_source(f"{aiter_git}@{RELEASE}")
    source = Edited(inner, HOST, lambda text: rewritten(text, name, "gqa_ratio", SINGLE))
    assert _answers(Capability(source), "host") == _original(aiter_git, "host")
