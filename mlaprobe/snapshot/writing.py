"""A snapshot as text: JSON with one record per line, so that a diff shows what changed.

Records, pieces of evidence and kernels are named by a few letters of a hash over their content, so
that a name stands for the same thing in every snapshot and nothing is renumbered by a change
elsewhere. Evidence is named by its file and text: code that moved changes only its line.
"""

from __future__ import annotations

import json
from base64 import b32encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

from mlaprobe.core.boxes import cover
from mlaprobe.core.shape import Evidence, Kernel
from mlaprobe.snapshot.cells import write_plane
from mlaprobe.snapshot.file import KERNEL_FIELDS, stem_of
from mlaprobe.snapshot.lookup import NONE
from mlaprobe.snapshot.phrases import Phrase
from mlaprobe.snapshot.records import Record, write_records
from mlaprobe.snapshot.scope import OMITTED
from mlaprobe.snapshot.tables import NOTHING, Notebook, Steps, Table

BY_BATCH = "~"
"""Starts the names of records that depend on the batch size."""
RECORDS = "records"
"""The part of a snapshot whose entries stand on one line each, whatever is in them."""
_SHORTEST = 4


def named(contents: Sequence[str]) -> list[str]:
    """A short name for each of some texts: the same for the same text, different for others."""
    hashes = {text: _hash(text) for text in contents}
    found: dict[str, str] = {}
    for text, digest in hashes.items():
        others = [h for t, h in hashes.items() if t != text and h[:_SHORTEST] == digest[:_SHORTEST]]
        length = _SHORTEST
        while any(other[:length] == digest[:length] for other in others):
            length += 1
        found[text] = digest[:length]
    return [found[text] for text in contents]


def _hash(text: str) -> str:
    return b32encode(sha256(text.encode("utf-8", "surrogatepass")).digest()).decode().lower()


def compact(value: object) -> str:
    """JSON on one line."""
    return json.dumps(value, separators=(",", ":"))


def evidence_names(found: Iterable[Evidence]) -> list[str]:
    """A name for each place; where one text stands on several lines of a file, by its turn."""
    turns: dict[tuple[str, ...], list[Evidence]] = {}
    places = list(found)
    for each in sorted(places, key=lambda e: (e.line, e.column)):
        turns.setdefault((each.stage, each.file, each.text), []).append(each)
    texts = []
    for each in places:
        same = turns[each.stage, each.file, each.text]
        texts.append(compact([each.stage, each.file, each.text, same.index(each)]))
    return named(texts)


def evidence_row(each: Evidence, files: Sequence[str]) -> list[Any]:
    """A piece of evidence as JSON, its file by place."""
    return [each.stage, files.index(each.file), each.line, each.column, each.text]


def kernels_json(kernels: Iterable[Kernel], names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Kernels as JSON by the folder of their code objects, each with its name."""
    found: dict[str, dict[str, Any]] = {}
    for name, each in zip(names, kernels, strict=True):
        folder, slash, file = each.co.rpartition("/")
        before, stem, after = each.symbol.partition(stem_of(file) or "\0")
        symbol = [before, after] if stem else each.symbol
        row = [symbol, file, *(getattr(each, field) for field in KERNEL_FIELDS[2:])]
        found.setdefault(folder + slash, {})[name] = row
    return {folder: _sorted(rows.items()) for folder, rows in sorted(found.items())}


def kernel_names(found: Iterable[Kernel]) -> list[str]:
    """A name for each kernel, by all but the contents of its file: one that is replaced changes
    only the kernel's own line."""
    return named([compact([k.symbol, k.co, k.co_present, k.has_symbol]) for k in found])


class NameTable:
    """Everything that tables name: evidence, kernels, keys' columns, messages and records."""

    def __init__(self, notebook: Notebook) -> None:
        places, kernels = list(notebook.evidence), list(notebook.kernels)
        self.names = {
            "evidence": evidence_names(places),
            "kernels": kernel_names(kernels),
        }
        self.files = sorted({each.file for each in places})
        rows = [evidence_row(each, self.files) for each in places]
        self.evidence = _sorted(zip(self.names["evidence"], rows, strict=True))
        self.kernels = kernels_json(kernels, self.names["kernels"])
        self.columns: dict[str, list[str]] = {}
        self.phrases: dict[str, Phrase] = {}
        self.records: dict[str, Record] = {}

    def keep(self, tables: Mapping[str, Table]) -> dict[str, dict[int, str]]:
        """Keeps the records of all tables; their names by table and place."""
        written = {n: write_records(table.records, self.names) for n, table in tables.items()}
        columns = [r["key"][0] for records in written.values() for r in records if "key" in r]
        names = dict(zip(columns, named(columns), strict=True))
        self.columns = _sorted((name, json.loads(text)) for text, name in names.items())
        for record in (r for records in written.values() for r in records if "key" in r):
            record["key"] = [names[record["key"][0]], *record["key"][1:]]
        self._share_phrases(record for records in written.values() for record in records)
        found = self._name({n: dict(enumerate(records)) for n, records in written.items()})
        for places in found.values():
            places[NOTHING] = NONE
        switches = {
            name: {
                place: _switch(unset, steps, found[name])
                for (unset, steps), place in table.switches.items()
            }
            for name, table in tables.items()
        }
        for name, places in self._name(switches, BY_BATCH).items():
            found[name].update(places)
        self.records = _sorted(self.records.items())
        return found

    def _share_phrases(self, records: Iterable[Record]) -> None:
        """Takes out the messages in which something is filled in, and names them."""
        phrased = [each for each in records if isinstance(each.get("message"), list)]
        texts = [compact(record["message"]) for record in phrased]
        names = named(texts)
        self.phrases = _sorted((n, json.loads(text)) for text, n in zip(texts, names, strict=True))
        for record, name in zip(phrased, names, strict=True):
            record["message"] = [name]

    def _name(
        self, records: Mapping[str, Mapping[int, Record]], mark: str = ""
    ) -> dict[str, dict[int, str]]:
        texts = {n: {at: compact(r) for at, r in each.items()} for n, each in records.items()}
        every = sorted({text for each in texts.values() for text in each.values()})
        names = {text: mark + name for text, name in zip(every, named(every), strict=True)}
        for name, each in records.items():
            self.records.update({names[texts[name][at]]: record for at, record in each.items()})
        return {n: {at: names[text] for at, text in each.items()} for n, each in texts.items()}


def _sorted(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Ordered by their content, so that neighbours belong together."""
    return dict(sorted(pairs, key=lambda pair: (compact(pair[1]), pair[0])))


def table_json(table: Table, heads: Sequence[int], names: Mapping[int, str]) -> dict[str, Any]:
    """A stage table as JSON: its axes and planes."""
    qlens = len(next(iter(table.planes.values()))) // len(heads)
    planes: dict[str, tuple[dict[str, str], list[tuple[str, ...]]]] = {}
    for setting, places in table.planes.items():
        cells = [names[place] for place in places]
        plane = tuple(tuple(cells[at : at + qlens]) for at in range(0, len(cells), qlens))
        rows = write_plane(plane, heads)
        planes.setdefault(compact(rows), (rows, []))[1].append(tuple(map(value_name, setting)))
    return {
        "axes": [name for name, _ in table.axes],
        "planes": [{"for": _boxes(table, same), **rows} for rows, same in planes.values()],
    }


def share_tables(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Tables by name, for one that is equal to another before it that one's name."""
    first: dict[str, str] = {}
    names = {name: first.setdefault(compact(table), name) for name, table in tables.items()}
    return {name: tables[name] if same == name else same for name, same in names.items()}


def _switch(unset: int, steps: Steps, names: Mapping[int, str]) -> Record:
    """A record that depends on the batch size: which other holds where it is unset, and by rule."""
    rules = None if steps is None else [[kind, n, names[place]] for kind, n, place in steps]
    return {"unset": names[unset], "batch": rules}


def value_name(value: Any) -> str:
    """A value of an axis as a word: ``gfx950``, ``fp8/fp8``, ``1``."""
    if value == OMITTED:
        return "omitted"
    if isinstance(value, tuple):
        return "/".join(map(str, value))
    return str(int(value)) if isinstance(value, bool) else str(value)


def _boxes(table: Table, settings: Sequence[tuple[str, ...]]) -> list[str]:
    """Settings as few lines: ``gfx942,gfx950 fp8/fp8 0,1``."""
    if not table.axes:
        return []
    order = [{value_name(value): at for at, value in enumerate(values)} for _, values in table.axes]
    lines = []
    for box in cover(settings):
        parts = [
            sorted(map(str, values), key=o.__getitem__)
            for values, o in zip(box, order, strict=True)
        ]
        lines.append(
            ([o[p[0]] for p, o in zip(parts, order, strict=True)], " ".join(map(",".join, parts)))
        )
    return [text for _, text in sorted(lines)]


def text_of(head: Mapping[str, Any], body: Mapping[str, Any]) -> Iterator[str]:
    """The lines of a snapshot file. ``head`` is written a value per line; in ``body`` everything
    is opened down to single records."""
    yield "{"
    lines = [f"{compact(name)}:{_opened(value, 1)}" for name, value in head.items()]
    for name, value in body.items():
        lines.append(f"{compact(name)}:{_opened(value, 1 if name == RECORDS else 3)}")
    yield ",\n".join(lines)
    yield "}\n"


def _opened(value: Any, depth: int) -> str:
    if depth == 0 or not value or not isinstance(value, (dict, list)):
        return compact(value)
    if isinstance(value, list):
        if not isinstance(value[0], dict):
            return compact(value)
        return "[\n" + ",\n".join(_opened(each, 0) for each in value) + "\n]"
    items = (f"{compact(k)}:{_opened(v, depth - 1)}" for k, v in value.items())
    return "{\n" + ",\n".join(items) + "\n}"
