"""Maps in which a function keeps the objects that it has made, by name.

``static std::unordered_map<std::string, std::unique_ptr<Kernel>> kept;`` is how host code makes
each object once. Such a map is followed where nothing but a few methods of it is ever used, so that
no copy, reference or range of it exists.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.cpp.types import parse_type, template_of
from mlaprobe.evaluator.ir import CType, Node, Span
from mlaprobe.evaluator.values import Args, Kwargs, Unknown, Value
from mlaprobe.evaluator.values.kinds import Builtin, Model, Pointer, Record
from mlaprobe.evaluator.walk import walk

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.runs import Run

_MAPS = ("std::unordered_map", "std::map")
_OWNERS = ("std::unique_ptr", "std::shared_ptr")
_METHODS = ("emplace", "try_emplace", "find", "count", "contains", "end", "cend", "size", "empty")


class End(Model):
    """The end of a container."""

    __slots__ = ()

    def equals(self, other: Value) -> bool | None:
        return isinstance(other, End)


END = End()


def pair(first: Value, second: Value) -> Record:
    """A ``std::pair``."""
    return Record("std::pair", {"first": first, "second": second})


class Entries(Model, ABC):
    """A map of entries by name that code only looks into."""

    __slots__ = ()

    @abstractmethod
    def entry(self, key: str) -> Record | None:
        """The pair of a key and its value; ``None`` where there is none."""

    def get(self, name: str, span: Span) -> Value:
        if name in ("end", "cend"):
            return Builtin(name, lambda run, a, k, s: END)
        if name in ("find", "count", "contains", "at"):
            return Builtin(name, lambda run, a, k, s: self._looked_up(name, a, s))
        return Unknown(f"{name} of a map is not modelled", span)

    def index(self, key: Value, span: Span) -> Value:
        return self._looked_up("at", (key,), span)

    def _looked_up(self, name: str, args: Args, span: Span) -> Value:
        if len(args) != 1 or not isinstance(args[0], str):
            return Unknown("an entry of a map by a name that is not known", span)
        found = self.entry(args[0])
        if name in ("count", "contains"):
            return int(found is not None) if name == "count" else found is not None
        if name == "find":
            return END if found is None else found
        return Unknown(f"no entry {args[0]}", span) if found is None else found.fields["second"]


def keeps_objects(ctype: CType, name: str, body: tuple[Node, ...]) -> bool:
    """Whether a variable is a map of objects by name, and nothing is done with it in its function
    but what :class:`KeptMap` follows."""
    head, types = template_of(ctype.name)
    if head not in _MAPS or len(types) != 2 or ctype.ref or ctype.pointer:
        return False
    key = parse_type(types[0])
    named = key.name in ("std::string", "string") or key.kind == "int"
    if key.pointer or not named or template_of(types[1])[0] not in _OWNERS:
        return False
    asked: set[int] = set()
    uses: set[int] = set()
    for node in walk(body):
        if isinstance(node, ir.Function) and _mentions(node, name):
            return False
        if isinstance(node, (ir.Opaque, ir.OpaqueStmt)) and name in node.writes:
            return False
        if isinstance(node, ir.Name) and node.id == name:
            uses.add(id(node))
        elif (
            isinstance(node, ir.Call)
            and isinstance(node.func, ir.Attr)
            and node.func.name in _METHODS
        ):
            asked.add(id(node.func.obj))
    return uses <= asked


def _mentions(function: ir.Function, name: str) -> bool:
    return any(
        (isinstance(n, ir.Name) and n.id == name)
        or (isinstance(n, (ir.Opaque, ir.OpaqueStmt)) and name in n.writes)
        for n in walk((function,))
    )


class KeptMap(Model):
    """Objects by name. One that is ``filled`` has what earlier calls left in it: an object that
    this call would put there is taken to be what it would make."""

    __slots__ = ("certain", "filled", "items")

    steady = False

    def __init__(self, *, filled: bool = False) -> None:
        self.items: dict[Value, Record] = {}
        self.filled = filled
        self.certain = True
        """Whether every key that was put in is known."""

    def equals(self, other: Value) -> bool | None:
        return None

    def get(self, name: str, span: Span) -> Value:
        if name in ("end", "cend"):
            return Builtin(name, lambda run, a, k, s: END)
        method = {"emplace": self._emplace, "try_emplace": self._emplace}.get(name)
        if method is None and name in ("size", "empty"):
            method = self._counted
        elif method is None and name in ("find", "count", "contains"):
            method = self._asked
        if method is None:
            return Unknown(f"{name} of a map is not modelled", span)
        return Builtin(name, _bound(method, name))

    def _counted(self, name: str, args: Args) -> Value:
        if self.filled or not self.certain or args:
            return Unknown("how much is in a map")
        return len(self.items) if name == "size" else not self.items

    def _asked(self, name: str, args: Args) -> Value:
        if not self.certain or len(args) != 1 or type(args[0]) not in (str, int):
            return Unknown("an element of a map")
        there = args[0] in self.items
        if self.filled and not there:
            return Unknown("what an earlier call has left in a map")
        if name == "find":
            return Pointer(self.items, args[0]) if there else END
        return there if name == "contains" else int(there)

    def _emplace(self, name: str, args: Args) -> Value:
        if not args or type(args[0]) not in (str, int):
            self.certain = False
        if not self.certain:
            return Unknown("an element of a map")
        key = args[0]
        new = key not in self.items
        if new:
            value = args[1] if len(args) == 2 else Unknown("a new object in a map")
            self.items[key] = pair(key, value)
        return pair(Pointer(self.items, key), new)


def _bound(method: Callable[[str, Args], Value], name: str) -> Callable[..., Value]:
    def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
        run.effects += 1
        value = method(name, args)
        return Unknown(value.reason, span) if isinstance(value, Unknown) else value

    return call
