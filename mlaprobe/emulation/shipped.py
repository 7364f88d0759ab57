"""The code objects of a source, by the operation that their kernels carry out."""

from __future__ import annotations

from collections.abc import Iterator

from mlaprobe.core.enums import Operation
from mlaprobe.deciding.capability import Capability
from mlaprobe.rulefiles.operations import CodeObjects, operations


def with_code_objects() -> tuple[Operation, ...]:
    """The operations that have kernels in code objects; those of others are compiled where they
    run."""
    return tuple(op for op, rule in operations().items() if rule.code_objects is not None)


def code_objects(capability: Capability, op: Operation, arch: str) -> tuple[str, ...]:
    """The code objects of an operation's kernels for an arch, by their paths. A table may name some
    that the source does not hold."""
    rule = operations()[op].code_objects
    if rule is None:
        return ()
    table = capability.tables.modules.get(rule.module)
    if table is None:
        return tuple(sorted(_named(capability, rule, f"hsa/{arch}/{rule.module}")))
    rows = (
        row
        for row in table.rows
        if row.arch == arch
        and all(row.fields.get(name, 0) == value for name, value in rule.columns.items())
    )
    return tuple(sorted({row.co for row in rows}))


def _named(capability: Capability, rule: CodeObjects, folder: str) -> Iterator[str]:
    """Those of a source without a table for the module, by their names."""
    others = [each.code_objects for each in operations().values()]
    marks = [each.named for each in others if each and each.module == rule.module and each.named]
    for path in capability.source.list(folder):
        name = path.rpartition("/")[2]
        own = rule.named in name if rule.named else not any(mark in name for mark in marks)
        if path.endswith(".co") and own:
            yield path
