"""The bench: what it measures, what it makes of failures, and that it goes on where it stopped."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from mlaprobe.core.shape import Dtype
from mlaprobe.decode.bench import (
    Case,
    Form,
    Outcome,
    Point,
    Sweep,
    Variant,
    run,
)
from mlaprobe.decode.benchfile import CRASHED, Writer, load
from mlaprobe.decode.interface import DecodeError
from mlaprobe.decode.memory import OutOfMemoryError
from mlaprobe.decode.pretend import Pretended
from mlaprobe.decode.problem import Inputs, Problem, make_inputs
from mlaprobe.decode.timing import Timing
from mlaprobe.errors import UsageError
from tests.padding.tensors import torch_or_skip

AROUND = {
    "device": "a GPU",
    "ran_on": "gfx950",
    "arch": "gfx950",
    "aiter": "v0.1.20",
    "backend": "auto",
    "page_size": 1,
    "lse": False,
}


def a_case(heads: int = 48, kv_len: int = 8, batch: int = 1) -> Case:
    return Case(
        heads=heads,
        q_dtype=Dtype.BF16,
        kv_dtype=Dtype.BF16,
        qlen=1,
        batch=batch,
        kv_len=kv_len,
    )


def a_form(name: Variant, us: float, launched: int = 48, fold: int = 1) -> Form:
    timing = Timing(us=us, low_us=us, high_us=us, runs=5, clock="device", cold=True)
    return Form(
        name=name,
        launched=launched,
        fold=fold,
        verdict="NATIVE",
        backend="triton",
        timing=timing,
        graph=True,
    )


def a_point(case: Case, stay: float, pad: float | None = None, fold: int = 3) -> Point:
    forms = [a_form(Variant.STAY, stay, case.heads, fold)]
    if pad is not None:
        forms.append(a_form(Variant.PAD, pad, 64))
    return Point(case=case, status=Outcome.MEASURED, forms=tuple(forms))


def a_sweep(**given: Any) -> Sweep:
    wanted = {
        "arch": "gfx950",
        "heads": (16, 48),
        "dtypes": ((Dtype.BF16, Dtype.BF16), (Dtype.FP8, Dtype.FP8)),
        "qlens": (1,),
        "batches": (1, 2),
        "kv_lens": (4, 8),
        "backend": "torch",
        "device": "cpu",
        "seconds": 0.001,
    }
    return Sweep(**{**wanted, **given})


def test_cases_share_caches_and_begin_with_small_ones() -> None:
    cases = a_sweep().cases
    assert len(cases) == len(set(cases)) == 16
    sizes = [case.batch * case.kv_len for case in cases]
    assert sizes == sorted(sizes)
    assert [case.heads for case in cases] == [16, 48] * 8
    caches = [(case.q_dtype, case.batch, case.kv_len) for case in cases]
    changes = sum(a != b for a, b in pairwise(caches))
    assert changes == len(set(caches)) - 1


def test_measures_both_forms_of_what_folds() -> None:
    torch_or_skip()
    sweep = a_sweep(batches=(1,), kv_lens=(8,), heads=(16, 48, 64))
    points = list(run(Pretended(native=(16, 64, 128), archs=("gfx950",)), sweep, sweep.cases))
    assert [point.status for point in points] == [Outcome.MEASURED] * 6
    for point in points:
        forms = {form.name: (form.launched, form.fold) for form in point.forms}
        heads = point.case.heads
        want = (
            {Variant.STAY: (48, 3), Variant.PAD: (64, 1)}
            if heads == 48
            else {Variant.STAY: (heads, 1)}
        )
        assert forms == want
        for form in point.forms:
            assert form.backend == "torch"
            assert form.timing is not None
            assert form.timing.us > 0
            assert not form.graph


def test_what_does_not_run_is_not_launched() -> None:
    torch_or_skip()
    sweep = a_sweep(heads=(24,), batches=(1,), kv_lens=(8,), dtypes=((Dtype.BF16, Dtype.BF16),))

    class Nothing(Pretended):
        def decide(self, shape: Any) -> Any:
            from dataclasses import replace

            from mlaprobe.core.shape import Verdict

            return replace(super().decide(shape), verdict=Verdict.NO_KERNEL)

    [point] = run(Nothing(native=(), archs=("gfx950",)), sweep, sweep.cases)
    assert point.status == Outcome.MEASURED
    assert [(f.verdict, f.backend, f.timing) for f in point.forms] == [("NO_KERNEL", "", None)]


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (OutOfMemoryError("4 GiB"), Outcome.SKIPPED, "out of memory"),
        (DecodeError("the kernel is not there"), Outcome.FAILED, "the kernel is not there"),
        (RuntimeError("HIP error\nmore"), Outcome.FAILED, "RuntimeError: HIP error"),
    ],
)
def test_a_failure_is_a_point(
    monkeypatch: pytest.MonkeyPatch, error: Exception, status: str, reason: str
) -> None:
    torch_or_skip()
    sweep = a_sweep(dtypes=((Dtype.BF16, Dtype.BF16),), heads=(16,), batches=(1,))

    def fails_once(problem: Problem) -> Inputs:
        if problem.kv_lens == (4,):
            raise error
        return make_inputs(problem)

    monkeypatch.setattr("mlaprobe.decode.bench.make_inputs", fails_once)
    first, second = run(Pretended(native=(16,), archs=("gfx950",)), sweep, sweep.cases)
    assert (first.status, first.reason) == (status, reason)
    assert second.status == Outcome.MEASURED


def test_a_deadline_ends_the_sweep() -> None:
    torch_or_skip()
    sweep = a_sweep()
    past = time.monotonic() - 1
    assert (
        list(run(Pretended(native=(16,), archs=("gfx950",)), sweep, sweep.cases, deadline=past))
        == []
    )


def _written(path: Path, points: Sequence[Point]) -> None:
    with Writer(path, load(path), AROUND) as file:
        for point in points:
            file.begin(point.case)
            file.add(point)


def test_a_file_holds_what_was_measured(tmp_path: Path) -> None:
    path = tmp_path / "bench.jsonl"
    points = [
        a_point(a_case(), 10.5, 7.25),
        Point(case=a_case(64), status=Outcome.SKIPPED, reason="out of memory"),
    ]
    _written(path, points)
    kept = load(path)
    assert dict(kept.points) == {point.case: point for point in points}
    assert kept.environment is not None
    assert {name: kept.environment[name] for name in AROUND} == AROUND
    # A later run adds to it, and the last point of a case counts.
    again = a_point(a_case(), 9.0)
    _written(path, [again])
    assert load(path).points[a_case()] == again
    assert len(load(path).points) == 2
    for line in path.read_text().splitlines():
        json.loads(line)


def test_a_line_that_was_cut_off_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "bench.jsonl"
    _written(path, [a_point(a_case(), 10.0)])
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"kind":"point","ca')
    assert list(load(path).points) == [a_case()]
    _written(path, [a_point(a_case(64), 11.0)])
    assert path.read_bytes().startswith(whole)
    assert list(load(path).points) == [a_case(), a_case(64)]


def test_a_case_that_ended_the_process_is_known(tmp_path: Path) -> None:
    path = tmp_path / "bench.jsonl"
    Writer(path, load(path), AROUND).begin(a_case())
    point = load(path).points[a_case()]
    assert (point.status, point.reason) == (Outcome.FAILED, CRASHED)


def test_a_case_that_a_person_stopped_is_still_to_do(tmp_path: Path) -> None:
    path = tmp_path / "bench.jsonl"

    def interrupted() -> None:
        with Writer(path, load(path), AROUND) as file:
            file.begin(a_case(16))
            file.add(a_point(a_case(16), 3.0))
            file.begin(a_case())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(load(path).points) == [a_case(16)]


@pytest.mark.parametrize("name", ["device", "arch", "aiter", "page_size"])
def test_measurements_of_two_machines_are_not_mixed(tmp_path: Path, name: str) -> None:
    path = tmp_path / "bench.jsonl"
    _written(path, [])
    before = path.read_bytes()
    with pytest.raises(UsageError, match=name):
        Writer(path, load(path), {**AROUND, name: "another"})
    assert path.read_bytes() == before


@pytest.mark.parametrize("text", ["no JSON\n", "{}\n", '{"kind":"point"}\n', "[1]\n"])
def test_another_file_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "notes"
    path.write_text(text)
    with pytest.raises(UsageError, match="line 1"):
        load(path)
    assert path.read_text() == text
