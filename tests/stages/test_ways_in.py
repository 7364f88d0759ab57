"""Functions that are moved, renamed, decorated or exported from elsewhere are found, or it is not
known what they do."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mlaprobe.core.shape import Status
from mlaprobe.deciding.capability import Capability
from tests.stages.ask import BF16, FP8, answers, grid, opened, shape
from tests.stages.test_wrappers import told
from tests.trees import today
from tests.trees.common import Tree, changed

TREE = today.tree()
_TEXT = TREE[today.DISPATCHER]
assert isinstance(_TEXT, str)
TEXT = _TEXT
INIT = TREE.get("aiter/__init__.py", "")
assert isinstance(INIT, str)
RENAMED = TEXT.replace("def mla_decode_fwd(", "def _impl(")
GUARD = """
import torch


def torch_compile_guard(mutates_args=()):
    def decorate(function):
        torch.library.define("aiter::op", function)
        return function

    return decorate
"""


def _tree(text: str, **files: str) -> Tree:
    """The tree with another dispatcher file; ``__`` in names of further ones is a slash."""
    return {
        **TREE,
        today.DISPATCHER: text,
        **{f"{name.replace('__', '/')}.py": more for name, more in files.items()},
    }


def _decorated(decorator: str, before: str = "") -> str:
    return before + TEXT.replace("def mla_decode_fwd(", f"{decorator}\ndef mla_decode_fwd(")


def _without(**files: str) -> Tree:
    tree = _tree("", **files)
    del tree[today.DISPATCHER]
    return tree


FOUND = {
    "moved": _tree("from aiter.decode import mla_decode_fwd\n", aiter__decode=TEXT),
    "moved and renamed": _tree(
        "from .decode import _impl as mla_decode_fwd\n", aiter__decode=RENAMED
    ),
    "a star": _tree("from aiter.decode import *\n", aiter__decode=TEXT),
    "an alias": _tree(f"{RENAMED}\n\nmla_decode_fwd = _impl\n"),
    "a choice": _tree(f"{RENAMED}\n\nif True:\n    mla_decode_fwd = _impl\n"),
    "a table": _tree(f"{RENAMED}\n\n_ALL = {{1: _impl}}\nmla_decode_fwd = _ALL[1]\n"),
    "a static method": _tree(
        f"{RENAMED}\n\nclass _Ops:\n    decode = staticmethod(_impl)\n\n\n"
        "mla_decode_fwd = _Ops.decode\n"
    ),
    "a cache": _tree(_decorated("@functools.lru_cache(maxsize=None)", "import functools\n")),
    "torch's guard": _tree(
        _decorated(
            "@torch_compile_guard(mutates_args=['o'])",
            "from aiter.torch_guard import torch_compile_guard\n",
        ),
        aiter__torch_guard=GUARD,
    ),
    "the package's export": {
        **_without(aiter__decode=TEXT),
        "aiter/__init__.py": f"{INIT}\nfrom aiter.decode import mla_decode_fwd\n",
    },
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Capability:
    """The tree as it is."""
    return opened(tmp_path_factory.mktemp("whole"), TREE)


@pytest.mark.parametrize("how", sorted(FOUND))
def test_the_dispatcher_is_found(tmp_path: Path, whole: Capability, how: str) -> None:
    capability = opened(tmp_path, FOUND[how])
    assert told(capability, "dispatcher") == told(whole, "dispatcher")


def test_a_decorator_that_is_not_followed_is_named(tmp_path: Path) -> None:
    decorator = "@torch.library.custom_op('aiter::mla', mutates_args=['o'])"
    capability = opened(tmp_path, _tree(_decorated(decorator, "import torch\n")))
    found = capability.ask("dispatcher", shape("gfx950", FP8, 16))
    assert found.status is Status.UNKNOWN
    assert "torch.library.custom_op" in str(found.message)


@pytest.mark.parametrize("default", ["=None", "=0", ""])
def test_a_parameter_that_no_release_has(tmp_path: Path, whole: Capability, default: str) -> None:
    """One with a default takes it; one without is not known, and is named."""
    tree = changed(
        TREE,
        today.DISPATCHER,
        ("def mla_decode_fwd(\n", f"def mla_decode_fwd(\n    *,\n    q_layout{default},\n"),
    )
    used = "    if q_layout:\n        assert False, 'no such layout'\n"
    text = tree[today.DISPATCHER]
    assert isinstance(text, str)
    at = text.index("):\n", text.index("def mla_decode_fwd(")) + len("):\n")
    tree[today.DISPATCHER] = text[:at] + used + text[at:]
    found = opened(tmp_path, tree).ask("dispatcher", shape("gfx950", BF16, 16))
    if default:
        wanted = whole.ask("dispatcher", shape("gfx950", BF16, 16))
        assert (found.status, found.fold) == (wanted.status, wanted.fold)
    else:
        assert found.status is Status.UNKNOWN
        assert "q_layout" in str(found.message)


def test_a_function_of_the_device_that_is_defined_anew(tmp_path: Path, whole: Capability) -> None:
    """A module that imports one and defines another of that name asks its own."""
    own = "\n\n_asked = get_gfx\n\n\ndef get_gfx():\n    found = _asked()\n    return ARCH\n"
    line = "from aiter.jit.utils.chip_info import get_cu_num, get_gfx\n"
    for arch, other in (
        ("found", "gfx950"),
        ("'gfx942' if found == 'gfx950' else found", "gfx942"),
    ):
        text = TEXT.replace(line, line + own.replace("ARCH", arch))
        capability = opened(tmp_path / other, _tree(text))
        for heads in (8, 16, 32, 64):
            for dtypes in (BF16, FP8):
                found = capability.ask("dispatcher", shape("gfx950", dtypes, heads))
                wanted = whole.ask("dispatcher", shape(other, dtypes, heads))
                assert (found.status, found.fold) == (wanted.status, wanted.fold)


@pytest.mark.parametrize("tensor", ["kv_indptr", "q", "work_indptr"])
def test_the_truth_of_a_tensor_of_several_elements_fails(tmp_path: Path, tensor: str) -> None:
    used = f"    if {tensor}:\n        total_s = total_s + 0\n"
    place = "    ori_total_s, ori_nhead = total_s, nhead\n"
    assert place in TEXT
    capability = opened(tmp_path, _tree(TEXT.replace(place, place + used)))
    found = capability.ask("dispatcher", shape("gfx950", FP8, 16))
    message = "RuntimeError: Boolean value of Tensor with more than one value is ambiguous"
    assert (found.status, str(found.message)) == (Status.REJECTED, message)


def test_a_planner_that_is_moved_and_renamed(tmp_path: Path, whole: Capability) -> None:
    """It is found through what gives it to Python."""
    binding = TREE[today.BINDING]
    assert isinstance(binding, str)
    name = "get_mla_metadata_v1"
    assert f"{name}(" in binding
    tree = {k: v for k, v in TREE.items() if k != today.BINDING}
    tree["csrc/kernels/plan/decode_plan.cu"] = binding.replace(f"{name}(", "plan_decode(")
    tree["csrc/pybind/plan_pybind.cu"] = f'm.def("{name}", &plan_decode, "plans");\n'
    capability = opened(tmp_path, tree)
    shapes = [s for s in grid((8, 16, 24, 32, 48, 128)) if s.persistent and not s.lse]
    assert answers(capability, shapes) == answers(whole, shapes)


def test_syntax_that_this_python_does_not_know_is_named_with_its_version(tmp_path: Path) -> None:
    """Type parameters came with Python 3.12: they are read where they are known."""
    generic = "def _among[T](n: T, tiles: tuple[T, ...]) -> bool:\n    return n in tiles\n\n\n"
    text = TEXT.replace("def mla_decode_fwd(", generic + "def mla_decode_fwd(")
    text = text.replace("        nhead == 16\n", "        _among(nhead, (16,))\n")
    capability = opened(tmp_path, _tree(text))
    found = capability.ask("dispatcher", shape("gfx950", FP8, 16))
    if sys.version_info >= (3, 12):
        assert found.status is Status.NATIVE
    else:
        version = f"Python {sys.version_info[0]}.{sys.version_info[1]}"
        assert (found.status, version in str(found.message)) == (Status.UNKNOWN, True)
