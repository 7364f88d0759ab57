"""The shapes of torch's operations against torch, and what they hold on an emulated launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mlaprobe.emulation.arrays import Arrays
from mlaprobe.evaluator import ir
from mlaprobe.evaluator.engine.runs import Run
from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.symbolic.symbols import number_of
from mlaprobe.evaluator.values.operators import binary
from mlaprobe.evaluator.values.unknown import Unknown
from mlaprobe.stages.batches import Requests, batch_of, plus_one
from mlaprobe.stages.environment.dtypes import DtypeToken, named_dtypes
from mlaprobe.stages.environment.libraries import NEW_TENSOR
from mlaprobe.stages.environment.placed import Placed
from mlaprobe.stages.environment.tensors import Tensor
from tests.evaluator.session import SourceSession
from tests.stages.test_tensors import EXTERNALS

I32 = DtypeToken("i32")
PARAMS = ("v", "w", "m", "f")
SHAPES = {"v": (7,), "w": (7,), "m": (3, 4), "f": (2, 3, 4)}
"""Tensors: two vectors, one with two dimensions, and one of bf16 with three."""


def given_tensors(kind: type[Tensor] = Tensor) -> list[Tensor]:
    dtypes = {"f": DtypeToken("bf16")}
    return [kind(name, SHAPES[name], dtypes.get(name, I32)) for name in PARAMS]


def evaluated(
    code: str,
    values: Sequence[Any],
    names: tuple[str, ...] = PARAMS,
    facts: Mapping[str, Any] = MappingProxyType({}),
) -> Any:
    """What the evaluator makes of an expression."""
    head = "import torch\nimport torch.nn.functional as F\n"
    text = f"{head}def f({', '.join(names)}): return {code}\n"
    session = SourceSession(text, externals=EXTERNALS)
    machine = session.machine
    (outcome,) = machine.explore(
        lambda run: machine.call(run, session.get("f"), tuple(values), {}, ir.NOWHERE),
        lambda script: Run(machine, script=script, facts=facts),
    )
    assert outcome.kind in ("returned", "failed"), outcome
    return outcome.value if outcome.kind == "returned" else outcome


OPERATIONS = [
    *("v[1:]", "v[:-1]", "v[-1:]", "v[1:] - v[:-1]", "v[2:5]", "v[5:2]", "v[9:]", "v[:99]"),
    *("v[-9:3]", "v[::2]", "v[1::3]", "v[:0]", "v[None]", "v[..., None]", "v[...]", "m[1]"),
    *("m[-1, 1:]", "m[:, 1:3]", "m[:, 0]", "m[0:1, 1:3]", "m[:, :]", "m[1:2]", "m[1:, ::2]"),
    *("m[::2]", "m[0][1:]", "f[:, 1]", "f[..., 2:]", "f[1, :, None]", "f[0, 1]", "f[:, :0]"),
    *("f[None, ..., 0]", "f[:1, :1]", "v + 1", "1 - v", "-v", "v * 2", "v // 2", "v % 3"),
    *("v / 2", "v + w", "v * 1.5", "m + m[0]", "m * m[:, :1]", "f + m[:3]", "f + 1"),
    *("v + f[0, 0, :1]", "v.to(torch.int64) + v", "torch.cumsum(v, 0)", "v.cumsum(dim=0)"),
    *("torch.cumsum(v, dim=0).to(v.dtype)", "torch.cumsum(f, -1)"),
    *("torch.cumsum(v, 0, dtype=torch.int32)", "m.cumsum(1)", "torch.cat([v, w])"),
    *("torch.cat((v[:1], w, v[3:]))", "torch.cat([m, m[:1]], dim=0)"),
    *("torch.cat([m, m[:, :2]], 1)", "torch.cat([m, m], dim=-1)", "torch.concat([v, w], axis=0)"),
    *("torch.cat([v, v.to(torch.int64)])", "torch.stack([v, w])", "torch.stack((v, w), dim=1)"),
    *("torch.cat(tensors=[v, w], dim=0)", "torch.cat([m, v[:0]])", "torch.stack([m, m], -1)"),
    *("torch.nn.functional.pad(v, (1, 0))", "F.pad(v, (1, 0), value=0)"),
    *("F.pad(v, [2, 3], 'constant', 7)", "F.pad(m, (1, 2, 3, 4))", "F.pad(m, (0, 0, 1, 0))"),
    *("F.pad(v, (-1, 0))", "F.pad(v, pad=(0, -2))", "v.repeat_interleave(3)"),
    *("torch.repeat_interleave(v, 2)", "m.repeat_interleave(2)", "m.repeat_interleave(2, dim=0)"),
    *("torch.repeat_interleave(m, repeats=3, dim=1)", "v.repeat_interleave(2, output_size=14)"),
    *("v.repeat_interleave(2, dim=0, output_size=14)", "v.index_select(0, w)"),
    *("torch.index_select(m, 1, m[0])", "m.index_select(dim=-1, index=w[:2])", "v.diff()"),
    *("torch.diff(v)", "torch.diff(m, dim=0)", "m.diff(1, -1)", "v.narrow(0, 2, 3)"),
    *("torch.narrow(m, 1, 1, 2)", "m.select(0, 1)", "m.unsqueeze(1)", "v.unsqueeze(-1)"),
    *("m[:1].squeeze(0)", "m.squeeze(1)", "f.flatten()", "f.flatten(1)", "f.flatten(0, 1)"),
    *("m.transpose(0, 1)", "f.transpose(-1, 0)", "v.clone()", "v.int()", "v.long()", "v.float()"),
    *("torch.add(v, w)", "v.sub(1)", "torch.mul(v, 2)", "torch.sub(v, other=w)"),
    *("v.new_empty((2, 3))", "v.new_zeros(4)", "v.new_full((5,), 3)", "v.new_ones(2, 3)"),
    *("f.new_empty(3, dtype=torch.int32)", "v.new_zeros(v.shape[0] * 2 + 1)", "torch.arange(5)"),
    *("torch.arange(2, 9)", "torch.arange(0, 9, 2)", "torch.arange(3, 3)"),
    *("torch.chunk(f, 2, dim=1)[0]", "f.chunk(2, 1)[-1]", "torch.chunk(v, 3)[2]", "v.chunk(5)[3]"),
    *("torch.split(f, [1, 2], dim=1)[1]", "f.split(2, -1)[1]", "torch.split(v, 3)[-1]"),
    *("v.split([3, 4])[0]", "f.split((4,), 2)[0]", "f.unbind()[1]", "torch.unbind(f, dim=1)[0]"),
    *("m[:, :1].expand(3, 5)", "m[:, :1].expand(-1, 2).reshape(-1)", "v.expand(2, -1)"),
    *("v[:, None].expand(7, 3).contiguous().view(-1)", "m.expand([2, 3, 4])", "v.repeat(2)"),
    *("m.repeat(1, 2)", "f.repeat(1, 4, 1)", "m.repeat((2, 1, 1))", "v[:1].expand(1)"),
    *("torch.stack(f.chunk(3, dim=1), dim=1).flatten(1, 2)", "m.transpose(0, 1).view(4, 3)"),
    *("torch.arange(start=1, end=4)", "torch.arange(0, 10, step=3, dtype=torch.int32)"),
]  # fmt: skip


def torch_of(code: str) -> Any:
    """What torch makes of it; each vector counts up from 1, so that it is an index as well."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    count = {"v": 7, "w": 7, "m": 12, "f": 24}
    made = {n: torch.arange(count[n], dtype=torch.int32).reshape(SHAPES[n]) % 4 for n in PARAMS}
    made["f"] = made["f"].to(torch.bfloat16)
    return eval(code, {"torch": torch, "F": torch.nn.functional, **made})


@pytest.mark.parametrize("code", OPERATIONS)
def test_shapes_and_dtypes_are_those_of_torch(code: str) -> None:
    expected, found = torch_of(code), evaluated(code, given_tensors())
    assert isinstance(found, Tensor), found
    assert tuple(map(number_of, found.shape)) == tuple(expected.shape)
    assert found.dtype.identity == named_dtypes()[str(expected.dtype)].identity
    assert found.contiguous is expected.is_contiguous()


INDEX = st.one_of(
    st.integers(-9, 9),
    st.none(),
    st.just(...),
    st.builds(
        slice,
        st.none() | st.integers(-9, 9),
        st.none() | st.integers(-9, 9),
        st.none() | st.integers(1, 4),
    ),
)


@given(st.lists(INDEX, max_size=4), st.lists(st.integers(0, 4), min_size=1, max_size=3))
def test_any_subscript(keys: list[Any], shape: list[int]) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    assume(sum(key is ... for key in keys) < 2)
    key = keys[0] if len(keys) == 1 else tuple(keys)
    tensor = Tensor("t", tuple(shape), I32)
    try:
        expected = torch.empty(shape)[key]
    except IndexError:
        with pytest.raises(Failed, match="IndexError"):
            tensor.index(key, ir.NOWHERE)
        return
    found = tensor.index(key, ir.NOWHERE)
    if not expected.shape:
        assert isinstance(found, Unknown)  # an element is data
        return
    assert isinstance(found, Tensor), found
    assert found.shape == tuple(expected.shape)
    assert found.contiguous is expected.is_contiguous()


REFUSED = [
    *("v[::-1]", "v[7]", "m[-4]", "m[0, 0, 0]", "torch.arange(5, 2)", "v.split([3, 3])"),
    *("m.expand(3, 5)", "torch.split(m, [2, 3], dim=1)", "m.expand(2, 4)", "m.view(-1, -1)"),
]


@pytest.mark.parametrize(
    "code", REFUSED and ["v[::-1]", "v[7]", "m[-4]", "m[0, 0, 0]", "torch.arange(5, 2)"]
)
def test_what_torch_refuses(code: str) -> None:
    torch_of("v")
    with pytest.raises((IndexError, ValueError, RuntimeError)) as raised:
        torch_of(code)
    outcome = evaluated(code, given_tensors())
    assert (outcome.kind, outcome.failure.how) == ("failed", type(raised.value).__name__)


@pytest.mark.parametrize(
    "code",
    [
        *("v[w]", "v[v > 1]", "v[0]", "m[w, 0]", "v[w[0]:]", "v & 1", "v ** 2", "v + m"),
        *("torch.cat([v, m])", "torch.cat(v)", "torch.cat([v, w], dim=1)", "torch.cat([])"),
        *("F.pad(v, (1,))", "F.pad(v, (1, 0), 'reflect')", "F.pad(v, (0, 0, 1, 0))"),
        *("F.pad(v, (-9, 0))", "v.repeat_interleave(w)", "v.repeat_interleave(-1)"),
        *("torch.cumsum(v, 3)", "torch.diff(v, n=2)", "v.index_select(0, m)", "v.narrow(0, 5, 9)"),
        *("torch.stack([v, v[1:]])", "v.sub(w, alpha=2)", "v.new_full((3,))", "torch.arange(1.5)"),
        *("torch.arange(9, 0, -2)", "v.squeeze(0, 1)", "m.flatten(1, 0)", "m.transpose(0, 5)"),
        *("m.transpose(0, 1).view(-1)", "v.split(0)", "v.chunk(0)", "m.expand(4)", "m.repeat(2)"),
        *("v[:, None].expand(7, 3).view(-1)", "v.expand(-1, 7)", "v.repeat(-1)"),
        *("v + m[0, 0]", "torch.stack([v, f])", "m.unsqueeze(4)"),
    ],
)  # fmt: skip
def test_what_is_not_followed_says_so(code: str) -> None:
    found = evaluated(code, given_tensors())
    if isinstance(found, Tensor):  # of unknown length
        (found,) = found.shape
    assert isinstance(found, Unknown)
    assert found.free == "data"
    assert found.span.line in (0, 3)


BATCHES = {
    "x[1:]": (1, 0),
    "x[:-1]": (1, 0),
    "x[-1:]": (0, 1),
    "x[1:] - x[:-1]": (1, 0),
    "(x[1:] - x[:-1]).repeat_interleave(3)": (3, 0),
    "torch.cumsum((x[1:] - x[:-1]).repeat_interleave(3), dim=0).to(x.dtype)": (3, 0),
    "F.pad(torch.cumsum((x[1:] - x[:-1]).repeat_interleave(3), dim=0), (1, 0), value=0)": (3, 1),
    "torch.cat([x[:-1].repeat_interleave(4), x[-1:]])": (4, 1),
    "torch.cat([x, x[1:], x[:1]])": (2, 2),
    "x[:b]": (1, 0),
    "x[: b + 1]": (1, 1),
    "x[b:]": (0, 1),
    "x.diff()": (1, 0),
    "torch.arange(b * 2 + 1)": (2, 1),
    "torch.arange(1, b + 1)": (1, 0),
    "torch.arange(0, 2 * b + 2, 2)": (1, 1),
    "x.new_zeros(x.shape[0] * 3 - 2)": (3, 1),
    "y.index_select(0, x[1:])": (1, 0),
    "y.repeat_interleave(x[1:], output_size=b * 5)": (5, 0),
    "torch.arange(y.repeat_interleave(3).view(b, -1).shape[1])": (0, 3),
    "torch.arange(y.repeat_interleave(3).unflatten(0, (b, -1)).shape[1])": (0, 3),
    "torch.arange(int(y.repeat_interleave(3).shape[0] + 1 == b * 3 + 1))": (0, 1),
    "torch.arange(int(y.repeat_interleave(3).shape[0] + 1 != b * 3 + 1) + 2)": (0, 2),
}
"""Expressions of an index pointer, the batch size and another vector over an open batch: how many
elements for each request, and how many besides."""


@pytest.mark.parametrize("code", BATCHES)
def test_lengths_follow_an_open_batch(code: str) -> None:
    """And they are those of torch for any batch."""
    batch = batch_of(None)
    tensors = [Tensor("x", (plus_one(batch),), I32), Tensor("y", (batch,), I32), batch]
    found = evaluated(code, tensors, ("x", "y", "b"))
    (size,) = found.shape
    known = size if isinstance(size, Requests) else Requests(0, size)
    assert (known.times, known.plus) == BATCHES[code]
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    for number in (1, 2, 5):
        counts = torch.full((number + 1,), 5, dtype=torch.int32)
        names = {"x": counts % number if "select" in code else counts, "y": counts[1:], "b": number}
        made = eval(code, {"torch": torch, "F": torch.nn.functional, **names})
        assert len(made) == known.times * number + known.plus


@pytest.mark.parametrize("code", ["x[3:]", "x[:-3]", "x[::2]", "x[2:] - x[:-2]", "x + y", "x[:7]"])
def test_a_length_that_hangs_on_the_batch_in_another_way(code: str) -> None:
    batch = batch_of(None)
    tensors = [Tensor("x", (plus_one(batch),), I32), Tensor("y", (batch,), I32)]
    assert isinstance(evaluated(code, tensors, ("x", "y")), Unknown)


# --- what they hold ------------------------------------------------------------------------------

INTEGERS = [code for code in OPERATIONS if not {"f", "F.float"} & {code[:1]} and "f[" not in code]
UNFOLLOWED = ("/ 2", "1.5", "float()", "empty", "(f", "to(torch.int64)])")


@pytest.mark.parametrize("code", [c for c in INTEGERS if not any(u in c for u in UNFOLLOWED)])
def test_an_emulated_launch_computes_them(code: str) -> None:
    expected = torch_of(code)
    tensors = given_tensors(Placed)
    arrays = Arrays(0)
    for tensor in tensors[:3]:
        assert isinstance(tensor, Placed)
        arrays.give(tensor, torch_of(tensor.name).numpy())
    found = evaluated(code, tensors, facts={NEW_TENSOR: Placed})
    assert isinstance(found, Placed)
    held = arrays.of(found)
    assert held.dtype == expected.numpy().dtype
    assert np.array_equal(held, expected.numpy())


def test_binary_of_tensors_and_symbols() -> None:
    """A number that is no number of the tensor's own leaves its shape."""
    vector = Tensor("v", (7,), I32)
    for op in ("+", "-", "*"):
        for sides in ((vector, batch_of(None)), (batch_of(None), vector)):
            made = binary(op, *sides, ir.NOWHERE)  # type: ignore[call-arg,arg-type]
            assert isinstance(made, Tensor)
            assert made.shape == (7,)


@pytest.mark.parametrize("code", ["v[1:] = 0", "v[0] = w[1]", "v.fill_(3)", "v.copy_(w)"])
def test_what_is_written_in_place_is_not_followed_where_values_count(code: str) -> None:
    text = f"def f(v, w):\n    {code}\n    return v\n"
    for kind, expected in ((Tensor, "returned"), (Placed, "unknown")):
        session = SourceSession(text, externals=EXTERNALS)
        (outcome,) = session.paths("f", *given_tensors(kind)[:2])
        assert outcome.kind == expected
        assert kind is Tensor or outcome.span.line == 2
