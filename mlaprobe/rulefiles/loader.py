"""Loads what people know and AITER's source cannot say: the files under ``rules/``.

The loader is strict: it reads the subset of YAML in which a file means what it looks like,
keeps the place of every value, and reports what is wrong by file and line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, Protocol

import yaml

from mlaprobe.core.caches import Cache, cached
from mlaprobe.core.inputs import closest
from mlaprobe.errors import InputFileError, RuleError

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?")
# What YAML makes of values that are written without a tag.
_PLAIN_TAGS = frozenset(
    ("str", "int", "float", "bool", "null", "timestamp", "merge", "value", "seq", "map")
)
_WORDS: dict[str, object] = {"": None, "~": None, "null": None, "true": True, "false": False}
MOST_DIGITS = 18
"""Of a whole number: a longer one counts nothing that there is."""
# YAML 1.1 takes these for booleans or numbers and YAML 1.2 does not: the writer must say which.
_DOUBTFUL = re.compile(
    r"yes|no|on|off|null|true|false|[-+]?0[xob]?[0-9a-f_]+|[-+]?[0-9]+(?:[:_][0-9]+)+"
    r"|[-+]?\.(?:inf|nan)",
    re.I,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where something stands in a rule file."""

    file: str
    line: int
    """1-based."""
    column: int
    """1-based."""
    text: str
    """The whole line."""

    def error(self, message: str, hint: str | None = None) -> RuleError:
        """An error about what stands here."""
        return RuleError(
            message, hint=hint, file=self.file, line=self.line, column=self.column, text=self.text
        )


class RuleMap(dict[Any, Any]):
    """A mapping that knows where it stands, and where its keys and values do."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self.place = place
        self.key_places: dict[Any, Place] = {}
        self.places: dict[Any, Place] = {}


class RuleList(list[Any]):
    """A sequence that knows where it stands, and where its items do."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self.place = place
        self.places: list[Place] = []


def rules_dir() -> Path:
    """The directory of rule files: inside the package in a wheel, beside it in a checkout."""
    package = Path(__file__).resolve().parent.parent
    shipped, checkout = package / "_rules", package.parent / "rules"
    if not shipped.is_dir() and (package.parent / "pyproject.toml").is_file():
        return checkout
    return shipped


def rule_names(folder: str = "") -> tuple[str, ...]:
    """The names of all rule files in a folder of the rules, as ``load_rules`` takes them."""
    top = rules_dir()
    found = (top / folder).glob("*.yaml")
    return tuple(sorted(file.relative_to(top).with_suffix("").as_posix() for file in found))


class Checker(Protocol):
    """What a rule file is checked with; ``mlaprobe.rulefiles.schema`` has the building blocks."""

    def check(self, value: Any, place: Place, where: str = "") -> None:
        """Raises ``RuleError`` where the value is not as it should be."""


@cached(Cache.RULES, 256)
def load_rules(name: str, schema: Checker | None = None) -> RuleMap:
    """The rule file ``rules/NAME.yaml``. Loaded once: callers must not change it.

    Raises:
        RuleError: there is none, or it is wrong.
    """
    file = rules_dir() / f"{name}.yaml"
    if not file.is_file():
        close = closest(name, rule_names(str(Path(name).parent)))
        raise RuleError(
            f"there are no rules {name!r}",
            hint=f"did you mean {close!r}?" if close else None,
            file=_display(file),
        )
    loaded = load_yaml(file)
    if not isinstance(loaded, RuleMap):
        raise RuleError(f"rules {name!r} are not a mapping", file=_display(file), line=1)
    if schema is not None:
        schema.check(loaded, loaded.place)
    return loaded


@contextmanager
def input_file(file: Path | str, kind: str, schema: Checker) -> Iterator[RuleMap]:
    """A file that a user wrote for mlaprobe, checked. An error in it is a mistake of its writer,
    also where it shows only when something is made of its content.

    Args:
        kind: what it is, in words: ``deployments file``.

    Raises:
        InputFileError: it cannot be read, or something in it is wrong.
    """
    shown = _display(Path(file))
    try:
        loaded, place = _placed(shown, _read(Path(file), kind), kind)
        schema.check(loaded, place)
        yield loaded
    except RuleError as error:
        if error.file != shown:  # a rule file of mlaprobe
            raise
        raise InputFileError(
            error.message,
            hint=error.hint,
            file=error.file,
            line=error.line,
            column=error.column,
            text=error.text,
        ) from None


def load_yaml(source: Path | str, *, name: str = "<text>") -> Any:
    """A YAML file (for a path) or text, strictly. Mappings are ``RuleMap``, sequences
    ``RuleList``; the rest is text, whole numbers, floats, booleans and ``None``.

    Raises:
        RuleError: it cannot be read, or is not of the strict subset.
    """
    if isinstance(source, Path):
        name, source = _display(source), _read(source)
    return _placed(name, source)[0]


def _placed(name: str, text: str, kind: str = "rule file") -> tuple[Any, Place]:
    """What a file holds, and where that begins."""
    reader = _Reader(name, text)
    try:
        root = yaml.compose(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = f"not YAML: {error.problem or error.context}"
        raise (reader.at(mark) if mark else Place(file=name, line=1, column=1, text="")).error(
            message
        ) from None
    except yaml.YAMLError as error:  # characters that YAML does not allow: no mark
        raise RuleError(f"not YAML: {str(error).splitlines()[0]}", file=name) from None
    if root is None:
        raise RuleError(f"the {kind} is empty", file=name, line=1)
    return reader.value(root), reader.at(root.start_mark)


def _read(file: Path, kind: str = "rule file") -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        reason = error.strerror
    except UnicodeDecodeError:
        reason = "it is not UTF-8"
    shown = _display(file)
    hint = "name a file that exists and can be read"
    if shown != str(file):
        hint = "this mlaprobe is not whole: install it again"
    raise RuleError(f"cannot read the {kind}: {reason}", hint=hint, file=shown)


def _display(file: Path) -> str:
    try:
        return f"rules/{file.resolve().relative_to(rules_dir()).as_posix()}"
    except ValueError:
        return str(file)


class _Reader:
    """Turns YAML nodes into values with places."""

    def __init__(self, file: str, text: str) -> None:
        self._file = file
        self._lines = re.split(r"\r\n|\n|\r|\x85|\u2028|\u2029", text)  # YAML's line breaks
        self._seen: set[int] = set()

    def at(self, mark: Any) -> Place:
        line: int = mark.line
        text = self._lines[line] if line < len(self._lines) else ""
        return Place(file=self._file, line=line + 1, column=mark.column + 1, text=text)

    def value(self, node: Any) -> Any:
        place = self.at(node.start_mark)
        if id(node) in self._seen:
            raise place.error("an anchor or alias", hint="write the value out where it is used")
        self._seen.add(id(node))
        if node.tag.removeprefix("tag:yaml.org,2002:") not in _PLAIN_TAGS:
            raise place.error(f"a tag, {node.tag}", hint="write plain values only")
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, place)
        if isinstance(node, yaml.SequenceNode):
            items = RuleList(place)
            for item in node.value:
                items.places.append(self.at(item.start_mark))
                items.append(self.value(item))
            return items
        return self._scalar(node, place)

    def _mapping(self, node: Any, place: Place) -> RuleMap:
        found = RuleMap(place)
        for key_node, value_node in node.value:
            key_place = self.at(key_node.start_mark)
            key = self.value(key_node)
            if isinstance(key, bool) or not isinstance(key, (str, int)) or key == "<<":
                raise key_place.error("a key must be text or a whole number")
            if key in found:
                raise key_place.error(
                    f"the key {key!r} is there twice",
                    hint=f"it stands in line {found.key_places[key].line} already",
                )
            found.key_places[key] = key_place
            found.places[key] = self.at(value_node.start_mark)
            found[key] = self.value(value_node)
        return found

    @staticmethod
    def _scalar(node: Any, place: Place) -> object:
        text: str = node.value
        if node.style:  # quoted
            return text
        if text in _WORDS:
            return _WORDS[text]
        if _INT.fullmatch(text) and len(text) <= MOST_DIGITS:
            return int(text)
        if _INT.fullmatch(text) or (_FLOAT.fullmatch(text) and not isfinite(float(text))):
            raise place.error(
                "a number that is too large", hint="write a smaller one, or text in quotation marks"
            )
        if _DOUBTFUL.fullmatch(text):
            raise place.error(
                f"{text!r} means different things to different readers of YAML",
                hint=f'write "{text}" for text, true or false, or a plain decimal number',
            )
        return float(text) if _FLOAT.fullmatch(text) else text


def children(value: Any) -> Iterator[tuple[Any, Any, Place]]:
    """Key or index, value and place of everything directly inside a mapping or sequence."""
    if isinstance(value, RuleMap):
        for key, item in value.items():
            yield key, item, value.places[key]
    elif isinstance(value, RuleList):
        yield from zip(range(len(value)), value, value.places, strict=True)


def fields_of(entry: RuleMap) -> dict[str, Any]:
    """What a mapping holds, its lists as tuples: the arguments of a dataclass with its keys."""
    return {
        key: tuple(value) if isinstance(value, RuleList) else value for key, value in entry.items()
    }
