"""What objects of a class do on their own: when they go, are copied, assigned or converted.

Nothing of it is run. So an object is followed only where such code does no more than give back what
is the system's, and change the object itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.cpp.forms.methods import declared
from mlaprobe.evaluator.ir import Function, Node
from mlaprobe.evaluator.values.kinds import StructType
from mlaprobe.evaluator.walk import is_name, walk

if TYPE_CHECKING:
    from mlaprobe.evaluator.cpp.definitions import Definition
    from mlaprobe.evaluator.cpp.unit import CppModule

_MOST = 64
"""Functions that are looked through for one class."""


def acts(module: CppModule, classes: tuple[StructType, ...]) -> Node | None:
    """Where what objects of some class (itself first, then its bases) do on their own may write
    anything but their members, or hand on what others see as well; ``None`` where it does not."""
    for each in classes:
        for function in each.body.implicit:
            found = _Reach(module, classes).place(function)
            if found is not None:
                return found
    return None


class _Reach:
    """What a function may do, and all that it calls."""

    def __init__(self, module: CppModule, classes: tuple[StructType, ...]) -> None:
        self._module = module
        self._classes = classes
        members = [member for each in classes for member in each.members]
        self._members = {name for name, ctype, _ in members if not ctype.ref}
        self._shared = {n for n, t, _ in members if t.pointer or t.ref or t.kind == "other"}
        self._seen: set[int] = set()
        self._bound: set[str] = set()
        """Parameters that are no objects of the source, or of any type."""

    def place(self, function: Function, *, inside: bool = True) -> Node | None:
        """Where a function may do more; ``inside``: it is one of the class's own."""
        if id(function) in self._seen:
            return None
        self._seen.add(id(function))
        if len(self._seen) > _MOST:
            return function
        nodes = tuple(walk(function.body))
        own = {n.name for n in nodes if isinstance(n, ir.Decl) and not (n.static or n.type.ref)}
        self._bound |= {p.name for p in function.params if self._harmless(p)}
        own |= {p.name for p in function.params if p.type is not None and not p.type.ref}
        scope = own | (self._members if inside else set())
        return next((n for n in nodes if self._beyond(n, scope, inside=inside)), None)

    def _beyond(self, node: Node, own: set[str], *, inside: bool) -> bool:
        if isinstance(node, (ir.OpaqueStmt, ir.Opaque, ir.Launch)):
            return True
        if isinstance(node, ir.AssignExpr):
            return not _stays(node.target, own, inside=inside)
        if isinstance(node, ir.Call):
            return self._call(node, own, inside=inside)
        if isinstance(node, (ir.Decl, ir.Construct)):
            return self._object(node.type)
        if isinstance(node, (ir.Binary, ir.Unary, ir.Index)):
            bound = own | self._bound
            return any(self._has_operators(name, bound) for name in _names((node,)))
        return False

    def _harmless(self, param: ir.Param) -> bool:
        """Whether operators of a parameter are the language's, or the library's."""
        ctype = param.type
        return ctype is None or ctype.kind != "other" or ctype.pointer or param.kind == "*"

    def _call(self, node: ir.Call, own: set[str], *, inside: bool) -> bool:
        if not isinstance(node.func, ir.Name) or node.func.id in own:
            return True
        label = node.func.id.rpartition("::")[2]
        given = set(_names(node.args))
        methods = [c for c in self._classes if inside and c.body.declares(label)]
        if methods:
            method = declared(self._module, methods[0], label)
            return method is None or self.place(method.function) is not None
        head = node.func.id.rpartition("::")[0]
        found = [] if head == "std" else self._module.named(node.func.id)
        if found:
            return self._named(found, given, inside=inside)
        owner = self._module.struct(head) if head not in ("", "std") else None
        if owner is not None and owner.body.declares(label):
            method = declared(self._module, owner, label)
            return method is None or self.place(method.function, inside=False) is not None
        return any(self._is_of_the_source(name) for name in given - own)

    def _named(self, found: list[Definition], given: set[str], *, inside: bool) -> bool:
        """Whether what a name stands for may do more than is followed when it is called."""
        called = [d.value for d in found if d.kind == "function"]
        if len(called) != len(found) or (inside and given & (self._shared | {"this"})):
            return True
        return any(self.place(f, inside=False) is not None for f in called)

    def _is_of_the_source(self, name: str) -> bool:
        """Whether a name is a variable or a function of the source, which a call may use."""
        found = self._module.definitions(name.rpartition("::")[2])
        kinds = (d.kind for d in found if d.kind != "variable" or not d.value[0].const)
        return any(kind in ("variable", "function", "template") for kind in kinds)

    def _object(self, ctype: ir.CType) -> bool:
        """Whether making an object, and its end, may do more."""
        if ctype.kind != "other" or ctype.pointer or ctype.ref:
            return False
        struct = self._module.struct(ctype.name)
        if struct is None:
            return not ctype.name.startswith("std::") and self._is_class(ctype.name)
        if struct.bases or struct.template:
            return True
        inner = _Reach(self._module, (struct,))
        inner._seen = self._seen
        made = [c.function for c in struct.body.constructors]
        functions = [*struct.body.implicit, *(f for f in made if f is not None)]
        if len(functions) < len(struct.body.implicit) + len(made):
            return True
        return any(inner.place(f) is not None for f in functions)

    def _is_class(self, name: str) -> bool:
        head = name.split("<", 1)[0].rpartition("::")[2]
        return any(d.kind in ("struct", "alias") for d in self._module.definitions(head))

    def _has_operators(self, name: str, own: set[str]) -> bool:
        """Whether a variable is an object of the source, whose operators may do anything."""
        if name in own or name.startswith("std::"):
            return False
        for found in self._module.definitions(name.rpartition("::")[2]):
            if found.kind == "variable" and found.value[0].kind == "other":
                return not found.value[0].pointer
        return False


def _names(nodes: tuple[Node, ...]) -> Iterator[str]:
    return (n.id for n in walk(nodes) if isinstance(n, ir.Name))


def _stays(target: Node, own: set[str], *, inside: bool) -> bool:
    """Whether an assignment changes a variable of the function's own, or a member."""
    if isinstance(target, ir.Attr) and inside and is_name(target.obj, "this"):
        return target.name in own
    return isinstance(target, ir.Name) and target.id in own
