"""``std::index_sequence`` and its kin: objects that are nothing but the numbers of their type."""

from __future__ import annotations

from collections.abc import Hashable

from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.values import Args, Kwargs, Unknown, Value
from mlaprobe.evaluator.values.kinds import Builtin, Model

SEQUENCES = ("std::index_sequence", "std::integer_sequence")
MAKERS = ("std::make_index_sequence", "std::make_integer_sequence")
LONGEST = 256


class NumberPack(Model):
    """An object of such a type."""

    __slots__ = ("numbers",)

    def __init__(self, numbers: tuple[int, ...]) -> None:
        self.numbers = numbers

    @property
    def identity(self) -> Hashable:
        return ("numbers", self.numbers)


def _made(name: str) -> Builtin:
    """What makes one, given the template arguments of the type."""

    def call(run: Value, args: Args, kwargs: Kwargs, span: Span) -> Value:
        given = kwargs.get("<>", ())
        numbers = given[1:] if "integer" in name else given
        if args or not all(type(n) is int for n in numbers):
            return Unknown(f"the numbers of a {name} are not known", span)
        if name in SEQUENCES:
            return NumberPack(numbers)
        if len(numbers) != 1 or not 0 <= numbers[0] <= LONGEST:
            return Unknown(f"how many numbers a {name} has is not followed", span)
        return NumberPack(tuple(range(numbers[0])))

    return Builtin(name, call, symbolic=True, takes_template=True)


def number_packs() -> dict[str, Value]:
    """What makes them, by the names of their types."""
    return {name: _made(name) for name in (*SEQUENCES, *MAKERS)}
