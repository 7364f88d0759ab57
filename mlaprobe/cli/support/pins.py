"""Writing the pin of ``mlaprobe check``."""

from __future__ import annotations

from typing import Any

from mlaprobe.errors import UsageError


def pin_text(answers: Any, spec: str) -> str:
    """The snapshot of a source, as a file holds it.

    Raises:
        UsageError: the source is a snapshot itself; copying it is a matter of a file.
        SourceError: a file of the source cannot be read.
    """
    from mlaprobe.deciding.capability import Capability
    from mlaprobe.opening.shortcut import KnownRevision
    from mlaprobe.snapshot.making import make

    if isinstance(answers, KnownRevision):
        answers = answers.live
    if not isinstance(answers, Capability):
        raise UsageError(
            f"--accept: {spec} is a snapshot already",
            hint="copy it, or make one: mlaprobe snapshot -o FILE",
        )
    return make(answers)
