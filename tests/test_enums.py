"""Names that stand for themselves: what members of the enums equal, print as, and become."""

import copy
import json
import pickle
from typing import Any

import pytest

from mlaprobe.core.dtypes import Dtype
from mlaprobe.core.enums import TAKEN, Failure, Route, StageName, Status, Verdict

TEXTS: dict[Any, str] = {
    Status.NOT_REACHED: "not reached",
    Status.QLEN_FOLD: "qlen_fold",
    StageName.TABLE: "kernel table",
    StageName.PLANNER: "planner",
    Failure.ABORT: "abort",
    Route.GLUON: "gluon",
    Verdict.NO_KERNEL: "NO_KERNEL",
    Dtype.FP8: "fp8",
}


@pytest.mark.parametrize(("member", "text"), [*TEXTS.items()])
def test_a_member_is_its_text(member: Any, text: str) -> None:
    assert member == text
    assert hash(member) == hash(text)
    assert {text: 1}[member] == 1
    assert str(member) == text
    assert f"{member}" == text
    assert f"{member:>20}" == text.rjust(20)
    assert "%s" % member == text  # noqa: UP031
    assert "-".join([member]) == text
    assert json.dumps({member: member}) == json.dumps({text: text})
    assert json.dumps([member], indent=1) == json.dumps([text], indent=1)


@pytest.mark.parametrize("member", [*TEXTS])
def test_a_member_stays_the_same_object(member: Any) -> None:
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(member, protocol)) is member
    assert copy.deepcopy(member) is member
    assert type(member)(str(member)) is member


def test_statuses_that_accept() -> None:
    assert {status for status in Status if status.taken} == TAKEN
    assert sorted(TAKEN) == ["fold", "native", "padded", "passthrough", "qlen_fold"]
