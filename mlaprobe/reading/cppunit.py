"""What a C++ name means in a translation unit, found when it is asked for.

A name is searched in the text of the unit's files; only the pieces of code that may define it are
expanded and parsed. So a rule is found wherever it stands, in this file or in one it includes,
written out or made by a macro.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from mlaprobe.reading import ir
from mlaprobe.reading.chunks import Chunk, ChunkIndex
from mlaprobe.reading.cppexpr import expression
from mlaprobe.reading.cppstmt import Translator, _find_declarator, _name_of
from mlaprobe.reading.cpptree import Tree, without_idle_parentheses
from mlaprobe.reading.cpptypes import parse_type, zero_of
from mlaprobe.reading.ir import CType, Span
from mlaprobe.reading.macros import ExpansionError
from mlaprobe.reading.operators import ARITHMETIC
from mlaprobe.reading.preprocess import Included, TranslationUnit
from mlaprobe.reading.values import (
    Builtin,
    Closure,
    EnumMember,
    EnumType,
    StructType,
    Unknown,
)
from mlaprobe.reading.walk import walk

Foreign = Callable[[str], Any]
MAX_CHUNK = 200_000


class Definition(NamedTuple):
    """Something that a piece of code defines."""

    kind: str
    """``function``, ``struct``, ``enum``, ``variable``, ``alias``."""
    name: str
    value: Any
    namespace: str
    file: str


class CppModule:
    """The names of a translation unit."""

    def __init__(
        self,
        unit: TranslationUnit,
        *,
        externals: Mapping[str, Any],
        foreign: Foreign = lambda name: None,
        generated: Mapping[str, Any] | None = None,
    ) -> None:
        self.unit = unit
        self._externals = externals
        self._foreign = foreign
        self._generated = generated if generated is not None else {}
        """Names that a generated header would define, in whatever namespace it is included."""
        self._indexes: dict[int, ChunkIndex] = {}
        self._parsed: dict[tuple[int, int], list[Definition]] = {}
        self._found: dict[str, list[Definition]] = {}
        self._lines: dict[str, list[int]] = {}
        self.problems: list[tuple[str, Span]] = []
        """Pieces of code that were wanted and could not be read."""

    # --- looking up ------------------------------------------------------------------------------

    def lookup(self, run: Any, name: str, span: Span) -> Any:
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

    def _scoped(self, found: list[Definition], head: str) -> list[Definition]:
        """Definitions that a qualified name can mean."""
        if not head:
            return [d for d in found if d.kind != "member"]
        wanted = head.split("::")[-1]
        return [d for d in found if d.namespace.split("::")[-1] == wanted and d.kind != "member"]

    def _member(self, run: Any, head: str, last: str, span: Span) -> Any:
        kind = self.lookup(run, head.split("<", 1)[0], span)
        if isinstance(kind, EnumType):
            member = kind.member(last)
            return member if member is not None else Unknown(f"{head} has no {last}", span)
        if isinstance(kind, StructType):
            return self.static(run, kind, last, span)
        return None

    def static(self, run: Any, struct: StructType, name: str, span: Span) -> Any:
        """A static constant of a struct; one that depends on a template parameter is unknown."""
        init = dict(struct.statics).get(name)
        if init is None:
            return Unknown(f"{struct.name} has no constant {name}", span)
        used = {n.id for n in walk((init,)) if isinstance(n, ir.Name)}
        if used & set(struct.template):
            return Unknown(f"{struct.name}::{name} depends on its template arguments", span)
        sibling = used & {n for n, _ in struct.statics}
        if sibling:
            return Unknown(f"{struct.name}::{name} depends on other constants", span)
        return run.machine.evaluate(run, init, self)

    def _value(self, run: Any, found: list[Definition], span: Span) -> Any:
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
        if init is None:
            return zero_of(ctype, span)  # what has static storage starts as zero
        value = run.machine.evaluate(run, init, self)
        return value if not isinstance(value, ir.Node) else Unknown("a value", span)

    def _overloaded(self, functions: list[Definition]) -> Any:
        if len(functions) == 1:
            return Closure(functions[0].value, self)

        def call(run: Any, args: tuple[Any, ...], kwargs: dict[str, Any], span: Span) -> Any:
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
        found = self._found.get(name)
        if found is None:
            self._found[name] = found = []
            spellings = (name, *self.unit.spellings(name))
            for file in self.unit.files:
                chunks: dict[int, Chunk] = {}
                for spelling in spellings:
                    if spelling in file.code:
                        mentioning = self._index(file).mentioning(spelling)
                        chunks.update((c.start, c) for c in mentioning)
                for start in sorted(chunks):
                    found.extend(d for d in self._chunk(file, chunks[start]) if d.name == name)
        return found

    def _index(self, file: Included) -> ChunkIndex:
        index = self._indexes.get(id(file))
        if index is None:
            index = self._indexes[id(file)] = ChunkIndex(file.code)
        return index

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
            text = self.unit.text(file)
            starts = [0]
            at = text.find("\n")
            while at >= 0:
                starts.append(at + 1)
                at = text.find("\n", at + 1)
            self._lines[file] = starts
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def _chunk(self, file: Included, chunk: Chunk) -> list[Definition]:
        key = (id(file), chunk.start)
        known = self._parsed.get(key)
        if known is None:
            known = self._parsed[key] = self._parse(file, chunk)
        return known

    def _parse(self, file: Included, chunk: Chunk) -> list[Definition]:
        line, column = self.place(file.path, chunk.start)
        span = Span(file.path, line, column, line, column)
        if chunk.end - chunk.start > MAX_CHUNK:
            self.problems.append(("a piece of code is too long to read", span))
            return []
        try:
            tokens = self.unit.expand(file, chunk.start, chunk.end)
        except (ExpansionError, RecursionError) as error:
            self.problems.append((f"macros could not be expanded: {error}", span))
            return []
        tree = Tree(without_idle_parentheses(tokens, self._is_type), self.place)
        reader = _Reader(Translator(tree, self._alias), file.path, chunk.namespace)
        try:
            reader.read(tree.root)
        except RecursionError:
            self.problems.append(("the code is nested too deeply", span))
            return []
        return reader.found


def _fits(function: ir.Function, count: int) -> bool:
    params = [p for p in function.params if p.kind == "normal"]
    least = sum(1 for p in params if p.default is None)
    return least <= count and (count <= len(params) or len(params) < len(function.params))


class _Reader:
    """Collects the definitions of one tree."""

    def __init__(self, translator: Translator, file: str, namespace: str) -> None:
        self.tr = translator
        self.file = file
        self.namespace = namespace
        self.found: list[Definition] = []
        self.template: tuple[str, ...] = ()

    def read(self, node: Any) -> None:
        """Definitions at or below a node, functions not entered."""
        for child in node.named_children:
            handler = {
                "function_definition": self._function,
                "declaration": self._declaration,
                "struct_specifier": self._struct,
                "class_specifier": self._struct,
                "enum_specifier": self._enum,
                "alias_declaration": self._alias,
                "type_definition": self._typedef,
            }.get(child.type)
            if handler is not None:
                handler(child)
            elif child.type == "namespace_definition":
                self._inside(child)
            elif child.type == "template_declaration":
                self._template(child)
            elif child.type in (
                "linkage_specification",
                "declaration_list",
                "ERROR",
                "expression_statement",
            ):
                self.read(child)

    def _add(self, kind: str, name: str, value: Any) -> None:
        self.found.append(Definition(kind, name, value, self.namespace, self.file))

    def _template(self, node: Any) -> None:
        parameters = node.child_by_field_name("parameters")
        names: list[str] = []
        for child in parameters.named_children if parameters is not None else ():
            name = _name_of(child, self.tr.tree)[0]
            inner = next((c for c in child.named_children if c.type == "type_identifier"), None)
            names.append(name or (self.tr.tree.source(inner) if inner is not None else ""))
        outer, self.template = self.template, tuple(names)
        self.read(node)
        self.template = outer

    def _inside(self, node: Any) -> None:
        outer = self.namespace
        name = node.child_by_field_name("name")
        if name is not None:
            self.namespace = "::".join(x for x in (outer, self.tr.tree.source(name)) if x)
        body = node.child_by_field_name("body")
        if body is not None:
            self.read(body)
        self.namespace = outer

    def _function(self, node: Any) -> None:
        declarator = _find_declarator(node.child_by_field_name("declarator"))
        if declarator is None:
            return
        inner = declarator.child_by_field_name("declarator")
        if inner is None or inner.type not in ("identifier", "qualified_identifier"):
            return
        name = self.tr.tree.source(inner).replace(" ", "").rpartition("::")[2]
        function = self.tr.function(node, name, self.template)
        if function is None:
            return
        head = self.tr.tree.text[node.start_byte : inner.start_byte].decode("utf-8", "replace")
        if "noreturn" in head:
            mark = ir.Name(function.span, "noreturn")
            function = replace(function, decorators=(mark,))
        self._add("function", name, function)

    def _declaration(self, node: Any) -> None:
        for at, child in enumerate(node.children):
            if child.type in ("struct_specifier", "class_specifier"):
                self._struct(child)
            elif child.type == "enum_specifier":
                self._enum(child)
            if node.field_name_for_child(at) != "declarator":
                continue
            if child.type == "function_declarator":
                continue
            name, ref, pointer = _name_of(child, self.tr.tree)
            value = child.child_by_field_name("value") if child.type == "init_declarator" else None
            head = self.tr.tree.text[node.start_byte : child.start_byte].decode("utf-8", "replace")
            ctype = parse_type(head, ref=ref, pointer=pointer)
            if value is None and "extern" in head.split():
                continue
            if name:
                self._add("variable", name, (ctype, self._initial(value, ctype)))

    def _initial(self, value: Any, ctype: CType) -> ir.Node | None:
        if value is None:
            return None
        if value.type in ("initializer_list", "argument_list"):
            args = tuple(
                expression(self.tr, c) for c in value.named_children if c.type != "comment"
            )
            if ctype.pointer:
                return ir.Sequence(self.tr.tree.span(value), "tuple", args)
            return ir.Construct(self.tr.tree.span(value), ctype, args)
        inner = expression(self.tr, value)
        return ir.Cast(inner.span, ctype, inner) if ctype.kind != "other" else inner

    def _struct(self, node: Any) -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None or body is None:
            return
        members: list[tuple[str, CType, ir.Node | None]] = []
        statics: list[tuple[str, ir.Node]] = []
        plain = not any(c.type == "base_class_clause" for c in node.children)
        for field in body.named_children:
            plain = plain and not _makes(field, self.tr.tree.source(name), self.tr.tree)
            if field.type == "field_declaration":
                members.extend(self._fields(field))
                statics.extend(self._statics(field))
            elif field.type == "enum_specifier":
                self._enum(field)
        label = self.tr.tree.source(name)
        struct = StructType(label, tuple(members), tuple(statics), self.template, plain)
        self._add("struct", label, struct)

    def _statics(self, field: Any) -> list[tuple[str, ir.Node]]:
        value = field.child_by_field_name("default_value")
        declarator = field.child_by_field_name("declarator")
        if value is None or declarator is None:
            return []
        head = self.tr.tree.text[field.start_byte : declarator.start_byte].decode(
            "utf-8", "replace"
        )
        if "static" not in head.split():
            return []
        ctype = parse_type(head)
        inner = expression(self.tr, value)
        node = inner if ctype.kind == "other" else ir.Cast(inner.span, ctype, inner)
        return [(_name_of(declarator, self.tr.tree)[0], node)]

    def _fields(self, field: Any) -> list[tuple[str, CType, ir.Node | None]]:
        result: list[tuple[str, CType, ir.Node | None]] = []
        default = field.child_by_field_name("default_value")
        for at, child in enumerate(field.children):
            if field.field_name_for_child(at) != "declarator":
                continue
            if child.type == "function_declarator":
                continue
            name, ref, pointer = _name_of(child, self.tr.tree)
            head = self.tr.tree.text[field.start_byte : child.start_byte].decode("utf-8", "replace")
            if name and "static" not in head.split():
                value = expression(self.tr, default) if default is not None else None
                result.append((name, parse_type(head, ref=ref, pointer=pointer), value))
        return result

    def _enum(self, node: Any, name: str = "") -> None:
        """An enum; ``name`` is what a typedef calls one without a name of its own."""
        name_node, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if body is None:
            return
        name = self.tr.tree.source(name_node) if name_node is not None else name
        head = self.tr.tree.source(node).split("{")[0]
        scoped = "class" in head.split() or "struct" in head.split()
        members: list[EnumMember] = []
        following: int | None = 0
        for child in body.named_children:
            if child.type != "enumerator":
                continue
            value = child.child_by_field_name("value")
            if value is not None:
                following = _constant(expression(self.tr, value), members)
            label = self.tr.tree.source(child.child_by_field_name("name"))
            members.append(EnumMember(name, label, following, scoped))
            following = following + 1 if following is not None else None
        if name:
            self._add("enum", name, EnumType(name, tuple(members)))
        for member in members:
            self._add("member" if scoped else "enumerator", member.name, member)

    def _alias(self, node: Any) -> None:
        name, kind = node.child_by_field_name("name"), node.child_by_field_name("type")
        if name is not None and kind is not None:
            text = parse_type(self.tr.tree.source(kind)).name
            self._add("alias", self.tr.tree.source(name), text)

    def _typedef(self, node: Any) -> None:
        kind, declarator = node.child_by_field_name("type"), node.child_by_field_name("declarator")
        if kind is None or declarator is None:
            return
        name = _name_of(declarator, self.tr.tree)[0]
        if kind.type in ("struct_specifier", "class_specifier", "enum_specifier"):
            if kind.type == "enum_specifier":
                self._enum(kind, name)
            else:
                self._struct(kind)
            inner = kind.child_by_field_name("name")
            if inner is not None and name != self.tr.tree.source(inner):
                self._add("alias", name, self.tr.tree.source(inner))
        elif name:
            self._add("alias", name, parse_type(self.tr.tree.source(kind)).name)


def _makes(field: Any, name: str, tree: Tree) -> bool:
    """Whether a member of a struct is a constructor, or hides others from list initialisation."""
    if field.type == "access_specifier":
        return tree.source(field).split(":")[0] != "public"
    declarator = _find_declarator(field.child_by_field_name("declarator"))
    inner = declarator.child_by_field_name("declarator") if declarator is not None else None
    return inner is not None and tree.source(inner) == name


def _constant(node: ir.Node, members: list[EnumMember]) -> int | None:
    """The value of an enumerator's initialiser, where it is simple."""
    if isinstance(node, ir.Const) and isinstance(node.value, int):
        return int(node.value)
    if isinstance(node, ir.Unary) and node.op == "-":
        inner = _constant(node.value, members)
        return -inner if inner is not None else None
    if isinstance(node, ir.Name):
        return next((m.value for m in members if m.name == node.id), None)
    if isinstance(node, ir.Binary) and node.op in ("<<", "+", "-", "*", "|"):
        left, right = _constant(node.left, members), _constant(node.right, members)
        if left is not None and right is not None and 0 <= right < 64:
            return int(ARITHMETIC[node.op](left, right))
    return None
