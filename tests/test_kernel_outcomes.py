"""The shipped outcomes of emulated launches, and the files that hold them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlaprobe.core.enums import Standing
from mlaprobe.errors import RuleError
from mlaprobe.opening import bundled
from mlaprobe.rulefiles.loader import rules_dir
from mlaprobe.rulefiles.outcomes import FOLDER, KernelRun, read, record_of, row_of
from mlaprobe.snapshot.file import read as read_snapshot

SHIPPED = read(rules_dir() / FOLDER)


def test_each_belongs_to_a_file_of_a_release_and_to_its_kernel() -> None:
    """By what the bundled releases say of their kernels."""
    kernels: dict[str | None, set[tuple[str, str]]] = {}
    for file in set(bundled.index().values()):
        for kernel in read_snapshot(bundled.folder() / file).kernels.values():
            kernels.setdefault(kernel.blob, set()).add((kernel.symbol, kernel.co))
    assert len(SHIPPED) > 100
    for blob in SHIPPED:
        record = record_of(blob)
        assert record is not None
        assert re.fullmatch("[0-9a-f]{40}", blob)
        assert (record.kernel, record.co) in kernels[blob]
        assert record.release in bundled.index()
        assert record.runs


def test_what_was_not_right_has_a_text() -> None:
    for blob in SHIPPED:
        record = record_of(blob)
        assert record is not None
        for run in record.runs:
            assert run.kv
            assert (run.text == "") is (run.outcome is Standing.PASSED), (record.co, run)


def test_a_file_that_is_unknown() -> None:
    assert record_of("0" * 40) is None


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"blobs":[1]}', '{"blobs":', "\udcff"])
def test_a_damaged_file_is_an_error_of_the_installation(tmp_path: Path, content: str) -> None:
    (tmp_path / "gfx950.json").write_text(content, encoding="utf-8", errors="surrogateescape")
    with pytest.raises(RuleError, match="no outcomes of kernels") as caught:
        read(tmp_path)
    assert caught.value.hint is not None


RUNS = st.builds(
    KernelRun,
    dtype=st.sampled_from(["fp8/fp8", "bf16/fp8"]),
    heads=st.integers(1, 128),
    qlen=st.integers(1, 8),
    lse=st.booleans(),
    persistent=st.booleans(),
    causal=st.booleans(),
    world=st.integers(1, 8),
    page_size=st.sampled_from([1, 64]),
    kv_splits=st.none() | st.integers(1, 4),
    kv_cache_bytes=st.sampled_from([0, 5 << 30]),
    scales=st.sampled_from([(1.0, 1.0), (0.5, 1.5)]),
    kv=st.lists(st.lists(st.integers(1, 99), min_size=1).map(tuple), min_size=1).map(tuple),
    outcome=st.sampled_from(list(Standing)),
    text=st.text(),
)


@given(RUNS)
def test_a_run_comes_back_from_its_row(run: KernelRun) -> None:
    assert KernelRun.of(json.loads(json.dumps(row_of(run)))) == run
