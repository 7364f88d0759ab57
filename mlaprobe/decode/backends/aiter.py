"""AITER's own MLA decode, on an AMD GPU.

AITER is imported when something is first prepared, never before: importing it may start compiling,
and fails without ROCm. Its source is read first, which needs neither.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from mlaprobe.core.shape import Decision, Route
from mlaprobe.decode.backends import aiter_gate
from mlaprobe.decode.backends.aiter_calls import Call, Functions, InstalledFunctions, call_of
from mlaprobe.decode.interface import DecodeError, Launch, Prepared
from mlaprobe.decode.tensors import LATENT_DIM, torch
from mlaprobe.errors import MlaprobeError
from mlaprobe.padding.plan import PadPlan
from mlaprobe.padding.tensors import Tensor

if TYPE_CHECKING:
    from mlaprobe.deciding.capability import Capability
    from mlaprobe.decode.problem import Problem

WORK = (
    "metadata",
    "work_indptr",
    "work_info",
    "reduce_indptr",
    "reduce_final_map",
    "reduce_partial_map",
)
"""What the sizing function gives the sizes of, in its order."""


class AiterBackend:
    """AITER's kernels."""

    name = "aiter"

    def __init__(
        self,
        *,
        functions: Functions | None = None,
        capability: Capability | None = None,
        arch: str | None = None,
        force: bool = False,
    ) -> None:
        """
        Args:
            functions: AITER's; by default those of the installed one.
            capability: of the AITER that they are from; by default of the installed one.
            arch: of the GPU; by default as PyTorch has it.
            force: whether to launch what its source does not call safe.
        """
        self._functions = functions or InstalledFunctions()
        self._given = capability
        self._arch = arch
        self.force = force

    @cached_property
    def capability(self) -> Capability:
        """What answers for AITER's source.

        Raises:
            SourceError: none is installed, or it cannot be read.
        """
        return self._given or _installed_capability()

    def unfit(self, problem: Problem, plan: PadPlan) -> str | None:
        """See ``Backend``. Reads AITER's source and imports nothing of it."""
        if self._arch is None:
            if torch().version.hip is None:
                return "this PyTorch is not built for ROCm"
            if torch().device(problem.device).type != "cuda":
                return f"{problem.device} is no GPU"
        try:
            arch, _ = self._arch or _arch_of(problem.device), self.capability
        except MlaprobeError as error:
            return error.message
        if arch != problem.arch:
            return f"the GPU is {arch}, and the plan is for {problem.arch}"
        return None

    def prepare(self, launch: Launch) -> Prepared:
        """Sizes the work metadata and has AITER fill it in.

        Raises:
            RefusedError: the source does not call this launch safe.
            DecodeError: AITER cannot be imported, or has not what is needed.
        """
        decision = aiter_gate.decide(self.capability, launch)
        if not self.force:
            aiter_gate.check(self.capability, launch, decision)
        if decision.shape.route is Route.GLUON:
            return GluonPrepared(launch, call_of(self._functions, "gluon"))
        return AsmPrepared(launch, self._functions, decision)


class AsmPrepared:
    """``mla_decode_fwd``, with work metadata or without."""

    def __init__(self, launch: Launch, functions: Functions, decision: Decision) -> None:
        self.kernels = tuple(kernel.symbol for kernel in decision.kernels)
        decode = call_of(functions, "dispatcher")
        if launch.lse and not decode.takes("return_lse"):
            raise DecodeError(
                "the installed AITER returns no log-sum-exp for requests that are not split"
            )
        self._plan: Callable[[], Any] = lambda: None  # without metadata
        work: dict[str, Any] = {}
        if decision.shape.persistent:
            work = _work_buffers(launch, call_of(functions, "sizing"))
            self._plan = _planning(launch, call_of(functions, "planner"), work)
        self._decode = _decoding(launch, decode, work)
        self.refresh()

    def run(self, q: Tensor, kv: Tensor, out: Tensor, lse: Tensor | None) -> None:
        """See ``Prepared``."""
        # AITER may give the tensor that it is handed other memory, which must not be the buffer's.
        # A view may be given some; what detach() returns may not.
        o = out.view(out.shape)
        found = self._decode(q, kv, o)
        if o.data_ptr() != out.data_ptr():
            out.copy_(o)
        if lse is not None:
            lse.copy_(found[1].view(lse.shape))

    def refresh(self) -> None:
        """See ``Prepared``."""
        self._plan()


class GluonPrepared:
    """``mla_gluon``: takes a page table of tokens, and no metadata."""

    kernels: tuple[str, ...] = ()

    def __init__(self, launch: Launch, decode: Call) -> None:
        layout = launch.layout
        if layout.page_size != 1:
            raise DecodeError("the gluon route takes pages of one token only")
        rows = layout.max_seqlen_q
        self._shape: tuple[int, ...] = (layout.batch, launch.num_heads)
        if rows > 1:
            self._shape = (layout.batch, rows, launch.num_heads)
        values: dict[str, Any] = {
            "page_table": layout.kv_page_indices,
            "seq_info": layout.kv_indptr,
            "two_dimensional": False,
            "scale": launch.sm_scale,
            "k_pe": None,
            # The real one, also in a graph: what is captured stays for all replays.
            "min_kv": min(layout.kv_lens),
            "return_lse": launch.lse,
        }
        if launch.kv_scale is not None:
            if not decode.takes("kv_scale"):
                raise DecodeError("the installed AITER's gluon route takes no scale of the cache")
            values["kv_scale"] = float(launch.kv_scale)
        self._decode = decode.bind(values, "q_nope", "q_pe", "kv", "output")

    def run(self, q: Tensor, kv: Tensor, out: Tensor, lse: Tensor | None) -> None:
        """See ``Prepared``."""
        query = q.view(*self._shape, q.shape[-1])
        _, found = self._decode(
            query[..., :LATENT_DIM],
            query[..., LATENT_DIM:],
            kv.view(-1, kv.shape[-1]),
            out.view(*self._shape, LATENT_DIM),
        )
        if lse is not None:
            lse.copy_(found.view(lse.shape))

    def refresh(self) -> None:
        """See ``Prepared``."""
        raise DecodeError(
            "the gluon route was given the shortest KV length, which a change may undercut",
            hint="prepare again",
        )


BACKEND = AiterBackend()


def _work_buffers(launch: Launch, size: Call) -> dict[str, Any]:
    """Buffers for the work metadata, by meaning."""
    layout, settings = launch.layout, launch.settings
    sizes = size(
        batch=layout.batch,
        qlen=layout.max_seqlen_q,
        num_heads=launch.num_heads,
        q_dtype=launch.q_dtype,
        kv_dtype=launch.kv_dtype,
        sparse=False,
        fast=settings.get("fast_mode", True),
        intra_batch=settings.get("intra_batch_mode", False),
    )
    if len(sizes) != len(WORK):
        raise DecodeError(
            f"the installed AITER sizes {len(sizes)} buffers, and mlaprobe knows {len(WORK)}"
        )
    # Zero: what the planner leaves as it is means no work.
    return {
        name: torch().zeros(shape, dtype=dtype, device=layout.device)
        for name, (shape, dtype) in zip(WORK, sizes, strict=True)
    }


def _shared(launch: Launch) -> dict[str, Any]:
    """What planner and dispatcher are both given, by meaning."""
    layout = launch.layout
    return {
        "qo_indptr": layout.qo_indptr,
        "kv_indptr": layout.kv_indptr,
        "last_page": layout.kv_last_page_lens,
        "kv_heads": 1,
        "causal": launch.causal,
        "page_size": layout.page_size,
        "qlen": layout.max_seqlen_q,
    }


def _planning(launch: Launch, plan: Call, work: dict[str, Any]) -> Callable[[], Any]:
    """What builds the work metadata, from what the layout's tensors then hold."""
    settings = launch.settings
    values = {
        **_shared(launch),
        "num_heads": launch.num_heads,
        "granularity": settings.get("kv_granularity", max(launch.layout.page_size, 16)),
        "uniform_qlen": launch.layout.max_seqlen_q,
        "fast": settings.get("fast_mode", True),
        "intra_batch": settings.get("intra_batch_mode", False),
        "q_dtype": launch.q_dtype,
        "kv_dtype": launch.kv_dtype,
        "q_rope_dtype": launch.q_dtype,
        "kv_rope_dtype": launch.kv_dtype,
        **work,
    }
    return plan.bind(values)


def _decoding(launch: Launch, decode: Call, work: dict[str, Any]) -> Callable[..., Any]:
    """The decode call, as a function of query, cache and output."""
    values = {
        **_shared(launch),
        "kv_indices": launch.layout.kv_page_indices,
        "scale": launch.sm_scale,
        "q_scale": launch.q_scale,
        "kv_scale": launch.kv_scale,
        "return_lse": launch.lse,
        **work,
    }
    return decode.bind(values, "q", "kv", "output")


@lru_cache(maxsize=1)
def _installed_capability() -> Capability:
    from mlaprobe.deciding.capability import Capability

    return Capability.open()


@lru_cache(maxsize=8)
def _arch_of(device: str) -> str:
    properties = torch().cuda.get_device_properties(device)
    return str(properties.gcnArchName).split(":")[0]
