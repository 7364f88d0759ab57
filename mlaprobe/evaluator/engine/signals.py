"""How a program leaves the normal order: signals of statements, and what ends a path."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from mlaprobe.evaluator.values import Value

if TYPE_CHECKING:
    from mlaprobe.evaluator.ir import Span
    from mlaprobe.evaluator.symbolic.symbols import SymText
    from mlaprobe.evaluator.values.pointers import Ref


@dataclass(slots=True, eq=False)
class Returned:
    """The function returns."""

    value: Value
    place: Ref | None = None
    """Where the value is stored, if the function gives a reference to a variable."""


class _Jump(Enum):
    BREAK = "break"
    CONTINUE = "continue"


BREAK, CONTINUE = _Jump.BREAK, _Jump.CONTINUE


class Failed(Exception):
    """The program fails: ``kind`` is ``exception``, ``abort`` or ``unknown`` (it may fail)."""

    def __init__(self, kind: str, how: str, message: str | SymText, span: Span) -> None:
        super().__init__(how)
        self.kind = kind
        self.how = how
        self.message: Value = message
        """The text; one with symbols in it until the answer is made for certain inputs."""
        self.span = span

    def again(self, message: Value = None) -> Failed:
        """The same failure to be raised anew, with another message where one is given."""
        return Failed(self.kind, self.how, self.message if message is None else message, self.span)


class Unsupported(Exception):
    """The program cannot be followed any further."""

    def __init__(self, reason: str, span: Span) -> None:
        super().__init__(reason)
        self.reason = reason
        self.span = span


class Restart(Exception):
    """The path is to be run once more: what was assumed of a piece of code was seen not to hold."""
