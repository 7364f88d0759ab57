"""Which code of a module runs while the module is imported, and at no other time."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mlaprobe.evaluator.python.names.scopes import FUNCTIONS, Function, Scopes

_AT_BIRTH = {"__init_subclass__", "__set_name__"}
_OF_METACLASS = {"__new__", "__init__"}
_AT_MAKING = {"__init__", "__new__"}
_MAKERS = {"new_class", "make_dataclass"}
_KINDS = {"staticmethod", "classmethod"}


class ImportCode:
    """Follows the mentions of functions: one that is only called, or only decorates, where code
    runs that is of the import is of the import itself."""

    def __init__(self, scopes: Scopes) -> None:
        self._scopes = scopes
        self._known: dict[int, bool] = {}
        self._busy: set[int] = set()

    def covers(self, node: ast.AST) -> bool:
        """Whether the code of a node runs while the module is imported, and never later."""
        function = self._scopes.function_of(node)
        return function is None or self.is_of_import(function)

    def is_of_import(self, function: ast.AST) -> bool:
        """Whether a function is called while the module is imported, and never later."""
        key = id(function)
        if key in self._known or key in self._busy:
            return self._known.get(key, True)
        self._busy.add(key)
        found = self._follow(function)
        self._busy.discard(key)
        if not found or not self._busy:  # else it rests on what is being followed
            self._known[key] = found
        return found

    def _follow(self, function: ast.AST) -> bool:
        if not isinstance(function, ast.FunctionDef):
            return False
        names = {getattr(d, "id", "?") for d in function.decorator_list}
        if not names <= _KINDS:
            return False
        around = self._scopes.parent(function)
        if isinstance(around, ast.ClassDef) and function.name.startswith("__"):
            return self._is_special(function, around) or self._only_made(function, around)
        mentions = self._scopes.mentions_of(function.name)
        if self._scopes.function_of(function) is not None:  # no other code has it by an attribute
            mentions = [node for node in mentions if isinstance(node, ast.Name)]
        elif function.name in self._scopes.texts:
            return False
        return bool(mentions) and all(map(self._calls, mentions))

    def _is_special(self, function: Function, cls: ast.ClassDef) -> bool:
        """A method that Python calls where a class is made."""
        classes = [c for c in self._scopes.class_statements if self._has_relatives(c)]
        made = all(map(self.covers, (*classes, *self._made_by_calls())))
        if function.name in _AT_BIRTH:
            return made
        if function.name not in _OF_METACLASS or not self.is_metaclass(cls):
            return False
        mentions = self._scopes.mentions_of(cls.name)
        return made and all(self._only_makes(node) for node in mentions)

    def _has_relatives(self, cls: ast.ClassDef) -> bool:
        """Whether a class may be derived from one of the module, or made by a metaclass."""
        outside = (isinstance(b, ast.Name) and not self._scopes.binds(b.id) for b in cls.bases)
        return bool(cls.keywords) or not all(outside)

    def _made_by_calls(self) -> Iterator[ast.Call]:
        """Calls that may make a class."""
        for node in self._scopes.calls_and_items:
            if isinstance(node, ast.Call):
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                if name in _MAKERS or (name in ("type", "__new__") and len(node.args) > 2):
                    yield node

    def _only_made(self, function: Function, cls: ast.ClassDef) -> bool:
        """Whether the objects of a class without relatives are made while the module is imported,
        by its name."""
        if function.name not in _AT_MAKING or cls.bases or cls.keywords or cls.decorator_list:
            return False
        for node in self._scopes.mentions_of(cls.name):
            parent = self._scopes.parent(node)
            called = isinstance(parent, ast.Call) and parent.func is node
            if not (called and self.covers(node)) and not isinstance(parent, ast.Attribute):
                return False
        for call in self._scopes.calls_and_items:
            anew = isinstance(call, ast.Call) and _makes_another(call.func)
            if anew and not self.covers(call):
                return False
        return True

    def is_metaclass(self, cls: ast.ClassDef) -> bool:
        """Whether a class is one of classes."""
        names = {getattr(base, "id", "?") for base in cls.bases}
        others = (c for c in self._scopes.class_statements if c.name in names and c is not cls)
        return "type" in names or any(self.is_metaclass(other) for other in others)

    def _only_makes(self, node: ast.AST) -> bool:
        """Whether a mention of a metaclass makes no class at run time."""
        parent = self._scopes.parent(node)
        called = isinstance(parent, ast.Call) and parent.func is node
        return self.covers(node) or (isinstance(parent, ast.Attribute) and not called)

    def _calls(self, node: ast.AST) -> bool:
        """Whether a mention of a function calls it, or decorates with it, in code of the import;
        a function that is returned may be called where the result is."""
        parent = self._scopes.parent(node)
        if not self.covers(node) or parent is None:
            return False
        if isinstance(parent, ast.Call) and parent.func is node:
            return True
        if isinstance(parent, ast.Return):
            outer = self._scopes.function_of(parent)
            return outer is not None and self._result_is_called(outer)
        return _decorates(node, parent) or _is_attribute_of(node, parent)

    def _result_is_called(self, function: ast.AST) -> bool:
        """Whether what a function returns is called at once, or decorates, and is gone then."""
        if not isinstance(function, FUNCTIONS) or not self.is_of_import(function):
            return False
        for node in self._scopes.mentions_of(function.name):
            call = self._scopes.parent(node)
            if not isinstance(call, ast.Call) or call.func is not node:
                return False
            around = self._scopes.parent(call)
            if isinstance(around, ast.Return):
                outer = self._scopes.function_of(around)
                if outer is None or not self._result_is_called(outer):
                    return False
            called = isinstance(around, ast.Call) and around.func is call
            gone = called or isinstance(around, (ast.Expr, ast.Return))
            if not gone and (around is None or not _decorates(call, around)):
                return False
        return True


def _makes_another(func: ast.AST) -> bool:
    """Whether a call may make an object of a class that it does not name."""
    name = getattr(func, "attr", getattr(func, "id", ""))
    return isinstance(func, ast.Call) or name in ("cls", "replace", "__class__", "__init__")


def _decorates(node: ast.AST, parent: ast.AST) -> bool:
    return any(node is each for each in getattr(parent, "decorator_list", ()))


def _is_attribute_of(node: ast.AST, parent: ast.AST) -> bool:
    """Whether an attribute of a function is read or written, of those that are no methods."""
    return isinstance(parent, ast.Attribute) and not parent.attr.startswith("__")
