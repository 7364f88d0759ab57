"""Which rows of the kernel table a call can reach: by the host function at all, and by what the
dispatcher passes it.

That a row is out of reach is only said after every question was asked: head counts 1 to 256,
query lengths 1 to 16, every flag. The likeliest questions come first, and asking ends as soon as
every row was reached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import product

from mlaprobe.capability import Capability
from mlaprobe.compose import TAKEN
from mlaprobe.reading.table import TableRow
from mlaprobe.shape import DecodeShape, Dtype
from mlaprobe.stages.host import Host, HostQuestion

HEADS = tuple(range(1, 257))
QLENS = tuple(range(1, 17))
HOST, DISPATCHER, NOTHING, UNKNOWN = "dispatcher refuses", "yes", "no", "unknown"
"""How far a row is from a caller."""
_ORDER = (DISPATCHER, HOST, UNKNOWN, NOTHING)
Pair = tuple[Dtype, Dtype]
Input = tuple[int, int, bool]
"""Head count, query length, whether work metadata is passed."""


class Reach:
    """What reaches the rows of one module of one source."""

    def __init__(
        self,
        capability: Capability,
        module: str,
        wanted: Callable[[TableRow], bool],
        pages: dict[str, int],
        *,
        step: Callable[[], None] = lambda: None,
    ) -> None:
        """
        Args:
            wanted: which rows to ask about; the others are of no interest.
            pages: the page size to ask each arch with.
        """
        self._capability = capability
        self._module = module
        self._wanted = wanted
        self._pages = pages
        self._step = step
        self._known: dict[tuple[str, str], str] = {}
        self._asked: set[tuple[str, Pair]] = set()

    def reached(self, arch: str, symbols: Iterable[str]) -> None:
        """Kernels that a dispatched call launches, found elsewhere."""
        for symbol in symbols:
            self._known[arch, symbol] = DISPATCHER

    def of(self, module: str, row: TableRow) -> str | None:
        """Whether a call reaches a row; ``None`` where nobody wants to know."""
        if module != self._module or not self._wanted(row) or self._capability.host is None:
            return None
        if row.problem is not None:
            return UNKNOWN
        for pair in _pairs(row):
            if self._known.get((row.arch, row.name)) == DISPATCHER:
                break
            self._ask(row.arch, pair)
        return self._known.get((row.arch, row.name), NOTHING)

    # --- asking ----------------------------------------------------------------------------------

    def _ask(self, arch: str, pair: Pair) -> None:
        """Everything about an arch with a pair of dtypes, until all of its rows are reached."""
        if (arch, pair) in self._asked:
            return
        self._asked.add((arch, pair))
        rows = [
            row
            for row in self._capability.tables.modules[self._module].of_arch(arch)
            if self._wanted(row) and pair in _pairs(row)
        ]
        # First what rows say of themselves leads to most of them; then everything, but the
        # dispatcher only where the host reaches what no dispatched call did.
        self._by_dispatcher(arch, pair, rows, _named(rows))
        self._by_host(arch, pair, rows)
        if any(self._near(row) is HOST for row in rows):
            self._by_dispatcher(arch, pair, rows, _inputs(rows))

    def _near(self, row: TableRow) -> str:
        return self._known.get((row.arch, row.name), NOTHING)

    def _note(self, arch: str, symbols: Iterable[str], how: str) -> None:
        for symbol in symbols:
            before = self._known.get((arch, symbol), NOTHING)
            self._known[arch, symbol] = min(how, before, key=_ORDER.index)

    def _by_dispatcher(
        self, arch: str, pair: Pair, rows: list[TableRow], inputs: Iterable[Input]
    ) -> None:
        unknown = False
        for heads, qlen, persistent in inputs:
            shape = DecodeShape(
                arch=arch,
                q_dtype=pair[0],
                kv_dtype=pair[1],
                num_heads=heads,
                qlen=qlen,
                persistent=persistent,
                page_size=self._pages[arch],
            )
            status = self._capability.ask("dispatcher", shape).status
            unknown = unknown or status == "unknown"
            if status in TAKEN and not self._launches(shape):
                unknown = True
            self._step()
            if all(self._near(row) is DISPATCHER for row in rows):
                return
        if unknown:
            # What was not reached may be, by what could not be followed.
            names = (row.name for row in rows if self._near(row) is HOST)
            self._known.update(((arch, name), UNKNOWN) for name in names)

    def _launches(self, shape: DecodeShape) -> bool:
        """Notes what a dispatched shape launches, with every flag that the dispatcher takes;
        says whether all of it is known."""
        known, takes = True, self._capability.takes
        for lse, causal, cprr in product(
            (False, True),
            (True, False) if takes("causal") else (True,),
            (False, True) if takes("global_indptr") else (False,),
        ):
            asked = replace(shape, lse=lse, causal=causal, cp_round_robin=cprr)
            launch = self._capability.launch(asked)
            if launch.outcome.entry == "asm":
                found = self._capability.called(asked, launch)
                known = known and found.status != "unknown"
                self._note(shape.arch, (kernel.symbol for kernel in found.kernels), DISPATCHER)
        return known

    def _by_host(self, arch: str, pair: Pair, rows: list[TableRow]) -> None:
        host = self._capability.host
        assert host is not None
        unknown, seen = False, set[int]()
        for question in self._questions(host, arch, pair, rows):
            run = host.covering(question)
            if run is not None and id(run) in seen:
                continue
            outcome = host.decide(question)
            seen.add(id(host.covering(question) or question))
            unknown = unknown or outcome.status == "unknown"
            self._note(arch, (kernel.symbol for kernel in outcome.kernels), HOST)
            self._step()
            if all(self._near(row) in (HOST, DISPATCHER) for row in rows):
                return
        if unknown:
            self._note(arch, (row.name for row in rows), UNKNOWN)

    def _questions(
        self, host: Host, arch: str, pair: Pair, rows: list[TableRow]
    ) -> Iterator[HostQuestion]:
        for lse, causal, cprr in product(
            (False, True) if host.takes("lse") else (False,),
            (True, False) if host.takes("causal") else (True,),
            (False, True) if host.takes("global_indptr") else (False,),
        ):
            for heads, qlen, persistent in _inputs(rows):
                yield HostQuestion(
                    arch=arch,
                    q_dtype=pair[0],
                    kv_dtype=pair[1],
                    num_heads=heads,
                    qlen=qlen,
                    persistent=persistent,
                    lse=lse,
                    causal=causal,
                    cp_round_robin=cprr,
                    page_size=self._pages[arch],
                )


def _pairs(row: TableRow) -> tuple[Pair, ...]:
    """The pairs of dtypes that a row can be for: those it names, in the order of its columns
    first."""
    names = {dtype.value for dtype in Dtype}
    named = [Dtype(v) for v in row.fields.values() if isinstance(v, str) and v in names]
    if not named:
        named = [Dtype.BF16, Dtype.FP8]
    first = (named[0], named[-1])
    return tuple(dict.fromkeys((first, *((q, kv) for q in named for kv in named))))


def _numbers(rows: list[TableRow]) -> list[int]:
    """The numbers that rows have in their columns."""
    return sorted({v for row in rows for v in row.fields.values() if type(v) is int and v > 0})


def _named(rows: list[TableRow]) -> Iterator[Input]:
    """Head count, query length and mode as the rows name them, or close to it."""
    numbers = _numbers(rows)
    qlens = dict.fromkeys((*(n for n in numbers if n in QLENS), *range(1, 9)))
    return product(dict.fromkeys((*numbers, *range(8, 129, 8))), qlens, (True, False))


def _inputs(rows: list[TableRow]) -> Iterator[Input]:
    """Every head count, query length and mode, those that the rows name first."""
    numbers = _numbers(rows)
    qlens = tuple(dict.fromkeys((*(n for n in numbers if n in QLENS), *QLENS)))
    return product(
        dict.fromkeys((*(n for n in numbers if n in HEADS), *HEADS)), qlens, (True, False)
    )
