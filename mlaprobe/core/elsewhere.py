"""What the modules of a source set of each other, known without a look at them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class SetElsewhere:
    """Found for a source whose files are all the same (``Patches.set_elsewhere``)."""

    modules: frozenset[str] = frozenset()
    """The paths of the modules of which it is known."""
    names: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By the path of a module of which others may set something: such names that are in its
    text."""

    def rules_out(self, path: str, text: str, name: str) -> bool:
        """Whether no other module sets a name of a module, whose text is ``text``."""
        if path not in self.modules:
            return False
        names = self.names.get(path)
        return names is None or (name in text and name not in names)
