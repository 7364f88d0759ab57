"""Numbers in few characters, as the page's script reads them."""

from __future__ import annotations

from collections.abc import Iterable

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def base36(number: int) -> str:
    """A number of no sign in few characters, as JavaScript's ``parseInt(text, 36)`` reads it."""
    digits = ""
    while True:
        number, rest = divmod(number, 36)
        digits = _DIGITS[rest] + digits
        if not number:
            return digits


def runs(numbers: Iterable[int]) -> str:
    """Numbers with equal neighbours written once: ``3*8 0 12*2``, in base 36."""
    parts: list[str] = []
    last, count = -1, 0
    for number in (*numbers, -1):
        if number == last:
            count += 1
            continue
        if count:
            parts.append(base36(last) + (f"*{base36(count)}" if count > 1 else ""))
        last, count = number, 1
    return " ".join(parts)
