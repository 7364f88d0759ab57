"""Containers, algorithms, templates and classes against what a compiler makes of them.

A case of ``cpp_containers.txt`` is a function ``f(h, b)`` and its results for ``PAIRS`` as a
compiler's program prints them (``!`` for an exception). One whose name starts with ``?`` holds
something that is not followed: its result may be unknown, but never another value. Of an argument
that may be anything the answer is the one that all its values have, or unknown.

``MLAPROBE_DEEP=1`` compiles the cases once more.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from functools import partial
from pathlib import Path

import pytest

from mlaprobe.evaluator.cpp.preprocess import TranslationUnit
from mlaprobe.evaluator.cpp.unit import CppModule
from mlaprobe.evaluator.engine.machine import Machine
from mlaprobe.evaluator.engine.shared import SharedState
from mlaprobe.evaluator.symbolic.formulas import Tree
from mlaprobe.evaluator.values.unknown import Unknown
from mlaprobe.rulefiles.layouts import layouts
from mlaprobe.stages.environment.outside import cpp_externals, foreign
from tests.evaluator.test_cpp_machine import Program, cases_of, result
from tests.generated.deep import DEEP

FIRST, SECOND = (16, 24, 32, 128, -3, 300), (1, 2, 0, 300)
PAIRS = tuple((a, b) for a in FIRST for b in SECOND)
ANY_A, ANY_B = (Unknown(n, key=(n,), free=n) for n in "ab")
HEADERS = """algorithm array bit bitset cmath compare cstdint cstdio cstdlib cstring deque
exception functional initializer_list iomanip iterator list map memory numeric optional ranges set
span sstream stdexcept string string_view tuple type_traits unordered_map unordered_set utility
variant vector"""


CASES = cases_of("cpp_containers.txt")
ADVERSARIES = cases_of("cpp_adversaries.txt")
"""Programs in which something writes what nobody sees it write, objects are copied or are not, and
functions hand out what others write."""
REFERENCES = cases_of("cpp_references.txt")
"""Programs that write what they also see otherwise: through references, pointers, views."""
SIZES = cases_of("cpp_sizes.txt")
"""``sizeof`` of types of the source."""
NUMBERS = cases_of("cpp_numbers.txt")
"""Numbers of several widths, characters, and places in C strings."""
THIRDS = cases_of("cpp_thirds.txt")
"""Programs of a third round: references that functions give, characters as numbers, pointers into
texts, unsigned numbers that wrap around, streams."""
FOURTHS = cases_of("cpp_fourths.txt")
"""Programs of a fourth round: specialisations, aliases of templates, packs that are deduced, texts
of streams, escapes, numbers of few digits or bits."""
ALL = {**CASES, **ADVERSARIES, **REFERENCES, **SIZES, **NUMBERS, **THIRDS, **FOURTHS}


class Asked(Program):
    """A function ``f`` with the libraries that AITER's code finds."""

    def __init__(self, text: str) -> None:
        self.machine = Machine()
        module = CppModule(
            TranslationUnit({"f.cu": text}.get, "f.cu"),
            externals=cpp_externals(),
            foreign=partial(foreign, layouts().data["foreign"]),
        )
        function = module.function("f")
        assert function is not None
        self.function = function
        self.state = SharedState()
        self.tree = Tree(("a", "b"))


@pytest.mark.parametrize("name", sorted(ALL))
def test_what_a_function_computes(name: str) -> None:
    code, expected = ALL[name]
    row = dict(zip(PAIRS, expected, strict=True))
    asked = Asked(code)
    for pair, wanted in row.items():
        for found in (result(asked.paths(pair)), result(asked.shared(pair))):
            assert found == wanted or (found == "?" and name.startswith("?")), pair


@pytest.mark.parametrize("name", sorted(ALL))
def test_what_holds_for_any_argument(name: str) -> None:
    code, expected = ALL[name]
    row = dict(zip(PAIRS, expected, strict=True))
    asked = Asked(code)
    for a in FIRST:
        found = result(asked.paths((a, ANY_B)))
        assert found == "?" or {row[a, b] for b in SECOND} == {found}, a
    for b in SECOND:
        found = result(asked.paths((ANY_A, b)))
        assert found == "?" or {row[a, b] for a in FIRST} == {found}, b
    found = result(asked.paths((ANY_A, ANY_B)))
    assert found == "?" or set(expected) == {found}


def test_the_cases_are_many_and_most_are_known() -> None:
    assert len(CASES) > 250
    assert sum(name.startswith("?") for name in CASES) < len(CASES) / 5


def test_the_results_are_a_compilers(tmp_path: Path) -> None:
    if shutil.which("g++") is None:
        pytest.skip("there is no g++ to compare with")
    if not DEEP:
        pytest.skip("MLAPROBE_DEEP is not set")
    includes = "".join(f"#include <{name}>\n" for name in HEADERS.split())
    bodies = [f"namespace n{n} {{\n{code}\n}}\n" for n, (code, _) in enumerate(ALL.values())]
    pairs = ", ".join(f"{{{a}, {b}}}" for a, b in PAIRS)
    calls = "".join(
        f'for(auto& p : ab) try {{ printf("%d ", (int)n{n}::f(p[0], p[1])); }} '
        'catch(...) { printf("! "); } printf("\\n");\n'
        for n in range(len(ALL))
    )
    source, binary = tmp_path / "cases.cpp", tmp_path / "cases"
    main = f"int main() {{ int ab[][2] = {{{pairs}}};\n{calls}}}\n"
    source.write_text(includes + "".join(bodies) + main)
    command = ["g++", "-std=c++20", "-w", "-O0", "-o", str(binary), str(source)]
    subprocess.run(command, check=True, capture_output=True)
    printed = subprocess.run([str(binary)], check=True, capture_output=True, text=True, timeout=60)
    lines = printed.stdout.strip().split("\n")
    for (name, (_, expected)), line in zip(ALL.items(), lines, strict=True):
        assert line.split() == expected, name


HOSTILE = {
    "a huge vector": "std::vector<int> v(2000000000); return (int)v.size();",
    "a vector without end": "std::vector<int> v; while(true) v.push_back(h); return 1;",
    "a vector that grows for long": (
        "std::vector<int> v; for(int i = 0; i < 1000000; ++i) v.push_back(i); return v[h];"
    ),
    "a vector that doubles": (
        "std::vector<int> v{1}; for(int i = 0; i < 60; ++i) v.insert(v.end(), v.begin(), v.end());"
        "return (int)v.size();"
    ),
    "a set that grows for long": (
        "std::set<int> s; for(int i = 0; i < 1000000; ++i) s.insert(i ^ h); return (int)s.size();"
    ),
    "a map of any keys": (
        "std::map<int, int> m; for(int i = 0; i < 5000; ++i) m[h * i] = i; return (int)m.size();"
    ),
    "a deep container": (
        "std::vector<std::vector<std::vector<std::vector<std::vector<int>>>>> v(4000);"
        "for(auto& w : v) w.resize(4000); return (int)v.size();"
    ),
    "a huge array": "std::array<int, 1000000000> a{}; return a[h];",
    "a huge bitset": "std::bitset<1000000000> a; return a.test(h);",
    "any times any": (
        "std::set<int> s; for(int i = 0; i < h; ++i) s.insert(b + i); return (int)s.count(3);"
    ),
    "algorithms in algorithms": (
        "std::vector<int> v(4000, h); return std::all_of(v.begin(), v.end(), [&](int x) {"
        "return std::count(v.begin(), v.end(), x) > 1; });"
    ),
    "a map within a loop of its own": (
        "std::map<int, int> m{{1, 1}}; for(auto& [k, v] : m) m[k + 1] = v; return (int)m.size();"
    ),
}
SECONDS = 3.0
"""What a hostile question may take here, where other things run as well; alone it is one."""


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_hostile_containers_end_soon(name: str) -> None:
    asked = Asked(f"int f(int h, int b) {{ {HOSTILE[name]} }}")
    for args in ((16, 1), (ANY_A, 1), (ANY_A, ANY_B)):
        began = time.process_time()
        asked.paths(args)
        assert time.process_time() - began < SECONDS, args


REASONS = {
    "std::list<int> v{1}; v.splice(v.begin(), v); return *v.begin();": ("splice", 3),
    "std::multimap<int, int> v{{h, 1}};\nreturn (int)v.size();": ("std::multimap", 3),
    "std::vector<int> v;\nfor(int i = 0; i < 9000; ++i) v.push_back(i);\nreturn 1;": ("grows", 4),
}


@pytest.mark.parametrize("body", sorted(REASONS))
def test_what_is_not_followed_is_named_with_its_line(body: str) -> None:
    word, line = REASONS[body]
    (outcome, *_) = Asked(f"int f(int h, int b)\n{{\n{body}\n}}\n").paths((16, 1))
    why = outcome.value if isinstance(outcome.value, Unknown) else outcome
    assert word in why.reason
    assert why.span.line == line
