"""Answers with formulas in them, for certain inputs.

A run over symbols is kept as a template, with what a stage made of it: what holds no symbol is
shared by all answers, the rest is filled in by functions that are compiled once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Generic, TypeVar

from mlaprobe.core.caches import Cache, cache
from mlaprobe.core.shape import Evidence, altered
from mlaprobe.evaluator.engine.runs import Outcome
from mlaprobe.evaluator.objects.objects import Instance, NamedTuple
from mlaprobe.evaluator.symbolic.formulas import Expr, Text, compile_all, compile_expr
from mlaprobe.evaluator.symbolic.symbols import Sym, SymText
from mlaprobe.evaluator.values.kinds import Record
from mlaprobe.stages.environment.tensors import Tensor
from mlaprobe.stages.evidence import LazyEvidence, Proof

T = TypeVar("T")
Fill = Callable[[tuple[int, ...]], Any]


class Deferred:
    """A value with symbols in it that is filled in when it is accessed."""

    __slots__ = ("_inputs", "_made", "_maker", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        """As the run over symbols left it."""
        self._maker: _Maker | None = None
        self._inputs: tuple[int, ...] = ()
        self._made: dict[Hashable, tuple[Any, Fill | None]] = cache(Cache.CALLS)

    def filled(self, maker: _Maker, inputs: tuple[int, ...]) -> Deferred:
        """The same for certain inputs; what is made of it is shared."""
        found = Deferred(self.value)
        found._maker, found._inputs, found._made = maker, inputs, self._made
        return found

    def beside(self, other: Deferred) -> Deferred:
        """The same for the inputs of another value, which the same run left."""
        return self if other._maker is None else self.filled(other._maker, other._inputs)

    def get(self) -> Any:
        """The value for the inputs of the question."""
        return self.derived("", lambda value: value)

    def derived(self, name: Hashable, make: Callable[[Any], Any]) -> Any:
        """Something that is made of the value once for all inputs, for those of the question."""
        if self._maker is None:
            return make(self.value)
        found = self._made.get(name)
        if found is None:
            value = make(self.value)
            found = self._made[name] = (value, self._maker.fill(value))
        value, fill = found
        return value if fill is None else fill(self._inputs)


@dataclass(frozen=True, slots=True)
class _Paths:
    """The paths of one run over symbols: apart from what is made of them, so that evidence can
    refer to them and nothing refers to itself in a circle, which would be freed late."""

    outcomes: tuple[Outcome, ...]
    names: tuple[str, ...]
    retrace: Callable[[tuple[int, ...]], tuple[Outcome, ...]] | None
    """Makes traced paths for inputs; ``None`` where ``outcomes`` are traced."""

    def evidence(
        self, proof: Proof, inputs: tuple[int, ...], values: Fill | None
    ) -> tuple[Evidence, ...]:
        """The evidence of an answer for certain inputs; ``values`` makes those of the proof."""
        found = proof.values if values is None else values(inputs)
        if self.retrace is not None:
            return proof.found(self.retrace(inputs), found)
        return proof.found(self.outcomes, found, lambda outcome: self._filled(outcome, inputs))

    def _filled(self, outcome: Outcome, inputs: tuple[int, ...]) -> Outcome:
        """A path with what its run computed, for certain inputs. Its events are left as they are,
        as the trace refers to them."""
        items = (
            (node, compile_expr(value.expr, self.names)(inputs) if type(value) is Sym else value)
            for node, value in outcome.trace
        )
        return replace(outcome, trace=tuple(items))


class PathSummary:
    """The paths of one run over symbols, and what was read off them."""

    __slots__ = ("_answer", "_fill", "_paths", "_reasons")

    def __init__(
        self,
        outcomes: tuple[Outcome, ...],
        names: tuple[str, ...],
        reasons: Iterable[Expr] = (),
        *,
        answer: Any = None,
        retrace: Callable[[tuple[int, ...]], tuple[Outcome, ...]] | None = None,
    ) -> None:
        """
        Args:
            outcomes: the paths.
            names: of the inputs.
            reasons: comparisons by which the reasons differ why inputs take these paths.
            answer: what was read off the paths.
            retrace: makes traced paths for inputs; ``None`` where ``outcomes`` are traced.
        """
        self._paths = _Paths(outcomes, names, retrace)
        self._reasons = tuple(reasons)
        self._answer = answer
        self._fill = _Maker(self._paths).fill(answer)

    def answer(self, inputs: tuple[int, ...]) -> Any:
        """What was read off the paths, for certain inputs."""
        return self._answer if self._fill is None else self._fill(inputs)

    def reason(self, inputs: tuple[int, ...]) -> tuple[bool, ...]:
        """What inputs have to share for the same clauses to decide."""
        return tuple(bool(compile_expr(e, self._paths.names)(inputs)) for e in self._reasons)


@dataclass(frozen=True, slots=True)
class Leaf:
    """The run over symbols that answered a question."""

    inputs: tuple[int, ...]
    run: PathSummary
    """Questions with one run take the same paths."""

    @property
    def clauses(self) -> Hashable:
        """What questions share that are decided by the same clauses."""
        return self.run, self.run.reason(self.inputs)


@dataclass(frozen=True, slots=True)
class Solved(Generic[T]):
    """An answer, and how it was come to."""

    answer: T
    leaf: Leaf | None = None
    """``None`` where the question had a run of its own, or none was needed."""


class _Maker:
    """Makes the functions that fill in what depends on the inputs."""

    def __init__(self, paths: _Paths) -> None:
        self._names = paths.names
        self._paths = paths

    def fill(self, value: Any) -> Fill | None:
        """A function that makes a value for inputs, ``None`` for one that holds no symbol."""
        kind = type(value)
        if kind is Sym:
            return compile_expr(value.expr, self._names)
        if kind is SymText:
            parts = self._formulas(value.parts)
            return lambda inputs: "".join(map(str, parts(inputs)))
        if kind in (tuple, list, NamedTuple):
            return self._sequence(value)
        if kind in (Record, Instance):
            return self._record(value)
        if kind is Deferred:
            return self._deferred(value)
        if kind is Proof:
            return self._proof(value)
        if is_dataclass(kind):
            return self._dataclass(value)
        if kind is Tensor:
            shape = self.fill(value.shape)
            if shape is None:
                return None
            return lambda inputs: value.resized(shape(inputs))
        return None

    def _formulas(self, values: Any) -> Fill:
        """All of some symbols, numbers and texts, by one function."""
        parts = (
            v.expr if type(v) is Sym else v if type(v) is int else Text(str(v)) for v in values
        )
        return compile_all(parts, self._names)

    def _sequence(self, value: Any) -> Fill | None:
        kinds = set(map(type, value))
        if Sym in kinds and kinds <= {Sym, int}:
            return self._formulas(value)
        fills = [self.fill(v) for v in value]
        if not any(f is not None for f in fills):
            return None
        pairs = tuple(zip(value, fills, strict=True))
        return lambda inputs: tuple(v if f is None else f(inputs) for v, f in pairs)

    def _record(self, value: Record) -> Fill | None:
        fills = {n: self.fill(v) for n, v in value.fields.items()}
        changed = {n: f for n, f in fills.items() if f is not None}
        if not changed:
            return None
        fields = value.fields

        def filled(inputs: tuple[int, ...]) -> Record:
            made = {**fields, **{n: f(inputs) for n, f in changed.items()}}
            if isinstance(value, Instance):
                return Instance(value.cls, made, value.lost)
            return value.like(made)

        return filled

    def _deferred(self, value: Deferred) -> Fill:
        return lambda inputs: value.filled(self, inputs)

    def _proof(self, proof: Proof) -> Fill:
        values, evidence = self.fill(proof.values), self._paths.evidence
        return lambda inputs: LazyEvidence(evidence, proof, inputs, values)

    def _dataclass(self, value: Any) -> Fill | None:
        fills = {f.name: self.fill(getattr(value, f.name)) for f in fields(value)}
        changed = tuple((n, f) for n, f in fills.items() if f is not None)
        if not changed:
            return None
        return lambda inputs: altered(value, **{n: f(inputs) for n, f in changed})
