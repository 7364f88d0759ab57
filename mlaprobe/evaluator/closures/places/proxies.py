"""Variables declared ``auto`` that hold references: a bit of a ``std::bitset``, an element of a
``std::vector<bool>``, what ``std::tie`` gives."""

from __future__ import annotations

from collections.abc import Callable

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.closures.unit import Scope, Unit
from mlaprobe.evaluator.engine.frames import Frame
from mlaprobe.evaluator.engine.signals import Unsupported
from mlaprobe.evaluator.ir import Node
from mlaprobe.evaluator.stl.containers import Container
from mlaprobe.evaluator.stl.shapes import Sort
from mlaprobe.evaluator.values import Unknown
from mlaprobe.evaluator.walk import targets

_TYING = ("std::tie", "std::forward_as_tuple", "std::minmax", "std::ref", "std::cref")
_ELEMENTS = ("at", "front", "back")
Proxy = Callable[[Frame], "Unknown | None"]
"""Why it is not known what a variable holds that refers to something."""


def proxied(unit: Unit, node: ir.Decl, scope: Scope) -> Proxy | None:
    """Whether a variable may refer to something although it is not declared a reference, where
    that or what it refers to is written; ``None`` where it certainly does not."""
    if node.type.kind != "auto" or node.init is None:
        return None
    why = Unknown(f"what {node.name} refers to is not followed", node.span)
    owner = _owner(node.init)
    parts = (owner,) if owner is not None else _tied(node.init)
    names = {name for part in parts for name in targets(part)}
    if not ({node.name} | names) & scope.function.written or not names:
        return None
    through = node.name in scope.function.written
    if owner is None:
        return lambda e: _refused(why, through=through)
    holder = unit.compile(owner, scope)

    def proxy(e: Frame) -> Unknown | None:
        box = holder(e)
        if type(box) is not Container:
            return None
        bits = box.shape.sort is Sort.BITS or "vector<bool" in box.type.name.replace(" ", "")
        return _refused(why, through=through) if bits else None

    return proxy


def _refused(why: Unknown, *, through: bool) -> Unknown:
    """What such a variable holds.

    Raises:
        Unsupported: it may be written ``through``.
    """
    if through:
        raise Unsupported(why.reason, why.span)
    return why


def _owner(init: Node) -> Node | None:
    """The container of which an element is taken."""
    if isinstance(init, ir.Index):
        return init.obj
    if isinstance(init, ir.Call) and isinstance(init.func, ir.Attr):
        return init.func.obj if init.func.name in _ELEMENTS else None
    return None


def _tied(init: Node) -> tuple[Node, ...]:
    """The variables to which a call gives references in a value."""
    if not isinstance(init, ir.Call) or not isinstance(init.func, ir.Name):
        return ()
    return init.args if init.func.id in _TYING else ()
