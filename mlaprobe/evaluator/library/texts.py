"""Functions of C++ on characters and on pointers into texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.symbolic.symbols import Sym
from mlaprobe.evaluator.values import Args, Kwargs, Unknown, Value
from mlaprobe.evaluator.values.arithmetic import plain_number
from mlaprobe.evaluator.values.kinds import Builtin, plain

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.runs import Run

_LOW, _HIGH = -(2**31), 2**31


def _moved(text: str, by: int) -> str:
    """A pointer into a text, so many characters further on."""
    if not isinstance(text, str) or not 0 <= by <= len(text):
        raise ValueError("a pointer that leaves its text")
    return text[by:]


def _wrapped(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    """A number as an int of 32 bits holds it."""
    value = plain_number(args[0])
    if type(value) is Sym:
        if type(value.value) is not int or value.fits(_LOW, _HIGH - 1):
            return value
        value = value.concretize()
    if type(value) is not int:
        return value
    if not -(2**63) <= value < 2**64:
        return Unknown(f"{value} does not fit in 64 bits", span)
    return (value - _LOW) % 2**32 + _LOW


def _is(test: Callable[[str], bool]) -> Callable[[Value], int]:
    """What asks of a character whether it is of a kind."""

    def ask(char: Value) -> int:
        char = chr(char) if type(char) is int else char
        if not isinstance(char, str) or len(char) != 1 or not char.isascii():
            raise ValueError("a character that is not followed")
        return int(test(char))

    return ask


_KINDS: dict[str, Callable[[str], bool]] = {
    "isdigit": str.isdigit,
    "isalpha": str.isalpha,
    "isalnum": str.isalnum,
    "isupper": str.isupper,
    "islower": str.islower,
}


def texts() -> Mapping[str, Value]:
    """Names of functions and what they do."""
    kinds = {name: plain(name, _is(test)) for name, test in _KINDS.items()}
    return {
        **kinds,
        **{f"std::{name}": function for name, function in kinds.items()},
        "operator char*": plain("a pointer into a text", _moved),
        "operator int32": Builtin("int", _wrapped, symbolic=True),
    }
