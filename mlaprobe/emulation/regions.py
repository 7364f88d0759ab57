"""The memory of an emulated launch: every array that an argument points to, and the work metadata
that one of them points to in turn.
"""

from __future__ import annotations

from collections.abc import Mapping

from mlaprobe.emulation.arrays import Array, Arrays, Marks, memory_of, offset_in
from mlaprobe.emulation.batches.holding import Spread
from mlaprobe.emulation.inputs import Inputs
from mlaprobe.emulator.memory import Memory
from mlaprobe.stages.environment.placed import Placed
from mlaprobe.stages.launching import Launched

_OUTPUTS = ("split_data", "split_lse", "output", "lse", "valid_splits")
"""What of the entry point's tensors the kernel may write, by what they mean."""


class Regions:
    """Arrays in the address space of the device."""

    def __init__(
        self,
        memory: Memory,
        arrays: Arrays,
        launched: Launched,
        spread: Mapping[int, Spread],
    ) -> None:
        """``spread`` says of arrays, by the ids of those that own the memory, that they hold only
        some pages of a cache, and which."""
        self._memory = memory
        self._arrays = arrays
        self._spread = spread
        self._names: dict[int, str] = {}
        """By the array that owns the memory."""
        passed = (launched.passed.get(role) for role in _OUTPUTS)
        self._outputs = [tensor for tensor in passed if isinstance(tensor, Placed)]
        self._writable = {id(memory_of(arrays.of(tensor))) for tensor in self._outputs}

    def place_metadata(self, inputs: Inputs) -> None:
        """Places the work metadata, and writes where it is."""
        pointers, indptr, info = (
            inputs.get(name) for name in ("metadata", "work_indptr", "work_info")
        )
        if pointers is not None and indptr is not None and info is not None:
            table = self._arrays.of(pointers.tensor)
            for place, given in enumerate((indptr, info)):
                table[place] = self.address(given.tensor.name, given.tensor)

    def address(self, name: str, tensor: Placed) -> int:
        """The device address of a tensor's first element. ``name`` is what its memory is called,
        where it has no name yet."""
        array = self._arrays.of(tensor)
        owner = memory_of(array)
        known = self._names.get(id(owner))
        if known is None:
            known = self._names[id(owner)] = name
            self._place(name, owner)
        return self._memory.address(known) + offset_in(array, owner)

    def _place(self, name: str, owner: Array) -> None:
        spread = self._spread.get(id(owner))
        if spread is None:
            self._memory.place(name, owner, writable=id(owner) in self._writable)
            return
        size = spread.page_bytes
        pages = zip(spread.places.tolist(), owner, strict=True)
        parts = {place * size: page for place, page in pages}
        self._memory.spread(name, spread.num_pages * size, parts)

    def take_back(self, marks: Marks) -> None:
        """Copies what the kernel wrote to the arrays, and marks it."""
        for tensor in self._outputs:
            owner = memory_of(self._arrays.of(tensor))
            name = self._names.get(id(owner))
            if name is not None:
                owner[...] = self._memory.read(name)
                written: Array = memory_of(marks.of(tensor))
                written[...] = self._memory.written(name).reshape(written.shape)
