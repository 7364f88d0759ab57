"""Operators of two values, of which either may be a pointer."""

from __future__ import annotations

import numpy as np

from mlaprobe.emulation.device import arithmetic
from mlaprobe.emulation.device.kinds import BOOL, PointerTo, Scalar
from mlaprobe.emulation.device.machine import Machine
from mlaprobe.emulation.device.places import shifted
from mlaprobe.emulation.device.signals import NotFollowed
from mlaprobe.emulation.device.values import Address, Value, address


def operate(m: Machine, op: str, left: Value, right: Value) -> Value:
    """An operator of two values: numbers or pointers."""
    if type(left.type) is Scalar and type(right.type) is Scalar:
        return arithmetic.binary(op, left, right, m.mask)
    pointers = [isinstance(v.data, Address) for v in (left, right)]
    if op in ("==", "!=") and (all(pointers) or isinstance(left.data, (str, type(None)))):
        return _same(op, left, right)
    if op == "+" and pointers == [False, True]:
        left, right, pointers = right, left, [True, False]
    if op in "+-" and pointers == [True, False] and isinstance(left.type, PointerTo):
        sign = 1 if op == "+" else -1
        there = shifted(address(left), left.type.target, right, sign)
        return Value(left.type, there)
    raise NotFollowed(f"the operator {op} of a {left.type.name} and a {right.type.name}")


def _same(op: str, left: Value, right: Value) -> Value:
    a, b = left.data, right.data
    if isinstance(a, Address) and isinstance(b, Address):
        if isinstance(a.offset, np.ndarray) or isinstance(b.offset, np.ndarray):
            raise NotFollowed("pointers are compared that differ between threads")
        same = a.block is b.block and (a.block is None or a.offset == b.offset)
    elif isinstance(b, Address) and b.block is None:
        same = a is None  # a text that getenv did not find
    else:
        raise NotFollowed(f"a {left.type.name} is compared with a {right.type.name}")
    return Value(BOOL, same == (op == "=="))
