"""What a piece of C++ defines: functions, structs, enums, variables and aliases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from dataclasses import field as fresh
from typing import Any, NamedTuple

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.cpp.expressions import expression, expressions_in, listed
from mlaprobe.evaluator.cpp.forms.arrays import array_initialiser, array_type
from mlaprobe.evaluator.cpp.forms.classes import CONVERTS, ClassBody
from mlaprobe.evaluator.cpp.forms.layouts import Layout
from mlaprobe.evaluator.cpp.forms.members import constant, is_odd, makes
from mlaprobe.evaluator.cpp.forms.templates import PACK, class_template, template_arguments
from mlaprobe.evaluator.cpp.translate import Translator
from mlaprobe.evaluator.cpp.tree import Syntax, field, find_declarator, name_of, named
from mlaprobe.evaluator.cpp.types import bytes_of, parse_type
from mlaprobe.evaluator.ir import CType
from mlaprobe.evaluator.values.kinds import EnumMember, EnumType, StructType


class Definition(NamedTuple):
    """Something that a piece of code defines."""

    kind: str
    """``function``, ``struct``, ``enum``, ``variable``, ``alias``; ``template`` for a variable
    template, ``specialisation`` for what a template is for certain arguments."""
    name: str
    value: Any
    """The function, struct, enum or enumerator; of a variable its type and initialiser; of an alias
    the text of the type."""
    namespace: str
    file: str
    owner: str = ""
    """What a qualified name is qualified with: a namespace, or a class whose member it is."""
    template: ir.Node | None = None
    """Of an alias, the class template with its arguments that it stands for."""


class Specialisation(NamedTuple):
    """A template, or what it is for certain arguments."""

    parameters: tuple[str, ...]
    arguments: tuple[ir.Node, ...]
    value: Any
    """The struct or function; of a variable its type and initialiser."""


@dataclass(slots=True, eq=False)
class DefinitionReader:
    """Collects the definitions of one tree."""

    tr: Translator
    file: str
    namespace: str
    wanted: str = ""
    """The name whose definitions are translated; of all if there is none. Others may be among what
    is found, functions and classes are not: a macro may write dozens in one piece."""
    found: list[Definition] = fresh(init=False, default_factory=list)
    template: tuple[str, ...] = ()

    def read(self, node: Syntax) -> None:
        """Definitions at or below a node, functions not entered."""
        for child in node.named_children:
            handler = _READERS.get(child.type)
            if handler is not None and self._spells(child):
                handler(self, child)

    def _spells(self, node: Syntax) -> bool:
        """Whether a node may define what is wanted."""
        word = "operator" if self.wanted.startswith("operator") else self.wanted
        return word in self.tr.source(node)

    def _is_wanted(self, name: str) -> bool:
        return self.wanted in ("", name)

    def read_type(self, node: Syntax) -> None:
        """The definition of a struct or an enum."""
        self._enum(node) if node.type == "enum_specifier" else self._struct(node)

    def _add(
        self,
        kind: str,
        name: str,
        value: Syntax,
        owner: str = "",
        template: ir.Node | None = None,
    ) -> None:
        namespace = "::".join(x for x in (self.namespace, owner) if x)
        self.found.append(Definition(kind, name, value, namespace, self.file, owner, template))

    def _template(self, node: Syntax) -> None:
        parameters = field(node, "parameters")
        names: list[str] = []
        for child in parameters.named_children if parameters is not None else ():
            name = name_of(child, self.tr.tree)[0]
            inner = next((c for c in child.named_children if c.type == "type_identifier"), None)
            name = name or (self.tr.source(inner) if inner is not None else "")
            names.append(name + PACK if child.type.startswith("variadic") else name)
        outer, self.template = self.template, tuple(names)
        packs, types = self.tr.packs, self.tr.template_types
        self.tr.packs = packs | self._packs(parameters)
        self.tr.template_types = {**types, **dict(self._unsigned(parameters))}
        self.tr.parameters = frozenset(n.removesuffix(PACK) for n in names)
        self.read(node)
        self.template, self.tr.packs, self.tr.template_types = outer, packs, types

    def _unsigned(self, parameters: Syntax | None) -> Iterator[tuple[str, CType]]:
        """Template parameters whose arithmetic wraps around, with their types."""
        listed = parameters.named_children if parameters is not None else ()
        for each in listed:
            kind, name = field(each, "type"), name_of(each, self.tr.tree)[0]
            if each.type.endswith("parameter_declaration") and kind is not None and name:
                ctype = self.tr.type_of(self.tr.source(kind))
                if ctype.kind == "unsigned":
                    yield name, ctype

    def _packs(self, parameters: Syntax) -> set[str]:
        """Template parameters that are packs of values, not of types."""
        listed = parameters.named_children if parameters is not None else ()
        kinds = [c for c in listed if c.type == "variadic_parameter_declaration"]
        return {name_of(c, self.tr.tree)[0] for c in kinds}

    def _inside(self, node: Syntax) -> None:
        outer = self.namespace
        name = field(node, "name")
        if name is not None:
            self.namespace = "::".join(x for x in (outer, self.tr.source(name)) if x)
        body = field(node, "body")
        if body is not None:
            self.read(body)
        self.namespace = outer

    def _function(self, node: Syntax) -> None:
        declarator = find_declarator(field(node, "declarator"))
        if declarator is None:
            return
        inner = field(declarator, "declarator")
        if inner is None:
            return
        if inner.type == "template_function":
            label = self.tr.source(field(inner, "name"))
            value = self.tr.function(node, label, self.template) if self._is_wanted(label) else None
            if value is not None:
                self._specialise(inner, value)
            return
        if inner.type not in ("identifier", "qualified_identifier", "operator_name"):
            return
        owner, _, name = "".join(self.tr.source(inner).split()).rpartition("::")
        function = self.tr.function(node, name, self.template) if self._is_wanted(name) else None
        if function is None:
            return
        head = self.tr.tree.head(node, inner)
        if "noreturn" in head:
            mark = ir.Name(function.span, "noreturn")
            function = replace(function, decorators=(mark,))
        self._add("function", name, function, owner)

    def _specialise(self, name: Syntax, value: Any) -> None:
        """What a template is for certain arguments."""
        label = self.tr.source(field(name, "name"))
        arguments = template_arguments(self.tr, name)
        special = Specialisation(self.template, arguments, value)
        self.found.append(Definition("specialisation", label, special, self.namespace, self.file))

    def _declaration(self, node: Syntax) -> None:
        for child in node.children:
            if child.type in ("struct_specifier", "class_specifier"):
                self._struct(child)
            elif child.type == "enum_specifier":
                self._enum(child)
        for child, head, full, ctype in self._declared(node):
            owner, _, name = full.rpartition("::")
            value = field(child, "value") if child.type == "init_declarator" else None
            if value is not None or "extern" not in head.split():
                inner = field(child, "declarator") if value is not None else child
                array = array_initialiser(self.tr, inner, head, value)
                if array is not None:
                    ctype = replace(ctype, pointer=True)
                initial = self._initial(value, ctype) if array is None else array
                if inner.type == "template_function":
                    self._specialise(inner, (ctype, initial))
                elif self.template:
                    self._add("template", name, Specialisation(self.template, (), (ctype, initial)))
                else:
                    self._add("variable", name, (ctype, initial), owner)

    def _declared(self, node: Syntax) -> Iterator[tuple[Syntax, str, str, CType]]:
        """The variables of a declaration: declarator, the text before it, name and type."""
        for child in node.children_by_field_name("declarator"):
            inner = field(child, "declarator")
            called = inner is not None and inner.type == "parenthesized_declarator"
            if child.type != "function_declarator" or called:
                name, ref, pointer = name_of(child, self.tr.tree)
                head = self.tr.tree.head(node, child)
                if name:
                    yield child, head, name, self.tr.type_of(head, ref=ref, pointer=pointer)

    def _initial(self, value: Syntax, ctype: CType) -> ir.Node | None:
        if value is None:
            return None
        if value.type in ("initializer_list", "argument_list"):
            args = expressions_in(self.tr, value)
            if ctype.pointer:
                return ir.Sequence(self.tr.span(value), "tuple", args)
            if value.type == "initializer_list":
                return listed(self.tr, value, ctype)
            return ir.Construct(self.tr.span(value), ctype, args, braced=False)
        inner = expression(self.tr, value)
        return ir.Cast(inner.span, ctype, inner) if ctype.kind != "other" else inner

    def _struct(self, node: Syntax) -> None:
        name, body = field(node, "name"), field(node, "body")
        if name is None or body is None:
            return
        for member in body.named_children:
            if member.type == "enum_specifier":
                self._enum(member)
            elif member.type == "friend_declaration":
                self.read(member)
        special = name.type == "template_type"
        label = self.tr.source(field(name, "name") if special else name)
        if self._is_wanted(label):
            struct = self._class(node, label, body)
            self._specialise(name, struct) if special else self._add("struct", label, struct)

    def _class(self, node: Syntax, label: str, body: Syntax) -> StructType:
        members: list[tuple[str, CType, ir.Node | None]] = []
        statics: list[tuple[str, ir.Node]] = []
        odd: list[str] = []
        name = self.tr.source(field(node, "name"))
        bases = self._bases(node)
        plain = not bases
        for member in body.named_children:
            plain = plain and not makes(member, name, self.tr.tree)
            if member.type == "field_declaration":
                found = tuple(self._fields(member))
                members.extend(found)
                odd.extend(name for name, _, _ in found if is_odd(member))
                statics.extend(self._statics(member))
        head = self.tr.tree.head(node, body)
        return StructType(
            label,
            tuple(members),
            tuple(statics),
            self.template,
            plain,
            packed="packed" in head,
            body=ClassBody(self.tr, body, label, tuple(members)),
            converts=CONVERTS.search(self.tr.source(body)) is not None,
            bases=bases,
            layout=Layout(self.tr, node, bool(self.template)),
            odd=tuple(name for name, _, _ in members) if "align" in head else tuple(odd),
        )

    def _union(self, node: Syntax) -> None:
        """A union, of which no more than the size is followed."""
        name, body = field(node, "name"), field(node, "body")
        if name is not None and body is not None:
            layout = Layout(self.tr, node, bool(self.template))
            self._add("union", self.tr.source(name), layout)

    def _bases(self, node: Syntax) -> tuple[str, ...]:
        """What a struct is derived from, by name."""
        clauses = [c for c in node.children if c.type == "base_class_clause"]
        named = [each for clause in clauses for each in clause.named_children]
        return tuple(self.tr.source(n) for n in named if n.type != "access_specifier")

    def _statics(self, member: Syntax) -> list[tuple[str, ir.Node]]:
        value, declarator = field(member, "default_value"), field(member, "declarator")
        if value is None or declarator is None:
            return []
        head = self.tr.tree.head(member, declarator)
        if "static" not in head.split():
            return []
        ctype = self.tr.type_of(head)
        if not ctype.const:
            why = "a static member keeps its value between calls"
            return [(name_of(declarator, self.tr.tree)[0], ir.Opaque(self.tr.span(value), why))]
        array = array_initialiser(self.tr, declarator, head, value)
        node = self._initial(value, ctype) if array is None else array
        if node is None:
            return []
        return [(name_of(declarator, self.tr.tree)[0], node)]

    def _narrowed(self, member: Syntax, ctype: CType) -> CType:
        """The type of a bit field: of as many bits as it has."""
        clause = next((c for c in member.children if c.type == "bitfield_clause"), None)
        if clause is None:
            return ctype
        bits = self.tr.source(clause).removeprefix(":").strip()
        return replace(ctype, bits=int(bits) if bits.isdigit() else 1)

    def _fields(self, member: Syntax) -> Iterator[tuple[str, CType, ir.Node | None]]:
        default = field(member, "default_value")
        for child, head, name, ctype in self._declared(member):
            if "static" not in head.split():
                array = array_type(self.tr, child, ctype)
                value: ir.Node | None = None
                if default is not None and default.type == "initializer_list":
                    value = ir.Sequence(
                        self.tr.span(default), "braced", expressions_in(self.tr, default)
                    )
                elif default is not None:
                    value = expression(self.tr, default)
                yield name, self._narrowed(member, array or ctype), value

    def _enum(self, node: Syntax, name: str = "") -> None:
        """An enum; ``name`` is what a typedef calls one without a name of its own."""
        name_node, body = field(node, "name"), field(node, "body")
        if body is None:
            return
        name = self.tr.source(name_node) if name_node is not None else name
        head = self.tr.source(node).split("{")[0]
        scoped = "class" in head.split() or "struct" in head.split()
        members: list[EnumMember] = []
        following: int | None = 0
        for child in body.named_children:
            if child.type != "enumerator":
                continue
            value = field(child, "value")
            if value is not None:
                following = constant(expression(self.tr, value), members)
            label = self.tr.source(field(child, "name"))
            members.append(EnumMember(name, label, following, scoped))
            following = following + 1 if following is not None else None
        if name:
            size = _enum_size(head, scoped, members)
            underlying = parse_type(head.partition(":")[2]) if ":" in head else None
            kind = EnumType(name, tuple(members), size=size, underlying=underlying)
            self._add("enum", name, kind)
        for member in members:
            self._add("member" if scoped else "enumerator", member.name, member)

    def _alias(self, node: Syntax) -> None:
        name, kind = field(node, "name"), field(node, "type")
        if name is not None and kind is not None:
            text = parse_type(self.tr.source(kind)).name
            self._add("alias", self.tr.source(name), text, template=self._instance(kind))

    def _instance(self, kind: Syntax) -> ir.Node | None:
        """A class template with its arguments; ``None`` for any other type, and where they depend
        on template parameters."""
        return None if self.template else class_template(self.tr, kind)

    def _renamed(self, node: Syntax) -> None:
        """``namespace name = other;``."""
        parts = named(node)
        if len(parts) == 2:
            other = "".join(self.tr.source(parts[1]).split())
            self._add("alias", self.tr.source(parts[0]), other)

    def _typedef(self, node: Syntax) -> None:
        kind, declarator = field(node, "type"), field(node, "declarator")
        if kind is None or declarator is None:
            return
        name = name_of(declarator, self.tr.tree)[0]
        if kind.type in ("struct_specifier", "class_specifier", "enum_specifier"):
            if kind.type == "enum_specifier":
                self._enum(kind, name)
            else:
                self._struct(kind)
            inner = field(kind, "name")
            if inner is not None and name != self.tr.source(inner):
                self._add("alias", name, self.tr.source(inner))
        elif name:
            text = parse_type(self.tr.source(kind)).name
            self._add("alias", name, text, template=self._instance(kind))


_READERS: dict[str, Callable[[DefinitionReader, Syntax], None]] = {
    "function_definition": DefinitionReader._function,
    "declaration": DefinitionReader._declaration,
    "struct_specifier": DefinitionReader._struct,
    "class_specifier": DefinitionReader._struct,
    "enum_specifier": DefinitionReader._enum,
    "union_specifier": DefinitionReader._union,
    "alias_declaration": DefinitionReader._alias,
    "type_definition": DefinitionReader._typedef,
    "namespace_alias_definition": DefinitionReader._renamed,
    "namespace_definition": DefinitionReader._inside,
    "template_declaration": DefinitionReader._template,
    "linkage_specification": DefinitionReader.read,
    "declaration_list": DefinitionReader.read,
    "ERROR": DefinitionReader.read,
    "expression_statement": DefinitionReader.read,
}


def _enum_size(head: str, scoped: bool, members: list[EnumMember]) -> int:
    """The bytes of an enumerator: those of the type that is written, or of ``int``."""
    head = head.replace("::", " ")
    if ":" in head:
        return bytes_of(head.partition(":")[2].replace("std ", "")) or 0
    small = all(m.value is not None and abs(m.value) < 2**31 for m in members)
    return 4 if scoped or small else 0
