"""Plans and errors go from one process to another, and are copied, as they are."""

from __future__ import annotations

import contextlib
import copy
import importlib
import inspect
import pickle
import pkgutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import mlaprobe
from mlaprobe.errors import MlaprobeError, SourceError
from mlaprobe.padding.api import CannotRunError, plan
from mlaprobe.padding.runplan import CannotServeError, plan_run
from tests.padding.fake import Fake
from tests.trees import today
from tests.trees.common import write

ASKED: dict[str, Any] = {"arch": "gfx950", "q_dtype": "fp8", "kv_dtype": "fp8", "strict": True}
NOTHING = Fake(no_kernel=lambda s: True)


def kinds(of: type[MlaprobeError] = MlaprobeError) -> Iterator[type[MlaprobeError]]:
    """Every class of errors that the package defines."""
    yield of
    for each in of.__subclasses__():
        if each.__module__.startswith("mlaprobe."):
            yield from kinds(each)


def raised(call: Callable[[], object]) -> MlaprobeError:
    with pytest.raises(MlaprobeError) as caught:
        call()
    return caught.value


def one_of(kind: type[MlaprobeError]) -> MlaprobeError:
    """An error of a class, made as the class wants it."""
    if kind is CannotRunError:
        return raised(lambda: plan(48, capability=NOTHING, **ASKED))
    if kind is CannotServeError:
        return raised(lambda: plan_run([{"qlens": 1}], num_heads=48, capability=NOTHING, **ASKED))
    wanted = list(inspect.signature(kind).parameters)
    if "hint" in wanted:
        return kind("it is wrong", hint="do this", file="a.py", line=3, column=5, text="x = 1")
    make: Callable[..., MlaprobeError] = kind
    return make(*("a reason" for _ in wanted))


def copies(thing: Any) -> tuple[Any, ...]:
    return pickle.loads(pickle.dumps(thing)), copy.copy(thing), copy.deepcopy(thing)


def test_plans_travel(tmp_path: Path) -> None:
    """With the evidence of their decisions, that is looked for when somebody asks for it."""
    live = mlaprobe.probe(str(write(tmp_path, today.tree())))
    asked = {**ASKED, "strict": False, "capability": live}
    for made in (
        plan(48, **asked),
        plan(48, **{**asked, "lse": True, "persistent": False}),
        plan_run([{"qlens": 1}, {"qlens": 2, "lse": True}], num_heads=48, **asked),
    ):
        for other in copies(made):
            assert other == made
            assert other.line == made.line
            assert repr(other) == repr(made)


def test_errors_travel() -> None:
    for module in pkgutil.walk_packages(mlaprobe.__path__, "mlaprobe."):
        with contextlib.suppress(ImportError):  # Triton or PyTorch may not be here
            importlib.import_module(module.name)
    found = set(kinds())
    assert {CannotRunError, CannotServeError, SourceError} < found
    for kind in found:
        error = one_of(kind)
        for other in copies(error):
            assert type(other) is kind
            assert (str(other), other.args) == (str(error), error.args)
            assert vars(other) == vars(error)
            assert other.render() == error.render()
