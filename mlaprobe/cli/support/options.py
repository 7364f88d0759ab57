"""The options that several commands take, each described once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Optional, TypeVar

import typer

T = TypeVar("T")
# Typer reads these at run time, on Python 3.10 too.
Text = Optional[str]  # noqa: UP045
Texts = Optional[list[str]]  # noqa: UP045


def named(value: str | None) -> str | None:
    """Something that is named at all: an empty value is that of a variable that was not set."""
    if value is not None and not value.strip():
        raise typer.BadParameter("nothing is named")
    return value


def _a_file(value: str | None) -> str | None:
    """A file that can be written, as far as can be seen before the work begins."""
    if named(value) not in (None, "-"):
        from mlaprobe.cli.support.emit import check_writable

        check_writable(Path(str(value)))
    return value


def option(name: str, metavar: str, help: str, **more: Any) -> Any:
    """An option that takes a value, for typer.

    Args:
        name: with its dashes; several names have a space between them.
        metavar: what the help calls its value.
        more: as ``typer.Option`` takes it.
    """
    return typer.Option(*name.split(), metavar=metavar, help=help, **more)


def switch(name: str, help: str) -> Any:
    """An option that takes none, for typer.

    Args:
        name: with its dashes, and perhaps ``/--no-...`` or a short name after a space.
    """
    return typer.Option(*name.split(), help=help)


_SPEC = "installed, a directory, REPO@REV, a wheel, sdist or zip, a snapshot, release:TAG."
AiterOption = Annotated[str, option("--aiter", "SOURCE", _SPEC, callback=named)]
QuietOption = Annotated[bool, switch("--quiet -q", "No progress, no warnings.")]

# Many shapes.
ArchList = Annotated[Text, option("--arch", "LIST", "For example gfx942,gfx950.")]
_PAIRS = "Pairs q/kv, for example fp8/fp8,bf16/bf16."
DtypeList = Annotated[Text, option("--dtype", "LIST", _PAIRS)]
HeadsList = Annotated[Text, option("--heads", "LIST", "Query heads per rank: 1-160,200.")]
QlenList = Annotated[Text, option("--qlen", "LIST", "Query tokens per request: 1-8.")]
LseList = Annotated[Text, option("--lse", "0,1", "Whether the log-sum-exp is wanted.")]
_METADATA = "With work metadata or without."
PersistentList = Annotated[Text, option("--persistent", "0,1", _METADATA)]
CausalList = Annotated[Text, option("--causal", "0,1", "Causal mask or none.")]
_ROUND_ROBIN = "Round-robin context parallelism."
RoundRobinList = Annotated[Text, option("--cp-round-robin", "0,1", _ROUND_ROBIN)]
_GATES = "Requests; unset: gates on it are notes, not applied."
BatchList = Annotated[Text, option("--batch", "LIST", _GATES)]
PageSizeList = Annotated[Text, option("--page-size", "LIST", "KV tokens per page.")]
_LAYER = "Bytes of one layer's KV cache: 20GiB; unset: what fails in a large one is a note."
CacheList = Annotated[Text, option("--kv-cache-bytes", "LIST", _LAYER)]
_SPLITS = "Parts that KV is split into; unset: AITER chooses."
SplitsList = Annotated[Text, option("--num-kv-splits --kv-splits", "LIST", _SPLITS)]
_SPARSE = "Work metadata for the top-k tokens of sparse attention."
SparseList = Annotated[Text, option("--sparse", "0,1", _SPARSE)]
RouteFilter = Annotated[Text, option("--route", "ROUTE", "asm or gluon.")]
_VARIABLE = "A variable that is set; repeatable."
EnvOption = Annotated[Texts, option("--env", "NAME=VALUE", _VARIABLE)]
_OVERRIDE = "What the planner is told otherwise, as q_dtype=none or fast_mode=0; repeatable."
PlannerOption = Annotated[Texts, option("--planner", "FIELD=VALUE", _OVERRIDE)]
_OPERATION = "The operation, decode by default: mlaprobe ops lists them."
OperationOption = Annotated[Text, option("--op", "NAME", _OPERATION)]
_KV_HEADS = "KV heads per rank, of operations that take them."
KvHeadsList = Annotated[Text, option("--kv-heads", "LIST", _KV_HEADS)]

# One shape.
ArchHere = Annotated[Text, option("--arch", "ARCH", "Default: this machine's GPU.")]
ArchOne = Annotated[str, option("--arch", "ARCH", "For example gfx950.")]
DtypeOne = Annotated[str, option("--dtype", "Q/KV", "Query and KV dtype: fp8/fp8.")]
HeadsOne = Annotated[str, option("--heads", "N", "Query heads per rank.")]
QlenOne = Annotated[str, option("--qlen", "N", "Query tokens per request.")]
LseFlag = Annotated[bool, switch("--lse/--no-lse", "The log-sum-exp is wanted.")]
PersistentFlag = Annotated[bool, switch("--persistent/--no-persistent", _METADATA)]
CausalFlag = Annotated[bool, switch("--causal/--no-causal", "Causal mask or none.")]
RoundRobinFlag = Annotated[bool, switch("--cp-round-robin/--no-cp-round-robin", _ROUND_ROBIN)]
BatchOne = Annotated[Text, option("--batch", "N", "Requests; unset: gates on it are notes.")]
PageSizeOne = Annotated[str, option("--page-size", "N", "KV tokens per page.")]
CacheOne = Annotated[Text, option("--kv-cache-bytes", "N", _LAYER)]
SplitsOne = Annotated[Text, option("--num-kv-splits --kv-splits", "N", _SPLITS)]
SparseFlag = Annotated[bool, switch("--sparse/--no-sparse", _SPARSE)]
RouteOption = Annotated[str, option("--route", "ROUTE", "asm or gluon.")]
KvHeadsOne = Annotated[Text, option("--kv-heads", "N", _KV_HEADS)]

# Files.
_STDOUT = "Write there, not to stdout."
OutputOption = Annotated[Text, option("--output -o", "FILE", _STDOUT, callback=_a_file)]
_FILE = "The file; - for stdout."
OutputFile = Annotated[str, option("--output -o", "FILE", _FILE, callback=_a_file)]
_RECORD = "Where the self-test's record goes."
RecordFile = Annotated[Text, option("--json", "FILE", _RECORD, callback=_a_file)]
_LINES = "What is measured, as JSON lines."
ResultsFile = Annotated[str, option("--results", "FILE", _LINES, callback=_a_file)]
_SERVED = "Only what a team serves, from YAML."
DeploymentsFile = Annotated[Text, option("--deployments", "FILE", _SERVED, callback=named)]
_LIVED_WITH = "Changes that do not count, from YAML."
WaiversFile = Annotated[Text, option("--waivers", "FILE", _LIVED_WITH, callback=named)]
_PROFILE = "A measured cost profile."
ProfileFile = Annotated[Text, option("--profile", "FILE", _PROFILE, callback=named)]

# How a plan is made, and where it runs.
_MODES = "off, auto or force: how far heads are padded."
ModeOption = Annotated[str, option("--mode", "MODE", _MODES)]
PlanRoute = Annotated[str, option("--route", "ROUTE", "auto, asm or gluon.")]
StrategyOption = Annotated[str, option("--strategy", "HOW", "tile, repeat or zero.")]
KvLenOne = Annotated[Text, option("--kv-len", "N", "KV tokens per request, for the cost.")]
BackendOption = Annotated[str, option("--backend", "NAME", "auto, aiter, triton or torch.")]
SCHEDULES = ("one", "garbage", "timing", "races", "plausible", "all")
"""How an emulated launch is run again."""
_SPREAD = "Emulated: spread the pages over a cache of so many bytes: 5GiB."
CacheBytes = Annotated[Text, option("--kv-cache-bytes", "N", _SPREAD)]
_SCALES = "What fp8 query and cache are multiplied with: 0.5,1.5."
Scales = Annotated[Text, option("--scales", "Q,KV", _SCALES)]
_BACKENDS = "auto, aiter, emulate, triton or torch."
DecodeBackendOption = Annotated[str, option("--backend", "NAME", _BACKENDS)]
DeviceOption = Annotated[Text, option("--device", "DEVICE", "Default: a GPU if there is one.")]


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
    kv_cache_bytes: CacheList = None,
    num_kv_splits: SplitsList = None,
    sparse: SparseList = None,
    route: RouteFilter = None,
    env: EnvOption = None,
    planner: PlannerOption = None,
    op: OperationOption = None,
    kv_heads: KvHeadsList = None,
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
