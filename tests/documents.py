"""The pages of the documentation, and what in them can be run.

In a block that is marked ``console`` a line ``$ mlaprobe ...`` is a command and what follows its
output, in which a line ``...`` stands for lines left out; ``# exit 10`` after a command is its exit
code where that is not 0. A ``yaml`` block whose first line is ``# NAME.yaml`` is a file of that
name, which the page's commands find. ``path/to/aiter`` is a git repository of AITER.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
REPOSITORY = "path/to/aiter"
RELEASE = re.compile(r"\brelease:(v[\w.-]+)")
_EXIT = re.compile(r"\s+# exit (\d+)$")
_BLOCK = re.compile(r"^(?P<fence>```+)(?P<kind>[a-z]*)\n(?P<text>.*?)^(?P=fence)$", re.M | re.S)


def pages() -> list[Path]:
    """Every page that people read, generated ones included."""
    named = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
    top = [ROOT / name for name in named if (ROOT / name).is_file()]
    return top + sorted((ROOT / "docs").rglob("*.md"))


def name_of(page: Path) -> str:
    """A page as one says it."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path, kind: str) -> list[str]:
    """The text of every block of a kind."""
    text = page.read_text(encoding="utf-8")
    return [m["text"] for m in _BLOCK.finditer(text) if m["kind"] == kind]


def prose(page: Path) -> str:
    """A page without its blocks."""
    return _BLOCK.sub("", page.read_text(encoding="utf-8"))


class Example(NamedTuple):
    """A command of a page."""

    command: str
    shown: tuple[tuple[str, ...], ...]
    """Pieces of the output, in order; each has no gap."""
    starts: bool
    """Whether the first piece is the start of the output."""
    code: int

    @property
    def words(self) -> list[str]:
        """The command without the program's name."""
        return shlex.split(self.command)[1:]

    @property
    def needs_git(self) -> bool:
        """Whether it asks a git repository."""
        return REPOSITORY in self.command


def examples(page: Path) -> Iterator[Example]:
    """The commands of a page, in order."""
    for block in blocks(page, "console"):
        for text in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = text.partition("\n")
            code = _EXIT.search(command)
            pieces = re.split(r"^\.\.\.\n", output, flags=re.MULTILINE)
            shown = tuple(tuple(p.splitlines()) for p in pieces if p)
            starts = bool(pieces[0])
            yield Example(_EXIT.sub("", command), shown, starts, int(code[1]) if code else 0)


def files(page: Path) -> dict[str, str]:
    """The files that a page shows whole."""
    found = {}
    for block in blocks(page, "yaml"):
        name = re.match(r"# ([\w.-]+\.ya?ml)\n", block)
        if name:
            found[name[1]] = block
    return found


def missing(shown: tuple[tuple[str, ...], ...], printed: str) -> str | None:
    """The first piece that is not in the output, behind the ones before it."""
    lines, at = [text.rstrip() for text in printed.splitlines()], 0
    for piece in shown:
        size = len(piece)
        starts = range(at, len(lines) - size + 1)
        found = next((s for s in starts if tuple(lines[s : s + size]) == piece), None)
        if found is None:
            return "\n".join(piece)
        at = found + size
    return None


def headings(page: Path) -> set[str]:
    """The anchors that a page has, as GitHub makes them."""
    found: set[str] = set()
    for heading in re.findall(r"^#{1,6} +(.+?) *$", prose(page), re.MULTILINE):
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        count = 1
        while slug in found:
            slug, count = f"{slug.removesuffix(f'-{count - 1}')}-{count}", count + 1
        found.add(slug)
    return found


def links(page: Path) -> list[str]:
    """Where a page's links lead."""
    text = re.sub(r"`[^`\n]*`", "", prose(page))
    return re.findall(r"\]\(([^)\s]+)\)", text)
