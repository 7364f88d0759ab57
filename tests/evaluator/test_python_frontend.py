"""Python text to the intermediate form."""

from __future__ import annotations

import ast
import contextlib
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.engine.machine import Machine
from mlaprobe.evaluator.engine.runs import Run
from mlaprobe.evaluator.python.place import Place
from mlaprobe.evaluator.python.project import PyProject
from mlaprobe.evaluator.python.statements import Statements
from mlaprobe.evaluator.python.translate import translate_expr, translate_function
from tests.evaluator.show import show


def expr(text: str) -> str:
    return show(translate_expr(ast.parse(text, mode="eval").body, Place("f.py")))


def body(text: str, place: Place | None = None) -> str:
    return show(Statements(place or Place("f.py")).body(ast.parse(text).body))


def function(text: str) -> ir.Function:
    node = ast.parse(text).body[0]
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    return translate_function(node, Place.of("f.py", text))


def call(text: str, *args: Any) -> Any:
    """What the machine makes of calling the function ``f`` of a text."""
    project = PyProject({"aiter/m.py": text}.get, externals={})
    machine = Machine()
    run = Run(machine)
    module = project.module("aiter.m")
    assert module is not None
    return machine.call(run, module.lookup(run, "f", ir.NOWHERE), args, {}, ir.NOWHERE)


def nodes(node: Any) -> Iterator[ir.Node]:
    if isinstance(node, ir.Span):
        return
    if isinstance(node, tuple):
        for part in node:
            yield from nodes(part)
    elif isinstance(node, ir.Node):
        yield node
        for name in type(node).__dataclass_fields__:
            yield from nodes(getattr(node, name))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a / b", "Binary(/, a, b)"),
        ("a // 2 % 3 ** x", "Binary(%, Binary(//, a, 2), Binary(**, 3, x))"),
        ("a << 1 | ~b", "Binary(|, Binary(<<, a, 1), Unary(~, b))"),
        ("not a or b", "Bool(or, (Unary(not, a) b))"),
        ("1 < a <= 4", "Bool(and, (Binary(<, 1, a) Binary(<=, a, 4)))"),
        ("a is not None", "Binary(is not, a, None)"),
        ("n in {32, 64}", "Binary(in, n, Sequence(set, (32 64)))"),
        ("n not in (1,)", "Binary(not in, n, Sequence(tuple, (1)))"),
        ("[1, *rest]", "Sequence(list, (1 Star(rest)))"),
        ("{'a': 1, **d}", "Mapping((('a' 1) (None d)))"),
        ("t[1:, ::2]", "Index(t, Sequence(tuple, (Slice(1) Slice(2))))"),
        ("(y := f(x))", "AssignExpr(y, Call(f, (x)))"),
        ("a if t else b", "Cond(t, a, b)"),
        ("m.f(1, *r, k=2, **d)", "Call(Attr(m, f), (1 Star(r)), ((k 2) (None d)))"),
        ("[i for i in r if i]", "Comprehension(list, i, ((i r (i))))"),
        ("max(x for x in r)", "Call(max, (Comprehension(generator, x, ((x r ())))))"),
        (
            "{k: v for k, v in r}",
            "Comprehension(dict, Sequence(tuple, (k v)), ((Sequence(tuple, (k v)) r ())))",
        ),
        (
            "f'{n=} of {m.k}!'",
            "Format(('n=' Call(repr, (n)) ' of ' Attr(m, k) '!'), (n= n  of  m.k !))",
        ),
        ("f'{n:03d}'", "Format((Call(format, (n Format(('03d'), (03d))))), (n))"),
        (
            "lambda x, y=1: x",
            "Function(<lambda>, (Param(x, normal) Param(y, 1, normal)), (Return(x)))",
        ),
        ("a @ b", "?[]"),
        ("...", "Ellipsis"),
        ("b'x'", "?[]"),
        ("[y := 1 for x in r]", "Comprehension(list, AssignExpr(y, 1), ((x r ())))"),
    ],
)
def test_expressions(text: str, expected: str) -> None:
    assert expr(text) == expected


def test_a_chained_comparison_evaluates_a_call_in_the_middle_once() -> None:
    assert expr("1 < f() < 9") == (
        "Bool(and, (Binary(<, 1, AssignExpr(#1, Call(f))) Binary(<, #1, 9)))"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a, (b, *c) = f()", "(Assign((Sequence(tuple, (a Sequence(tuple, (b Star(c)))))), "
         "Call(f)))"),
        ("a = b = 1", "(Assign((a b), 1))"),
        ("a += 2", "(Assign((a), 2, +))"),
        ("a: int = 1\nb: str", "(Assign((a), 1))"),
        ("if a:\n    pass\nelif b:\n    x = 1\nelse:\n    x = 2",
         "(If(a, (If(b, (Assign((x), 1)), (Assign((x), 2))))))"),
        ("while a:\n    break\nelse:\n    b()", "(While(a, (Jump(break)), (ExprStmt(Call(b)))))"),
        ("for i in r:\n    continue", "(ForEach(i, r, (Jump(continue))))"),
        ("assert a, f'{a}'", "(Check(a, Format((a), (a)), AssertionError))"),
        ("raise ValueError('x') from None", "(Throw(Call(ValueError, ('x')), ValueError))"),
        ("raise errors.Odd", "(Throw(Attr(errors, Odd), Odd))"),
        ("raise make()", "(Throw(Call(make), exception))"),
        ("try:\n    a()\nexcept (KeyError, m.E) as e:\n    raise\nexcept:\n    raise e\n"
         "else:\n    b()\nfinally:\n    c()",
         "(Try((ExprStmt(Call(a))), (((KeyError E) e (Throw(exception))) "
         "(None None (Throw(e, exception)))), (ExprStmt(Call(b))), (ExprStmt(Call(c)))))"),
        ("try:\n    a()\nexcept E as e:\n    raise e",
         "(Try((ExprStmt(Call(a))), (((E) e (Throw(exception))))))"),
        ("with torch.cuda.device(d) as g:\n    a()",
         "(Block((With(Call(Attr(Attr(torch, cuda), device), (d)), g, (ExprStmt(Call(a)))))))"),
        ("with contextlib.suppress(KeyError):\n    a()",
         "(Block((Try((ExprStmt(Call(a))), (((KeyError) None ()))))))"),
        ("class A(B):\n    'text'\n    x = 1", "(Assign((A), Class(A, (B), (Assign((x), 1)))))"),
        ("class A:\n    def f(self): ...",
         "(Assign((A), Class(A, (Define(Function(f, (Param(self, normal))))))))"),
        ("class A:\n    __slots__ = ()",
         "(Assign((A), Class(A, (Assign((__slots__), Sequence(tuple))))))"),
        ("class A(metaclass=B):\n    x = 1",
         "(Assign((A), Class(A, ((metaclass B)), (Assign((x), 1)))))"),
        ("global a, b", "(Outer((a b), True))"),
        ("del a, b[0]", "(Remove((a Index(b, 0))))"),
        ("'text'\n...", "()"),
        ("import a.b\nimport c.d as e, f",
         "(Import(a.b, #1) Import(a, a) Import(c.d, e) Import(f, f))"),
        ("@functools.lru_cache(maxsize=1)\ndef g():\n    return 1",
         "(Define(Function(g, (Return(1)), True)))"),
        ("@compile_ops('m')\ndef g(): ...",
             "(Define(Function(g)) "
             "Assign((g), Call(<decorated>, (compile_ops 'compile_ops' True g 'm'))))"),
        ("async def g():\n    return x", "(OpaqueStmt(AsyncFunctionDef g is not followed, (g)))"),
        ("async with a as b:\n    return c.append(d)",
         "(OpaqueStmt(AsyncWith is not followed, (b c d), True))"),
    ],
)  # fmt: skip
def test_statements(text: str, expected: str) -> None:
    assert body(text) == expected


@pytest.mark.parametrize(
    ("package", "text", "expected"),
    [
        (False, "from .a import b as c", "(Import(p.q.a, b, c))"),
        (False, "from .. import b", "(Import(p, b, b))"),
        (True, "from . import b", "(Import(p.q.m, b, b))"),
        (True, "from ..x import b", "(Import(p.q.x, b, b))"),
    ],
)
def test_relative_imports_become_absolute(package: bool, text: str, expected: str) -> None:
    assert body(text, Place("f.py", "p.q.m", package)) == expected


def test_an_import_from_beyond_the_top_is_not_followed() -> None:
    assert body("from ..... import b", Place("f.py", "p.q")).startswith("(OpaqueStmt(")


@pytest.mark.parametrize(
    ("subject", "expected"),
    [(16, "one"), (32, "one"), (None, "none"), (7, "odd"), (8, "else")],
)
def test_match_on_plain_patterns(subject: object, expected: str) -> None:
    text = """
def f(n):
    match n:
        case None:
            return "none"
        case 16 | 32:
            return "one"
        case _ if n % 2:
            return "odd"
        case other:
            return "else"
"""
    assert call(text, subject) == expected


def test_match_on_a_tuple() -> None:
    text = """
def f(a, b):
    match (a, b):
        case ("x", 1):
            return 1
        case ("x", 2 | 3) as both:
            return both
        case (_, last):
            return last
"""
    assert call(text, "x", 1) == 1
    assert call(text, "x", 3) == ("x", 3)
    assert call(text, "y", 9) == 9


@pytest.mark.parametrize("pattern", ["int(b, c)", "str(b, c)"])
def test_other_patterns_make_what_they_bind_unknown(pattern: str) -> None:
    shown = body(f"match x:\n    case {pattern}:\n        return 1")
    assert shown.startswith("(OpaqueStmt(")
    assert shown.endswith(", True))")
    assert "b" in shown.split("(")[-1]


def test_a_variable_that_a_nested_function_rebinds_is_the_outer_one() -> None:
    inner = "    def g():\n        nonlocal k\n        k = 2\n"
    f = function(f"def f(n):\n    k = n\n{inner}    g()\n    return k")
    assert show(f.body[-1]) == "Return(k)"
    assert show(f.body[1]) == "Define(Function(g, (Outer((k)) Assign((k), 2))))"


def test_generators_and_coroutines_are_not_run() -> None:
    assert show(function("def f():\n    x = yield 1").body) == "(Return(?[]))"
    assert show(function("def f():\n    g()\n    yield 1").body) == "(Return(?[]))"
    assert show(function("async def f():\n    return 1").body) == "(Return(?[]))"
    assert show(function("def f():\n    g = lambda: (yield)\n    return 1").body[-1]) == "Return(1)"


def test_parameters_keep_their_kinds_and_defaults() -> None:
    f = function('def f(a, /, b=1, *c, d, e=2, **g):\n    """Text."""\n    return a')
    assert [(p.name, p.kind, show(p.default)) for p in f.params] == [
        ("a", "placed", "None"),
        ("b", "normal", "1"),
        ("c", "*", "None"),
        ("d", "keyword", "None"),
        ("e", "keyword", "2"),
        ("g", "**", "None"),
    ]
    assert show(f.body) == "(Return(a))"
    assert f.lang == "py"


def test_spans_count_characters_and_end_after_the_text() -> None:
    text = "def f(é):\n    return 'ü' == é and é"
    f = function(text)
    returned = f.body[0]
    assert isinstance(returned, ir.Return)
    test = returned.value
    assert isinstance(test, ir.Bool)
    assert test.parts[0].span == ir.Span("f.py", 2, 12, 2, 20)
    assert test.parts[1].span == ir.Span("f.py", 2, 25, 2, 26)
    assert text.split("\n")[1][11:19] == "'ü' == é"


def test_lines_are_those_of_python() -> None:
    place = Place.of("f.py", "é\x0c\r\nü = 1\rb\n")
    assert place.lines is not None
    assert [line.decode() for line in place.lines] == ["é\x0c", "ü = 1", "b", ""]


def test_deep_nesting_is_not_followed_but_does_not_fail() -> None:
    assert "?" in expr("+".join(["x"] * 800))
    many = "if a == 0:\n    pass\n" + "".join(f"elif a == {i}:\n    b = {i}\n" for i in range(400))
    shown = body(many)
    assert "nested too deeply, (b)" in shown
    cases = "match a:\n" + "".join(f"    case {i}:\n        b = 1\n" for i in range(400))
    assert "too many cases" in body(cases)


def test_a_tree_deeper_than_the_stack_is_not_followed() -> None:
    node: ast.expr = ast.Name("x", ast.Load(), lineno=1, col_offset=0)
    for _ in range(5000):
        node = ast.UnaryOp(ast.Not(), node, lineno=1, col_offset=0)
    assert "?" in show(translate_expr(node, Place("f.py")))


@pytest.mark.parametrize("left", [*range(20, 260, 20), 500])
def test_a_stack_that_is_nearly_full_changes_no_translation(left: int) -> None:
    text = "if a:\n    if b:\n        c = [[[[[[[[d]]]]]]]]\n"
    tree = ast.parse(text)
    value = ast.parse("[[[[[[[[[[[[1]]]]]]]]]]]]", mode="eval").body
    expected = (body(text), show(translate_expr(value, Place("f.py"))))

    def down(frames: int) -> None:
        if frames:
            down(frames - 1)
        else:
            with contextlib.suppress(RecursionError):
                found.append(Statements(Place("f.py")).body(tree.body))
            with contextlib.suppress(RecursionError):
                found.append(translate_expr(value, Place("f.py")))

    found: list[Any] = []
    frame, depth = sys._getframe(), 0
    while frame.f_back is not None:
        frame, depth = frame.f_back, depth + 1
    down(sys.getrecursionlimit() - depth - left)
    assert all(show(each) in expected for each in found)
    if left == 500:
        assert len(found) == 2


FRAGMENTS = st.sampled_from(
    ["x", "1", "f(x)", "(x := 2)", "x if y else z", "[x for x in y]", "x[1:2]", "not x", "x.y",
     "lambda: x", "f'{x!r:>{y}}'", "{**x}", "x < y < z", "await x", "(yield)", "*x", "-x", "..."]
)  # fmt: skip


@settings(max_examples=60)
@given(st.lists(FRAGMENTS, min_size=1, max_size=5), st.sampled_from(["f({})", "[{}]", "({},)"]))
def test_every_expression_becomes_nodes_with_places(parts: list[str], form: str) -> None:
    text = f"async def f():\n    return {form.format(', '.join(parts))}"
    tree = ast.parse(text).body[0]
    assert isinstance(tree, ast.AsyncFunctionDef)
    translated = Statements(Place.of("f.py", text)).body(tree.body)
    assert all(node.span.line == 2 for node in nodes(translated))


@settings(max_examples=100)
@given(
    st.integers(-300, 300),
    st.lists(
        st.sampled_from(["+ 3", "- 7", "* 2", "// 4", "% 5", "& 12", "| 1", "^ 9"]), max_size=6
    ),
    st.sampled_from(["n > 3", "3 < n <= 90", "n in {1, 2}", "not n", "n and n % 2", "n or 4"]),
)
def test_arithmetic_agrees_with_python(start: int, steps: list[str], test: str) -> None:
    lines = "\n".join(f"    n = n {step}" for step in steps)
    text = f"def f(n):\n{lines}\n    if {test}:\n        return (n, {test})\n    return -n"
    scope: dict[str, Any] = {}
    exec(text, scope)
    assert call(text, start) == scope["f"](start)
