"""``item in container`` over known and unknown values."""

from __future__ import annotations

from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.objects.flags import has_flag
from mlaprobe.evaluator.objects.iterables import Cursor, UnclearError
from mlaprobe.evaluator.symbolic.symbols import Condition, Sym, SymText, plain
from mlaprobe.evaluator.values import Unknown, Value
from mlaprobe.evaluator.values.arithmetic import arithmetic, kind_of
from mlaprobe.evaluator.values.comparing import compare, equals
from mlaprobe.evaluator.values.kinds import EnumMember, EnumType, Model
from mlaprobe.evaluator.values.truth import settled

_SIMPLE = frozenset((int, bool, str, float))


def membership(container: Value, item: Sym) -> Condition | bool | None:
    """``item in container`` for plain numbers, not written down yet; ``None`` for anything else."""
    if isinstance(container, (tuple, list, set, frozenset, dict)) and all(
        type(element) is int for element in container
    ):
        return item.among(tuple(sorted(set(container))))
    return None


def contains(container: Value, item: Value, span: Span) -> Value:
    """``item in container``."""
    if isinstance(container, Unknown):
        return container.derive("contains", item)
    if type(item) is SymText or type(container) is SymText:
        container, item = plain(container), plain(item)
    if isinstance(container, str) and isinstance(item, str):
        return item in container
    if isinstance(container, EnumMember):
        return has_flag(container, item, span)
    if isinstance(container, EnumType):
        inside = isinstance(item, EnumMember) and item.enum == container.name
        return True if inside else Unknown(f"membership in {container.name}", span)
    if isinstance(container, range) and type(item) in (int, bool):
        return item in container
    if type(item) is Sym:
        if isinstance(container, range):
            return _in_range(container, item, span)
        stated = membership(container, item)
        if stated is not None:
            return stated.ask() if type(stated) is Condition else stated
    hashed = isinstance(container, (dict, set, frozenset)) and type(item) in _SIMPLE
    if hashed and {type(key) for key in container} <= _SIMPLE:
        return item in container
    if isinstance(container, (dict, set, frozenset)) and isinstance(item, (list, dict)):
        return Unknown(f"a {kind_of(item)} is nothing that can be looked up", span)
    if isinstance(container, Cursor):
        return _among_rest(container, item, span)
    if isinstance(container, dict):
        container = tuple(container)
    elif isinstance(container, Model):
        elements = container.members()
        if elements is None:
            return Unknown("the elements of a container are not known", span)
        container = tuple(elements)
    if not isinstance(container, (tuple, list, set, frozenset, range)):
        return Unknown(f"membership in a {kind_of(container)}", span)
    return settled(True, (equals(item, element, span) for element in container))


def _in_range(container: range, item: Sym, span: Span) -> bool:
    """Membership of a symbol in a range, as the comparisons that make it."""
    if not container:
        return False
    low, high = min(container[0], container[-1]), max(container[0], container[-1])
    if not item.fits(low, high):
        return False
    offset = arithmetic("-", item, low, span)
    rest = arithmetic("%", offset, abs(container.step), span)
    return bool(compare("==", rest, 0, span))


def _among_rest(cursor: Cursor, item: Value, span: Span) -> Value:
    """Membership in what is left of an iterator, of which some is taken."""
    unclear: Unknown | None = None
    try:
        for element in cursor.steps():
            same = equals(item, element, span)
            if same is True and unclear is None:
                return True
            if same is not False and unclear is None:
                unclear = same.another() if isinstance(same, Unknown) else None
            if same is True:
                cursor.give_up("how much of an iterator is taken is not known")
                return True
    except UnclearError as error:
        return error.why.another()
    return False if unclear is None else unclear
