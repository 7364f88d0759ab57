"""The kernel tables and code objects of a source, as AITER's host code sees them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, cast

from mlaprobe.core.shape import Kernel
from mlaprobe.errors import SourceError
from mlaprobe.evaluator.engine.runs import PROBE, Run
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.stl.keptmaps import Entries, pair
from mlaprobe.evaluator.values import Args, Kwargs, Unknown, Value
from mlaprobe.evaluator.values.kinds import Builtin, Model, Record
from mlaprobe.evaluator.values.unordered import Unordered
from mlaprobe.kernels import KernelTable, TableRow, comment_rule, has_kernel, lds_bytes, read_tables
from mlaprobe.stages.environment.session import SourceSession

GENERATOR = "hsa/codegen.py"


class Tables:
    """Every kernel table of a source."""

    def __init__(self, session: SourceSession) -> None:
        self.session = session
        self._files = session.files("hsa", (".csv", ".co"))
        self._present = frozenset(self._files)

    @cached_property
    def archs(self) -> tuple[str, ...]:
        """Archs that the source ships MLA kernels for."""
        return tuple(sorted({p.split("/")[1] for p in self._files if p.split("/")[2:3] == ["mla"]}))

    @cached_property
    def modules(self) -> dict[str, KernelTable]:
        """The table of each kernel module (a folder of an arch), by the module's name."""
        wanted = self.session.names.data["host"]["table_module"]
        files: dict[str, list[tuple[str, str, str | bytes]]] = {}
        for path in self._files:
            parts = path.split("/")
            if len(parts) < 4 or not path.endswith(".csv") or not parts[2].startswith(wanted):
                continue
            files.setdefault(parts[2], []).append((parts[1], path, self._bytes(path)))
        strip = self.comments.strip
        return {m: read_tables(f, strip_comments=strip) for m, f in files.items()}

    @cached_property
    def comments(self) -> Any:
        """How the source's generator treats comments."""
        return comment_rule(self.session.text(GENERATOR))

    def _bytes(self, path: str) -> bytes:
        try:
            file = self.session.source.read(path)
        except SourceError:
            return b"\0"
        return file.data if file is not None else b""

    @cached_property
    def variables(self) -> dict[str, KernelMap]:
        """The maps that AITER's build generates, by the name of their C++ variable."""
        prefix = self.session.names.data["host"]["table_variable"]
        found: dict[str, KernelMap] = {}
        for module, table in self.modules.items():
            for group in dict.fromkeys(row.group for row in table.rows):
                found[prefix + group] = KernelMap(module, table.only(group))
        return found

    def kernel(self, arch: str, symbol: str, co: str) -> Kernel:
        """A kernel by its symbol and the path that the host loads it from."""
        path = f"hsa/{arch}/{co.lstrip('/')}"
        present = path in self._present if self._files else None
        found = partial(Kernel, symbol=symbol, co=path, co_present=present)
        try:
            file = self.session.source.read(path) if present else None
        except SourceError:
            file = None
        if file is None:
            return found()
        return found(
            has_symbol=has_kernel(file.data, symbol),
            blob=file.blob,
            lds=lds_bytes(file.data, symbol),
        )


@dataclass(slots=True, eq=False)
class Column(Model):
    """A column of the row that only watches: it equals whatever it is compared with, and records
    it."""

    column: str
    run: Run

    def equals(self, other: Any) -> bool | None:
        if not isinstance(other, Unknown):
            self.run.observations.append(("key", (self.column, other)))
        return True

    def get(self, name: str, span: Span) -> Any:
        if name in ("find", "compare", "rfind"):
            return Builtin(name, lambda run, a, k, s: 0)
        return Unknown("a watching row", span, free=PROBE, foreign=True)


def constant(record: Record) -> Record:
    """A record that nothing can be written to: every run gets the same."""
    return Record(record.type, cast("dict[str, Any]", MappingProxyType(record.fields)))


class KernelMap(Entries, Unordered):
    """One generated map: arch and kernel name to the row's values, in arbitrary order."""

    __slots__ = ("module", "rows", "table")

    def __init__(self, module: str, table: KernelTable) -> None:
        self.module = module
        self.table = table
        self.rows = table.rows
        rows = (pair(r.arch + r.name, constant(_config(r, module))) for r in table.rows)
        elements = tuple(map(constant, rows))
        super().__init__(elements, self._watcher)

    def _watcher(self, run: Run) -> Record:
        """A row that is not there, which records what it is compared with."""
        columns = (*self.table.columns, "arch", "knl_name", "co_name")
        return pair(Column("", run), Record("config", {c: Column(c, run) for c in columns}))

    @property
    def identity(self) -> Hashable:
        return ("map", self.module, id(self.table))

    def entry(self, key: str) -> Record | None:
        return next((e for e in self.elements if e.fields["first"] == key), None)

    def get(self, name: str, span: Span) -> Any:
        if name in ("size", "empty"):
            count = len(self.elements)
            return Builtin(name, lambda run, a, k, s: count if name == "size" else not count)
        return super().get(name, span)

    def row_of(self, arch: str, symbol: str) -> TableRow | None:
        """The row of a kernel."""
        return next((r for r in self.rows if r.arch == arch and r.name == symbol), None)


def _config(row: TableRow, module: str) -> Record:
    """A row as the C++ struct that the generator writes."""
    folder = row.co.split("/", 2)[2].rpartition("/")[0]
    names: dict[str, Any] = {
        "knl_name": row.name,
        "co_name": f"{folder}/{row.co.rpartition('/')[2]}",
        "arch": row.arch,
    }
    values: dict[str, Any] = dict(row.fields)
    if row.problem is not None:
        span = Span(row.file, row.line, 1, row.line, len(row.text) + 1)
        values = {name: Unknown(row.problem, span) for name in values}
    return Record("config", {**values, **names})


@dataclass(slots=True, eq=False)
class AsmKernel(Model):
    """A loaded kernel: launching it is what the host stage waits for."""

    symbol: Any
    co: Any
    launches: tuple[str, ...]

    def equals(self, other: Any) -> bool | None:
        return False if other is None else True if other is self else None

    def get(self, name: str, span: Span) -> Any:
        if name in self.launches:
            return Builtin(name, self._launch)
        if name in ("get", "value"):
            return Builtin(name, lambda run, a, k, s: self)
        return Unknown(f"{name} of a kernel is not modelled", span, foreign=True, free="device")

    def _launch(self, run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        run.emit("launch", "kernel", (self, *args), {}, span)
        return None


class KernelCache(Model):
    """A cache of loaded kernels, in which every kernel is made anew."""

    __slots__ = ()

    def get(self, name: str, span: Span) -> Any:
        if name in ("get_or_create", "get_or_emplace", "getOrCreate"):
            return Builtin(name, self._get)
        return Unknown(f"{name} of a kernel cache is not modelled", span)

    def _get(self, run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        if len(args) < 2:
            return Unknown("a cached kernel", span)
        return run.machine.call(run, args[1], (), {}, span)


def kernel_externals(session: SourceSession) -> dict[str, Any]:
    """What the host code makes kernels with."""
    names = session.names.data["host"]
    launches = tuple(names["launch"])

    def make(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        if len(args) < 2:
            return Unknown("a kernel without a name", span)
        return AsmKernel(args[0], args[1], launches)

    def make_unique(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        kinds = [getattr(t, "name", "") for t in kwargs.get("<>", ())]
        if any(k in names["kernel_type"] for k in kinds):
            return make(run, args, {}, span)
        return Unknown("a new object", span, foreign=True, free="device")

    values: dict[str, Any] = {n: Builtin(n, make) for n in names["kernel_type"]}
    for name in names["kernel_cache"]:
        values[name] = Builtin(name, lambda run, a, k, s: KernelCache())
    for name in ("std::make_unique", "std::make_shared"):
        values[name] = Builtin(name, make_unique, takes_template=True)
    return values
