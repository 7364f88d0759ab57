"""Views of texts: what sees a text that is written later."""

from __future__ import annotations

from collections.abc import Iterator

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.closures.places.lvalues import holds_text
from mlaprobe.evaluator.closures.unit import Scope
from mlaprobe.evaluator.ir import CType, Node
from mlaprobe.evaluator.values import Unknown
from mlaprobe.evaluator.walk import targets, walk

_GIVING = ("c_str", "data", "begin", "cbegin")


def view_of_written(node: ir.Decl, scope: Scope) -> Unknown | None:
    """Why it is not known what a view of a text shows: the text may be written, which copies do not
    see. ``None`` for any other variable."""
    if node.init is None:
        return None
    seen = {name for part in _viewed(node.type, node.init) for name in targets(part)}
    texts = {name for name in seen if holds_text(ir.Name(node.span, name), scope)}
    if not texts or not texts & scope.function.texts_written:
        return None
    name = sorted(texts & scope.function.texts_written)[0]
    return Unknown(f"{node.name} is a view of {name}, which may be written", node.span)


def _viewed(ctype: CType, init: Node) -> Iterator[Node]:
    """The texts of which a variable may be a view."""
    if ctype.kind not in ("string", "auto") or (
        ctype.kind == "string" and ctype.name.endswith("string")
    ):
        return
    if ctype.kind == "string":
        yield from _views_in(init)
        yield init
    else:
        yield from _views_in(init, made=False)


def _views_in(init: Node, *, made: bool = True) -> Iterator[Node]:
    """What is asked for its characters, or stands where a view is made."""
    for part in walk((init,)):
        if isinstance(part, ir.Construct) and part.type.name.endswith("string_view"):
            yield from part.args
        elif isinstance(part, ir.Call) and isinstance(part.func, ir.Attr):
            if made or part.func.name in _GIVING:
                yield part.func.obj
        elif isinstance(part, (ir.Call, ir.Cond)) and made:
            yield from part.args if isinstance(part, ir.Call) else (part.then, part.orelse)
        elif isinstance(part, ir.Call) and _is_view(part.func):
            yield from part.args


def is_view(ctype: CType) -> bool:
    """Whether variables of a type look at a text that is stored elsewhere."""
    return ctype.kind == "string" and not ctype.ref and not ctype.name.endswith("string")


def _is_view(func: Node) -> bool:
    """Whether a call makes a view."""
    return isinstance(func, ir.Name) and func.id.endswith("string_view")
