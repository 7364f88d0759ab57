"""Operators that the source defines for its own types."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mlaprobe.evaluator.cpp.chunks import index_of
from mlaprobe.evaluator.cpp.forms import methods
from mlaprobe.evaluator.cpp.forms.templates import PACK
from mlaprobe.evaluator.cpp.types import SCALARS, template_of
from mlaprobe.evaluator.ir import CType, Function, Span
from mlaprobe.evaluator.values import Unknown, Value
from mlaprobe.evaluator.values.comparing import compare, equals, negate
from mlaprobe.evaluator.values.kinds import Closure, EnumMember, Record
from mlaprobe.evaluator.values.truth import settled

if TYPE_CHECKING:
    from mlaprobe.evaluator.cpp.unit import CppModule
    from mlaprobe.evaluator.engine.runs import Run

_ORDERED = ("<", "<=", ">", ">=")
_DECLARED = re.compile(r"\boperator\s*(\(\)|\[\]|[^\w\s()\[\]]+)\s*\(([^()]*)\)")
_TAKES_ANY = re.compile(r"\s*(?:const\s+)?[A-Z]\w*\s*(?:const\s*)?&{0,2}\s*\w*\s*(?:,|\Z)")
"""Parameters of which the first has a type that may be a template's parameter."""
_WRITTEN = {"c/": "/", "c%": "%", "not": "!"}
"""How the source writes an operator that has another name here."""


def spelled(code: str) -> tuple[tuple[str, int, str], ...]:
    """The operators that a text declares: the operator, where, and the parameters."""
    if "operator" not in code:
        return ()
    return tuple((m.group(1), m.start(), m.group(2)) for m in _DECLARED.finditer(code))


def functions(module: CppModule, op: str, names: frozenset[str]) -> list[Function]:
    """The functions outside classes that define an operator, and mention one of some types."""
    found: list[Function] = []
    for file in module.unit.files:
        for declared, at, params in module.spelled(file):
            chunk = index_of(file.code).at(at) if declared == op else None
            if chunk is None:
                continue
            head = re.match(r"\s*template\s*<([^{}()]*?)>", file.code[chunk.start : at])
            general = head is not None and _TAKES_ANY.match(params) is not None
            meant = general or not names.isdisjoint(_mentioned(module, params))
            if meant or _by_macro(module, params):
                found += [f for f in module.operators_in(file, chunk, op) if f not in found]
        for macro in module.unit.spellings("operator"):
            for chunk in index_of(file.code).mentioning(macro):
                made = module.operators_in(file, chunk, op)
                found += [f for f in made if f not in found and not names.isdisjoint(_types(f))]
    return found


def _types(function: Function) -> set[str]:
    """The types of a function's parameters, by name."""
    kinds = (p.type.name for p in function.params if p.type is not None)
    return {template_of(kind)[0].rpartition("::")[2] for kind in kinds}


def _mentioned(module: CppModule, params: str) -> set[str]:
    """The types that a list of parameters may name, aliases resolved."""
    words = _type_words(params)
    return words | {_resolved(module, word) for word in words}


def _type_words(params: str) -> set[str]:
    """The words of the types in a list of parameters: all but the last of each, which is its name
    unless it has none."""
    found: set[str] = set()
    for param in params.split(","):
        words = re.findall(r"[A-Za-z_]\w*", param)
        found.update(words[: max(1, len(words) - 1)])
    return found


def _by_macro(module: CppModule, params: str) -> bool:
    """Whether a type may be spelled by a macro: a name that nothing defines."""
    words = _type_words(params) - _PLAIN
    return any(not module.definitions(word) for word in words)


_PLAIN = frozenset(
    (
        *("const", "volatile", "typename", "struct", "class", "enum", "std", "auto"),
        *("unsigned", "signed", "int", "long", "short", "char", "bool", "float", "double"),
    )
)


def _resolved(module: CppModule, name: str) -> str:
    """The type that a name stands for, without its namespace."""
    seen: list[str] = []
    bare = template_of(name)[0].rpartition("::")[2]
    while bare not in seen:
        seen.append(bare)
        bare = template_of(module.alias(bare) or bare)[0].rpartition("::")[2]
    return bare


def applied(module: CppModule, run: Run, op: str, args: tuple[Value, ...], span: Span) -> Value:
    """What an operator of the source gives; ``NotImplemented`` where it defines none for these."""
    op = _WRITTEN.get(op, op)
    found = _called(module, run, op, args, span)
    if found is not NotImplemented or len(args) != 2:
        return found
    if op == "!=":
        same = applied(module, run, "==", args, span)
        return same if same is NotImplemented else negate(run.holds(same))
    left, right = args
    if isinstance(left, Record) and isinstance(right, Record) and left.type == right.type:
        if op == "==" and any(_made_by_compiler(module, left, o) for o in ("==", "<=>")):
            return _all_equal(module, run, left, right, span)
        if op in _ORDERED and _made_by_compiler(module, left, "<=>"):
            return _in_order(module, run, op, left, right, span)
    return NotImplemented


def defines(module: CppModule, op: str, args: tuple[Value, ...]) -> bool:
    """Whether there may be an operator of the source for some of these."""
    op = _WRITTEN.get(op, op)
    if any(isinstance(a, Record) and module.struct(a.type) is not None for a in args):
        return True
    names = frozenset(filter(None, map(_type, args)))
    return any(module.operators(o, names) for o in {op, "==" if op == "!=" else op})


def _called(module: CppModule, run: Run, op: str, args: tuple[Value, ...], span: Span) -> Value:
    names = tuple(_type(a) for a in args if _type(a))
    first = args[0]
    known = isinstance(first, Record) and module.struct(first.type) is not None
    if known and module.has_method(first, "operator" + op):
        if _made_by_compiler(module, first, op):
            return NotImplemented
        method = methods.method_of(module, run, first, "operator" + op)
        takes = isinstance(method, Closure) and len(method.function.params) == len(args) - 1
        others = module.operators(op, frozenset(names))
        if not takes or any(_fits(module, f, args) for f in others):
            return Unknown(f"which {op} of a {first.type} is meant is not known", span)
        return run.machine.call(run, method, args[1:], {}, span)
    fitting = [f for f in module.operators(op, frozenset(names)) if _fits(module, f, args)]
    if not fitting:
        return NotImplemented
    if len(fitting) > 1 or fitting[0].template:
        return Unknown(f"which {op} of a {names[0]} is meant is not known", span)
    return run.machine.call(run, Closure(fitting[0], module), args, {}, span)


def _type(value: Value) -> str:
    if isinstance(value, EnumMember):
        return value.enum
    return value.type.rpartition("::")[2] if isinstance(value, Record) else ""


def _fits(module: CppModule, function: Function, args: tuple[Value, ...]) -> bool:
    """Whether an operator may be meant for some operands."""
    if len(function.params) != len(args):
        return False
    pairs = zip(function.params, args, strict=True)
    kinds = ((p.type, arg) for p, arg in pairs if p.type is not None)
    return all(
        kind.name in function.template
        or (_takes(module, kind, arg) and not _deduces_other(module, function, kind, arg))
        for kind, arg in kinds
    )


def _deduces_other(module: CppModule, function: Function, kind: CType, value: Value) -> bool:
    """Whether a parameter is a class template whose arguments would follow from an object, which
    is certainly of another class: nothing is converted then."""
    head, types = template_of(kind.name)
    words = {word for text in types for word in re.findall(r"\w+", text)}
    names = {name.removesuffix(PACK) for name in function.template}
    struct = module.struct(value.type) if isinstance(value, Record) else None
    deduced = kind.name.endswith(">") and bool(words & names)
    if struct is None or not deduced or module.alias(head) is not None:
        return False
    classes = methods.above(module, struct)
    wanted = head.rpartition("::")[2]
    return classes is not None and all(c.name.rpartition("::")[2] != wanted for c in classes)


def _takes(module: CppModule, ctype: CType, value: Value) -> bool:
    if isinstance(value, Unknown) or ctype.kind == "auto":
        return True
    name = _type(value)
    if not name:
        return ctype.kind in (*SCALARS, "string") or ctype.name.startswith("std::")
    same = name in (template_of(ctype.name)[0].rpartition("::")[2], _resolved(module, ctype.name))
    return same or isinstance(value, Record) or ctype.kind in SCALARS


def _made_by_compiler(module: CppModule, record: Record, op: str) -> bool:
    struct = module.struct(record.type)
    return (
        struct is not None
        and not struct.bases
        and not struct.template
        and struct.body.defaulted("operator" + op)
    )


def _all_equal(module: CppModule, run: Run, left: Record, right: Record, span: Span) -> Value:
    """Whether all members are equal."""
    pairs = ((left.fields[n], right.fields[n]) for n in left.fields)
    same = settled(False, [_equal(module, run, one, other, span) for one, other in pairs])
    return same.another() if isinstance(same, Unknown) else same


def _equal(module: CppModule, run: Run, one: Value, other: Value, span: Span) -> Value:
    if isinstance(one, (Record, EnumMember)):
        found = applied(module, run, "==", (one, other), span)
        if found is not NotImplemented:
            return found
    return equals(one, other, span)


def _in_order(
    module: CppModule, run: Run, op: str, left: Record, right: Record, span: Span
) -> Value:
    """The order of two objects: that of the first members that differ."""
    for name in left.fields:
        one, other = left.fields[name], right.fields[name]
        if run.holds(_equal(module, run, one, other, span)):
            continue
        if isinstance(one, Record):
            found = applied(module, run, op, (one, other), span)
            return Unknown(f"{op} of a {one.type}", span) if found is NotImplemented else found
        return compare(op, one, other, span)
    return op in ("<=", ">=")
