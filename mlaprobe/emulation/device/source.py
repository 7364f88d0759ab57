"""Definitions of C++ names in a translation unit, as syntax."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from mlaprobe.emulation.device.signals import NotFollowed
from mlaprobe.evaluator.cpp.chunks import Chunk, index_of
from mlaprobe.evaluator.cpp.macros import ExpansionError
from mlaprobe.evaluator.cpp.preprocess import Included, TranslationUnit
from mlaprobe.evaluator.cpp.tokens import Token
from mlaprobe.evaluator.cpp.tree import Tree, without_idle_parentheses
from mlaprobe.evaluator.ir import Span

Syntax = Any
"""A node of tree-sitter."""
Compile = Callable[["Piece", Syntax], Any]
_KINDS = {
    "function_definition": "function",
    "struct_specifier": "class",
    "class_specifier": "class",
    "union_specifier": "class",
    "enum_specifier": "enum",
    "alias_declaration": "alias",
    "type_definition": "typedef",
    "declaration": "variable",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Definition:
    """One definition of a name."""

    kind: str
    """``function``, ``class``, ``enum``, ``enumerator``, ``alias``, ``typedef``, ``variable``."""
    name: str
    node: Syntax
    piece: Piece
    namespace: str
    parameters: tuple[Syntax, ...] | None = None
    """The template's parameters; ``None`` where it is no template, none for a specialisation."""
    arguments: Syntax | None = None
    """The template arguments of a specialisation."""
    declarator: Syntax | None = None
    """Of a variable or an enumerator: what declares it."""


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """A parsed piece of the source."""

    tree: Tree
    unit: SourceUnit
    codes: dict[Any, Any] = field(default_factory=dict)
    """Compiled code by its node's identity in the tree, and what is known of nodes otherwise."""
    texts: dict[int, str] = field(default_factory=dict)
    """What nodes are made of, as far as it was asked for."""

    def code(self, node: Syntax) -> Any:
        """The closure of an expression (``machine.Code``)."""
        known = self.codes.get(node.id)
        if known is None:
            known = self.codes[node.id] = self.unit.compile_expression(self, node)
        return known

    def block(self, node: Syntax) -> Any:
        """The closure of the statements in a block."""
        return self.once("block", node, lambda: self.unit.compile_block(self, node))

    def once(self, what: str, node: Syntax, make: Callable[[], Any]) -> Any:
        """What is found out about a node once."""
        key = (what, node.id)
        known = self.codes.get(key)
        if known is None:
            known = self.codes[key] = make()
        return known

    def text(self, node: Syntax) -> str:
        """What a node is made of, with single spaces."""
        known = self.texts.get(node.id)
        if known is None:
            known = self.texts[node.id] = " ".join(self.tree.source(node).split())
        return known

    def span(self, node: Syntax) -> Span:
        """Where a node stands."""
        return self.tree.span(node)


class SourceUnit:
    """The names of a translation unit."""

    def __init__(self, unit: TranslationUnit, expression: Compile, block: Compile) -> None:
        self._unit = unit
        self.compile_expression = expression
        self.compile_block = block
        self._found: dict[str, tuple[Definition, ...]] = {}
        self._parsed: dict[tuple[int, int], tuple[Definition, ...]] = {}
        self.constants: dict[int, Any] = {}
        """Values of variables of namespaces, by the identity of their declarator."""
        self.classes: dict[Any, Any] = {}
        """Classes by definition and template arguments."""

    def definitions(self, name: str) -> tuple[Definition, ...]:
        """Everything that defines a name, in order."""
        known = self._found.get(name)
        if known is None:
            known = self._found[name] = tuple(d for d in self._all(name) if d.name == name)
        return known

    def visible(self, name: str, scope: str, namespace: str) -> tuple[Definition, ...]:
        """The definitions that ``scope::name`` means inside a namespace: those of the innermost
        namespace that has any."""
        found = self.definitions(name)
        around = namespace.split("::") if namespace else []
        for depth in range(len(around), -1, -1):
            wanted = "::".join([*around[:depth], *([scope] if scope else [])])
            here = tuple(d for d in found if d.namespace == wanted)
            if here:
                return here
        return ()

    def _all(self, name: str) -> Iterator[Definition]:
        spellings = (name, *self._unit.spellings(name))
        for file in self._unit.files:
            index = index_of(file.code)
            chunks = {c.start: c for spelling in spellings for c in index.mentioning(spelling)}
            for start in sorted(chunks):
                yield from self._chunk(file, chunks[start])

    def _chunk(self, file: Included, chunk: Chunk) -> tuple[Definition, ...]:
        key = (id(file), chunk.start)
        known = self._parsed.get(key)
        if known is None:
            known = self._parsed[key] = tuple(self._parse(file, chunk))
        return known

    def _parse(self, file: Included, chunk: Chunk) -> Iterator[Definition]:
        try:
            tokens = self._unit.expand(file, chunk.start, chunk.end)
        except ExpansionError as error:
            raise NotFollowed(f"macros could not be expanded: {error}") from None
        tokens = without_idle_parentheses(_bit_casts(tokens), _may_be_type)
        piece = Piece(Tree(tokens, self._place), self)
        yield from _definitions(piece, piece.tree.root, chunk.namespace, None)

    def _place(self, file: str, offset: int) -> tuple[int, int]:
        text = self._unit.text(file)
        line = text.count("\n", 0, offset) + 1
        return line, offset - text.rfind("\n", 0, offset)


def _may_be_type(name: str) -> bool:
    """Whether a name in parentheses before an operator reads as a type."""
    return name.endswith("_t") or name in ("int", "float", "unsigned", "double", "char", "bool")


def _bit_casts(tokens: list[Token]) -> list[Token]:
    """``__builtin_bit_cast(type, value)`` with its type as a template argument: the parser takes
    arguments for expressions."""
    out: list[Token] = []
    depths: list[int] = []
    depth = at = 0
    while at < len(tokens):
        token = tokens[at]
        out.append(token)
        if token.text == "__builtin_bit_cast" and tokens[at + 1 : at + 2]:
            at += 1
            out.append(tokens[at]._replace(text="<"))
            depths.append(depth)
        elif token.text in ("(", "[", "{"):
            depth += 1
        elif token.text in (")", "]", "}"):
            depth -= 1
        elif token.text == "," and depths and depth == depths[-1]:
            depths.pop()
            depth += 1  # of the parenthesis that was replaced
            out[-1:] = [token._replace(text=">"), token._replace(text="(")]
        at += 1
    return out


def _definitions(
    piece: Piece, node: Syntax, namespace: str, parameters: tuple[Syntax, ...] | None
) -> Iterator[Definition]:
    """Definitions at or below a node of a namespace."""
    for child in node.named_children:
        kind = _KINDS.get(child.type)
        if child.type == "template_declaration":
            given = child.child_by_field_name("parameters")
            yield from _definitions(piece, child, namespace, tuple(given.named_children))
        elif child.type in ("linkage_specification", "declaration_list"):
            yield from _definitions(piece, child, namespace, parameters)
        elif child.type == "namespace_definition":
            name = child.child_by_field_name("name")
            inner = "::".join(x for x in (namespace, piece.text(name) if name else "") if x)
            body = child.child_by_field_name("body")
            yield from _definitions(piece, body, inner, parameters)
        elif kind is not None:
            yield from defined(piece, child, kind, namespace, parameters)


def defined(
    piece: Piece, node: Syntax, kind: str, namespace: str, parameters: tuple[Syntax, ...] | None
) -> Iterator[Definition]:
    """What one syntax node defines."""

    def made(kind: str, name: Syntax, declarator: Syntax | None = None) -> Definition:
        arguments = None
        if name.type in ("template_type", "template_function"):
            arguments = name.child_by_field_name("arguments")
            name = name.child_by_field_name("name")
        return Definition(
            kind=kind,
            name=piece.text(name).replace(" ", "").rpartition("::")[2],
            node=node,
            piece=piece,
            namespace=namespace,
            parameters=parameters,
            arguments=arguments,
            declarator=declarator,
        )

    if kind in ("variable", "typedef"):
        inner = node.child_by_field_name("type")
        if inner is not None and inner.type in _KINDS and inner.child_by_field_name("body"):
            yield from defined(piece, inner, _KINDS[inner.type], namespace, parameters)
        for declarator, name in _declared(node):
            yield made(kind, name, declarator)
        return
    body = node.child_by_field_name("body")
    name = _name(node, kind)
    if name is not None and (kind == "alias" or body is not None):
        yield made(kind, name)
    if kind == "enum" and body is not None:
        for child in body.named_children:
            if child.type == "enumerator":
                yield made("enumerator", child.child_by_field_name("name"), child)


def _declared(node: Syntax) -> Iterator[tuple[Syntax, Syntax]]:
    """The declarators of variables in a declaration, and their names."""
    for at, child in enumerate(node.children):
        if node.field_name_for_child(at) == "declarator" and function_declarator(child) is None:
            name = declared_name(child)
            if name is not None:
                yield child, name


def _name(node: Syntax, kind: str) -> Syntax | None:
    if kind != "function":
        return node.child_by_field_name("name")
    declarator = function_declarator(node.child_by_field_name("declarator"))
    return declarator.child_by_field_name("declarator") if declarator is not None else None


def function_declarator(node: Syntax) -> Syntax | None:
    """The part of a declarator that has the parameters."""
    while node is not None and node.type != "function_declarator":
        inner = node.child_by_field_name("declarator")
        if inner is None:
            inner = next((c for c in node.named_children if c.type.endswith("declarator")), None)
        node = inner
    return node


def declared_name(node: Syntax) -> Syntax | None:
    """The name in a declarator."""
    while node is not None and node.type.endswith("declarator"):
        inner = node.child_by_field_name("declarator")
        if inner is None:
            inner = next((c for c in node.named_children if c.type != "type_qualifier"), None)
        node = inner
    return node
