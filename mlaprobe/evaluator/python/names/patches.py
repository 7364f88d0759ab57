"""Names of a module that another module of the source sets when it is imported."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.python.place import dotted_name

if TYPE_CHECKING:
    from mlaprobe.evaluator.python.module import PyModule
    from mlaprobe.evaluator.python.project import PyProject

ANY = "*"
"""Stands for names that the text does not tell."""
_NAME = r"([A-Za-z_]\w*)"
_FIRST = re.compile(rf"^[ \t]*{_NAME}\.[\w.]+[ \t]*[-+*/|&^%@:,=]", re.MULTILINE)
_LATER = re.compile(rf"[,=(][ \t]*{_NAME}\.[\w.]+[ \t]*\)?[ \t]*=(?!=)")
_ALIAS = re.compile(rf"^[ \t]*{_NAME}[ \t]*=[ \t]*{_NAME}(?:\.\w+)*[ \t]*$", re.MULTILINE)
_RARE = {
    word: re.compile(pattern)
    for word, pattern in {
        "setattr(": rf"\bsetattr\(\s*{_NAME}",
        "delattr(": rf"\bdelattr\(\s*{_NAME}",
        "vars(": rf"\bvars\(\s*{_NAME}",
        "__dict__": rf"{_NAME}(?:\.\w+)*\.__dict__",
        "del ": rf"\bdel[ \t]+{_NAME}\.",
        "sys.modules": rf"\bsys\.modules\[\s*[\"']{_NAME}",
        "import_module(": rf"\bimport_module\(\s*[\"']{_NAME}",
    }.items()
}
"""What a text has in it that may set a name of a module, and the name that it begins with."""
_FINDS = ("sys.modules", "importlib.import_module", "import_module")


def patches_of(project: PyProject) -> dict[tuple[str, str], Span]:
    """Where the root packages, and the modules that they import, set names of others: by the
    module and the name."""
    found: dict[tuple[str, str], Span] = {}
    for root in filter(None, map(project.module, project.roots)):
        for module in (root, *_imported(project, root)):
            if _may_set(project, module):
                for other, name, node in _set_in(project, module):
                    found.setdefault((other, name), module.place.span(node))
    return found


def _imported(project: PyProject, root: PyModule) -> Iterator[PyModule]:
    """The modules that a package imports, in a ``try`` or a condition too."""
    wanted: dict[str, None] = {}
    for name, inside in root.index.imports_anywhere:
        wanted[name] = None
        wanted.update(dict.fromkeys(f"{name}.{part}" for part in inside if part != "as"))
    for dotted in wanted:
        if dotted.split(".")[0] == root.dotted.split(".")[0]:
            module = project.module(dotted)
            if module is not None and module is not root:
                yield module


def _may_set(project: PyProject, module: PyModule) -> bool:
    """Whether the text has an assignment to what may be another module's."""
    text = module.index.text
    names = {*_FIRST.findall(text), *_LATER.findall(text)}
    names.update(n for word, rare in _RARE.items() if word in text for n in rare.findall(text))
    names -= {"self", "cls"}
    same = _ALIAS.findall(text) if names else ()
    names.update(first for name, first in reversed(same) if name in names)
    if not names.isdisjoint(project.roots):
        return True
    given = (
        (source, name, inside)
        for source, inside in module.index.imports_anywhere
        for name in names.intersection(inside)
    )
    return any(_gives_module(project, *found) for found in given)


def _gives_module(project: PyProject, source: str, name: str, inside: tuple[str, ...]) -> bool:
    """Whether an import may bind a name to a module of the source."""
    at = inside.index(name)
    near = inside[max(at - 2, 0) : at + 1]
    parts = {f"{source}.{part}" for part in near if part != "as"}
    parts |= {source} if inside[0] == source.split(".")[0] else set()  # as ``import`` has it
    ours = (part for part in parts if part.split(".")[0] in project.roots)
    return any(project.module(part) is not None for part in ours)


def _set_in(project: PyProject, module: PyModule) -> Iterator[tuple[str, str, ast.stmt]]:
    """The names of other modules that a module sets, in functions too: the module, the name, the
    statement."""
    known = _names_of_modules(module)
    for node in module.index.body:
        for part in ast.walk(node):
            owner, name = _target(part)
            dotted = None if owner is None else _module(project, module, known, owner)
            if dotted is not None:
                yield dotted, name, node


def _names_of_modules(module: PyModule) -> dict[str, str]:
    """Variables that may be modules, wherever they are bound, and the dotted names of these."""
    found = dict(module.index.aliases)
    for node in ast.walk(ast.Module(module.index.body, [])):
        if isinstance(node, ast.Import):
            found.update({a.asname or a.name.split(".")[0]: _bound(a) for a in node.names})
        elif isinstance(node, ast.ImportFrom):
            source = module.place.absolute(node.module, node.level)
            found.update({a.asname or a.name: f"{source}.{a.name}" for a in node.names})
        elif isinstance(node, ast.Assign):
            dotted = _dotted(node.value, found)
            names = [t.id for t in node.targets if isinstance(t, ast.Name)]
            found.update(dict.fromkeys(names, dotted) if dotted is not None else {})
    return found


def _bound(alias: ast.alias) -> str:
    return alias.name if alias.asname else alias.name.split(".")[0]


def _dotted(node: ast.expr, known: dict[str, str]) -> str | None:
    """The dotted name that an expression may stand for."""
    name = dotted_name(node)
    if name is not None:
        first, dot, rest = name.partition(".")
        return known[first] + dot + rest if first in known else None
    inside, of = None, None
    if isinstance(node, ast.Subscript):
        inside, of = node.slice, node.value
    elif isinstance(node, ast.Call) and node.args:
        inside, of = node.args[0], node.func
    text = inside.value if isinstance(inside, ast.Constant) else None
    finds = of is not None and dotted_name(of) in _FINDS
    return text if finds and isinstance(text, str) else None


def _target(node: ast.AST) -> tuple[ast.expr | None, str]:
    """Of what a piece of code sets an attribute, and which."""
    if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
        return node.value, node.attr
    if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        return _dictionary(node.value), _constant(node.slice)
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("setattr", "delattr"):
        name = node.args[1] if len(node.args) > 1 else None
        return (node.args[0] if node.args else None), _constant(name)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        changes = node.func.attr in ("update", "setdefault", "pop", "clear", "__setitem__")
        return (_dictionary(node.func.value) if changes else None), ANY
    return None, ""


def _dictionary(node: ast.expr) -> ast.expr | None:
    """The module whose dictionary of names an expression is."""
    if isinstance(node, ast.Attribute) and node.attr == "__dict__":
        return node.value
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "vars" and node.args:
        return node.args[0]
    return None


def _constant(node: ast.expr | None) -> str:
    text = node.value if isinstance(node, ast.Constant) else None
    return text if isinstance(text, str) else ANY


def _module(
    project: PyProject, module: PyModule, known: dict[str, str], owner: ast.expr
) -> str | None:
    """The module of the source that an expression names, where that is another."""
    dotted = _dotted(owner, known)
    if dotted is None or dotted == module.dotted or project.module(dotted) is None:
        return None
    return dotted
