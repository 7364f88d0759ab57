"""Small C++ programs that make a container, store something in it and ask for it, each with what
it computes.

A program is a function ``int f(int a, int b)``. What it computes is said by a model of the
container in Python: a part of a program is a text and a function that does the same to the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

HEAD = """\
#include <algorithm>
#include <array>
#include <bitset>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>
"""


class Throws(Exception):
    """The program throws."""


class Part(NamedTuple):
    """Part of a program, and what it does to, or asks of, a model."""

    text: str
    does: Callable[[Any, int, int], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A container: how it is written, what it may hold at first, what can be done with it."""

    type: str
    starts: tuple[tuple[str, Any], ...]
    """Initialisers and what they make; the first is of none."""
    stores: tuple[Part, ...]
    asks: tuple[Part, ...]
    ranges: bool = True
    """Whether one can be made of two iterators."""


class Program(NamedTuple):
    """A program and its model."""

    text: str
    """With ``f`` for the name of the function, and ``g_`` before every name of its own."""
    start: Any
    store: Part
    ask: Part
    lasting: bool
    """Whether what a call leaves is there in the next."""

    def results(self, a: int, b: int) -> set[str]:
        """What calls with these arguments return; ``!`` for one that throws."""
        model, found = copied(self.start), set()
        for _ in range(2 if self.lasting else 1):
            try:
                model = self.store.does(model, a, b)
                found.add(str(int(self.ask.does(model, a, b))))
            except Throws:
                found.add("!")
        return found


def copied(model: Any) -> Any:
    """A model that is changed without the other."""
    return model.copy() if isinstance(model, (dict, list)) else model


# --- how one is made -----------------------------------------------------------------------------

MAKING: tuple[tuple[str, str, str], ...] = (
    ("", "T c{I};", "new"),
    ("", "T c = {I};", "new"),
    ("", "auto c = T{I};", "new"),
    ("", "using U = T; U c = {I};", "new"),
    ("using U_g_ = T;", "U_g_ c = {I};", "new"),
    ("", "T o = {I}; T c = o;", "new"),
    ("", "T o = {I}; auto c = o;", "new"),
    ("", "T o = {I}; T c(o);", "new"),
    ("", "T o = {I}; T c{}; c = o;", "new"),
    ("", "T o = {I}; T c = std::move(o);", "new"),
    ("", "T o = {I}; auto& c = o;", "new"),
    ("", "T o = {I}; T* at = &o; T& c = *at;", "new"),
    ("", "auto c = [] { return T{I}; }();", "new"),
    ("", "static T c = {I};", "lasting"),
    ("", "static const T c = {I};", "const"),
    ("", "const T c{I};", "const"),
    ("", "T o = {I}; const T& c = o;", "const"),
    ("static const T g_c = {I};", "const auto& c = g_c;", "const"),
    ("static const T g_c{I};", "T c = g_c;", "new"),
    ("static T g_c = {I};", "auto& c = g_c;", "lasting"),
    ("struct S_g_ { static inline const T c = {I}; };", "T c = S_g_::c;", "new"),
    ("struct S_g_ { T c = {I}; };", "S_g_ s; auto& c = s.c;", "new"),
    ("struct S_g_ { int n; T c; };", "S_g_ s{4, {I}}; T c = s.c;", "new"),
    ("static T g_made() { return {I}; }", "T c = g_made();", "new"),
    ("static T g_made() { return T{I}; }", "auto c = g_made();", "new"),
    ("static const T& g_t() { static const T t = {I}; return t; }", "T c = g_t();", "new"),
    ("static const T& g_t() { static const T t = {I}; return t; }", "auto& c = g_t();", "const"),
    ("static T& g_t() { static T t = {I}; return t; }", "auto& c = g_t();", "lasting"),
    ("static T g_same(T t) { return t; }", "T c = g_same(T{I});", "new"),
    ("static T g_same(T t) { return t; }", "T c = g_same({I});", "new"),
)
RANGE = ("", "T o = {I}; T c(o.begin(), o.end());", "new")


def programs(kind: Kind) -> Iterator[Program]:
    """Every way of making it with every way of asking, and every way of storing with every way of
    asking, for some ways of making it."""
    making = (*MAKING, RANGE) if kind.ranges else MAKING
    for (outside, inside, how), start in product(making, kind.starts):
        for at, ask in enumerate(kind.asks):
            if how != "new" and CHANGING in ask.text:
                continue
            fitting = kind.stores[:1] if how == "const" else kind.stores
            stores = (kind.stores[0], fitting[(at + len(inside)) % len(fitting)])
            for store in dict.fromkeys(stores):
                yield _program(kind, outside, inside, how, start, store, ask)
    for (outside, inside, how), start in product((making[0], making[10]), kind.starts):
        for store, ask in product(kind.stores[1:], kind.asks):
            yield _program(kind, outside, inside, how, start, store, ask)


def _program(
    kind: Kind,
    outside: str,
    inside: str,
    how: str,
    start: tuple[str, Any],
    store: Part,
    ask: Part,
) -> Program:
    initial, model = start
    asked = ask.text if ";" in ask.text else f"return {ask.text};"
    helpers = "".join(text for name, text in _HELPERS.items() if name in store.text + asked)
    body = (
        f"{outside}\n{helpers}int f(int a, int b)\n{{\n    {inside} {store.text}\n    {asked}\n}}\n"
    )
    body = body.replace("{I}", "{" + initial + "}")
    text = "\n".join(line for line in body.replace("T", kind.type).splitlines() if line) + "\n"
    return Program(text, model, store, ask, how == "lasting")


_HELPERS = {
    "g_put(": "static void g_put(T& t, int a, int b) { t[a] = b; }\n",
    "g_add(": "static void g_add(T& t, int a) { t.insert(t.end(), a); }\n",
    "g_set(": "static void g_set(int& x, int b) { x = b; }\n",
    "g_has(": "static bool g_has(const T& t, int a) { return t.find(a) != t.end(); }\n",
    "g_size(": "static int g_size(const T& t) { return (int)t.size(); }\n",
    "g_sum(": "static int g_sum(const T& t) { int s = 0; for(int x : t) s += x; return s; }\n",
}


def does(change: Callable[[Any, int, int], Any]) -> Callable[[Any, int, int], Any]:
    """A change of a model in place."""

    def does(model: Any, a: int, b: int) -> Any:
        change(model, a, b)
        return model

    return does


def same(model: Any, a: int, b: int) -> Any:
    return model


NOTHING = Part("", same)
EMPTIED = (
    Part("c.clear();", does(lambda m, a, b: m.clear())),
    Part("c = T{};", does(lambda m, a, b: m.clear())),
    Part("c = {};", does(lambda m, a, b: m.clear())),
    Part("T d; c.swap(d);", does(lambda m, a, b: m.clear())),
    Part("T d; std::swap(c, d);", does(lambda m, a, b: m.clear())),
    Part("auto d = c; d.clear();", same),
    Part("auto& d = c; d.clear();", does(lambda m, a, b: m.clear())),
    Part("auto* p = &c; p->clear();", does(lambda m, a, b: m.clear())),
    Part("auto g = [&] { c.clear(); }; g();", does(lambda m, a, b: m.clear())),
    Part("auto g = [c]() mutable { c.clear(); }; g();", same),
    Part("auto d = c; c.clear(); c = d;", same),
)
SIZES = (
    Part("c.empty()", lambda m, a, b: not m),
    Part("(int)c.size()", lambda m, a, b: len(m)),
    Part("c.size() > 2", lambda m, a, b: len(m) > 2),
    Part("c.begin() == c.end()", lambda m, a, b: not m),
    Part("auto e = c; e.clear(); return c == e;", lambda m, a, b: not m),
    Part("auto e = c; return c == e;", lambda m, a, b: True),
    Part("auto n = c.size(); c = {}; return n == c.size();", lambda m, a, b: not m),
)
CHANGING = "c = {}"
"""What an ask that changes the container says."""


def at_key(model: Any, a: int, b: int) -> int:
    try:
        return int(model[a])
    except (KeyError, IndexError):
        raise Throws from None


def zeroed(model: list[int], a: int, b: int) -> None:
    model[:] = [0] * len(model)
