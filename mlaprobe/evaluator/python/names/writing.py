"""Where a text may write what a dotted name stands for: a look before anything is parsed. What
parsing shows to be written has to be seen here; more may be."""

from __future__ import annotations

import re
from collections.abc import Iterator

from mlaprobe.evaluator.python.names.attributes import MUTATORS

CHANGES = MUTATORS | {"__setitem__", "__delitem__", "__ior__", "__iadd__", "move_to_end"}
_NAME = re.compile(r"[A-Za-z_]\w*")
_PATH = re.compile(r"(?:[ \t]*\.[ \t]*\w+)*")
_END = r"(?:\s*[)\]])*[ \t]*"
_TARGET = r"(?:[\w.]+(?:\[[^\n\]]*\])*)?"
_OPERATOR = r"(?:[-+*/|&^%@]|//|\*\*|<<|>>)"
_ASSIGNED = re.compile(
    rf"{_END}(?:#[^\n]*)?(?:,(?:\s|#[^\n]*\n)*[(\[*]*{_TARGET}{_END}(?:#[^\n]*)?)*"
    rf"{_OPERATOR}?=(?!=)"
    r"|[ \t]*:[^\n=]*=(?!=)"
)
"""What stands behind a name that is assigned, alone or among others."""
_ADDED = re.compile(rf"[ \t]*{_OPERATOR}=")
_SUBSCRIPT = re.compile(r"[ \t]*\[(?![^\n\]]*\][ \t]*\()")
"""Of ``kernel[grid](...)`` nothing is written."""
_SHORT_TEXT = re.compile(r"\"[^\"\\\n]*\"|'[^'\\\n]*'")
_DOUBTFUL = re.compile(r"[;\"'\\#]|^[^(\[{]*[)\]}]")
"""What stands before a place that is not looked at in more detail."""
_CALLS = re.compile(r"[\w\])]$")
"""What stands before the brackets of a call."""
_OPENED = re.compile(r"[\w\])]\([ \t]*(?:#.*)?$")
_BINDS = re.compile(r"\bfor\b(?!.*\bin\b)|\bas\b|\bdel\b|\b(?:set|del|get)attr\(\s*$|\bvars\(\s*$")
_NAMED = re.compile(r"(?:^|;)[ \t]*(\w+)[ \t]*=[ \t]*$|(?:^|\W)(\w+)[ \t]*:=[ \t]*$")
"""What stands before a value that gets another name."""
_GOES_ON = re.compile(r"[ \t]*[.(\[]")
_BINDS_OVER = re.compile(r"\b(?:for|as)\b[\w\s.,()\[\]*]*$")
_MOST_LETTERS = 400
"""Of targets that stand before another one, over several lines."""
_BY_TEXT = ("__dict__", "__globals__", "__setattr__", "__delattr__", "__code__")
_COMPUTED = re.compile(r"\b(?:set|del)attr\b|__(?:set|del)attr__|\bvars\(|__dict__|__globals__")


def joined(text: str) -> str:
    """A text without line breaks inside of lines."""
    return text.replace("\\\n", " ") if "\\\n" in text else text


def dotted_names(text: str, name: str) -> Iterator[tuple[int, int, str]]:
    """Where a name stands: from, to, and the attributes behind it (``.a.b``)."""
    at = text.find(name)
    while at >= 0:
        end = at + len(name)
        if not is_part(text, at) and not is_word(text[end : end + 1]):
            path = _PATH.match(text, end)
            assert path is not None
            yield at, path.end(), "".join(path[0].split())
        at = text.find(name, end)


def may_write(text: str, start: int, end: int, path: str) -> bool:
    """Whether what stands from one place to another, a name with attributes, may be written, or
    what it holds."""
    before = _line_before(text, start)
    if before.lstrip().startswith("#"):
        return False
    if _BINDS.search(before) or any(word in path for word in _BY_TEXT):
        return True
    if path and _BINDS_OVER.search(text[max(0, start - _MOST_LETTERS) : start]):
        return True
    if _SUBSCRIPT.match(text, end) or _ADDED.match(text, end):
        return True
    if text[end : end + 1] == "(":
        return path.rpartition(".")[2] in CHANGES
    return bool(path and _ASSIGNED.match(text, end)) and not _is_argument(text, start)


def written_names(text: str) -> Iterator[str]:
    """The names that may be written, with attributes or without, or get another name."""
    for found in re.finditer(_NAME.pattern, text):
        start, end = found.span()
        if not is_part(text, start):
            path = _PATH.match(text, end)
            assert path is not None
            end = path.end()
            if may_write(text, start, end, path[0]) or other_name(text, start, end):
                yield found[0]


def other_name(text: str, start: int, end: int) -> str:
    """The name that gets the value that stands from one place to another, if that is all of it."""
    before = _NAMED.search(_line_before(text, start))
    if before is None or _GOES_ON.match(text, end):
        return ""
    return before[1] or before[2]


def may_store(text: str, name: str) -> bool:
    """Whether a text may set an attribute of that name of anything, or change its value."""
    return any(
        may_write(text, found.start(), found.end(), found[0])
        or _other_name_of_attribute(text, found.start(), found.end())
        for found in re.finditer(rf"\.[ \t]*{name}\b{_PATH.pattern}", text)
    )


def _other_name_of_attribute(text: str, start: int, end: int) -> bool:
    """Whether an attribute of a name gets another name."""
    before = re.search(r"[\w.]*$", _line_before(text, start))
    return before is not None and bool(other_name(text, start - len(before[0]), end))


def may_compute(text: str) -> bool:
    """Whether a text may set an attribute whose name it does not tell."""
    return bool(_COMPUTED.search(text))


def imports(text: str, at: int) -> bool:
    """Whether a place is in a line that imports, and does nothing else."""
    line = _line_before(text, at).lstrip()
    return line.startswith(("import ", "from ")) and ";" not in line


def is_part(text: str, at: int) -> bool:
    """Whether what begins at a place is part of another name, or an attribute."""
    return is_word(text[at - 1 : at]) or text[max(at - 1, 0) : at] == "."


def is_word(letter: str) -> bool:
    """Whether a letter may be one of a name."""
    return letter.isalnum() or letter == "_"


def _is_argument(text: str, at: int) -> bool:
    """Whether what stands at a place is an argument of a call: the innermost bracket that is open
    there follows a name, in the line or in the nearest one that is indented less."""
    before = _line_before(text, at)
    code = _SHORT_TEXT.sub("_", before)
    if _DOUBTFUL.search(code):
        return False
    opened = _last_open(code)
    if opened is not None:
        return bool(_CALLS.search(code[:opened]))
    depth, end = len(before) - len(before.lstrip()), at - len(before)
    while end > 0:
        line = _line_before(text, end - 1)
        end -= len(line) + 1
        code = line.lstrip()
        if code and not code.startswith("#") and len(line) - len(code) < depth:
            return bool(_OPENED.search(line)) and not _in_long_text(text, end)
    return False


def _last_open(code: str) -> int | None:
    """Where the innermost bracket stands that is open behind some code."""
    closed = 0
    for at in range(len(code) - 1, -1, -1):
        if code[at] in ")]}":
            closed += 1
        elif code[at] in "([{":
            if not closed:
                return at
            closed -= 1
    return None


def _in_long_text(text: str, at: int) -> bool:
    """Whether a place seems to be inside of a text of several lines."""
    return any(text.count(quotes, 0, at) % 2 for quotes in ('"""', "'''"))


def _line_before(text: str, at: int) -> str:
    return text[text.rfind("\n", 0, at) + 1 : at]
