"""Text with bytes missing: never an exception, and no native claim that a compiler's reading of
the same text does not give."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from random import Random

import pytest

from mlaprobe.errors import MlaprobeError
from tests.generated.deep import examples
from tests.generated.rules import Shape, random_rule
from tests.generated.trees import (
    HEADS,
    QLENS,
    dispatcher_text,
    opened,
    planner_text,
    question,
    text_of,
)
from tests.trees import today
from tests.trees.common import CHECKS, ENUMS

SHAPES = tuple(
    Shape(arch, fp8, fp8, heads, qlen, False)
    for arch in ("gfx942", "gfx950")
    for fp8 in (False, True)
    for heads in HEADS
    for qlen in QLENS
)
STUBS = """\
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <string>
using hipDevice_t = int;
using hipStream_t = void*;
struct hipDeviceProp_t { int warpSize; };
struct dim3 { dim3(int, int, int) {} };
void hipGetDevice(int*) {}
void hipGetDeviceProperties(hipDeviceProp_t*, int) {}
struct aiter_tensor_t
{
    int64_t size(int) const { return 8; }
    void* data_ptr() const { return nullptr; }
};
static std::string g_arch;
static std::string get_gpu_arch() { return g_arch; }
#define __global__
"""
MAIN = """\
int main(int, char** argv)
{
    FILE* asked = std::fopen(argv[1], "r");
    char arch[16];
    int q, kv, heads, qlen;
    while(std::fscanf(asked, "%15s %d %d %d %d", arch, &q, &kv, &heads, &qlen) == 5)
    {
        g_arch = arch;
        g_native = false;
        aiter_tensor_t t;
        aiter_detail::g_aiter_can_throw = true;
        try
        {
            get_mla_metadata_v1_2_device(t, t, heads, 1, true, qlen, qlen,
                q ? AITER_DTYPE_fp8 : AITER_DTYPE_bf16, kv ? AITER_DTYPE_fp8 : AITER_DTYPE_bf16, t);
        }
        catch(...) { g_native = false; }
        std::printf("%d\\n", g_native);
    }
}
"""
LAUNCH = "    kn_plan<128><<<dim3(1, 1, 1), dev_prop.warpSize, 0, stream>>>(params);\n"


def _line(s: Shape) -> str:
    return f"{s.arch} {s.q_fp8:d} {s.kv_fp8:d} {s.heads} {s.qlen}\n"


def compiled(text: str, root: Path) -> list[bool] | None:
    """Which of ``SHAPES`` a compiler's planner accepts unfolded; ``None`` if it does not compile.

    The launch is replaced by a note of what would have been launched.
    """
    if LAUNCH not in text:
        return None
    noted = "    g_native = params.num_batches == 7 && params.num_heads == num_heads_per_head_k;\n"
    source = root / "planner.cpp"
    lines = [t.removeprefix("#pragma once\n") for t in (ENUMS, CHECKS, text.replace(LAUNCH, noted))]
    whole = "\n".join([STUBS, lines[0], lines[1], "static bool g_native;", lines[2], MAIN])
    source.write_text(whole.replace('#include "aiter_', "//"))
    command = ["g++", "-std=c++20", "-w", "-O0", "-o", str(root / "planner"), str(source)]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        return None
    asked = root / "asked"
    asked.write_text("".join(_line(s) for s in SHAPES))
    printed = subprocess.run(
        [str(root / "planner"), str(asked)], check=False, capture_output=True, text=True, timeout=20
    )
    words = printed.stdout.split()
    return [w == "1" for w in words] if len(words) == len(SHAPES) else None


def claims(text: str) -> list[bool]:
    """Which of ``SHAPES`` the planner is said to take unfolded."""
    try:
        capability = opened(text)
    except MlaprobeError:
        return [False] * len(SHAPES)
    found = (capability.ask("planner", question(s)).status for s in SHAPES)
    return [status in ("native", "passthrough") for status in found]


def cut(text: str, random: Random) -> str:
    """The text with some bytes missing somewhere in what decides."""
    begin = text.index('#include "aiter_hip_common.h"')
    at = random.randrange(begin, text.index("    PlanParams params"))
    return text[:at] + text[at + random.choice([1, 1, 2, 3, 5, 9, 20, 60, 200]) :]


def test_the_compiler_and_the_claims_agree_on_the_whole_text(tmp_path: Path) -> None:
    if shutil.which("g++") is None:
        pytest.skip("there is no g++ to compare with")
    text = text_of(today.tree(), today.PLANNER)
    accepted = compiled(text, tmp_path)
    assert accepted is not None
    assert claims(text) == accepted
    assert 10 < sum(accepted) < len(SHAPES) / 2


@pytest.mark.parametrize("seed", range(examples(20, 3000)))
def test_deleted_bytes_of_a_planner(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    whole = planner_text(random_rule(random), random)
    text = cut(whole, random)
    before, after = claims(whole), claims(text)
    if not any(new and not old for new, old in zip(after, before, strict=True)):
        return
    if shutil.which("g++") is None:
        pytest.skip("there is no g++ to compare with")
    accepted = compiled(text, tmp_path)
    if accepted is not None:
        wrong = [s for s, c, a in zip(SHAPES, after, accepted, strict=True) if c and not a]
        assert not wrong, (wrong[0], text)


@pytest.mark.parametrize("seed", range(examples(10, 1500)))
def test_deleted_bytes_of_a_dispatcher(seed: int) -> None:
    """Python that does not parse claims nothing; Python that does is run like any other."""
    random = Random(seed)
    whole = dispatcher_text(random_rule(random), random)
    at = random.randrange(len(whole))
    text = whole[:at] + whole[at + random.choice([1, 2, 5, 30, 300]) :]
    try:
        capability = opened(dispatcher=text)
    except MlaprobeError:
        return
    statuses = {capability.ask("dispatcher", question(s)).status for s in SHAPES[::5]}
    try:
        compile(text, "mla.py", "exec")
    except SyntaxError:
        assert statuses <= {"unknown", "absent"}, text
