"""``mlaprobe models``: what deployments of MLA models launch, the troubled ones first."""

from __future__ import annotations

import re
from typing import Annotated, Any

import typer

from mlaprobe.cli.support import common, emit, shapes
from mlaprobe.cli.support import options as o
from mlaprobe.cli.support.progress import Progress
from mlaprobe.core.enums import Operation
from mlaprobe.errors import UsageError

FORMATS = ("text", "json", "jsonl", "markdown")
MODELS = "Ids, names or families; default: all."
DRAFTS = "Draft tokens per step, 0-7; default: those that the weights serve themselves."
PAIRS = "Pairs q/kv, for example fp8/fp8."
EPILOG = """\b
Examples:
  mlaprobe models --arch gfx950
  mlaprobe models --arch gfx950 --model kimi-k3 --tp 8 --dcp 1,2,4,8 --draft 0-3
  mlaprobe models --arch gfx942,gfx950 --dtype fp8/fp8 --model deepseek
  mlaprobe models --arch gfx950 --op prefill
  mlaprobe models --arch gfx950 --format jsonl
"""
_MOST_DRAFT = 63
DCPS = "1,2,4,8"


def models(
    ctx: typer.Context,
    aiter: o.AiterOption = "installed",
    model: Annotated[o.Text, o.option("--model", "LIST", MODELS)] = None,
    tp: Annotated[str, o.option("--tp", "LIST", "Tensor parallel sizes.")] = "1,2,4,8,16",
    dcp: Annotated[str, o.option("--dcp", "LIST", "Decode context parallel sizes.")] = DCPS,
    draft: Annotated[o.Text, o.option("--draft", "LIST", DRAFTS)] = None,
    arch: Annotated[o.Text, o.option("--arch", "LIST", "Default: this machine's GPU.")] = None,
    dtype: Annotated[str, o.option("--dtype", "LIST", PAIRS)] = "bf16/bf16,fp8/fp8",
    batch: o.BatchOne = None,
    page_size: o.PageSizeOne = "1",
    kv_cache_bytes: o.CacheOne = None,
    kv_len: o.KvLenOne = None,
    env: o.EnvOption = None,
    op: o.OperationOption = None,
    format: str = typer.Option("text", "--format", metavar="FORMAT", help=", ".join(FORMATS) + "."),
    output: o.OutputOption = None,
    quiet: o.QuietOption = False,
) -> None:
    """For each deployment the decode heads, what happens, the pad target and the expected gain.

    Those that break come first, then those that fold most. With --op: what an operation besides
    decode does with the heads of each rank, and the least count that runs.
    """
    _run(ctx.params)


def _run(given: dict[str, Any]) -> None:
    from mlaprobe.reports.deployments import assess

    common.parse_choice("--format", given["format"], FORMATS)
    if common.parse_operation("--op", given["op"] or "decode") is not Operation.DECODE:
        _operation(given)
        return
    wanted = wanted_deployments(given)
    grid = _grid(given)
    answers = common.reading(given["aiter"], quiet=given["quiet"], quick=True)
    common.warn_unnamed([answers], grid["archs"], quiet=given["quiet"])
    total = len(wanted) * len(grid["archs"]) * len(grid["dtypes"])
    with Progress("deployments", total, quiet=given["quiet"]) as progress:
        found = assess(answers, wanted, step=progress.step, **grid)
    if given["format"] == "text":
        from mlaprobe.output.models_text import models as lines_of

        emit.write_text(lines_of, answers.source, found, output=given["output"])
        return
    emit.write(_text(given["format"], answers.source, found), given["output"])


_OF_DECODE = {
    **{"dcp": DCPS, "draft": None, "batch": None, "page_size": "1", "kv_cache_bytes": None},
    **{"kv_len": None, "env": None},
}
"""Options that say how a decode is launched, with their defaults."""


def _operation(given: dict[str, Any]) -> None:
    """The deployments in an operation besides decode."""
    from mlaprobe.output import operation_models as shown
    from mlaprobe.output.tabular import json_array, jsonl
    from mlaprobe.reports.operation_models import launches

    common.refuse_of_decode(given, _OF_DECODE)
    op = Operation(given["op"])
    wanted = wanted_deployments({**given, "dcp": "1", "draft": "0"})
    grid = _grid(given)
    archs, dtypes = grid["archs"], grid["dtypes"]
    answers = common.reading(given["aiter"], quiet=given["quiet"], quick=True)
    common.warn_unnamed([answers], archs, quiet=given["quiet"])
    with Progress("settings", quiet=given["quiet"]) as progress:
        found = launches(answers, op, wanted, archs=archs, dtypes=dtypes, step=progress.step)
    form, output = given["format"], given["output"]
    if form == "text":
        emit.write_text(shown.launch_lines, answers.source, op, found, output=output)
    elif form == "markdown":
        emit.write(shown.launch_markdown(found), output)
    else:
        rows = shown.launch_rows(found)
        head = shown.launch_head(answers.source)
        emit.write(jsonl(rows) if form == "jsonl" else json_array(rows, head), output)


def _text(form: str, source: Any, found: Any) -> Any:
    from mlaprobe.output import SCHEMA
    from mlaprobe.output.models_text import models_markdown
    from mlaprobe.output.report_data import source_row
    from mlaprobe.output.resolve_data import assessment_rows
    from mlaprobe.output.tabular import json_array, jsonl

    if form == "markdown":
        return [models_markdown(found)]
    rows = assessment_rows(found)
    if form == "jsonl":
        return jsonl(rows)
    return json_array(rows, {"schema": SCHEMA, "source": source_row(source)})


def wanted_deployments(given: dict[str, Any]) -> tuple[Any, ...]:
    from mlaprobe.rulefiles.models import deployments, find
    from mlaprobe.rulefiles.models import models as all_models

    if given["model"] is None:
        chosen = all_models()
    else:
        names = common.parse_names("--model", given["model"])
        chosen = tuple(dict.fromkeys(model for name in names for model in find(name)))
    tps = common.parse_numbers("--tp", given["tp"])
    dcps = common.parse_numbers("--dcp", given["dcp"])
    drafts = None if given["draft"] is None else _drafts(given["draft"])
    found = tuple(
        each
        for model in chosen
        for each in deployments([model], tps=tps, dcps=dcps, drafts=drafts or model.drafts)
    )
    if not found:
        raise UsageError(
            "no deployment is possible with these sizes",
            hint="the heads must split evenly over --tp, and --dcp must divide it",
        )
    return found


def _drafts(text: str) -> tuple[int, ...]:
    """Draft lengths: numbers from 0 and ranges."""
    found: dict[int, None] = {}
    for part in text.split(","):
        match = re.fullmatch(r"(\d{1,4})(?:-(\d{1,4}))?", part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if not first <= last <= _MOST_DRAFT:
            raise UsageError(
                f"--draft: {part!r} is no draft length or range up to {_MOST_DRAFT}",
                hint="write numbers from 0 and ranges, for example --draft 0-3",
            )
        found.update(dict.fromkeys(range(first, last + 1)))
    return tuple(found)


def _grid(given: dict[str, Any]) -> dict[str, Any]:
    from mlaprobe.system.gpu import arch as local_arch

    archs = given["arch"]
    return {
        "archs": common.parse_archs("--arch", archs) if archs else (local_arch(),),
        "dtypes": common.parse_dtypes("--dtype", given["dtype"]),
        **{name: shapes.parse_optional(given, name) for name in ("page_size", "batch", "kv_len")},
        "kv_cache_bytes": shapes.parse_cache(given),
        "env": common.parse_env("--env", given["env"] or ()),
    }
