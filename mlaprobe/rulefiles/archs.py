"""What GPUs of an architecture have: ``rules/archs.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mlaprobe.core.caches import Cache, cached
from mlaprobe.rulefiles.loader import fields_of, load_rules
from mlaprobe.rulefiles.parts import REFERENCES
from mlaprobe.rulefiles.schema import ListOf, MapOf, Record, whole

SCHEMA = Record(
    required={
        "archs": MapOf(
            Record(
                required={"lds_bytes": whole(1), "reference": REFERENCES},
                optional={
                    "compute_units": whole(1),
                    "wave_size": whole(1),
                    "version": ListOf(whole(0), at_least=2),
                },
            )
        )
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arch:
    """The sizes of a GPU."""

    lds_bytes: int
    """The most LDS that a workgroup can have."""
    compute_units: int = 0
    """Of a whole GPU; 0 where that is not known. A part of one, or a smaller GPU, has fewer."""
    wave_size: int = 0
    """The lanes of a wave; 0 where that is not known."""
    version: tuple[int, ...] = ()
    """The first two parts of the graphics IP's version; none where they are not known."""
    reference: tuple[str, ...]


@cached(Cache.RULES)
def archs() -> Mapping[str, Arch]:
    """The known archs, by name.

    Raises:
        RuleError: the file is wrong.
    """
    entries = load_rules("archs", SCHEMA)["archs"]
    return {name: Arch(**fields_of(entry)) for name, entry in entries.items()}


def lds_limit(arch: str) -> int | None:
    """The most LDS in bytes that a workgroup can have; ``None`` for an arch that is not known."""
    known = archs().get(arch)
    return None if known is None else known.lds_bytes


def compute_units(arch: str) -> int:
    """The compute units of a whole GPU of an arch whose kernels can be emulated."""
    return archs()[arch].compute_units
