"""What kernels of a folded launch read by request, and what becomes of it: on those of v0.1.20,
with AITER's dispatcher as it is and with one that folds the index vectors as well.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mlaprobe.core.shape import DecodeShape, Dtype, Verdict
from mlaprobe.deciding.capability import Capability
from mlaprobe.decode.rules import rules as decode_rules
from mlaprobe.emulation.batches.batch import Batch
from mlaprobe.emulation.outcome import Emulated, Standing
from mlaprobe.emulation.padding import Padding
from mlaprobe.emulation.planned import Options, emulate_launch
from mlaprobe.emulation.regions import Regions
from mlaprobe.sources import open_source

TAG = "v0.1.20"
LENS = (9, 12)
VECTORS = {"ptr_QTP": "qo_indptr", "ptr_LTP": "kv_indptr", "ptr_GKVTP": "g_kv_indptr"}
"""Members of the argument block, and what they point to."""
FOLDED = "            o = o.view(total_s, nhead, -1)\n"
"""Where the query has been folded."""
STARTS = "{0} = torch.cat([{0}[:-1].repeat_interleave(fold_factor), {0}[-1:]])"
LENGTHS = (
    "{0} = torch.nn.functional.pad(torch.cumsum("
    "({0}[1:] - {0}[:-1]).repeat_interleave(fold_factor), dim=0).to({0}.dtype), (1, 0))"
)


@lru_cache(maxsize=4)
def opened(repository: Path, *statements: str) -> Capability:
    """The release, with statements behind the fold of the query."""
    source = open_source(f"{repository}@{TAG}")
    read = source.read

    def edited(path: str) -> Any:
        file = read(path)
        if file is None or path != "aiter/mla.py":
            return file
        assert file.text.count(FOLDED) == 1
        more = "".join(f"            {line}\n" for line in statements)
        return replace(file, data=file.text.replace(FOLDED, FOLDED + more).encode())

    source.read = edited  # type: ignore[method-assign]
    return Capability(source)


def launch(capability: Capability, heads: int, qlen: int, **more: Any) -> tuple[Verdict, Emulated]:
    """The verdict of fp8 on gfx950, and what becomes of a launch of two requests."""
    world = 2 if more.get("cp_round_robin") else 1
    shape = DecodeShape(
        arch="gfx950", q_dtype=Dtype.FP8, kv_dtype=Dtype.FP8, num_heads=heads, qlen=qlen, **more
    )
    batch = Batch(
        arch=shape.arch,
        q_dtype=Dtype.FP8,
        kv_dtype=Dtype.FP8,
        num_heads=heads,
        kv_lens=LENS,
        qlen=qlen,
        lse=shape.lse,
        world=world,
        global_lens=tuple(world * length for length in LENS) if world > 1 else (),
    )
    decision = capability.decide(shape)
    tolerance = decode_rules().tolerance(Dtype.FP8, Dtype.FP8)
    options = Options(tolerance=tolerance, schedules="one")
    found = emulate_launch(capability, batch, Padding(heads=heads, qlen=qlen), decision, options)
    return decision.verdict, found


def read_beyond(found: Emulated) -> set[str]:
    """The index vectors that were read behind their end."""
    names = (VECTORS.get(access.region) for access in found.outside if access.kind == "read")
    return {name for name in names if name is not None}


@pytest.mark.parametrize(("heads", "qlen", "lse"), [(48, 3, False), (96, 4, True), (48, 6, False)])
def test_round_robin_reads_by_folded_request(
    aiter_git: Path, heads: int, qlen: int, lse: bool
) -> None:
    verdict, found = launch(opened(aiter_git), heads, qlen, lse=lse, cp_round_robin=True)
    assert verdict is Verdict.INCOHERENT
    assert found.standing is Standing.WRONG
    assert {"qo_indptr", "g_kv_indptr"} <= read_beyond(found)


@pytest.mark.parametrize(("heads", "qlen", "lse"), [(48, 3, False), (96, 4, True), (48, 6, False)])
def test_with_vectors_that_follow_it_is_right(
    aiter_git: Path, heads: int, qlen: int, lse: bool
) -> None:
    follow = (
        LENGTHS.format("qo_indptr"),
        "if g_kv_indptr is not None: " + LENGTHS.format("g_kv_indptr"),
        "if g_kv_indptr is not None: " + STARTS.format("kv_indptr"),
    )
    mended = opened(aiter_git, *follow)
    for round_robin in (True, False):
        verdict, found = launch(mended, heads, qlen, lse=lse, cp_round_robin=round_robin)
        assert verdict is Verdict.FOLDED
        assert found.standing is Standing.PASSED, found
        assert not found.outside


@pytest.mark.parametrize(
    ("qlen", "beyond"), [(1, False), (2, False), (3, True), (4, True), (5, True)]
)
def test_where_the_work_does_not_say_it_all(aiter_git: Path, qlen: int, beyond: bool) -> None:
    """From three query tokens on, kernels read where a folded request ends without round robin as
    well."""
    verdict, found = launch(opened(aiter_git), 48, qlen)
    assert verdict is Verdict.FOLDED
    assert read_beyond(found) == ({"qo_indptr"} if beyond else set())
    assert found.standing is (Standing.WRONG if beyond else Standing.PASSED)


@pytest.mark.parametrize(
    ("behind", "right"), [("goes on", True), ("stops", False), ("zeros", False)]
)
def test_then_memory_behind_the_vector_decides(
    aiter_git: Path, monkeypatch: pytest.MonkeyPatch, behind: str, right: bool
) -> None:
    place = Regions._place

    def longer(self: Regions, name: str, owner: Any) -> None:
        if name != "ptr_QTP":
            place(self, name, owner)
            return
        last, step = int(owner[-1]), {"goes on": int(owner[1])}.get(behind, 0)
        tail = np.arange(1, 20) * step + (0 if behind == "zeros" else last)
        self._memory.place(name, np.concatenate([owner, tail.astype(owner.dtype)]))

    monkeypatch.setattr(Regions, "_place", longer)
    _, found = launch(opened(aiter_git), 48, 3)
    assert found.standing is (Standing.PASSED if right else Standing.WRONG)
