"""Which rows of the kernel table a call can reach: by the host function at all, and by what the
dispatcher passes it.

That a row is out of reach is only said after every question was asked: head counts 1 to 256,
query lengths 1 to 16, every flag. Questions that one run of the host function answers are asked
once, and asking ends as soon as every row was reached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product

from mlaprobe.core.caches import Cache, cache
from mlaprobe.core.shape import DecodeShape, Dtype, Status
from mlaprobe.deciding.capability import Capability
from mlaprobe.kernels import TableRow
from mlaprobe.stages.host import Host

HEADS = tuple(range(1, 257))
QLENS = tuple(range(1, 17))
YES, NO, UNKNOWN = "yes", "no", "unknown"
Pair = tuple[Dtype, Dtype]
Symbols = tuple[str, ...] | None
"""What a question launches; ``None``: that is not known."""


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
            wanted: the rows to look at.
            pages: the page size to ask each arch with.
        """
        self._capability = capability
        self._module = module
        self._wanted = wanted
        self._pages = pages
        self._step = step
        self._hosts: dict[tuple[str, Pair], HostReach] = {}
        self._called: dict[DecodeShape, Symbols] = cache(Cache.STAGES)

    def knows(self, module: str, row: TableRow) -> bool:
        """Whether it is about a row at all."""
        return module == self._module and self._wanted(row) and self._capability.host is not None

    def by_host(self, row: TableRow) -> str:
        """Whether some call of the host function reaches a row."""
        if row.problem is not None:
            return UNKNOWN
        answers = [self._host(row.arch, pair).reaches(row) for pair in pairs_of(row)]
        return next((each for each in (YES, UNKNOWN) if each in answers), NO)

    def by_call(self, row: TableRow) -> str:
        """Whether some call of the dispatcher reaches a row: one that passes the host what leads
        there, as it is or folded."""
        for pair in pairs_of(row):
            for question in self._host(row.arch, pair).questions_for(row):
                for shape in _callers(question):
                    symbols = self._launched(shape)
                    if symbols is None or row.name in symbols:
                        return UNKNOWN if symbols is None else YES
        return UNKNOWN if self.by_host(row) == UNKNOWN else NO

    def _host(self, arch: str, pair: Pair) -> HostReach:
        key = arch, pair
        if key not in self._hosts:
            host = self._capability.host
            assert host is not None
            table = self._capability.tables.modules[self._module]
            rows = [r for r in table.of_arch(arch) if self._wanted(r) and pair in pairs_of(r)]
            question = DecodeShape(
                arch=arch,
                q_dtype=pair[0],
                kv_dtype=pair[1],
                num_heads=1,
                qlen=1,
                page_size=self._pages[arch],
            )
            self._hosts[key] = HostReach(host, question, rows, self._step)
        return self._hosts[key]

    def _launched(self, shape: DecodeShape) -> Symbols:
        if shape in self._called:
            return self._called[shape]
        found = self._called[shape] = self._launch(shape)
        self._step()
        return found

    def _launch(self, shape: DecodeShape) -> Symbols:
        launch = self._capability.launch(shape)
        if launch.outcome.status == Status.UNKNOWN:
            return None
        if launch.outcome.entry != "asm":
            return ()
        found = self._capability.called(shape, launch)
        return None if found.status == Status.UNKNOWN else tuple(k.symbol for k in found.kernels)


class HostReach:
    """What the host function launches for one arch and one pair of dtypes."""

    def __init__(
        self, host: Host, base: DecodeShape, rows: list[TableRow], step: Callable[[], None]
    ) -> None:
        self._host = host
        self._base = base
        self._rows = rows
        self._step = step
        self._runs: dict[int, Symbols] = {}
        self._first: dict[str, DecodeShape] = {}
        self._unknown = False
        self._asked = False

    def reaches(self, row: TableRow) -> str:
        """Whether a call reaches a row."""
        self._ask()
        if row.name in self._first:
            return YES
        return UNKNOWN if self._unknown else NO

    def questions_for(self, row: TableRow) -> Iterator[DecodeShape]:
        """The questions that lead to a row, each at least once."""
        self._ask()
        if row.name not in self._first:
            return
        yield self._first[row.name]
        for setting, heads, qlen, symbols in self._launches():
            if row.name in (symbols or ()):
                yield replace(setting, num_heads=heads, qlen=qlen)

    def _ask(self) -> None:
        """Everything, until all rows are reached."""
        if self._asked:
            return
        self._asked = True
        missing = {row.name for row in self._rows}
        for setting, heads, qlen, symbols in self._launches():
            if symbols is None:
                self._unknown = True
            for symbol in symbols or ():
                if symbol not in self._first:
                    self._first[symbol] = replace(setting, num_heads=heads, qlen=qlen)
                    missing.discard(symbol)
            if not missing:
                break

    def _launches(self) -> Iterator[tuple[DecodeShape, int, int, Symbols]]:
        """Every question and what it launches; numbers that rows have in their columns first."""
        numbers = {v for row in self._rows for v in row.fields.values() if type(v) is int}
        heads = sorted(HEADS, key=lambda n: (n not in numbers, n))
        qlens = sorted(QLENS, key=lambda n: (n not in numbers, n))
        known = self._runs
        for setting in self._settings():
            covering = self._host.covering(setting)
            for count, qlen in product(heads, qlens):
                run = covering(count, qlen)
                if run is None or id(run) not in known:
                    question = replace(setting, num_heads=count, qlen=qlen)
                    yield setting, count, qlen, self._launched(question)
                else:
                    yield setting, count, qlen, known[id(run)]

    def _launched(self, question: DecodeShape) -> Symbols:
        outcome = self._host.decide(question)
        unknown = outcome.status == Status.UNKNOWN
        symbols = None if unknown else tuple(kernel.symbol for kernel in outcome.kernels)
        run = self._host.covering(question)(question.num_heads, question.qlen)
        if run is not None:
            self._runs[id(run)] = symbols
        self._step()
        return symbols

    def _settings(self) -> Iterator[DecodeShape]:
        """Every setting of the flags and the mode."""
        taken = [self._host.takes(role) for role in ("lse", "causal", "global_indptr")]
        flags = product(*((True, False) if takes else (False,) for takes in taken))
        for (lse, other_mask, cprr), persistent in product(tuple(flags)[::-1], (True, False)):
            yield replace(
                self._base,
                persistent=persistent,
                lse=lse,
                causal=not other_mask,
                cp_round_robin=cprr,
            )


def pairs_of(row: TableRow) -> tuple[Pair, ...]:
    """The pairs of dtypes that a row can be for: those it names, in the order of its columns
    first."""
    names = {dtype.value for dtype in Dtype}
    named = [Dtype(v) for v in row.fields.values() if isinstance(v, str) and v in names]
    if not named:
        named = [Dtype.BF16, Dtype.FP8]
    first = (named[0], named[-1])
    return tuple(dict.fromkeys((first, *((q, kv) for q in named for kv in named))))


def _callers(question: DecodeShape) -> Iterator[DecodeShape]:
    """The shapes that a dispatcher can turn into a question: its own first, then those with a
    multiple of its heads (folded into the batch, or into a longer query)."""
    for qlen in (q for q in range(question.qlen, 0, -1) if question.qlen % q == 0):
        stretch = question.qlen // qlen
        for heads in range(question.num_heads * stretch, max(HEADS) + 1, question.num_heads):
            yield replace(question, num_heads=heads, qlen=qlen)
