"""What a piece of C++ defines: functions, structs, enums, variables and aliases."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.cpp.declarators import find_declarator, name_of
from mlaprobe.evaluator.cpp.expressions import expression
from mlaprobe.evaluator.cpp.translate import Translator
from mlaprobe.evaluator.cpp.tree import Tree
from mlaprobe.evaluator.cpp.types import parse_type
from mlaprobe.evaluator.ir import CType
from mlaprobe.evaluator.symbolic.formulas import ARITHMETIC
from mlaprobe.evaluator.values.kinds import EnumMember, EnumType, StructType


class Definition(NamedTuple):
    """Something that a piece of code defines."""

    kind: str
    """``function``, ``struct``, ``enum``, ``variable``, ``alias``."""
    name: str
    value: Any
    namespace: str
    file: str


class DefinitionReader:
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
            name = name_of(child, self.tr.tree)[0]
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
        declarator = find_declarator(node.child_by_field_name("declarator"))
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
            name, ref, pointer = name_of(child, self.tr.tree)
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
        odd: list[str] = []
        plain = not any(c.type == "base_class_clause" for c in node.children)
        for field in body.named_children:
            plain = plain and not _makes(field, self.tr.tree.source(name), self.tr.tree)
            if field.type == "field_declaration":
                found = self._fields(field)
                members.extend(found)
                odd.extend(name for name, _, _ in found if _is_odd(field))
                statics.extend(self._statics(field))
            elif field.type == "enum_specifier":
                self._enum(field)
        label = self.tr.tree.source(name)
        head = self.tr.tree.text[node.start_byte : body.start_byte].decode("utf-8", "replace")
        struct = StructType(
            label,
            tuple(members),
            tuple(statics),
            self.template,
            plain,
            packed="packed" in head,
            odd=tuple(name for name, _, _ in members) if "align" in head else tuple(odd),
        )
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
        return [(name_of(declarator, self.tr.tree)[0], node)]

    def _narrowed(self, field: Any, ctype: CType) -> CType:
        """The type of a bit field: of as many bits as it has."""
        clause = next((c for c in field.children if c.type == "bitfield_clause"), None)
        if clause is None:
            return ctype
        bits = self.tr.tree.source(clause).removeprefix(":").strip()
        return replace(ctype, bits=int(bits) if bits.isdigit() else 1)

    def _fields(self, field: Any) -> list[tuple[str, CType, ir.Node | None]]:
        result: list[tuple[str, CType, ir.Node | None]] = []
        default = field.child_by_field_name("default_value")
        for at, child in enumerate(field.children):
            if field.field_name_for_child(at) != "declarator":
                continue
            if child.type == "function_declarator":
                continue
            name, ref, pointer = name_of(child, self.tr.tree)
            head = self.tr.tree.text[field.start_byte : child.start_byte].decode("utf-8", "replace")
            if name and "static" not in head.split():
                value = expression(self.tr, default) if default is not None else None
                ctype = parse_type(head, ref=ref, pointer=pointer)
                result.append((name, self._narrowed(field, ctype), value))
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
        name = name_of(declarator, self.tr.tree)[0]
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


def _is_odd(field: Any) -> bool:
    """Whether the type of a member does not tell how much room it takes."""
    kinds = ("bitfield_clause", "array_declarator", "alignas_qualifier", "attribute_specifier")
    return any(child.type in kinds for child in field.children)


def _makes(field: Any, name: str, tree: Tree) -> bool:
    """Whether a member of a struct is a constructor, or hides others from list initialisation."""
    if field.type == "access_specifier":
        return tree.source(field).split(":")[0] != "public"
    declarator = find_declarator(field.child_by_field_name("declarator"))
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
