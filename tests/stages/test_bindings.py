"""Python stubs of compiled functions that compute something: they are read in the C++ they bind."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlaprobe.core.shape import StageOutcome
from mlaprobe.deciding.capability import Capability
from tests.stages.ask import FP8, opened, shape
from tests.trees import today
from tests.trees.common import changed

HERE = "    persistent = work_meta_data is not None\n"
ENTRY = "def mla_decode_fwd(\n"
STUB = """\
@compile_ops("module_room")
def room(n: int, extra: int = 1) -> int: ...


"""
CODE = """\
#include <stdexcept>
int room(int n, int extra)
{
    if(n == 48) throw std::invalid_argument("48");
    if(n == 64) throw std::out_of_range("64");
    if(n == 80) throw std::runtime_error("80");
    if(n == 96) abort();
    return n * 2 + extra;
}
"""
ROOM = "csrc/kernels/mla/room.cu"


def tree_of(root: Path, asks: str, stub: str = STUB, code: str = CODE) -> Capability:
    """A dispatcher that asks a compiled function first."""
    tree = changed(
        today.tree(),
        today.DISPATCHER,
        (HERE, f"    {asks}\n{HERE}"),
        (ENTRY, f"from .jit.core import compile_ops\n\n\n{stub}{ENTRY}"),
    )
    return opened(root, {**tree, ROOM: code})


def asked(root: Path, asks: str, heads: int = 16, **texts: str) -> StageOutcome:
    """The dispatcher's answer."""
    return tree_of(root, asks, **texts).ask("dispatcher", shape("gfx942", FP8, heads))


@pytest.mark.parametrize(
    ("asks", "status"),
    [
        ("assert room(nhead) == 33", "native"),
        ("assert room(nhead, 4) == 36", "native"),
        ("assert room(extra=5, n=nhead) == 37", "native"),
        ("assert room(nhead) != 33", "rejected"),
    ],
)
def test_what_a_compiled_function_computes(tmp_path: Path, asks: str, status: str) -> None:
    assert asked(tmp_path, asks).status == status


@pytest.mark.parametrize(
    ("heads", "how"), [(48, "ValueError"), (64, "IndexError"), (80, "RuntimeError")]
)
def test_what_it_throws_is_an_exception_of_python(tmp_path: Path, heads: int, how: str) -> None:
    """pybind11 translates the exceptions of the C++ library."""
    caught = f"try:\n        room(nhead)\n    except {how}:\n        return None"
    outcome = asked(tmp_path / "caught", caught, heads)
    assert outcome.status == "unknown"
    assert outcome.message == "no entry point is called"
    other = "KeyError" if how != "IndexError" else "ValueError"
    through = asked(tmp_path / "through", caught.replace(how, other), heads)
    assert (through.status, str(through.failure)) == ("rejected", "exception")
    assert how in (through.message or "")


def test_what_aborts_is_no_exception(tmp_path: Path) -> None:
    caught = "try:\n        room(nhead)\n    except Exception:\n        pass"
    outcome = asked(tmp_path, caught, 96)
    assert (outcome.status, str(outcome.failure)) == ("rejected", "abort")


@pytest.mark.parametrize(
    ("stub", "code"),
    [
        # C++ takes another number of arguments; there is none; another decorator makes the call
        (STUB, CODE.replace("int n, int extra)", "int n, int extra, int more)")),
        (STUB, "int unused;\n"),
        (STUB.replace("@compile_ops", "@torch.library.custom_op"), CODE),
    ],
)
def test_a_function_that_is_not_found_is_not_guessed(tmp_path: Path, stub: str, code: str) -> None:
    asks = "assert room(nhead) == 33"
    assert asked(tmp_path, asks, stub=stub, code=code).status == "unknown"


def test_an_argument_that_is_not_passed_is_not_known(tmp_path: Path) -> None:
    stub = STUB.replace("extra: int = 1", "extra: int = frobnicate()")
    assert asked(tmp_path / "used", "assert room(nhead) == 33", stub=stub).status == "unknown"
    code = CODE.replace(" + extra", "")
    unused = asked(tmp_path / "not", "assert room(nhead) == 32", stub=stub, code=code)
    assert unused.status == "native"


def test_a_decorator_may_give_another_name(tmp_path: Path) -> None:
    stub = STUB.replace('("module_room")', '("module_room", fc_name="space")')
    code = CODE.replace("int room(", "int space(")
    assert asked(tmp_path, "assert room(nhead) == 33", stub=stub, code=code).status == "native"
