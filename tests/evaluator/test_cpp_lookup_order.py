"""What a name is defined as does not depend on which names were looked up before: a piece of code
is translated by name, and one may lead to others of the same piece."""

from __future__ import annotations

import re
from functools import partial
from itertools import permutations

import pytest

from mlaprobe.evaluator.cpp.preprocess import TranslationUnit
from mlaprobe.evaluator.cpp.unit import CppModule
from mlaprobe.rulefiles.layouts import layouts
from mlaprobe.stages.environment.outside import cpp_externals, foreign

ONE_PIECE = """
#define BOTH(type, other, count) \\
    enum { count = 3 }; \\
    struct type { other* next; unsigned left; }; \\
    using other = type; \\
    inline unsigned size_of(const other& it) { return it.left - count; } \\
    static constexpr int table_of_##type[count] = {1, 2, count};
namespace first { BOTH(Chain, Link, kLinks) }
"""
CIRCLE = """
using One = Two;
using Two = One;
struct Left { struct Right* other; One one; };
struct Right { Left* other; Two two; };
template <Left kLeft> struct Held { static constexpr int kSize = sizeof(Right); };
Two made(One one) { return Right{one}; }
"""
ENDLESS = """
#define AGAIN(...) AGAIN_(__VA_ARGS__, __VA_ARGS__)
#define AGAIN_(...) f(__VA_ARGS__)
AGAIN(AGAIN(AGAIN(AGAIN(AGAIN(AGAIN(AGAIN(AGAIN(AGAIN(AGAIN(a, b))))))))))
enum class Kind { First = 2, Second };
static const int kKind = 7; int shown(Kind kind) { return kind == Kind::First ? kKind : 0; }
"""
CASES = {
    "one piece": (ONE_PIECE, ("Chain", "Link", "kLinks", "size_of", "table_of_Chain")),
    "a circle": (CIRCLE, ("One", "Left", "Right", "Held", "made")),
    "a macro that grows": (ENDLESS, ("f", "Kind", "kKind", "shown")),
}


def opened(text: str) -> CppModule:
    return CppModule(
        TranslationUnit({"f.cu": text}.get, "f.cu"),
        externals=cpp_externals(),
        foreign=partial(foreign, layouts().data["foreign"]),
    )


def shown(module: CppModule, names: tuple[str, ...]) -> dict[str, list[tuple[str, str, str]]]:
    """What is said of names, without the addresses of objects."""
    return {
        name: sorted(
            (d.kind, d.namespace, re.sub(r"0x[0-9a-f]+", "", repr(d.value)))
            for d in module.definitions(name)
        )
        for name in names
    }


@pytest.mark.parametrize("case", sorted(CASES))
def test_any_order_gives_the_same(case: str) -> None:
    text, names = CASES[case]
    first = shown(opened(text), names)
    for order in permutations(names):
        assert shown(opened(text), order) == first, order


def test_what_they_are() -> None:
    module = opened(ONE_PIECE)
    kinds = {n: [d.kind for d in module.definitions(n)] for n in CASES["one piece"][1]}
    assert kinds == {
        "Chain": ["struct"],
        "Link": ["alias"],
        "kLinks": ["enumerator"],
        "size_of": ["function"],
        "table_of_Chain": ["variable"],
    }
    (link,) = module.definitions("Link")
    assert (link.value, link.namespace) == ("Chain", "first")
    (count,) = module.definitions("kLinks")
    assert count.value.value == 3
    chain = module.struct("Chain")
    assert chain is not None
    assert [name for name, _, _ in chain.members] == ["next", "left"]
