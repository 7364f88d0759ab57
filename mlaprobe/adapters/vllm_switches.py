"""What the adapters for vLLM read from the environment."""

from __future__ import annotations

import os

from mlaprobe.errors import UsageError
from mlaprobe.padding.request import Mode

PAD_TO_NATIVE_SHAPE = "VLLM_ROCM_AITER_MLA_PAD_TO_NATIVE_SHAPE"
ASM_PADDING = "VLLM_ROCM_AITER_MLA_ASM_PADDING"


class SwitchError(UsageError, ValueError):
    """An environment variable has a value that it may not have."""


def _switch(name: str, choices: tuple[str, ...], default: str) -> str:
    written = os.environ.get(name, "").strip() or default
    if written.lower() not in choices:
        raise SwitchError(f"{name} is {written!r}", hint=f"set it to one of {', '.join(choices)}")
    return written.lower()


def pad_to_native_mode() -> Mode:
    """How far heads are padded, as the environment says.

    Raises:
        SwitchError: it says something else.
    """
    return Mode(_switch(PAD_TO_NATIVE_SHAPE, ("auto", "off", "force"), "off"))


def small_head_mode() -> str:
    """Which kernel serves fewer than 16 heads, as the environment says: ``auto``, ``gluon`` or
    ``asm``.

    Raises:
        SwitchError: it says something else.
    """
    return _switch(ASM_PADDING, ("auto", "gluon", "asm"), "auto")
