"""What the modules of a source set of each other, known without a look at them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class SetElsewhere:
    """Found for a source whose files are all the same (``Patches.set_elsewhere``)."""

    modules: frozenset[str] = frozenset()
    """The paths of the modules of which it is known."""
    everywhere: frozenset[str] = frozenset()
    """Names that may be set of any module: by code whose text does not tell which."""
    names: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Names that may be set of one module besides, by its path."""

    def rules_out(self, path: str, name: str) -> bool:
        """Whether no other module sets a name of a module."""
        if path not in self.modules or name in self.everywhere:
            return False
        return name not in self.names.get(path, ())
