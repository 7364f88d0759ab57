"""Threads that go different ways, and what they tell each other."""

from __future__ import annotations

import pytest

from mlaprobe.emulation.device.signals import NotFollowed, OutsideAccess, Undetermined
from tests.emulation.ran import body, run

LANES = range(64)


def test_each_thread_takes_its_own_branch() -> None:
    text = (
        "int v; if(i % 3 == 0) { v = i; } else if(i % 3 == 1) { v = -i; } else v = 7; out[i] = v;"
    )
    assert body(text) == [(i, -i, 7)[i % 3] for i in LANES]


def test_threads_leave_a_loop_one_after_the_other() -> None:
    text = "int n = 0; for(int j = 0; j < i; ++j) { n += j; } out[i] = n;"
    assert body(text) == [i * (i - 1) // 2 for i in LANES]


def test_break_and_continue_are_for_the_threads_that_come_to_them() -> None:
    text = """int n = 0; int j = 0;
    while(true) { j += 1; if(j % 2 == i % 2) continue; if(j > i) break; n += j; }
    out[i] = n * 100 + j;"""

    def expected(i: int) -> int:
        n = j = 0
        while True:
            j += 1
            if j % 2 == i % 2:
                continue
            if j > i:
                return n * 100 + j
            n += j

    assert body(text) == [expected(i) for i in LANES]


def test_a_do_loop_runs_once_at_least() -> None:
    assert body("int j = i; do { j += 10; } while(j < 30); out[i] = j;") == [
        next(j for j in range(i + 10, 200, 10) if j >= 30) for i in LANES
    ]


def test_an_early_return_ends_the_thread() -> None:
    text = """out[i] = 1; if(i > 9) return; out[i] = 2;
    for(;;) { if(i == 3) return; break; } out[i] = 3;"""
    assert body(text) == [1 if i > 9 else 2 if i == 3 else 3 for i in LANES]


def test_a_function_returns_to_all_its_callers() -> None:
    text = """__device__ int f(int x) { for(int j = 0; j < 100; ++j) { if(j * j > x) return j; }
    return -1; }
    __global__ void k(int* out) { int i = threadIdx.x; out[i] = f(i * 3) + 1000; }"""
    assert list(run(text)) == [next(j for j in range(100) if j * j > 3 * i) + 1000 for i in LANES]


def test_what_is_not_taken_is_not_evaluated() -> None:
    text = "int a = (i == 0) ? 5 : 60 / i; bool b = (i != 0) && (60 / i > 2); out[i] = a * 2 + b;"
    assert body(text) == [
        (5 if i == 0 else 60 // i) * 2 + (i != 0 and 60 // max(i, 1) > 2) for i in LANES
    ]


def test_shared_memory_is_shared() -> None:
    text = "__shared__ int t[64]; t[i] = i * i; __syncthreads(); out[i] = t[63 - i];"
    assert body(text) == [(63 - i) ** 2 for i in LANES]
    text = "extern __shared__ unsigned char raw[]; int* t = reinterpret_cast<int*>(raw) + 3;"
    assert body(text + "t[i] = i; out[i] = t[i ^ 1];") == [i ^ 1 for i in LANES]


def test_lanes_read_each_other() -> None:
    assert body("out[i] = __shfl(i * 2, 5);") == [10] * 64
    assert body("out[i] = __shfl_xor(i, 7);") == [i ^ 7 for i in LANES]
    text = "out[i] = ck_tile::warp_shuffle_up(i, 3);"
    assert body(text) == [(i - 3) % 64 for i in LANES]
    assert body("out[i] = __shfl_up(i, 3, 16);") == [i if i % 16 < 3 else i - 3 for i in LANES]
    text = "int s = (i + 9) % 64; out[i] = __builtin_amdgcn_ds_bpermute(s << 2, i);"
    assert body(text) == [(i + 9) % 64 for i in LANES]
    text = (
        "int lane = __builtin_amdgcn_mbcnt_hi(-1, __builtin_amdgcn_mbcnt_lo(-1, 0)); out[i] = lane;"
    )
    assert body(text, threads=128, elements=128) == [i % 64 for i in range(128)]


def test_the_second_wave_has_lanes_of_its_own() -> None:
    assert body("out[i] = __shfl(i, 1);", threads=128, elements=128) == [1] * 64 + [65] * 64


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("if(i < 8) { out[i] = __shfl(i, 40); }", "does not take part"),
        ("if(i < 8) { out[i] = __shfl(5, 40); }", "does not take part"),
        ("if(i < 8) { __syncthreads(); } out[i] = 1;", "not all threads come to"),
        ("out[0] = i;", "different values"),
        ("int v; out[i] = v;", "nothing was stored"),
        ("int v; if(i < 5) v = 1; out[i] = v;", "nothing was stored in by some"),
        ("__shared__ int t[64]; out[i] = t[i];", "nothing was written"),
        ("out[i] = 2147483647 + i;", "overflows"),
        ("out[i] = 5 / (i - 3);", "division by zero"),
        ("out[i] = 1 << i;", "more bits"),
    ],
)
def test_what_is_left_open_ends_the_run(text: str, reason: str) -> None:
    with pytest.raises(Undetermined, match=reason):
        body(text)


def test_two_waves_may_not_race() -> None:
    start = "__shared__ int t[128]; t[i] = i; "
    assert body(start + "__syncthreads(); out[i] = t[127 - i];", threads=128, elements=128) == [
        127 - i for i in range(128)
    ]
    with pytest.raises(Undetermined, match="another wave writes"):
        body(start + "out[i] = t[127 - i];", threads=128, elements=128)
    with pytest.raises(Undetermined, match="another wave reads"):
        body(
            start + "__syncthreads(); int v = t[127 - i]; t[i] = v; out[i] = v;",
            threads=128,
            elements=128,
        )
    with pytest.raises(Undetermined, match="two waves write"):
        body("if(i == 0) out[0] = 1; if(i == 64) out[0] = 2;", threads=128)
    assert body("if(i % 64 == 0) out[0] = 1;", threads=128)[0] == 1


def test_an_access_outside_says_where() -> None:
    with pytest.raises(OutsideAccess) as stop:
        body("out[i + 1] = i;")
    assert (stop.value.kind, stop.value.buffer, stop.value.offset) == ("write", "out", 256)
    assert stop.value.span.line == 1
    with pytest.raises(OutsideAccess, match="read at byte -4"):
        body("if(i == 0) { out[i] = out[i - 1]; }")


def test_an_endless_loop_ends() -> None:
    with pytest.raises(NotFollowed, match=r"too (long|many)"):
        body("while(true) { out[i] = 1; }", budget=500)
