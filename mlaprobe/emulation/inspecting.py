"""What is in a code object, and whether the emulator knows all of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from mlaprobe.core.blobs import blob_hash
from mlaprobe.emulator.disassembly import disassemble
from mlaprobe.emulator.machine import unmodelled
from mlaprobe.errors import SourceError
from mlaprobe.kernels.codeobject import CodeObject


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelFacts:
    """A kernel of a code object."""

    co: str
    """The path of the code object."""
    blob: str | None
    """Its git blob id; ``None`` where the source does not hold it."""
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
    """Why the file cannot be read, or what of its code is not known."""

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
    counts = Counter(line.mnemonic for line in disassemble(code))
    strange = counts.pop("", 0)
    problem = f"{strange} words of code are no instruction that is known" if strange else None
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
            without_rule=tuple(sorted(unmodelled(code) - {".long"})),
            problem=problem,
        )
        for kernel in code.kernels
    )


def missing(co: str) -> KernelFacts:
    """What is to be said of a code object that a table names and the source does not hold."""
    return KernelFacts(co=co, blob=None, problem="the source does not hold this file")
