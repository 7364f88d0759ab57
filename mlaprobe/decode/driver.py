"""The driver: a plan, made ready once for a batch, and run many times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mlaprobe.core.shape import Decision, Verdict
from mlaprobe.decode.backends import registry as backends
from mlaprobe.decode.buffers import HeadFill, RealRows
from mlaprobe.decode.interface import Backend, DecodeError, KvLayout, Launch, Prepared
from mlaprobe.decode.layout import check_page_indices, with_rows
from mlaprobe.decode.memory import OutOfMemoryError, first_line, is_out_of_memory
from mlaprobe.decode.problem import Problem
from mlaprobe.decode.tensors import HEAD_DIM, LATENT_DIM, torch, torch_dtype
from mlaprobe.errors import MlaprobeError, UsageError
from mlaprobe.padding.plan import PadPlan
from mlaprobe.padding.tensors import Tensor


class Driver:
    """Decodes a batch by a plan.

    Everything is made once: buffers for the padded query and the padded result, and what the back
    end needs. A call then only copies and launches: it neither waits for the device nor looks at
    a value, so it can be captured in a graph. Results are views of the driver's buffers, which the
    next call overwrites, unless the call is given tensors of its own to write to.
    """

    def __init__(
        self,
        plan: PadPlan,
        layout: KvLayout,
        *,
        sm_scale: float = HEAD_DIM**-0.5,
        q_scale: Tensor | None = None,
        kv_scale: Tensor | None = None,
        backend: str | Backend = backends.AUTO,
        check_pages: bool = False,
    ) -> None:
        """
        Args:
            plan: for the batch's query length and page size.
            layout: from ``mlaprobe.decode.layout.kv_layout``.
            sm_scale: what the products of query and key are multiplied with.
            q_scale, kv_scale: ``[1]`` float32, of an fp8 query or cache: a factor; ``None``: 1.
            backend: a name, ``auto`` or a back end.
            check_pages: whether to look at every page index; waits for the device.

        Raises:
            UsageError: an argument does not fit the others; the message names it.
            DecodeError: no back end can run it, or the one that was named cannot.
        """
        self.plan = plan
        self.layout = layout
        self._check_plan()
        if check_pages:
            used = sum(-(-length // layout.page_size) for length in layout.kv_lens)
            check_page_indices(layout.kv_page_indices, used, layout.num_pages)
        self._q_dtype = torch_dtype(plan.q_dtype, plan.arch)
        self._kv_dtype = torch_dtype(plan.kv_dtype, plan.arch)
        self.problem = self._problem(sm_scale)
        self.launch = self._launch(sm_scale, q_scale, kv_scale)
        self.backend, self.passed_over = self._choice(backend)
        """``passed_over``: why back ends that ``auto`` looked at before this one cannot run it."""
        # Made in inference mode, they could be written to in that mode only.
        with torch().inference_mode(False):
            self._make_buffers()
            self.prepared: Prepared = self._guarded(lambda: self.backend.prepare(self.launch))

    def __call__(
        self,
        q: Tensor,
        kv: Tensor,
        *,
        out: Tensor | None = None,
        lse_out: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Decodes.

        Args:
            q: ``[tokens, heads, 576]``, of the plan's query dtype and any strides.
            kv: ``[num_pages, page_size, 1, 576]``, contiguous, of the plan's KV dtype.
            out: ``[tokens, heads, 512]`` bfloat16: written, and returned. Left out: a view of a
                buffer of the driver.
            lse_out: the same for the log-sum-exp, ``[tokens, heads]`` float32.

        Returns:
            The output and, where the plan has one, the natural log-sum-exp, else ``None``: of the
            real heads only.

        Raises:
            UsageError: an argument is not what it has to be; the message names it.
            DecodeError: the back end failed.
        """
        self._check("q", q, self._q_shape, self._q_dtype)
        self._check("kv", kv, self._kv_shape, self._kv_dtype)
        if not kv.is_contiguous():
            raise UsageError("kv must be contiguous")
        if out is not None:
            self._check("out", out, self._o_shape, torch().bfloat16)
        if lse_out is not None:
            self._check_lse(lse_out)
        query = q if self._as_it_is and q.is_contiguous() else self._fill(q)
        try:
            self.prepared.run(query, kv, self._out, self._lse)
        except Exception as error:
            raise self._failure(error) from error
        o = self._real_o(out)
        return o, None if self._real_lse is None else self._real_lse(lse_out)

    def refresh(self) -> None:
        """Follows a change of the layout's tensors in place: same shapes and query length, other
        KV lengths or pages. Neither checks them nor waits for the device.

        Raises:
            DecodeError: the back end cannot; make another driver.
        """
        self._guarded(self.prepared.refresh)

    def _check_plan(self) -> None:
        plan, layout = self.plan, self.layout
        if layout.max_seqlen_q not in plan.qlens:
            raise UsageError(
                f"layout has {layout.max_seqlen_q} query rows per request, and the plan is for "
                + ", ".join(map(str, plan.qlens))
            )
        sizes = {decision.shape.page_size for decision in plan.decisions}
        if layout.page_size not in sizes:
            raise UsageError(
                f"layout has pages of {layout.page_size} tokens, and the plan is for pages of "
                + ", ".join(map(str, sorted(sizes)))
            )

    def _choice(self, backend: str | Backend) -> tuple[Backend, tuple[str, ...]]:
        if isinstance(backend, str):
            return backends.choose(backend, self.problem, self.plan)
        return backend, ()

    def _decision(self) -> Decision:
        rows = self.plan.kernel_qlen_for(self.layout.max_seqlen_q)
        return next(d for d in self.plan.decisions if d.shape.qlen == rows)

    def _problem(self, sm_scale: float) -> Problem:
        plan, shape = self.plan, self._decision().shape
        return Problem(
            arch=plan.arch,
            num_heads=plan.num_heads,
            q_dtype=plan.q_dtype,
            kv_dtype=plan.kv_dtype,
            kv_lens=self.layout.kv_lens,
            qlen=self.layout.max_seqlen_q,
            page_size=self.layout.page_size,
            lse=plan.lse,
            causal=shape.causal,
            sm_scale=sm_scale,
            persistent=shape.persistent,
            device=str(self.layout.device),
        )

    def _launch(self, sm_scale: float, q_scale: Tensor | None, kv_scale: Tensor | None) -> Launch:
        plan, decision = self.plan, self._decision()
        folded = decision.verdict is Verdict.FOLDED
        return Launch(
            layout=with_rows(self.layout, decision.shape.qlen),
            num_heads=plan.padded_num_heads,
            fold=decision.fold if folded and not plan.padded_num_heads % decision.fold else 1,
            q_dtype=self._q_dtype,
            kv_dtype=self._kv_dtype,
            lse=plan.lse,
            causal=decision.shape.causal,
            sm_scale=sm_scale,
            q_scale=self._scale("q_scale", q_scale, self._q_dtype),
            kv_scale=self._scale("kv_scale", kv_scale, self._kv_dtype),
            plan=plan,
            decision=decision,
        )

    def _scale(self, name: str, scale: Any, dtype: Any) -> Tensor | None:
        t = torch()
        if dtype is t.bfloat16:
            if scale is not None:
                raise UsageError(f"{name} is for fp8, and the plan has bf16 there")
            return None
        if scale is None:
            # AITER's fp8 kernels read one.
            return t.ones(1, dtype=t.float32, device=self.layout.device)
        self._check(name, scale, (1,), t.float32)
        return scale

    def _make_buffers(self) -> None:
        t, launch, plan = torch(), self.launch, self.plan
        layout, heads = launch.layout, plan.padded_num_heads
        rows, device = layout.max_seqlen_q, layout.device
        tokens, qlen = self.layout.tokens, self.layout.max_seqlen_q
        self._q_shape = (tokens, plan.num_heads, HEAD_DIM)
        self._kv_shape = (layout.num_pages, layout.page_size, 1, HEAD_DIM)
        self._o_shape = (tokens, plan.num_heads, LATENT_DIM)
        self._as_it_is = not plan.pads and rows == qlen
        q = t.empty((layout.tokens, heads, HEAD_DIM), dtype=self._q_dtype, device=device)
        self._fill = HeadFill(q, plan.num_heads, plan.strategy, rows=(layout.batch, qlen, rows))
        shape = (layout.tokens, heads)
        self._out = t.empty((*shape, LATENT_DIM), dtype=t.bfloat16, device=device)
        self._lse = t.empty(shape, dtype=t.float32, device=device) if plan.lse else None
        real = (layout.batch, qlen, rows)
        self._real_o = RealRows(plan.unpad_o(self._out), real)
        self._real_lse = None if self._lse is None else RealRows(plan.unpad_lse(self._lse), real)

    def _check_lse(self, lse_out: Tensor) -> None:
        if self._lse is None:
            raise UsageError("lse_out is given, and the plan is for a decode without log-sum-exp")
        self._check("lse_out", lse_out, self._o_shape[:2], torch().float32)

    def _check(self, name: str, tensor: Any, shape: tuple[int, ...], dtype: Any) -> None:
        if not isinstance(tensor, torch().Tensor):
            raise UsageError(f"{name} must be a tensor, not {type(tensor).__name__}")
        if tensor.shape != shape:
            raise UsageError(f"{name} must have shape {list(shape)}, not {list(tensor.shape)}")
        if tensor.dtype is not dtype:
            raise UsageError(
                f"{name} must be {_name(dtype)}, not {_name(tensor.dtype)}"
                + (f" (fp8 on {self.plan.arch})" if "float8" in str(dtype) else "")
            )
        if tensor.device != self.layout.device:
            raise UsageError(
                f"{name} is on {tensor.device}, and the layout on {self.layout.device}"
            )

    def _guarded(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except MlaprobeError:
            raise
        except Exception as error:
            raise self._failure(error) from error

    def _failure(self, error: Exception) -> MlaprobeError:
        if isinstance(error, MlaprobeError):
            return error
        if is_out_of_memory(error):
            return OutOfMemoryError(first_line(error))
        return DecodeError(
            f"the {self.backend.name} back end failed: {type(error).__name__}: {first_line(error)}"
        )


def _name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")
