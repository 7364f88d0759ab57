"""A kernel's code as straight pieces of functions, compiled when they are first reached."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from itertools import chain
from typing import TypeAlias

from mlaprobe.emulator.decoding import Instruction, decode
from mlaprobe.emulator.errors import UnmodelledError
from mlaprobe.emulator.fusion.lanewise import Lanewise
from mlaprobe.emulator.fusion.lanewise import Step as Step
from mlaprobe.emulator.fusion.pieces import Part, Piece, pieces_of
from mlaprobe.emulator.matrix import Operation
from mlaprobe.emulator.modes import FloatMode, Subnormals
from mlaprobe.emulator.wave import Wave
from mlaprobe.kernels.codeobject import CodeObject


class Effect(Enum):
    """Who can notice an instruction, and what it does to the flow of its wave."""

    PRIVATE = "private"
    """Only its own wave."""
    SHARED = "shared"
    """It touches memory or LDS: other waves may notice when it happens."""
    WAIT = "wait"
    """It waits for what is on its way to its wave. That writes to LDS, which other waves notice,
    only where loads arrive no sooner than that."""
    FLOW = "flow"
    """It says where the wave continues."""
    MODE = "mode"
    """It changes what the operands of the following instructions mean."""
    BARRIER = "barrier"
    """The wave waits for the others of its workgroup."""
    END = "end"
    """The wave ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """An instruction, ready to be executed."""

    step: Step
    """What it does."""
    effect: Effect = Effect.PRIVATE
    """Who can notice."""
    cycles: int = 4
    """How long its wave is busy with it, by the clock of ``schedules.py``."""
    matrix_cycles: int = 0
    """How long the matrix core is busy with it."""
    next_mode: int = 0
    """After one that changes the mode: the new mode."""
    lanewise: Lanewise | None = None
    """What it does, if that is the same in every lane: it may then be carried out together with
    others, in place of ``step``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """Instructions that only their own wave notices, and the one behind them that ends them."""

    pieces: tuple[Piece, ...]
    """The instructions."""
    count: int
    """How many they are."""
    plain: tuple[Step, ...]
    """What they do, if the matrix core has no part in it; else empty."""
    cycles: int
    """Cycles of all of them."""
    last: Compiled
    """The instruction that ends the segment."""
    end: int
    """The address behind it."""
    mode: int
    """The index mode behind it."""


@dataclass(slots=True, kw_only=True)
class Context:
    """What compiling an instruction needs to know besides the instruction."""

    arch: str
    """``gfx942`` or ``gfx950``."""
    mode: FloatMode
    """How the kernel rounds and what it does with subnormal numbers."""
    index_mode: int = 0
    """Which operands are relative to M0."""
    operations: dict[tuple[str, int, int], Operation | None] = field(default_factory=dict)
    """Matrix operations that were made so far."""
    _subnormals: dict[tuple[tuple[int, ...], int], Subnormals] = field(default_factory=dict)

    def subnormals(self, shape: tuple[int, ...], *, parts: int = 1) -> Subnormals:
        """What finds subnormal numbers in arrays; all instructions share its buffers."""
        found = self._subnormals.get((shape, parts))
        if found is None:
            found = self._subnormals[shape, parts] = Subnormals(shape, parts=parts)
        return found


Rule: TypeAlias = Callable[[Instruction, Context], Compiled]
"""Makes an instruction executable.

Raises ``UnmodelledError`` where the use of the instruction has no rule."""


@dataclass(slots=True, kw_only=True)
class Program:
    """The segments of a code object that have been reached so far."""

    code: CodeObject
    """Where the instructions are."""
    rules: Mapping[str, Rule]
    """The rule of each mnemonic."""
    context: Context
    """The kernel's modes."""
    watch: Callable[[Instruction, Compiled, Context], Compiled] | None = None
    """What each instruction is wrapped in."""
    _segments: dict[tuple[int, int], Segment] = field(default_factory=dict)

    def segment(self, offset: int, index_mode: int) -> Segment:
        """The segment that starts at an address, in an index mode."""
        known = self._segments.get((offset, index_mode))
        if known is None:
            known = self._compile(offset, index_mode)
            self._segments[offset, index_mode] = known
        return known

    def _compile(self, offset: int, index_mode: int) -> Segment:
        self.context.index_mode = index_mode
        parts: list[Part] = []
        at = offset
        while True:
            try:
                instruction = decode(self.code.image, at, self.code.arch)
                compiled = compiled_rule(self.rules, instruction, self.context)
                if self.watch is not None:
                    compiled = self.watch(instruction, compiled, self.context)
            except UnmodelledError as e:
                # It counts only when a wave gets there.
                last = Compiled(step=_raiser(e), effect=Effect.SHARED)
                return _segment(parts, last, at, index_mode)
            at += instruction.size
            if compiled.effect is not Effect.PRIVATE:
                mode = compiled.next_mode if compiled.effect is Effect.MODE else index_mode
                return _segment(parts, compiled, at, mode)
            parts.append(
                Part(
                    step=compiled.step,
                    cycles=compiled.cycles,
                    matrix_cycles=compiled.matrix_cycles,
                    lanewise=compiled.lanewise,
                )
            )


def _segment(parts: list[Part], last: Compiled, end: int, mode: int) -> Segment:
    busy = any(part.matrix_cycles for part in parts)
    pieces = pieces_of(parts)
    steps = (piece.fused or tuple(step for step, _, _ in piece.parts) for piece in pieces)
    return Segment(
        pieces=pieces,
        count=len(parts),
        plain=() if busy else tuple(chain.from_iterable(steps)),
        cycles=sum(part.cycles for part in parts),
        last=last,
        end=end,
        mode=mode,
    )


def compiled_rule(
    rules: Mapping[str, Rule], instruction: Instruction, context: Context
) -> Compiled:
    """The instruction, ready to be executed.

    :raises UnmodelledError: there is no rule for it, or for this use of it.
    """
    rule = rules.get(instruction.mnemonic)
    if rule is None:
        raise instruction.unmodelled("the mnemonic has no rule")
    return rule(instruction, context)


def _raiser(error: UnmodelledError) -> Step:
    def step(wave: Wave) -> None:
        raise error

    return step
