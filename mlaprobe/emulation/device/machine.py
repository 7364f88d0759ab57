"""The threads of a workgroup, run in step.

The waves of a workgroup are run one statement at a time all together, which is one of the orders
that the hardware may take. Memory notes which wave did what (:mod:`memory`): where another order
would give something else, the run ends. The lanes of a wave are in step on the hardware as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mlaprobe.emulation.device.arithmetic import converted
from mlaprobe.emulation.device.kinds import (
    ULONG,
    ArrayOf,
    PointerTo,
    Scalar,
    Struct,
    Text,
    Type,
    Void,
)
from mlaprobe.emulation.device.memory import Block
from mlaprobe.emulation.device.places import InMemory, Place
from mlaprobe.emulation.device.scopes import Argument, ClassTemplate, Functions, Meaning, Scope
from mlaprobe.emulation.device.signals import NotFollowed, Undetermined
from mlaprobe.emulation.device.source import Piece, Syntax
from mlaprobe.emulation.device.values import (
    Address,
    Array,
    Braced,
    Mask,
    Undefined,
    Value,
    scalar,
    zero,
)

Operand = Meaning | Braced
"""What an expression stands for: a place, a value, a function, a type."""
Code = Callable[["Machine", Scope], Any]
"""A compiled expression or statement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """``kernel<...><<<config>>>(arguments)``, as the host's code gives it."""

    kernel: Functions
    config: tuple[Value, ...]
    """Grid, workgroup, bytes of dynamic LDS."""
    arguments: tuple[Value, ...]


@dataclass(slots=True)
class Loop:
    """A loop that is being run: the threads that have left it, or this round of it."""

    left: Mask | None = None
    continued: Mask | None = None


@dataclass(slots=True)
class Frame:
    """A function that is being run."""

    result_type: Type | None = None
    """What its value is converted to; ``None`` for ``auto``."""
    by_reference: bool = False
    result: Any = None
    returned: Mask | None = None
    """The threads that have returned."""
    loops: list[Loop] = field(default_factory=list)


class Machine:
    """The state of one run: which threads take part, and what they share."""

    def __init__(
        self,
        *,
        threads: int = 1,
        wave_size: int = 1,
        block: tuple[int, int, int] = (1, 1, 1),
        grid: tuple[int, int, int] = (1, 1, 1),
        group: tuple[int, int, int] = (0, 0, 0),
        blocks: Iterable[Block] = (),
        environment: Mapping[str, str] | None = None,
        launch: Callable[[Launch], None] | None = None,
        budget: int = 100_000,
    ) -> None:
        self.threads = threads
        self.wave_size: int = wave_size
        self.block: tuple[int, int, int] = block
        """Threads of a workgroup: x, y, z."""
        self.grid: tuple[int, int, int] = grid
        """Workgroups."""
        self.group: tuple[int, int, int] = group
        """Which of them this is."""
        self.blocks: list[Block] = list(blocks)
        self.dynamic: Block | None = None
        """LDS of the size that the launch gives."""
        self.shared: dict[tuple[int, int], Place] = {}
        """LDS of the program by its declaration."""
        self.environment = environment if environment is not None else {}
        self.launch = launch
        """What takes kernel launches; ``None`` where there are none (on the device)."""
        self.mask: Mask = np.ones(threads, np.bool_)
        self.everyone = self.mask
        self.nobody: Mask = np.zeros(threads, np.bool_)
        self.ids: Array = np.arange(threads, dtype=np.int64)
        self.waves: Array | None = self.ids // wave_size if threads > wave_size else None
        self.frame = Frame()
        self.depth = 0
        self.budget = budget
        """Statements until the run is given up."""

    # --- threads ---------------------------------------------------------------------------------

    def barrier(self) -> None:
        """All threads wait for each other."""
        if not (self.mask is self.everyone or self.mask.all()):
            raise Undetermined("a barrier that not all threads come to")
        for block in self.blocks:
            block.barrier()

    def split(self, test: Value) -> Mask | bool:
        """Which of the threads that take part a condition holds for: all (``True``), none, or
        those of a mask."""
        kind, data = scalar(test)
        if not isinstance(data, np.ndarray):
            return bool(data != 0)
        truth = data if kind.kind == "b" else data != 0
        yes = truth & self.mask
        if not yes.any():
            return False
        return True if np.array_equal(yes, self.mask) else yes

    # --- values ----------------------------------------------------------------------------------

    def value(self, operand: Operand) -> Value:
        """The value of an operand; of an array in memory, where it begins."""
        if isinstance(operand, Place):
            if isinstance(operand.type, ArrayOf) and isinstance(operand, InMemory):
                return Value(PointerTo(operand.type.element), operand.address())
            return operand.load(self)
        if isinstance(operand, Value):
            return operand
        raise NotFollowed(f"a {type(operand).__name__} where a value is needed")

    def converted(self, given: Operand, kind: Type) -> Value:
        """What becomes of a value that initialises something of a type."""
        if isinstance(given, Braced):
            return self._from_braces(given, kind)
        value = self.value(given)
        if value.type is kind or value.type == kind or isinstance(value.data, Undefined):
            return Value(kind, value.data)
        if isinstance(kind, Scalar) and isinstance(value.type, Scalar):
            if isinstance(value.data, Address):
                return self._as_number(value, kind)
            return converted(value, kind, self.mask)
        if isinstance(kind, PointerTo):
            return self._as_pointer(value, kind)
        if isinstance(kind, Scalar) and kind.kind == "b" and isinstance(value.data, Address):
            return Value(kind, value.data.block is not None)
        if isinstance(kind, Text) and isinstance(value.type, Text):
            return value
        raise NotFollowed(f"a {value.type.name} as a {kind.name}")

    def _as_number(self, value: Value, kind: Scalar) -> Value:
        if kind.bits < 64 or kind.kind == "f":
            raise NotFollowed("an address is computed with")
        return Value(kind, value.data)

    def _as_pointer(self, value: Value, kind: PointerTo) -> Value:
        if isinstance(value.data, Address) or isinstance(value.type, Text):
            return Value(kind, value.data)
        if isinstance(value.type, Scalar) and value.data == 0:
            return Value(kind, Address(None))
        raise NotFollowed(f"a {value.type.name} as a pointer")

    def _from_braces(self, given: Braced, kind: Type) -> Value:
        items = given.items
        if isinstance(kind, Struct):
            return self._aggregate(items, kind)
        if isinstance(kind, ArrayOf):
            if len(items) > kind.count:
                raise NotFollowed(f"{len(items)} values for {kind.count} elements")
            rest = (zero(kind.element),) * (kind.count - len(items))
            return Value(kind, (*(self.converted(i, kind.element) for i in items), *rest))
        if len(items) > 1:
            raise NotFollowed(f"{len(items)} values for a {kind.name}")
        return self.converted(items[0], kind) if items else zero(kind)

    def _aggregate(self, items: tuple[Value | Braced, ...], kind: Struct) -> Value:
        own = [m for m in kind.members.values() if not m.overlaid]
        if kind.constructors and items:
            raise NotFollowed(f"a {kind.name} with constructors from a braced list")
        if len(items) == 1 and isinstance(items[0], Braced) and len(own) > 1:
            items = items[0].items  # of the first, unnamed member of a union
        if len(items) > len(own):
            raise NotFollowed(f"{len(items)} values for a {kind.name}")
        made: dict[str, Value] = {}
        for at, member in enumerate(own):
            if at < len(items):
                made[member.name] = self.converted(items[at], member.type)
            elif isinstance(member.default, Value):
                made[member.name] = member.default
            elif member.default is not None:
                raise NotFollowed(f"the default of {kind.name}::{member.name}")
            else:
                made[member.name] = zero(member.type)
        return Value(kind, made)

    def cast(self, given: Operand, kind: Type) -> Value:
        """An explicit conversion."""
        value = self.value(given) if not isinstance(given, Braced) else self.converted(given, kind)
        if isinstance(kind, Void):
            return Value(kind, None)
        if isinstance(value.type, PointerTo) and isinstance(kind, Scalar) and kind.bits == 64:
            return Value(ULONG if kind.kind == "u" else kind, value.data)
        return self.converted(value, kind)

    # --- code ------------------------------------------------------------------------------------

    def evaluate(self, piece: Piece, node: Syntax, scope: Scope) -> Value:
        """The value of an expression."""
        return self.value(piece.code(node)(self, scope))

    def declared(self, piece: Piece, node: Syntax, declarator: Syntax, scope: Scope) -> Value:
        """The value of a constant that a declaration declares."""
        from mlaprobe.emulation.device.declarations import declarator_of

        inner = scope.inner()
        name = declarator_of(piece, node, declarator)(self, inner)
        return self.value(inner.names[name])

    def call(self, function: Operand, arguments: tuple[Operand, ...]) -> Any:
        """Call a function, a lambda, or an object of a class."""
        from mlaprobe.emulation.device.calls import call

        return call(self, function, arguments)

    def instance(self, template: ClassTemplate, arguments: tuple[Argument, ...]) -> Struct:
        """The class that a template makes of its arguments."""
        from mlaprobe.emulation.device.classes import instance

        return instance(self, template, arguments)

    def constant(self, struct: Struct, name: str) -> Meaning | None:
        """A static constant of a class, ``None`` where it has none of that name."""
        from mlaprobe.emulation.device.classes import static

        return static(self, struct, name)

    def type_of(self, piece: Piece, node: Syntax, scope: Scope) -> Type | None:
        """The type of an expression that is not evaluated, ``None`` where it is not known."""
        from mlaprobe.emulation.device.statictypes import static_type

        return static_type(self, piece, node, scope)


def loaded(piece: Piece, node: Syntax) -> Callable[[Machine, Scope], Value]:
    """An expression as a value."""
    code: Code = piece.code(node)
    return lambda m, s: m.value(code(m, s))


def not_followed(piece: Piece, node: Syntax) -> Code:
    """What ends the run where it is reached."""
    reason, span = f"{node.type.replace('_', ' ')} is not followed", piece.span(node)

    def run(m: Machine, s: Scope) -> Operand:
        raise NotFollowed(reason, span)

    return run
