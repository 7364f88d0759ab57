"""The methods of containers, by what a container is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlaprobe.evaluator.engine.signals import Unsupported
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.stl import asking, changing
from mlaprobe.evaluator.stl.asking import Method, On, not_followed
from mlaprobe.evaluator.stl.containers import Container
from mlaprobe.evaluator.stl.shapes import Sort
from mlaprobe.evaluator.values import Args, Value
from mlaprobe.evaluator.values.kinds import Builtin, Pointer

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.runs import Run


def bound(run: Run, box: Container, place: Pointer | None, name: str) -> Builtin:
    """A method of a container, as something that can be called."""

    by_place = name == "swap" or name not in _METHODS[box.shape.sort]

    def call(run: Run, args: Args, kwargs: Value, span: Span) -> Value:
        now = box if place is None else place.load()  # its arguments may have changed it
        if not isinstance(now, Container) or now.shape.name != box.shape.name:
            raise Unsupported("a container is replaced while it is called", span)
        on = On(run, now, place, span)
        method = _METHODS[now.shape.sort].get(name)
        loose = now.items is not None and name in _LOOSE
        if method is not None and (now.known or loose or name in _ANYWAY):
            return method(on, args)
        return not_followed(on, name, args)

    return Builtin(name, call, symbolic=True, by_place=by_place)


_COMMON: dict[str, Method] = {
    "size": asking.size,
    "empty": asking.empty,
    "begin": asking.begin,
    "cbegin": asking.begin,
    "end": asking.end,
    "cend": asking.end,
    "at": asking.at,
    "swap": changing.swap_with,
}
_IN_LINE: dict[str, Method] = {
    **_COMMON,
    "front": asking.front,
    "back": asking.back,
    "data": asking.begin,
    "fill": changing.fill,
    "rbegin": asking.rbegin,
    "rend": asking.rend,
    "crbegin": asking.rbegin,
    "crend": asking.rend,
}
_KEYED: dict[str, Method] = {
    **_COMMON,
    "find": asking.find,
    "count": asking.count,
    "contains": asking.contains,
    "lower_bound": asking.bound(False),
    "upper_bound": asking.bound(True),
    "insert": changing.insert,
    "emplace": changing.emplace,
    "erase": changing.erase,
    "clear": changing.clear,
    "rbegin": asking.rbegin,
    "rend": asking.rend,
}
_METHODS: dict[Sort, dict[str, Method]] = {
    Sort.OTHER: {},
    Sort.ARRAY: _IN_LINE,
    Sort.SEQUENCE: {
        **_IN_LINE,
        "push_back": changing.push,
        "emplace_back": changing.push,
        "push_front": changing.push_front,
        "emplace_front": changing.push_front,
        "pop_back": changing.pop,
        "pop_front": changing.pop_front,
        "resize": changing.resize,
        "assign": changing.assign,
        "insert": changing.insert_at,
        "erase": changing.erase_at,
        "clear": changing.clear,
        "reserve": lambda on, args: None,
        "shrink_to_fit": lambda on, args: None,
    },
    Sort.SET: _KEYED,
    Sort.MAP: {
        **_KEYED,
        "try_emplace": changing.emplace,
        "insert_or_assign": changing.insert_or_assign,
    },
    Sort.BITS: {
        "size": asking.size,
        "test": asking.at,
        "set": changing.setting(True),
        "reset": changing.setting(False),
        "flip": changing.setting(None),
        "any": changing.of_bits(any),
        "all": changing.of_bits(all),
        "none": changing.of_bits(lambda bits: not any(bits)),
        "count": changing.of_bits(sum),
        "to_ulong": changing.of_bits(lambda bits: sum(b << at for at, b in enumerate(bits))),
    },
}
_LOOSE = frozenset(("find", "count", "contains", "insert", "emplace", "insert_or_assign"))
"""Methods that are followed where some keys may be one and the same."""
_ANYWAY = frozenset(("clear", "assign", "swap"))
"""Methods that are followed whatever the content is."""
