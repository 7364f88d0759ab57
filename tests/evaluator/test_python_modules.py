"""What a name of a Python module is: its last binding, under conditions and in try."""

from __future__ import annotations

import pytest

from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.ir import NOWHERE
from mlaprobe.evaluator.python.values import MissingName
from mlaprobe.evaluator.values.kinds import Builtin, Closure
from mlaprobe.evaluator.values.unknown import Unknown
from tests.evaluator.session import SourceSession, missing

# --- bindings ---


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = 1\nx = 2", 2),
        ("x: int = 3", 3),
        ("y = x = 4", 4),
        ("a, (x, *b) = 1, (2, 3, 4)", 2),
        ("*a, x = 1, 2", 2),
        ("with open('f') as x: pass", None),
        ("a, (b, x) = 1, (2, 5)", 5),
        ("x = 1\ny = x\nx = y + 1", 2),
        ("x = 6 if True else 7", 6),
        ("x = {'a': 8}['a']", 8),
        ("x = 1\nx += 1", 2),
        ("for x in (1, 2): pass", 2),
        ("x = []\nx.append(1)", [1]),
        ("x = {}\nx['a'] = 1", {"a": 1}),
        ("x = 1\nx.real = 2", 1),
        ("with open('f') as f:\n    x = 9", 9),
        ("x: int", None),
        ("x = 1\nsetattr(x, 'a', 2)", 1),
        ("x = 1\nsetattr(make(), 'a', 2)", None),
        ("x = 1\nclass A:\n    x = 2", 1),
        ("f = lambda: (x := 2)\nx = 1", 1),
        ("x = [0]\nfor i in x:\n    x.append(i)", None),
        ("x = 1\nfor i in y:\n    exec(i)", None),
        ("import os as x\nx = 1", 1),
        ("x = 1\ndef f():\n    global x\n    x = 2", None),
        ("if (x := 3): pass", None),
        ("x = int('12')", 12),
        ("def f(n):\n    return n * k\nk = 3\nx = f(4)", 12),
        ("k = 3\ndef f():\n    return k\nx = f()\nk = 4", 3),
        ("x = undefined_thing", None),
        ("x = (1, 2)[7]", None),
        ("x = x", None),
        ("try:\n    pass\nfinally:\n    x = 5", 5),
    ],
)
def test_the_last_binding_wins(text: str, expected: object) -> None:
    value = SourceSession(text).get("x")
    if expected is None:
        assert isinstance(value, Unknown)
    else:
        assert value == expected


def test_a_deleted_name_is_missing() -> None:
    assert missing(SourceSession("x = 1\ndel x"), "x") == "NameError"


def test_a_function_that_reads_a_rebound_name_sees_the_end() -> None:
    session = SourceSession("k = 3\ndef f():\n    return k\nx = f()\nk = 4")
    assert session.get("x") == 3
    assert session.call("f") == 4


def test_missing_names_and_pythons_own() -> None:
    session = SourceSession("x = 1")
    with pytest.raises(MissingName) as caught:
        session.module().lookup(session.run, "y", NOWHERE)
    assert (caught.value.module, caught.value.name) == ("pkg.m", "y")
    assert isinstance(session.get("int"), Builtin)
    assert isinstance(session.get("input"), Unknown)
    assert session.get("__name__") == "pkg.m"
    assert isinstance(session.get("__file__"), Unknown)


GETTER = "def __getattr__(name):\n    if name == 'FEW':\n        return (16, 32)\n"


def test_a_module_makes_attributes_when_it_is_asked() -> None:
    """PEP 562: from outside, not for the names of its own code."""
    files = {
        "pkg/rules.py": f"{GETTER}    raise AttributeError(name)\n\ndef own():\n    return FEW\n",
        "pkg/m.py": "from pkg import rules\nfrom pkg.rules import FEW\nx = rules.FEW\n"
        "try:\n    from pkg.rules import MANY\nexcept ImportError:\n    MANY = ()\n",
    }
    session = SourceSession(files)
    assert (session.get("x"), session.get("FEW"), session.get("MANY")) == ((16, 32), (16, 32), ())
    with pytest.raises(MissingName):
        session.get("FEW", module="pkg.rules")


def test_a_module_makes_attributes_in_a_way_that_is_not_followed() -> None:
    files = {"pkg/rules.py": "from other import get as __getattr__\n"}
    session = SourceSession({**files, "pkg/m.py": "from pkg import rules\nx = rules.FEW\n"})
    assert isinstance(session.get("x"), Unknown)


# --- conditions ---


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("if KNOB == '1':\n    x = 1\nelse:\n    x = 2", 1),
        ("if KNOB == '2':\n    x = 1\nelif KNOB:\n    x = 3", 3),
        ("x = 5\nif KNOB == '2':\n    x = 1", 5),
        ("if device():\n    x = 1\nelse:\n    x = 2", None),
        ("if device():\n    x = 1\nelse:\n    x = 1", 1),
        ("x = 1\nif device():\n    x = 1", 1),
        ("if device():\n    y = 1\nx = 2", 2),
        ("if device():\n    x = 1", None),
    ],
)
def test_conditions_are_evaluated(text: str, expected: object) -> None:
    head = "import os\nfrom torch import device\nKNOB = os.environ.get('KNOB', '0')\n"
    value = SourceSession(head + text, env={"KNOB": "1"}).get("x")
    assert isinstance(value, Unknown) if expected is None else value == expected


def test_both_sides_of_an_unknown_condition_may_bind_one_function() -> None:
    text = "def f(): return 1\nif unknown_call():\n    x = f\nelse:\n    x = f\n"
    session = SourceSession("from torch import unknown_call\n" + text)
    assert isinstance(session.get("x"), Closure)


def test_a_value_may_depend_on_an_input_that_takes_any_value() -> None:
    free = Unknown("compute units", key="cu", free="cu")
    externals = {"dev": 0, "dev.cus": free}
    session = SourceSession("from dev import cus\nx = 1 if cus > 8 else 2", externals=externals)
    value = session.get("x")
    assert isinstance(value, Unknown)
    assert value.free == "cu"


# --- try ---


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("try:\n    import not_there\n    x = 1\nexcept ImportError:\n    x = 2", 2),
        ("try:\n    import os\n    x = 1\nexcept ImportError:\n    x = 2", 1),
        ("try:\n    from pkg import m\n    x = 1\nexcept ImportError:\n    x = 2", 1),
        ("try:\n    from pkg import n\n    x = 1\nexcept ImportError:\n    x = 2", 2),
        ("try:\n    x = 1\n    import not_there\nexcept Exception:\n    y = 2", 1),
        ("try:\n    import not_there\nexcept KeyError:\n    x = 2", None),
        ("try:\n    import os\nexcept ImportError:\n    x = 2\nelse:\n    x = 3", 3),
        ("try:\n    x = {}['a']\nexcept KeyError:\n    x = 4", 4),
        ("try:\n    x = {}['a']\nexcept (LookupError, ValueError) as e:\n    x = 4", 4),
        ("try:\n    raise OSError('x')\nexcept OSError:\n    x = 4", 4),
        ("try:\n    x = thing()\nexcept OSError:\n    x = 4", None),
        ("try:\n    y = thing()\n    x = 4\nexcept OSError:\n    x = 4", 4),
        ("try:\n    y = thing()\n    x = 4\nexcept OSError:\n    raise", 4),
        ("try:\n    def x(): pass\n    x = 5\nexcept OSError:\n    x = 4", 5),
        ("try:\n    if os.sep == 1:\n        x = 3\nexcept OSError:\n    x = 4", None),
        ("try:\n    if True:\n        x = 3\nexcept OSError:\n    x = 4", 3),
        ("try:\n    import not_there\nexcept:\n    x = 2", 2),
        ("try:\n    import not_there\nexcept Odd:\n    x = 2\nexcept OSError:\n    x = 3", 2),
        ("x = 2\ntry:\n    import os\nfinally:\n    y = x = 4", 4),
        ("try:\n    raise lib.Odd\nexcept Odd:\n    x = 5", 5),
    ],
)
def test_try_takes_the_branch_that_runs(text: str, expected: object) -> None:
    value = SourceSession("import os\nfrom torch import thing\n" + text).get("x")
    assert isinstance(value, Unknown) if expected is None else value == expected


def test_a_module_whose_own_imports_fail_cannot_be_imported() -> None:
    session = SourceSession(
        {
            "pkg/m.py": """
                try:
                    from pkg.fast import x
                except ImportError:
                    x = "slow"
                def late():
                    from pkg.fast import x
                    return x
            """,
            "pkg/fast.py": "from .deep import y\nx = 'fast'",
            "pkg/deep.py": "import os, not_there\ny = 1",
        }
    )
    assert session.get("x") == "slow"
    with pytest.raises(Failed) as caught:
        session.call("late")
    assert caught.value.how == "ModuleNotFoundError"
    assert "not_there" in caught.value.message


def test_what_the_root_package_needs_is_taken_as_installed() -> None:
    session = SourceSession(
        {
            "pkg/__init__.py": "from .deep import y\ntry:\n    import extra\nexcept E:\n    pass",
            "pkg/m.py": "def f():\n    from pkg.deep import y\n    return y",
            "pkg/deep.py": "import declared_somewhere\ny = 1",
        }
    )
    assert session.call("f") == 1


def test_imports_in_a_cycle_do_not_loop() -> None:
    session = SourceSession(
        {
            "pkg/m.py": "def f():\n    from pkg.a import x\n    return x",
            "pkg/a.py": "from pkg.b import y\nx = 1",
            "pkg/b.py": "from pkg.a import x\ny = x",
        }
    )
    assert session.call("f") == 1
