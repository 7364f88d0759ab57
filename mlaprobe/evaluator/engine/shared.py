"""What the runs of one context share: an architecture and an environment."""

from __future__ import annotations

from collections.abc import Hashable

from mlaprobe.evaluator.values import Value


class SharedState:
    """The state of the program's modules, and what has been computed with it.

    The values of names are no cache: a name is evaluated once, as its module's code runs once.
    """

    __slots__ = ("finished", "imports", "names")

    def __init__(self, finished: SharedState | None = None) -> None:
        self.names: dict[Hashable, Value] = {}
        """The values of the names of modules."""
        self.finished: SharedState = self if finished is None else finished
        """The state in which all modules have been imported."""
        self.imports: dict[tuple[str, int], SharedState] = {}
        """The states in which a module has been run up to a statement."""

    def before(self, limit: tuple[str, int]) -> SharedState:
        """The state in which a module, by name, has been run up to one of its statements."""
        imports = self.finished.imports
        if limit not in imports:
            imports[limit] = SharedState(self.finished)
        return imports[limit]
