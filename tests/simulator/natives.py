"""The compiled functions of AITER, as far as a caller can tell."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from mlaprobe.core.shape import DecodeShape, Dtype, PlannerCall, StageOutcome
from mlaprobe.deciding.capability import Capability
from mlaprobe.rulefiles.layouts import layouts
from tests.simulator import attend, merging, planner

LATENT, WIDTH = 512, 576
STUBS = {"work_metadata": "metadata"}
"""Parameters that a Python stub calls otherwise than the function in C++."""


class NativeError(Exception):
    """What ends the process, or raises, in the real function."""


class Natives:
    """The compiled functions of one source."""

    def __init__(self, capability: Capability, arch: str, units: int) -> None:
        self._capability = capability
        self._arch = arch
        self._units = units
        self._torch = importlib.import_module("torch")
        self._ids: list[Any] = []
        self._unsplit: dict[int, attend.Partials] = {}
        self.calls: list[str] = []
        """The compiled functions that were called, in order."""
        self.kernels: list[str] = []
        """Symbols of the kernels that the host launched."""

    def dtype_id(self, dtype: Any) -> int:
        """A number for a dtype, as newer planners are given one."""
        if dtype not in self._ids:
            self._ids.append(dtype)
        return self._ids.index(dtype)

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """A compiled function is called."""
        answers = {
            "get_mla_metadata_v1": ("planner", self._plan),
            "mla_decode_stage1_asm_fwd": ("host", self._decode),
            "mla_reduce_v1": ("reducer", self._reduce),
        }
        if name not in answers:
            raise NotImplementedError(f"{name} has no stand-in")
        stage, answer = answers[name]
        self.calls.append(name)
        roles = layouts().call_roles(stage) if stage == "planner" else layouts().roles(stage)
        by_role: dict[str, Any] = {}
        for parameter, value in arguments.items():
            role = roles.get(parameter) or STUBS.get(parameter, parameter)
            if by_role.get(role) is None:
                by_role[role] = value
        return answer(by_role)

    def kernel(self, name: str, arguments: Mapping[str, Any]) -> None:
        """A Triton kernel is launched."""
        if name != "_fwd_kernel_stage2_asm":
            raise NotImplementedError(f"{name} has no stand-in")
        self.calls.append(name)
        partials = self._unsplit.pop(arguments["Mid_O"].data_ptr())
        merging.stage_two(partials, arguments)

    # --- the planner -----------------------------------------------------------------------------

    def _plan(self, given: dict[str, Any]) -> None:
        self._vector(given, "qo_indptr", "kv_indptr", "work_indptr", "reduce_indptr")
        self._vector(given, "reduce_partial_map")
        batch = len(given["qo_indptr"]) - 1
        require(len(given["kv_indptr"]) == batch + 1, "kv_indptr: one more than requests")
        if "last_page" in given:
            self._vector(given, "last_page")
            require(len(given["last_page"]) == batch, "kv_last_page_lens: one per request")
        work = given["work_info"]
        require(work.dtype == self._torch.int32 and work.shape[1:] == (8,), "work_info: [n, 8]")
        require(given["metadata"].dtype == self._torch.uint64, "work_metadata_ptrs: uint64")
        require(given["reduce_final_map"].shape[1:] == (2,), "reduce_final_map: [n, 2]")
        require(given["kv_heads"] == 1, "one KV head")
        lengths = given["qo_indptr"].diff()
        require(bool((lengths == lengths[0]).all()), "as many query rows in every request")
        require(given["qlen"] == int(lengths[0]), "max_seqlen_qo: that of the requests")
        shape = DecodeShape(
            arch=self._arch,
            q_dtype=Dtype.BF16,
            kv_dtype=Dtype.BF16,
            num_heads=given["num_heads"],
            qlen=given["qlen"],
            page_size=given.get("page_size", 1),
            causal=given["causal"],
            planner=PlannerCall(
                q_dtype=self._told(given.get("q_dtype")),
                kv_dtype=self._told(given.get("kv_dtype")),
                uniform_qlen=given["uniform_qlen"],
            ),
        )
        outcome = self._ask("planner", shape, ("native", "fold", "qlen_fold", "passthrough"))
        planner.plan(given, outcome, self._units)

    def _told(self, dtype: Any) -> Dtype | None:
        if dtype is None:
            return None
        return Dtype.of(self._ids[dtype] if isinstance(dtype, int) else dtype)

    # --- the decode ------------------------------------------------------------------------------

    def _decode(self, given: dict[str, Any]) -> None:
        q, kv, lse = given["q"], given["kv"], given.get("lse")
        persistent = given["splits_indptr"] is None
        qlen = given["qlen"]
        require(q.is_contiguous() and q.dim() == 3, "Q: contiguous [rows, heads, 576]")
        require(kv.dim() == 4 and kv.shape[-1] == WIDTH == q.shape[-1], "KV: rows of 576")
        require(kv.is_contiguous() and kv.shape[2] == 1, "KV: one contiguous head")
        require(given.get("kv_heads", 1) == 1, "one KV head")
        require(given.get("page_size", kv.shape[1]) == kv.shape[1], "page_size: that of KV")
        self._vector(given, "qo_indptr", "kv_indptr", "kv_indices", "last_page")
        batch = len(given["qo_indptr"]) - 1
        require(len(given["last_page"]) == batch, "kv_last_page_lens: one per request")
        require(int(given["kv_indices"].max()) < kv.shape[0], "kv_page_indices: in the cache")
        for name, tensor in (("q_scale", q), ("kv_scale", kv)):
            if tensor.dtype.itemsize == 1:
                scale = given[name]
                require(scale is not None, f"{name}: fp8 needs one")
                require(scale.dtype == self._torch.float32 and scale.numel() == 1, f"{name}: [1]")
        shape = DecodeShape(
            arch=self._arch,
            q_dtype=Dtype.of(q.dtype),
            kv_dtype=Dtype.of(kv.dtype),
            num_heads=q.shape[1],
            qlen=qlen,
            lse=lse is not None,
            persistent=persistent,
            causal=given.get("causal", True),
            page_size=kv.shape[1],
        )
        outcome = self._ask("host", shape, ("kernel",))
        require(len(outcome.kernels) == 1, "one kernel with the key")
        kernel = outcome.kernels[0]
        require(kernel.co_present is not False, f"{kernel.co}: is shipped")
        self.kernels.append(kernel.symbol)
        self._outputs(given, persistent)
        if persistent:
            attend.persistent(given)
        else:
            self._unsplit[given["split_data"].data_ptr()] = attend.split(given)

    def _outputs(self, given: dict[str, Any], persistent: bool) -> None:
        q, t = given["q"], self._torch
        data, sums, out = given["split_data"], given["split_lse"], given["output"]
        heads = q.shape[1]
        require(data.shape[2:] == (heads, LATENT), "splitData: [.., heads, 512]")
        require(sums.shape == (*data.shape[:3], 1), "splitLse: one per row of splitData")
        require(sums.dtype == t.float32 and sums.is_contiguous(), "splitLse: float32")
        require(out.shape == (q.shape[0], heads, LATENT), "output: [rows, heads, 512]")
        require(out.dtype == t.bfloat16 and out.is_contiguous(), "output: contiguous bfloat16")
        lse = given.get("lse")
        if lse is not None:
            require(lse.shape == (q.shape[0], heads), "lse: [rows, heads]")
            require(lse.dtype == t.float32 and lse.is_contiguous(), "lse: float32")
        if persistent:
            require(given["metadata"] is not None, "work_meta_data is given")
            self._vector(given, "work_indptr")
            require(data.dtype == t.float32, "splitData: float32")

    # --- the reducer -----------------------------------------------------------------------------

    def _reduce(self, given: dict[str, Any]) -> None:
        partial, sums, out = given["partial_output"], given["partial_lse"], given["output"]
        t = self._torch
        require(partial.dtype == sums.dtype == t.float32, "partials: float32")
        require(partial.is_contiguous() and sums.is_contiguous(), "partials: contiguous")
        require(out.shape[-2:] == partial.shape[-2:], "final_output: of the partials' heads")
        self._vector(given, "reduce_indptr", "partial_map")
        shape = DecodeShape(
            arch=self._arch, q_dtype=Dtype.BF16, kv_dtype=Dtype.BF16, num_heads=partial.shape[-2]
        )
        self._ask("reducer", shape, ("instantiated",), head_dim=out.shape[-1])
        merging.reduce(given)

    # --- checks ----------------------------------------------------------------------------------

    def _ask(
        self, stage: str, shape: DecodeShape, good: tuple[str, ...], head_dim: int | None = None
    ) -> StageOutcome:
        """What the source says of a call; an error where it does not take it."""
        outcome = self._capability.ask(stage, shape, head_dim=head_dim)
        if outcome.status not in good:
            raise NativeError(f"{stage}: {outcome.status}: {outcome.message}")
        return outcome

    def _vector(self, given: Mapping[str, Any], *roles: str) -> None:
        for role in roles:
            tensor = given[role]
            plain = tensor.dim() == 1 and tensor.is_contiguous()
            require(plain and tensor.dtype == self._torch.int32, f"{role}: a vector of int32")
            if role.endswith("indptr") and role != "work_indptr":
                require(bool((tensor.diff() >= 0).all()), f"{role}: ascending")


def require(holds: bool, what: str) -> None:
    """Raises ``NativeError`` where a call breaks a rule."""
    if not holds:
        raise NativeError(f"broken: {what}")
