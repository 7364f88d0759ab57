"""C++ text before it is parsed: tokens, directives, the pieces of a file, changing macros."""

from __future__ import annotations

import pytest

from mlaprobe.evaluator.cpp.builtins import builtins
from mlaprobe.evaluator.cpp.chunks import index_of, split
from mlaprobe.evaluator.cpp.directives import directives
from mlaprobe.evaluator.cpp.macros import ExpansionError
from mlaprobe.evaluator.cpp.preprocess import TranslationUnit
from mlaprobe.evaluator.cpp.tokens import tokenize, without_comments
from mlaprobe.evaluator.cpp.unit import CppModule
from mlaprobe.evaluator.values.kinds import EnumType


def module(files: dict[str, str]) -> CppModule:
    """The names of ``f.cu`` among some files."""
    return CppModule(TranslationUnit(files.get, "f.cu"), externals=builtins())


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("a1 $b _c", "name name name"),
        ('u8"x" L\'y\' R"("z)" "\\""', "text char text text"),
        ("PRI\"x\" x'y'", "name text name char"),
        ("1'000u 0x1.8p+3 .5f 1e-3", "number number number number"),
        (".x ... p.*q a->*b", "op name op name op name name op name"),
        ("a<<=b ## # <=>", "name op name op op op"),
        ('a \\\n b \\ @ "', "name name other other other"),
    ],
)
def test_the_kinds_of_tokens(text: str, kinds: str) -> None:
    tokens = tokenize(text, "f.cu")
    assert [token.kind for token in tokens] == kinds.split()
    assert all(text[token.offset :].startswith(token.text) for token in tokens)


def test_comments_are_blanked_and_texts_stay() -> None:
    text = 'a /* b\n "c" */ d // e \\\n f\ng "/* h */" \'"\' // i "j\n1\'000 R"x(// )" k)x" / l'
    blanked = without_comments(text)
    assert len(blanked) == len(text)
    assert " ".join(blanked.split()) == 'a d g "/* h */" \'"\' 1\'000 R"x(// )" k)x" / l'
    assert [c for c in blanked if c == "\n"] == [c for c in text if c == "\n"]


def test_a_directive_starts_its_line_and_goes_on_behind_a_backslash() -> None:
    text = "#define A(x) \\\n  #x\n int b = 1; # define C\n  # undef D\n#\nx #"
    found = directives(text, "f.cu")
    assert [(each.name, each.rest.split()) for each in found] == [
        ("define", ["A(x)", "\\", "#x"]),
        ("undef", ["D"]),
        (None, []),
    ]
    assert [text[each.start : each.end].strip()[:4] for each in found] == ["#def", "# un", "#"]


def test_the_pieces_of_a_file() -> None:
    code = (
        'namespace a { namespace { int x{1}, y = 2; void f() { if (x) { "}"; } } }\n'
        "struct S { int n; } s; }\nint z; } void g() { '}'; {"
    )
    pieces = [(c.namespace, code[c.start : c.end]) for c in split(code)]
    assert pieces == [
        ("a", "int x{1}, y = 2;"),
        ("a", 'void f() { if (x) { "}"; } }'),
        ("a", "struct S { int n; } s;"),
        ("", "int z;"),
        ("", "void g() { '}'; {"),
    ]


def test_the_default_of_a_parameter_is_no_body() -> None:
    code = "int f(S s = {}, int n = 2) { return n; } int g() { return 1; } S s = {};"
    assert [code[c.start : c.end] for c in split(code)] == [
        "int f(S s = {}, int n = 2) { return n; }",
        "int g() { return 1; }",
        "S s = {};",
    ]


def test_what_a_piece_may_define() -> None:
    code = (
        "struct Base;\nstruct Base { enum Kind : int { one }; };\n"
        "class Derived final : public space::Base { int n; };\n"
        "template <typename T> struct Other;\nusing Name = Base;\nBase made(int Base);"
    )
    index = index_of(code)

    def defining(name: str) -> list[str]:
        return [code[c.start : c.end].split("{")[0].strip() for c in index.mentioning(name)]

    assert defining("Base") == ["struct Base;", "struct Base", "using Name = Base;"]
    assert defining("Derived") == ["class Derived final : public space::Base"]
    assert defining("one") == ["struct Base"]
    assert defining("Name") == ["using Name = Base;"]
    assert defining("made") == ["Base made(int Base);"]
    assert defining("nothing") == []


def test_a_list_is_included_where_its_macro_is_defined() -> None:
    files = {
        "f.cu": 'enum Kind {\nfirst,\n#define X(n) n,\n#include "list.h"\n#undef X\nX = 40\n};',
        "list.h": "X(second) X(third)\n#define NEXT X(fourth)\nNEXT",
    }
    kind = next(d.value for d in module(files).definitions("Kind") if d.kind == "enum")
    assert isinstance(kind, EnumType)
    assert [(m.name, m.value) for m in kind.members] == [
        ("first", 0),
        ("second", 1),
        ("third", 2),
        ("fourth", 3),
        ("X", 40),
    ]


@pytest.mark.parametrize(("parts", "fits"), [(2, True), (3, False)])
def test_what_macros_come_to_is_bounded_over_all_parts_of_a_piece(parts: int, fits: bool) -> None:
    twice = "".join(f"#define A{n + 1} A{n} A{n}\n" for n in range(15))
    code = f"#define A0 1,\n{twice}" + "\n".join(f"A15\n#define B{n}" for n in range(parts))
    unit = TranslationUnit({"f.cu": code}.get, "f.cu")
    assert unit.root is not None
    if fits:
        assert len(unit.expand(unit.root, 0, len(code))) == parts * 2 * 2**15
    else:
        with pytest.raises(ExpansionError, match="too many tokens"):
            unit.expand(unit.root, 0, len(code))
