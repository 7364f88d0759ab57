"""What pure functions of serving engines decide about head counts, recorded as numbers.

Each function is cut out of the engine's file with what it reads, and called for every head count:
nothing else of an engine runs, and no AITER, GPU or torch is needed. The adapters are compared with
these numbers (``tests/adapters/test_decisions.py``).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from tools import engine_platforms

HEADS = range(1, 129)
"""The head counts that each function is asked for."""
QLENS = tuple(range(1, 9))
_NONE = object()
"""No answer, which ``None`` is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A function of an engine, and the questions that it is asked."""

    file: str
    function: str
    """Its name, with that of its class: ``AiterMLAHelper.is_valid_num_heads``."""
    heads: tuple[str, ...]
    """The parameters that get the head count."""
    reads: tuple[str, ...] = ()
    """What of its module it reads."""
    others: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Other parameters, with all values that each gets."""
    by_arch: bool = False
    """Whether it asks which GPU is there: it is asked for each, as ``arch`` of the question."""

    def questions(self) -> Iterator[dict[str, Any]]:
        """What else is passed, beside the head count."""
        return (
            dict(zip(self.others, each, strict=True)) for each in product(*self.others.values())
        )


def _in(file: str, *decisions: tuple[str, str], **more: Any) -> tuple[Decision, ...]:
    return tuple(
        Decision(file=file, function=name, heads=(heads,), **more) for name, heads in decisions
    )


def _platform(
    file: str, *names: str, heads: tuple[str, ...] = (), **more: Any
) -> tuple[Decision, ...]:
    return tuple(
        Decision(file=file, function=name, heads=heads, by_arch=True, **more) for name in names
    )


_VLLM = "vllm/v1/attention/backends/mla/rocm_aiter_mla.py"
_SGLANG = "sglang/srt/layers/attention/aiter_backend.py"
_ATOM = "atom/model_ops/attention_mla.py"
_ATOM_DCP = "atom/distributed/dcp_utils.py"
_ATOM_SPARSE = "atom/plugin/sglang/attention_backend/sparse_mla_indexer.py"
_GLUON = (
    *("_gluon_mla_decode_supported", "_gluon_kv_cache_in_bounds", "_aiter_mla_small_head_mode"),
    "_GLUON_MAX_KV_CACHE_BYTES",
)
_BYTES = (None, 1 << 30, 1 << 31, 3 << 30)
_HELPER = (
    *("is_valid_num_heads", "get_actual_mla_num_heads", "get_fp8_prefill_num_heads"),
    "has_fp8_non_causal_qlen2_kernel",
)
DECISIONS: Mapping[str, tuple[Decision, ...]] = {
    "vllm": (
        *_in(_VLLM, *((f"AiterMLAHelper.{name}", "num_heads") for name in _HELPER)),
        *_in(
            _VLLM,
            ("_asm_dcp_verify_heads", "decode_num_heads"),
            reads=("_NATIVE_CPRR_HEADS",),
        ),
        *_platform(_VLLM, "_aiter_mla_non_causal_asm_kernels", "_gluon_mla_decode_supported"),
        *_platform(
            _VLLM,
            "_asm_dcp_verify_configured",
            others={
                "dcp_world_size": (1, 2),
                "cp_interleave": (1, 2),
                "multi_token_decode": (False, True),
            },
        ),
        *_platform(
            _VLLM, "_gluon_kv_cache_in_bounds", reads=_GLUON, others={"kv_cache_bytes": _BYTES}
        ),
        *_platform(
            _VLLM,
            "AiterMLAHelper.use_gluon_decode",
            heads=("num_heads",),
            reads=_GLUON,
            others={
                "max_qo_len": (1, 2),
                "kv_cache_dtype": ("auto", "bfloat16", "fp8"),
                "kv_cache_bytes": (None, 3 << 30),
            },
        ),
        *_platform(
            _VLLM,
            "AiterMLAHelper.use_gluon_verify",
            heads=("num_heads",),
            reads=_GLUON,
            others={
                "max_qo_len": (1, 4),
                "kv_cache_dtype": ("auto", "fp8"),
                "dcp_world_size": (1, 2),
                "causal": (False, True),
            },
        ),
    ),
    "sglang": (
        *_in(
            _SGLANG,
            *(("_asm_cprr_supports_shape", "heads"), ("_asm_cprr_kernel_heads", "gathered_heads")),
            reads=("_MLA_ASM_CPRR_NATIVE_QLENS", "_asm_cprr_supports_shape"),
            others={"q_len": QLENS},
        ),
        Decision(
            file=_SGLANG,
            function="AiterAttnBackend.check_fp8_prefill_num_head",
            heads=("num_head", "num_kv_head"),
            reads=("_MLA_REDUCE_V1_HEADS",),
            others={"v_head_dim": (64, 128, 512)},
        ),
    ),
    "atom": (
        *_in(_ATOM, ("mla_kernel_num_heads", "num_heads"), reads=("_MLA_MIN_HEADS",)),
        *_in(
            _ATOM,
            ("mla_dcp_kernel_num_heads", "num_heads"),
            reads=(
                *("_MLA_MIN_HEADS", "_MLA_DCP_KERNEL_WIDTHS", "mla_kernel_num_heads"),
                *("_MLA_DCP_KERNEL_WIDTHS_FP8_NON_PERSISTENT", "_dcp_kernel_width_warned"),
            ),
            others={
                "dcp_world_size": (1,),
                "kv_cache_dtype": ("bf16", "fp8"),
                "persistent": (True, False),
            },
        ),
        Decision(
            file=_ATOM,
            function="mla_min_query_heads",
            heads=(),
            reads=("_MLA_MIN_HEADS",),
            others={"kv_cache_dtype": ("bf16", "fp8"), "block_width": QLENS},
        ),
        *_platform(_ATOM_DCP, "dcp_persistent_supported"),
        *_in(
            _ATOM_SPARSE,
            ("_supports_sparse_mla_fast_metadata", "nhead"),
            others={
                "max_seqlen_qo": (1,),
                "uni_seqlen_qo": (1,),
                "q_dtype": ("bf16", "fp8"),
                "kv_dtype": ("fp8",),
            },
        ),
    ),
}


def decided(name: str, read: Callable[[str], str]) -> dict[str, list[dict[str, Any]]]:
    """What an engine's functions return: by function, each question with its ``answers``."""
    found = {}
    for each in DECISIONS[name]:
        module = ast.parse(read(each.file))
        found[each.function] = [
            answer
            for arch in (engine_platforms.ARCHS if each.by_arch else (None,))
            for answer in _on(arch, each, module)
        ]
    return found


def _on(arch: str | None, decision: Decision, module: ast.Module) -> list[dict[str, Any]]:
    """The answers, on one GPU."""
    with nullcontext() if arch is None else engine_platforms.on(arch):
        found = answers(decision, _cut_out(decision, module))
    said = {} if arch is None else {"arch": arch}
    return [{**each, "asked": {**said, **each["asked"]}} for each in found]


def answers(decision: Decision, function: Callable[..., Any]) -> list[dict[str, Any]]:
    """What a function returns to each question: by the head count from which on it does, and of
    one that takes no head count by 1 alone."""
    found = []
    for asked in decision.questions():
        counts = HEADS if decision.heads else HEADS[:1]
        each = {n: function(**dict.fromkeys(decision.heads, n), **asked) for n in counts}
        changes = {str(n): answer for n, answer in each.items() if each.get(n - 1, _NONE) != answer}
        found.append({"asked": asked, "answers": changes})
    return found


def _cut_out(decision: Decision, module: ast.Module) -> Callable[..., Any]:
    """The function, with what it reads and nothing else."""
    first, _, method = decision.function.partition(".")
    wanted = {first, *decision.reads}
    body = [deepcopy(node) for node in module.body if wanted & set(_bound(node))]
    for node in body:
        if isinstance(node, ast.ClassDef):
            node.bases, node.decorator_list = [], []
            node.body = [each for each in node.body if not method or _kept(each, method)]
    text = ast.fix_missing_locations(ast.Module(body, []))
    given = engine_platforms.names()
    # ``compile`` inherits this module's postponed annotations: torch is not there to be named.
    exec(compile(text, decision.file, "exec"), given)
    found: Any = given[first]
    return getattr(found(), method) if method else found  # type: ignore[no-any-return]


def _bound(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, (ast.Assign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        yield from (each.id for each in targets if isinstance(each, ast.Name))


def _kept(node: ast.stmt, method: str) -> bool:
    """The method itself, what it calls of vLLM's helper, and constants."""
    if isinstance(node, ast.FunctionDef):
        return node.name in (method, "get_actual_mla_num_heads", *_HELPER)
    return isinstance(node, (ast.Assign, ast.AnnAssign))
