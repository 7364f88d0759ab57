"""How a statement leaves the normal order."""

from __future__ import annotations

from typing import Any


class Returned:
    """The function returns."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class _Signal:
    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


BREAK = _Signal("break")
CONTINUE = _Signal("continue")
