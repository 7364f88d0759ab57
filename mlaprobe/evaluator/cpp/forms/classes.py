"""Methods, constructors and operators of a class, translated when they are called."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.cpp.expressions import expressions_in
from mlaprobe.evaluator.cpp.tree import Syntax, field, find_declarator
from mlaprobe.evaluator.ir import CType
from mlaprobe.evaluator.values.bodies import Body, Constructor, Header, MethodOf

if TYPE_CHECKING:
    from collections.abc import Callable

    from mlaprobe.evaluator.cpp.translate import Translator

T = TypeVar("T")
Members = tuple[tuple[str, CType, "ir.Node | None"], ...]
"""Name, type and default of each member, in order."""
_Given = tuple[ir.Span, tuple[ir.Node, ...], bool]
"""What a constructor gives: where that stands, its arguments, whether they are in braces."""
CONVERTS = re.compile(r"\boperator\s*(?:!\s*\(|(?!new\b|delete\b|co_await\b)[A-Za-z_:])")
"""An operator for conditions, or for conversions: what follows the keyword is a type."""
_POINTS = ("operator->", "operator->*", "operator,", "operator&&", "operator||")
"""Operators that are not looked for where they act."""


class ClassBody(Body):
    """The functions that a class body declares."""

    def __init__(self, tr: Translator, body: Syntax, name: str, members: Members) -> None:
        self._tr = tr
        self._body = body
        self._name = name
        self._members = members
        self._inside = tr.packs, tr.template_types
        self._known: dict[str, MethodOf | None] = {}

    @cached_property
    def _declared(self) -> tuple[tuple[str, Syntax, Syntax], ...]:
        """Name, member and declarator of each function."""
        return tuple(self._functions(self._body))

    def _functions(self, node: Syntax) -> Iterator[tuple[str, Syntax, Syntax]]:
        for member in node.named_children:
            if member.type == "template_declaration":
                yield from self._functions(member)
                continue
            declarator = find_declarator(field(member, "declarator"))
            inner = field(declarator, "declarator") if declarator is not None else None
            if inner is not None:
                yield "".join(self._tr.source(inner).split()), member, declarator

    def _named(self, name: str) -> list[tuple[Syntax, Syntax]]:
        return [(member, at) for label, member, at in self._declared if label == name]

    # --- methods ---------------------------------------------------------------------------------

    def method(self, name: str) -> MethodOf | None:
        if name not in self._known:
            self._known[name] = self._find(name)
        return self._known[name]

    def header(self, name: str) -> Header | None:
        found = self._named(name)
        if len(found) != 1 or found[0][0].parent.type == "template_declaration":
            return None
        member, declarator = found[0]
        params = field(declarator, "parameters")
        kinds = [] if params is None else [c.type for c in params.named_children]
        if "optional_parameter_declaration" in kinds:
            return None
        return self._header(member, declarator)

    def _header(self, member: Syntax, declarator: Syntax) -> Header:
        behind = [c.type for c in declarator.children]
        const = "type_qualifier" in behind and "const" in self._tr.source(declarator).split(")")[-1]
        const = const and "mutable" not in self._tr.source(self._body)
        head = self._tr.tree.head(member, field(member, "declarator")).split()
        return Header(const=const, static="static" in head)

    def declares(self, name: str) -> bool:
        return bool(self._named(name))

    def virtual(self, name: str) -> bool:
        return any(
            re.search(r"\b(virtual|override|final)\b", self._tr.source(member).split("{")[0])
            for member, _ in self._named(name)
        )

    def defaulted(self, name: str) -> bool:
        found = self._named(name)
        return len(found) == 1 and _is_defaulted(found[0][0])

    def _find(self, name: str) -> MethodOf | None:
        found = self._named(name)
        if len(found) != 1 or found[0][0].type != "function_definition":
            return None
        member, declarator = found[0]
        if member.parent.type == "template_declaration":
            return None
        function = self._translated(lambda: self._tr.function(member, name))
        if function is None:
            return None
        header = self._header(member, declarator)
        return MethodOf(function, const=header.const, static=header.static)

    def _translated(self, translate: Callable[[], T]) -> T:
        """What is translated where the names of the class's template are seen."""
        outside = self._tr.packs, self._tr.template_types
        self._tr.packs, self._tr.template_types = self._inside
        try:
            return translate()
        finally:
            self._tr.packs, self._tr.template_types = outside

    # --- constructors ----------------------------------------------------------------------------

    @property
    def made_by_hand(self) -> bool:
        return self.declares(self._name)

    @cached_property
    def constructors(self) -> tuple[Constructor, ...]:
        found = [(m, at) for m, at in self._named(self._name) if not self._copies(at)]
        return tuple(self._constructor(m) for m, _ in found if not _is_deleted(m))

    def _constructor(self, member: Syntax) -> Constructor:
        if _is_defaulted(member):
            return Constructor(None, defaulted=True)
        if member.parent.type == "template_declaration":
            return Constructor(None)
        return self._translated(lambda: self._translate(member))

    def _translate(self, member: Syntax) -> Constructor:
        """A constructor whose body begins with what it gives to the members."""
        function = self._tr.function(member, self._name)
        given = self._initialisers(member)
        if function is None or given is None:
            return Constructor(None)
        names = {name for name, _, _ in self._members}
        firsts = tuple(
            statement
            for name, ctype, default in self._members
            for statement in self._first(member, name, ctype, default, given.get(name))
        )
        above = {}
        for name, (span, args, braced) in given.items():
            if name not in names:
                made = ir.Construct(span, CType("other", name), args, braced)
                label = "" if name == self._name else name
                above[label] = replace(function, body=(ir.Return(span, made),))
        whole = replace(function, body=(*firsts, *function.body), result=None)
        if "" in above:
            return Constructor(replace(function, result=None), above)
        return Constructor(whole, above)

    def _initialisers(self, member: Syntax) -> dict[str, _Given] | None:
        """What stands behind the colon, by name."""
        listed = next((c for c in member.children if c.type == "field_initializer_list"), None)
        found: dict[str, _Given] = {}
        for each in listed.named_children if listed is not None else ():
            name, args = each.named_children[0], each.named_children[-1]
            if each.type != "field_initializer" or args is name:
                return None
            braced = args.type == "initializer_list"
            label = self._tr.source(name)
            found[label] = (self._tr.span(each), expressions_in(self._tr, args), braced)
        return found

    def _first(
        self, member: Syntax, name: str, ctype: CType, default: ir.Node | None, given: _Given | None
    ) -> Iterator[ir.Node]:
        """The statement that gives a member its first value."""
        span = self._tr.span(member)
        value = default
        if given is not None:
            span, args, braced = given
            value = _made(span, ctype, args, braced=braced)
        elif default is None and ctype.kind == "other" and not ctype.pointer:
            value = ir.Construct(span, ctype, ())
        if value is not None:
            target = ir.Attr(span, ir.Name(span, "this"), name)
            yield ir.ExprStmt(span, ir.AssignExpr(span, target, value))

    def _copies(self, declarator: Syntax) -> bool:
        """Whether a constructor, or an assignment, takes an object of the class."""
        params = field(declarator, "parameters")
        first = params.named_children[0] if params is not None and params.named_children else None
        kind = field(first, "type") if first is not None else None
        return kind is not None and self._tr.source(kind).split("<")[0] == self._name

    # --- what objects do on their own ------------------------------------------------------------

    @cached_property
    def implicit(self) -> tuple[ir.Function, ...]:
        return tuple(self._whole(member, name) for name, member in self._own())

    def _own(self) -> Iterator[tuple[str, Syntax]]:
        """The functions that are called where none is written: the destructor, and of an object
        that is not followed all that copies it, converts it, or is an operator."""
        strange = bool(self.acts) or CONVERTS.search(self._tr.source(self._body)) is not None
        for name, member, declarator in self._declared:
            if _is_defaulted(member) or _is_deleted(member):
                continue
            copies = name == self._name and self._copies(declarator)
            operates = copies or name.startswith("operator")
            if name == "~" + self._name or (strange and operates):
                yield name, member

    def _whole(self, member: Syntax, name: str) -> ir.Function:
        """A function; one whose body is not here may do anything."""
        function = self._translated(lambda: self._tr.function(member, name))
        opaque = ir.OpaqueStmt(self._tr.span(member), f"{name} is not defined here", (), True)
        return function or ir.Function(opaque.span, name, (), (opaque,))

    @cached_property
    def acts(self) -> str:
        for name, member, declarator in self._declared:
            own = not (_is_defaulted(member) or _is_deleted(member))
            if name == self._name and own and self._copies(declarator):
                return f"how a {self._name} is copied is not followed"
            if name == "operator=" and own:
                return f"how a {self._name} is assigned is not followed"
            params = field(declarator, "parameters")
            alone = params is not None and not params.named_children
            if name in _POINTS or (name in ("operator*", "operator&") and alone):
                return f"what a {self._name} points to is not followed"
        return ""


def _is_defaulted(member: Syntax) -> bool:
    return any(c.type == "default_method_clause" for c in member.children)


def _is_deleted(member: Syntax) -> bool:
    return any(c.type == "delete_method_clause" for c in member.children)


def _made(span: ir.Span, ctype: CType, args: tuple[ir.Node, ...], *, braced: bool) -> ir.Node:
    """A member from what stands in its parentheses or braces."""
    if not ctype.pointer and ctype.kind not in ("auto", "string"):
        return ir.Construct(span, ctype, args, braced)
    if not args:
        return ir.Const(span, None if ctype.pointer else "")
    if len(args) > 1 or (braced and ctype.pointer):
        return ir.Opaque(span, f"how a {ctype.name} is made is not followed")
    return args[0]
