"""The part of MessagePack that the metadata note of a code object is written in.

Format: the MessagePack specification (github.com/msgpack/msgpack, spec.md). Extension types and
timestamps do not occur in the note; they are an error here.
"""

from __future__ import annotations

import struct
from typing import TypeAlias

Value: TypeAlias = "bool | int | float | str | bytes | list[Value] | dict[str, Value] | None"

_DEEPEST = 32
"""Levels of nesting; the note has four. Without a limit a crafted file exhausts the stack."""

_NUMBERS = dict(enumerate((">f", ">d", ">B", ">H", ">I", ">Q", ">b", ">h", ">i", ">q"), 0xCA))
_CONSTANTS: dict[int, bool | None] = {0xC0: None, 0xC2: False, 0xC3: True}
_LENGTHS = {
    **dict(enumerate((("bytes", ">B"), ("bytes", ">H"), ("bytes", ">I")), 0xC4)),
    **dict(enumerate((("text", ">B"), ("text", ">H"), ("text", ">I")), 0xD9)),
    **dict(enumerate((("list", ">H"), ("list", ">I"), ("map", ">H"), ("map", ">I")), 0xDC)),
}


class MessagePackError(ValueError):
    """The bytes are no MessagePack, or end too early."""


def unpack(data: bytes) -> Value:
    """The first value in ``data``; what follows it is ignored.

    :raises MessagePackError: the bytes are no MessagePack, or end too early.
    """
    return _Reader(data).value(0)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def value(self, depth: int) -> Value:
        if depth > _DEEPEST:
            raise MessagePackError("nested too deeply")
        first = self._take(1)[0]
        if first < 0x80:
            return first
        if first >= 0xE0:
            return first - 0x100
        if first in _CONSTANTS:
            return _CONSTANTS[first]
        if first in _NUMBERS:
            number: int | float = self._number(_NUMBERS[first])
            return number
        kind, length = self._head(first)
        if kind == "list":
            return [self.value(depth + 1) for _ in range(length)]
        if kind == "map":
            return dict(self._pair(depth) for _ in range(length))
        raw = self._take(length)
        return raw if kind == "bytes" else raw.decode("utf-8", "replace")

    def _head(self, first: int) -> tuple[str, int]:
        """What kind of value follows, and how many bytes or items it has."""
        if first < 0x90:
            return "map", first & 0x0F
        if first < 0xA0:
            return "list", first & 0x0F
        if first < 0xC0:
            return "text", first & 0x1F
        if first not in _LENGTHS:
            raise MessagePackError(f"a type that is not supported: {first:#04x}")
        kind, layout = _LENGTHS[first]
        return kind, int(self._number(layout))

    def _pair(self, depth: int) -> tuple[str, Value]:
        key = self.value(depth + 1)
        if not isinstance(key, str):
            raise MessagePackError("a key that is no text")
        return key, self.value(depth + 1)

    def _number(self, layout: str) -> int | float:
        number: int | float = struct.unpack(layout, self._take(struct.calcsize(layout)))[0]
        return number

    def _take(self, size: int) -> bytes:
        raw = self._data[self._at : self._at + size]
        if len(raw) < size:
            raise MessagePackError("the data ends too early")
        self._at += size
        return raw
