"""AITER's own query, where there is one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from mlaprobe.core.shape import DecodeShape, Dtype
from mlaprobe.decode.support import agreement
from tests.padding.fake import Fake
from tests.padding.tensors import torch_or_skip


@dataclass(frozen=True)
class Support:
    """What the query returns, as far as it matters."""

    supported: bool | None
    planner_accepts: bool = True
    fold_factor: int = 1


@pytest.fixture(autouse=True)
def _torch() -> None:
    torch_or_skip()


def _shapes(*heads: int) -> list[DecodeShape]:
    return [
        DecodeShape(arch="gfx950", q_dtype=Dtype.FP8, kv_dtype=Dtype.FP8, num_heads=count)
        for count in heads
    ]


class With:
    """An AITER with such a query."""

    def __init__(self, answer: Callable[..., Support]) -> None:
        self._answer = answer
        self.asked: list[dict[str, Any]] = []

    def find(self, name: str) -> Any:
        return self.query if name == "shape_support" else None

    def query(
        self,
        num_heads: int,
        max_seqlen_qo: int,
        q_dtype: Any,
        kv_dtype: Any,
        *,
        num_heads_k: int = 1,
        return_lse: bool = False,
        page_size: int = 1,
        arch: str | None = None,
    ) -> Support:
        self.asked.append({"heads": num_heads, "q": str(q_dtype), "arch": arch})
        return self._answer(num_heads)


FAKE = Fake(native=lambda shape: shape.num_heads in (16, 64))


def test_without_a_query_there_is_nothing_to_say() -> None:
    class Without:
        def find(self, name: str) -> None: ...

    assert agreement(Without(), FAKE, _shapes(16)) is None


def test_agreement() -> None:
    aiter = With(lambda heads: Support(supported=heads % 16 == 0))
    found = agreement(aiter, FAKE, _shapes(16, 24, 48))
    assert found is not None
    assert (found.asked, found.disagreements, found.failures) == (3, (), ())
    assert aiter.asked[0] == {"heads": 16, "q": "torch.float8_e4m3fn", "arch": "gfx950"}


def test_every_disagreement_is_reported() -> None:
    found = agreement(With(lambda heads: Support(supported=heads != 64)), FAKE, _shapes(16, 24, 64))
    assert found is not None
    said = [
        (each.shape.num_heads, each.field, each.aiter, each.mlaprobe)
        for each in found.disagreements
    ]
    assert said == [(24, "supported", "True", "False"), (64, "supported", "False", "True")]


def test_what_the_query_does_not_know_is_no_disagreement() -> None:
    found = agreement(With(lambda heads: Support(supported=None)), FAKE, _shapes(16, 24))
    assert found is not None
    assert not found.disagreements


def test_a_query_that_fails_is_reported() -> None:
    def answer(heads: int) -> Support:
        if heads == 24:
            raise ValueError("no such head count")
        return Support(supported=True)

    found = agreement(With(answer), FAKE, _shapes(16, 24))
    assert found is not None
    assert found.failures == ("gfx950 fp8/fp8, 24 heads, qlen 1: ValueError: no such head count",)
