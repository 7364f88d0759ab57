"""What a rule file must look like, built from small parts.

A schema checks a loaded value and raises ``RuleError`` at the place of the first thing that is
wrong, named by its path (``models[3].heads``). Keys that a schema does not know are errors: a
misspelt key would otherwise be a rule that never applies.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from mlaprobe.core.inputs import closest
from mlaprobe.core.releases import is_release
from mlaprobe.rulefiles.loader import Place, RuleList, RuleMap, children

_NAMES: Mapping[type, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    RuleMap: "a mapping",
    RuleList: "a list",
    type(None): "nothing",
}
"""The types that the loader makes of what a file holds."""


class Schema:
    """Something that a value can be checked against."""

    kinds: tuple[type, ...] = ()
    """The types of the values that fit, whatever is inside them."""
    expects: str = ""
    """What it wants, in words."""

    def check(self, value: Any, place: Place, where: str = "") -> None:
        """Checks a value that stands at a place.

        Args:
            where: the path of the value in its file.

        Raises:
            RuleError: it is not as it should be.
        """
        if type(value) not in self.kinds:
            raise _error(place, where, f"{self.expects} expected, not {_NAMES[type(value)]}")
        self.check_inside(value, place, where)

    def check_inside(self, value: Any, place: Place, where: str) -> None:
        """Checks a value of the right kind; many kinds have nothing more to check."""


def _error(place: Place, where: str, message: str, hint: str | None = None) -> Exception:
    return place.error(f"{where}: {message}" if where else message, hint)


def _likely(word: object, known: Collection[str]) -> str:
    close = closest(str(word), known)
    return f"did you mean {close!r}?" if close else f"one of {', '.join(known)}"


@dataclass(frozen=True, eq=False)
class Text(Schema):
    """Text that is not empty, perhaps of a given set or form."""

    kinds = (str,)
    expects = "text"
    choices: tuple[str, ...] = ()
    pattern: str | None = None
    form: str = "of the right form"
    """The pattern in words."""

    def check_inside(self, value: str, place: Place, where: str) -> None:
        if self.choices and value not in self.choices:
            raise _error(place, where, f"unknown value {value!r}", _likely(value, self.choices))
        if not value.strip():
            raise _error(place, where, "the text is empty")
        if self.pattern is not None and re.fullmatch(self.pattern, value) is None:
            raise _error(place, where, f"{value!r} is not {self.form}")


class Release(Schema):
    """The name of a release, for example ``v0.1.20``."""

    kinds = (str,)
    expects = "a release"

    def check_inside(self, value: str, place: Place, where: str) -> None:
        if not is_release(value):
            raise _error(place, where, f"{value!r} is no release", "write it like v0.1.20")


@dataclass(frozen=True, eq=False)
class _Bounded(Schema):
    """A number within bounds, the bounds included."""

    minimum: float | None = None
    maximum: float | None = None

    def check_inside(self, value: float, place: Place, where: str) -> None:
        if self.minimum is not None and value < self.minimum:
            raise _error(place, where, f"{value} is less than {self.minimum}")
        if self.maximum is not None and value > self.maximum:
            raise _error(place, where, f"{value} is more than {self.maximum}")


class Number(_Bounded):
    """A number, whole or not."""

    kinds = (int, float)
    expects = "a number"


class Whole(_Bounded):
    """A whole number."""

    kinds = (int,)
    expects = "a whole number"


def whole(minimum: int | None = None, maximum: int | None = None) -> Whole:
    """A whole number within bounds."""
    return Whole(minimum, maximum)


class Flag(Schema):
    """True or false."""

    kinds = (bool,)
    expects = "true or false"


class Anything(Schema):
    """Whatever stands there."""

    kinds = tuple(_NAMES)


class Nothing(Schema):
    """``null``; of use inside ``Either``."""

    kinds = (type(None),)
    expects = "nothing"


class Either(Schema):
    """The first of several schemas that wants a value of this kind."""

    def __init__(self, *schemas: Schema) -> None:
        self._schemas = {kind: each for each in reversed(schemas) for kind in each.kinds}
        self.kinds = tuple(self._schemas)
        self.expects = " or ".join(each.expects for each in schemas)

    def check_inside(self, value: Any, place: Place, where: str) -> None:
        self._schemas[type(value)].check_inside(value, place, where)


class Checked(Schema):
    """A schema with a condition besides."""

    def __init__(self, schema: Schema, condition: Callable[[Any, Place, str], None]) -> None:
        """
        Args:
            condition: raises ``RuleError`` for a value that fits the schema and is wrong all the
                same; is given the value, its place and its path.
        """
        self._schema, self._condition = schema, condition
        self.kinds, self.expects = schema.kinds, schema.expects

    def check_inside(self, value: Any, place: Place, where: str) -> None:
        self._schema.check_inside(value, place, where)
        self._condition(value, place, where)


@dataclass(frozen=True, eq=False)
class ListOf(Schema):
    """A list."""

    kinds = (RuleList,)
    expects = "a list"
    item: Schema
    at_least: int = 0
    unique: bool = False

    def check_inside(self, value: RuleList, place: Place, where: str) -> None:
        if len(value) < self.at_least:
            raise _error(place, where, f"a list of at least {self.at_least} expected")
        for index, item, at in children(value):
            inside = f"{where}[{index}]"
            if self.unique and item in value[:index]:
                raise at.error(f"{inside}: {item!r} is there twice")
            self.item.check(item, at, inside)


@dataclass(frozen=True, eq=False)
class MapOf(Schema):
    """A mapping with keys that the writer of the file chooses."""

    kinds = (RuleMap,)
    expects = "a mapping"
    value: Schema
    key: Schema = field(default_factory=Text)

    def check_inside(self, value: RuleMap, place: Place, where: str) -> None:
        for key, item, at in children(value):
            inside = f"{where}.{key}" if where else str(key)
            self.key.check(key, value.key_places[key], inside)
            self.value.check(item, at, inside)


@dataclass(frozen=True, eq=False)
class Record(Schema):
    """A mapping with known keys."""

    kinds = (RuleMap,)
    expects = "a mapping"
    required: Mapping[str, Schema] = field(default_factory=dict)
    optional: Mapping[str, Schema] = field(default_factory=dict)

    def check_inside(self, value: RuleMap, place: Place, where: str) -> None:
        known = {**self.required, **self.optional}
        for key, item, at in children(value):
            inside = f"{where}.{key}" if where else str(key)
            if key not in known:
                at = value.key_places[key]
                raise at.error(f"{inside}: unknown key {key!r}", _likely(key, known))
            known[key].check(item, at, inside)
        for key in self.required:
            if key not in value:
                raise _error(place, where, f"the key {key!r} is missing")
