"""How much LDS AITER's segmented (Triton) MLA decode takes, and whether that fits.

    python -m tools.segmented SOURCE [--arch gfx942,gfx950] [--heads 16,64,65,128]

AITER's own Python decides the tiles of a launch; it is run with stand-ins for tensors, and what it
launches is noted. Triton, which has to be installed, compiles AITER's kernel for the arch with
these tiles and says what it takes; no GPU is needed, and nothing is launched. Another Triton may
take another amount.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from mlaprobe.rulefiles.archs import compute_units, lds_limit
from mlaprobe.sources import open_source
from tools.engine_platforms import standing_in

HOST = "aiter/ops/triton/attention/mla.py"
KERNELS = "aiter/ops/triton/_triton_kernels/attention/mla.py"
KERNEL = "_mla_decode_fwd_kernel"
DTYPES = (("bf16", "bf16"), ("bf16", "fp8"), ("fp8", "fp8"))
PAGES = (16, 64, 128)
_FP8 = {"gfx942": "fp8e4b8"}
"""Triton's name of the arch's own type; the others have the OCP one."""
_SIZES = {"num_warps": 2, "num_stages": 1, "waves_per_eu": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A launch of one query token per row."""

    arch: str
    q_dtype: str
    kv_dtype: str
    heads: int
    page_size: int


class _Tensor(SimpleNamespace):
    """What AITER asks of a tensor."""

    shape: tuple[int, ...]

    def stride(self, dim: int) -> int:
        size = 1
        for extent in self.shape[dim + 1 :]:
            size *= extent
        return size

    def __len__(self) -> int:
        return self.shape[0]


def _stand_ins(shape: Shape) -> dict[str, dict[str, Any]]:
    """What AITER's file imports, of which only a few are used."""
    names = ("_mla_decode_fwd_kernel", "_mla_decode_fwd_reduce_kernel", "_mla_prefill_fwd_kernel")
    types = {"float32": "fp32", "uint8": "u8", "finfo": lambda _: SimpleNamespace(min=0, max=0)}
    inside = [
        HOST.removesuffix(".py"),
        KERNELS.removesuffix(".py"),
        "aiter/ops/triton/utils/_triton",
    ]
    packages = {".".join(path.split("/")[:n]) for path in inside for n in range(1, 7)}
    return {
        "torch": {**types, "empty": lambda *sizes, **_: _Tensor(shape=sizes)},
        **{name: {} for name in sorted(packages)},
        "aiter.ops.triton._triton_kernels.attention.mla": dict.fromkeys(names),
        "aiter.ops.triton.utils.device_info": {"get_num_sms": lambda: compute_units(shape.arch)},
        "aiter.ops.triton.utils._triton": {
            "arch_info": SimpleNamespace(get_arch=lambda: shape.arch)
        },
        "aiter.ops.triton.utils._triton.kernel_repr": {
            "make_kernel_repr": lambda name, *_, **__: lambda _: name
        },
        "aiter.ops.triton.utils.types": {"e4m3_dtype": "fp8"},
    }


def launched(text: str, shape: Shape) -> dict[str, Any]:
    """The arguments with which AITER launches its kernel for a shape."""
    found: dict[str, Any] = {}

    class Kernel:
        def __getitem__(self, grid: object) -> Any:
            return lambda **given: found.update(given)

    names: dict[str, Any] = {}
    triton = {"next_power_of_2": lambda n: 1 << (n - 1).bit_length()}
    with standing_in({**_stand_ins(shape), "triton": triton}):
        exec(compile(text, HOST, "exec"), names)
    names["triton_mla_decode_fwd_kernel"] = Kernel()
    rows, width = 4, 576
    names["mla_decode_fwd"](
        _Tensor(shape=(rows, shape.heads, width), dtype=shape.q_dtype, device=None),
        _Tensor(shape=(64, shape.page_size, 1, width), dtype=shape.kv_dtype),
        **{"out": None, "cu_seqlens_q": _Tensor(shape=(rows + 1,)), "max_seqlen_kv": 65536},
        seqused_k=_Tensor(shape=(rows,)),
        block_tables=_Tensor(shape=(rows, 64)),
        **{"softmax_scale": 1.0, "kv_lora_rank": 512, "qk_rope_head_dim": 64, "causal": True},
        **{"q_descale": None, "kv_descale": 1.0, "skip_reduce": True},
    )
    return found


def kernel_of(text: str, shape: Shape) -> Any:
    """AITER's kernel, as Triton has it: from a file, as it reads its own source."""
    with tempfile.TemporaryDirectory() as folder, standing_in(_stand_ins(shape)):
        file = Path(folder) / "kernels.py"
        file.write_text(text, encoding="utf-8")
        spec = importlib.util.spec_from_file_location("segmented_kernels", file)
        assert spec is not None
        assert spec.loader is not None
        module: ModuleType = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return getattr(module, KERNEL)


def lds(kernel: Any, given: Mapping[str, Any], shape: Shape) -> int | None:
    """The bytes of LDS that Triton gives the kernel; ``None``: it cannot compile it."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource, compile

    names = {"bf16": "bf16", "fp8": _FP8.get(shape.arch, "fp8e4nv")}
    pointers = {"query_ptr": names[shape.q_dtype], "kv_buffer_ptr": names[shape.kv_dtype]}
    pointers |= dict.fromkeys(("block_tables_ptr", "seq_lens_ptr", "query_start_len_ptr"), "i32")
    wide = {name for name in kernel.arg_names if "stride" in name and name in given}
    wide -= {"stride_kv_buffer_3"}
    types, fixed = {}, {}
    for at, name in enumerate(kernel.arg_names):
        if name.endswith("_ptr") and given[name] is not None:
            types[name] = "*" + pointers.get(name, "fp32")
        elif name in wide:
            types[name] = "i64"
        elif name in ("scale", "num_tokens_per_seq"):
            types[name] = "fp32" if name == "scale" else "i32"
        else:
            types[name], fixed[(at,)] = "constexpr", given.get(name)
    whole = [(at,) for at, name in enumerate(kernel.arg_names) if types[name][0] == "*"]
    source = ASTSource(kernel, types, fixed, {at: [["tt.divisibility", 16]] for at in whole})
    options = {name: given[name] for name in _SIZES}
    try:
        made = compile(source, GPUTarget("hip", shape.arch, 64), options)
    except RuntimeError:
        return None
    return int(made.metadata.shared)


def answers(host: str, kernels: str, shapes: Sequence[Shape]) -> Iterator[tuple[Shape, int | None]]:
    """Each shape, with what its launch takes."""
    for shape in shapes:
        with standing_in(_stand_ins(shape)):
            kernel = kernel_of(kernels, shape)
        yield shape, lds(kernel, launched(host, shape), shape)


def _said(shape: Shape, size: int | None) -> str:
    if size is None:
        return "Triton cannot compile it"
    limit = lds_limit(shape.arch)
    fits = "fits" if limit is None or size <= limit else f"more than the {limit} that there are"
    return f"{size} bytes of LDS, {fits}"


def main(words: Sequence[str] | None = None) -> int:
    """Prints what each launch takes: the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("source", help="where AITER's files come from")
    parser.add_argument("--arch", default="gfx942,gfx950")
    parser.add_argument("--heads", default="16,64,65,128")
    options = parser.parse_args(words)
    with open_source(options.source) as source:
        files = [source.read(path) for path in (HOST, KERNELS)]
    texts = ["" if file is None else file.text for file in files]
    if not all(texts):
        sys.exit(f"{options.source} has no segmented decode")
    shapes = [
        Shape(arch=arch, q_dtype=q, kv_dtype=kv, heads=int(heads), page_size=page)
        for arch, (q, kv), heads, page in product(
            options.arch.split(","), DTYPES, options.heads.split(","), PAGES
        )
    ]
    for shape, size in answers(texts[0], texts[1], shapes):
        what = f"{shape.arch} {shape.q_dtype}/{shape.kv_dtype} {shape.heads} heads"
        print(f"{what}, page size {shape.page_size}: {_said(shape, size)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
