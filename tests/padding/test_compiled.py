"""Padding inside a compiled graph: one graph, no break, whatever is a symbol in it."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mlaprobe.adapters import vllm_0_2 as vllm
from mlaprobe.errors import UsageError
from mlaprobe.padding import tensors as padding
from mlaprobe.padding.api import plan
from mlaprobe.padding.tensors import Strategy
from tests.padding.fake import later
from tests.padding.tensors import torch_or_skip

WIDTH = 4
ROWS = (6, 8, 10, 64)
"""Row counts other than 0 and 1, which compilers know as numbers."""


@pytest.fixture(scope="module")
def torch() -> Any:
    found = torch_or_skip()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what parts of PyTorch say of each other
        pytest.importorskip("torch._dynamo")
    return found


class Compiled:
    """A function as one graph, and how often it was made one."""

    def __init__(self, torch: Any, function: Callable[..., Any]) -> None:
        self.graphs = 0
        self.function = function
        torch._dynamo.reset()
        self._call = torch.compile(function, fullgraph=True, dynamic=True, backend=self._made)

    def _made(self, graph: Any, inputs: Any) -> Any:
        self.graphs += 1
        return graph.forward

    def __call__(self, *given: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return self._call(*given)


def values(torch: Any, *shape: int) -> Any:
    count = 1
    for size in shape:
        count *= size
    return torch.arange(count, dtype=torch.float32).reshape(shape)


def forms(torch: Any, *shape: int) -> Iterator[Any]:
    """The same values as a tensor of its own and as a part of a larger one."""
    x = values(torch, *shape)
    yield x
    wide = torch.zeros(*shape[:-1], 2 * shape[-1])
    wide[..., ::2] = x
    yield wide[..., ::2]


def same(torch: Any, compiled: Compiled, *given: Any) -> None:
    wanted, found = compiled.function(*given), compiled(*given)
    for each, other in zip(wanted, found, strict=True):
        assert each.shape == other.shape
        assert each.dtype is other.dtype
        if each.element_size() == 1:
            each, other = each.view(torch.uint8), other.view(torch.uint8)
        assert torch.equal(each, other)


CASES = [(Strategy.TILE, 48, 64), (Strategy.REPEAT, 12, 24), (Strategy.ZERO, 12, 24)]


@pytest.mark.parametrize(("strategy", "heads", "target"), CASES, ids=str)
def test_new_row_counts_need_no_new_graph(
    torch: Any, strategy: Strategy, heads: int, target: int
) -> None:
    def around(q: Any) -> tuple[Any, ...]:
        padded = padding.pad_heads(q, target, strategy)
        o = padding.unpad_heads(padded, heads, strategy)
        lse = padding.unpad_heads(padded[..., 0], heads, strategy, dim=-1)
        return padded, o.contiguous(), lse.contiguous()

    compiled = Compiled(torch, around)
    for rows in ROWS:
        same(torch, compiled, values(torch, rows, heads, WIDTH))
    assert compiled.graphs == 1
    for rows in (0, 1):
        same(torch, compiled, values(torch, rows, heads, WIDTH))
    for q in forms(torch, 6, heads, WIDTH):
        same(torch, compiled, q)


@pytest.mark.parametrize("strategy", list(Strategy))
def test_heads_may_be_symbols(torch: Any, strategy: Strategy) -> None:
    def around(q: Any, target: int) -> tuple[Any, ...]:
        padded = padding.pad_heads(q, target, strategy)
        return padded, padding.unpad_heads(padded, q.shape[-2], strategy).contiguous()

    compiled = Compiled(torch, around)
    for heads, target in ((12, 24), (6, 18), (5, 20), (3, 12)):
        same(torch, compiled, values(torch, 6, heads, WIDTH), target)
    assert compiled.graphs <= (1 if strategy is Strategy.ZERO else 2)
    if strategy is not Strategy.REPEAT:
        for heads, target in ((12, 16), (5, 16), (48, 64), (16, 16)):
            same(torch, compiled, values(torch, 6, heads, WIDTH), target)


@pytest.mark.parametrize(("qlen", "kernel_qlen"), [(2, 4), (1, 2)])
def test_rows(torch: Any, qlen: int, kernel_qlen: int) -> None:
    def around(q: Any) -> tuple[Any, ...]:
        padded = padding.pad_rows(q, qlen, kernel_qlen)
        return padded, padding.unpad_rows(padded, qlen, kernel_qlen)

    compiled = Compiled(torch, around)
    for rows in ROWS:
        same(torch, compiled, values(torch, rows, 3, WIDTH))
    assert compiled.graphs == 1
    same(torch, compiled, values(torch, 0, 3, WIDTH))
    for q in forms(torch, 6, 3, WIDTH):
        same(torch, compiled, q)


def test_one_byte_floats(torch: Any) -> None:
    def around(q: Any) -> tuple[Any, ...]:
        padded = padding.pad_rows(padding.pad_heads(q, 16), 2, 4)
        return padded, padding.unpad_rows(padded, 2, 4)

    compiled = Compiled(torch, around)
    for rows in ROWS:
        same(torch, compiled, values(torch, rows, 12, WIDTH).to(torch.float8_e4m3fn))
    assert compiled.graphs == 1


def test_a_plan_inside_a_graph(torch: Any) -> None:
    found = plan(
        48,
        capability=later(),
        arch="gfx950",
        q_dtype="fp8",
        kv_dtype="fp8",
        qlens=(1, 2),
    )
    assert found.pads

    def around(q: Any) -> tuple[Any, ...]:
        padded = found.pad_rows(found.pad_q(q), 2)
        rows = found.unpad_rows(padded, 2)
        lse = found.unpad_lse(rows[..., 0].contiguous())
        return padded, found.unpad_o(rows).contiguous(), lse.contiguous()

    compiled = Compiled(torch, around)
    for rows in ROWS:
        same(torch, compiled, values(torch, rows, 48, WIDTH))
    assert compiled.graphs == 1
    with pytest.raises(UsageError, match="48 heads, and this one has 64"):
        around(values(torch, 2, 64, WIDTH))


@pytest.mark.parametrize(("heads", "target"), [(12, None), (8, 16), (16, None)])
def test_vllms_functions(torch: Any, heads: int, target: int | None) -> None:
    def around(q: Any) -> tuple[Any, ...]:
        padded = vllm.get_mla_padded_q(heads, q, target)
        o = vllm.get_mla_unpadded_o(heads, padded, target)
        lse = vllm.get_mla_unpadded_lse(heads, padded[..., 0], target)
        rows = vllm.pad_uniform_q_to_kernel_qlen(padded, 2, 4)
        back = vllm.unpad_uniform_rows(rows, 2, 4)
        pointer = vllm.qo_indptr_for_uniform_qlen(q.shape[0], 2)
        return padded, o.contiguous(), lse.contiguous(), rows, back, pointer

    compiled = Compiled(torch, around)
    for rows in ROWS:
        same(torch, compiled, values(torch, rows, heads, WIDTH))
    assert compiled.graphs == 1


def test_vllms_unpadded_rule_with_a_symbol(torch: Any) -> None:
    def launched(q: Any) -> tuple[Any, ...]:
        return (vllm.get_mla_padded_q(q.shape[1], q, None),)

    compiled = Compiled(torch, launched)
    for heads in (3, 12, 16, 17, 40):
        same(torch, compiled, values(torch, 6, heads, WIDTH))
    with pytest.raises(UsageError):
        vllm.get_actual_mla_num_heads(0)


def test_no_file_is_read_for_a_tensor() -> None:
    torch_or_skip()
    program = """
        import sys, warnings
        warnings.simplefilter("ignore")
        import torch
        from mlaprobe.adapters import vllm_0_2 as vllm
        opened = []
        sys.addaudithook(lambda name, given: name == "open" and opened.append(str(given[0])))

        def around(q):
            o = vllm.get_mla_unpadded_o(12, vllm.get_mla_padded_q(12, q))
            lse = vllm.get_mla_unpadded_lse(12, vllm.get_mla_padded_q(12, q)[..., 0])
            rows = vllm.pad_uniform_q_to_kernel_qlen(q, 2, 4)
            return o, lse, vllm.unpad_uniform_rows(rows, 2, 4)

        around(torch.ones(6, 12, 4))
        assert not opened, opened
        torch.compile(around, fullgraph=True, dynamic=True, backend="eager")(torch.ones(6, 12, 4))
        read = [name for name in opened if name.endswith((".yaml", ".yml", ".json"))]
        assert not read, read
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
