"""The host: ``mla_decode_stage1_asm_fwd``, which picks a kernel or refuses.

Releases with a kernel table look a key up in it; older ones hold their kernels in nested branches.
Either way the answer is the kernel that is launched, or the check that fails.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from mlaprobe.core.shape import (
    DecodeShape,
    Evidence,
    Kernel,
    PlannerCall,
    Route,
    StageName,
    StageOutcome,
    Status,
    altered,
)
from mlaprobe.evaluator import ir
from mlaprobe.evaluator.closures.loops import LOOKUP
from mlaprobe.evaluator.engine.runs import Outcome, Run
from mlaprobe.evaluator.symbolic.symbols import same
from mlaprobe.evaluator.values.kinds import Closure, EnumMember
from mlaprobe.stages.base import (
    CppStage,
    arguments,
    how_failed,
    place_evidence,
    why_unknown,
)
from mlaprobe.stages.environment.bindings import default_of
from mlaprobe.stages.environment.kernels import AsmKernel, Tables, kernel_externals
from mlaprobe.stages.environment.session import Context, SourceSession
from mlaprobe.stages.evidence import Proof, Trace, evidence
from mlaprobe.stages.hostcall import STAGE, family, inputs_of, values_of
from mlaprobe.stages.hostpaths import handed_on, kernel_pointer, launched
from mlaprobe.stages.instantiate import Deferred, Solved
from mlaprobe.stages.kernelargs import sizeof
from mlaprobe.stages.parameterize import Parameterized, Sides, parameterize

_NO_SIDES = Sides({}, None)
_NO_PLANNER = PlannerCall()


class Host(CppStage[DecodeShape]):
    """The host dispatch of one source."""

    name = STAGE

    def __init__(self, session: SourceSession, tables: Tables) -> None:
        """Raises ``Absent`` where the source has none."""
        self.tables = tables
        session.watch.append(kernel_pointer(tuple(session.names.data[STAGE]["kernel_type"])))
        session.generated.update(tables.variables)
        session.cpp_externals.update(kernel_externals(session))
        session.cpp_externals["sizeof"] = sizeof(lambda: self._function.module)
        super().__init__(session)

    @staticmethod
    def question(shape: DecodeShape) -> DecodeShape:
        """The call with the shape itself, whatever the dispatcher makes of it."""
        if shape.batch is None and shape.planner == _NO_PLANNER and shape.route is Route.ASM:
            return shape
        return replace(shape, batch=None, planner=_NO_PLANNER, route=Route.ASM)

    def _evaluated(self, question: DecodeShape) -> Solved[StageOutcome]:
        function, roles = self._function.function, self.session.names.roles(STAGE)
        inputs = inputs_of(question)

        def args(symbols: Mapping[str, Any]) -> tuple[Any, ...]:
            return arguments(function, roles, values_of(question, symbols))

        def start(run: Run, symbols: Mapping[str, Any]) -> Any:
            return run.machine.call(run, self._function, args(symbols), {}, ir.NOWHERE)

        context = (question.arch, question.env)
        return self._run(family(question), inputs, start, context)

    def covering(self, question: DecodeShape) -> Callable[[int, int], object | None]:
        """Finds the earlier run that answers a question with another head count and query length,
        where there is one: questions of one run take the same path, to the same kernel."""
        context, page_size = (question.arch, question.env), question.page_size
        find = self.session.covering(family(question), tuple(inputs_of(question)), context)
        return lambda heads, qlen: find((heads, qlen, page_size))

    def called(
        self,
        arch: str,
        env: tuple[tuple[str, str], ...],
        given: Deferred,
        entry: str | None = None,
        decided: Mapping[Hashable, int] | None = None,
        *,
        compiled: bool = False,
    ) -> Solved[StageOutcome]:
        """What the host answers to the dispatcher's own call: its arguments by position. ``entry``
        is the function that is called, by default the one of this stage; ``decided`` what the
        dispatcher's path knows of unknown values; ``compiled``: its kernel is compiled with it,
        and in no table."""
        call = (arch, env), given, entry, decided or {}
        return self._guarded(lambda: self._called(*call, compiled=compiled))

    def _called(
        self,
        context: Context,
        given: Deferred,
        entry: str | None,
        decided: Mapping[Hashable, int],
        *,
        compiled: bool,
    ) -> Solved[StageOutcome]:
        function = self.closure(entry)
        if function is None and self.problem is not None and entry is None:
            return Solved(self._unreadable(self.problem))
        if function is None:
            message = f"no definition of {entry} that can be read was found in the source"
            return Solved(_unknown(message))
        params = function.function.params
        name = function.function.name
        call, numbers = parameterize(given, name, lambda args: complete(args, params))
        sides = call.sides(decided) if decided else _NO_SIDES
        key = (context, name, call.key, sides.key, numbers)
        decide = partial(self._decide, context, call, sides, numbers, function)
        return self._kept(key, lambda: decide(compiled=compiled))

    def closure(self, entry: str | None = None) -> Closure | None:
        """The entry point of that name, by default the one of this stage; ``None`` where the
        source has none that can be read."""
        function = None if self.problem is not None else self._function
        if entry is None or (function is not None and function.function.name == entry):
            return function
        return self.session.cpp_function(entry, self.session.names.places(STAGE))

    # --- judging ---------------------------------------------------------------------------------

    def _decide(
        self,
        context: Context,
        call: Parameterized,
        sides: Sides,
        numbers: tuple[int, ...],
        function: Closure,
        *,
        compiled: bool,
    ) -> Solved[StageOutcome]:
        """The answer to certain arguments; all their numbers are inputs, so that calls that differ
        in numbers only share their runs."""

        def start(run: Run, symbols: Mapping[str, Any]) -> Any:
            return run.machine.call(run, function, call.args(symbols), {}, ir.NOWHERE)

        key = (STAGE, function.function.name, call.key, sides.key)
        inputs = dict(zip(call.names, numbers, strict=True))
        if compiled:
            read = launched(self.session, STAGE)
            return self.session.solve(key, inputs, start, context, read, decided=sides.known)
        return self._run(key, inputs, start, context, sides.known)

    def _run(
        self,
        key: Hashable,
        inputs: Mapping[str, int],
        start: Callable[[Run, Mapping[str, Any]], Any],
        context: Context,
        decided: Mapping[Hashable, int] | None = None,
    ) -> Solved[StageOutcome]:
        """The answer, through what is known of other numbers."""

        def read(outcomes: tuple[Outcome, ...], asked: Mapping[str, Any]) -> StageOutcome:
            return self._judge(context[0], outcomes)

        return self.session.solve(key, inputs, start, context, read, decided=decided)

    def _judge(self, arch: str, outcomes: tuple[Outcome, ...]) -> StageOutcome:
        answers = [self._read(arch, o) for o in outcomes]
        first, notes = answers[0], self._notes(arch)
        kernels = _agreed(outcomes, answers)
        symbols = tuple(k.symbol for k in kernels)
        places = Proof(STAGE, self.session.text, _places, first=lambda: self._rows(arch, symbols))
        if kernels:
            return altered(first, kernels=kernels, notes=notes, evidence=places)
        if first.status != Status.UNKNOWN and all(same(a, first) for a in answers):
            return altered(first, notes=notes, evidence=places)
        reason, span = why_unknown(outcomes)
        return StageOutcome(
            stage=STAGE,
            status=Status.UNKNOWN,
            message=first.message if first.status == Status.UNKNOWN and first.message else reason,
            key=first.key,
            evidence=place_evidence(self.session, STAGE, span),
        )

    def _notes(self, arch: str) -> tuple[str, ...]:
        problem = self._table_problem(arch)
        if problem is not None:
            return (f"the kernel table cannot be relied on: {problem}",)
        note = self.tables.comments.note if self.tables.modules else None
        return (note,) if note else ()

    def _rows(self, arch: str, symbols: tuple[str, ...]) -> tuple[Evidence, ...]:
        found: list[Evidence] = []
        for variable in self.tables.variables.values():
            for symbol in symbols:
                row = variable.row_of(arch, symbol)
                if row is not None:
                    span = ir.Span(row.file, row.line, 1, row.line, len(row.text) + 1)
                    place = evidence(StageName.TABLE, span, self.session.text)
                    if place is not None:
                        found.append(place)
        return tuple(found)

    def _read(self, arch: str, outcome: Outcome) -> StageOutcome:
        key = key_of(outcome)
        if outcome.kind == "unknown":
            return _unknown(outcome.reason, key)
        outcome = handed_on(outcome)
        if outcome.kind == "failed" and outcome.failure is not None:
            problem = self._table_problem(arch)
            if _missed(outcome) and problem is not None:
                return _unknown(problem, key)
            return StageOutcome(
                stage=STAGE,
                status=Status.NO_KERNEL if _missed(outcome) else Status.REJECTED,
                failure=how_failed(outcome),
                message=outcome.failure.message,
                key=key,
            )
        launches = (arg for e in outcome.events if e.kind == "launch" for arg in e.args)
        launched = [arg for arg in launches if isinstance(arg, AsmKernel)]
        if len(launched) != 1 or not _named(launched[0]):
            return _unknown("which kernel is launched is not known", key)
        kernel = self.tables.kernel(arch, launched[0].symbol, launched[0].co)
        return StageOutcome(stage=STAGE, status=Status.KERNEL, kernels=(kernel,), key=key)

    def _table_problem(self, arch: str) -> str | None:
        for table in self.tables.modules.values():
            problem = table.problem(arch)
            if problem is not None:
                return problem.message
        return None


def _unknown(message: str, key: tuple[tuple[str, Any], ...] | None = None) -> StageOutcome:
    return StageOutcome(stage=STAGE, status=Status.UNKNOWN, message=message, key=key)


def complete(args: Any, params: tuple[ir.Param, ...]) -> tuple[Any, ...]:
    """The arguments of a call, with the defaults of those that it does not pass."""
    missing = params[len(args) :]
    rest = (default_of(p, f"the call passes no argument {p.name}") for p in missing)
    return (*args[: len(params)], *rest)


def _agreed(outcomes: tuple[Outcome, ...], answers: list[StageOutcome]) -> tuple[Kernel, ...]:
    """The kernels that can be launched, if that is known: whatever else is unknown, the same ones
    are, and only the order of a hash map chooses among them."""
    groups: dict[Hashable, dict[Kernel, None]] = {}
    for outcome, answer in zip(outcomes, answers, strict=True):
        if answer.status != Status.KERNEL:
            return ()
        groups.setdefault(_other_choices(outcome), {}).update(dict.fromkeys(answer.kernels))
    first, *rest = groups.values()
    return tuple(first) if all(set(g) == set(first) for g in rest) else ()


def _other_choices(outcome: Outcome) -> Hashable:
    """What a path chose besides the order of a hash map. Up to the first of that, paths of equal
    choices are the same, so that a choice is known by its turn."""
    found: list[tuple[Hashable, int]] = []
    same = True
    for at, (unknown, choice) in enumerate(outcome.decisions):
        if unknown.free == "hash order":
            same = False
        else:
            found.append((at if same else unknown.key, choice))
    return tuple(found)


def _missed(outcome: Outcome) -> bool:
    """Whether a failed path looked a kernel up, or picked one from its branches, and had none."""
    kinds = dict(outcome.observations)
    if "key" in kinds:
        return "matched" not in kinds
    last = outcome.observations[-1] if outcome.observations else ("", 0)
    return last[0] == "pointer" and last[1] is None


def _named(kernel: AsmKernel) -> bool:
    return isinstance(kernel.symbol, str) and isinstance(kernel.co, str)


def key_of(outcome: Outcome) -> tuple[tuple[str, Any], ...] | None:
    """The looked-up key: what the rows' columns were compared with."""
    key: dict[str, Any] = {}
    for kind, value in outcome.observations:
        if kind == "key" and value[0] not in ("", "arch", "knl_name", "co_name"):
            known = value[1].name if isinstance(value[1], EnumMember) else value[1]
            key[value[0]] = known
    return tuple(key.items()) or None


def _places(trace: Trace, outcome: Outcome) -> tuple[ir.Span, ...]:
    """The branch that the head count took, and the check that failed or the launch."""
    heads = next((v for n, v in outcome.trace if _divides(n) and type(v) is int), None)
    launch = next((e for e in outcome.events if e.kind == "launch"), None)
    branch = trace.branch(heads, LOOKUP) if heads is not None else None
    spans = [branch.span] if branch is not None else []
    if launch is not None:
        return (*spans, launch.span)
    if outcome.failure is not None and outcome.failure.how == "assert":
        return (*spans, outcome.failure.span)  # a call, and no check of the source's own
    last = trace.last_check()
    return (*spans, last.span if last is not None else outcome.span)


def _divides(node: ir.Node) -> bool:
    """Whether a node is the ratio of query heads to KV heads, which branches test."""
    return isinstance(node, ir.Binary) and node.op == "c/"
