"""What methods of containers do that store another container."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mlaprobe.evaluator.engine.signals import Failed, Unsupported
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.stl.asking import Method, On, not_followed, whole
from mlaprobe.evaluator.stl.containers import Container
from mlaprobe.evaluator.stl.making import container, inserted
from mlaprobe.evaluator.stl.places import Iterator, range_of
from mlaprobe.evaluator.stl.shapes import LONGEST, Sort
from mlaprobe.evaluator.values import Args, Unknown, Value
from mlaprobe.evaluator.values.kinds import Braced, Pointer, Record, Ref

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.runs import Run


def insert(on: On, args: Args) -> Value:
    """``insert`` of a set or a map: an element, a list, or a range."""
    if len(args) == 2 and all(isinstance(a, (Iterator, list)) for a in args):
        found = range_of(*args)
        if found is None:
            return not_followed(on, "insert", args)
        frame, first, last = found
        return _insert_all(on, (frame.items() or ())[first:last])
    if len(args) == 2 and isinstance(args[0], Iterator):
        args = args[1:]
    if len(args) != 1:
        return not_followed(on, "insert", args)
    item = args[0]
    if isinstance(item, Braced):
        inner = item.items
        pairs = on.box.shape.sort is Sort.MAP
        if pairs and all(isinstance(i, (Braced, tuple)) for i in inner):
            flat = on.box.shape.element.kind not in ("other", "auto")
            return _insert_all(on, inner) if flat else not_followed(on, "insert", args)
        if not pairs and on.box.shape.element.kind not in ("other", "auto"):
            return _insert_all(on, inner)
    return _inserted(on, item)


def _insert_all(on: On, items: Args) -> None:
    after = on.box
    for item in items:
        after, _, _ = inserted(after, item, on.make)
    on.store(after)


def _inserted(on: On, item: Value, *, replace: bool = False) -> Value:
    after, at, fresh = inserted(on.box, item, on.make, replace=replace)
    on.store(after)
    return on.now(after, at), fresh


def emplace(on: On, args: Args) -> Value:
    if on.box.shape.sort is Sort.MAP and len(args) == 2:
        return _inserted(on, (args[0], args[1]))
    return _inserted(on, args[0]) if len(args) == 1 else not_followed(on, "emplace", args)


def insert_or_assign(on: On, args: Args) -> Value:
    if len(args) != 2:
        return not_followed(on, "insert_or_assign", args)
    return _inserted(on, (args[0], args[1]), replace=True)


def erase(on: On, args: Args) -> Value:
    """``erase`` of a set or a map: by key, or at an iterator."""
    items = on.box.items or ()
    if len(args) != 1:
        return not_followed(on, "erase", args)
    by_place = isinstance(args[0], Iterator)
    if by_place:
        at = args[0].slot if args[0].frame.now() is not None and not args[0].backwards else None
    else:
        at = on.box.position(on.make.part(args[0], on.box.shape.element), on.span)
        if at is None:
            return 0
    if type(at) is not int or not 0 <= at < len(items):
        return not_followed(on, "erase", ())
    after = on.box.with_items((*items[:at], *items[at + 1 :]), on.span)
    on.store(after)
    return on.now(after, at) if by_place else 1


def clear(on: On, args: Args) -> Value:
    on.store(on.box.emptied())
    return None


def push(on: On, args: Args) -> Value:
    items = on.box.items or ()
    on.store(on.box.with_items((*items, _new(on, args)), on.span))
    return None


def push_front(on: On, args: Args) -> Value:
    on.store(on.box.with_items((_new(on, args), *(on.box.items or ())), on.span))
    return None


def _new(on: On, args: Args) -> Value:
    """An element from the arguments of its constructor."""
    kind = on.box.shape.element
    if len(args) == 1:
        return on.make.part(args[0], kind)
    return on.make.empty(kind) if not args else on.make.part(Braced(args), kind)


def pop(on: On, args: Args) -> Value:
    items = on.box.items or ()
    if not items:
        return not_followed(on, "pop_back", ())
    on.store(on.box.with_items(items[:-1], on.span))
    return None


def pop_front(on: On, args: Args) -> Value:
    items = on.box.items or ()
    if not items:
        return not_followed(on, "pop_front", ())
    on.store(on.box.with_items(items[1:], on.span))
    return None


def resize(on: On, args: Args) -> Value:
    count, items = whole(args[0]) if args else None, on.box.items or ()
    if type(count) is not int or not 0 <= count <= LONGEST or len(args) > 2:
        return not_followed(on, "resize", args)
    if count > len(items):
        fresh = on.make.part(args[1], on.box.shape.element) if len(args) == 2 else None
        empty = on.make.empty(on.box.shape.element) if fresh is None else fresh
        items = (*items, *(empty for _ in range(count - len(items))))
    on.store(on.box.with_items(items[:count], on.span))
    return None


def fill(on: On, args: Args) -> Value:
    if len(args) != 1:
        return not_followed(on, "fill", args)
    value = on.make.part(args[0], on.box.shape.element)
    items = tuple(value for _ in on.box.items or ())
    on.store(on.box.with_items(items, on.span, same_layout=True))
    return None


def assign(on: On, args: Args) -> Value:
    items = args[0].items if len(args) == 1 and isinstance(args[0], Braced) else args
    braced = items is not args
    on.store(container(on.box.type, on.box.shape, items, on.make, braced=braced))
    return None


def erase_at(on: On, args: Args) -> Value:
    """``erase`` of a sequence: an element, or a range."""
    items = on.box.items or ()
    last = args[1] if len(args) == 2 else None
    if not args or not isinstance(args[0], Iterator) or args[0].backwards:
        return not_followed(on, "erase", ())
    if last is None:
        last = args[0].moved(1)
    found = None if last is None else range_of(args[0], last)
    if found is None or found[0].now() is not on.box:
        return not_followed(on, "erase", ())
    after = on.box.with_items((*items[: found[1]], *items[found[2] :]), on.span)
    on.store(after)
    return on.now(after, found[1])


def insert_at(on: On, args: Args) -> Value:
    """``insert`` into a sequence: an element, a list, or a range."""
    items = on.box.items or ()
    at = args[0] if args else None
    if not isinstance(at, Iterator) or at.frame.now() is not on.box or type(at.slot) is not int:
        return not_followed(on, "insert", args[1:])
    if len(args) == 2 and isinstance(args[1], Braced) and on.box.shape.element.kind != "other":
        new = tuple(on.make.part(i, on.box.shape.element) for i in args[1].items)
    elif len(args) == 2 and not isinstance(args[1], Braced):
        new = (on.make.part(args[1], on.box.shape.element),)
    elif len(args) == 3 and (found := range_of(args[1], args[2])) is not None:
        new = (found[0].items() or ())[found[1] : found[2]]
    else:
        return not_followed(on, "insert", args[1:])
    after = on.box.with_items((*items[: at.slot], *new, *items[at.slot :]), on.span)
    on.store(after)
    return on.now(after, at.slot)


def swap_with(on: On, args: Args) -> Value:
    other = args[0] if len(args) == 1 else None
    if not isinstance(other, Ref):
        return not_followed(on, "swap", args)
    return swap(on.run, on.place, other, on.span)


def swap(run: Run, one: Pointer | None, other: Pointer | None, span: Span) -> None:
    """Exchanges what two variables hold. What was bound to their elements is not followed."""
    if one is None or other is None:
        raise Unsupported("what is swapped is not known", span)
    mine, theirs = one.load(), other.load()
    for value in (mine, theirs):
        if isinstance(value, Container) and value.kept:
            raise Unsupported("something is changed that keeps its value between calls", span)
    run.effects += 1
    if any(isinstance(v, Record) and v.pointed for v in (mine, theirs)):
        raise Unsupported("whether objects or pointers are swapped is not followed", span)
    one.store(_moved(theirs, span))
    other.store(_moved(mine, span))


def _moved(value: Value, span: Span) -> Value:
    whole = isinstance(value, Container) and value.items is not None
    return value.with_items(value.items, span) if whole else value


# --- bits ----------------------------------------------------------------------------------------


def setting(value: bool | None) -> Method:
    def change(on: On, args: Args) -> Value:
        items = on.box.items or ()
        at = whole(args[0]) if args else None
        to = args[1] if len(args) == 2 else value
        if not args:
            items = tuple((not b) if value is None else value for b in items)
        elif type(at) is int and 0 <= at < len(items) and (to is None or type(to) is bool):
            new = (not items[at]) if to is None else to
            items = (*items[:at], new, *items[at + 1 :])
        elif type(at) is int and not 0 <= at < len(items):
            raise Failed("exception", "std::out_of_range", "a bit", on.span)
        else:
            return not_followed(on, "set", args)
        on.store(on.box.with_items(items, on.span, same_layout=True))
        return None

    return change


def of_bits(compute: Callable[[list[bool]], Value]) -> Method:
    def ask(on: On, args: Args) -> Value:
        items = on.box.items or ()
        if any(isinstance(b, Unknown) for b in items):
            return on.box.unknown("bits", on.span)
        return compute([bool(whole(b)) for b in items])

    return ask
