"""Switches that a package of AITER's requirements reads from the environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlaprobe.core.shape import Verdict
from tests.stages.ask import FP8, opened, shape
from tests.trees import today
from tests.trees.common import changed

OLD = "    aiter.mla_reduce_v1(logits,"
SWITCH = """\
def _other_reduce():
    from flydsl.utils.env import EnvManager, OptBool

    class _Switches(EnvManager):
        enabled = OptBool(%s)

    return bool(_Switches().enabled)


def mla_decode_fwd("""


def _verdict(tmp_path: Path, option: str, **env: str) -> Verdict:
    tree = changed(
        today.tree(),
        "aiter/mla.py",
        ("def mla_decode_fwd(", SWITCH % option),
        (OLD, f"    if _other_reduce():\n        raise NotImplementedError()\n{OLD}"),
    )
    asked = shape("gfx950", FP8, 16, env=env)
    return opened(tmp_path, tree).decide(asked).verdict


@pytest.mark.parametrize("value", ["", "0", "2", "no"])
def test_a_switch_that_is_not_set_is_off(tmp_path: Path, value: str) -> None:
    option = 'False, env_var="OTHER_REDUCE"'
    assert _verdict(tmp_path / "unset", option) is Verdict.NATIVE
    assert _verdict(tmp_path / "off", option, OTHER_REDUCE=value) is Verdict.NATIVE


@pytest.mark.parametrize("value", ["1", "ON", "yes", "True"])
def test_a_switch_that_is_set_is_on(tmp_path: Path, value: str) -> None:
    option = 'False, env_var="OTHER_REDUCE"'
    assert _verdict(tmp_path, option, OTHER_REDUCE=value) is Verdict.REJECTED


def test_the_default_counts_where_nothing_is_set(tmp_path: Path) -> None:
    option = 'True, env_var="OTHER_REDUCE"'
    assert _verdict(tmp_path / "unset", option) is Verdict.REJECTED
    assert _verdict(tmp_path / "off", option, OTHER_REDUCE="0") is Verdict.NATIVE


def test_a_switch_without_a_name_is_not_followed(tmp_path: Path) -> None:
    assert _verdict(tmp_path, "False") is Verdict.UNKNOWN


def test_a_class_with_more_than_attributes_is_not_followed(tmp_path: Path) -> None:
    option = 'False, env_var="OTHER_REDUCE")\n\n        def __getattribute__(self, name):\n'
    option += "            return (True"
    assert _verdict(tmp_path / "method", option) is Verdict.UNKNOWN
