"""Runs a kernel of a code object."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from mlaprobe.emulator.accesses import OutsideAccess
from mlaprobe.emulator.decoding import decode
from mlaprobe.emulator.errors import BudgetExhausted, UnknownInstruction, UnmodelledError
from mlaprobe.emulator.memory import Memory
from mlaprobe.emulator.modes import FloatMode
from mlaprobe.emulator.program import Context, Effect, Program, compiled_rule
from mlaprobe.emulator.races import Watch
from mlaprobe.emulator.schedules import Schedule
from mlaprobe.emulator.semantics import RULES
from mlaprobe.emulator.workgroup import Workgroup
from mlaprobe.errors import UsageError
from mlaprobe.kernels.codeobject import CodeObject, CodeObjectError, KernelDescriptor

Ids = tuple[int, int, int]
"""The number of a workgroup in x, y and z."""

BUDGET = 100_000_000
"""Instructions that a run may execute if nothing else is said: minutes."""
_KEPT_PROGRAMS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """What became of a run."""

    instructions: int
    """Instructions that its waves executed, all together."""
    workgroups: int
    """Workgroups that ran to their end."""
    outside: tuple[OutsideAccess, ...]
    """What was read or written outside any region of the memory, earlier runs on it included."""
    unmodelled: UnknownInstruction | None
    """The instruction without a rule that ended the run: nothing is known of its result then."""
    budget_exhausted: bool
    """Whether the run was ended because it executed as many instructions as it may."""

    @property
    def finished(self) -> bool:
        """Whether every workgroup ran to its end."""
        return self.unmodelled is None and not self.budget_exhausted


def run(
    code: CodeObject,
    symbol: str,
    *,
    memory: Memory,
    arguments: int,
    grid: Ids,
    schedule: Schedule = Schedule.PLAUSIBLE,
    seed: int = 1,
    budget: int = BUDGET,
    workgroups: Iterable[Ids] | None = None,
    watch: Watch | None = None,
) -> RunResult:
    """Runs workgroups of a kernel, one after another.

    :param arguments: the address of the argument block.
    :param grid: how many workgroups there are in x, y and z.
    :param seed: what garbage registers and LDS hold at first.
    :param budget: how many instructions may be executed, of all waves together.
    :param workgroups: which of the grid to run; all if ``None``.
    :param watch: what counts uses of registers that loads are on their way to.
    :raises CodeObjectError: there is no such kernel, or it wants to be launched in a way that is
        not known.
    :raises UsageError: a workgroup is not in the grid.
    """
    kernel = code.kernel(symbol)
    check_launch(kernel)
    chosen = _chosen(grid, workgroups)
    program = _program(code, kernel) if watch is None else _made(code, kernel)
    if watch is not None:
        program.watch = watch.over
    rng = np.random.default_rng(seed)
    groups = ((Workgroup(program, kernel, schedule, memory, rng), ids) for ids in chosen)
    return _run(groups, kernel, memory, arguments, budget)


def _run(
    groups: Iterable[tuple[Workgroup, Ids]],
    kernel: KernelDescriptor,
    memory: Memory,
    arguments: int,
    budget: int,
) -> RunResult:
    executed = finished = 0
    ended: UnknownInstruction | BudgetExhausted | None = None
    for workgroup, ids in groups:
        workgroup.start(kernel, arguments, ids)
        ended = _ended(workgroup, budget - executed)
        executed += workgroup.executed
        if ended is not None:
            break
        finished += 1
    return RunResult(
        instructions=executed,
        workgroups=finished,
        outside=memory.outside,
        unmodelled=ended if isinstance(ended, UnknownInstruction) else None,
        budget_exhausted=isinstance(ended, BudgetExhausted),
    )


def _ended(workgroup: Workgroup, budget: int) -> UnknownInstruction | BudgetExhausted | None:
    """Runs a workgroup; why it did not get to its end, if so."""
    try:
        with np.errstate(all="ignore"):
            workgroup.run(budget)
    except UnmodelledError as e:
        return e.instruction
    except BudgetExhausted as e:
        return e
    return None


def _chosen(grid: Ids, workgroups: Iterable[Ids] | None) -> tuple[Ids, ...]:
    """The workgroups to run, x fastest."""
    if workgroups is None:
        x, y, z = grid
        return tuple((i, j, k) for k in range(z) for j in range(y) for i in range(x))
    chosen = tuple(workgroups)
    for ids in chosen:
        if not all(0 <= i < extent for i, extent in zip(ids, grid, strict=True)):
            raise UsageError(f"the workgroup {ids} is not in the grid {grid}")
    return chosen


def unmodelled(code: CodeObject) -> frozenset[str]:
    """The mnemonics in a code object that have no rule, or are used there as no rule says.

    An encoding that belongs to no instruction counts as ``.long``.
    """
    mode = _mode(code.kernels[0])
    context = Context(arch=code.arch, mode=mode)
    missing = set()
    at = code.text_start
    while at < code.text_end:
        try:
            instruction = decode(code.image, at, code.arch)
        except UnmodelledError:
            missing.add(".long")
            at += 4
            continue
        try:
            compiled = compiled_rule(RULES, instruction, context)
            if compiled.effect is Effect.MODE:
                context.index_mode = compiled.next_mode
        except UnmodelledError:
            missing.add(instruction.mnemonic)
        at += instruction.size
    return frozenset(missing)


def _mode(kernel: KernelDescriptor) -> FloatMode:
    return FloatMode.of(kernel.float_mode, fp16_overflow=kernel.fp16_overflow, ieee=kernel.ieee)


def check_launch(kernel: KernelDescriptor) -> None:
    """Raises where a kernel wants to find something set that the engine does not set.

    :raises CodeObjectError: says what.
    """
    wants = {
        "waves of 32 lanes": kernel.wavefront_size != 64,
        "no pointer to its arguments": not kernel.kernarg_pointer,
        "more user registers than that pointer": kernel.other_user_sgprs or kernel.user_sgprs != 2,
        "preloaded arguments": kernel.preloaded_words,
        "private memory": kernel.scratch_bytes,
    }
    for what, wanted in wants.items():
        if wanted:
            raise CodeObjectError(f"the kernel {kernel.symbol} wants {what}, which is not known")


_local = threading.local()
"""Programs reuse buffers: each thread has its own."""


def _made(code: CodeObject, kernel: KernelDescriptor) -> Program:
    return Program(code=code, rules=RULES, context=Context(arch=code.arch, mode=_mode(kernel)))


def _program(code: CodeObject, kernel: KernelDescriptor) -> Program:
    """The program of a kernel, with what earlier runs in this thread have compiled of it."""
    kept: dict[tuple[bytes, str], Program] = _local.__dict__.setdefault("programs", {})
    key = (code.image, kernel.symbol)
    program = kept.pop(key, None)
    if program is None:
        program = _made(code, kernel)
    kept[key] = program
    while len(kept) > _KEPT_PROGRAMS:
        del kept[next(iter(kept))]
    return program
