"""Modules of the analysed program, in either language."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from mlaprobe.evaluator.engine.runs import Run
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.values import Unknown, Value
from mlaprobe.evaluator.values.kinds import Record, StructType


class Module(ABC):
    """The names that the code of one module sees."""

    lang = "py"
    """The language that it is written in."""

    @abstractmethod
    def lookup(self, run: Run, name: str, span: Span) -> Value:
        """The value of a name."""

    def struct(self, name: str) -> StructType | None:
        """A struct that the source defines, by its name."""
        return None

    def is_constant(self, name: str) -> bool:
        """Whether a name is certainly that of a variable which nothing writes."""
        return False

    def is_one_variable(self, name: str) -> bool:
        """Whether the last part of a name is that of one variable of the module at most."""
        return True

    def writes_result(self, name: str) -> bool:
        """Whether what a function refers to may be written where it is called."""
        return True

    def static(self, run: Run, struct: StructType, name: str, span: Span) -> Value:
        """The value of a static constant of a struct."""
        return Unknown(f"{struct.name} has no constant {name}", span)

    def instance(
        self, run: Run, name: str, args: tuple[Value, ...], last: str, span: Span
    ) -> Value:
        """A template with arguments: a variable, or with ``last`` a member of a class."""
        return Unknown(f"the template {name} is not followed", span)

    def method(self, run: Run, record: Record, name: str) -> Value:
        """A method of an object; ``None`` where the source has none that is followed."""
        return None

    def has_method(self, record: Record, name: str) -> bool:
        """Whether an object may have a method of that name."""
        return True

    def defined(self, run: Run, op: str, args: tuple[Value, ...], span: Span) -> Value:
        """What an operator of the source gives for objects and enumerators; ``NotImplemented``
        where it defines none for these."""
        return NotImplemented

    def defines(self, op: str, args: tuple[Value, ...]) -> bool:
        """Whether the source may define an operator for some of these."""
        return False

    def made(
        self,
        run: Run,
        struct: StructType,
        items: tuple[Value, ...],
        span: Span,
        places: Callable[[], tuple[Value, ...]],
    ) -> Value:
        """A new object of a class that is no aggregate."""
        return Unknown(f"how a {struct.name} is made is not followed", span)

    def import_name(self, run: Run, module: str, name: str | None, span: Span) -> Value:
        """The value that an import inside a function binds."""
        return Unknown(f"an import of {module} is not followed", span)
