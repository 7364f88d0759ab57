"""The driver, on PyTorch's operators."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from mlaprobe.decode.driver import Driver
from mlaprobe.decode.interface import DecodeError, Launch
from mlaprobe.decode.problem import make_inputs
from mlaprobe.errors import UsageError
from tests.decode.help import a_plan, a_problem, expected
from tests.padding.tensors import torch_or_skip

KV_LENS = (300, 9, 70)


@pytest.fixture(scope="module", autouse=True)
def torch() -> Any:
    return torch_or_skip()


def _close(torch: Any, got: Any, want: Any) -> None:
    torch.testing.assert_close(got.float(), want, atol=1e-2, rtol=1e-2)


@pytest.mark.parametrize("dtype", ["bf16/bf16", "bf16/fp8", "fp8/fp8"])
@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize(
    ("heads", "launched", "fold"), [(16, 16, 1), (12, 16, 1), (48, 64, 1), (32, 32, 2)]
)
@pytest.mark.parametrize(("qlen", "page_size"), [(1, 1), (3, 16)])
def test_gives_what_attention_is(
    torch: Any,
    dtype: str,
    arch: str,
    heads: int,
    launched: int,
    fold: int,
    qlen: int,
    page_size: int,
) -> None:
    mode = "off" if fold > 1 else "auto"
    found = a_plan(heads, dtype, arch=arch, qlens=qlen, page_size=page_size, lse=True, mode=mode)
    problem = a_problem(found, KV_LENS)
    inputs = make_inputs(replace(problem, scales=(0.5, 1.5)))
    driver = Driver(
        found,
        inputs.layout,
        q_scale=inputs.q_scale,
        kv_scale=inputs.kv_scale,
        backend="torch",
        check_pages=True,
    )
    assert (driver.launch.num_heads, driver.launch.fold) == (launched, fold)
    o, lse = driver(inputs.q, inputs.kv)
    want, want_lse = expected(problem, inputs)
    assert o.shape == (len(KV_LENS) * qlen, heads, 512)
    _close(torch, o, want)
    torch.testing.assert_close(lse, want_lse, atol=1e-4, rtol=1e-5)


class Spy:
    """A back end that writes a different number into every head of a row, and NaN into padding
    rows."""

    name = "spy"
    kernels: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.q: Any = None

    def unfit(self, problem: Any, plan: Any) -> str | None:
        return None

    def prepare(self, launch: Launch) -> Spy:
        self.launch = launch
        return self

    def refresh(self) -> None: ...

    def run(self, q: Any, kv: Any, out: Any, lse: Any) -> None:
        self.q = q.clone()
        heads = self.launch.num_heads
        for head in range(heads):
            out[:, head] = head
            lse[:, head] = -head
        rows = out.unflatten(0, (-1, self.launch.layout.max_seqlen_q))
        rows[:, : self.launch.layout.max_seqlen_q - 3] = float("nan")


@pytest.mark.parametrize("strategy", ["tile", "repeat", "zero"])
@pytest.mark.parametrize("own", [False, True])
def test_padding_never_leaves_the_driver(torch: Any, strategy: str, own: bool) -> None:
    found = a_plan(
        8,
        qlens=3,
        lse=True,
        strategy=strategy,
        pad_qlen=True,
        native=lambda shape: shape.num_heads == 16 and shape.qlen == 4,
    )
    problem = a_problem(found, KV_LENS)
    inputs, spy = make_inputs(problem), Spy()
    driver = Driver(found, inputs.layout, backend=spy)
    out = torch.zeros(9, 8, 512, dtype=torch.bfloat16) if own else None
    lse_out = torch.zeros(9, 8) if own else None
    o, lse = driver(inputs.q, inputs.kv, out=out, lse_out=lse_out)
    assert (o is out) is own
    assert o.shape == (9, 8, 512)
    step = 2 if strategy == "repeat" else 1
    heads = torch.arange(0, 8 * step, step).float()
    assert torch.equal(o.float(), heads[None, :, None].expand(9, 8, 512))
    assert torch.equal(lse, -heads.expand(9, 8))
    assert spy.q.shape == (12, 16, 576)
    rows = spy.q.unflatten(0, (3, 4))
    assert not rows[:, 0].any()
    real = found.pad_q(inputs.q).unflatten(0, (3, 3))
    assert torch.equal(rows[:, 1:], real)


def test_runs_again_with_other_values(torch: Any) -> None:
    found = a_plan(12, lse=True)
    problem = a_problem(found, KV_LENS)
    inputs = make_inputs(problem)
    driver = Driver(found, inputs.layout, backend="torch")
    driver(inputs.q, inputs.kv)
    other = make_inputs(problem, seed=7)
    changed = other.q.transpose(0, 1).contiguous().transpose(0, 1)
    o, lse = driver(changed, inputs.kv)
    want, want_lse = expected(
        problem,
        type(inputs)(q=other.q, kv=inputs.kv, layout=inputs.layout, q_scale=None, kv_scale=None),
    )
    _close(torch, o, want)
    torch.testing.assert_close(lse, want_lse, atol=1e-4, rtol=1e-5)


def test_made_in_inference_mode_it_runs_anywhere(torch: Any) -> None:
    found = a_plan(12, lse=True)
    with torch.inference_mode():
        inputs = make_inputs(a_problem(found, KV_LENS))
        driver = Driver(found, inputs.layout, backend="torch")
        first = driver(inputs.q, inputs.kv)[0].clone()
    assert torch.equal(first, driver(inputs.q, inputs.kv)[0])


def test_what_is_wrong_is_named(torch: Any) -> None:
    found = a_plan(12)
    inputs = make_inputs(a_problem(found, KV_LENS))
    driver = Driver(found, inputs.layout, backend="torch")
    q, kv = inputs.q, inputs.kv
    for text, given in (
        ("q must have shape \\[3, 12, 576\\], not \\[3, 16, 576\\]", (found.pad_q(q), kv)),
        ("q must be bfloat16, not float32", (q.float(), kv)),
        ("kv must be bfloat16, not float8", (q, kv.to(torch.float8_e4m3fn))),
        ("kv must be contiguous", (q, torch.cat([kv, kv], -1)[..., :576])),
        ("kv must have shape", (q, kv[1:])),
        ("q must be a tensor, not list", ([], kv)),
    ):
        with pytest.raises(UsageError, match=text):
            driver(*given)
    with pytest.raises(UsageError, match="lse_out is given"):
        driver(q, kv, lse_out=torch.zeros(3, 12))
    with pytest.raises(UsageError, match=r"out must have shape \[3, 12, 512\]"):
        driver(q, kv, out=torch.zeros(3, 16, 512, dtype=torch.bfloat16))


def test_fp8_of_another_arch_is_refused(torch: Any) -> None:
    found = a_plan(16, "fp8/fp8", arch="gfx942")
    inputs = make_inputs(a_problem(found, KV_LENS))
    driver = Driver(found, inputs.layout, backend="torch")
    with pytest.raises(UsageError, match=r"float8_e4m3fnuz, not float8_e4m3fn .*gfx942"):
        driver(inputs.q, inputs.kv.view(torch.float8_e4m3fn))


def test_a_plan_for_something_else_is_refused() -> None:
    found = a_plan(16, qlens=2)
    inputs = make_inputs(a_problem(found, KV_LENS))
    with pytest.raises(UsageError, match="2 query rows per request, and the plan is for 1"):
        Driver(a_plan(16), inputs.layout)
    with pytest.raises(UsageError, match="pages of 1 tokens, and the plan is for pages of 16"):
        Driver(a_plan(16, qlens=2, page_size=16), inputs.layout)


def test_a_back_end_that_fails_is_named(torch: Any) -> None:
    class Broken(Spy):
        def run(self, q: Any, kv: Any, out: Any, lse: Any) -> None:
            raise RuntimeError("half-way\nmore")

    class Full(Spy):
        def prepare(self, launch: Launch) -> Spy:
            raise torch.OutOfMemoryError("no 5 GiB\nmore")

    found = a_plan(16, lse=True)
    inputs = make_inputs(a_problem(found, KV_LENS))
    driver = Driver(found, inputs.layout, backend=Broken())
    with pytest.raises(DecodeError, match=r"the spy back end failed: RuntimeError: half-way$"):
        driver(inputs.q, inputs.kv)
    with pytest.raises(DecodeError, match=r"not enough memory: no 5 GiB$"):
        Driver(found, inputs.layout, backend=Full())


def test_the_torch_back_end_says_that_it_follows_no_change() -> None:
    found = a_plan(16)
    inputs = make_inputs(a_problem(found, KV_LENS))
    with pytest.raises(DecodeError, match="follows no change"):
        Driver(found, inputs.layout, backend="torch").refresh()


def test_a_call_looks_at_no_value(torch: Any) -> None:
    """What can be captured in a graph reads nothing back, and has shapes from shapes alone."""
    mode: Any = importlib.import_module("torch.utils._python_dispatch").TorchDispatchMode
    aten = torch.ops.aten
    looking = {
        *(aten._local_scalar_dense.default, aten.nonzero.default, aten.masked_select.default),
        *(aten.equal.default, aten.unique_dim.default),
    }

    def dispatch(self: Any, op: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        by_mask = op is aten.index.Tensor and any(i.dtype is torch.bool for i in args[1])
        assert op not in looking, f"{op} looks at values"
        assert not by_mask, "a mask looks at values"
        return op(*args, **(kwargs or {}))

    blind: Any = type("Blind", (mode,), {"__torch_dispatch__": dispatch})
    found = a_plan(48, "fp8/fp8", lse=True, qlens=2, mode="off")
    inputs = make_inputs(a_problem(found, KV_LENS))
    driver = Driver(found, inputs.layout, backend="torch")
    with blind():
        driver(inputs.q, inputs.kv)
    looks: list[Callable[[Any], Any]] = [lambda x: x.max().item(), lambda x: x[x > 0]]
    for look in looks:
        with pytest.raises(AssertionError, match="looks at values"), blind():
            look(inputs.q.float())


def test_the_driver_is_found_from_the_top() -> None:
    mlaprobe = importlib.import_module("mlaprobe")
    assert mlaprobe.decode.Driver is Driver
