"""What became of shapes from release to release: for people, documents, programs, and to look
at."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from mlaprobe.compare.history import Era, History, Line, Tiles
from mlaprobe.core.behaviour import Behaviour
from mlaprobe.core.numbers import ranges
from mlaprobe.core.shape import DecodeShape, Operation, Verdict
from mlaprobe.output import SCHEMA, commands
from mlaprobe.output.cells import WORDS
from mlaprobe.output.escape import markdown, printable
from mlaprobe.output.pictures.tiles import Tile, fold_style, tiles
from mlaprobe.output.pictures.tiles import Tiles as Picture
from mlaprobe.output.report import LEAST_WIDTH, MOST_WIDTH
from mlaprobe.output.rows import Row, picked, plain
from mlaprobe.output.style import Line as Styled
from mlaprobe.output.style import Span, line, paragraph

_UNNAMED = "it does not name the arch"


def history(found: History, *, native: bool, width: int) -> list[Styled]:
    """A line for each release from which on the answer is another.

    Args:
        native: whether to show the set of native head counts, not each shape.
    """
    width = max(LEAST_WIDTH, min(width, MOST_WIDTH))
    lines: list[Styled] = [line(Span(_title(found), "title"))]
    room = max(map(len, found.releases), default=0)
    for title, rows in _blocks(found, native):
        lines += [(), *paragraph(title, width, style="title")]
        for release, answer, style in rows:
            lines += paragraph(answer, width, first=f"  {release.ljust(room)}  ", style=style)
    if native:
        asked = f"head counts asked: {ranges(found.grid.heads, ', ')}"
        lines += [(), *paragraph(asked, width, style="dim")]
    return lines


def _title(found: History) -> str:
    names = found.releases
    span = f"{names[0]} to {names[-1]}" if len(names) > 1 else ", ".join(names)
    return printable(f"AITER {span}, {found.source}")


def _blocks(found: History, native: bool) -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
    """Title and rows: the release, what holds from then on, and its style."""
    if native:
        for each in found.tiles:
            yield f"{_setting(each.shape)}: native head counts", list(_tile_rows(found, each))
        return
    for each_line in found.lines:
        shape = each_line.shape
        rows = [
            (era.first, _era(era), WORDS[era.behaviour.verdict].style)
            for era in found.eras(each_line)
        ]
        yield f"{_setting(shape, heads=True)}", rows


def _setting(shape: DecodeShape, *, heads: bool = False) -> str:
    op = [] if shape.op is Operation.DECODE else [str(shape.op)]
    parts = [*op, f"{shape.arch} {shape.dtype}"]
    parts += [f"{shape.num_heads} heads"] if heads else []
    unusual = commands.described(shape, defaults=False)
    lse = commands.described(shape, defaults=True).get("lse")
    rest = [text for name, text in unusual.items() if name != "lse"]
    return ", ".join([*parts, f"qlen {shape.qlen}", *([lse] if lse else []), *rest])


def _era(era: Era) -> str:
    words = era.behaviour.words if era.named else _UNNAMED
    files = f"; the kernel's file replaced in {', '.join(era.replaced)}" if era.replaced else ""
    return f"{words} ({era.releases} release{'' if era.releases == 1 else 's'}{files})"


def _tile_rows(found: History, each: Tiles) -> Iterator[tuple[str, str, str]]:
    """Where the set changes, with what came and went."""
    before: tuple[tuple[int, ...], tuple[int, ...], bool] | None = None
    sets = zip(found.releases, each.native, each.unknown, each.named, strict=True)
    for release, native, unknown, named in sets:
        if (native, unknown, named) == before:
            continue
        text = ranges(native, ", ") or ("none" if named else _UNNAMED)
        if before is not None:
            came = [f"+{n}" for n in native if n not in before[0]]
            went = [f"-{n}" for n in before[0] if n not in native]
            text += f"   ({' '.join([*came, *went])})" if came or went else ""
        if unknown:
            text += f"; unknown: {ranges(unknown, ', ')}"
        yield release, text, "native" if native else "fail"
        before = native, unknown, named


def history_markdown(found: History, *, native: bool) -> str:
    """The same as tables."""
    lines = [f"**{markdown(_title(found))}**", ""]
    for title, rows in _blocks(found, native):
        lines += [f"{markdown(title)}", "", "| from | |", "|---|---|"]
        lines += [f"| {markdown(release)} | {markdown(answer)} |" for release, answer, _ in rows]
        lines.append("")
    return "\n".join(lines)


def history_json(found: History, *, native: bool) -> str:
    """One object: every release, and the eras of each shape or the native sets of each setting."""
    data: Row = {
        "schema": SCHEMA,
        "source": found.source,
        "releases": list(found.releases),
    }
    if native:
        data["heads"] = list(found.grid.heads)
        data["tiles"] = [_tiles_row(found, each) for each in found.tiles]
    else:
        data["lines"] = [_line_row(found, each) for each in found.lines]
    return json.dumps(data, indent=1) + "\n"


def _line_row(found: History, each: Line) -> Row:
    return {"shape": plain(each.shape), "eras": [_era_row(era) for era in found.eras(each)]}


def _era_row(era: Era) -> Row:
    return {
        **picked(era, ("first", "last", "releases")),
        "names_arch": era.named,
        **picked(era.behaviour, ("verdict", "fold", "qlen_fold", "failure")),
        "replaced": list(era.replaced),
    }


def _tiles_row(found: History, each: Tiles) -> Row:
    shape: Row = plain(each.shape)
    del shape["num_heads"]
    return {
        "shape": shape,
        "names_arch": dict(zip(found.releases, each.named, strict=True)),
        "native": dict(zip(found.releases, map(list, each.native), strict=True)),
        "unknown": {
            release: list(unknown)
            for release, unknown in zip(found.releases, each.unknown, strict=True)
            if unknown
        },
    }


def history_svg(found: History, *, native: bool) -> str:
    """Tiles: a row for each shape, a column for each release from which on something is another.

    Args:
        native: whether to leave out head counts that are native in no release.
    """
    turns = found.turns
    lines = [
        each
        for each in found.lines
        if not native or any(behaviour.verdict is Verdict.NATIVE for behaviour in each.behaviours)
    ]
    common, names = _labels(lines)
    rows = tuple(
        (name, tuple(_tile(each.behaviours[at]) for at in turns))
        for name, each in zip(names, lines, strict=True)
    )
    used = {behaviour.verdict for each in lines for behaviour in each.behaviours}
    remark = "A column is a release from which on something is another than before."
    return tiles(
        Picture(
            title=_title(found),
            remarks=(common, remark) if lines else (remark,),
            columns=tuple(found.releases[at] for at in turns),
            rows=rows,
            legend=tuple((_tile(_example(v)), WORDS[v].meaning) for v in WORDS if v in used),
        )
    )


def _example(verdict: Verdict) -> Behaviour:
    return Behaviour(verdict=verdict, fold=2 if verdict is Verdict.FOLDED else 1)


def _tile(behaviour: Behaviour) -> Tile:
    word = WORDS[behaviour.verdict]
    if behaviour.verdict is Verdict.FOLDED:
        text = f"F{behaviour.fold}" if behaviour.fold > 1 else f"Q{behaviour.qlen_fold}"
        return Tile(text=text, style=fold_style(behaviour.passes), hint=behaviour.words)
    return Tile(text=word.short, style=word.style, hint=behaviour.words)


def _labels(lines: Sequence[Line]) -> tuple[str, list[str]]:
    """What all rows have in common, and what tells each from the others."""
    parts = [_setting(each.shape, heads=True).split(", ") for each in lines]
    common = [part for part in parts[0] if all(part in other for other in parts)] if parts else []
    own = ([part for part in each if part not in common] for each in parts)
    return ", ".join(common), [", ".join(a or b) for a, b in zip(own, parts, strict=True)]
