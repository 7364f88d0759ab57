"""A C++ file with what it includes from the same source, as the compiler would see it.

One pass over the directives of a file, in order and through its includes, records which macros
are defined where and which text is active. Macros are expanded later, only in the pieces of code
that are looked up.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import groupby
from operator import itemgetter

from mlaprobe.core.caches import Cache, cache
from mlaprobe.evaluator.cpp.conditions import Condition, ConditionError
from mlaprobe.evaluator.cpp.directives import Directive, directives
from mlaprobe.evaluator.cpp.macros import MAX_TOKENS, Expander, ExpansionError, Macro, parse_define
from mlaprobe.evaluator.cpp.tokens import Token, blank, tokenize, without_comments

_INCLUDE = re.compile(r"""\s*(?:"([^"\n]+)"|<([^>\n]+)>)""")
DOUBT = "_D();"
"""What stands in the active text for a condition that could not be evaluated: a call of something
that does not exist, so that code around it may do anything. No directive is shorter."""
MAX_INCLUDES = 400
MAX_DEPTH = 40

Read = Callable[[str], "str | None"]


@dataclass(slots=True)
class Included:
    """One file of a translation unit, as it is included there."""

    path: str
    code: str
    """The active text: comments, directives and inactive parts are blanked."""
    marks: list[int] = field(default_factory=list)
    """Offsets behind which another macro state holds,"""
    states: list[int] = field(default_factory=list)
    """and how many macro events had happened by then."""
    includes: list[tuple[int, Included]] = field(default_factory=list)
    """(offset, file) of what it includes from the same source."""


class TranslationUnit:
    """The files of one unit in order of inclusion, and the macros at every place."""

    def __init__(
        self,
        read: Read,
        path: str,
        *,
        include_dirs: Iterable[str] = (),
        predefined: Iterable[str] = (),
    ) -> None:
        """``predefined`` are definitions as they would stand behind ``#define``."""
        self._read = read
        self._dirs = tuple(include_dirs)
        self._events: dict[str, tuple[list[int], list[Macro | None]]] = {}
        self._count = 0
        self._once: set[str] = set()
        self._stripped: dict[str, str] = cache(Cache.SPELLINGS)
        self.files: list[Included] = []
        for text in predefined:
            macro = parse_define(tokenize(text, "<predefined>"))
            if macro is not None:
                self._define(macro)
        self.root = self._include(path, 0)

    # --- reading ---------------------------------------------------------------------------------

    def text(self, path: str) -> str:
        """The text of a file without comments."""
        found = self._stripped.get(path)
        if found is None:
            found = self._stripped[path] = without_comments(self._read(path) or "")
        return found

    def _include(self, path: str, depth: int) -> Included | None:
        if self._read(path) is None or len(self.files) >= MAX_INCLUDES or depth > MAX_DEPTH:
            return None
        unit = Included(path, "")
        self.files.append(unit)
        unit.marks.append(0)
        unit.states.append(self._count)
        _Pass(self, unit, self.text(path), depth).run()
        return unit

    def resolve(self, name: str, path: str, quoted: bool) -> str | None:
        """The file that an include names, or ``None`` where the source does not hold it."""
        folders = [posixpath.dirname(path), *self._dirs] if quoted else list(self._dirs)
        for folder in folders:
            candidate = posixpath.normpath(posixpath.join(folder, name))
            if not candidate.startswith("..") and self._read(candidate) is not None:
                return candidate
        return None

    # --- macros ----------------------------------------------------------------------------------

    def _define(self, macro: Macro) -> None:
        self._event(macro.name, macro)

    def _event(self, name: str, macro: Macro | None) -> None:
        self._count += 1
        counts, macros = self._events.setdefault(name, ([], []))
        counts.append(self._count)
        macros.append(macro)

    def macro(self, name: str, state: int) -> Macro | None:
        """The macro that a name stands for after ``state`` events."""
        found = self._events.get(name)
        if found is None:
            return None
        at = bisect_right(found[0], state) - 1
        return found[1][at] if at >= 0 else None

    def spellings(self, name: str) -> tuple[str, ...]:
        """Macros whose use may define a name that the text itself does not spell: their bodies,
        or those of macros that they use, hold it or paste it together."""
        holding, pasting = self._pieces
        made = {*holding.get(name, ()), *(m for piece, m in pasting if _pastes(piece, name))}
        todo = list(made)
        while todo:
            new = holding.get(todo.pop(), set()) - made
            made |= new
            todo.extend(new)
        return tuple(sorted(made))

    @cached_property
    def _pieces(self) -> tuple[dict[str, set[str]], tuple[tuple[str, str], ...]]:
        """By name, the macros whose bodies hold it; and the pieces that are pasted to something
        else (marked on that side) with their macro."""
        holding: dict[str, set[str]] = {}
        pasting: dict[tuple[str, str], None] = {}
        for name, (_, macros) in self._events.items():
            for piece in (p for m in macros if m is not None for p in _pieces_of(m)):
                if "##" in piece:
                    pasting[piece, name] = None
                else:
                    holding.setdefault(piece, set()).add(name)
        return holding, tuple(pasting)

    def expand(self, unit: Included, start: int, end: int) -> list[Token]:
        """The tokens of a piece of active text with all macros expanded.

        Raises:
            ExpansionError: a macro call that cannot be expanded.
        """
        found: list[Token] = []
        budget = MAX_TOKENS
        # A macro's body has the meaning of the place where the macro is used, so each part of
        # the text between two definitions is expanded by itself.
        for state, parts in groupby(self._tokens(unit, start, end), key=itemgetter(0)):
            tokens = [token for _, part in parts for token in part]
            expander = Expander(partial(self.macro, state=state), self._events, budget)
            found += expander.expand(tokens)
            budget = expander.budget
        return found

    def _tokens(self, unit: Included, start: int, end: int) -> Iterator[tuple[int, list[Token]]]:
        """The tokens of a piece, each part with how many macro events had happened there; a file
        included in its midst stands where it is included."""
        inside = {offset: inner for offset, inner in unit.includes if start < offset < end}
        first = bisect_right(unit.marks, start)
        last = bisect_left(unit.marks, end)
        marks = zip(unit.marks[first:last], unit.states[first:last], strict=True)
        at, state = start, unit.states[first - 1]
        for mark, following in marks:
            if following != state or mark in inside:
                yield state, tokenize(unit.code, unit.path, at, mark)
                if mark in inside:
                    inner = inside[mark]
                    yield from self._tokens(inner, 0, len(inner.code))
                at, state = mark, following
        yield state, tokenize(unit.code, unit.path, at, end)


@dataclass(slots=True, eq=False)
class _Pass:
    """The directives of one file."""

    unit: TranslationUnit
    file: Included
    text: str
    depth: int
    stack: list[list[bool]] = field(init=False, default_factory=list)
    """Per open condition: [active now, some branch was taken, the outside is active]."""
    doubts: int = 0
    """How many conditions could not be evaluated."""

    @property
    def active(self) -> bool:
        return all(level[0] for level in self.stack)

    def run(self) -> None:
        """Fill the file's active text and marks."""
        parts: list[str] = []
        last = 0
        for each in directives(self.text, self.file.path):
            piece = self.text[last : each.start]
            parts.append(piece if self.active else blank(piece))
            blanked = each.blanked
            last = each.end
            doubts = self.doubts
            self._directive(each)
            if self.doubts > doubts:
                blanked = DOUBT + blanked[len(DOUBT) :]
            parts.append(blanked)
            self.file.marks.append(last)
            self.file.states.append(self.unit._count)
        piece = self.text[last:]
        parts.append(piece if self.active else blank(piece))
        self.file.code = "".join(parts)

    def _directive(self, each: Directive) -> None:
        name, rest = each.name, each.rest
        if name in ("if", "ifdef", "ifndef"):
            self._open(name, each)
        elif name in ("elif", "elifdef", "elifndef", "else", "endif"):
            self._continue(name, each)
        elif not self.active:
            return
        elif name == "define":
            if (macro := each.macro) is not None:
                self.unit._define(macro)
        elif name == "undef":
            self.unit._event(rest.strip(), None)
        elif name == "include":
            self._include(each)
        elif name == "pragma" and rest.strip() == "once":
            self.unit._once.add(self.file.path)

    def _include(self, each: Directive) -> None:
        found = _INCLUDE.match(each.rest)
        if found is None:  # named by a macro
            return
        name = found.group(1) or found.group(2)
        path = self.unit.resolve(name, self.file.path, found.group(1) is not None)
        if path is not None and path not in self.unit._once:
            inner = self.unit._include(path, self.depth + 1)
            if inner is not None:
                self.file.includes.append((each.end, inner))

    def _open(self, name: str, each: Directive) -> None:
        outside = self.active
        value = self._test(name, each) if outside else False
        # neither branch of a condition that is not known is taken: what they hold is missing
        self.stack.append([value is True, value is not False, outside])

    def _continue(self, name: str, each: Directive) -> None:
        if not self.stack:
            return
        if name == "endif":
            self.stack.pop()
            return
        level = self.stack[-1]
        level[0] = False
        if level[2] and not level[1]:
            test = {"elifdef": "ifdef", "elifndef": "ifndef"}.get(name, "if")
            value = True if name == "else" else self._test(test, each)
            level[0] = value is True
            level[1] = value is not False

    def _test(self, name: str, each: Directive) -> bool | None:
        """Whether a condition holds; ``None`` where that is not known."""
        if name in ("ifdef", "ifndef"):
            known = self.unit.macro(next(iter(each.rest.split()), ""), self.unit._count)
            return (known is not None) == (name == "ifdef")
        tokens = self._defined(each.tokens)
        try:
            lookup = partial(self.unit.macro, state=self.unit._count)
            expanded = Expander(lookup, self.unit._events).expand(tokens)
            return Condition(expanded).value() != 0
        except (ConditionError, ExpansionError):
            self.doubts += 1
            return None

    def _defined(self, tokens: list[Token]) -> list[Token]:
        """``defined X`` and ``__has_include(...)`` replaced by their values."""
        out: list[Token] = []
        at = 0
        while at < len(tokens):
            token = tokens[at]
            if token.text in ("defined", "__has_include", "__has_builtin", "__has_cpp_attribute"):
                inner, at = _operand(tokens, at + 1)
                value = False
                if token.text == "defined" and inner:
                    value = self.unit.macro(inner[0].text, self.unit._count) is not None
                out.append(token._replace(kind="number", text=str(int(value))))
                continue
            out.append(token)
            at += 1
        return out


def _pieces_of(macro: Macro) -> Iterator[str]:
    body, params = macro.body, {*(macro.params or ()), macro.variadic}
    for at, token in enumerate(body):
        if token.kind == "name" and token.text not in params:
            before = at > 0 and body[at - 1].text == "##"
            behind = at + 1 < len(body) and body[at + 1].text == "##"
            yield f"{'##' if before else ''}{token.text}{'##' if behind else ''}"


def _pastes(piece: str, name: str) -> bool:
    """Whether a name may be a pasted piece and something else."""
    bare = piece.strip("#")
    return name != bare and (
        (piece.startswith("##") and name.endswith(bare))
        or (piece.endswith("##") and name.startswith(bare))
    )


def _operand(tokens: list[Token], at: int) -> tuple[list[Token], int]:
    """The operand of ``defined``: a name, or anything in parentheses."""
    if at < len(tokens) and tokens[at].text == "(":
        end = next((i for i in range(at, len(tokens)) if tokens[i].text == ")"), len(tokens))
        return tokens[at + 1 : end], end + 1
    return tokens[at : at + 1], at + 1
