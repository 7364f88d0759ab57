"""The definitions of a translation unit, looked up by name.

A name is searched in the text of the unit's files; only the pieces of code that may define it are
expanded and parsed. So a rule is found wherever it stands, in this file or in one it includes,
written out or made by a macro.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.cpp.chunks import Chunk, index_of
from mlaprobe.evaluator.cpp.definitions import Definition, DefinitionReader
from mlaprobe.evaluator.cpp.macros import ExpansionError
from mlaprobe.evaluator.cpp.preprocess import Included, TranslationUnit
from mlaprobe.evaluator.cpp.translate import Translator
from mlaprobe.evaluator.cpp.tree import Tree, without_idle_parentheses
from mlaprobe.evaluator.cpp.types import parse_type, zero_of
from mlaprobe.evaluator.cpp.writes import may_write
from mlaprobe.evaluator.engine.modules import Module
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.values import Args, Kwargs, Unknown, Value
from mlaprobe.evaluator.values.containers import CONTAINERS, Container
from mlaprobe.evaluator.values.kinds import Builtin, Closure, EnumType, StructType
from mlaprobe.evaluator.walk import walk

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.runs import Run

Foreign = Callable[[str], Value]
MAX_CHUNK = 200_000


class InStruct(Module):
    """The names that the constants of a struct see: those before them, and the unit's."""

    def __init__(self, module: CppModule, struct: StructType) -> None:
        self._module = module
        self._struct = struct
        self._names = frozenset(name for name, _ in struct.statics)

    def lookup(self, run: Run, name: str, span: Span) -> Value:
        """The value of a name."""
        if name in self._names:
            return self._module.static(run, self._struct, name, span)
        return self._module.lookup(run, name, span)

    def struct(self, name: str) -> StructType | None:
        """A struct that the source defines, by its name."""
        return self._module.struct(name)

    def static(self, run: Run, struct: StructType, name: str, span: Span) -> Value:
        """The value of a static constant of a struct."""
        return self._module.static(run, struct, name, span)


class CppModule(Module):
    """The names of a translation unit."""

    def __init__(
        self,
        unit: TranslationUnit,
        *,
        externals: Mapping[str, Value],
        foreign: Foreign = lambda name: None,
        generated: Mapping[str, Value] | None = None,
    ) -> None:
        self.unit = unit
        self._externals = externals
        self._foreign = foreign
        self._generated = generated if generated is not None else {}
        """Names that a generated header would define, in whatever namespace it is included."""
        self._parsed: dict[tuple[int, int], list[Definition]] = {}
        self._found: dict[str, list[Definition]] = {}
        self._finding: dict[str, list[Definition]] = {}
        """Definitions of the names that are being looked up, as far as that has come."""
        self._lines: dict[str, list[int]] = {}
        self._inside: dict[int, InStruct] = {}
        """The scopes of structs' constants, by the struct."""

    # --- looking up ------------------------------------------------------------------------------

    def lookup(self, run: Run, name: str, span: Span) -> Value:
        """The value of a name, unknown where the source does not define it."""
        name = name.removeprefix("::")
        if name in self._externals:
            return self._externals[name]
        head, _, last = name.rpartition("::")
        if head == "std" and last not in self._externals:
            known = self._foreign(name)
            if known is not None:
                return known
        definitions = self._scoped(self.definitions(last), head)
        if definitions:
            return self._value(run, definitions, span)
        if head:
            member = self._member(run, head, last, span)
            if member is not None:
                return member
            if last in self._externals and head in ("std", "opus", "ck_tile"):
                return self._externals[last]
        if last in self._generated:
            return self._generated[last]
        known = self._foreign(name)
        if known is not None:
            return known
        return Unknown(f"{name} is not defined in the source", span)

    def struct(self, name: str) -> StructType | None:
        """A struct or class by its name or an alias, template arguments left out. ``None`` where
        the source has none, or which one is meant is not known."""
        head, _, last = name.split("<", 1)[0].removeprefix("::").rpartition("::")
        found = self._scoped(self.definitions(last), head)
        if len({(d.namespace, d.kind) for d in found}) != 1:
            return None
        if found[-1].kind == "alias" and found[-1].value != name:
            return self.struct(found[-1].value)
        return found[-1].value if found[-1].kind == "struct" else None

    def _scoped(self, found: list[Definition], head: str) -> list[Definition]:
        """Definitions that a qualified name can mean."""
        if not head:
            return [d for d in found if d.kind != "member"]
        wanted = head.split("::")[-1]
        return [d for d in found if d.namespace.split("::")[-1] == wanted and d.kind != "member"]

    def _member(self, run: Run, head: str, last: str, span: Span) -> Value:
        kind = self.lookup(run, head.split("<", 1)[0], span)
        if isinstance(kind, EnumType):
            member = kind.member(last)
            return member if member is not None else Unknown(f"{head} has no {last}", span)
        if isinstance(kind, StructType):
            return self.static(run, kind, last, span)
        return None

    def static(self, run: Run, struct: StructType, name: str, span: Span) -> Value:
        """A static constant of a struct; one that depends on a template parameter is unknown."""
        init = dict(struct.statics).get(name)
        if init is None:
            return Unknown(f"{struct.name} has no constant {name}", span)
        used = {n.id for n in walk((init,)) if isinstance(n, ir.Name)}
        if used & set(struct.template):
            return Unknown(f"{struct.name}::{name} depends on its template arguments", span)
        earlier = [n for n, _ in struct.statics]
        earlier = earlier[: earlier.index(name)]
        if used & {n for n, _ in struct.statics} - set(earlier):
            return Unknown(f"{struct.name}::{name} depends on later constants", span)
        if not used & set(earlier):
            return run.machine.evaluate(run, init, self)
        scope = self._inside.setdefault(id(struct), InStruct(self, struct))
        return run.machine.evaluate(run, init, scope)

    def _value(self, run: Run, found: list[Definition], span: Span) -> Value:
        functions = [d for d in found if d.kind == "function"]
        if functions:
            return self._overloaded(functions)
        last = found[-1]
        if len({(d.namespace, d.kind) for d in found}) > 1:
            return Unknown(f"which {last.name} is meant is not known", span)
        if last.kind in ("struct", "enum", "enumerator"):
            return last.value
        if last.kind == "alias":
            return self.lookup(run, last.value.split("<", 1)[0], span)
        ctype, init = last.value
        value = ctype.kind != "other" or ctype.pointer or ctype.name.startswith("std::")
        if value and not ctype.const and self._written(last.name):
            return Unknown(f"{last.name} keeps its value between calls", span)
        if init is None and ctype.name.split("<", 1)[0] in CONTAINERS and not ctype.pointer:
            return Container(ctype)
        if init is None:
            return zero_of(ctype, span)  # what has static storage starts as zero
        value = run.machine.evaluate(run, init, self)
        return value if not isinstance(value, ir.Node) else Unknown("a value", span)

    def _written(self, name: str) -> bool:
        """Whether the unit may write a variable of a namespace."""
        pieces = (
            file.code[chunk.start : chunk.end]
            for file in self.unit.files
            if name in file.code
            for chunk in index_of(file.code).chunks
        )
        return may_write(name, pieces)

    def _overloaded(self, functions: list[Definition]) -> Value:
        if len(functions) == 1:
            return Closure(functions[0].value, self)

        def call(run: Run, args: Args, kwargs: Kwargs, span: Span) -> Value:
            fitting = [d for d in functions if _fits(d.value, len(args))]
            if len(fitting) != 1:
                return run.machine.call(
                    run,
                    Unknown(f"which {functions[0].name} is called is not known", span),
                    args,
                    kwargs,
                    span,
                )
            return run.machine.call(run, Closure(fitting[0].value, self), args, kwargs, span)

        return Builtin(functions[0].name, call)

    def function(self, name: str) -> Closure | None:
        """The one function of that name, or ``None``."""
        functions = [d for d in self.definitions(name) if d.kind == "function"]
        return Closure(functions[0].value, self) if functions else None

    def definitions(self, name: str) -> list[Definition]:
        """Everything in the unit that defines a name."""
        found = self._found.get(name, self._finding.get(name))
        if found is None:
            found = self._finding[name] = []
            try:
                self._find(name, found)
            finally:
                del self._finding[name]
            self._found[name] = found
        return found

    def _find(self, name: str, found: list[Definition]) -> None:
        spellings = (name, *self.unit.spellings(name))
        for file in self.unit.files:
            chunks: dict[int, Chunk] = {}
            for spelling in spellings:
                mentioning = index_of(file.code).mentioning(spelling)
                chunks.update((c.start, c) for c in mentioning)
            for start in sorted(chunks):
                found.extend(d for d in self._chunk(file, chunks[start]) if d.name == name)

    # --- parsing ---------------------------------------------------------------------------------

    def _alias(self, name: str) -> str | None:
        """The type that a name is an alias of, as its text."""
        if not name.replace("::", "").replace("_", "").isalnum():
            return None
        found = [d for d in self.definitions(name.rpartition("::")[2]) if d.kind == "alias"]
        texts = {d.value for d in found}
        return texts.pop() if len(texts) == 1 else None

    def _is_type(self, name: str) -> bool:
        """Whether a name in parentheses may be the type of a cast."""
        if parse_type(name).kind != "other" or name.endswith("_t"):
            return True
        kinds = {d.kind for d in self.definitions(name.rpartition("::")[2])}
        return bool(kinds & {"struct", "enum", "alias"})

    def place(self, file: str, offset: int) -> tuple[int, int]:
        """Line and column of an offset, 1-based."""
        starts = self._lines.get(file)
        if starts is None:
            ends = re.finditer("\n", self.unit.text(file))
            starts = self._lines[file] = [0, *(end.end() for end in ends)]
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def _chunk(self, file: Included, chunk: Chunk) -> list[Definition]:
        key = (id(file), chunk.start)
        known = self._parsed.get(key)
        if known is None:
            known = self._parsed[key] = self._parse(file, chunk)
        return known

    def _parse(self, file: Included, chunk: Chunk) -> list[Definition]:
        if chunk.end - chunk.start > MAX_CHUNK:
            return []
        try:
            tokens = self.unit.expand(file, chunk.start, chunk.end)
        except ExpansionError:
            return []
        tree = Tree(without_idle_parentheses(tokens, self._is_type), self.place)
        reader = DefinitionReader(Translator(tree, self._alias), file.path, chunk.namespace)
        reader.read(tree.root)
        return reader.found


def _fits(function: ir.Function, count: int) -> bool:
    params = [p for p in function.params if p.kind == "normal"]
    least = sum(1 for p in params if p.default is None)
    return least <= count and (count <= len(params) or len(params) < len(function.params))
