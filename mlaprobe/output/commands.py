"""Commands that a person can copy from the output and run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import replace

from mlaprobe.core.axes import describe_overrides
from mlaprobe.core.grid import Grid
from mlaprobe.core.inputs import bytes_in_words
from mlaprobe.core.shape import (
    Decision,
    DecodeShape,
    Operation,
    PlannerCall,
    Route,
    Verdict,
)
from mlaprobe.output.escape import printable
from mlaprobe.output.rows import plain

DEFAULT_SOURCE = "installed"
_SAFE = re.compile(r"[A-Za-z0-9_./@:=+~%-]+")


def quote(text: str) -> str:
    """A word for a POSIX shell; characters that cannot be seen in bash's own notation."""
    if _SAFE.fullmatch(text):
        return text
    if printable(text) == text:
        return shlex.quote(text)
    return "$'" + printable(text.replace("\\", "\\\\").replace("'", "\\'")) + "'"


def source_words(spec: str) -> list[str]:
    """The option that names the source, where it is not the default."""
    return [] if spec == DEFAULT_SOURCE else ["--aiter", quote(spec)]


def shape_words(shape: DecodeShape) -> list[str]:
    """The options that name a shape, defaults left out."""
    words = ["--arch", quote(shape.arch), "--dtype", shape.dtype, "--heads", str(shape.num_heads)]
    if shape.qlen != 1:
        words += ["--qlen", str(shape.qlen)]
    switches = {
        "--lse": shape.lse,
        "--no-persistent": not shape.persistent,
        "--no-causal": not shape.causal,
        "--cp-round-robin": shape.cp_round_robin,
        "--sparse": shape.sparse,
    }
    words += [option for option, given in switches.items() if given]
    if shape.batch is not None:
        words += ["--batch", str(shape.batch)]
    if shape.page_size != 1:
        words += ["--page-size", str(shape.page_size)]
    if shape.kv_cache_bytes is not None:
        words += ["--kv-cache-bytes", str(shape.kv_cache_bytes)]
    if shape.num_kv_splits is not None:
        words += ["--num-kv-splits", str(shape.num_kv_splits)]
    if shape.route is not Route.ASM:
        words += ["--route", shape.route.value]
    for name, value in shape.env:
        words += ["--env", quote(f"{name}={value}")]
    for name, override in plain(shape.planner).items():
        words += ["--planner", f"{name}={_planner_word(override)}"]
    if shape.op is not Operation.DECODE:
        words += ["--op", shape.op.value]
    if shape.num_kv_heads is not None:
        words += ["--kv-heads", str(shape.num_kv_heads)]
    return words


def _planner_word(value: object) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return "none" if value is None else str(value)


def explain(shape: DecodeShape, spec: str) -> str:
    """The command that explains a shape."""
    return " ".join(["mlaprobe explain", *source_words(spec), *shape_words(shape)])


def resolve(shape: DecodeShape, spec: str) -> str:
    """The command that says what to launch instead."""
    plain_call = replace(shape, planner=PlannerCall())
    return " ".join(["mlaprobe resolve", *source_words(spec), *shape_words(plain_call)])


def described(shape: DecodeShape, *, defaults: bool) -> dict[str, str]:
    """What a shape says besides arch, dtypes, heads and qlen, as people say it, by field."""
    flags = {
        "lse": ("with LSE" if shape.lse else "without LSE", shape.lse),
        "persistent": (
            "persistent" if shape.persistent else "non-persistent",
            not shape.persistent,
        ),
        "causal": ("causal" if shape.causal else "not causal", not shape.causal),
        "page_size": (f"page size {shape.page_size}", shape.page_size != 1),
    }
    found = {field: text for field, (text, unusual) in flags.items() if defaults or unusual}
    if shape.cp_round_robin:
        found["cp_round_robin"] = "round-robin context parallel"
    if shape.sparse:
        found["sparse"] = "sparse"
    if shape.kv_cache_bytes is not None:
        found["kv_cache_bytes"] = f"a KV cache of {bytes_in_words(shape.kv_cache_bytes)}"
    if shape.num_kv_splits is not None:
        found["num_kv_splits"] = f"KV splits {shape.num_kv_splits}"
    if shape.batch is not None:
        found["batch"] = f"batch {shape.batch}"
    if shape.route is not Route.ASM:
        found["route"] = f"route {shape.route}"
    if shape.env:
        found["env"] = ", ".join(printable(f"{name}={value}") for name, value in shape.env)
    if words := describe_overrides(shape.planner):
        found["planner"] = f"planner told {words}"
    if shape.op is not Operation.DECODE:
        from mlaprobe.rulefiles.operations import operations

        entry = operations()[shape.op].entry(shape.persistent)
        found = {name: text for name, text in found.items() if entry.asks(name)}
        if shape.num_kv_heads is not None:
            found["kv_heads"] = f"{shape.num_kv_heads} KV heads"
    return found


def in_words(shape: DecodeShape, *, defaults: bool = False) -> str:
    """The same as one piece of text."""
    return ", ".join(described(shape, defaults=defaults).values())


def every_answer(grid: Grid) -> str:
    """The options of ``table`` for all that can be asked of an operation."""
    return "--qlen 1-8 --lse 0,1" if grid.op is Operation.DECODE else f"--op {grid.op}"


def worth_explaining(decisions: Iterable[Decision]) -> DecodeShape | None:
    """A fold, since people can do something about it; else trouble; else anything."""
    found = tuple(decisions)
    for wanted in (Verdict.FOLDED, *_TROUBLE_FIRST, Verdict.NATIVE):
        for decision in found:
            if decision.verdict is wanted:
                return decision.shape
    return found[0].shape if found else None


_TROUBLE_FIRST = (Verdict.INCOHERENT, Verdict.NO_KERNEL, Verdict.NO_REDUCER, Verdict.REJECTED)
