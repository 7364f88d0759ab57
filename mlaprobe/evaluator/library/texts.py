"""Functions of C++ on characters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.symbolic.symbols import SymText, joined, number_of
from mlaprobe.evaluator.symbolic.symbols import plain as plain_value
from mlaprobe.evaluator.values import Args, Kwargs, Unknown, Value
from mlaprobe.evaluator.values.arithmetic import LONGEST
from mlaprobe.evaluator.values.comparing import compare
from mlaprobe.evaluator.values.kinds import Builtin, plain

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.runs import Run


class HeldText(Unknown):
    """What a stream holds. Messages are made of it, and the bundled releases say them without; it
    compares as the text that it is."""

    __slots__ = ("text",)

    def __init__(self, text: Value, span: Span) -> None:
        super().__init__("what a stream holds", span, foreign=True)
        self.text = text

    def derive(self, op: str, *operands: Value) -> Value:
        texts = [o.text if isinstance(o, HeldText) else o for o in operands]
        if op in ("==", "<") and len(texts) == 2 and all(isinstance(t, _TEXTS) for t in texts):
            return compare(op, plain_value(texts[0]), plain_value(texts[1]), self.span)
        return super().derive(op, *operands)


_TEXTS = (str, SymText)


def _written(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    """A stream with something written to it, whose last argument tells whether that is a text, or a
    number that is written with its digits. Numbers of a question stay symbols."""
    text, value, shown = args
    value = int(value) if isinstance(value, bool) else value
    known = isinstance(value, (*_TEXTS, int)) or type(number_of(value)) is int
    if not (shown and known and isinstance(text, _TEXTS)):
        return Unknown("what a stream holds", span, foreign=True)
    whole = joined([text, value])
    if isinstance(whole, str) and len(whole) > LONGEST:
        return Unknown("a text too long to follow", span)
    return whole


def _held(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    """What a stream holds."""
    (text,) = args
    if isinstance(text, _TEXTS):
        return HeldText(text, span)
    return Unknown("what a stream holds", span, foreign=True)


def _emptied(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    """A stream without what was written to it."""
    (text,) = args
    return "" if isinstance(text, _TEXTS) else text


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
        "operator str()stream": Builtin("what a stream holds", _held, symbolic=True),
        "operator str(empty)stream": Builtin("an empty stream", _emptied, symbolic=True),
    }
