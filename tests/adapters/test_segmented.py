"""What the segmented (Triton) decode takes of LDS, which vLLM decides by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlaprobe.rulefiles.archs import lds_limit
from mlaprobe.sources import open_source
from tools import segmented
from tools.segmented import Shape


@pytest.fixture(scope="module")
def texts(aiter_git: Path) -> tuple[str, str]:
    with open_source(f"{aiter_git}@v0.1.20.post1") as source:
        files = [source.read(path) for path in (segmented.HOST, segmented.KERNELS)]
    assert files[0] is not None
    assert files[1] is not None
    return files[0].text, files[1].text


@pytest.mark.parametrize(
    ("arch", "kv_dtype", "heads", "block", "stages"),
    [
        ("gfx942", "bf16", 12, 16, 1),
        ("gfx942", "bf16", 128, 64, 1),
        ("gfx942", "fp8", 64, 64, 1),
        ("gfx950", "fp8", 65, 128, 2),
    ],
)
def test_the_tiles_are_aiter_s_own(
    texts: tuple[str, str], arch: str, kv_dtype: str, heads: int, block: int, stages: int
) -> None:
    """A block of queries is 16, or the next power of two, to 64 or of an fp8 cache to 128; keys
    come by the page."""
    shape = Shape(arch=arch, q_dtype="bf16", kv_dtype=kv_dtype, heads=heads, page_size=128)
    found = segmented.launched(texts[0], shape)
    assert (found["BLOCK_M"], found["num_stages"]) == (block, stages)
    assert (found["TILE_SIZE"], found["num_warps"], found["KV_LORA_RANK"]) == (128, 2, 512)


@pytest.mark.parametrize(
    ("kv_dtype", "heads", "page_size"), [("bf16", 16, 64), ("bf16", 16, 128), ("fp8", 65, 64)]
)
def test_vllm_s_rule_for_gfx942(
    texts: tuple[str, str], kv_dtype: str, heads: int, page_size: int
) -> None:
    """``_segmented_mla_fits_lds``: not bf16 by pages of 128, and not fp8 of more than 64 heads."""
    pytest.importorskip("triton", reason="Triton is not installed")
    shape = Shape(
        arch="gfx942", q_dtype="bf16", kv_dtype=kv_dtype, heads=heads, page_size=page_size
    )
    ((_, size),) = segmented.answers(*texts, [shape])
    limit = lds_limit("gfx942")
    assert size is not None
    assert limit is not None
    assert (size <= limit) == (heads <= 64 if kv_dtype == "fp8" else page_size < 128)
