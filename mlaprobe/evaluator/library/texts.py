"""Functions of C++ on characters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.values import Args, Kwargs, Unknown, Value
from mlaprobe.evaluator.values.kinds import Builtin, plain

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.runs import Run


def _written(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    """A stream with something written to it: what it holds is not known (see ``_held``), so that
    numbers of a question may stay symbols."""
    return args[0]


def _held(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    """What a stream holds: messages are made of it, and the bundled releases say them without."""
    return Unknown("what a stream holds", span, foreign=True)


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
        "operator <<stream": Builtin("what is written to a stream", _written, symbolic=True),
        "operator str()stream": Builtin("what a stream holds", _held),
    }
