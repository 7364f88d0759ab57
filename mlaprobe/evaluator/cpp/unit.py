"""The definitions of a translation unit, looked up by name.

A name is searched in the text of the unit's files; only the pieces of code that may define it are
expanded and parsed. So a rule is found wherever it stands, in this file or in one it includes,
written out or made by a macro.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.cpp.chunks import Chunk, index_of
from mlaprobe.evaluator.cpp.definitions import Definition
from mlaprobe.evaluator.cpp.forms import operators
from mlaprobe.evaluator.cpp.forms.constructing import Places, made
from mlaprobe.evaluator.cpp.forms.known import Known
from mlaprobe.evaluator.cpp.forms.layouts import size_of_named
from mlaprobe.evaluator.cpp.forms.methods import above, method_of
from mlaprobe.evaluator.cpp.forms.typing import Outside, type_of_variable
from mlaprobe.evaluator.cpp.literals import LITERAL
from mlaprobe.evaluator.cpp.pieces import Pieces
from mlaprobe.evaluator.cpp.preprocess import Included, TranslationUnit
from mlaprobe.evaluator.cpp.templating.instances import (
    instance,
    specialised,
    static_of,
)
from mlaprobe.evaluator.cpp.types import parse_type, zero_of
from mlaprobe.evaluator.cpp.writes import may_write, may_write_result
from mlaprobe.evaluator.engine.modules import Module
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.stl.containers import lasting
from mlaprobe.evaluator.stl.owners import owns
from mlaprobe.evaluator.stl.shapes import CONTAINERS, Sort, shape_of
from mlaprobe.evaluator.values import Args, Unknown, Value
from mlaprobe.evaluator.values.kinds import (
    Closure,
    EnumType,
    Overloaded,
    Record,
    StructType,
)

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.runs import Run

Foreign = Callable[[str], Value]


class CppModule(Module):
    """The names of a translation unit."""

    lang = "cpp"

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
        self._found: dict[str, list[Definition]] = {}
        self._finding: dict[str, list[Definition]] = {}
        """Definitions of the names that are being looked up, as far as that has come."""
        self._spelled: dict[int, tuple[tuple[str, int, str], ...]] = {}
        self._operators: dict[tuple[str, frozenset[str]], list[ir.Function]] = {}
        self.known = Known(self)
        """What has been found out of its classes and functions."""
        self._lines: dict[str, list[int]] = {}
        outside = Outside(
            self._alias,
            self._member_type,
            self._result,
            self._variable,
            self._hoist,
            partial(size_of_named, self),
        )
        self._pieces = Pieces(unit, self.place, outside, self._is_type)

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
            if member is not None and not isinstance(member, Unknown):
                return member
            other = self._alias(head)
            if other is not None and other != head and "<" not in other:
                return self.lookup(run, f"{other}::{last}", span)
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

    def named(self, name: str) -> list[Definition]:
        """What a name, maybe qualified, can mean."""
        head, _, last = name.removeprefix("::").rpartition("::")
        return self._scoped(self.definitions(last), head)

    def _scoped(self, found: list[Definition], head: str) -> list[Definition]:
        """Definitions that a qualified name can mean."""
        if not head:
            return [d for d in found if d.kind != "member" and not self._of_class(d)]
        wanted = head.split("::")[-1]
        return [d for d in found if d.namespace.split("::")[-1] == wanted and d.kind != "member"]

    def _of_class(self, found: Definition) -> bool:
        """Whether a function is a method that is defined outside its class."""
        owner = found.owner.rpartition("::")[2] if found.kind == "function" else ""
        return bool(owner) and any(d.kind == "struct" for d in self.definitions(owner))

    def outside(self, struct: StructType, name: str) -> list[ir.Function]:
        """The methods of a name that are defined outside their class."""
        owner = struct.name.rpartition("::")[2]
        found = [d for d in self.definitions(name) if d.kind == "function" and d.owner]
        return [d.value for d in found if d.owner.rpartition("::")[2] == owner]

    def _member(self, run: Run, head: str, last: str, span: Span) -> Value:
        kind = self.lookup(run, head.split("<", 1)[0], span)
        if isinstance(kind, EnumType):
            member = kind.member(last)
            return member if member is not None else Unknown(f"{head} has no {last}", span)
        if isinstance(kind, StructType):
            return self.static(run, kind, last, span)
        return None

    def static(self, run: Run, struct: StructType, name: str, span: Span) -> Value:
        """A static constant of a struct; one that depends on a template parameter for which there
        is no argument is unknown."""
        return static_of(self, run, struct, dict(struct.arguments), name, span)

    def instance(self, run: Run, name: str, args: Args, last: str, span: Span) -> Value:
        """A template with arguments: a variable, or with ``last`` a member of a class."""
        head, _, label = name.removeprefix("::").rpartition("::")
        if head == "std":
            return self._of_library(label, args, last, span)
        return instance(self, run, self._scoped(self.definitions(label), head), args, last, span)

    def _of_library(self, name: str, args: Args, last: str, span: Span) -> Value:
        """``std::integral_constant<int, 16>::value`` and the like."""
        if last == "value" and name == "integral_constant" and len(args) == 2:
            return args[1]
        if last == "value" and name == "bool_constant" and len(args) == 1:
            return args[0]
        return Unknown(f"std::{name} is not followed", span)

    def is_constant(self, name: str) -> bool:
        """Whether a name is certainly that of a variable which nothing writes."""
        found = self.definitions(name.rpartition("::")[2])
        kinds = [d.value[0] for d in found if d.kind == "variable"]
        return len(kinds) == len(found) == 1 and all(
            kind.const and not kind.pointer and kind.name != "char" for kind in kinds
        )

    def is_one_variable(self, name: str) -> bool:
        """Whether the last part of a name is that of one variable of the module at most."""
        found = self.definitions(name.rpartition("::")[2])
        return len({d.namespace for d in found if d.kind == "variable"}) < 2

    def writes_result(self, name: str) -> bool:
        """Whether what a function refers to may be written where it is called."""
        return may_write_result(name, self._mentioning(name))

    def has_method(self, record: Record, name: str) -> bool:
        """Whether an object may have a method of that name."""
        struct = self.struct(record.type)
        classes = None if struct is None else above(self, struct)
        return classes is None or any(c.body.declares(name) for c in classes)

    def method(self, run: Run, record: Record, name: str) -> Value:
        """A method of an object; ``None`` where the source has none that is followed."""
        return method_of(self, run, record, name)

    def alias(self, name: str) -> str | None:
        """The type that a name is an alias of."""
        return self._alias(name)

    def operators(self, op: str, names: frozenset[str]) -> list[ir.Function]:
        """The functions that define an operator for some types."""
        key = (op, names)
        found = self._operators.get(key)
        if found is None:
            found = self._operators[key] = operators.functions(self, op, names)
        return found

    def spelled(self, file: Included) -> tuple[tuple[str, int, str], ...]:
        """The operators that a file declares: the operator, where, and the parameters."""
        found = self._spelled.get(id(file))
        if found is None:
            found = self._spelled[id(file)] = operators.spelled(file.code)
        return found

    def operators_in(self, file: Included, chunk: Chunk, op: str) -> list[ir.Function]:
        """The functions of a piece that define an operator."""
        found = self._pieces.definitions(file, chunk, "operator" + op)
        return [d.value for d in found if d.kind == "function"]

    def defined(self, run: Run, op: str, args: Args, span: Span) -> Value:
        """What an operator of the source gives for objects and enumerators."""
        return operators.applied(self, run, op, args, span)

    def defines(self, op: str, args: Args) -> bool:
        """Whether the source may define an operator for some of these."""
        return operators.defines(self, op, args)

    def made(self, run: Run, struct: StructType, items: Args, span: Span, places: Places) -> Value:
        """A new object of a class that is no aggregate."""
        return made(self, run, struct, items, span, places)

    def _value(self, run: Run, found: list[Definition], span: Span) -> Value:
        functions = [d for d in found if d.kind == "function"]
        special = [d.value for d in found if d.kind == "specialisation"]
        if functions and special:
            return specialised(self, [d.value for d in functions], special)
        if functions:
            return self._overloaded(functions)
        last = found[-1]
        if last.kind == "union":
            return Unknown(f"the union {last.name} is not followed", span)
        if len({(d.namespace, d.kind) for d in found}) > 1:
            return Unknown(f"which {last.name} is meant is not known", span)
        if last.kind in ("struct", "enum", "enumerator"):
            return last.value
        if last.kind == "alias" and last.template is not None:
            return run.machine.evaluate(run, last.template, self)
        if last.kind == "alias":
            return self.lookup(run, last.value.split("<", 1)[0], span)
        ctype, init = last.value
        value = ctype.kind != "other" or ctype.pointer or ctype.name.startswith("std::")
        shape = shape_of(ctype) if not ctype.pointer else None
        asking = "" if shape is None else "|find" if shape.sort is Sort.SET else "|cbegin"
        if value and not ctype.fixed and self._written(last.name, asking):
            return Unknown(f"{last.name} keeps its value between calls", span)
        if init is None and ctype.name.split("<", 1)[0] in CONTAINERS and not ctype.pointer:
            return run.machine.compiler.construct_named(run, ctype, (), self, span)
        if init is None:
            return zero_of(ctype, span)  # what has static storage starts as zero
        value = run.machine.evaluate(run, init, self)
        if owns(value):
            return Unknown(f"what {last.name} points to keeps its value between calls", span)
        if isinstance(value, Record) and not ctype.const and self._written(last.name):
            return Unknown(f"{last.name} keeps its value between calls", span)
        if shape is not None and not ctype.const:
            return lasting(value)
        return value if not isinstance(value, ir.Node) else Unknown("a value", span)

    def _written(self, name: str, asking: str = "") -> bool:
        """Whether the unit may write a variable of a namespace."""
        return may_write(name, self._mentioning(name), asking)

    def _mentioning(self, name: str) -> Iterator[str]:
        """The pieces of code of the files that mention a name."""
        return (
            file.code[chunk.start : chunk.end]
            for file in self.unit.files
            if name in file.code
            for chunk in index_of(file.code).chunks
        )

    def _overloaded(self, found: list[Definition]) -> Value:
        if len(found) == 1:
            return Closure(found[0].value, self)
        functions = tuple(d.value for d in found)
        one_place = len({d.namespace for d in found}) == 1
        return Overloaded(found[0].name, functions, self, one_place)

    def function(self, name: str) -> Closure | None:
        """The one function of that name, or ``None``."""
        found = self.definitions(name)
        functions = [d for d in found if d.kind == "function" and not self._of_class(d)]
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
        written = name.removeprefix(LITERAL)
        spellings = (written, *self.unit.spellings(written))
        for file in self.unit.files:
            chunks: dict[int, Chunk] = {}
            for spelling in spellings:
                mentioning = index_of(file.code).mentioning(spelling)
                chunks.update((c.start, c) for c in mentioning)
            for start in sorted(chunks):
                found.extend(self._pieces.definitions(file, chunks[start], name))

    # --- parsing ---------------------------------------------------------------------------------

    def _alias(self, name: str) -> str | None:
        """The type that a name is an alias of, as its text."""
        if not name.replace("::", "").replace("_", "").isalnum():
            return None
        found = [d for d in self.definitions(name.rpartition("::")[2]) if d.kind == "alias"]
        texts = {d.value for d in found}
        return texts.pop() if len(texts) == 1 else None

    def _hoist(self, name: str, definition: Definition) -> None:
        """A type that a function defines."""
        self._found[name] = [definition]

    def _one(self, name: str, kind: str) -> Value:
        """What defines a name, where it is one thing of a kind."""
        found = self.definitions(name.rpartition("::")[2])
        return found[0].value if len(found) == 1 and found[0].kind == kind else None

    def _member_type(self, struct: str, name: str) -> ir.CType | None:
        found = self.struct(struct)
        members = () if found is None else found.members
        return next((ctype for member, ctype, _ in members if member == name), None)

    def _result(self, name: str) -> ir.CType | None:
        found = self._one(name, "function")
        return None if found is None else found.result

    def _variable(self, name: str) -> ir.CType | None:
        return type_of_variable(self._one, name)

    def _is_type(self, name: str) -> bool:
        """Whether a name in parentheses may be the type of a cast."""
        if parse_type(name).kind != "other" or name.endswith("_t"):
            return True
        kinds = {d.kind for d in self.definitions(name.rpartition("::")[2])}
        return bool(kinds & {"struct", "enum", "alias", "union"})

    def place(self, file: str, offset: int) -> tuple[int, int]:
        """Line and column of an offset, 1-based."""
        starts = self._lines.get(file)
        if starts is None:
            ends = re.finditer("\n", self.unit.text(file))
            starts = self._lines[file] = [0, *(end.end() for end in ends)]
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1
