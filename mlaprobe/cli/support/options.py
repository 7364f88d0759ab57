"""The options that several commands take, each described once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Optional, TypeVar

import typer

T = TypeVar("T")
Text = Optional[str]  # noqa: UP045 (typer reads it at run time, on Python 3.10 too)


def named(value: str | None) -> str | None:
    """Something that is named at all: an empty value is that of a variable that was not set."""
    if value is not None and not value.strip():
        raise typer.BadParameter("nothing is named")
    return value


def _a_file(value: str | None) -> str | None:
    """A file that can be written, as far as can be seen: nobody waits for what has no place."""
    if named(value) not in (None, "-"):
        from mlaprobe.cli.support.emit import check_writable

        check_writable(Path(str(value)))
    return value


AiterOption = Annotated[
    str,
    typer.Option(
        "--aiter",
        metavar="SOURCE",
        callback=named,
        help="installed, a directory, REPO@REV, a wheel, sdist or zip, a snapshot, release:TAG.",
    ),
]
ArchList = Annotated[
    Text, typer.Option("--arch", metavar="LIST", help="For example gfx942,gfx950.")
]
DtypeList = Annotated[
    Text,
    typer.Option("--dtype", metavar="LIST", help="Pairs q/kv, for example fp8/fp8,bf16/bf16."),
]
HeadsList = Annotated[
    Text, typer.Option("--heads", metavar="LIST", help="Query heads per rank: 1-160,200.")
]
QlenList = Annotated[
    Text, typer.Option("--qlen", metavar="LIST", help="Query tokens per request: 1-8.")
]
LseList = Annotated[
    Text, typer.Option("--lse", metavar="0,1", help="Whether the log-sum-exp is wanted.")
]
PersistentList = Annotated[
    Text, typer.Option("--persistent", metavar="0,1", help="With work metadata or without.")
]
CausalList = Annotated[Text, typer.Option("--causal", metavar="0,1", help="Causal mask or none.")]
RoundRobinList = Annotated[
    Text,
    typer.Option("--cp-round-robin", metavar="0,1", help="Round-robin context parallelism."),
]
BatchList = Annotated[
    Text,
    typer.Option(
        "--batch", metavar="LIST", help="Requests; unset: gates on it are notes, not applied."
    ),
]
PageSizeList = Annotated[
    Text, typer.Option("--page-size", metavar="LIST", help="KV tokens per page.")
]
RouteOption = Annotated[str, typer.Option("--route", metavar="ROUTE", help="asm or gluon.")]
RouteFilter = Annotated[Text, typer.Option("--route", metavar="ROUTE", help="asm or gluon.")]
EnvOption = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option("--env", metavar="NAME=VALUE", help="A variable that is set; repeatable."),
]
PlannerOption = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option(
        "--planner",
        metavar="FIELD=VALUE",
        help="What the planner is told otherwise, as q_dtype=none or fast_mode=0; repeatable.",
    ),
]
OutputOption = Annotated[
    Text,
    typer.Option(
        "--output", "-o", metavar="FILE", callback=_a_file, help="Write there, not to stdout."
    ),
]
OutputFile = Annotated[
    str,
    typer.Option(
        "--output", "-o", metavar="FILE", callback=_a_file, help="The file; - for stdout."
    ),
]
RecordFile = Annotated[
    Text,
    typer.Option(
        "--json", metavar="FILE", callback=_a_file, help="Where the self-test's record goes."
    ),
]
ResultsFile = Annotated[
    str,
    typer.Option(
        "--results", metavar="FILE", callback=_a_file, help="What is measured, as JSON lines."
    ),
]
DeploymentsFile = Annotated[
    Text,
    typer.Option(
        "--deployments",
        metavar="FILE",
        callback=named,
        help="Only what a team serves, from YAML.",
    ),
]
WaiversFile = Annotated[
    Text,
    typer.Option(
        "--waivers", metavar="FILE", callback=named, help="Changes that do not count, from YAML."
    ),
]
ProfileFile = Annotated[
    Text,
    typer.Option("--profile", metavar="FILE", callback=named, help="A measured cost profile."),
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no warnings.")]

# One shape.
ArchHere = Annotated[
    Text, typer.Option("--arch", metavar="ARCH", help="Default: this machine's GPU.")
]
ArchOne = Annotated[str, typer.Option("--arch", metavar="ARCH", help="For example gfx950.")]
DtypeOne = Annotated[
    str, typer.Option("--dtype", metavar="Q/KV", help="Query and KV dtype: fp8/fp8.")
]
HeadsOne = Annotated[str, typer.Option("--heads", metavar="N", help="Query heads per rank.")]
QlenOne = Annotated[str, typer.Option("--qlen", metavar="N", help="Query tokens per request.")]
LseFlag = Annotated[bool, typer.Option("--lse/--no-lse", help="The log-sum-exp is wanted.")]
PersistentFlag = Annotated[
    bool, typer.Option("--persistent/--no-persistent", help="With work metadata or without.")
]
CausalFlag = Annotated[bool, typer.Option("--causal/--no-causal", help="Causal mask or none.")]
RoundRobinFlag = Annotated[
    bool,
    typer.Option("--cp-round-robin/--no-cp-round-robin", help="Round-robin context parallelism."),
]
BatchOne = Annotated[
    Text, typer.Option("--batch", metavar="N", help="Requests; unset: gates on it are notes.")
]
PageSizeOne = Annotated[str, typer.Option("--page-size", metavar="N", help="KV tokens per page.")]

# How a plan is made, and where it runs.
ModeOption = Annotated[
    str,
    typer.Option("--mode", metavar="MODE", help="off, auto or force: how far heads are padded."),
]
PlanRoute = Annotated[str, typer.Option("--route", metavar="ROUTE", help="auto, asm or gluon.")]
StrategyOption = Annotated[
    str, typer.Option("--strategy", metavar="HOW", help="tile, repeat or zero.")
]
KvLenOne = Annotated[
    Text, typer.Option("--kv-len", metavar="N", help="KV tokens per request, for the cost.")
]
BackendOption = Annotated[
    str, typer.Option("--backend", metavar="NAME", help="auto, aiter, triton or torch.")
]
SCHEDULES = ("one", "garbage", "plausible", "all")
"""How an emulated launch is run again."""
CacheBytes = Annotated[
    Text,
    typer.Option(
        "--kv-cache-bytes",
        metavar="N",
        help="Emulated: spread the pages over a cache of so many bytes: 5GiB.",
    ),
]
DecodeBackendOption = Annotated[
    str, typer.Option("--backend", metavar="NAME", help="auto, aiter, emulate, triton or torch.")
]
DeviceOption = Annotated[
    Text, typer.Option("--device", metavar="DEVICE", help="Default: a GPU if there is one.")
]


def _filters(
    arch: ArchList = None,
    dtype: DtypeList = None,
    heads: HeadsList = None,
    qlen: QlenList = None,
    lse: LseList = None,
    persistent: PersistentList = None,
    causal: CausalList = None,
    cp_round_robin: RoundRobinList = None,
    batch: BatchList = None,
    page_size: PageSizeList = None,
    route: RouteFilter = None,
    env: EnvOption = None,
    planner: PlannerOption = None,
) -> None:
    """The options that say which shapes a command is about."""


Filters = Optional[Mapping[str, Any]]  # noqa: UP045
_FILTERS = inspect.signature(_filters, eval_str=True).parameters
FILTERS = tuple(_FILTERS)


def with_filters(command: Callable[..., T]) -> Callable[..., T]:
    """A command whose parameter ``filters`` stands for all filters: typer sees an option for each
    in its place."""
    own = inspect.signature(command, eval_str=True)
    parameters: list[inspect.Parameter] = []
    for each in own.parameters.values():
        parameters += _FILTERS.values() if each.name == "filters" else (each,)

    @wraps(command)
    def call(**given: Any) -> T:
        return command(filters={name: given.pop(name) for name in FILTERS}, **given)

    call.__annotations__ = {each.name: each.annotation for each in parameters}
    call.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    return call
