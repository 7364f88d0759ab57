"""The names of a Python module and where they are bound, read from its text without running it."""

from __future__ import annotations

import ast
import re
import sys
import warnings
from dataclasses import dataclass
from functools import cached_property

from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.python.names.aliases import aliased, binding
from mlaprobe.evaluator.python.names.attributes import (
    changed_attributes,
    written_attributes,
)
from mlaprobe.evaluator.python.names.dictionaries import Dictionaries
from mlaprobe.evaluator.python.names.scopes import Scopes
from mlaprobe.evaluator.python.names.slices import Slice, slice_of
from mlaprobe.evaluator.python.names.sorts import INSIDE
from mlaprobe.evaluator.python.names.touched import BLOCKS, FUNCTIONS, Names, flat, names_of
from mlaprobe.evaluator.python.names.uses import Uses
from mlaprobe.evaluator.python.place import (
    SCOPES,
    Place,
    dotted_name,
)

IMPORTS = re.compile(
    r"(?:^|[;:])[ \t]*(?:from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]*(\([^)]*\)|(?:\\\n|[^\n#;])*)"
    r"|import[ \t]+([\w. ,\t]+))",
    re.MULTILINE,
)
"""Imports, wherever they stand."""
_STAR = re.compile(r"^[ \t]*from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+\*", re.MULTILINE)
_IMPORT = re.compile(
    r"^(?:from[ \t]+(?P<dots>\.*)(?P<module>[\w.]*)[ \t]+import\b"
    r"|import[ \t]+(?P<plain>[\w. ,\t]+))",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class SyntaxProblem:
    """Why a text is no Python module."""

    message: str
    span: Span


def parse(text: str, file: str) -> ast.Module | SyntaxProblem:
    """The syntax tree of a text, or why it has none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        line, column = error.lineno or 1, max(error.offset or 1, 1)
        span = Span(file, line, column, line, column + 1)
        version = ".".join(map(str, sys.version_info[:2]))
        return SyntaxProblem(f"syntax error for Python {version}: {error.msg}", span)
    except (ValueError, MemoryError) as error:  # the latter for what is nested too deeply
        return SyntaxProblem(f"cannot be parsed: {error}", Span(file, 1, 1, 1, 2))


def _others(targets: list[ast.expr], name: str) -> set[str]:
    """The names that are bound to the same value."""
    return {t.id for t in targets if isinstance(t, ast.Name)} - {name}


def _changed_outside(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """What one function changes in place that is not its own."""
    names = Names()
    aliases: dict[str, set[str]] = {}
    for stmt in function.body:
        found = names_of(stmt, given=False)
        names.bound |= found.bound
        names.changed |= found.changed
        for node in ast.walk(stmt):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        aliases.setdefault(target.id, set()).add(node.value.id)
    arguments = function.args
    given = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    own = names.bound | {arg.arg for arg in given}
    also = {name for alias in names.changed for name in aliases.get(alias, ())}
    return (names.changed | also) - own


class Index:
    """The top-level statements of a module and the names they touch."""

    def __init__(self, text: str, place: Place) -> None:
        self.text = text
        self.place = place

    @cached_property
    def tree(self) -> ast.Module | SyntaxProblem:
        """The syntax tree; made when it is first needed."""
        return parse(self.text, self.place.file)

    @property
    def body(self) -> list[ast.stmt]:
        """The top-level statements."""
        return [] if isinstance(self.tree, SyntaxProblem) else self.tree.body

    @cached_property
    def scopes(self) -> Scopes:
        """The module's parts with those around them."""
        return Scopes(self.body)

    @cached_property
    def slice(self) -> Slice | None:
        """The statements that make what is registered while the module is imported."""
        return slice_of(self)

    @cached_property
    def uses(self) -> Uses:
        """What the module's code does to the values of its names."""
        return Uses(self)

    def is_variable(self, name: str) -> bool:
        """Whether a top-level statement other than an import or a definition binds a name."""
        plain = (*FUNCTIONS, ast.ClassDef, ast.Import, ast.ImportFrom)
        return any(
            name in self.names[at].bound and not isinstance(self.body[at], plain)
            for at in self._by_name.get(name, ())
        )

    def changed_at(self, name: str) -> ast.AST | None:
        """A place where the value of a name may be changed in place."""
        for at in self._by_name.get(name, ()):
            if name in self.names[at].changed | self.names[at].called:
                return self.body[at]
        return self.uses.of_name(name, INSIDE)

    @cached_property
    def unfreezes(self) -> bool:
        """Whether the text may assign attributes past what a frozen class allows."""
        return re.search(r"\b(?:__setattr__|__dict__|vars)\b", self.text) is not None

    @cached_property
    def runs_texts(self) -> bool:
        """Whether the text may run texts."""
        return re.search(r"\b(?:exec|eval)\(", self.text) is not None

    @cached_property
    def dictionaries(self) -> Dictionaries:
        """Where the text looks names of a module up by their text."""
        return Dictionaries(self)

    @cached_property
    def names(self) -> list[Names]:
        """What each top-level statement touches."""
        return [self.names_of(node) for node in self.body]

    def names_of(self, node: ast.stmt) -> Names:
        """What a statement touches, by other names of the module itself, too."""
        names = names_of(node)
        names.dynamic |= not self.dictionaries.aliases.isdisjoint(names.changed)
        return names

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All parts of the module."""
        return list(ast.walk(ast.Module(self.body, [])))

    @cached_property
    def all_functions(self) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        """All functions of the module, those inside others among them."""
        return [n for n in self.nodes if isinstance(n, FUNCTIONS)]

    @cached_property
    def _by_name(self) -> dict[str, list[int]]:
        result: dict[str, list[int]] = {}
        for position, names in enumerate(self.names):
            for name in names.bound | names.changed | (names.called - self.aliases.keys()):
                result.setdefault(name, []).append(position)
        return result

    @cached_property
    def _wild(self) -> list[int]:
        return [i for i, names in enumerate(self.names) if names.stars or names.dynamic]

    def positions(self, name: str) -> list[int]:
        """The statements that may affect the value of ``name``, in order."""
        return sorted({*self._by_name.get(name, ()), *self._wild})

    def binds(self, name: str) -> bool:
        """Whether a statement names it outright."""
        return name in self._by_name

    @cached_property
    def _bound_from(self) -> dict[str, list[tuple[int, set[str]]]]:
        """Names, and the statements that give them the value of others."""
        found: dict[str, list[tuple[int, set[str]]]] = {}
        for position, node in enumerate(self.body):
            for part in ast.walk(node) if not isinstance(node, SCOPES) else ():
                source, targets = binding(part)
                for target in targets:
                    names = {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
                    for name in names if source is not None else ():
                        assert source is not None
                        given = aliased(source) | _others(targets, name)
                        found.setdefault(name, []).append((position, given))
        return found

    def changed_elsewhere(self, name: str, node: ast.stmt, position: int) -> ast.stmt | None:
        """A statement that may change a name's value under another name, after it was bound."""
        pairs = zip(self.body, self.names, strict=True)
        nameless = next((n for n, names in pairs if names.anonymous), None)
        if nameless is not None:
            return nameless
        for other, bindings in self._bound_from.items():
            for at, sources in bindings:
                same = name in sources if other != name else False
                mine = other == name and at == position
                for source in ({other} if same else set()) | (sources if mine else set()):
                    later = self._changing(source, at)
                    if later is not None and source != name:
                        return later
        return None

    def _changing(self, name: str, position: int) -> ast.stmt | None:
        """A statement from a place on, or a function, that changes a name's value in place."""
        start = position if isinstance(self.body[position], BLOCKS) else position + 1
        later = (p for p in self._by_name.get(name, ()) if p >= start)
        acting = (p for p in later if name in self.names[p].changed | self.names[p].called)
        found = next(acting, None)
        if found is not None:
            return self.body[found]
        return self.changed_by_functions.get(name)

    def final(self, name: str, position: int) -> bool:
        """Whether ``name`` is at a statement what it is at the end of the module."""
        positions = self.positions(name)
        return not positions or positions[-1] < position

    @cached_property
    def global_names(self) -> frozenset[str]:
        """Names that functions rebind."""
        if not re.search(r"^\s+global\s", self.text, re.MULTILINE) or not self.body:
            return frozenset()
        nodes = (n for n in self.nodes if isinstance(n, ast.Global))
        return frozenset(name for n in nodes for name in n.names)

    def rebinding(self, name: str) -> Span:
        """A statement of a function that says it rebinds a name."""
        nodes = (n for n in ast.walk(ast.Module(self.body, [])) if isinstance(n, ast.Global))
        return self.place.span(next((n for n in nodes if name in n.names), self.body[0]))

    def changing_attribute(self, name: str) -> Span:
        """A function that assigns an attribute, or changes its value in place."""
        functions = (n for n in ast.walk(ast.Module(self.body, [])) if isinstance(n, FUNCTIONS))
        for node in functions:
            if name in written_attributes([node], of_self=True) or name in changed_attributes(
                [node]
            ):
                return self.place.span(node)
        return self.place.span(self.body[0])

    @cached_property
    def changed_by_functions(self) -> dict[str, ast.stmt]:
        """Names outside them whose values functions change in place, by the name or by another
        that they give it; and such a function."""
        if not self.body:
            return {}
        return {
            name: function for function in self.all_functions for name in _changed_outside(function)
        }

    @cached_property
    def attributes_of_classes(self) -> tuple[frozenset[str], frozenset[str]]:
        """Attributes that functions assign of what may be a class, and those whose values they
        change in place."""
        functions = self.all_functions
        written = written_attributes(functions, of_self="(type)" in self.text)
        return frozenset(written), frozenset(changed_attributes(functions))

    @cached_property
    def star_imports(self) -> tuple[str, ...]:
        """The modules of ``from module import *``, anywhere in the text."""
        found = _STAR.findall(self.text)
        return tuple(self.place.absolute(name, len(dots)) for dots, name in found)

    @cached_property
    def top_imports(self) -> tuple[str, ...]:
        """The modules that an import of this one certainly imports."""
        result: list[str] = []
        for match in _IMPORT.finditer(self.text):
            if match["plain"]:
                result += [part.split()[0] for part in match["plain"].split(",") if part.strip()]
            else:
                result.append(self.place.absolute(match["module"], len(match["dots"])))
        return tuple(name for name in result if name)

    @cached_property
    def imports_anywhere(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The modules of imports anywhere in the text, each with the names that are taken from it,
        or are given to it or to them."""
        result: list[tuple[str, tuple[str, ...]]] = []
        for dots, module, names, plain in IMPORTS.findall(self.text):
            for part in plain.split(",") if plain else ():
                words = part.split()
                result += [(words[0], (words[0].split(".")[0], *words[2:]))] if words else []
            if not plain:
                inside = re.findall(r"[A-Za-z_]\w*", re.sub(r"#[^\n]*", "", names))
                result.append((self.place.absolute(module or None, len(dots)), tuple(inside)))
        return tuple(result)

    def unguarded_imports(self) -> list[ast.Import | ast.ImportFrom]:
        """The imports that stand in no ``try``."""
        unguarded = flat(self.body, (ast.If, ast.With, ast.For, ast.While))
        return [node for node in unguarded if isinstance(node, (ast.Import, ast.ImportFrom))]

    @cached_property
    def aliases(self) -> dict[str, str]:
        """Imported names and the dotted names that they stand for."""
        result: dict[str, str] = {}
        for node in flat(self.body):
            if isinstance(node, ast.Import):
                for a in node.names:
                    result[a.asname or a.name.split(".")[0]] = (
                        a.name if a.asname else a.name.split(".")[0]
                    )
            elif isinstance(node, ast.ImportFrom):
                module = self.place.absolute(node.module, node.level)
                result.update({a.asname or a.name: f"{module}.{a.name}" for a in node.names})
        return result

    @cached_property
    def imported_functions(self) -> frozenset[str]:
        """The last parts of imported names, as they are called where they come from."""
        return frozenset(target.rpartition(".")[2] for target in self.aliases.values())

    def canonical(self, node: ast.expr) -> str:
        """The dotted name of an expression with its import resolved; ``?`` where it has none."""
        name = dotted_name(node)
        if name is None:
            return "?"
        root, dot, rest = name.partition(".")
        return self.aliases.get(root, root) + dot + rest

    @cached_property
    def path_pieces(self) -> tuple[str, ...]:
        """The folders, relative to the module's own, that it adds to ``sys.path``."""
        if "sys.path" not in self.text:
            return ()
        pieces: list[str] = []
        for node in self.body:
            call = node.value if isinstance(node, ast.Expr) else None
            if isinstance(call, ast.Call) and dotted_name(call.func) in _PATH_CALLS:
                parts = (n for a in call.args for n in ast.walk(a) if isinstance(n, ast.Constant))
                pieces += [p.value.strip("/") for p in parts if isinstance(p.value, str)]
        return tuple(piece for piece in pieces if piece)


_PATH_CALLS = ("sys.path.insert", "sys.path.append")
