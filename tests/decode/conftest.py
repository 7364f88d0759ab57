"""PyTorch on one thread: the tensors are small, and other programs want processors too."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.padding.tensors import torch_or_skip


@pytest.fixture(scope="package", autouse=True)
def _one_thread() -> Iterator[None]:
    torch = torch_or_skip()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
