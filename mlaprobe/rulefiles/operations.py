"""The operations, from ``rules/operations.yaml``."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mlaprobe.core.axes import AXES, cell_of
from mlaprobe.core.caches import Cache, cached
from mlaprobe.core.enums import Layout, Operation, Route, StageName
from mlaprobe.core.shape import DecodeShape
from mlaprobe.errors import UsageError
from mlaprobe.rulefiles.loader import Place, load_rules
from mlaprobe.rulefiles.schema import Checked, Flag, ListOf, MapOf, Record, Schema, Text, whole

ALWAYS = ("arch", "dtype", "op", "env")
"""Axes that every operation has a question of."""
_OWN = ("heads", "kv_heads", "qlen", "lse", "causal", "page_size", "batch")
ONE_TOKEN = 1
"""The query length where nobody names one."""
NUMBERS = ("batch", "heads", "kv_heads", "qlen", "page_size", "tokens", "indptr", "some", "pages")
FLAGS = ("causal", "lse")
NOTHING = "none"
"""The name of Python's ``None``."""


def _is_expression(value: str, place: Place, where: str) -> None:
    """Checks that a value is an expression, or a dtype with dimensions in brackets."""
    try:
        node = parsed(value)
    except SyntaxError:
        raise place.error(f"{where}: {value!r} is no expression") from None
    dims = node.slice if isinstance(node, ast.Subscript) else node
    for each in ast.walk(dims):
        if isinstance(each, ast.Name) and each.id not in (*NUMBERS, *FLAGS, NOTHING):
            names = ", ".join((*NUMBERS, *FLAGS, NOTHING))
            raise place.error(f"{where}: unknown name {each.id!r}", f"one of {names}")


def parsed(text: str) -> ast.expr:
    """The syntax tree of a value."""
    return ast.parse(text, mode="eval").body


_VALUE = Checked(Text(), _is_expression)
_ARGUMENTS: Schema = MapOf(_VALUE)
_NAMED = {"module": Text(), "function": Text()}
_PYTHON = {**_NAMED, "arguments": _ARGUMENTS}
_AS_DECODE = Record(optional={"version": whole(0), "rope_dtype": Text()})
_ENTRY = Record(
    required={
        **_NAMED,
        "about": Text(),
        "axes": ListOf(Text(choices=_OWN), at_least=1, unique=True),
        "kv_heads": _VALUE,
        "stages": MapOf(Text(), Text(choices=tuple(map(str, StageName)))),
    },
    optional={
        "persistent": Flag(),
        "also": ListOf(Record(required=_NAMED), at_least=1),
        "launches": Flag(),
        "dtypes": ListOf(Text(pattern="[a-z0-9]+/[a-z0-9]+", form="a dtype pair"), at_least=1),
        "route": Text(choices=tuple(map(str, Route))),
        "layout": Text(choices=tuple(map(str, Layout))),
        "prompts": Flag(),
        "returns_one_split": Flag(),
        "arguments": _ARGUMENTS,
        "arguments_on": MapOf(_ARGUMENTS),
        "head_dim": whole(1),
        "planned_as_decode": _AS_DECODE,
        "sizing": Record(required=_PYTHON),
        "planner": Record(
            required={"file": Text(), "function": Text(), "arguments": _ARGUMENTS},
            optional={"work": Text()},
        ),
    },
)
_CODE_OBJECTS = Record(
    required={"module": Text()},
    optional={"columns": MapOf(whole(0)), "named": Text()},
)
_OPERATION = Record(
    required={"about": Text(), "entries": ListOf(_ENTRY, at_least=1)},
    optional={"code_objects": _CODE_OBJECTS},
)
SCHEMA = MapOf(_OPERATION, Text(choices=tuple(map(str, Operation))))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Function:
    """A function of AITER's, and what it is called with."""

    places: tuple[tuple[str, str], ...]
    """File or module, and name; and where older or newer releases have it."""
    arguments: Mapping[str, str]
    """Expressions by the names of parameters; it may lack some of these."""
    arguments_on: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Those that a caller passes otherwise on an arch, or for a dtype of the KV, by its name."""
    work: str | None = None
    """A function that it hands the batch to, whose loops are not followed."""

    @property
    def place(self) -> tuple[str, str]:
        """The first of its places."""
        return self.places[0]

    @property
    def roles(self) -> dict[str, str]:
        """The names of its parameters, each of which means itself."""
        names = (*self.arguments, *(n for on in self.arguments_on.values() for n in on))
        return {name: name for name in names}

    def passes(self, tensor: str) -> bool:
        """Whether an argument is a tensor of that name: of the dtype of the query, or of the KV."""
        every = (self.arguments, *self.arguments_on.values())
        return any(text.startswith(tensor + "[") for each in every for text in each.values())

    def passed(self, shape: DecodeShape) -> Mapping[str, str]:
        """The arguments for a shape."""
        on = (self.arguments_on.get(str(name), {}) for name in (shape.arch, shape.kv_dtype))
        return {**self.arguments, **dict(item for each in on for item in each.items())}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Entry:
    """One function by which callers carry out an operation, with what else they call for it."""

    op: Operation
    function: Function
    persistent: bool | None
    """Whether the caller passes work metadata; ``None``: nobody does, and the operation has no
    other function."""
    about: str
    axes: tuple[str, ...]
    """What its question consists of, besides arch, dtypes and environment."""
    kv_heads: str
    """The KV heads of a shape that does not name them."""
    stages: Mapping[str, str]
    """What each stage is, in call order."""
    head_dim: int | None = None
    """The values per head that are merged, where a reducer merges them."""
    planned_as_decode: Mapping[str, Any] | None = None
    """What the caller tells the planner of a decode besides, where that plans the work: the
    version of MLA and the dtype of the rope part."""
    sizing: Function | None = None
    planner: Function | None = None
    launches: bool = False
    """Whether the function launches kernels of its own, which have no host and no table."""
    dtypes: tuple[str, ...] | None = None
    """The pairs of dtypes that AITER documents or tests for a function that does not check them;
    ``None``: it does."""
    route: Route | None = None
    """The route of a decode that it is, whose stage answers for it."""
    layout: Layout | None = None
    """How it is given queries, keys and values, where its launches are emulated."""
    prompts: bool = False
    """Whether its query tokens are those of prompts, and not few, as many of each request."""
    returns_one_split: bool = False
    """Whether it may return the result as partial results of one split, and leave the output."""

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function.place[1]

    @property
    def key(self) -> str:
        """What tells it from the functions of other operations."""
        return f"{self.op}/{self.name}" if self.launches else self.name

    @property
    def functions(self) -> tuple[Function, ...]:
        """All that its callers call."""
        return tuple(f for f in (self.function, self.sizing, self.planner) if f is not None)

    @property
    def mode(self) -> bool:
        """What its shapes say of work metadata."""
        return self.persistent is not False

    @property
    def planned(self) -> tuple[StageName, ...]:
        """The stages before the dispatcher."""
        if self.planned_as_decode is not None:
            return StageName.SIZING, StageName.PLANNER
        found = {StageName.SIZING: self.sizing, StageName.PLANNER: self.planner}
        return tuple(name for name, function in found.items() if function is not None)

    def check(self, shape: DecodeShape) -> None:
        """Checks that a shape says nothing that this function has no argument for.

        Raises:
            UsageError: it does.
        """
        cell = cell_of(shape)
        for at, usual in _unasked(self):
            if cell[at] != usual:
                raise UsageError(
                    f"{self.op} by {self.name} has no use for {AXES[at].option}",
                    hint=f"leave it out: the question consists of {', '.join(self.axes)}",
                )

    def asks(self, axis: str) -> bool:
        """Whether an axis is part of its question."""
        if axis == "persistent":
            return self.persistent is not None
        return axis in ALWAYS or axis in self.axes


@cached(Cache.RULES, 64)
def _unasked(entry: Entry) -> tuple[tuple[int, Any], ...]:
    """The places of axes that are no part of an entry's question, with their usual values."""
    return tuple(
        (at, ONE_TOKEN if axis.name == "qlen" else axis.usual)
        for at, axis in enumerate(AXES)
        if not entry.asks(axis.name)
    )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CodeObjects:
    """Which code objects of a source carry an operation out."""

    module: str
    """The kernel module: a folder of each arch, with its table."""
    columns: Mapping[str, int]
    """What columns of the rows of its kernels hold; 0 where the table has no such column."""
    named: str | None
    """Part of the names of its kernels' files in releases without a table, which hold those of no
    other operation."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class OperationRule:
    """An operation."""

    op: Operation
    about: str
    entries: tuple[Entry, ...]
    code_objects: CodeObjects | None = None
    """``None`` for one whose kernels are all compiled where they run."""

    def entry(self, persistent: bool) -> Entry:
        """The function that is called with work metadata, or without.

        Raises:
            UsageError: there is none.
        """
        found = next((e for e in self.entries if e.persistent in (None, persistent)), None)
        if found is None:
            mode = "with work metadata" if persistent else "without work metadata"
            other = "--no-persistent" if persistent else "--persistent"
            raise UsageError(f"{self.op} has no function {mode}", hint=f"ask with {other}")
        return found


@cached(Cache.RULES)
def operations() -> Mapping[Operation, OperationRule]:
    """Every operation, read once. A decode is listed only: its stages have code of their own."""
    return {
        Operation(name): OperationRule(
            op=Operation(name),
            about=rule["about"],
            entries=tuple(_entry(Operation(name), each) for each in rule["entries"]),
            code_objects=_code_objects(rule.get("code_objects")),
        )
        for name, rule in load_rules("operations", SCHEMA).items()
    }


def others() -> tuple[OperationRule, ...]:
    """Every operation but decode."""
    return tuple(rule for op, rule in operations().items() if op is not Operation.DECODE)


def recorded() -> tuple[Entry, ...]:
    """The functions whose answers a snapshot holds besides those of a decode. One that is a route
    of it is among these."""
    return tuple(entry for rule in others() for entry in rule.entries if entry.route is None)


def entry_of(shape: DecodeShape) -> Entry:
    """The function that answers for a shape, the shape checked.

    Raises:
        UsageError: there is none, or it has no argument for something that the shape says.
    """
    found = operations()[shape.op].entry(shape.persistent)
    found.check(shape)
    return found


def of_decode(shape: DecodeShape) -> None:
    """Checks that a shape is a decode, whose stages can be asked alone.

    Raises:
        UsageError: it is another operation.
    """
    if shape.op is not Operation.DECODE:
        raise UsageError(
            f"a stage of {shape.op} cannot be asked alone", hint="its decisions have its stages"
        )


def _entry(op: Operation, rule: Mapping[str, Any]) -> Entry:
    return Entry(
        op=op,
        function=_function(rule),
        persistent=rule.get("persistent"),
        about=rule["about"],
        axes=tuple(rule["axes"]),
        kv_heads=rule["kv_heads"],
        stages=dict(rule["stages"]),
        head_dim=rule.get("head_dim"),
        planned_as_decode=rule.get("planned_as_decode"),
        sizing=_function(rule["sizing"]) if "sizing" in rule else None,
        planner=_function(rule["planner"]) if "planner" in rule else None,
        launches=rule.get("launches", False),
        dtypes=tuple(rule["dtypes"]) if "dtypes" in rule else None,
        route=Route(rule["route"]) if "route" in rule else None,
        layout=Layout(rule["layout"]) if "layout" in rule else None,
        prompts=rule.get("prompts", False),
        returns_one_split=rule.get("returns_one_split", False),
    )


def _code_objects(rule: Mapping[str, Any] | None) -> CodeObjects | None:
    if rule is None:
        return None
    return CodeObjects(
        module=rule["module"], columns=dict(rule.get("columns", {})), named=rule.get("named")
    )


def _function(rule: Mapping[str, Any]) -> Function:
    places = [(each.get("file") or each["module"], each["function"]) for each in _each(rule)]
    return Function(
        places=tuple(places),
        arguments=dict(rule.get("arguments", {})),
        arguments_on=dict(rule.get("arguments_on", {})),
        work=rule.get("work"),
    )


def _each(rule: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    return rule, *rule.get("also", ())
