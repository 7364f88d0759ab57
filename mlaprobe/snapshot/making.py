"""Makes the text of a snapshot from a live source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from importlib.metadata import version
from typing import Any

from mlaprobe.core.numbers import ranges
from mlaprobe.deciding.capability import Capability
from mlaprobe.rulefiles.errata import BLOB_SCHEMA, BLOBS
from mlaprobe.rulefiles.loader import load_rules
from mlaprobe.rulefiles.operations import recorded
from mlaprobe.snapshot.file import FORMAT, PHRASES, SCHEMA
from mlaprobe.snapshot.needing import NeedTable
from mlaprobe.snapshot.needs import NEEDS
from mlaprobe.snapshot.operations import OPERATIONS
from mlaprobe.snapshot.records import FIELDS
from mlaprobe.snapshot.scope import VARIED, Scope
from mlaprobe.snapshot.tables import Table
from mlaprobe.snapshot.taking import Step, Taker
from mlaprobe.snapshot.taking_operations import OperationTaker
from mlaprobe.snapshot.writing import NameTable, compact, share_tables, table_json, text_of

TABLES = ("planner", "sizing", "dispatcher", "called", "host", "reducer", "gluon")


def make(
    capability: Capability,
    *,
    releases: Mapping[str, str] | None = None,
    scope: Scope | None = None,
    step: Step = lambda: None,
) -> str:
    """The snapshot of a source.

    Args:
        capability: of the source.
        releases: for a bundled snapshot every release with this content, and its commit.
        scope: the grid; ``None``: the standard one over the source's archs.
        step: called after every plane.

    Raises:
        SourceError: a file cannot be read.
    """
    scope = scope or Scope(archs=capability.archs)
    taker = Taker(capability, scope, step)
    tables, heads = _taken(taker)
    held, others = OperationTaker(taker.asker, scope, step).taken(recorded())
    head_dims = [dim for (dim,) in tables["reducer"].settings()]
    tables.update(others)
    needs = taker.needs()
    for table in (*tables.values(), needs):
        table.drop_idle_axes()
    book, body = _body(taker, tables, heads, needs)
    fields = VARIED if taker.splits_alike else VARIED[1:]
    varied = replace(scope, fields=fields)
    head = {**_head(capability, varied, releases, book, head_dims), OPERATIONS: held}
    return sealed("".join(text_of(head, body)))


def _body(
    taker: Taker, tables: Mapping[str, Table], heads: tuple[int, ...], needs: NeedTable
) -> tuple[NameTable, dict[str, Any]]:
    """What is named, and everything from the files on.

    Args:
        heads: the head counts of the reducer's table.
    """
    book = NameTable(taker.asker.notebook)
    names = book.keep(tables)
    own = {"reducer": heads}
    written = {
        name: table_json(tables[name], own.get(name, taker.scope.heads), names[name])
        for name in (*TABLES, *(name for name in tables if name not in TABLES))
    }
    section, sets = needs.written()
    written[NEEDS] = table_json(needs, taker.scope.heads, sets)
    written["reducer"] = {"heads": ranges(heads), **written["reducer"]}
    return book, {
        "files": book.files,
        "evidence": book.evidence,
        "kernels": book.kernels,
        "columns": book.columns,
        PHRASES: book.phrases,
        "records": book.records,
        "tables": share_tables(written),
        NEEDS: section,
    }


def _taken(taker: Taker) -> tuple[dict[str, Table], tuple[int, ...]]:
    """Every table, and the head counts of the reducer's."""
    tables = {"planner": taker.planner(), "sizing": taker.sizing(), "host": taker.host()}
    tables["dispatcher"], tables["called"] = taker.dispatcher()
    tables["gluon"] = taker.gluon()
    heads = _reduced_heads(taker.scope, tables["dispatcher"])
    tables["reducer"] = taker.reducer(heads)
    return tables, heads


def _reduced_heads(scope: Scope, dispatcher: Table) -> tuple[int, ...]:
    """The head counts of the grid, and any other that the dispatcher hands to the reducer."""
    at = FIELDS.index("reduces")
    reduces = {fields[at] for fields, _ in dispatcher.records}
    return tuple(sorted({*scope.heads, *(n for n in reduces if n is not None)}))


def _head(
    capability: Capability,
    scope: Scope,
    releases: Mapping[str, str] | None,
    book: NameTable,
    head_dims: Sequence[int],
) -> dict[str, Any]:
    """Where the snapshot is from, and what it holds."""
    source = capability.source
    place = capability.place
    files = set(book.files)
    files.update(load_rules(BLOBS, BLOB_SCHEMA)["files"])
    blobs = {file: source.blob(file) for file in sorted(files)}
    return {
        "format": FORMAT,
        "schema": SCHEMA,
        "mlaprobe": version("mlaprobe"),
        "kind": source.kind,
        "release": source.release,
        "commit": source.commit,
        "distribution": source.distribution,
        "same_files_as": capability.erratum_release,
        "place": [place.release, place.how] if place.how else None,
        **({} if releases is None else {"releases": dict(releases)}),
        "blobs": {file: blob for file, blob in blobs.items() if blob is not None},
        "archs": scope.archs,
        "dtypes": [f"{q}/{kv}" for q, kv in scope.dtypes],
        "heads": ranges(scope.heads),
        "qlens": ranges(scope.qlens),
        "page_sizes": ranges(scope.page_sizes),
        "fields": scope.fields,
        "knobs": capability.knobs,
        "head_dims": head_dims,
        "takes": [role for role in ("causal", "global_indptr") if capability.takes(role)],
        "has_tables": capability.has_tables,
        "stages": capability.stage_status,
    }


def sealed(text: str) -> str:
    """A snapshot's text with its checksum."""
    body = text.rstrip().removesuffix("}").rstrip()
    return f'{body},\n"sha256":{compact(sha256(body.encode()).hexdigest())}\n}}\n'
