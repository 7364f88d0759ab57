"""Files that Python reads beside its modules, and functions that keep what they made: against
Python itself, which imports the same package from a folder."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.values.unknown import Unknown
from mlaprobe.stages.environment.pybuiltins import python_externals
from tests.evaluator.session import SourceSession

CODE = dedent(
    """
    import copy
    import functools
    import json
    import os

    HERE = os.path.dirname(os.path.abspath(__file__))
    FOLDER = os.path.abspath(f"{HERE}/../configs")

    def load(name):
        with open(f"{FOLDER}/{name}.json", "r") as file:
            return json.load(file)

    def tiles(name):
        return load(name)["tiles"][1]

    def or_nothing(name):
        try:
            with open(f"{FOLDER}/{name}.json") as file:
                return json.load(file)
        except FileNotFoundError:
            return None

    def kept():
        if not hasattr(kept, "_made"):
            kept._made = {}
            kept._made = load("a")
        return kept._made

    def of_kept():
        return kept()["rows"]

    def with_parameter(n):
        if not hasattr(with_parameter, "_made"):
            with_parameter._made = n
        return with_parameter._made

    def copied():
        one = load("a")
        other = copy.deepcopy(one)
        other["tiles"].append(9)
        return len(one["tiles"]), len(other["tiles"])

    def written():
        with open(f"{FOLDER}/a.json", "w") as file:
            return json.load(file)

    def elsewhere():
        with open("/etc/hostname") as file:
            return json.load(file)

    def text_of_the_path():
        return len(HERE)
    """
)
FILES = {
    "pkg/__init__.py": "",
    "pkg/ops/__init__.py": "",
    "pkg/ops/m.py": CODE,
    "pkg/configs/a.json": '{"rows": 16, "tiles": [1, 2, null], "name": "a"}',
    "pkg/configs/broken.json": '{"rows": ',
}


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The module as Python has it."""
    folder = tmp_path_factory.mktemp("reading")
    for path, text in FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        Path(folder / path).write_text(text)
    sys.path.insert(0, str(folder))
    yield importlib.import_module("pkg.ops.m")
    sys.path.remove(str(folder))
    for name in [n for n in sys.modules if n.split(".")[0] == "pkg"]:
        del sys.modules[name]


def evaluated(name: str, *args: Any) -> Any:
    session = SourceSession(FILES, externals=python_externals())
    function = session.get(name, "pkg.ops.m")
    return session.machine.call(session.run, function, args, {}, function.function.span)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("tiles", ("a",)),
        ("load", ("a",)),
        ("or_nothing", ("a",)),
        ("or_nothing", ("b",)),
        ("of_kept", ()),
        ("copied", ()),
    ],
)
def test_what_is_read(imported: Any, name: str, args: tuple[Any, ...]) -> None:
    assert evaluated(name, *args) == getattr(imported, name)(*args)


@pytest.mark.parametrize(("name", "args"), [("load", ("b",)), ("load", ("broken",))])
def test_what_cannot_be_read(imported: Any, name: str, args: tuple[Any, ...]) -> None:
    with pytest.raises((OSError, ValueError)) as expected:
        getattr(imported, name)(*args)
    with pytest.raises(Failed) as found:
        evaluated(name, *args)
    assert found.value.how == type(expected.value).__name__


@pytest.mark.parametrize(
    ("name", "args"),
    [("text_of_the_path", ()), ("elsewhere", ()), ("written", ()), ("with_parameter", (3,))],
)
def test_what_is_not_followed(name: str, args: tuple[Any, ...]) -> None:
    session = SourceSession({**FILES, "pkg/m.py": f"from pkg.ops.m import {name}\n"})
    session.project.externals = {**session.project.externals, **python_externals()}
    paths = session.paths(name, *args)
    assert any(p.kind != "returned" or isinstance(p.value, Unknown) for p in paths)
    assert all(p.kind != "failed" or not p.certain or p.failure is None for p in paths)


def test_a_first_call_is_said_to_be_one() -> None:
    session = SourceSession(FILES, externals=python_externals())
    function = session.get("kept", "pkg.ops.m")
    session.machine.call(session.run, function, (), {}, function.function.span)
    ((kind, note),) = session.run.observations
    assert kind == "assumed"
    assert note == "kept is taken to be called for the first time: it keeps what it made"
