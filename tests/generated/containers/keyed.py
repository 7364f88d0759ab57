"""Maps and sets."""

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
)


def _put(model: dict[int, int], a: int, b: int) -> None:
    model[a] = b


def _put_some(model: dict[int, int], a: int, b: int) -> None:
    model.update(dict.fromkeys(range(3), b))


def _put_positive(model: dict[int, int], a: int, b: int) -> None:
    if b > 0:
        model[a] = b


def _put_at_one(model: dict[int, int], a: int, b: int) -> None:
    if 1 in model:
        model[1] = b


def _caught(model: dict[int, int], a: int, b: int) -> int:
    return 1 if a in model else 2


def _subscript(model: dict[int, int], a: int, b: int) -> int:
    return model.setdefault(a, 0)


MAP_STARTS: tuple[tuple[str, Any], ...] = (("", {}), ("{1, 10}, {2, 20}", {1: 10, 2: 20}))
HAS = (
    Part("c.find(a) == c.end()", lambda m, a, b: a not in m),
    Part("c.find(a) != c.end()", lambda m, a, b: a in m),
    Part("auto it = c.find(a); if(it == c.end()) return 7; return 8;",
         lambda m, a, b: 8 if a in m else 7),
    Part("if(auto it = c.find(a); it != c.end()) return 1; return 0;", lambda m, a, b: a in m),
    Part("(int)c.count(a)", lambda m, a, b: a in m),
    Part("c.count(a) ? 5 : 6", lambda m, a, b: 5 if a in m else 6),
    Part("g_has(c, a)", lambda m, a, b: a in m),
)  # fmt: skip
MAP_ASKS = (
    *HAS,
    *SIZES,
    Part("c.at(a)", at_key),
    Part("try { c.at(a); return 1; } catch(const std::out_of_range&) { return 2; }", _caught),
    Part("int sum = 0; for(const auto& p : c) sum += p.second; return sum;",
         lambda m, a, b: sum(m.values())),
    Part("for(auto& [k, v] : c) if(k == a) return v; return -1;", lambda m, a, b: m.get(a, -1)),
    Part("auto it = c.find(a); return it == c.end() ? -1 : it->second;",
         lambda m, a, b: m.get(a, -1)),
    Part("for(const auto& p : c) return 1; return 0;", lambda m, a, b: bool(m)),
)  # fmt: skip
MAP_STORES = (
    NOTHING,
    *EMPTIED,
    Part("c[a] = b;", does(_put)),
    Part("c[a];", does(lambda m, a, b: m.setdefault(a, 0))),
    Part("c[a] += b;", does(lambda m, a, b: _put(m, a, m.get(a, 0) + b))),
    Part("c.insert({a, b});", does(lambda m, a, b: m.setdefault(a, b))),
    Part("c.emplace(a, b);", does(lambda m, a, b: m.setdefault(a, b))),
    Part("c.try_emplace(a, b);", does(lambda m, a, b: m.setdefault(a, b))),
    Part("c.insert(std::make_pair(a, b));", does(lambda m, a, b: m.setdefault(a, b))),
    Part("c.insert_or_assign(a, b);", does(_put)),
    Part("c.erase(a);", does(lambda m, a, b: m.pop(a, None))),
    Part("auto& r = c[a]; r = b;", does(_put)),
    Part("int& r = c[a]; r = 5; c[a] = b; if(r != b) return -9;", does(_put)),
    Part("int x = c[a]; c[a] = x + 1; if(c[a] == x) return -9;",
         does(lambda m, a, b: _put(m, a, m.get(a, 0) + 1))),
    Part("const int& r = c[a]; int x = r; c[a] = x + 1; if(r == x) return -9;",
         does(lambda m, a, b: _put(m, a, m.get(a, 0) + 1))),
    Part("g_put(c, a, b);", does(_put)),
    Part("g_set(c[a], b);", does(_put)),
    Part("auto* p = &c; (*p)[a] = b;", does(_put)),
    Part("auto d = c; d[a] = b;", same),
    Part("auto d = c; d[a] = b; c = d;", does(_put)),
    Part("for(int i = 0; i < 3; ++i) c[i] = b;", does(_put_some)),
    Part("for(int i : {0, 1, 2}) c.insert_or_assign(i, b);", does(_put_some)),
    Part("if(b > 0) c[a] = b;", does(_put_positive)),
    Part("auto i = c.find(1); if(i != c.end()) i->second = b;", does(_put_at_one)),
    Part("for(auto& p : c) if(p.first == 1) p.second = b;", does(_put_at_one)),
    Part("for(auto& [k, v] : c) if(k == 1) v = b;", does(_put_at_one)),
    Part("auto g = [&] { c[a] = b; }; g();", does(_put)),
    Part("auto g = [&](int k) { c[k] = b; }; g(a);", does(_put)),
    Part("auto g = [c](int k) mutable { c[k] = 3; }; g(a);", same),
)  # fmt: skip
MAPS = tuple(
    Kind(type=name, starts=MAP_STARTS, stores=MAP_STORES, asks=MAP_ASKS)
    for name in ("std::map<int, int>", "std::unordered_map<int, int>")
)
NAMED = Kind(
    type="std::map<std::string, int>",
    starts=(("", {}), ('{"x", 10}, {"y", 20}', {"x": 10, "y": 20})),
    stores=(
        NOTHING,
        *EMPTIED,
        Part('c["x"] = b;', does(lambda m, a, b: m.update(x=b))),
        Part('c[std::to_string(a)] = b;', does(lambda m, a, b: m.update({str(a): b}))),
        Part('c.emplace("z", b);', does(lambda m, a, b: m.setdefault("z", b))),
    ),
    asks=(
        *SIZES,
        Part('c.find("x") == c.end()', lambda m, a, b: "x" not in m),
        Part('c.find("z") != c.end()', lambda m, a, b: "z" in m),
        Part('std::string k = a > 1 ? "x" : "q"; return (int)c.count(k);',
             lambda m, a, b: ("x" if a > 1 else "q") in m),
        Part('c.at("y")', lambda m, a, b: at_key(m, "y", b)),  # type: ignore[arg-type]
    ),
)  # fmt: skip


# --- sets and what may hold a key more than once -------------------------------------------------


def _add(model: list[int], a: int, b: int) -> None:
    if a not in model:
        model.append(a)


def _drop(model: list[int], a: int, b: int) -> None:
    model[:] = [x for x in model if x != a]


SET_ASKS = (
    *HAS,
    *SIZES,
    Part("int sum = 0; for(int v : c) sum += v; return sum;", lambda m, a, b: sum(m)),
    Part("g_sum(c)", lambda m, a, b: sum(m)),
    Part("std::find(c.begin(), c.end(), a) != c.end()", lambda m, a, b: a in m),
    Part("for(int v : c) if(v == a) return 3; return 4;", lambda m, a, b: 3 if a in m else 4),
)
SET_STORES = (
    NOTHING,
    *EMPTIED,
    Part("c.insert(a);", does(_add)),
    Part("c.emplace(a);", does(_add)),
    Part("c.insert({a});", does(_add)),
    Part("g_add(c, a);", does(_add)),
    Part("c.erase(a);", does(_drop)),
    Part("if(c.insert(a).second && b > 99) return -9;", does(_add)),
)
SETS = tuple(
    Kind(type=name, starts=(("", []), ("1, 2", [1, 2])), stores=SET_STORES, asks=SET_ASKS)
    for name in ("std::set<int>", "std::unordered_set<int>")
)
MULTISET = Kind(
    type="std::multiset<int>",
    starts=(("", []), ("1, 2, 1", [1, 2, 1])),
    stores=(
        NOTHING,
        *EMPTIED,
        Part("c.insert(a);", does(lambda m, a, b: m.append(a))),
        Part("c.erase(a);", does(_drop)),
    ),
    asks=(*SIZES, *HAS[:4], Part("(int)c.count(a)", lambda m, a, b: m.count(a))),
)
MULTIMAP = Kind(
    type="std::multimap<int, int>",
    starts=(("", []), ("{1, 10}, {1, 20}", [1, 1])),
    stores=(
        NOTHING,
        *EMPTIED,
        Part("c.insert({a, b});", does(lambda m, a, b: m.append(a))),
        Part("c.emplace(a, b);", does(lambda m, a, b: m.append(a))),
        Part("c.erase(a);", does(_drop)),
    ),
    asks=(*SIZES, *HAS[:4], Part("(int)c.count(a)", lambda m, a, b: m.count(a))),
)
