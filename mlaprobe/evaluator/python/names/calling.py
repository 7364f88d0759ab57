"""How calls hand over arguments, and what calls of Python's own functions leave as it is."""

from __future__ import annotations

import ast

LOOKING = frozenset(
    [
        "len",
        "any",
        "all",
        "isinstance",
        "issubclass",
        "bool",
        "str",
        "repr",
        "print",
        "hash",
        "id",
        "int",
        "float",
        "type",
        "format",
        "range",
        "callable",
        "math.prod",
        "copy.deepcopy",
        "bisect.bisect",
        "bisect.bisect_left",
        "bisect.bisect_right",
    ]
)
"""Functions, by dotted names, that give no part of what they are given."""
SHOWING = {
    **dict.fromkeys(("sorted", "set", "list", "tuple", "dict", "frozenset", "reversed", "iter"), 1),
    **dict.fromkeys(("copy.copy", "itertools.islice", "collections.OrderedDict"), 1),
    **dict.fromkeys(("enumerate", "zip", "itertools.product", "itertools.pairwise"), 2),
    **dict.fromkeys(("itertools.zip_longest", "itertools.combinations"), 2),
    **dict.fromkeys(("min", "max", "next", "sum"), 0),
    **dict.fromkeys(("itertools.chain", "collections.defaultdict"), 1),
}
"""Functions, by dotted names, that give what their arguments hold: in how many new containers."""
SHOWN = {"keys": 1, "values": 1, "items": 2, "copy": 1, "_asdict": 1, "_replace": 1}
"""Methods that do; others give it as it is."""
RETURNING = frozenset(("logging", "math", "torch", "warnings"))
"""Packages whose functions change no list, dict or set that they are given."""
APPLYING = frozenset(("map", "filter"))
"""The same, and they call their first argument for each."""
READERS = frozenset(
    [
        "get",
        "keys",
        "values",
        "items",
        "copy",
        "index",
        "count",
        "union",
        "intersection",
        "difference",
        "symmetric_difference",
        "issubset",
        "issuperset",
        "isdisjoint",
        "join",
        "split",
        "startswith",
        "endswith",
        "partition",
        "lower",
        "upper",
        "strip",
        "format",
        "_asdict",
        "_replace",
    ]
)
"""Methods of Python's own types that change nothing."""

MUTATING = {"add", "append", "clear", "discard", "extend", "insert", "pop", "popitem", "remove"}
MUTATING |= {"reverse", "setdefault", "sort", "update", "appendleft", "popleft", "extendleft"}
MUTATING |= {"rotate", "move_to_end", "subtract", "difference_update", "intersection_update"}
MUTATING |= {"symmetric_difference_update"}
"""Methods of these that may."""
TAKING = {"union", "intersection", "difference", "symmetric_difference", "issubset", "issuperset"}
TAKING |= {"isdisjoint", "join", "fromkeys", "index", "count", "extend", "update", "get"}
"""Methods that only go through what they are given."""

Place = tuple[int | None, str | None]
"""Which argument something is: by its place, or by its name."""


def argument_of(call: ast.Call, node: ast.AST) -> Place:
    """Which argument of a call a node is; of neither kind where that is not told."""
    spread = next((i for i, a in enumerate(call.args) if isinstance(a, ast.Starred)), None)
    for at, value in enumerate(call.args):
        if value is node:
            return (at if spread is None or at < spread else None), None
    return None, next((k.arg for k in call.keywords if k.value is node), None)


def parameter_at(
    function: ast.FunctionDef | ast.AsyncFunctionDef, place: Place, skipped: int
) -> str | None:
    """The parameter that gets an argument, behind so many that the call does not pass."""
    at, name = place
    plain = [a.arg for a in (*function.args.posonlyargs, *function.args.args)][skipped:]
    if at is not None:
        return plain[at] if at < len(plain) else None
    named = {a.arg for a in (*function.args.args, *function.args.kwonlyargs)}
    return name if name in named else None
