"""Tensors and dtypes against PyTorch, and what they do not tell."""

from __future__ import annotations

from typing import Any

import pytest

from mlaprobe.evaluator.engine.machine import Machine
from mlaprobe.evaluator.engine.runs import Run
from mlaprobe.evaluator.ir import NOWHERE
from mlaprobe.evaluator.values.kinds import Builtin, EnumMember
from mlaprobe.evaluator.values.unknown import Unknown
from mlaprobe.stages.environment.dtypes import DtypeToken, dtype_for, named_dtypes
from mlaprobe.stages.environment.pybuiltins import python_externals
from mlaprobe.stages.environment.tensors import Tensor
from tests.evaluator.session import SourceSession

SHAPE = (2, 6, 4)
LIKE_TORCH = [
    "t.size()",
    "t.size(1)",
    "t.size(-1)",
    "t.shape[2]",
    "t.ndim",
    "t.dim()",
    "t.stride()",
    "t.stride(0)",
    "t.stride(-2)",
    "t.numel()",
    "t.element_size()",
    "t.is_contiguous()",
    "t.view(-1, 8).shape",
    "t.view((3, 16)).stride()",
    "t.reshape(4, -1, 2).shape",
    "t.view(48).size(0)",
    "t.permute(2, 0, 1).shape",
    "t.permute((1, 0, 2)).is_contiguous()",
    "t.permute(1, 0, 2).contiguous().stride()",
    "t.repeat_interleave(3, dim=1).shape",
    "t.repeat_interleave(2, -1).stride()",
    "t.repeat_interleave(repeats=2, dim=0).shape",
    "t.repeat_interleave(2).shape",
    "t.repeat_interleave(2, dim=0, output_size=4).shape",
    "t[0].shape",
    "t.detach().shape",
    "t.to(torch.float32).element_size()",
    "t.to(dtype=torch.uint8).element_size()",
    "t.contiguous().shape == t.shape",
    "t.dtype == torch.bfloat16",
    "t.dtype == torch.float16",
    "t.dtype is None",
    "t.to(torch.int64).dtype == torch.int64",
]
EXTERNALS = {**python_externals(), **named_dtypes()}


def evaluated(code: str, tensor: Tensor) -> Any:
    """What the evaluator makes of an expression of ``t``."""
    session = SourceSession(f"import torch\ndef f(t): return {code}\n", externals=EXTERNALS)
    (outcome,) = session.paths("f", tensor)
    assert outcome.kind == "returned", outcome
    return outcome.value


@pytest.mark.parametrize("code", LIKE_TORCH)
def test_a_tensor_is_what_it_is_in_torch(code: str) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    expected = eval(code, {"torch": torch, "t": torch.empty(SHAPE, dtype=torch.bfloat16)})
    found = evaluated(code, Tensor("t", SHAPE, DtypeToken("bf16")))
    assert found == (tuple(expected) if isinstance(expected, tuple) else expected)


@pytest.mark.parametrize(
    "code",
    [
        "t.size(3)",
        "t.stride(3)",
        "t.permute(0, 1)",
        "t.permute(0, 1, 2).stride(0)",
        "t.view(torch.uint8, torch.uint8)",
        "t.repeat_interleave(t, dim=0)",
        "t.repeat_interleave(2, dim=0, output_size=5)",
        "t[0, 0, 0]",
        "t.device.type",
        "t.device.index",
        "t.device == torch.device('cuda')",
        "t.device == 'cuda'",
        "t.dtype.is_complex",
        "t.dtype == 4",
    ],
)
def test_what_a_tensor_does_not_tell(code: str) -> None:
    assert isinstance(evaluated(code, Tensor("t", SHAPE, DtypeToken("bf16"))), Unknown)


@pytest.mark.parametrize(
    "code", ["t.view(-1, 5)", "t.reshape(5, -1)", "t.view(3, 3)", "t.unflatten(1, (4, -1))"]
)
def test_shapes_that_do_not_fit_fail(code: str) -> None:
    """PyTorch's documentation, "Tensor.view": the number of elements has to be the same."""
    session = SourceSession(f"import torch\ndef f(t): return {code}\n", externals=EXTERNALS)
    (outcome,) = session.paths("f", Tensor("t", SHAPE, DtypeToken("bf16")))
    assert outcome.failure is not None
    assert outcome.failure.how == "RuntimeError"


def test_unflatten_is_what_flatten_undoes() -> None:
    t = Tensor("t", SHAPE, DtypeToken("bf16"))
    first = SHAPE[1]
    assert evaluated("t.unflatten(1, (-1, 2)).shape", t) == (*SHAPE[:1], first // 2, 2, *SHAPE[2:])
    assert evaluated("t.unflatten(1, (-1, 2)).flatten(1, 2).shape", t) == SHAPE


def test_all_tensors_of_a_question_are_on_one_device() -> None:
    t = Tensor("t", SHAPE, DtypeToken("bf16"))
    assert evaluated("t.device == t.view(2, -1).device", t) is True
    assert evaluated("t.device != t.to(torch.uint8).device", t) is False
    for other in ("torch.empty(2)", "t.to('cpu')", "t.to(device='cpu', dtype=torch.uint8)"):
        assert isinstance(evaluated(f"t.device == {other}.device", t), Unknown), other


def test_a_view_as_another_dtype_keeps_the_shape() -> None:
    """True of dtypes of one size, which is what AITER views."""
    viewed = evaluated("t.view(torch.uint8)", Tensor("t", SHAPE, DtypeToken("fp8")))
    assert (viewed.shape, viewed.dtype.kind) == (SHAPE, "byte")


SLICED_LIKE_TORCH = [
    "t.is_contiguous()",
    "t.shape == (2, 6, 4)",
    "t.view(-1, 4).is_contiguous()",
    "t.reshape(3, 4, -1).is_contiguous()",
    "t.view(4, 3, 4).shape",
    "t.permute(1, 0, 2).is_contiguous()",
    "t.permute(1, 0, 2).reshape(12, 4).is_contiguous()",
    "t.contiguous().is_contiguous()",
    "t.to(torch.bfloat16).is_contiguous()",
    "t.to(torch.bfloat16).reshape(12, 4).is_contiguous()",
    "t.detach().is_contiguous()",
]


@pytest.mark.parametrize("code", SLICED_LIKE_TORCH)
def test_a_part_of_wider_rows_is_what_it_is_in_torch(code: str) -> None:
    torch = pytest.importorskip("torch")
    real = torch.empty((2, 6, 9), dtype=torch.bfloat16)[..., :4]
    expected = eval(code, {"t": real, "torch": torch})
    found = evaluated(code, Tensor("t", SHAPE, DtypeToken("bf16"), sliced=True))
    assert found == (tuple(expected) if isinstance(expected, torch.Size) else expected)


@pytest.mark.parametrize("code", ["t.view(48)", "t.reshape(4, 12)", "t.view(torch.uint8)"])
def test_other_rows_of_a_part_of_wider_ones_are_not_known(code: str) -> None:
    """A view raises, a reshape copies: neither is followed."""
    found = evaluated(code, Tensor("t", SHAPE, DtypeToken("bf16"), sliced=True))
    assert isinstance(found, Unknown)


def test_dtypes_are_equal_where_nothing_tells_them_apart() -> None:
    here, there, either = dtype_for("fp8", "gfx942"), dtype_for("fp8", "gfx950"), DtypeToken("fp8")
    assert (str(here), str(there), str(either)) == ("fp8/e4m3fnuz", "fp8/e4m3fn", "fp8")
    assert here.equals(there) is False
    assert here.equals(either) is True
    assert either.equals(there) is True
    assert here.equals(DtypeToken("bf16")) is False
    assert here.equals(None) is False
    assert here.equals("fp8") is None
    assert here.equals(EnumMember("AiterDtype", "AITER_DTYPE_fp8")) is True
    assert here.equals(EnumMember("AiterDtype", "AITER_DTYPE_bf16")) is False
    assert here.equals(EnumMember("Colour", "red")) is False


def test_a_dtype_answers_as_an_optional_of_cpp() -> None:
    token = DtypeToken("bf16")
    methods = {n: token.get(n, NOWHERE) for n in ("value", "has_value", "itemsize")}
    results = {}
    for name, method in methods.items():
        assert isinstance(method, Builtin)
        results[name] = method.call(Run(Machine()), (), {}, NOWHERE)
    assert results == {"value": token, "has_value": True, "itemsize": 2}


def test_tensors_are_like_no_other() -> None:
    """Two of one shape and type do not stand for each other."""
    one = Tensor("q", SHAPE, DtypeToken("bf16"))
    assert one.identity is None
    assert one.equals(one) is True
    assert one.equals(None) is False
    assert one.equals(Tensor("q", SHAPE, DtypeToken("bf16"))) is None
    assert "q" in repr(one)


TORCH = [name for name in named_dtypes() if name.startswith("torch.")]


@pytest.mark.parametrize("name", TORCH)
def test_a_dtype_is_what_it_is_in_torch(name: str) -> None:
    torch = pytest.importorskip("torch")
    real = getattr(torch, name.removeprefix("torch."), None)
    if real is None:
        pytest.skip(f"this PyTorch has no {name}")
    tensor = Tensor("t", SHAPE, named_dtypes()[name])
    facts = {
        "t.dtype.itemsize": real.itemsize,
        "t.element_size()": real.itemsize,
        "t.dtype.is_floating_point": real.is_floating_point,
        "t.dtype.is_signed": real.is_signed,
        "str(t.dtype)": str(real),
        "isinstance(t.dtype, torch.dtype)": True,
        "isinstance(t, torch.dtype)": False,
    }
    for code, expected in facts.items():
        assert evaluated(code, tensor) == expected, code
    if name not in ("torch.int4", "torch.float8_e8m0fnu", "torch.float4_e2m1fn_x2"):
        limits = "finfo" if real.is_floating_point else "iinfo"
        assert (
            evaluated(f"torch.{limits}(t.dtype).bits", tensor) == getattr(torch, limits)(real).bits
        )


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e4m3fnuz", "float16"])
def test_the_largest_number_of_a_dtype(name: str) -> None:
    torch = pytest.importorskip("torch")
    tensor = Tensor("t", SHAPE, named_dtypes()[f"torch.{name}"])
    real = torch.finfo(getattr(torch, name))
    assert evaluated("torch.finfo(t.dtype).max", tensor) == real.max
    assert evaluated("torch.finfo(t.dtype).min", tensor) == real.min
