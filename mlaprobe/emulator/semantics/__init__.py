"""What each instruction does: a table from mnemonic to a rule for each group of formats."""

from __future__ import annotations

from mlaprobe.emulator.program import Rule
from mlaprobe.emulator.semantics import (
    compares,
    flow,
    lane_moves,
    lds,
    matrices,
    memory_access,
    packed,
    scalar,
    scaled,
    vector_floats,
    vector_integers,
)

RULES: dict[str, Rule] = {
    **scalar.RULES,
    **flow.RULES,
    **vector_integers.RULES,
    **vector_floats.RULES,
    **scaled.RULES,
    **compares.RULES,
    **lane_moves.RULES,
    **packed.RULES,
    **matrices.RULES,
    **lds.RULES,
    **memory_access.RULES,
}
"""The rule of every mnemonic that has one."""
