"""How a run of device code ends early."""

from __future__ import annotations

from mlaprobe.evaluator.ir import NOWHERE, Span


class NotFollowed(Exception):
    """Something without a rule; nothing is known of what the code does from there on."""

    def __init__(self, reason: str, span: Span = NOWHERE) -> None:
        super().__init__(reason)
        self.reason = reason
        self.span = span
        """The innermost statement, where it is known."""


class Undetermined(NotFollowed):
    """The language, or the hardware, leaves open what happens: something is read that nothing
    wrote, two waves race, signed arithmetic overflows."""


class OutsideAccess(Undetermined):
    """An access beyond the end, or before the beginning, of a buffer."""

    def __init__(self, kind: str, buffer: str, offset: int, size: int) -> None:
        super().__init__(f"{kind} at byte {offset} of {buffer}, which has {size}")
        self.kind = kind
        """``read`` or ``write``."""
        self.buffer = buffer
        self.offset = offset
        """Bytes from the beginning of the buffer."""
