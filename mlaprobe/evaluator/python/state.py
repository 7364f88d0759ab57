"""Whether the value that a module's statements give a name is the one that it keeps."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mlaprobe.evaluator.objects.classes import PyClass
from mlaprobe.evaluator.objects.iterables import Cursor, DefaultDict, View
from mlaprobe.evaluator.objects.members import Property
from mlaprobe.evaluator.objects.objects import Instance
from mlaprobe.evaluator.python.names.sorts import Sort
from mlaprobe.evaluator.values import Unknown, Value
from mlaprobe.evaluator.values.kinds import Builtin, Closure, EnumType, Model
from mlaprobe.evaluator.values.unordered import LooseSet

if TYPE_CHECKING:
    from mlaprobe.evaluator.python.index import Index
    from mlaprobe.evaluator.python.names.slices import LaterUses
    from mlaprobe.evaluator.python.names.uses import Uses

_DEPTH = 6
CHANGING = (list, dict, set, Instance, LooseSet)
"""Values that are changed in place."""
_CONTAINERS = (list, dict, set, LooseSet, View)
_HOLDING = (list, dict, set, tuple, frozenset, Instance)


def unsteady(index: Index, name: str, value: Value) -> ast.AST | None:
    """A place of a module's code where what a name stands for may be changed, unseen by the
    statements that are run for it."""
    if not changes(value, index):
        return None
    return index.uses.of_name(name, sort_of(value, index))


def unsteady_attribute(index: Index, name: str, value: Value) -> ast.AST | None:
    """The same for an attribute of a class."""
    if not changes(value, index):
        return None
    return index.uses.of_attribute(name, sort_of(value, index))


def changed_later(index: Index, uses: LaterUses, name: str, value: Value) -> ast.AST | None:
    """A place where what a name stands for is changed when the module has been imported."""
    if keeps_a_place(value) or has_unsteady_members(value, index):
        return index.body[index.positions(name)[-1]]
    for node in index.scopes.globals_named(name):
        if not uses.code.covers(node):
            return node
    uses.hold_functions(_only_functions(value, 0))
    return uses.of_name(name, sort_of(value, index, uses)) if changes(value, index) else None


def _only_functions(value: Value, depth: int) -> bool:
    """Whether everything in a value that can be called is a function or a class of the source."""
    if isinstance(value, (Unknown, Builtin)) or depth > _DEPTH:
        return False
    if isinstance(value, Model) and not isinstance(value, (PyClass, View, LooseSet)):
        return False
    inside = _inside(value) if isinstance(value, (*_HOLDING, View)) else ()
    return all(_only_functions(part, depth + 1) for part in inside)


def unsettle(index: Index, made: PyClass) -> None:
    """What functions make of attributes of classes is not known: which of them have run."""
    written, changed = index.attributes_of_classes
    for name, value in made.attributes.items():
        if isinstance(value, Property):
            continue  # what is assigned to it of an object goes through it
        if name in written or (name in changed and isinstance(value, CHANGING)):
            reason = f"{name} of class {made.name} is changed by a function"
            made.attributes[name] = Unknown(reason, index.changing_attribute(name))
            continue
        where = index.uses.assigned(name) or unsteady_attribute(index, name, value)
        if where is not None:
            reason = f"{name} of class {made.name} may be changed here"
            made.attributes[name] = Unknown(reason, index.place.span(where))


def unsettle_later(index: Index, uses: LaterUses, made: PyClass) -> None:
    """The same for functions that run when the module has been imported."""
    for name, value in made.attributes.items():
        where = uses.writing(name) if not isinstance(value, Property) else None
        if where is None and isinstance(value, CHANGING):
            where = uses.changing(name)
        if where is None and changes(value, index):
            uses.hold_functions(_only_functions(value, 0))
            where = uses.of_attribute(name, sort_of(value, index, uses))
        if where is not None:
            reason = f"{name} of class {made.name} may be changed here"
            made.attributes[name] = Unknown(reason, index.place.span(where))


def has_unsteady_members(value: Value, index: Index) -> bool:
    """Whether the values of an enum's members can be changed."""
    return isinstance(value, EnumType) and any(changes(m.value, index) for m in value.members)


def changes(value: Value, index: Index, depth: int = 0) -> bool:
    """Whether a value, or something that it holds, can be changed in place."""
    if isinstance(value, (int, float, str, type(None), Unknown)):
        return False
    if isinstance(value, _CONTAINERS) or depth > _DEPTH:
        return True
    if isinstance(value, (tuple, frozenset)):
        return any(changes(part, index, depth + 1) for part in value)
    if isinstance(value, Instance):
        frozen = isinstance(value.cls, PyClass) and value.cls.frozen
        frozen = frozen and not any(i.unfreezes for i in (index, *_elsewhere(value, index)))
        parts = value.fields.values()
        return not frozen or any(changes(part, index, depth + 1) for part in parts)
    return isinstance(value, Model) and any(
        changes(part, index, depth + 1) for part in value.held()
    )


def sort_of(value: Value, index: Index, uses: Uses | None = None) -> Sort:
    """What matters of a value to what may change it."""
    objects = _has_objects(value, 0)
    uses = uses or index.uses
    return Sort(
        levels=_levels(value, index, 0),
        acting=objects and (uses.acts or _acts_elsewhere(value, index, 0)),
        grows=isinstance(value, DefaultDict) and value.factory is not None,
        plain=not objects,
        keys=frozenset(k for k in value if isinstance(k, (int, str)))
        if isinstance(value, dict)
        else frozenset(),
    )


def _levels(value: Value, index: Index, depth: int) -> int:
    """How many values that can be changed are inside one another."""
    if not changes(value, index):
        return 0
    if depth > _DEPTH or (isinstance(value, Model) and not isinstance(value, (View, LooseSet))):
        return _DEPTH + 3
    return 1 + max((_levels(p, index, depth + 1) for p in _inside(value)), default=0)


def _inside(value: Value) -> tuple[Value, ...]:
    """What a value holds."""
    if isinstance(value, dict):
        return (*value, *value.values())
    if isinstance(value, (list, tuple, set, frozenset)):
        return tuple(value)
    if isinstance(value, Instance):
        return tuple(value.fields.values())
    if isinstance(value, LooseSet):
        return ()
    return (value.mapping,) if isinstance(value, View) else (value,)


def _has_objects(value: Value, depth: int) -> bool:
    if isinstance(value, Instance) or depth > _DEPTH:
        return True
    if isinstance(value, (int, float, str, type(None), Unknown)):
        return False
    if isinstance(value, Model) and not isinstance(value, (View, LooseSet)):
        return any(_has_objects(part, depth + 1) for part in value.held())
    return any(_has_objects(part, depth + 1) for part in _inside(value) if part is not value)


def _elsewhere(value: Instance, index: Index) -> tuple[Index, ...]:
    """The modules besides this one that methods of an object stand in."""
    classes = value.cls.order if isinstance(value.cls, PyClass) else ()
    methods = (v for cls in classes for v in cls.attributes.values() if isinstance(v, Closure))
    found = {id(m.module): getattr(m.module, "index", None) for m in methods}
    return tuple(i for i in found.values() if i is not None and i is not index)


def _acts_elsewhere(value: Value, index: Index, depth: int) -> bool:
    """Whether methods of other modules may change an object that a value holds."""
    if isinstance(value, Instance):
        others = _elsewhere(value, index)
        return any(i.uses.method_acts(name) for i in others for name in i.uses.scopes.methods)
    if depth > _DEPTH or isinstance(value, (int, float, str, type(None), Unknown)):
        return False
    inside = value.held() if isinstance(value, Model) else _inside(value)
    return any(_acts_elsewhere(p, index, depth + 1) for p in inside if p is not value)


def keeps_a_place(value: Value) -> bool:
    """Whether a value is an iterator: what is left of it depends on who took from it."""
    return isinstance(value, Cursor)
