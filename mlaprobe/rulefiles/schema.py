"""What a rule file must look like, built from small parts.

A schema checks a loaded value and raises ``RuleError`` at the place of the first thing that is
wrong, named by its path (``models[3].heads``). Keys that a schema does not know are errors: a
misspelt key would otherwise be a rule that never applies.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from mlaprobe.core.releases import is_release
from mlaprobe.rulefiles.loader import Place, RuleList, RuleMap, children

_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "true or false"),
    (int, "a whole number"),
    (float, "a number"),
    (str, "text"),
    (RuleMap, "a mapping"),
    (RuleList, "a list"),
)


def kind_of(value: Any) -> str:
    """What a value is, in words."""
    return next((words for kind, words in _KINDS if isinstance(value, kind)), "nothing")


class Schema(ABC):
    """Something that a value can be checked against."""

    @property
    @abstractmethod
    def expects(self) -> str:
        """What it wants, in words."""

    @abstractmethod
    def fits(self, value: Any) -> bool:
        """Whether the value is of the right kind, whatever is inside it."""

    def check(self, value: Any, place: Place, where: str = "") -> None:
        """Checks a value that stands at a place.

        Raises:
            RuleError: it is not as it should be.
        """
        if not self.fits(value):
            raise place.error(f"{_prefix(where)}{self.expects} expected, not {kind_of(value)}")
        self.check_inside(value, place, where)

    def check_inside(self, value: Any, place: Place, where: str) -> None:  # noqa: B027
        """Checks a value of the right kind; many kinds have nothing more to check."""


def _prefix(where: str) -> str:
    return f"{where}: " if where else ""


def _did_you_mean(word: object, known: Mapping[str, object] | tuple[str, ...]) -> str:
    close = get_close_matches(str(word), list(known), n=1)
    return f"did you mean {close[0]!r}?" if close else f"one of {', '.join(known)}"


@dataclass(frozen=True, slots=True, eq=False)
class Text(Schema):
    """Text that is not empty, perhaps of a given set or form."""

    choices: tuple[str, ...] = ()
    pattern: str | None = None
    form: str = "of the right form"
    """The pattern in words."""

    @property
    def expects(self) -> str:
        return "text"

    def fits(self, value: Any) -> bool:
        return isinstance(value, str)

    def check_inside(self, value: Any, place: Place, where: str) -> None:
        if self.choices and value not in self.choices:
            raise place.error(
                f"{_prefix(where)}unknown value {value!r}", hint=_did_you_mean(value, self.choices)
            )
        if not value.strip():
            raise place.error(f"{_prefix(where)}the text is empty")
        if self.pattern is not None and re.fullmatch(self.pattern, value) is None:
            raise place.error(f"{_prefix(where)}{value!r} is not {self.form}")


@dataclass(frozen=True, slots=True, eq=False)
class Release(Schema):
    """The name of a release, for example ``v0.1.20``."""

    @property
    def expects(self) -> str:
        return "a release"

    def fits(self, value: Any) -> bool:
        return isinstance(value, str)

    def check_inside(self, value: Any, place: Place, where: str) -> None:
        if not is_release(value):
            raise place.error(
                f"{_prefix(where)}{value!r} is no release", hint="write it like v0.1.20"
            )


@dataclass(frozen=True, slots=True, eq=False)
class Number(Schema):
    """A number within bounds, the bounds included."""

    minimum: float | None = None
    maximum: float | None = None
    whole: bool = False

    @property
    def expects(self) -> str:
        return "a whole number" if self.whole else "a number"

    def fits(self, value: Any) -> bool:
        kinds = (int,) if self.whole else (int, float)
        return isinstance(value, kinds) and not isinstance(value, bool)

    def check_inside(self, value: Any, place: Place, where: str) -> None:
        if self.minimum is not None and value < self.minimum:
            raise place.error(f"{_prefix(where)}{value} is less than {self.minimum}")
        if self.maximum is not None and value > self.maximum:
            raise place.error(f"{_prefix(where)}{value} is more than {self.maximum}")


def whole(minimum: int | None = None, maximum: int | None = None) -> Number:
    """A whole number within bounds."""
    return Number(minimum, maximum, whole=True)


@dataclass(frozen=True, slots=True, eq=False)
class Flag(Schema):
    """True or false."""

    @property
    def expects(self) -> str:
        return "true or false"

    def fits(self, value: Any) -> bool:
        return isinstance(value, bool)


@dataclass(frozen=True, slots=True, eq=False)
class Anything(Schema):
    """Whatever stands there."""

    @property
    def expects(self) -> str:
        return "anything"

    def fits(self, value: Any) -> bool:
        return True


@dataclass(frozen=True, slots=True, eq=False)
class Nothing(Schema):
    """``null``; of use inside ``Either``."""

    @property
    def expects(self) -> str:
        return "nothing"

    def fits(self, value: Any) -> bool:
        return value is None


class Either(Schema):
    """The first of several schemas that wants a value of this kind."""

    def __init__(self, *schemas: Schema) -> None:
        self._schemas = schemas

    @property
    def expects(self) -> str:
        return " or ".join(schema.expects for schema in self._schemas)

    def fits(self, value: Any) -> bool:
        return any(schema.fits(value) for schema in self._schemas)

    def check_inside(self, value: Any, place: Place, where: str) -> None:
        next(s for s in self._schemas if s.fits(value)).check_inside(value, place, where)


@dataclass(frozen=True, slots=True, eq=False)
class ListOf(Schema):
    """A list."""

    item: Schema
    at_least: int = 0
    unique: bool = False

    @property
    def expects(self) -> str:
        return "a list"

    def fits(self, value: Any) -> bool:
        return isinstance(value, RuleList)

    def check_inside(self, value: Any, place: Place, where: str) -> None:
        if len(value) < self.at_least:
            raise place.error(f"{_prefix(where)}a list of at least {self.at_least} expected")
        for index, item, at in children(value):
            inside = f"{where}[{index}]"
            if self.unique and item in value[:index]:
                raise at.error(f"{inside}: {item!r} is there twice")
            self.item.check(item, at, inside)


@dataclass(frozen=True, slots=True, eq=False)
class MapOf(Schema):
    """A mapping with keys that the writer of the file chooses."""

    value: Schema
    key: Schema = field(default_factory=Text)

    @property
    def expects(self) -> str:
        return "a mapping"

    def fits(self, value: Any) -> bool:
        return isinstance(value, RuleMap)

    def check_inside(self, value: Any, place: Place, where: str) -> None:
        for key, item, at in children(value):
            inside = f"{where}.{key}" if where else str(key)
            self.key.check(key, value.key_places[key], inside)
            self.value.check(item, at, inside)


@dataclass(frozen=True, slots=True, eq=False)
class Record(Schema):
    """A mapping with known keys."""

    required: Mapping[str, Schema] = field(default_factory=dict)
    optional: Mapping[str, Schema] = field(default_factory=dict)

    @property
    def expects(self) -> str:
        return "a mapping"

    def fits(self, value: Any) -> bool:
        return isinstance(value, RuleMap)

    def check_inside(self, value: Any, place: Place, where: str) -> None:
        known = {**self.required, **self.optional}
        for key, item, at in children(value):
            inside = f"{where}.{key}" if where else str(key)
            if key not in known:
                raise value.key_places[key].error(
                    f"{inside}: unknown key {key!r}", hint=_did_you_mean(key, known)
                )
            known[key].check(item, at, inside)
        for key in self.required:
            if key not in value:
                raise place.error(f"{_prefix(where)}the key {key!r} is missing")
