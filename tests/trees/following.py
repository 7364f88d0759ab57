"""A small AITER in the layout that follows today's: rules as functions of an included header, a
plan that is returned, a flags struct, cases of the reducer as an X macro, entry points that a macro
defines, a second table, and a dispatcher that asks the compiled plan."""

from __future__ import annotations

from tests.trees import today
from tests.trees.common import PACKAGE, Tree, changed, code_object
from tests.trees.followingcpp import (
    BRIDGE_TEXT,
    PLAN_TEXT,
    ROUTER_TEXT,
    SECOND_ENTRY,
    SHAPE_TEXT,
)
from tests.trees.followingpy import DISPATCHER_TEXT, OPS_TEXT

SHAPE = "csrc/include/mla_decode_shape.h"
CASES = "csrc/include/mla_reduce_cases.h"
BRIDGE = "csrc/include/aiter_ctypes_error.h"
SECOND_TABLE = "hsa/gfx1250/mla_dsl/mla_dsl.csv"
KNOB = "AITER_MLA_DECODE_PS1_FLYDSL"

ROUTED = (*today.ROUTED, (12, 512), (24, 512))

CASES_TEXT = (
    "#pragma once\n\n#define MLA_REDUCE_CASES(X, ...) \\\n"
    + " \\\n".join(f"    X({heads}, {dim}, __VA_ARGS__)" for heads, dim in ROUTED)
    + "\n"
)

_PARAMS = """\
(aiter_tensor_t* Q,
                               aiter_tensor_t* KV,
                               aiter_tensor_t* num_kv_splits_indptr, // nullable
                               aiter_tensor_t* work_indptr,          // nullable
                               int max_seqlen_q,
                               int page_size,
                               int nhead_kv,
                               aiter_tensor_t* splitData,
                               aiter_tensor_t* output,
                               aiter_tensor_t* lse, // nullable
                               hipStream_t stream)"""
_NAMES = (
    "(Q, KV, num_kv_splits_indptr, work_indptr, max_seqlen_q, page_size, nhead_kv, splitData, "
    "output, lse, stream)"
)
OLD_RULE = today.PLANNER_TEXT[
    today.PLANNER_TEXT.index("    const bool q_is_fp8") : today.PLANNER_TEXT.index(
        "    PlanParams params"
    )
]
NEW_RULE = """\
    const bool wide = std::getenv("AITER_MLA_DECODE_PS1_FLYDSL") != nullptr &&
                      std::atoi(std::getenv("AITER_MLA_DECODE_PS1_FLYDSL")) != 0;
    const Plan head_plan = head_plan_v1_2(
        arch_id, num_heads, max_seqlen_qo, q_dtype, kv_dtype, {/*experimental=*/false, wide});
    qk_batch_ratio = head_plan.qk_batch_ratio;
    num_heads      = head_plan.kernel_num_heads;
    num_batches *= qk_batch_ratio;
    AITER_CHECK(head_plan.plan != HeadPlan::Unsupported, __func__, ": cannot plan this");

"""


def _host() -> str:
    text = today.HOST_TEXT.replace(
        '#include "asm_mla_configs.hpp"\n',
        '#include "asm_mla_configs.hpp"\n\n#undef ADD_CFG\nnamespace mla_dsl {\n'
        '#include "asm_mla_dsl_configs.hpp"\n} // namespace mla_dsl\n'
        '#include "aiter_ctypes_error.h"\n\nAITER_CTYPES_ERROR_DEF\n',
    )
    old = f"AITER_C_ITFS\nvoid mla_decode_stage1_asm_fwd{_PARAMS}\n"
    assert old in text
    new = (
        "AITER_CTYPES_DEFINE_ENTRYPOINT_VOID(\n    mla_decode_stage1_asm_fwd,\n    "
        f"{_PARAMS},\n    {_NAMES})\n"
    )
    text = text.replace(old, new).replace(
        "    else if(gqa_ratio == 128)\n    {\n        config_qlen = 0;\n    }\n",
        "    else if(gqa_ratio == 128)\n    {\n        config_qlen = 0;\n    }\n"
        '    else if(arch_id == "gfx950" && (gqa_ratio == 96 || gqa_ratio == 12))\n    {\n'
        "        config_qlen = 2;\n        config_gqa  = 32;\n    }\n",
    )
    return text + SECOND_ENTRY


def second_table() -> Tree:
    """The second table: comment lines, fewer columns, a query length of 0 that means any."""
    rows = [("mla_dsl_h96", 96, 0), ("mla_dsl_h96_lse", 96, 1)]
    lines = [
        "# kernels of another maker, kept apart",
        "qType,kvType,Gqa,qSeqLen,causal,lse,dyn_lds,knl_name,co_name",
    ]
    lines += [f"fp8,fp8,{heads},0,1,{lse},1024,{name},{name}.co" for name, heads, lse in rows]
    objects = {f"hsa/gfx1250/mla_dsl/{name}.co": code_object(name) for name, _, _ in rows}
    return {SECOND_TABLE: "\n".join(lines) + "\n", **objects}


def tree() -> Tree:
    """The whole tree."""
    base = {**today.tree(), **PACKAGE, **second_table()}
    base = changed(
        base,
        today.PLANNER,
        (OLD_RULE, NEW_RULE),
        (
            '#include "aiter_hip_common.h"\n',
            '#include "aiter_hip_common.h"\n#include "mla_decode_shape.h"\n',
        ),
    )
    binding = today.BINDING_TEXT.replace(
        '#include "metadata/', '#include "mla_decode_shape.h"\n#include "metadata/'
    )
    return {
        **base,
        SHAPE: SHAPE_TEXT,
        CASES: CASES_TEXT,
        BRIDGE: BRIDGE_TEXT,
        today.BINDING: binding + PLAN_TEXT,
        today.HOST: _host(),
        today.REDUCER: today.REDUCER_HEAD.replace(
            '#include "aiter_hip_common.h"\n',
            '#include "aiter_hip_common.h"\n#include "mla_reduce_cases.h"\n',
        )
        + ROUTER_TEXT
        + today.REDUCER_ENTRY,
        today.DISPATCHER: DISPATCHER_TEXT,
        today.OPS: OPS_TEXT,
        "aiter/utility/aiter_types.py": TYPES_TEXT,
        "aiter/ops/flydsl/__init__.py": "",
        "aiter/ops/flydsl/mla_kernels.py": FLYDSL_TEXT,
    }


TYPES_TEXT = """\
import re
from pathlib import Path


def _parse(header):
    names = re.findall(r"AITER_DTYPE_(\\w+)", header.read_text())
    return {name: at for at, name in enumerate(names)}


aiter_dtypes = _parse(Path(__file__).resolve().parents[2] / "csrc/include/aiter_enum.h")
"""

FLYDSL_TEXT = """\
import flydsl.compiler as compiler


def flydsl_mla_fp8(logits, q, kv, work_indptr, *, max_seqlen_q=1, causal=False):
    compiler.launch(logits, q, kv, work_indptr, max_seqlen_q, causal)
"""
