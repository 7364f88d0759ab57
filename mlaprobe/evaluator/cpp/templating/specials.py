"""Which specialisation of a template some arguments mean, the partial ones among them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from mlaprobe.evaluator import ir
from mlaprobe.evaluator.cpp.forms.templates import PACK
from mlaprobe.evaluator.ir import Span
from mlaprobe.evaluator.values import Args, Unknown, Value, unknown_in
from mlaprobe.evaluator.values.comparing import equals
from mlaprobe.evaluator.walk import walk

if TYPE_CHECKING:
    from mlaprobe.evaluator.cpp.definitions import Specialisation
    from mlaprobe.evaluator.cpp.unit import CppModule
    from mlaprobe.evaluator.engine.runs import Run

Bound = dict[str, Value]


class Chosen(NamedTuple):
    """A specialisation, and what its own parameters are."""

    value: Specialisation
    bound: Bound


def special_for(
    module: CppModule,
    run: Run,
    special: list[Specialisation],
    args: Args,
    span: Span,
    *,
    packed: bool,
) -> Chosen | Unknown | None:
    """The specialisation for some arguments; ``None`` for the template itself, whose last parameter
    is a pack if it is ``packed``. One without parameters of its own comes first."""
    found: list[Chosen] = []
    for each in sorted(special, key=lambda s: bool(s.parameters)):
        bound = _matched(module, run, each, args, span, packed=packed)
        if isinstance(bound, Unknown):
            return bound
        if bound is not None and not each.parameters:
            return Chosen(each, bound)
        if bound is not None:
            found.append(Chosen(each, bound))
    if len(found) > 1:
        return Unknown("which of several partial specialisations is meant is not known", span)
    return found[0] if found else None


def _matched(
    module: CppModule,
    run: Run,
    special: Specialisation,
    args: Args,
    span: Span,
    *,
    packed: bool,
) -> Bound | Unknown | None:
    """What the parameters of a specialisation are for some arguments; ``None`` where these do not
    fit it."""
    patterns, bound = special.arguments, dict[str, Value]()
    if unknown_in(args) is not None:
        return Unknown("which specialisation is meant is not known", span)
    if patterns and isinstance(patterns[-1], ir.Star):
        rest = patterns[-1].value
        patterns, at = patterns[:-1], len(patterns) - 1
        if not isinstance(rest, ir.Name) or rest.id + PACK not in special.parameters:
            return Unknown("a partial specialisation is not followed", span)
        bound[rest.id], args = args[at:], args[:at]
    if len(patterns) != len(args):
        return None if packed else Unknown("which specialisation is meant is not known", span)
    for pattern, arg in zip(patterns, args, strict=True):
        fits = _fits(module, run, special, pattern, arg, bound)
        if fits is not True:
            return None if fits is False else fits
    return bound


def _fits(
    module: CppModule,
    run: Run,
    special: Specialisation,
    pattern: ir.Node,
    arg: Value,
    bound: Bound,
) -> bool | Unknown:
    """Whether an argument fits a pattern; a parameter of the specialisation is bound to it."""
    span = pattern.span
    if isinstance(pattern, ir.Name) and pattern.id in special.parameters:
        known = bound.setdefault(pattern.id, arg)
        return known is arg or run.holds(equals(known, arg, span))
    own = {name.removesuffix(PACK) for name in special.parameters}
    inside = walk((pattern,), into_functions=True)
    words = {w for n in inside if isinstance(n, ir.Name) for w in re.findall(r"\w+", n.id)}
    opaque = any(isinstance(n, ir.Opaque) for n in walk((pattern,)))
    if own and (opaque or words & own):
        return Unknown("a partial specialisation of this form is not followed", span)
    value = run.machine.evaluate(run, pattern, module)
    if unknown_in((value,)) is not None:
        return Unknown("which specialisation is meant is not known", span)
    return run.holds(equals(value, arg, span))
