"""Files of the source that its Python reads: configurations in JSON beside the modules.

A path is known as far as it begins at a module's own file; where the source lies is not.
"""

from __future__ import annotations

import copy
import json
import posixpath
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlaprobe.evaluator.engine.signals import Failed
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.values import Args, Kwargs, PathText, Unknown, Value
from mlaprobe.evaluator.values.kinds import Builtin, Model

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.runs import Run

_READING = ("r", "rt")


@dataclass(frozen=True, slots=True, eq=False)
class TextFile(Model):
    """A file that is open for reading."""

    text: str

    def around(self, run: Run, inside: Callable[[Value], None], span: Span) -> bool:
        inside(self)
        return True

    def get(self, name: str, span: Span) -> Value:
        """A method."""
        if name == "read":
            return Builtin("read", lambda run, a, k, s: Unknown("a part of a file", s))
        return Unknown(f"{name} of a file is not followed", span, foreign=True)


def _of_path(name: str, make: Callable[[str], str]) -> Builtin:
    """A function of ``os.path`` with one argument."""

    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        path = args[0] if len(args) == 1 and not kwargs else None
        if isinstance(path, PathText):
            return PathText(make(path.path), span)
        if name == "dirname" and type(path) is str:
            return make(path)
        return Unknown(f"os.path.{name} of this value", span, foreign=True)

    return Builtin(f"os.path.{name}", call)


def _json(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    file = args[0] if len(args) == 1 and not kwargs else None
    if not isinstance(file, TextFile):
        return Unknown("json.load of what is not known", span)
    try:
        found: Value = json.loads(file.text)
    except ValueError as error:
        raise Failed("exception", "JSONDecodeError", str(error), span) from None
    return found


def _deepcopy(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
    if len(args) == 1 and not kwargs and _is_plain(args[0]):
        return copy.deepcopy(args[0])
    return Unknown("a copy of what is not known", span)


def _is_plain(value: Value) -> bool:
    """Whether a value is made of texts, numbers, lists and dicts alone."""
    if type(value) is dict:
        return all(map(_is_plain, (*value, *value.values())))
    if type(value) in (list, tuple):
        return all(map(_is_plain, value))
    return value is None or type(value) in (str, int, float, bool)


FILES = {
    "os.path.dirname": _of_path("dirname", posixpath.dirname),
    "os.path.abspath": _of_path("abspath", posixpath.normpath),
    "os.path.normpath": _of_path("normpath", posixpath.normpath),
    "copy.deepcopy": Builtin("copy.deepcopy", _deepcopy, symbolic=True),
    "json.load": Builtin("json.load", _json),
}
"""Names outside the source, by their dotted names."""


def opening(read: Callable[[str], str | None], roots: tuple[str, ...]) -> Builtin:
    """``open`` for files in some folders of the source, for reading. ``read`` gives the text of one
    by its path."""

    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        path, mode = args[0] if args else None, args[1] if len(args) > 1 else kwargs.get("mode")
        if not isinstance(path, PathText) or mode not in (None, *_READING) or len(args) > 2:
            return Unknown("open is not followed", span)
        place = posixpath.normpath(path.path)
        if place.split("/")[0] not in roots:
            return Unknown(f"{place} is outside the package", span)
        text = read(place)
        if text is None:
            raise Failed("exception", "FileNotFoundError", place, span)
        return TextFile(text)

    return Builtin("open", call)
