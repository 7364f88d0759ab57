"""Formulas worked out without being compiled: a second opinion on ``compile_expr``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mlaprobe.evaluator.symbolic.formulas import FUNCTIONS, Expr


def value_of(expr: Expr, inputs: Mapping[str, int]) -> Any:
    """What an expression is for certain inputs."""
    if type(expr) is str:
        return inputs[expr]
    if type(expr) is tuple and type(expr[0]) is str and expr[0] in FUNCTIONS:
        right = expr[2] if expr[0] in ("fits", "in") else value_of(expr[2], inputs)
        return FUNCTIONS[expr[0]](value_of(expr[1], inputs), right)
    return float(expr) if isinstance(expr, float) else expr
