"""Which rows of the kernel table a call can reach: by the host function at all, and by what the
dispatcher passes it.

That a row is out of reach is only said after every question was asked: head counts 1 to 256,
query lengths 1 to 16, every flag. The likeliest questions come first, and asking ends as soon as
every row was reached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import product

from mlaprobe.capability import Capability
from mlaprobe.compose import TAKEN
from mlaprobe.reading.table import TableRow
from mlaprobe.shape import DecodeShape, Dtype
from mlaprobe.stages.host import HostQuestion

HEADS = tuple(range(1, 257))
QLENS = tuple(range(1, 17))
HOST, DISPATCHER, NOTHING, UNKNOWN = "dispatcher refuses", "yes", "no", "unknown"
"""How far a row is from a caller."""
_ORDER = (DISPATCHER, HOST, UNKNOWN, NOTHING)
Pair = tuple[Dtype, Dtype]
_FLAGS = ("persistent", "lse", "causal", "round_robin")


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
        self._by_dispatcher(arch, pair, rows)
        self._by_host(arch, pair, rows)

    def _missing(self, rows: list[TableRow], than: str) -> bool:
        """Whether some row is not known to be as near as this."""
        worst = _ORDER.index(than)
        return any(
            _ORDER.index(self._known.get((row.arch, row.name), NOTHING)) > worst for row in rows
        )

    def _note(self, arch: str, symbols: Iterable[str], how: str) -> bool:
        new = False
        for symbol in symbols:
            before = self._known.get((arch, symbol), NOTHING)
            if _ORDER.index(how) < _ORDER.index(before):
                self._known[arch, symbol] = how
                new = True
        return new

    def _by_dispatcher(self, arch: str, pair: Pair, rows: list[TableRow]) -> None:
        ask, pages = self._capability.ask, self._pages[arch]
        for heads, qlen, persistent in _inputs(rows):
            shape = DecodeShape(
                arch=arch,
                q_dtype=pair[0],
                kv_dtype=pair[1],
                num_heads=heads,
                qlen=qlen,
                persistent=persistent,
                page_size=pages,
            )
            if ask("dispatcher", shape).status not in (*TAKEN, "unknown"):
                continue
            self._launches(shape)
            self._step()
            if not self._missing(rows, DISPATCHER):
                return

    def _launches(self, shape: DecodeShape) -> None:
        """What a dispatched shape launches, with every flag."""
        from dataclasses import replace

        for lse, causal, cprr in product((False, True), (True, False), (False, True)):
            asked = replace(shape, lse=lse, causal=causal, cp_round_robin=cprr)
            launch = self._capability.launch(asked)
            if launch.outcome.entry != "asm":
                continue
            found = self._capability.called(asked, launch)
            self._note(shape.arch, (kernel.symbol for kernel in found.kernels), DISPATCHER)

    def _by_host(self, arch: str, pair: Pair, rows: list[TableRow]) -> None:
        host = self._capability.host
        assert host is not None
        taken = [host.takes(name) for name in ("lse", "causal", "global_indptr")]
        choices = [(False, True) if takes else (False,) for takes in taken]
        unknown = False
        for heads, qlen, persistent in _inputs(rows):
            for lse, causal, cprr in product(*choices):
                outcome = host.decide(
                    HostQuestion(
                        arch=arch,
                        q_dtype=pair[0],
                        kv_dtype=pair[1],
                        num_heads=heads,
                        qlen=qlen,
                        persistent=persistent,
                        lse=lse,
                        causal=causal or not taken[1],
                        cp_round_robin=cprr,
                        page_size=self._pages[arch],
                    )
                )
                unknown = unknown or outcome.status == "unknown"
                self._note(arch, (kernel.symbol for kernel in outcome.kernels), HOST)
            self._step()
            if not self._missing(rows, HOST):
                return
        if unknown:
            self._note(arch, (row.name for row in rows), UNKNOWN)


def _pairs(row: TableRow) -> tuple[Pair, ...]:
    """The pairs of dtypes that a row can be for: those it names, in the order of its columns
    first."""
    names = {dtype.value for dtype in Dtype}
    named = [Dtype(v) for v in row.fields.values() if isinstance(v, str) and v in names]
    if not named:
        return tuple(product((Dtype.BF16, Dtype.FP8), repeat=2))
    first = (named[0], named[-1])
    return tuple(dict.fromkeys((first, *product(dict.fromkeys(named), repeat=2))))


def _inputs(rows: list[TableRow]) -> Iterator[tuple[int, int, bool]]:
    """Head count, query length and mode, those that the rows name in their columns first."""
    numbers = {v for row in rows for v in row.fields.values() if isinstance(v, int) and v > 0}
    named = sorted(numbers)
    heads = dict.fromkeys((*named, *range(8, 129, 8), *HEADS))
    qlens = dict.fromkeys((*(n for n in named if n in QLENS), *QLENS))
    likely = [n for n in heads if n in numbers or n % 16 == 0]
    rest = [n for n in heads if n not in set(likely)]
    for some in (likely, rest):
        yield from product(some, qlens, (True, False))
