"""Too little memory, which is no failure like the others."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from mlaprobe.decode.interface import DecodeError
from mlaprobe.decode.tensors import torch

_HOST = "DefaultCPUAllocator: can't allocate memory"
"""How PyTorch says that the host's memory is not enough: with an error of no kind of its own."""


class OutOfMemoryError(DecodeError):
    """The device has not enough memory for a problem."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"there is not enough memory: {reason}", hint="use a smaller batch or fewer KV tokens"
        )


def is_out_of_memory(error: Exception) -> bool:
    """Whether an error of PyTorch says that memory is short."""
    return isinstance(error, torch().OutOfMemoryError) or _HOST in str(error)


@contextlib.contextmanager
def memory_watched() -> Iterator[None]:
    """Turns PyTorch's errors about memory into one that can be explained.

    Raises:
        OutOfMemoryError: memory is short.
    """
    try:
        yield
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        raise OutOfMemoryError(first_line(error)) from error


def check_host_memory(needed: int) -> None:
    """Checks that the host has that many bytes to spare: an operating system may end some process
    instead of refusing an allocation.

    Raises:
        OutOfMemoryError: it has not.
    """
    try:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):  # a system that does not say
        return
    if needed > free:
        raise OutOfMemoryError(f"{needed / 2**30:.1f} GiB are needed, {free / 2**30:.1f} are free")


def first_line(error: Exception) -> str:
    """What an error says, without what follows."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else "no message"
