"""One concrete launch: the dispatcher is called with the tensors of a batch, the host with what the
dispatcher passes, and what the kernel gets is read off.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from mlaprobe.core.shape import Dtype, Kernel
from mlaprobe.evaluator import ir
from mlaprobe.evaluator.engine.runs import Event, Outcome, Run
from mlaprobe.evaluator.engine.shared import SharedState
from mlaprobe.evaluator.values.kinds import Braced, Closure, Pointer, Record
from mlaprobe.evaluator.values.unknown import Unknown
from mlaprobe.stages.base import how_failed, why_unknown
from mlaprobe.stages.dispatching.entries import entry_of, refusal
from mlaprobe.stages.environment.device import Device
from mlaprobe.stages.environment.kernels import AsmKernel
from mlaprobe.stages.environment.libraries import NEW_TENSOR
from mlaprobe.stages.environment.placed import Placed
from mlaprobe.stages.host import Host, complete
from mlaprobe.stages.hostpaths import handed_on
from mlaprobe.stages.kernelargs import ArgumentBlock, read_block


class NotLaunchedError(Exception):
    """AITER refuses a launch, or what it launches is not known."""

    def __init__(self, message: str, span: ir.Span = ir.NOWHERE, *, refused: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.span = span
        """The place that it comes from."""
        self.refused = refused
        """Whether AITER certainly refuses it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchQuestion:
    """A batch, as ``mla_decode_fwd`` or the entry point of another operation gets it."""

    arch: str
    q_dtype: Dtype
    kv_dtype: Dtype
    tensors: Mapping[str, Placed | None]
    """The caller's tensors, by what the parameters of the dispatcher mean."""
    numbers: Mapping[str, Any]
    """The other arguments, in the same way."""
    device: Device
    """The GPU."""
    env: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched:
    """What a call of the dispatcher launches, and what is done with it afterwards."""

    kernel: Kernel
    block: ArgumentBlock
    block_bytes: int | None
    """The size of the block as the launch says it; ``None`` where that is not known."""
    grid: tuple[int, int, int]
    """Workgroups."""
    workgroup: tuple[int, int, int]
    """Threads."""
    entry: str
    """The entry point."""
    passed: Mapping[str, Any]
    """Its arguments, by what they mean."""
    after: tuple[Event, ...]
    """What is called behind it, and tensors that take the memory of others."""
    result: Any
    """What the dispatcher returns."""
    place: ir.Span
    """Of the launch."""


class Called(Protocol):
    """A function of AITER's that a caller gives a batch."""

    def call(self, run: Run, values: Mapping[str, Any]) -> Any:
        """Calls it with arguments by what its parameters mean."""

    @property
    def on_entry(self) -> Callable[..., Any]:
        """What happens where it calls a function that is compiled elsewhere: an event."""


class Launching:
    """Evaluates launches of one source."""

    def __init__(self, dispatcher: Called, host: Host) -> None:
        """``dispatcher`` is the function that launches."""
        self._dispatcher = dispatcher
        self._host = host
        self._session = host.session

    def launch(self, question: LaunchQuestion) -> Launched:
        """What a batch launches.

        Raises:
            NotLaunchedError: AITER refuses it, or what is launched is not known.
        """
        with self._session.exclusive:
            path = self._dispatched(question)
            entry = entry_of(path)
            if entry is None or entry.kind == "missing" or path.kind == "failed":
                raise _refusal(path) or NotLaunchedError("no entry point is called")
            function = self._host.closure(entry.name)
            if function is None:
                raise NotLaunchedError(f"{entry.name} cannot be read", entry.span)
            host = self._hosted(question, function, entry)
            launch = next(e for e in host.events if e.kind == "launch")
            roles = self._session.names.roles("host")
            named = {roles[n]: value for n, value in entry.kwargs if n in roles}
            after = path.events[path.events.index(entry) + 1 :]
            return self._read(question, function, launch, entry, named, after, path.value)

    def _explored(
        self, question: LaunchQuestion, start: Callable[[Run], Any], on_entry: Any = None
    ) -> Outcome:
        """The only path of a call with nothing left open.

        Raises:
            NotLaunchedError: it fails, has several paths, or cannot be followed.
        """
        facts = {NEW_TENSOR: Placed, **question.device.facts}
        context = question.arch, question.env
        outcomes = self._session.explore(
            start, context, facts=facts, on_entry=on_entry, shared=SharedState()
        )
        if len(outcomes) != 1 or outcomes[0].kind == "unknown":
            raise NotLaunchedError(*why_unknown(outcomes))
        return handed_on(outcomes[0])

    def _dispatched(self, question: LaunchQuestion) -> Outcome:
        values = {**question.tensors, **question.numbers}
        return self._explored(
            question, lambda run: self._dispatcher.call(run, values), self._dispatcher.on_entry
        )

    def _hosted(self, question: LaunchQuestion, function: Closure, entry: Event) -> Outcome:
        args = complete(entry.args, function.function.params)
        path = self._explored(
            question, lambda run: run.machine.call(run, function, args, {}, ir.NOWHERE)
        )
        if path.kind == "failed" or not any(e.kind == "launch" for e in path.events):
            raise _refusal(path) or NotLaunchedError("no kernel is launched")
        return path

    def _read(
        self,
        question: LaunchQuestion,
        function: Closure,
        launch: Event,
        entry: Event,
        named: Mapping[str, Any],
        after: tuple[Event, ...],
        result: Any,
    ) -> Launched:
        kernel = launch.args[0]
        if not isinstance(kernel, AsmKernel) or not isinstance(kernel.symbol, str):
            raise NotLaunchedError("which kernel is launched is not known", launch.span)
        members = self._members(function, launch)
        block = read_block(members["block"][0], function.module)
        if isinstance(block, Unknown):
            raise NotLaunchedError(block.reason, block.span)
        size = members["block_bytes"][0]
        size = size.load() if isinstance(size, Pointer) else size
        return Launched(
            kernel=self._host.tables.kernel(question.arch, kernel.symbol, str(kernel.co)),
            block=block,
            block_bytes=size if type(size) is int else None,
            grid=_whole(members["grid"], launch),
            workgroup=_whole(members["workgroup"], launch),
            entry=entry.name,
            passed=named,
            after=after,
            result=result,
            place=launch.span,
        )

    def _members(self, function: Closure, launch: Event) -> Mapping[str, list[Any]]:
        """What the launch is given, by what it means."""
        names = self._session.names.data["host"]
        kind = function.module.struct(names["launch_struct"])
        given = launch.args[1] if len(launch.args) > 1 else None
        if kind is None:
            raise NotLaunchedError(f"{names['launch_struct']} is not known", launch.span)
        if isinstance(given, Braced):
            members = zip((name for name, _, _ in kind.members), given.items, strict=False)
            fields = dict(members)
        elif isinstance(given, Record):
            fields = given.fields
        else:
            raise NotLaunchedError("what is launched with is not known", launch.span)
        unknown = Unknown("a member of the launch", launch.span)
        return {
            role: [fields.get(name, unknown) for name in members]
            for role, members in names["launch_members"].items()
        }


def _whole(values: list[Any], launch: Event) -> tuple[int, int, int]:
    """Three sizes of a grid."""
    x, y, z = values
    for value in values:
        if isinstance(value, Unknown):
            raise NotLaunchedError(value.reason, value.span)
        if type(value) is not int or value < 1:
            raise NotLaunchedError(f"a grid of {x} x {y} x {z}", launch.span, refused=True)
    return x, y, z


def _refusal(path: Outcome) -> NotLaunchedError | None:
    if path.kind != "failed" or path.failure is None:
        return None
    how = how_failed(path)
    text = f"{refusal(path.failure)} ({how})"
    return NotLaunchedError(text, path.failure.span, refused=True)
