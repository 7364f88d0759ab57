"""One hierarchy of errors. Each carries its data and a next step; none is printed here."""

from __future__ import annotations


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

    def render(self) -> str:
        """The error as the command line prints it, without a final newline."""
        lines = [f"error: {self.message}"]
        if self.file is not None:
            place = ":".join(str(p) for p in (self.file, self.line, self.column) if p is not None)
            lines.append(f"  --> {place}")
            if self.text is not None:
                lines.append(f"   | {self.text}")
                if self.column is not None:
                    lines.append("   | " + " " * (self.column - 1) + "^")
        if self.hint is not None:
            lines.append(f"help: {self.hint}")
        return "\n".join(lines)


class UsageError(MlaprobeError):
    """The question itself is wrong."""

    exit_code = 2


class SourceError(MlaprobeError):
    """A source cannot be read."""


class NotAiterError(SourceError):
    """What was named exists, and is not AITER."""


class OutOfRangeError(SourceError):
    """AITER, older than the first release whose MLA decode has a planner."""


class RuleError(MlaprobeError):
    """A rule file is wrong; carries file and line."""
