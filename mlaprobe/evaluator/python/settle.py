"""Values that do not depend on the path that happened to need them first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass

from mlaprobe.evaluator.engine.runs import Run
from mlaprobe.evaluator.engine.signals import Failed, Unsupported
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.values import Unknown, Value
from mlaprobe.evaluator.values.kinds import Closure, identity

SETTLE_PATHS = 8


class _Missing:
    """No statement binds the name."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Value = _Missing()


@dataclass(frozen=True, slots=True)
class Settled:
    """The value of an evaluation on all its paths, or the exception that ends all of them."""

    value: Value = None
    failure: Failed | None = None
    may_fail: bool = False


@dataclass(eq=False, repr=False)
class ImportRun(Run):
    """A path of a module's own code: the module is as it is before one of its statements."""

    _: KW_ONLY
    limit: tuple[str, int] | None = None

    def own(self, value: Value) -> Value:
        """The value itself: what a module binds is what others have."""
        return self.copies.keep(value)

    def havocs(self, value: Value, span: Span) -> None:
        """What a value holds is about to become unknown.

        Raises:
            Unsupported: others have the value.
        """
        if value in self.copies:
            raise Unsupported("a value of a module may be changed while it is imported", span)


def limit_of(run: Run, module: str) -> int | None:
    """The statement before which a module is looked at, while its own code runs."""
    limit = run.limit if isinstance(run, ImportRun) else None
    return limit[1] if limit is not None and limit[0] == module else None


def settle(
    run: Run, start: Callable[[Run], Value], limit: tuple[str, int] | None = None
) -> Settled:
    """Evaluate on every path; what the paths do not agree on is unknown.

    ``limit``: the module whose code this is, and the statement.
    """
    shared = run.shared if limit is None else run.shared.before(limit)

    def child(script: tuple[int, ...]) -> Run:
        return ImportRun(
            run.machine,
            env=run.env,
            shared=shared,
            facts=run.facts,
            script=script,
            knobs=run.knobs,
            resolving=run.resolving,
            on_entry=run.on_entry,
            limit=limit,
        )

    outcomes = run.machine.explore(start, child, limit=SETTLE_PATHS)
    first = outcomes[0]
    failures = [o.failure for o in outcomes if o.failure is not None]
    if len(failures) == len(outcomes) and len({f.how for f in failures}) == 1:
        return Settled(failure=failures[0], value=Unknown(failures[0].message, first.span))
    returned = [o for o in outcomes if o.kind == "returned"]
    complete = len(returned) == len(outcomes)
    if complete and all(same(first.value, o.value) for o in outcomes[1:]):
        return Settled(value=first.value)
    causes = [u for o in outcomes for u, _ in o.decisions]
    free = causes[0].free if causes and all(u.free for u in causes) else None
    stop = next((o for o in outcomes if o.kind != "returned"), first)
    reason = causes[0].reason if causes else stop.reason or "not followed"
    span = causes[0].span if causes else stop.span
    return Settled(value=Unknown(reason, span, free=free), may_fail=not complete)


def same(left: Value, right: Value) -> bool:
    """Whether two values are certainly the same."""
    if left is right:
        return True
    if isinstance(left, Closure) and isinstance(right, Closure):
        return left.function is right.function and left.frame is None and right.frame is None
    key = identity(left)
    return key is not None and key == identity(right)


def combine(values: Sequence[Value], why: Unknown, name: str) -> Value:
    """One of several possible bindings, where it is not known which."""
    first = values[0]
    if all(same(first, other) for other in values[1:]):
        return first
    return Unknown(f"{name} depends on: {why.reason}", why.span, free=why.free)
