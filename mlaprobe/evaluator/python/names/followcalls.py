"""What calls and attributes do to the values that they get."""

from __future__ import annotations

import ast
from functools import cached_property

from mlaprobe.evaluator.python.names.calling import (
    APPLYING,
    LOOKING,
    MUTATING,
    READERS,
    RETURNING,
    SHOWING,
    SHOWN,
    TAKING,
    argument_of,
    parameter_at,
)
from mlaprobe.evaluator.python.names.following import Following, Rule
from mlaprobe.evaluator.python.names.sorts import (
    CHANGE,
    ESCAPE,
    INSIDE,
    NOTHING,
    READ,
    Found,
    Sort,
    worst,
)


class FollowingCalls(Following):
    """Follows values into functions and methods."""

    def call_rules(self) -> dict[type[ast.AST], Rule]:
        """Those for calls and attributes."""
        return {
            ast.Attribute: self._attribute,
            ast.Call: self._call,
            ast.keyword: self._keyword,
        }

    @cached_property
    def acts(self) -> bool:
        """Whether an operator or a built-in function may run a method that changes its object."""
        return any(self.method_acts(n) for n in self.scopes.methods if n.startswith("__"))

    def method_acts(self, name: str) -> bool:
        """Whether a method may change its object, other than when that is made."""
        self.steps = 0
        return name not in _AT_BIRTH and self._method(name, 0)[0] > READ

    def _attribute(self, value: ast.AST, node: ast.AST, sort: Sort, depth: int) -> Found:
        """``value.name``."""
        assert isinstance(node, ast.Attribute)
        if not isinstance(node.ctx, ast.Load):
            return NOTHING if sort.fresh else (CHANGE, node)
        parent = self.scopes.parent(node)
        called = isinstance(parent, ast.Call) and parent.func is node
        if node.attr in self.scopes.methods:
            if not called and not self.scopes.is_property(node.attr):
                return ESCAPE, node
            found = self._method(node.attr, depth)
            return worst(found, (CHANGE, node)) if node.attr in MUTATING else found
        if isinstance(parent, ast.Call) and called:
            return self._python_method(node, parent, sort, depth)
        if node.attr.startswith("__") or node.attr in READERS or node.attr in MUTATING:
            return ESCAPE, node
        return NOTHING if sort.flat else self.use(node, sort.inside, depth)

    def _python_method(self, node: ast.Attribute, call: ast.Call, sort: Sort, depth: int) -> Found:
        """A call of a method of what Python has."""
        if node.attr not in MUTATING and node.attr not in READERS:
            return ESCAPE, node
        fresh = SHOWN.get(node.attr, 0)
        found = worst(self.looked(node, sort), self.out_of(call, sort, depth, fresh))
        if node.attr in ("keys", "values", "items"):
            found = worst(found, self.use(call, sort, depth))  # a view is the dict itself
        changed = node.attr in MUTATING and not sort.fresh
        return worst((CHANGE, node), found) if changed else found

    def _method(self, name: str, depth: int) -> Found:
        """What the methods of a name do to their object."""
        found = NOTHING
        for function in self.scopes.methods[name]:
            arguments = [*function.args.posonlyargs, *function.args.args]
            if arguments and not self.scopes.is_static(function):
                found = worst(found, self.variable(function, arguments[0].arg, INSIDE, depth))
        return found

    def _call(self, node: ast.AST, parent: ast.AST, sort: Sort, depth: int) -> Found:
        assert isinstance(parent, ast.Call)
        if node is parent.func:
            return self.called(node, parent, sort, depth)
        name = self._callee(parent)
        if name in LOOKING:
            return self.looked(node, sort)
        if name in SHOWING or name in APPLYING:
            chosen = self._chosen_by(parent, name, depth) if not sort.flat else NOTHING
            found = worst(self.looked(node, sort), chosen)
            return worst(found, self.out_of(parent, sort, depth, SHOWING.get(name, 1)))
        if name in ("getattr", "hasattr") and node is parent.args[0]:
            return self._by_name(node, parent, name, sort, depth)
        if name in ("setattr", "getattr", "hasattr", "delattr") and node is not parent.args[0]:
            last = name == "setattr" and node is parent.args[-1] and len(parent.args) == 3
            return (ESCAPE, node) if last else self.looked(node, sort)
        if name.partition(".")[0] in RETURNING:
            return self.looked(node, sort)
        if isinstance(parent.func, ast.Name):
            return self._given(node, parent, parent.func.id, sort, depth)
        if isinstance(parent.func, ast.Attribute):
            return self._to_method(node, parent, parent.func, sort, depth)
        return ESCAPE, node

    def _by_name(self, node: ast.AST, call: ast.Call, name: str, sort: Sort, depth: int) -> Found:
        """``getattr`` and ``hasattr``: an attribute by its text."""
        text = call.args[1] if len(call.args) > 1 else None
        wanted = text.value if isinstance(text, ast.Constant) else None
        known = isinstance(wanted, str) and not wanted.startswith("__")
        if not known or wanted in {*self.scopes.methods, *MUTATING, *READERS}:
            return ESCAPE, node
        found = self.looked(node, sort)
        return worst(found, self.out_of(call, sort, depth)) if name == "getattr" else found

    def _chosen_by(self, call: ast.Call, name: str, depth: int) -> Found:
        """What the function does that such a call gives the parts to."""
        keys = [k.value for k in call.keywords if k.arg == "key"]
        keys += call.args[:1] if name in APPLYING else []
        found = NOTHING
        for key in keys:
            if not isinstance(key, ast.Lambda):
                return ESCAPE, key
            for arg in (*key.args.posonlyargs, *key.args.args):
                found = worst(found, self.variable(key, arg.arg, INSIDE, depth))
        return found

    def _callee(self, call: ast.Call) -> str:
        """The dotted name of what is called, where it is nothing of the module's."""
        name = self.index.canonical(call.func)
        root = name.partition(".")[0]
        own = self.scopes.binds(root) and root not in self.index.aliases
        local = isinstance(call.func, ast.Name) and self.scopes.is_local(call.func)
        return "" if own or local else name

    def called(self, node: ast.AST, call: ast.Call, sort: Sort, depth: int) -> Found:
        """The value itself is called."""
        if sort.flat and not sort.acting and "__call__" not in self.scopes.methods:
            return NOTHING
        if "__call__" not in self.scopes.methods:
            return ESCAPE, node
        given = self.use(call, sort.inside, depth)
        return worst(worst(self._method("__call__", depth), self.looked(node, sort)), given)

    def _given(self, node: ast.AST, call: ast.Call, name: str, sort: Sort, depth: int) -> Found:
        """It is an argument of a function, or makes an object of a class, of the module."""
        if self.scopes.makes_fields(name):
            return self.use(call, sort.held, depth)
        function = self.scopes.function(name)
        assert isinstance(call.func, ast.Name)
        if function is None or self.scopes.is_local(call.func):
            return ESCAPE, node
        parameter = parameter_at(function, argument_of(call, node), 0)
        if parameter is None:
            return ESCAPE, node
        return self.variable(function, parameter, sort, depth)

    def _to_method(
        self, node: ast.AST, call: ast.Call, func: ast.Attribute, sort: Sort, depth: int
    ) -> Found:
        """It is an argument of a method."""
        if func.attr in self.scopes.methods:
            found = NOTHING
            for function in self.scopes.methods[func.attr]:
                by_hand = self.scopes.is_static(function) or self.scopes.is_class(func.value)
                bound = not by_hand or self.scopes.is_of_class(function)
                parameter = parameter_at(function, argument_of(call, node), int(bound))
                if parameter is None:
                    return ESCAPE, node
                found = worst(found, self.variable(function, parameter, sort, depth))
            return found
        if func.attr in TAKING and not self.scopes.is_class(func.value):
            return self.part(node, call, sort, depth) if sort.flat else (ESCAPE, node)
        return ESCAPE, node

    def _keyword(self, node: ast.AST, parent: ast.AST, sort: Sort, depth: int) -> Found:
        """A keyword argument: the call decides."""
        call = self.scopes.parent(parent)
        if not isinstance(call, ast.Call) or getattr(parent, "arg", None) is None:
            return NOTHING if sort.flat else (ESCAPE, node)
        return self._call(node, call, sort, depth)


_AT_BIRTH = {"__init__", "__post_init__", "__new__", "__init_subclass__", "__set_name__"}
_AT_BIRTH |= {"__class_getitem__"}
