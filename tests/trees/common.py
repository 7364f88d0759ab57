"""What every tree has: checks, enums, a Python package with its decorator, and a table with code
objects. All of it is our own text, in the shapes that AITER's files have."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tests.kernels.test_elf import DEFINED, GLOBAL, bare, sectioned

Tree = dict[str, str | bytes]

ENUMS = """\
#pragma once
#include <string>

enum class MlaVersion : int
{
    V32 = 0,
    V40 = 1,
};

typedef enum
{
    AITER_DTYPE_fp8,
    AITER_DTYPE_fp16,
    AITER_DTYPE_bf16,
    AITER_DTYPE_fp32,
    AITER_DTYPE_i32,
    AITER_DTYPE_i8,
    AITER_DTYPE_u8,
} AiterDtype;
"""

CHECKS = """\
#pragma once
#include "aiter_enum.h"
#include <sstream>

#define AITER_C_ITFS extern "C" __attribute__((visibility("default")))

namespace aiter_detail {

inline thread_local bool g_aiter_can_throw = false;

template <typename... Args>
[[noreturn]] inline void check_fail(const char* file, int line, Args&&... args)
{
    std::ostringstream text;
    text << file << ":" << line;
    ((text << args), ...);
    if(g_aiter_can_throw)
    {
        throw std::runtime_error(text.str());
    }
    std::abort();
}

} // namespace aiter_detail

namespace aiter {

inline hipStream_t getCurrentHIPStream()
{
    return nullptr;
}

} // namespace aiter

#define AITER_CHECK(x, ...)                                                           \\
    do                                                                                \\
    {                                                                                 \\
        if(!(x)) [[unlikely]]                                                         \\
        {                                                                             \\
            aiter_detail::check_fail(__FILE__, __LINE__ __VA_OPT__(, ) __VA_ARGS__);  \\
        }                                                                             \\
    } while(0)
"""

CORE = """\
import functools
import os
import re


def compile_ops(module, fc_name=None, ffi_type="pybind", develop=False):
    def decorate(function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            return load(module, fc_name or function.__name__)(*args, **kwargs)

        return call

    return decorate


def env_flag_atoi(name: str, default: str = "0") -> bool:
    found = re.match(r"\\s*[+-]?\\d+", os.environ.get(name, default))
    return bool(found) and int(found.group()) != 0


def is_experimental_enabled() -> bool:
    try:
        return int(os.environ.get("AITER_ENABLE_EXPERIMENTAL", "0")) != 0
    except ValueError:
        return False
"""

CHIP = """\
import functools
import subprocess


@functools.lru_cache(maxsize=1)
def get_gfx() -> str:
    return subprocess.check_output(["rocminfo"]).decode()


@functools.lru_cache(maxsize=1)
def get_cu_num() -> int:
    return int(subprocess.check_output(["rocminfo"]).decode().count("CU"))
"""

DTYPES = """\
import torch

from ..jit.utils.chip_info import get_gfx

_NAMES = {"gfx942": torch.float8_e4m3fnuz, "gfx950": torch.float8_e4m3fn}

fp8 = _NAMES.get(get_gfx(), torch.float8_e4m3fn)
bf16 = torch.bfloat16
fp16 = torch.float16
fp32 = torch.float32
i32 = torch.int32
"""

PACKAGE: Tree = {
    "aiter/__init__.py": "from .utility import dtypes\nfrom .ops.attention import *\n",
    "aiter/utility/__init__.py": "",
    "aiter/utility/dtypes.py": DTYPES,
    "aiter/jit/__init__.py": "",
    "aiter/jit/core.py": CORE,
    "aiter/jit/utils/__init__.py": "",
    "aiter/jit/utils/chip_info.py": CHIP,
    "aiter/ops/__init__.py": "",
    "csrc/include/aiter_enum.h": ENUMS,
    "csrc/include/aiter_hip_common.h": CHECKS,
}


class Row(NamedTuple):
    """A row of a kernel table."""

    q: str
    kv: str
    heads: int
    ps: int
    qlen: int
    lse: int = 0

    @property
    def symbol(self) -> str:
        """The kernel's name."""
        mode = ("_lse" if self.lse else "") + ("_ps" if self.ps else "")
        return f"mla_{self.q}_{self.kv}_h{self.heads}_q{self.qlen}{mode}"


HEADER = "qType,kvType,Gqa,ps,qSeqLen,prefill,causal,lse,cprr,knl_name,co_name"


def csv(rows: Iterable[Row]) -> str:
    """The rows as a table."""
    lines = [
        f"{r.q},{r.kv},{r.heads},{r.ps},{r.qlen},0,1,{r.lse},0,{r.symbol},{r.symbol}.co"
        for r in rows
    ]
    return "\n".join([HEADER, *lines]) + "\n"


def code_object(symbol: str, *, lds: int | None = None) -> bytes:
    """A code object that holds one kernel; without ``lds``, nothing of it is loaded."""
    symbols = [(symbol, GLOBAL, DEFINED), (f"{symbol}.kd", GLOBAL, DEFINED)]
    return sectioned(symbols) if lds is None else bare(symbols, lds=lds)


def tables(rows: dict[str, list[Row]]) -> Tree:
    """Tables and code objects, by arch."""
    tree: Tree = {}
    for arch, listed in rows.items():
        tree[f"hsa/{arch}/mla/mla_asm.csv"] = csv(listed)
        for row in listed:
            tree[f"hsa/{arch}/mla/{row.symbol}.co"] = code_object(row.symbol)
    return tree


def write(root: Path, tree: Tree) -> Path:
    """The tree in a directory."""
    for path, data in tree.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data if isinstance(data, bytes) else data.encode())
    return root


def changed(tree: Tree, path: str, *edits: tuple[str, str]) -> Tree:
    """The tree with one file edited; every edit must apply exactly once."""
    text = tree[path]
    assert isinstance(text, str)
    for old, new in edits:
        assert text.count(old) == 1, (path, text.count(old), old)
        text = text.replace(old, new)
    return {**tree, path: text}
