"""Runs command lines against an AITER that never was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from mlaprobe.cli import main
from mlaprobe.cli.support import common
from tests.output.fake import Fake


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


Run = Callable[..., Result]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    """What every source turns out to be."""
    answers = Fake()
    monkeypatch.setattr(common, "load", lambda spec, **_: answers)
    return answers


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command line, given as words."""
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "MLAPROBE_DEBUG"):
        monkeypatch.delenv(name, raising=False)

    def call(*words: str) -> Result:
        code = main(words)
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return call
