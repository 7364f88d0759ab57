"""How objects of the C++ library's class templates are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mlaprobe.evaluator.cpp.types import SCALARS, parse_type, template_of, zero_of
from mlaprobe.evaluator.ir import CType, Span
from mlaprobe.evaluator.stl.containers import Container, copied, keep
from mlaprobe.evaluator.stl.optionals import engaged, held
from mlaprobe.evaluator.stl.owners import owner
from mlaprobe.evaluator.stl.places import Iterator, range_of
from mlaprobe.evaluator.stl.shapes import LONGEST, Shape, Sort, shape_of
from mlaprobe.evaluator.symbolic.symbols import Sym
from mlaprobe.evaluator.values import Args, Unknown, Value
from mlaprobe.evaluator.values.kinds import Braced, EnumType, Pointer, Record, StructType

if TYPE_CHECKING:
    from mlaprobe.evaluator.closures.compiler import Compiler
    from mlaprobe.evaluator.engine.modules import Module
    from mlaprobe.evaluator.engine.runs import Run

_FLAT = (*SCALARS, "string")
"""Kinds of types whose values are no lists."""


@dataclass(frozen=True, slots=True)
class Maker:
    """What makes the parts of an object: the run, and the module that defines their types."""

    compiler: Compiler
    run: Run
    module: Module | None
    span: Span

    def part(self, value: Value, kind: CType) -> Value:
        """A value as a place of a type receives it, a braced list among them."""
        made = self.compiler.typed(self.run, value, kind, self.module, self.span)
        return copied(made)

    def empty(self, kind: CType) -> Value:
        """What value-initialisation gives."""
        return zero_of(kind, self.span) if kind.kind in _FLAT else self.part(Braced(()), kind)

    def compares(self, kind: CType) -> bool:
        """Whether the source itself says how objects or enumerators of a type compare."""
        if kind.kind != "other" or kind.pointer or "<" in kind.name or self.module is None:
            return False
        found = self.module.lookup(self.run, kind.name, self.span)
        if isinstance(found, StructType):
            return True
        first = found.members[:1] if isinstance(found, EnumType) else ()
        return bool(first) and any(self.module.defines(op, first) for op in ("<", "=="))

    def constant(self, name: str) -> Value:
        """A constant of the module."""
        found = None if self.module is None else self.module.lookup(self.run, name, self.span)
        return found


def made(ctype: CType, items: Args, make: Maker, *, braced: bool = True) -> Value:
    """A new object of a class template of the library; ``NotImplemented`` for any other."""
    if not ctype.name.startswith("std::"):
        return NotImplemented
    shape = shape_of(ctype, make.constant)
    if shape is not None:
        return container(ctype, shape, items, make, braced=braced)
    found = owner(ctype, items, make.span)
    if found is not NotImplemented:
        return found
    head, types = template_of(ctype.name)
    if head == "std::optional" and len(items) < 2:
        kind = parse_type(types[0] if types else "auto")
        if not items or items[0] is None:
            return None
        return engaged(make.part(held(items[0]), kind))
    if head in ("std::pair", "std::tuple"):
        return _tuple(ctype, types, items, make)
    return NotImplemented


def _tuple(ctype: CType, types: tuple[str, ...], items: Args, make: Maker) -> Value:
    if len(items) == 1 and isinstance(items[0], tuple) and len(types) != 1:
        items = items[0]
    kinds = tuple(parse_type(t) for t in types) or tuple(CType("auto") for _ in items)
    if not items:
        return tuple(make.empty(kind) for kind in kinds)
    if len(items) != len(kinds):
        return Unknown(f"how a {ctype.name} is made is not followed", make.span)
    return tuple(map(make.part, items, kinds))


def container(
    ctype: CType, shape: Shape, items: Args, make: Maker, *, braced: bool = True
) -> Container:
    """A new container; one whose content is not known where how it is made is not followed."""
    elements: Args | None = None
    if len(items) == 1 and isinstance(items[0], Container) and items[0].shape.name == shape.name:
        return _copy(ctype, shape, items[0], make)
    if shape.sort is Sort.BITS:
        elements = _bits(shape, items)
    elif shape.sort is Sort.ARRAY:
        elements = _array(shape, items)
    elif shape.sort is not Sort.OTHER:
        elements = _listed(shape, items, make, braced=braced)
    if elements is not None and len(elements) > LONGEST:
        elements = None
    if elements is None:
        keep(ctype, items, make.span)
        why = next((i for i in items if isinstance(i, Unknown)), None)
        if why is None:
            why = Unknown(f"how a {ctype.name} is made is not followed", make.span)
        return Container(ctype, shape, None, make.module, why)
    target = Container(ctype, shape, (), make.module)
    target.sourced, target.run = make.compares(shape.element), make.run
    return filled(target, elements, make)


def _copy(ctype: CType, shape: Shape, other: Container, make: Maker) -> Container:
    if other.items is None or ctype.name == other.type.name or "<" not in ctype.name:
        return other.own()
    target = Container(ctype, shape, (), make.module)
    target.sourced, target.run = other.sourced, make.run
    return filled(target, other.items, make)


def filled(target: Container, elements: Args, make: Maker) -> Container:
    """A container with elements of its types, in this order."""
    if not target.shape.keyed:
        parts = tuple(make.part(e, target.shape.element) for e in elements)
        if target.shape.sort is Sort.ARRAY:
            missing = (target.shape.length or len(parts)) - len(parts)
            parts += tuple(make.empty(target.shape.element) for _ in range(missing))
        return target.with_items(parts, make.span)
    for element in elements:
        target, _, _ = inserted(target, element, make)
        if target.items is None:
            break
    return target


def entry(target: Container, element: Value, make: Maker) -> Value:
    """An element as a set or map holds it; of a map, a pair. ``None`` where it is no pair."""
    shape = target.shape
    if shape.sort is not Sort.MAP:
        return make.part(element, shape.element)
    parts = element.items if isinstance(element, Braced) else element
    if not isinstance(parts, tuple) or len(parts) != 2:
        return None
    return make.part(parts[0], shape.element), make.part(parts[1], shape.value)


def inserted(
    target: Container, element: Value, make: Maker, *, replace: bool = False
) -> tuple[Container, int | Unknown, Value]:
    """A set or map with an element, if its key is not there; where its key is then, and whether it
    is new. ``replace``: a value that is there is replaced."""
    span = make.span
    made = entry(target, element, make)
    unsure = Unknown("an element of a container", span)
    if target.items is None or made is None or isinstance(made, Unknown):
        if made is None or target.items is not None:
            unsure = made if isinstance(made, Unknown) else target.unknown("an element", span)
            return target.lost(unsure), unsure, unsure.another()
        return target, unsure, target.unknown("whether an element is new", span)
    key = made[0] if target.shape.sort is Sort.MAP else made
    at = target.position(key, span)
    if type(at) is int:
        if replace:
            items = target.items
            target = target.with_items(
                (*items[:at], (items[at][0], made[1]), *items[at + 1 :]), span, same_layout=True
            )
        return target, at, False
    if at is None:
        grown = target.with_key(made, span)
        found = grown.position(key, span)
        return grown, found if isinstance(found, (int, Unknown)) else unsure, True
    return _with_unsure(target, made, at, make, replace=replace)


def _with_unsure(
    target: Container, made: Value, why: Value, make: Maker, *, replace: bool
) -> tuple[Container, int | Unknown, Value]:
    """A set or map with an element of which it is not known whether its key was there."""
    assert isinstance(why, Unknown)
    if target.many():
        return target.lost(why), why, why.another()
    items, lost = target.items or (), Unknown(why.reason, why.span, free=why.free)
    if target.shape.sort is Sort.MAP:
        if replace:
            items = tuple((k, lost.another()) for k, _ in items)
        else:
            made = (made[0], lost.another())
    grown = target.with_items((*items, made), make.span)
    grown.loose, grown.plain = True, None
    return grown, why, lost.another()


def _bits(shape: Shape, items: Args) -> Args | None:
    number = items[0] if items else 0
    if shape.length is None or len(items) > 1 or type(number) is not int or number < 0:
        return None
    return tuple(bool(number >> at & 1) for at in range(shape.length))


def _array(shape: Shape, items: Args) -> Args | None:
    """The elements that an array's initialiser gives: one or two pairs of braces around them."""
    if len(items) == 1 and isinstance(items[0], Braced):
        items = items[0].items
    count = shape.length if shape.element.kind != "auto" else len(items)
    if count is None or len(items) > count:
        return None
    flat = shape.element.kind in _FLAT
    for item in items:
        if flat and isinstance(item, Braced) and len(item.items) > 1:
            return None
        if not flat and shape.element.kind == "other" and not _is_object(item):
            return None  # a list without the braces of its elements
    return items


def _is_object(value: Value) -> bool:
    return not isinstance(value, (int, float, str, Sym, Unknown))


def _listed(shape: Shape, items: Args, make: Maker, *, braced: bool) -> Args | None:
    """The elements that the arguments of a constructor give."""
    if (
        len(items) == 2
        and all(isinstance(i, (Iterator, list, tuple)) for i in items[:1])
        and isinstance(items[1], Iterator)
    ):
        found = range_of(*items)
        if found is None or not (found[0].ordered or shape.keyed):
            return None
        return _between(*found)
    if not items:
        return ()
    if not braced:
        if len(items) == 1 and isinstance(items[0], Braced):
            return _listed(shape, items[0].items, make, braced=True)
        if len(items) == 1 and isinstance(items[0], Container) and items[0].known:
            return items[0].items if items[0].shape.name == "std::initializer_list" else None
        return _counted(shape, items, make)
    if len(items) == 1 and isinstance(items[0], Container):
        inner = items[0].shape.name == "std::initializer_list" and items[0].known
        if inner and shape.element.kind != "other":
            return items[0].items
    if len(items) == 1 and isinstance(items[0], Braced) and shape.element.kind in _FLAT:
        if shape.sort is Sort.MAP:
            return items
        inner_items = items[0].items
        texts = shape.element.kind == "string" and len(inner_items) == 2
        return None if texts else inner_items
    return items if all(_fits(shape, item) for item in items) else None


def _fits(shape: Shape, item: Value) -> bool:
    """Whether a list's item is an element, and not one of a constructor's arguments."""
    if shape.sort is Sort.MAP:
        return isinstance(item, (Braced, tuple))
    if shape.element.kind in _FLAT and not shape.element.pointer:
        return not isinstance(item, (Container, Record, Pointer, list))
    return not isinstance(item, Iterator)


def _between(frame: Value, first: int, last: int) -> Args:
    return tuple(copied(item) for item in frame.items()[first:last])


def _counted(shape: Shape, items: Args, make: Maker) -> Args | None:
    """``std::vector<int> v(count, value)``."""
    if shape.sort is not Sort.SEQUENCE or len(items) > 2 or shape.name == "std::initializer_list":
        return None
    count = items[0].concretize() if type(items[0]) is Sym else items[0]
    if type(count) is not int or not 0 <= count <= LONGEST:
        return None
    value = items[1] if len(items) == 2 else make.empty(shape.element)
    return (value,) * count
