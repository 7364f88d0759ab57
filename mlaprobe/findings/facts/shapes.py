"""Facts about the shapes of a scope.

``chain`` facts are about the stages that accept or refuse (sizing, planner, dispatcher), which
all look at the same few fields. ``shape`` facts are about the composed decision, for shapes that
planner or dispatcher take, with every flag.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from itertools import product

from mlaprobe.core.axes import OMITTED
from mlaprobe.core.grid import DEFAULT_DTYPES, DtypePair, Grid
from mlaprobe.core.protocols import Opened
from mlaprobe.core.shape import DecodeShape, Operation, StageName, Status
from mlaprobe.findings.facts import Fact
from mlaprobe.findings.facts.chain import chain_of, may_take, omitting_matters
from mlaprobe.findings.facts.decisions import decision_fact
from mlaprobe.reports.knobs import KNOB_VALUE
from mlaprobe.reports.survey import TRIED_PAGE_SIZE

_TRIED_HEADS = (16, 128, 64, 32, 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The shapes that facts are gathered about."""

    op: Operation = Operation.DECODE
    archs: tuple[str, ...]
    dtypes: tuple[DtypePair, ...] = DEFAULT_DTYPES
    heads: tuple[int, ...] = tuple(range(1, 129))
    beyond: tuple[int, ...] = tuple(range(144, 257, 16))
    """Counts above those of kernels: facts are about the agreement of the stages only."""
    qlens: tuple[int, ...] = tuple(range(1, 9))
    plain_heads: tuple[int, ...] = (1, 2, 4, *range(8, 129, 8))
    """The counts without work metadata."""
    knob_heads: tuple[int, ...] = (8, *range(16, 129, 16))
    """The counts with knobs set."""
    knobs: bool = True
    """Whether to vary environment variables."""
    ignored_knobs: frozenset[str] = frozenset()


class ShapeFacts:
    """The facts of a source about a scope of shapes."""

    def __init__(
        self, answers: Opened, scope: Scope, step: Callable[[], None] = lambda: None
    ) -> None:
        self.answers = answers
        self.scope = scope
        self.step = step
        self.flags = [(True, False)]
        """Mask and round robin: as usual, and each otherwise where the release takes it."""
        if answers.takes("causal"):
            self.flags.append((False, False))
        if answers.takes("global_indptr"):
            self.flags.append((True, True))
        self.pages = {arch: usual_page(answers, arch, scope) for arch in scope.archs}
        self.taken: list[DecodeShape] = []
        """Persistent shapes that sizing, planner and dispatcher take, or may."""
        self.other_entries: list[DecodeShape] = []
        """Shapes that reach another entry point than the assembly one."""

    def facts(self, kinds: Collection[str] = ("chain", "shape", "flag")) -> Iterator[Fact]:
        """Everything about the scope's shapes, as far as these kinds of facts need it."""
        yield from self._chains()
        if "shape" in kinds:
            yield from self._flags()
            yield from self._without_metadata()
        if {"shape", "flag"} & set(kinds):
            yield from self._knobs()

    def _shapes(self, heads: tuple[int, ...], *, persistent: bool = True) -> Iterator[DecodeShape]:
        scope = self.scope
        for arch in scope.archs:
            yield from Grid(
                archs=(arch,),
                dtypes=scope.dtypes,
                heads=heads,
                qlens=scope.qlens,
                page_sizes=(self.pages[arch],),
                persistent=(persistent,),
            ).shapes()

    def _chains(self) -> Iterator[Fact]:
        within = set(self.scope.heads)
        for shape in self._shapes((*self.scope.heads, *self.scope.beyond)):
            self.step()
            chain = chain_of(self.answers, shape)
            if chain.taken:
                yield chain.fact
                if shape.num_heads in within and chain.runs:
                    self.taken.append(shape)

    def _flags(self) -> Iterator[Fact]:
        """Every flag for what is taken, and the planner left without the dtypes."""
        for shape in self.taken:
            contradicts = omitting_matters(self.answers, shape)
            for lse, (causal, cprr) in product((False, True), self.flags):
                flagged = replace(shape, lse=lse, causal=causal, cp_round_robin=cprr)
                decision = self.answers.decide(flagged)
                yield decision_fact(decision)
                if contradicts and causal and not cprr:
                    without = self.answers.decide(replace(flagged, planner=OMITTED))
                    yield decision_fact(without, decision.verdict)
            self.step()

    def _without_metadata(self) -> Iterator[Fact]:
        for shape in self._shapes(self.scope.plain_heads, persistent=False):
            self.step()
            if may_take(self.answers.ask(StageName.DISPATCHER, shape)):
                yield decision_fact(self.answers.decide(shape))

    def _knobs(self) -> Iterator[Fact]:
        """Each knob alone, where it makes planner or dispatcher say something else."""
        for knob in self.answers.knobs if self.scope.knobs else ():
            if knob in self.scope.ignored_knobs:
                continue
            env = ((knob, KNOB_VALUE),)
            for shape in self._shapes(self.scope.knob_heads):
                self.step()
                with_it = replace(shape, env=env)
                before, after = (chain_of(self.answers, each) for each in (shape, with_it))
                if not after.differs(before):
                    continue
                yield after.fact
                if after.taken:
                    if after.dispatcher.entry not in (None, "asm"):
                        self.other_entries.append(with_it)
                    yield decision_fact(self.answers.decide(with_it))


def usual_page(answers: Opened, arch: str, scope: Scope) -> int:
    """The page size to ask an arch with: 1, unless the host finds kernels for others only."""
    for page in (1, TRIED_PAGE_SIZE):
        tried = Grid(
            archs=(arch,),
            dtypes=scope.dtypes,
            heads=_TRIED_HEADS,
            page_sizes=(page,),
            persistent=(True, False),
        )
        if any(answers.ask(StageName.HOST, s).status == Status.KERNEL for s in tried.shapes()):
            return page
    return 1
