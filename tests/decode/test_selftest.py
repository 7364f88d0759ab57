"""The self-test and single runs, on PyTorch's operators."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mlaprobe.core.shape import Dtype
from mlaprobe.decode import rules as decode_rules
from mlaprobe.decode import selftest
from mlaprobe.decode.backends.aiter_gate import RefusedError
from mlaprobe.decode.backends.torch import TorchBackend
from mlaprobe.decode.interface import DecodeError, Launch
from mlaprobe.decode.rules import Rules, SelfTest
from mlaprobe.decode.running import Session
from mlaprobe.decode.selftest import Outcome, Report
from mlaprobe.padding.request import Mode
from tests.decode.help import a_plan, a_problem, tile
from tests.decode.test_support import Support, With
from tests.padding.fake import Fake
from tests.padding.tensors import torch_or_skip

FAKE = Fake(native=tile)


@pytest.fixture(scope="module", autouse=True)
def torch() -> Any:
    return torch_or_skip()


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two shapes."""
    found = decode_rules.rules()
    padded = SelfTest(
        id="padded", heads=12, q_dtype=Dtype.BF16, kv_dtype=Dtype.BF16, kv_lens=(100,)
    )
    folded = replace(padded, id="folded", heads=32, kv_lens=(50, 9), qlen=2, mode=Mode.OFF)
    short = Rules(tolerances=found.tolerances, arch="gfx950", selftest=(padded, folded))
    monkeypatch.setattr(selftest, "rules", lambda: short)


def _run(backend: Any = "auto", **given: Any) -> Report:
    return selftest.selftest(FAKE, arch="gfx950", device="cpu", backend=backend, **given)


class Failing(TorchBackend):
    """Fails, or is wrong, for padded heads."""

    def __init__(self, error: Exception | None) -> None:
        self._error = error

    def prepare(self, launch: Launch) -> Any:
        prepared = super().prepare(launch)
        if launch.plan.pads:
            if self._error is not None:
                raise self._error
            run = prepared.run

            def wrong(q: Any, kv: Any, out: Any, lse: Any) -> None:
                run(q, kv, out, lse)
                out[:, 3] = out[:, 4]

            prepared.run = wrong  # type: ignore[method-assign]
        return prepared


def test_all_of_the_real_shapes_are_for_someone() -> None:
    """The public end-to-end test is among them, and no two are alike."""
    tests = decode_rules.rules().selftest
    public = SelfTest(
        id="padded-12", heads=12, q_dtype=Dtype.BF16, kv_dtype=Dtype.BF16, kv_lens=(4096,)
    )
    assert public in tests
    assert len({test.id for test in tests}) == len(tests) > 10


def test_everything_passes_here() -> None:
    seen: list[Report] = []
    report = _run(keep=seen.append)
    assert report.passed
    assert [r.outcome for r in report.results] == [Outcome.PASSED] * 2
    assert [r.run.backend for r in report.results if r.run] == ["torch"] * 2
    assert report.agreement is None
    # On record before it is run: what ends the process is the one that was running.
    first = seen[0].results
    assert [r.outcome for r in first] == [Outcome.RUNNING, Outcome.WAITING]
    assert not seen[0].passed
    assert seen[-1] == report


def test_a_wrong_result_fails() -> None:
    report = _run(Failing(None))
    assert not report.passed
    padded, folded = report.results
    assert (padded.outcome, folded.outcome) == (Outcome.FAILED, Outcome.PASSED)
    assert padded.message is not None
    assert "differ by more than 0.01" in padded.message


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (DecodeError("half-way"), Outcome.FAILED),
        (RuntimeError("half-way"), Outcome.FAILED),
        (RefusedError(None, "half-way"), Outcome.REFUSED),
    ],
)
def test_a_failure_is_kept_and_the_rest_goes_on(error: Exception, outcome: Outcome) -> None:
    report = _run(Failing(error))
    padded, folded = report.results
    assert (padded.outcome, folded.outcome) == (outcome, Outcome.PASSED)
    assert padded.message is not None
    assert "half-way" in padded.message
    assert report.passed is (outcome is Outcome.REFUSED)


def test_aiter_s_own_query_is_asked_for_the_same_shapes() -> None:
    report = _run(functions=With(lambda heads: Support(supported=heads == 32)))
    assert report.agreement is not None
    assert report.agreement.asked == 2
    assert [each.shape.num_heads for each in report.agreement.disagreements] == [16]


def test_a_comparison_runs_both_on_the_same_inputs() -> None:
    found = a_plan(48, "fp8/fp8")
    other = a_plan(48, "fp8/fp8", mode="off")
    session = Session(a_problem(found, (100, 40)), backend="torch")
    padded, folded = session.run(found, other, budget_s=0.01)
    assert (padded.plan.padded_num_heads, padded.fold) == (64, 1)
    assert (folded.plan.padded_num_heads, folded.fold) == (48, 3)
    for run in (padded, folded):
        assert run.passed
        assert run.timing is not None
        assert run.bandwidth == pytest.approx(140 * 576 / (run.timing.us * 1e-6))
        assert run.share is None
        assert run.passed_over == ()


def test_auto_says_why_others_were_not_taken(torch: Any) -> None:
    if torch.cuda.is_available():
        pytest.skip("a GPU is here, on which another back end may be taken")
    found = a_plan(16)
    (run,) = Session(a_problem(found, (10,))).run(found, timed=False)
    assert run.backend == "torch"
    assert run.timing is None
    assert run.passed_over[0] == "aiter: this PyTorch is not built for ROCm"
