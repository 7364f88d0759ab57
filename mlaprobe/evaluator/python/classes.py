"""Classes of Python modules as values: enums, records, and anything else."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.python.statements import translate_expr, translate_function
from mlaprobe.evaluator.python.values import PyClass, RecordClass
from mlaprobe.evaluator.values import Unknown, Value
from mlaprobe.evaluator.values.kinds import EnumMember, EnumType

if TYPE_CHECKING:
    from mlaprobe.evaluator.engine.runs import Run
    from mlaprobe.evaluator.python.module import PyModule

_ENUMS = frozenset(f"enum.{n}" for n in ("Enum", "IntEnum", "IntFlag", "Flag", "StrEnum"))
_NAMED_TUPLE = "typing.NamedTuple"
_DATACLASS = frozenset({"dataclasses.dataclass", "dataclass"})
_OWN_MAKING = frozenset({"__init__", "__new__", "__post_init__"})


def class_value(run: Run, module: PyModule, node: ast.ClassDef, position: int) -> Value:
    """What a class statement binds."""
    index = module.index
    bases = [index.canonical(base) for base in node.bases]
    decorators = [
        index.canonical(d.func if isinstance(d, ast.Call) else d) for d in node.decorator_list
    ]
    if any(base in _ENUMS for base in bases):
        return _enum(run, module, node, bases, position)
    if (decorators and set(decorators) <= _DATACLASS and not bases) or bases == [_NAMED_TUPLE]:
        record = _record(module, node)
        if record is not None:
            return record
    return PyClass(node.name, module, _attributes(module, node))


def _enum(
    run: Run, module: PyModule, node: ast.ClassDef, bases: list[str], position: int
) -> EnumType:
    plain = bases == ["enum.Enum"] or bases == ["enum.Flag"]
    flag = any(base.endswith("Flag") for base in bases)
    full = f"{module.dotted}.{node.name}"
    members: list[EnumMember] = []
    for stmt in node.body:
        if not isinstance(stmt, ast.Assign):
            continue
        if module.index.canonical(_callee(stmt.value)) == "enum.auto":
            value = _auto(members, flag)
        else:
            value = module.evaluate(run, stmt.value, position).value
        known = None if isinstance(value, Unknown) else value
        for target in stmt.targets:
            if not isinstance(target, ast.Name):
                # How many members there are is not known from here on.
                members.append(EnumMember(full, "?", None, scoped=plain))
            elif not target.id.startswith("_"):
                members.append(EnumMember(full, target.id, known, scoped=plain))
    return EnumType(full, tuple(members))


def _callee(node: ast.expr) -> ast.expr:
    return node.func if isinstance(node, ast.Call) else node


def _auto(members: list[EnumMember], flag: bool) -> int | None:
    values = [m.value for m in members]
    if not all(isinstance(v, int) for v in values):
        return None
    last = max((v for v in values if v is not None), default=0)
    return (1 << last.bit_length()) if flag else last + 1


def _record(module: PyModule, node: ast.ClassDef) -> RecordClass | None:
    """The record class, or ``None`` where objects are not made from the fields alone."""
    fields: list[tuple[str, ir.Node | None]] = []
    for stmt in node.body:
        if isinstance(stmt, ast.FunctionDef):
            if stmt.name in _OWN_MAKING:
                return None
        elif isinstance(stmt, ast.AnnAssign) and isinstance(stmt.target, ast.Name):
            if "ClassVar" in (text := ast.unparse(stmt.annotation)) or "InitVar" in text:
                return None
            fields.append((stmt.target.id, _default(module, stmt.value)))
        elif not isinstance(stmt, (ast.Expr, ast.Pass)):
            return None
    return RecordClass(node.name, tuple(fields), module)


def _default(module: PyModule, node: ast.expr | None) -> ir.Node | None:
    if node is None:
        return None
    if module.index.canonical(_callee(node)) == "dataclasses.field":
        assert isinstance(node, ast.Call) or node is not None
        keywords = node.keywords if isinstance(node, ast.Call) else []
        for keyword in keywords:
            if keyword.arg == "default":
                return translate_expr(keyword.value, module.place)
        if not any(k.arg == "default_factory" for k in keywords):
            return None
        return ir.Opaque(module.place.span(node), "a field's default factory is not followed")
    return translate_expr(node, module.place)


def _attributes(module: PyModule, node: ast.ClassDef) -> dict[str, ir.Node]:
    """The plain attributes of a class, the last of a name."""
    result: dict[str, ir.Node] = {}
    for stmt in node.body:
        span = module.place.span(stmt)
        if isinstance(stmt, ast.FunctionDef):
            plain = [module.index.canonical(d) for d in stmt.decorator_list] in (
                [],
                ["staticmethod"],
            )
            unclear = ir.Opaque(span, f"decorated method {stmt.name} is not followed")
            result[stmt.name] = translate_function(stmt, module.place) if plain else unclear
        elif isinstance(stmt, (ast.Assign, ast.AnnAssign)) and stmt.value is not None:
            targets = stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    result[target.id] = translate_expr(stmt.value, module.place)
        elif not isinstance(stmt, (ast.Expr, ast.Pass)):
            return {}
    return result
