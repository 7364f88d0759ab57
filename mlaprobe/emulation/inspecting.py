"""What is in a code object, and whether the emulator knows all of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from mlaprobe.core.blobs import blob_hash
from mlaprobe.emulator.decoding import decode_all
from mlaprobe.emulator.errors import UnmodelledError
from mlaprobe.emulator.semantics import RULES
from mlaprobe.errors import SourceError
from mlaprobe.kernels.codeobject import CodeObject


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFacts:
    """A kernel of a code object."""

    co: str
    """The path of the code object."""
    blob: str
    """Its git blob id."""
    arch: str = ""
    symbol: str = ""
    lds_bytes: int = 0
    """LDS of a workgroup."""
    vgprs: int = 0
    """Vector registers of a lane, accumulation registers among them."""
    accumulation: int = 0
    """How many of them are accumulation registers."""
    argument_bytes: int = 0
    """By the metadata note."""
    workgroup_size: int = 0
    """Lanes of a workgroup."""
    instructions: int = 0
    mnemonics: tuple[tuple[str, int], ...] = ()
    """Each with how often it is there, sorted by name."""
    without_rule: tuple[str, ...] = ()
    """The mnemonics that the emulator has no rule for."""
    problem: str | None = None
    """Why the file cannot be read, or where the code is not known."""

    @property
    def runs(self) -> bool:
        """Whether the emulator knows every instruction."""
        return not self.without_rule and self.problem is None


def facts(co: str, data: bytes) -> tuple[KernelFacts, ...]:
    """The kernels of a code object; one without a symbol where it cannot be read."""
    blob = blob_hash(data)
    try:
        code = CodeObject.read(data)
    except SourceError as error:
        return (KernelFacts(co=co, blob=blob, problem=error.message),)
    counts: Counter[str] = Counter()
    problem = None
    try:
        for instruction in decode_all(code.image, code.text_start, code.text_end, code.arch):
            counts[instruction.mnemonic] += 1
    except UnmodelledError as stop:
        problem = str(stop)
    return tuple(
        KernelFacts(
            co=co,
            blob=blob,
            arch=code.arch,
            symbol=kernel.symbol,
            lds_bytes=kernel.lds_bytes,
            vgprs=kernel.vgprs,
            accumulation=max(0, kernel.vgprs - kernel.accum_offset),
            argument_bytes=kernel.kernarg_bytes,
            workgroup_size=kernel.workgroup_size,
            instructions=counts.total(),
            mnemonics=tuple(sorted(counts.items())),
            without_rule=tuple(sorted(name for name in counts if name not in RULES)),
            problem=problem,
        )
        for kernel in code.kernels
    )
