"""The call of an entry point on a path of the dispatcher, and the places that speak for it."""

from __future__ import annotations

from typing import Any

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.engine.runs import Event, Outcome
from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.symbolic.symbols import joined
from mlaprobe.evaluator.values import Args
from mlaprobe.stages.environment.tensors import Tensor
from mlaprobe.stages.evidence import Trace
from mlaprobe.stages.numbers import is_whole


def entry_of(outcome: Outcome) -> Event | None:
    """The call of the entry point: the first one, or the one that fails because the package
    defines no such function."""
    entry = next((e for e in outcome.events if e.kind == "entry"), None)
    failure = outcome.failure
    if entry is None and failure is not None and failure.how == "AttributeError":
        entry = next((e for e in reversed(outcome.events) if e.kind == "missing"), None)
    return entry


def query_of(named: dict[str, Any], args: Args) -> Any:
    """The query among the arguments of an entry point."""
    for name in ("Q", "q", "query"):
        if name in named:
            return named[name]
    return next((a for a in args if isinstance(a, Tensor)), None)


def partial_dim(reduce: Event | None, at: int) -> Any:
    """A dimension of the partial results that the reducer gets, where it is known."""
    partial = next(iter(reduce.args), None) if reduce is not None else None
    if isinstance(partial, Tensor) and len(partial.shape) > 1 and is_whole(partial.shape[at]):
        return partial.shape[at]
    return None


def refusal(failure: Failed) -> Any:
    """The message about a failure: a text, which may have symbols in it."""
    if failure.how in ("AssertionError", "exception"):
        return failure.message or failure.how
    return joined([failure.how, ": ", failure.message]) if failure.message else failure.how


def places(
    trace: Trace, outcome: Outcome, heads: int, launched: int | None, silent: bool
) -> tuple[ir.Span, ...]:
    """The clause that accepted or folded, the call of the entry point and, where that alone gets
    the log-sum-exp, the last branch that is taken behind it."""
    entry = entry_of(outcome)
    if outcome.kind == "failed" and entry is None:
        return (trace.refusal(),)
    clause = trace.branch(heads, entry) or trace.branch(launched or heads, entry)
    spans = [clause.span] if clause is not None else []
    last = trace.last_branch(entry) if silent and entry is not None else None
    return (
        *spans,
        *([entry.span] if entry is not None else ()),
        *([last.span] if last is not None else ()),
    )


def places_of_misfit(
    trace: Trace, outcome: Outcome, heads: int, launched: int | None, silent: bool
) -> tuple[ir.Span, ...]:
    """The same, and where the query that is passed was made of the caller's."""
    found = places(trace, outcome, heads, launched, silent)
    entry = entry_of(outcome)
    q = None if entry is None else query_of(dict(entry.kwargs), entry.args)
    made = q.span if isinstance(q, Tensor) else ir.NOWHERE
    return (*found[:-1], made, *found[-1:])
