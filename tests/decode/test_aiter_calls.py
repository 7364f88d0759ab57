"""Calls by meaning."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mlaprobe.core.shape import Route
from mlaprobe.decode.backends.aiter import AiterBackend, GluonPrepared
from mlaprobe.decode.backends.aiter_calls import Call, InstalledFunctions, call_of
from mlaprobe.decode.driver import Driver
from mlaprobe.decode.interface import DecodeError
from mlaprobe.decode.problem import make_inputs
from mlaprobe.decode.reference import reference
from mlaprobe.padding.api import plan
from tests.decode.help import a_plan, a_problem
from tests.padding.fake import Fake
from tests.padding.tensors import torch_or_skip


def test_only_what_the_function_takes_is_passed() -> None:
    def get_mla_metadata_info_v1(max_seqlen_qo: int, batch_size: int, is_sparse: int = 1) -> Any:
        return max_seqlen_qo, batch_size, is_sparse

    call = Call("sizing", get_mla_metadata_info_v1)
    assert call(batch=5, qlen=2, num_heads=16, sparse=False) == (2, 5, False)
    assert call.takes("qlen")
    assert not call.takes("num_heads")


def test_what_is_left_open_is_passed_by_name() -> None:
    def mla_decode_fwd(kv_buffer: str, o: str, q: str, *, page_size: int = 1) -> Any:
        return q, kv_buffer, o, page_size

    call = Call("dispatcher", mla_decode_fwd).bind({"page_size": 64}, "q", "kv", "output")
    assert call("q", "kv", "o") == ("q", "kv", "o", 64)


def test_an_old_and_a_new_name_are_both_given() -> None:
    def get_mla_metadata_v1(dtype_q: Any = None, dtype_q_nope: Any = None, topk: int = -1) -> Any:
        return dtype_q, dtype_q_nope, topk

    assert Call("planner", get_mla_metadata_v1)(q_dtype="fp8") == ("fp8", "fp8", -1)


def test_a_parameter_without_meaning_is_an_error() -> None:
    def mla_decode_fwd(q: str, brand_new: int, **kwargs: Any) -> None: ...

    with pytest.raises(DecodeError, match="mla_decode_fwd needs brand_new, and mlaprobe"):
        Call("dispatcher", mla_decode_fwd).bind({"q": "q"})


def test_a_function_that_is_not_there_is_named() -> None:
    class Nothing:
        def find(self, name: str) -> None: ...

    with pytest.raises(DecodeError, match=r"no aiter\.ops\.attention\.get_mla_metadata_v1"):
        call_of(Nothing(), "planner")


def test_an_aiter_that_cannot_be_imported_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> Any:
        raise OSError("libamdhip64.so: cannot open\nmore")

    monkeypatch.setattr("mlaprobe.decode.backends.aiter_calls.importlib.import_module", broken)
    with pytest.raises(DecodeError, match=r"cannot be imported: OSError: libamdhip64\.so"):
        InstalledFunctions().find("dispatcher")


def test_without_rocm_aiter_is_not_fit() -> None:
    torch = torch_or_skip()
    if torch.version.hip is not None:
        pytest.skip("this PyTorch is built for ROCm")
    found = a_plan(16)
    reason = AiterBackend().unfit(a_problem(found, (4,)), found)
    assert reason == "this PyTorch is not built for ROCm"


def test_on_another_gpu_aiter_is_not_fit() -> None:
    torch_or_skip()
    found = a_plan(16)
    fake: Any = Fake()
    backend = AiterBackend(capability=fake, arch="gfx942")
    reason = backend.unfit(a_problem(found, (4,)), found)
    assert reason == "the GPU is gfx942, and the plan is for gfx950"


class Gluon:
    """A gluon route with today's parameters, that computes what it is told to."""

    def __init__(self) -> None:
        self.given: dict[str, Any] = {}

    def find(self, name: str) -> Any:
        return self.mla_gluon if name == "gluon" else None

    def mla_gluon(
        self,
        q_nope: Any,
        q_pe: Any,
        kv_c: Any,
        o: Any,
        page_table: Any,
        seq_info: Any,
        sm_scale: float,
        k_pe: Any = None,
        kv_pe_offset: int = 512,
        use_2d_view: bool = True,
        kv_scale: float = 1.0,
        min_kv_seq_len: int = 1,
        return_lse: bool = False,
    ) -> Any:
        import torch

        self.given = {"min": min_kv_seq_len, "scale": kv_scale, "2d": use_2d_view}
        rows = q_nope.shape[1] if q_nope.dim() == 4 else 1
        q = torch.cat([q_nope, q_pe], -1).view(q_nope.shape[0], rows, -1, 576).float()
        sums = torch.zeros(q.shape[:3])
        for request in range(q.shape[0]):
            tokens = page_table[seq_info[request] : seq_info[request + 1]].long()
            keys = kv_c[tokens].float() * kv_scale
            for row in range(rows):
                own = keys[: len(keys) - rows + 1 + row]
                scores = q[request, row] @ own.T * sm_scale
                sums[request, row] = scores.logsumexp(-1)
                out = scores.softmax(-1) @ own[:, :512]
                (o[request, row] if o.dim() == 4 else o[request]).copy_(out)
        return o, sums if return_lse else None


@pytest.mark.parametrize("qlen", [1, 3])
@pytest.mark.parametrize("dtype", ["bf16/bf16", "bf16/fp8"])
def test_the_gluon_route_is_called_as_it_wants_to_be(qlen: int, dtype: str) -> None:
    torch = torch_or_skip()
    fake: Any = Fake(gluon=lambda shape: True)
    fake.knobs = ()
    q_dtype, kv_dtype = dtype.split("/")
    found = plan(
        8,
        capability=fake,
        arch="gfx950",
        q_dtype=q_dtype,
        kv_dtype=kv_dtype,
        qlens=qlen,
        lse=True,
        route="gluon",
    )
    assert found.route is Route.GLUON
    problem = a_problem(found, (300, 9, 70))
    inputs = make_inputs(replace(problem, scales=(1.0, 0.5)))
    gluon = Gluon()
    backend = AiterBackend(functions=gluon, capability=fake, arch="gfx950")
    driver = Driver(found, inputs.layout, kv_scale=inputs.kv_scale, backend=backend)
    assert isinstance(driver.prepared, GluonPrepared)
    o, lse = driver(inputs.q, inputs.kv)
    scale = 1.0 if inputs.kv_scale is None else 0.5
    assert gluon.given == {"min": 9, "scale": scale, "2d": False}
    want, want_lse = reference(
        inputs.q, inputs.kv, inputs.layout, sm_scale=problem.sm_scale, kv_scale=inputs.kv_scale
    )
    torch.testing.assert_close(o.float(), want, atol=1e-2, rtol=1e-2)
    torch.testing.assert_close(lse, want_lse, atol=1e-4, rtol=1e-5)
    with pytest.raises(DecodeError, match="shortest KV length"):
        driver.refresh()


def test_gluon_takes_no_pages() -> None:
    torch_or_skip()
    fake: Any = Fake(gluon=lambda shape: True)
    fake.knobs = ()
    found = plan(
        8,
        capability=fake,
        arch="gfx950",
        q_dtype="bf16",
        kv_dtype="bf16",
        route="gluon",
        page_size=16,
    )
    inputs = make_inputs(a_problem(found, (40,)))
    backend = AiterBackend(functions=Gluon(), capability=fake, arch="gfx950")
    with pytest.raises(DecodeError, match="pages of one token"):
        Driver(found, inputs.layout, backend=backend)
