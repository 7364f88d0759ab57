"""Functions, classes and libraries as values; texts that are no Python."""

from __future__ import annotations

from typing import Any

import pytest

from mlaprobe.evaluator.engine.runs import Run
from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.ir import NOWHERE, Span
from mlaprobe.evaluator.objects.classes import PyClass
from mlaprobe.evaluator.objects.members import Property
from mlaprobe.evaluator.python.values import EntryPoint, ModuleRef
from mlaprobe.evaluator.values.kinds import Builtin, Closure, EnumMember, EnumType, Record
from mlaprobe.evaluator.values.unknown import Unknown
from mlaprobe.stages.environment.pybuiltins import python_externals
from tests.evaluator.session import KNOWN, SourceSession, missing

# --- functions, entry points, overrides ---

DECORATED = """
    import functools as _f
    from .jit import compile_ops
    import triton
    NAME = "first"

    @compile_ops(NAME, fc_name="raw")
    def entry(a, b=1, *, c=None): ...

    NAME = "second"

    @_f.lru_cache(maxsize=1)
    def plain():
        return 7

    @triton.jit(do_not_specialize=["n"])
    def kernel(x): ...

    def launch():
        kernel[(1, 2)](3)
        return entry(1, c=2)
"""


def test_decorators_decide_between_functions_and_entry_points() -> None:
    session = SourceSession({"pkg/m.py": DECORATED})
    assert session.call("plain") == 7
    entry, kernel = session.get("entry"), session.get("kernel")
    assert isinstance(entry, EntryPoint)
    assert isinstance(kernel, EntryPoint)
    assert entry.decorators == ("pkg.jit.compile_ops",)
    assert kernel.decorators == ("triton.jit",)
    assert [(p.name, p.kind, p.default is not None) for p in entry.function.params] == [
        ("a", "normal", False),
        ("b", "normal", True),
        ("c", "keyword", True),
    ]
    assert entry.identity == session.get("entry").identity


def test_a_decorator_sees_the_module_as_it_was() -> None:
    session = SourceSession({"pkg/m.py": DECORATED})
    entry = session.get("entry")
    (call,) = entry.function.decorators
    value = session.machine.evaluate(session.run, call.args[0], entry.module)
    assert value == "first"
    assert entry.module.lookup(session.run, "int", NOWHERE) is KNOWN["builtins.int"]
    assert session.get("NAME") == "second"


def test_a_stage_says_what_a_call_of_an_entry_point_means() -> None:
    session = SourceSession({"pkg/m.py": DECORATED})
    seen: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []

    def on_entry(run: Run, entry: EntryPoint, args: Any, kwargs: Any, span: Span) -> str:
        seen.append((entry.name, args, kwargs))
        return "ran"

    session.run.on_entry = on_entry
    assert session.call("launch") == "ran"
    assert seen == [("kernel", (3,), {}), ("entry", (1,), {"c": 2})]


def test_without_a_stage_an_entry_point_may_fail_and_its_result_is_unknown() -> None:
    session = SourceSession({"pkg/m.py": DECORATED})
    assert {o.kind for o in session.paths("entry", 1)} == {"returned", "unknown"}


def test_overrides_replace_functions_by_name_or_dotted_name() -> None:
    arch = Builtin("get_arch", lambda run, args, kwargs, span: "gfx950")
    files = {
        "pkg/m.py": "from pkg.chip import get_arch\nfrom pkg.knob import level\nx = get_arch()",
        "pkg/chip.py": "import subprocess\ndef get_arch():\n    return subprocess.run(['info'])",
        "pkg/knob.py": "level = 1",
    }
    session = SourceSession(files, overrides={"get_arch": arch, "pkg.knob.level": 2})
    assert session.get("x") == "gfx950"
    assert session.get("level") == 2


def test_finding_functions() -> None:
    text = "def f(a): return 1\nif X:\n    def g(): ...\nelse:\n    def g(b): ...\nf2 = f"
    project = SourceSession(text).project
    f = project.function("pkg.m", "f")
    assert f is not None
    assert f is project.function("pkg.m", "f")
    assert project.function("pkg.m", "f2") is None
    assert project.function("pkg.none", "f") is None
    found = project.function("pkg.m", "g")
    assert found is not None
    assert [p.name for p in found.params] == ["b"]


# --- classes ---

CLASSES = """
    import enum as _enum
    from collections import namedtuple as _named
    from dataclasses import dataclass as _data, field
    from enum import Enum, IntEnum, auto
    from typing import ClassVar, NamedTuple
    from torch import unknown_thing

    class Kind(_enum.IntEnum):
        NATIVE = 0
        FOLDED = NATIVE_ID = 1
        LATER = auto()
        _private = 9
        def label(self): return "x"

    class Name(str, Enum):
        ASM = "asm"
        HK, OPUS = "hk", "opus"

    class Bits(_enum.IntFlag):
        A = auto()
        B = auto()
        C = unknown_thing
        D = auto()

    @_data(frozen=True)
    class Plan:
        heads: int
        fold: int = 1
        parts: list = field(default_factory=list)
        depth: int = field(default=3)
        def native(self): return self.fold == 1

    class Pair(NamedTuple):
        a: int
        b: int = 2

    Old = _named("Old", "one two, three")

    @_data
    class Counted:
        total: ClassVar[int] = 0

    @_data
    class Checked:
        x: int
        def __post_init__(self): ...

    class Plain:
        WIDTH = 576
        def method(self): return 1
        @staticmethod
        def static(): return 2
        @property
        def prop(self): return 3

    class Odd:
        for i in range(3):
            x = i
"""


def test_enums() -> None:
    session = SourceSession({"pkg/m.py": CLASSES}, externals=python_externals())
    kind = session.get("Kind")
    assert isinstance(kind, EnumType)
    values = {m.name: m.value for m in kind.members}
    assert values == {"NATIVE": 0, "FOLDED": 1, "NATIVE_ID": 1, "LATER": 2}
    assert session.get("Kind.NATIVE") == EnumMember("pkg.m.Kind", "NATIVE", 0, scoped=False)
    assert session.get("Kind.NATIVE.value") == 0
    assert session.get("Name.ASM.value") == "asm"
    assert session.get("Name.HK.value") == "hk"
    assert [m.value for m in session.get("Bits").members] == [1, 2, None, None]


def test_dataclasses_and_named_tuples_make_records() -> None:
    session = SourceSession({"pkg/m.py": CLASSES}, externals=python_externals())
    plan = session.call("Plan", 96, fold=6)
    assert isinstance(plan, Record)
    assert (plan.fields["heads"], plan.fields["fold"], plan.fields["depth"]) == (96, 6, 3)
    assert plan.fields["parts"] == []
    assert session.call("Pair", 1) == (1, 2)
    assert session.call("Old", 1, 2, three=3) == (1, 2, 3)
    assert isinstance(session.get("Plan"), PyClass)
    assert session.get("Plan").identity == session.get("Plan").identity


@pytest.mark.parametrize(
    ("args", "kwargs"), [((), {}), ((1, 2, 3), {}), ((1,), {"c": 1}), ((1, 2), {"b": 1})]
)
def test_a_record_is_made_from_its_own_fields_only(
    args: tuple[int, ...], kwargs: dict[str, Any]
) -> None:
    with pytest.raises(Failed) as caught:
        SourceSession({"pkg/m.py": CLASSES}, externals=python_externals()).call(
            "Pair", *args, **kwargs
        )
    assert caught.value.how == "TypeError"


def test_other_classes_have_attributes_and_objects() -> None:
    session = SourceSession({"pkg/m.py": CLASSES}, externals=python_externals())
    assert isinstance(session.get("Plain"), PyClass)
    assert session.get("Plain.WIDTH") == 576
    assert session.call("Plain.static") == 2
    assert isinstance(session.get("Plain.method"), Closure)
    assert isinstance(session.get("Plain.prop"), Property)
    assert missing(session, "Plain.absent") == "AttributeError"
    assert session.get("Odd.x") == 2
    assert {o.kind for o in session.paths("Plain")} == {"returned"}
    for name in ("Counted", "Checked"):
        assert isinstance(session.get(name), PyClass)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("math.ceil(7 / 2)", 4),
        ("math.gcd(12, 18)", 6),
        ("operator.index(3)", 3),
        ("math.sqrt(-1)", None),
        ("math.ceil(unknown)", None),
        ("math.ceil([1])", None),
        ("collections.namedtuple('A', unknown)", None),
        ("collections.namedtuple('A', 'x', rename=True)", None),
        ("os.environ.copy()", None),
        ("importlib.util.find_spec(unknown)", None),
    ],
)
def test_pythons_library(text: str, expected: object) -> None:
    head = "import collections, importlib.util, math, operator, os\nfrom torch import unknown\n"
    value = SourceSession(f"{head}x = {text}").get("x")
    assert isinstance(value, Unknown) if expected is None else value == expected


def test_some_libraries_are_taken_to_return() -> None:
    session = SourceSession("import torch, subprocess\na = torch.empty\nb = subprocess.run")
    assert session.get("a").foreign
    assert not session.get("b").foreign


# --- the standard library, caches, bad input ---


def test_the_environment_is_asked_by_name() -> None:
    session = SourceSession(
        """
        import os
        from importlib.util import find_spec
        a = os.getenv("A", "none")
        b = os.environ.get("B")
        c = os.getenv(find_spec)
        d = find_spec("torch") is not None
        e = find_spec("not_there") is not None
        """,
        env={"B": "2"},
    )
    assert [session.get(n) for n in "abde"] == ["none", "2", True, False]
    assert isinstance(session.get("c"), Unknown)
    assert session.run.knobs == {"A", "B"}


def test_values_belong_to_the_run_and_texts_to_the_project() -> None:
    session = SourceSession("import os\nx = os.getenv('X', '0')")
    assert session.get("x") == "0"
    other = Run(session.machine, env={"X": "1"})
    assert session.module().lookup(other, "x", NOWHERE) == "1"
    assert session.asked.count("pkg/m.py") == 1


@pytest.mark.parametrize(
    "text", ["def f(:\n", "x = 1\n\0", "(" * 1000, "\ufeffx = = 2", "x = '\ud800' +"]
)
def test_a_text_that_is_no_python_makes_every_name_unknown(text: str) -> None:
    session = SourceSession(
        {"pkg/m.py": text, "pkg/n.py": "from .m import *\nfrom . import m\ny = x"}
    )
    value = session.get("x")
    assert isinstance(value, Unknown)
    assert value.span.file == "pkg/m.py"
    assert value.span.line >= 1
    assert isinstance(session.get("m.anything", "pkg.n"), Unknown)
    assert session.project.function("pkg.m", "f") is None


def test_a_mark_at_the_start_and_foreign_line_ends_do_not_matter() -> None:
    session = SourceSession({"pkg/m.py": "\ufeffx = 1\r\ny = 2\r"})
    assert (session.get("x"), session.get("y")) == (1, 2)


def test_odd_module_names_are_not_modules() -> None:
    project = SourceSession("").project
    assert project.module("pkg.not-a-name") is None
    assert project.module("") is None
    assert isinstance(
        ModuleRef(project, "gone").get_in(SourceSession("").run, "x", NOWHERE), Unknown
    )
