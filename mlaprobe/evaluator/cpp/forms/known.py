"""What has been found out of the classes and functions of a unit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.cpp.forms import implicit, methods
from mlaprobe.evaluator.values import Unknown
from mlaprobe.evaluator.values.bodies import Body
from mlaprobe.evaluator.values.kinds import StructType
from mlaprobe.evaluator.values.structs import StructLayout
from mlaprobe.evaluator.walk import walk

if TYPE_CHECKING:
    from mlaprobe.evaluator.cpp.unit import CppModule


class Known:
    """What is asked again and again of classes and functions, each found once."""

    def __init__(self, module: CppModule) -> None:
        self._module = module
        self._acting: dict[Body, ir.Node | None] = {}
        self._mentioned: dict[ir.Function, frozenset[str]] = {}
        self.layouts: dict[str, StructLayout | Unknown] = {}
        """The layouts of structs, by name: each launch asks for that of its arguments."""

    def acting(self, struct: StructType) -> ir.Node | None:
        """Where what objects of a class do on their own may do more than is followed."""
        if struct.body not in self._acting:
            classes = methods.above(self._module, struct) or (struct,)
            self._acting[struct.body] = implicit.acts(self._module, classes)
        return self._acting[struct.body]

    def names_in(self, function: ir.Function) -> frozenset[str]:
        """The names that a function mentions."""
        found = self._mentioned.get(function)
        if found is None:
            names = (n.id for n in walk((function,)) if isinstance(n, ir.Name))
            found = self._mentioned[function] = frozenset(names)
        return found
