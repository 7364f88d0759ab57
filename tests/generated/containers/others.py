"""Bits, texts, and what may be nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.generated.containers.programs import (
    NOTHING,
    Kind,
    Part,
    Throws,
    at_key,
    does,
    same,
    zeroed,
)


def _bit(at: int, value: bool | None) -> Callable[[Any, int, int], Any]:
    def change(model: list[bool], a: int, b: int) -> None:
        model[at] = not model[at] if value is None else value

    return does(change)


BITSET = Kind(
    type="std::bitset<8>",
    starts=(("", [False] * 8), ("5", [True, False, True, *[False] * 5])),
    stores=(
        NOTHING,
        Part("c.set(1);", _bit(1, True)),
        Part("c[1] = true;", _bit(1, True)),
        Part("c.reset(0);", _bit(0, False)),
        Part("c.flip(0);", _bit(0, None)),
        Part("c.reset();", does(zeroed)),
    ),
    asks=(
        Part("c.any()", lambda m, a, b: any(m)),
        Part("c.none()", lambda m, a, b: not any(m)),
        Part("(int)c.count()", lambda m, a, b: sum(m)),
        Part("(int)c.size()", lambda m, a, b: len(m)),
        Part("c.test(a)", at_key),
        Part("c[0] ? 3 : 4", lambda m, a, b: 3 if m[0] else 4),
        Part("c.test(a + 7)", lambda m, a, b: at_key(m, a + 7, b)),
        Part("c == T{}", lambda m, a, b: not any(m)),
        Part("(int)c.to_ulong()", lambda m, a, b: sum(v << i for i, v in enumerate(m))),
    ),
    ranges=False,
)


def _cut(model: str, a: int, b: int) -> str:
    if a > len(model):
        raise Throws
    return model[a:]


def _found(model: str, part: str, start: int = 0) -> bool:
    return start <= len(model) and model.find(part, start) >= 0


TEXT = Kind(
    type="std::string",
    starts=(("", ""), ('"ab"', "ab"), ("3, 'x'", "\x03x"), ("'a', 'b'", "ab"), ('"abcd", 2', "ab")),
    stores=(
        NOTHING,
        Part('c += "z";', lambda m, a, b: m + "z"),
        Part("c.push_back('z');", lambda m, a, b: m + "z"),
        Part('c.append("zz");', lambda m, a, b: m + "zz"),
        Part("c.append(2, 'z');", lambda m, a, b: m + "zz"),
        Part("c.clear();", lambda m, a, b: ""),
        Part("c = {};", lambda m, a, b: ""),
        Part('c = "q" + c;', lambda m, a, b: "q" + m),
        Part("if(!c.empty()) c[0] = 'z';", lambda m, a, b: "z" + m[1:] if m else m),
        Part("if(!c.empty()) c.front() = 'z';", lambda m, a, b: "z" + m[1:] if m else m),
        Part("if(!c.empty()) { char& r = c[0]; r = 'z'; }",
             lambda m, a, b: "z" + m[1:] if m else m),
        Part("if(!c.empty()) c.pop_back();", lambda m, a, b: m[:-1]),
        Part("c.erase(0);", lambda m, a, b: ""),
        Part('c.insert(0, "z");', lambda m, a, b: "z" + m),
        Part("c.resize(1, 'z');", lambda m, a, b: (m + "z")[:1]),
        Part('auto& d = c; d += "z";', lambda m, a, b: m + "z"),
        Part('auto& d = c; d.append("z");', lambda m, a, b: m + "z"),
        Part("auto* p = &c; p->clear();", lambda m, a, b: ""),
        Part('auto d = c; d += "z";', same),
        Part('auto g = [&] { c += "z"; }; g();', lambda m, a, b: m + "z"),
        Part('std::string d = "d"; c.swap(d);', lambda m, a, b: "d"),
        Part('std::string d = "d"; std::swap(c, d);', lambda m, a, b: "d"),
    ),
    asks=(
        Part("c.empty()", lambda m, a, b: not m),
        Part("(int)c.size()", lambda m, a, b: len(m)),
        Part("(int)c.length()", lambda m, a, b: len(m)),
        Part("g_size(c)", lambda m, a, b: len(m)),
        Part('c == "ab"', lambda m, a, b: m == "ab"),
        Part('c != "abz"', lambda m, a, b: m != "abz"),
        Part('c < "b"', lambda m, a, b: m < "b"),
        Part('c.find("b") == std::string::npos', lambda m, a, b: "b" not in m),
        Part("c.find('b', a) == std::string::npos", lambda m, a, b: not _found(m, "b", a)),
        Part("c.find(\"\", a) == std::string::npos", lambda m, a, b: a > len(m)),
        Part("c.find('a', a - 2) == std::string::npos",
             lambda m, a, b: a < 2 or not _found(m, "a", a - 2)),
        Part("c.at(a) == 'b'", lambda m, a, b: _letter(m, a) == "b"),
        Part("c.at(a - 2) == 'b'", lambda m, a, b: _letter(m, a - 2) == "b"),
        Part('c.substr(a) == "b"', lambda m, a, b: _cut(m, a, b) == "b"),
        Part('c.substr(0, a - 1) == "ab"', lambda m, a, b: (m[: a - 1] if a else m) == "ab"),
        Part('c.substr(0, 1) == "a"', lambda m, a, b: m[:1] == "a"),
        Part('c.compare("ab") == 0', lambda m, a, b: m == "ab"),
        Part("int n = 0; for(char x : c) n += x == 'z'; return n;", lambda m, a, b: m.count("z")),
    ),
)  # fmt: skip


def _letter(model: str, at: int) -> str:
    if not 0 <= at < len(model):
        raise Throws
    return model[at]


def _value(model: int | None, a: int, b: int) -> int:
    if model is None:
        raise Throws
    return model


OPTIONAL = Kind(
    type="std::optional<int>",
    starts=(("", None), ("5", 5), ("0", 0), ("std::nullopt", None)),
    stores=(
        NOTHING,
        Part("c = b;", lambda m, a, b: b),
        Part("c.reset();", lambda m, a, b: None),
        Part("c.emplace(b);", lambda m, a, b: b),
        Part("c = std::nullopt;", lambda m, a, b: None),
        Part("c = {};", lambda m, a, b: None),
        Part("if(c) *c = b;", lambda m, a, b: m if m is None else b),
        Part("if(c) c.value() = b;", lambda m, a, b: m if m is None else b),
        Part("if(c) { int& r = *c; r = b; }", lambda m, a, b: m if m is None else b),
        Part("auto& r = c; r = b;", lambda m, a, b: b),
        Part("auto d = c; d = b;", same),
        Part("auto g = [&] { c = b; }; g();", lambda m, a, b: b),
        Part("T d = 9; c.swap(d);", lambda m, a, b: 9),
        Part("T d = 9; std::swap(c, d);", lambda m, a, b: 9),
    ),
    asks=(
        Part("c.has_value()", lambda m, a, b: m is not None),
        Part("c ? 3 : 4", lambda m, a, b: 4 if m is None else 3),
        Part("if(!c) return 8; return 9;", lambda m, a, b: 8 if m is None else 9),
        Part("c.value_or(7)", lambda m, a, b: 7 if m is None else m),
        Part("c.value()", _value),
        Part("c ? *c : -1", lambda m, a, b: -1 if m is None else m),
        Part("c == std::nullopt", lambda m, a, b: m is None),
        Part("c == b", lambda m, a, b: m == b),
        Part("bool(c)", lambda m, a, b: m is not None),
    ),
    ranges=False,
)
