"""What the adapters ask in these tests: nothing that an earlier test configured."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mlaprobe.adapters.settings import configure
from mlaprobe.core.keeping import Topics
from mlaprobe.padding import planning


@pytest.fixture(autouse=True)
def _configured_by_nobody(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(planning, "WARNED", Topics())
    configure()
    yield
    configure()
