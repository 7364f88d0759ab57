"""A pair of trees for each rule: one that it is silent about, and one with what it finds."""

from __future__ import annotations

from dataclasses import dataclass

from mlaprobe.core.blobs import blob_hash
from mlaprobe.core.enums import Operation, Standing
from mlaprobe.rulefiles.outcomes import KernelRecord, KernelRun
from tests.trees import indices, today
from tests.trees.common import Row, Tree, changed, code_object, tables

GFX942, GFX950 = "hsa/gfx942/mla/mla_asm.csv", today.TABLE
PLAIN = Row("fp8", "fp8", 16, 0, 1)
"""A row that is looked up without work metadata only."""


WRONG = Row("fp8", "fp8", 16, 1, 1)
WRONG_FILE = code_object(WRONG.symbol, lds=1)
"""A code object that was emulated and not right, as ``RECORD`` says."""
RECORD = KernelRecord(
    blob=blob_hash(WRONG_FILE),
    kernel=WRONG.symbol,
    co=f"{WRONG.symbol}.co",
    release="v0.1.20",
    runs=(
        KernelRun(
            dtype="fp8/fp8",
            heads=16,
            qlen=1,
            kv=((200, 163),),
            outcome=Standing.WRONG,
            text="7 of 9 values differ",
        ),
    ),
)


@dataclass(frozen=True)
class Pair:
    """Two trees."""

    good: Tree
    bad: Tree
    also: frozenset[str] = frozenset()
    """Other rules that have to do with the same fault."""
    op: Operation = Operation.DECODE
    """What is asked about too."""


def _table(arch: str, rows: list[Row], **files: bytes) -> Tree:
    base = today.tree()
    other = {**today.ROWS, arch: rows}
    kept = {path: data for path, data in base.items() if not path.startswith("hsa/")}
    return {**kept, **tables(other), **files}


def _without(arch: str, *rows: Row) -> Tree:
    return _table(arch, [row for row in today.ROWS[arch] if row not in rows])


def _with_lines(path: str, *lines: str) -> Tree:
    base = today.tree()
    return {**base, path: str(base[path]) + "".join(f"{line}\n" for line in lines)}


PLANNER_FP8 = "((num_heads == 32) || (num_heads == 128)))"
DISPATCHER_FP8 = "and (nhead == 32 or nhead == 128 or"


RELEASE: Tree = {"aiter/_version.py": 'version = "0.1.20"\n'}


def fold_32() -> Tree:
    """A release in which 32 heads of fp8 fold, for planner and dispatcher alike."""
    tree = changed(today.tree(), today.PLANNER, (PLANNER_FP8, "(num_heads == 128))"))
    return changed(tree, today.DISPATCHER, (DISPATCHER_FP8, "and (nhead == 128 or"))


def _line(row: Row, name: str, file: str | None = None) -> str:
    keys = f"{row.q},{row.kv},{row.heads},{row.ps},{row.qlen},0,1,{row.lse},0"
    return f"{keys},{name},{file or row.symbol + '.co'}"


def _takes_causal() -> Tree:
    base = today.tree()
    last = "    reduce_partial_map=None,\n    return_lse=False,\n"
    return changed(base, today.DISPATCHER, (last, last + "    causal=True,\n"))


def pairs() -> dict[str, Pair]:
    """All pairs, by rule."""
    base = today.tree()
    symbol = f"hsa/gfx942/mla/{PLAIN.symbol}.co"
    no_file = {path: data for path, data in base.items() if path != symbol}
    return {
        # 48 heads are native for the planner, and folded by the dispatcher.
        "MLA001": Pair(
            base,
            changed(
                base,
                today.PLANNER,
                (PLANNER_FP8, "((num_heads == 32) || (num_heads == 48) || (num_heads == 128)))"),
            ),
        ),
        "MLA002": Pair(base, _without("gfx950", Row("fp8", "fp8", 32, 1, 1))),
        # The 16-head kernel is that of the folded shapes and of 16 heads themselves.
        "MLA003": Pair(
            base, _without("gfx942", Row("fp8", "fp8", 16, 1, 1)), frozenset({"MLA002"})
        ),
        "MLA004": Pair(
            base,
            {
                **base,
                today.REDUCER: today.REDUCER_HEAD
                + today.router(tuple(case for case in today.ROUTED if case != (96, 512)))
                + today.REDUCER_ENTRY,
            },
        ),
        "MLA005": Pair(
            base,
            {
                **_with_lines(GFX942, _line(PLAIN, "other", "other.co")),
                "hsa/gfx942/mla/other.co": code_object("other"),
            },
        ),
        "MLA006": Pair(base, _with_lines(GFX942, _line(Row("fp8", "fp8", 16, 0, 7), PLAIN.symbol))),
        "MLA007": Pair(base, no_file),
        "MLA008": Pair(base, {**base, symbol: code_object("another")}),
        # 128 heads look up the query length 0, whatever theirs is.
        "MLA009": Pair(
            base, _table("gfx942", [*today.ROWS["gfx942"], Row("fp8", "fp8", 128, 1, 3)])
        ),
        # Both fold 32 heads for fp8, and the planner takes them as they are for bf16.
        # The kernels of 32 heads are out of reach then, and folded ones are missing with the LSE.
        "MLA010": Pair(base, fold_32(), frozenset({"MLA003", "MLA016"})),
        "MLA011": Pair(
            base,
            changed(
                base, today.OPS, ("assert num_head_qo % 8 == 0", "assert num_head_qo % 16 == 0")
            ),
        ),
        "MLA012": Pair(_takes_causal(), base, frozenset({"MLA013"})),
        "MLA013": Pair(
            base,
            changed(
                base,
                today.DISPATCHER,
                (
                    "    page_size=1,\n    nhead_kv=1,\n",
                    "    scale=None,\n    page_size=1,\n    nhead_kv=1,\n",
                ),
            ),
        ),
        "MLA014": Pair(
            base,
            changed(
                base,
                today.PLANNER,
                (
                    "        (num_heads == 16) ||\n",
                    "        (num_heads == 16) || lookup_table(num_heads) ||\n",
                ),
            ),
        ),
        # Several query tokens of 32 heads without metadata, in a release that an erratum names.
        "MLA015": Pair(
            {**base, **RELEASE},
            {
                **_table("gfx942", [*today.ROWS["gfx942"], Row("bf16", "bf16", 32, 0, 2)]),
                **RELEASE,
            },
        ),
        # The dispatcher refuses 8 heads of fp8.
        "MLA016": Pair(base, _table("gfx942", [*today.ROWS["gfx942"], Row("fp8", "fp8", 8, 1, 2)])),
        "MLA017": Pair(
            base,
            changed(
                base,
                today.OPS,
                ("def hk_mla_decode_fwd(", "def hk_mla_v32_decode_fwd("),
            ),
        ),
        "MLA018": Pair(base, {**base, f"hsa/gfx950/mla/{WRONG.symbol}.co": WRONG_FILE}),
        # The index vectors of a fold are those of the caller, and read by request.
        "MLA019": Pair(indices.tree(indices.following(*indices.NAMES)), indices.tree()),
    }
