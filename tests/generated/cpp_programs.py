"""Random C++ functions in the subset that AITER's host code uses.

Every program is a function ``int f(int a, int b, int c)`` with helpers, macros and types of its
own, without undefined behaviour: numbers stay small, divisors are constants, loops end, and no
expression reads what it writes unless the language orders it. ``!`` is thrown in some.
"""

from __future__ import annotations

from random import Random
from typing import Any

from tests.generated.cpp_containers import ContainerWriter
from tests.generated.cpp_expressions import ExpressionWriter

HELPERS = """\
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>
#include <vector>
#define SCALED(k, n, v) ((v) * (k) + (n))
#define PICK(no, yes, test) ((test) ? (yes) : (no))
#define WHEN(body, test) if(test) { body; }
#define JOINED(x, y) x##y
#define TWICE(v) SCALED(2, 0, v)
#define ALL(test, ...) ((test) && (__VA_ARGS__))
#if defined(ABSENT) || (3 - 2 > 1)
#define SHIFTED(v) ((v) + 100)
#elif defined(TWICE) && !defined(ABSENT)
#define SHIFTED(v) ((v) + 1)
#else
#define SHIFTED(v) ((v) - 100)
#endif
enum class Kind { First = 3, Second, Third = Second + 4 };
struct Inner { int x; int y = 5; };
struct Pair { Inner in; int z; };
struct Small { int8_t a; uint8_t b; uint32_t n; float f; std::vector<int> v; };
static int top_of(Small& s, int by) { s.v.push_back(by); s.b += 1; return (int)s.v.size(); }
static constexpr int kTable[] = {3, 1, 4, 1, 5, 9, 2, 6};
static inline int clip(int v) { return v < -50 ? -50 : v > 50 ? 50 : v; }
static int bump(int& v, int by) { v = clip(v + by); return v; }
static bool between(int low, int v, int high = 20) { return low <= v && v < high; }
static Kind kind_of(int v)
{
    if(v < 0)
        return Kind::First;
    else if(v % 2 == 0)
        return Kind::Second;
    return Kind::Third;
}
static int guarded(int v)
{
    if(v > 40)
        throw std::runtime_error("too much");
    return v + 1;
}
static void both(Pair& p, const Inner& in, int* out)
{
    p.in = in;
    p.z += in.x;
    *out = p.z;
}
"""


class Writer(ExpressionWriter, ContainerWriter):
    """Writes one program; every choice is the random generator's."""

    def __init__(self, random: Random, *, mystery: bool = False) -> None:
        super().__init__(random, mystery=mystery)
        self.lines: list[str] = []
        self.boxes: list[tuple[str, str]] = []
        self.smalls: list[str] = []
        self.frozen = False
        self.breakable = 0
        self.in_lambda = 0

    def put(self, line: str, indent: int) -> None:
        self.lines.append("    " * indent + line)

    def block(self, indent: int, depth: int, count: int = 3) -> None:
        self.scopes.append([])
        held: list[list[Any]] = [self.records, self.boxes, self.smalls]
        before = [len(names) for names in held]
        for _ in range(self.random.randint(1, count)):
            self.statement(indent, depth)
        for names, length in zip(held, before, strict=True):
            del names[length:]
        self.scopes.pop()

    def statement(self, indent: int, depth: int) -> None:
        simple = (self._declare, self._assign, self._assign, self._record, self._mystery)
        about = (self.box, self.box, self.use_of_box, self.use_of_box, self.small)
        nested = (self._if, self._if, self._switch, self._for, self._while, self._lambda)
        rules = (*simple, *about, self._leave, *(nested if depth > 0 else ()), self._odd)
        self.random.choice(rules)(indent, depth)

    def _declare(self, indent: int, depth: int) -> None:
        name, value = self.fresh(), self.number(2)
        form = self.random.choice(["int", "const int", "auto", "int32_t", "bool", "long", "&"])
        if form == "&":
            target = self.random.choice(self.visible())
            const = target in self.constant or self.random.random() < 0.3
            self.put(f"{'const ' if const else ''}int& {name} = {target};", indent)
            if const:
                self.constant.add(name)
        elif form in ("bool", "long"):
            inner = self.acting(2) if form == "bool" else value
            self.put(f"{form} w{name} = {inner};", indent)
            self.put(f"int {name} = static_cast<int>(w{name});", indent)
        else:
            if form == "auto":
                value = f"0 + {value}"
            self.put(f"{form} {name} = {value};", indent)
            if form.startswith("const"):
                self.constant.add(name)
        self.scopes[-1].append(name)

    def _assign(self, indent: int, depth: int) -> None:
        writable = self.visible(writable=True)
        if not writable:
            return
        name, value = self.random.choice(writable), self.number(2)
        self.put(
            self.random.choice(
                [
                    f"{name} = clip({value});",
                    f"{name} += clip({value}) % 5;",
                    f"{name} -= {self.literal()};",
                    f"{name} |= 1;",
                    f"{name} %= 17;",
                    f"{name}++;",
                    f"bump({name}, clip({value}));",
                    f"JOINED({name[:1]}, {name[1:]}) = clip({value});" if name[1:] else ";",
                ]
            ),
            indent,
        )

    def _record(self, indent: int, depth: int) -> None:
        name = "r" + self.fresh()
        first = self.random.choice(
            [f"Pair {name}{{{{{self.number(1)}, {self.number(1)}}}, {self.number(1)}}};"]
            + [f"Pair {name} = {{}};"]
            + ([f"Pair {name} = {self.random.choice(self.records)};"] if self.records else [])
        )
        self.put(first, indent)
        out = self.fresh()
        self.put(f"int {out} = 0;", indent)
        self.scopes[-1].append(out)
        if self.random.random() < 0.5:
            self.put(f"both({name}, Inner{{clip({self.number(1)})}}, &{out});", indent)
        if self.random.random() < 0.5:
            self.put(f"{name}.in.y = clip({self.number(1)});", indent)
        self.records.append(name)

    def _mystery(self, indent: int, depth: int) -> None:
        if not self.mystery or self.random.random() < 0.5:
            return self._assign(indent, depth)
        name = self.fresh()
        self.put(f"int {name} = hip_mystery({self.literal()});", indent)
        self.scopes[-1].append(name)

    def _leave(self, indent: int, depth: int) -> None:
        choice = self.random.random()
        if choice < 0.3 and not self.in_lambda:
            self.put(f"if({self.acting(1)}) return {self.number(1)};", indent)
        elif choice < 0.4:
            self.put(f'if({self.test(1)}) throw std::runtime_error("left");', indent)
        elif choice < 0.7 and self.breakable:
            word = self.random.choice(["break", "continue"])
            self.put(f"if({self.acting(1)}) {word};", indent)
        else:
            self.put(f"WHEN({self._simple()}, {self.test(1)})", indent)

    def _simple(self) -> str:
        writable = self.visible(writable=True)
        return f"{self.random.choice(writable)} = clip({self.number(1)})" if writable else ""

    def _if(self, indent: int, depth: int) -> None:
        word = "if"
        for _ in range(self.random.randint(1, 3)):
            self.put(f"{word}({self.acting(2)})", indent)
            self._braces(indent, depth)
            word = "else if"
        if self.random.random() < 0.5:
            self.put("else", indent)
            self._braces(indent, depth)

    def _braces(self, indent: int, depth: int, before: str = "", after: str = "") -> None:
        self.put("{", indent)
        if before:
            self.put(before, indent + 1)
        self.block(indent + 1, depth - 1)
        if after:
            self.put(after, indent + 1)
        self.put("}", indent)

    def _switch(self, indent: int, depth: int) -> None:
        # break leaves the switch here; a continue would reach a loop outside
        outer, self.breakable = self.breakable, 0
        enum = self.random.random() < 0.3
        value = f"kind_of({self.number(1)})" if enum else f"({self.number(1)}) % 5"
        labels = ["Kind::First", "Kind::Second", "Kind::Third"] if enum else list("01234")
        self.random.shuffle(labels)
        self.put(f"switch({value})", indent)
        self.put("{", indent)
        at = self.random.choice([0, 1, len(labels), None])
        for number, label in enumerate(labels[: self.random.randint(1, len(labels))]):
            if number == at:
                self._case("default", indent, depth)
            self._case(f"case {label}", indent, depth)
        if at == len(labels):
            self._case("default", indent, depth)
        self.put("}", indent)
        self.breakable = outer

    def _case(self, label: str, indent: int, depth: int) -> None:
        self.put(f"{label}:", indent)
        if self.random.random() < 0.2:
            return self.put(";", indent)
        self._braces(indent, depth)
        if self.random.random() < 0.7:
            self.put("    break;", indent)
        return None

    def _for(self, indent: int, depth: int) -> None:
        name = "i" + self.fresh()
        self.constant.add(name)
        if self.random.random() < 0.3:
            self.put(f"for(const auto {name} : kTable)", indent)
        else:
            limit = self.random.choice(["3", "4", "(a & 3)", "(clip(b) & 3)"])
            self.put(f"for(int {name} = 0; {name} < {limit}; ++{name})", indent)
        self.scopes.append([name])
        self.breakable += 1
        self._braces(indent, depth)
        self.breakable -= 1
        self.scopes.pop()

    def _while(self, indent: int, depth: int) -> None:
        name = self.fresh()
        self.constant.add(name)
        self.put(f"int {name} = {self.random.choice(['3', '(b & 3)', '0'])};", indent)
        self.scopes[-1].append(name)
        self.breakable += 1
        if self.random.random() < 0.5:
            self.put(f"while({name}-- > 0 && ({self.acting(1)}))", indent)
            self._braces(indent, depth)
        else:
            self.put("do", indent)
            self._braces(indent, depth)
            self.put(f"while(--{name} > 0);", indent)
        self.breakable -= 1

    def _lambda(self, indent: int, depth: int) -> None:
        name, param = "l" + self.fresh(), self.fresh()
        by_value = self.random.random() < 0.3
        self.put(f"auto {name} = [{'=' if by_value else '&'}](int {param}) -> int {{", indent)
        outer, self.breakable = self.breakable, 0
        kept = set(self.constant)
        frozen = self.frozen
        if by_value:
            self.constant.update(self.visible())
            self.frozen = True
        self.scopes.append([param])
        self.in_lambda += 1
        self.block(indent + 1, depth - 1)
        self.put(f"return {self.number(1)};", indent + 1)
        self.in_lambda -= 1
        self.scopes.pop()
        self.constant, self.frozen = kept, frozen
        self.breakable = outer
        self.put("};", indent)
        result = self.fresh()
        if self.random.random() < 0.5:
            self._assign(indent, depth)
        self.put(f"int {result} = clip({name}(clip({self.number(1)})));", indent)
        self.scopes[-1].append(result)

    def _odd(self, indent: int, depth: int) -> None:
        """Text that must not count, and forms that are seldom."""
        forms = [
            "#if 0\n    a = 77;\n#endif",
            "// a = 78;",
            "/* return 79; */",
            "#ifdef TWICE\n    ;\n#else\n    return 80;\n#endif",
            "#if SHIFTED(0) == 1 && 7 / 2 == 3\n    ;\n#else\n    return 81;\n#endif",
            "static_assert(sizeof(int) == 4);",
            "[[maybe_unused]] int unused = 3;",
        ]
        if self.random.random() < 0.3:
            self.put("try", indent)
            self._braces(indent, depth)
            self.put("catch(const std::exception& problem)", indent)
            self._braces(indent, depth)
        else:
            self.put(f"{{\n{self.random.choice(forms)}\n}}", indent)

    def program(self) -> str:
        """The whole text."""
        self.block(1, 3, 7)
        body = "\n".join(self.lines)
        return f"{HELPERS}\nint f(int a, int b, int c)\n{{\n{body}\n    return a * 2 + b;\n}}\n"
