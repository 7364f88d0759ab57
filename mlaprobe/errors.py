"""One hierarchy of errors. Each carries its data and a next step; none is printed here."""

from __future__ import annotations

MOST_TEXT = 160
"""Characters of a source line that are shown."""


class MlaprobeError(Exception):
    """Anything that mlaprobe can explain.

    ``exit_code`` is what the command line returns for it: 1 for a source that cannot be read,
    2 for wrong usage.
    """

    exit_code = 1

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        text: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.file = file
        self.line = line
        self.column = column
        self.text = text
        """The source line that the position is in, where it is at hand."""

    def __reduce__(self) -> tuple[object, ...]:
        """An error goes from a worker to its parent as it is, whatever its class is made of."""
        return _same_error, (type(self), self.args, vars(self))

    def render(self) -> str:
        """The error as the command line prints it, without a final newline."""
        lines = [f"error: {self.message}"]
        if self.file is not None:
            place = ":".join(str(p) for p in (self.file, self.line, self.column) if p is not None)
            lines.append(f"  --> {place}")
            if self.text is not None:
                lines += _excerpt(self.text, self.column)
        if self.hint is not None:
            lines.append(f"help: {self.hint}")
        return "\n".join(lines)


def _same_error(
    kind: type[MlaprobeError], args: tuple[object, ...], state: dict[str, object]
) -> MlaprobeError:
    """An error made anew from what it holds: how it is constructed is its class's own."""
    error = kind.__new__(kind, *args)
    vars(error).update(state)
    return error


def _excerpt(text: str, column: int | None) -> list[str]:
    """A source line with a caret below it; of a long line what is around the caret."""
    cut = 0
    if column is not None and len(text) > MOST_TEXT:
        cut = max(0, column - 1 - MOST_TEXT // 2)
    lines = [f"   | {text[cut : cut + MOST_TEXT]}"]
    if column is not None:
        lines.append("   | " + " " * (column - 1 - cut) + "^")
    return lines


class UsageError(MlaprobeError):
    """The question itself is wrong."""

    exit_code = 2


class SourceError(MlaprobeError):
    """A source cannot be read."""


class NotInstalledError(SourceError):
    """No AITER is installed in this environment."""


class NotAiterError(SourceError):
    """What was named exists, and is not AITER."""


class UnrelatedPackageError(NotInstalledError, NotAiterError):
    """No AITER is installed: the package of its name is PyPI's unrelated one."""


class OutOfRangeError(SourceError):
    """AITER, older than the first release whose MLA decode has a planner."""


class RuleError(MlaprobeError):
    """A rule file is wrong; carries file and line. Whatever goes by the rules may raise it."""


class InputFileError(RuleError, UsageError):
    """A file that somebody wrote for mlaprobe to read (deployments, waivers, a cost profile) is
    wrong; carries file and line."""
