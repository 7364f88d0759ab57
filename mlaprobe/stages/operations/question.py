"""A shape as the arguments of the functions that carry an operation out."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Mapping
from typing import Any

from mlaprobe.core.caches import Cache, cached
from mlaprobe.core.shape import DecodeShape
from mlaprobe.evaluator import ir
from mlaprobe.evaluator.values import Unknown
from mlaprobe.evaluator.values.operators import binary
from mlaprobe.rulefiles.operations import FLAGS, NOTHING, ONE_TOKEN, Entry, Function, parsed
from mlaprobe.stages.batches import batch_of, plus_one
from mlaprobe.stages.dispatching.dispatched import REQUESTS
from mlaprobe.stages.environment.dtypes import DtypeToken, dtype_for
from mlaprobe.stages.environment.tensors import Tensor

_USUAL = {"qlen": ONE_TOKEN, "page_size": 1}
_FIELDS = {"heads": "num_heads", "kv_heads": "num_kv_heads", "qlen": "qlen"}
_OPERATORS: Mapping[type, str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
}


def inputs_of(shape: DecodeShape, entry: Entry) -> dict[str, int]:
    """The numbers and flags of a question, which its runs can be shared over."""
    found = _given(shape, entry)
    return {name: value for name, value in found.items() if isinstance(value, int)}


def _given(shape: DecodeShape, entry: Entry) -> dict[str, Any]:
    """The fields of its question; what is left open is unknown."""
    named = {name: getattr(shape, _FIELDS.get(name, name)) for name in entry.axes}
    return {name: value for name, value in named.items() if name != "batch" and value is not None}


def family(shape: DecodeShape, entry: Entry, stage: str) -> Hashable:
    """What questions of a stage that can share a run have in common."""
    names = tuple(inputs_of(shape, entry))
    return (entry.key, stage, shape.q_dtype, shape.kv_dtype, shape.batch, names)


def plan_family(shape: DecodeShape, entry: Entry, stage: str, function: Function) -> Hashable:
    """The same where the answer is that of one function, whatever it is asked for: of dtypes that
    its arguments do not have, nothing depends. (A plan of prefill has none: of nine runs in a
    report three are left, of 0.2 s each.)"""
    names = tuple(inputs_of(shape, entry))
    dtypes = {"q": shape.q_dtype, "kv": shape.kv_dtype}
    used = {name: dtype for name, dtype in dtypes.items() if function.passes(name)}
    own = shape.kv_dtype if str(shape.kv_dtype) in function.arguments_on else None
    return (entry.key, stage, tuple(used.items()), own, shape.batch, names)


def arguments_of(
    shape: DecodeShape, entry: Entry, function: Function, inputs: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments of a function by the names of its parameters. ``inputs`` are numbers and
    flags, or symbols for them."""
    values = _Values(shape, entry, inputs)
    passed = function.passed(shape)
    return {name: values.of(name, _tree(text)) for name, text in passed.items()}


@cached(Cache.NAMES, 256)
def _tree(text: str) -> ast.expr:
    return parsed(text)


class _Values:
    """The values of expressions for one question."""

    def __init__(self, shape: DecodeShape, entry: Entry, inputs: Mapping[str, Any]) -> None:
        self._arch = shape.arch
        self._dtypes = {"q": shape.q_dtype.value, "kv": shape.kv_dtype.value}
        batch = batch_of(shape.batch)
        flags = {name: getattr(shape, name) for name in FLAGS}
        given = _given(shape, entry)
        self._names: dict[str, Any] = {
            "qlen": ONE_TOKEN,
            "page_size": 1,
            **flags,
            **given,
            **inputs,
        }
        self._names["batch"] = batch
        self._names["indptr"] = plus_one(batch)
        requests = shape.batch or REQUESTS
        self._names["tokens"] = binary("*", requests, self._names["qlen"], ir.NOWHERE)
        if "kv_heads" not in self._names:
            self._names["kv_heads"] = self._value("kv_heads", _tree(entry.kv_heads))

    def of(self, name: str, node: ast.expr) -> Any:
        """The value of an argument."""
        if not isinstance(node, ast.Subscript):
            return self._value(name, node)
        dims = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        assert isinstance(node.value, ast.Name)
        return Tensor(name, tuple(self._value(name, d) for d in dims), self._dtype(node.value.id))

    def _dtype(self, name: str) -> DtypeToken:
        if name in self._dtypes:
            return dtype_for(self._dtypes[name], self._arch)
        return dtype_for(name, self._arch) if name == "fp8" else DtypeToken(name)

    def _value(self, name: str, node: ast.expr) -> Any:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            if node.id == NOTHING:
                return None
            if node.id == "pages":
                return Unknown("the number of pages", key=("pages",), free="data")
            if node.id == "some":
                return Unknown(f"the size of {name}", key=("size", name), free="data")
            return self._names[node.id]
        assert isinstance(node, ast.BinOp)
        left, right = self._value(name, node.left), self._value(name, node.right)
        return binary(_OPERATORS[type(node.op)], left, right, ir.NOWHERE)
