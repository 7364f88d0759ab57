"""Predicted kernels against what a profiler saw."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from mlaprobe.decode.launched import Launched, device_kernels, plain_name, short_name, watch
from tests.padding.tensors import torch_or_skip

SYMBOL = "_ZN5aiter36mla_a8w8_qh32_qseqlen1_gqaratio32_psE"


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        (SYMBOL, "mla_a8w8_qh32_qseqlen1_gqaratio32_ps"),
        ("_Z3foov", "foo"),
        ("_ZN5aiter3fooE", "foo"),
        ("mla_gluon", "mla_gluon"),
        ("_ZN99xE", "_ZN99xE"),
    ],
)
def test_the_plain_name(symbol: str, name: str) -> None:
    assert plain_name(symbol) == name


def test_events_of_the_device_are_kernels() -> None:
    events = [
        SimpleNamespace(device_type="DeviceType.CPU", name="aten::copy_"),
        SimpleNamespace(device_type="DeviceType.CUDA", name="Memcpy DtoD (Device -> Device)"),
        SimpleNamespace(device_type="DeviceType.CUDA", name="aiter::a(KernelArgs)"),
        SimpleNamespace(device_type="DeviceType.CUDA", name="kn_mla_reduce_v1"),
        SimpleNamespace(device_type="DeviceType.CUDA", name="aiter::a(KernelArgs)"),
    ]
    assert device_kernels(events) == ("aiter::a(KernelArgs)", "kn_mla_reduce_v1")


@pytest.mark.parametrize(
    ("kernels", "as_predicted"),
    [
        (("aiter::mla_a8w8_qh32_qseqlen1_gqaratio32_ps(KernelArgs)", "other"), True),
        ((SYMBOL,), True),
        (("aiter::mla_a8w8_qh16_qseqlen1_gqaratio16_ps",), False),
    ],
)
def test_whether_the_predicted_kernel_ran(kernels: tuple[str, ...], as_predicted: bool) -> None:
    launched = Launched(kernels=kernels, predicted=(SYMBOL,))
    assert launched.as_predicted is as_predicted
    assert launched.missing == (() if as_predicted else (SYMBOL,))


def test_where_nothing_is_predicted_nothing_is_said() -> None:
    assert Launched(kernels=("a",), predicted=()).as_predicted is None


def test_a_cpu_launches_none() -> None:
    torch_or_skip()
    assert watch(lambda: 1 / 0, "cpu", (SYMBOL,)) is None


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        ("decode_splits", "decode_splits"),
        ("_ZN5aiter3fooE", "_ZN5aiter3fooE"),
        (
            "void at::native::copy<128, 8, F<long>::operator()(int)>(int, F<long>)",
            "at::native::copy",
        ),
        ("aiter::mla_a8w8(args)", "aiter::mla_a8w8"),
        ("(anonymous)", "(anonymous)"),
    ],
)
def test_names_as_people_say_them(kernel: str, said: str) -> None:
    assert short_name(kernel) == said
