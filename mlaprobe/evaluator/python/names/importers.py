"""Other modules that take names by which something of a module is changed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.python.names.sorts import INSIDE, READ

if TYPE_CHECKING:
    from mlaprobe.evaluator.python.module import PyModule
    from mlaprobe.evaluator.python.names.chain import Chain


def importer_of(module: PyModule, names: frozenset[str]) -> Span | None:
    """Where another module may do more than read what names of a module stand for."""
    chain = module.project.chain
    chain.extend(module.dotted)
    word = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(names)))})\b")
    for other in chain.modules.values():
        if other is not module and word.search(other.index.text):
            for node in _uses(chain, other, module, names):
                return other.place.span(node)
    return None


def _uses(
    chain: Chain, other: PyModule, module: PyModule, names: frozenset[str]
) -> Iterator[ast.AST]:
    """Where one module may change what names of another stand for."""
    loads = any(_loads(node) for node in other.index.scopes.calls_and_items)
    yield from _named(other, names) if loads else ()
    bound = dict(chain.bound(other))
    for name in names:
        starred = chain.of_star(other, name)
        bound.update({name: starred} if starred else {})
    for local, meanings in bound.items():
        owners = {owner for meant in meanings for owner in chain.owners(meant)}
        meant = {name for dotted, name in owners if dotted == module.dotted}
        if meant or any(dotted in _above(module) for dotted, _ in owners):
            yield from _named(other, names)
        if not meant.isdisjoint(names):
            yield from _unless_read(other, local)


def _named(other: PyModule, names: frozenset[str]) -> Iterator[ast.AST]:
    """Attributes and texts of a module that may be names of another."""
    for name in names:
        yield from other.index.scopes.attributes.get(name, ())
        yield from other.index.scopes.texts.get(name, ())


def _loads(node: ast.AST) -> bool:
    """Whether an expression may give a module by the text of its name."""
    name = getattr(
        getattr(node, "func", node), "attr", getattr(getattr(node, "func", node), "id", "")
    )
    return name in ("import_module", "__import__", "modules")


def _above(module: PyModule) -> set[str]:
    """The packages that a module is in: it is an attribute of each."""
    parts = module.dotted.split(".")
    return {".".join(parts[:at]) for at in range(1, len(parts))}


def _unless_read(other: PyModule, local: str) -> Iterator[ast.AST]:
    """Where something that a module has imported is used for more than to read it."""
    uses = other.index.uses
    for node in other.index.scopes.mentions_of(local):
        parent = other.index.scopes.parent(node)
        called = isinstance(parent, (ast.Call, ast.ClassDef)) and _is_called(parent, node)
        uses.steps = 0
        acts = called or node in getattr(parent, "decorator_list", ())
        if acts or (isinstance(node, ast.Name) and uses.use(node, INSIDE, 0)[0] > READ):
            yield node


def _is_called(parent: ast.Call | ast.ClassDef, node: ast.AST) -> bool:
    """Whether a name is called, or is a base."""
    return not isinstance(parent, ast.Call) or parent.func is node
