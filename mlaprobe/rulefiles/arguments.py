"""What to pass to AITER's functions, by their own parameter names: ``rules/calls.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import Any

from mlaprobe.core.caches import Cache, cached
from mlaprobe.core.releases import release_key
from mlaprobe.core.shape import DecodeShape, Dtype, Route
from mlaprobe.errors import UsageError
from mlaprobe.rulefiles.loader import RuleMap, load_rules
from mlaprobe.rulefiles.parts import REFERENCES
from mlaprobe.rulefiles.requirements import Setting
from mlaprobe.rulefiles.schema import Either, Flag, ListOf, MapOf, Record, Release, Text, whole

PLANNER = "get_mla_metadata_v1"
"""The function that builds the work metadata."""
_WORDS = {
    "$heads": "num_heads",
    "$q_dtype": "q_dtype",
    "$kv_dtype": "kv_dtype",
    "$qlen": "qlen",
    "$page_size": "page_size",
    "$causal": "causal",
    "$lse": "lse",
    "$cp_round_robin": "cp_round_robin",
    "$fast_mode": "planner.fast_mode",
    "$intra_batch_mode": "planner.intra_batch_mode",
    "$max_split_per_batch": "planner.max_split_per_batch",
}
"""Word -> field of the launched shape, or of the planner call."""
SCHEMA = Record(
    required={
        "functions": ListOf(
            Record(
                required={
                    "name": Text(),
                    "when_persistent": Flag(),
                    "parameters": MapOf(
                        Record(
                            required={"since": Release()},
                            optional={
                                "value": Either(Flag(), whole(0), Text(choices=tuple(_WORDS))),
                                "setting": Text(),
                            },
                        )
                    ),
                    "reference": REFERENCES,
                }
            ),
            at_least=1,
        )
    }
)


@cached(Cache.RULES)
def _functions() -> Mapping[str, RuleMap]:
    return {entry["name"]: entry for entry in load_rules("calls", SCHEMA)["functions"]}


@cached(Cache.RULES, 64)
def parameters_at(release: str) -> Mapping[str, frozenset[str]]:
    """Those parameters of each function that a release takes."""
    at = release_key(release)
    return {
        function: frozenset(
            name
            for name, parameter in entry["parameters"].items()
            if release_key(parameter["since"]) <= at
        )
        for function, entry in _functions().items()
    }


def arguments(
    function: str,
    shape: DecodeShape,
    settings: Mapping[str, Setting],
    *,
    takes: frozenset[str] | None,
    instead: Mapping[str, object],
) -> dict[str, object]:
    """What to pass to a function for one launch.

    Args:
        function: its name in AITER.
        shape: the shape as launched.
        settings: what the launch needs (``launch.settings``).
        takes: the parameters that the function has; ``None``: not known, so all.
        instead: what to pass in place of fields of the shape, where that is not ``None``.

    Returns:
        Numbers, booleans and names of dtypes; nothing where the launch does not call it.

    Raises:
        UsageError: there is no such function.
    """
    known = _functions()
    if function not in known:
        hint = f"use one of {', '.join(known)}"
        raise UsageError(f"no function {function!r} of AITER is known", hint=hint)
    found = known[function]
    if shape.route is not Route.ASM or (found["when_persistent"] and not shape.persistent):
        return {}
    given: dict[str, object] = {}
    for name, parameter in found["parameters"].items():
        if takes is not None and name not in takes:
            continue
        if "value" in parameter:
            given[name] = _meant(parameter["value"], shape, instead)
        elif parameter["setting"] in settings:
            given[name] = settings[parameter["setting"]]
    return given


def _meant(written: Any, shape: DecodeShape, instead: Mapping[str, object]) -> object:
    """A value as it is written, or what a word stands for."""
    if not isinstance(written, str):
        return written
    field = _WORDS[written]
    found = instead.get(field)
    if found is None:
        found = attrgetter(field)(shape)
    return found.value if isinstance(found, Dtype) else found
