"""Sequences and arrays."""

from __future__ import annotations

from typing import Any

from tests.generated.containers.programs import (
    EMPTIED,
    NOTHING,
    SIZES,
    Kind,
    Part,
    at_key,
    does,
    same,
    zeroed,
)


def first(model: list[int], a: int, b: int) -> None:
    if model:
        model[0] = b


def _one_more(model: list[int], a: int, b: int) -> None:
    if model:
        model[0] += 1


def _filled(model: list[int], a: int, b: int) -> None:
    model[:] = [b] * len(model)


SEQUENCE_ASKS = (
    *SIZES,
    Part("g_size(c)", lambda m, a, b: len(m)),
    Part("g_sum(c)", lambda m, a, b: sum(m)),
    Part("int sum = 0; for(auto v : c) sum += v; return sum;", lambda m, a, b: sum(m)),
    Part("std::find(c.begin(), c.end(), a) != c.end()", lambda m, a, b: a in m),
    Part("std::count(c.begin(), c.end(), a) > 0", lambda m, a, b: a in m),
    Part("for(int v : c) if(v == a) return 3; return 4;", lambda m, a, b: 3 if a in m else 4),
    Part("c.empty() ? -1 : c.front()", lambda m, a, b: m[0] if m else -1),
    Part("c.empty() ? -1 : c.back()", lambda m, a, b: m[-1] if m else -1),
    Part("c.empty() ? -1 : *c.begin()", lambda m, a, b: m[0] if m else -1),
)
SEQUENCE_STORES = (
    NOTHING,
    *EMPTIED,
    Part("c.push_back(a);", does(lambda m, a, b: m.append(a))),
    Part("c.emplace_back(a);", does(lambda m, a, b: m.append(a))),
    Part("c.insert(c.begin(), a);", does(lambda m, a, b: m.insert(0, a))),
    Part("g_add(c, a);", does(lambda m, a, b: m.append(a))),
    Part("c.resize(4);", does(lambda m, a, b: m.extend([0] * (4 - len(m))))),
    Part("c.assign(2, b);", does(lambda m, a, b: m.__setitem__(slice(None), [b, b]))),
    Part("if(!c.empty()) c.pop_back();", does(lambda m, a, b: m and m.pop())),
    Part("if(!c.empty()) c.front() = b;", does(first)),
    Part("if(!c.empty()) *c.begin() = b;", does(first)),
    Part("if(!c.empty()) { auto& r = c.front(); r = b; }", does(first)),
    Part("if(!c.empty()) { int* q = &c.front(); *q = b; }", does(first)),
    Part("if(!c.empty()) g_set(c.front(), b);", does(first)),
    Part("if(!c.empty()) { int x = c.front(); c.front() = x + 1; if(c.front() == x) return -9; }",
         does(_one_more)),
    Part("for(int i = 0; i < 3; ++i) c.push_back(i);", does(lambda m, a, b: m.extend(range(3)))),
    Part("for(auto& v : c) v = b;", does(_filled)),
    Part("std::reverse(c.begin(), c.end());", does(lambda m, a, b: m.reverse())),
    Part("std::fill(c.begin(), c.end(), b);",
         does(_filled)),
)  # fmt: skip
INDEXED_STORES = (
    Part("if(!c.empty()) c[0] = b;", does(first)),
    Part("if(!c.empty()) c.at(0) = b;", does(first)),
    Part("if(!c.empty()) { int& r = c[0]; r = 5; c[0] = b; if(r != b) return -9; }",
         does(first)),
    Part("if(!c.empty()) g_set(c[0], b);", does(first)),
)  # fmt: skip
INDEXED_ASKS = (
    Part("c.at(a)", at_key),
    Part("try { c.at(a); return 1; } catch(...) { return 2; }",
         lambda m, a, b: 1 if a < len(m) else 2),
    Part("c.size() > 1 ? c[1] : -1", lambda m, a, b: m[1] if len(m) > 1 else -1),
)  # fmt: skip
SEQUENCE_STARTS: tuple[tuple[str, Any], ...] = (("", []), ("1, 2", [1, 2]))
SEQUENCES = (
    *(
        Kind(
            type=name,
            starts=SEQUENCE_STARTS,
            stores=(*SEQUENCE_STORES, *INDEXED_STORES),
            asks=(*SEQUENCE_ASKS, *INDEXED_ASKS),
        )
        for name in ("std::vector<int>", "std::deque<int>")
    ),
    Kind(type="std::list<int>", starts=SEQUENCE_STARTS, stores=SEQUENCE_STORES, asks=SEQUENCE_ASKS),
)


def _arrayat_key(model: list[int], a: int, b: int) -> int:
    return model[a]


ARRAY = Kind(
    type="std::array<int, 4>",
    starts=(("", [0] * 4), ("1, 2", [1, 2, 0, 0]), ("1, 2, 3, 4", [1, 2, 3, 4])),
    stores=(
        NOTHING,
        Part("c[0] = b;", does(first)),
        Part("c.at(0) = b;", does(first)),
        Part("c.front() = b;", does(first)),
        Part("c.fill(0);", does(zeroed)),
        Part("c = {};", does(zeroed)),
        Part("auto& r = c[0]; r = b;", does(first)),
        Part("int& r = c.at(0); r = b;", does(first)),
        Part("int& r = c[0]; r = 5; c[0] = b; if(r != b) return -9;", does(first)),
        Part("const int& r = c[0]; c[0] = b; if(r != b) return -9;", does(first)),
        Part("int* p = &c[0]; *p = b;", does(first)),
        Part("int* p = c.data(); p[0] = b;", does(first)),
        Part("g_set(c[0], b);", does(first)),
        Part("auto d = c; d[0] = b;", same),
        Part("auto& d = c; d[0] = b;", does(first)),
        Part("auto g = [&] { c[0] = b; }; g();", does(first)),
        Part("std::reverse(c.begin(), c.end());", does(lambda m, a, b: m.reverse())),
        Part("std::fill(c.begin(), c.end(), 0);", does(zeroed)),
        Part("for(auto& v : c) v = 0;", does(zeroed)),
        Part("for(int i = 0; i < 4; ++i) c[i] = 0;", does(zeroed)),
    ),
    asks=(
        Part("c.empty()", lambda m, a, b: not m),
        Part("(int)c.size()", lambda m, a, b: len(m)),
        Part("g_size(c)", lambda m, a, b: len(m)),
        Part("g_sum(c)", lambda m, a, b: sum(m)),
        Part("c[0]", lambda m, a, b: m[0]),
        Part("c[3]", lambda m, a, b: m[3]),
        Part("c[a]", lambda m, a, b: m[a]),
        Part("c.at(a + 3)", lambda m, a, b: at_key(m, a + 3, b)),
        Part("c.front() * 10 + c.back()", lambda m, a, b: m[0] * 10 + m[3]),
        Part("std::find(c.begin(), c.end(), a) != c.end()", lambda m, a, b: a in m),
        Part("for(int v : c) if(v == a) return 3; return 4;", lambda m, a, b: 3 if a in m else 4),
    ),
    ranges=False,
)
