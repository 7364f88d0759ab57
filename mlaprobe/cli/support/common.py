"""What commands share: reading the values of options, and finding the source that was named.

Every ``parse_`` function raises ``UsageError`` for what it does not take; the first argument is the
option, for the message."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from mlaprobe.core.grid import DtypePair
from mlaprobe.core.inputs import arch_name, byte_count, closest
from mlaprobe.core.shape import Dtype, Operation, PlannerCall, Route, operation
from mlaprobe.errors import UsageError

if TYPE_CHECKING:
    from mlaprobe.compare.sides import Comparable, Request
    from mlaprobe.core.protocols import Opened

T = TypeVar("T")

MOST_VALUES = 4096
"""More values of one filter are a slip of the finger."""
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
_SCALE = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BOOLEANS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
_DTYPE_HINT = (
    "write query and KV dtype as a pair, for example --dtype fp8/fp8,bf16/bf16 "
    "(of bf16, fp16, fp8, byte; auto for a KV cache as the query)"
)


def load(spec: str, *, quick: bool = False) -> Opened:
    """The capability of the source that was named; ``quick``: without evaluating one that has the
    files of a bundled release."""
    from mlaprobe.opening.shortcut import evaluated, quickest

    found = quickest(spec)
    return found if quick else evaluated(found) or found


def reading(spec: str, *, quiet: bool = False, quick: bool = False) -> Opened:
    """The same, with a sign of life where it takes a while."""
    from mlaprobe.cli.support.progress import Progress

    with Progress("reading AITER", quiet=quiet):
        return load(spec, quick=quick)


def both(old: str, new: str, *, quiet: bool = False) -> tuple[Opened, Opened]:
    """Two sources that are to be compared."""
    from mlaprobe.opening.shortcut import at_hand

    found = tuple(at_hand(spec) or reading(spec, quiet=quiet) for spec in (old, new))
    return found[0], found[1]


def sides(
    old: str, new: str, requests: Iterable[Request], *, quiet: bool = False
) -> tuple[Comparable, Comparable]:
    """Two sources that are to be compared. Where both have to be read, the new one is read in a
    process of its own, which begins at once with ``requests``."""
    from functools import partial
    from importlib import import_module

    from mlaprobe.cli.support.progress import Progress
    from mlaprobe.opening.shortcut import at_hand, quickest

    if at_hand(old) is None and at_hand(new) is None:
        from mlaprobe.compare.apart import ForkedSide, can_be_apart

        if can_be_apart():
            for name in _NEEDED_BY_BOTH:  # before there are two processes to do it
                import_module(name)
            forked = ForkedSide(partial(quickest, new))
            forked.ahead(requests)
            here = reading(old, quiet=quiet)
            with Progress("reading AITER", quiet=quiet):
                assert forked.archs is not None
            return here, forked
    return both(old, new, quiet=quiet)


_NEEDED_BY_BOTH = ("mlaprobe.deciding.capability", "mlaprobe.compare.diff", "mlaprobe.padding.api")


def warn_unnamed(
    answers: Sequence[Comparable], archs: Iterable[str], *, quiet: bool = False
) -> None:
    """Says which archs none of the sources names: they may be slips of the finger."""
    from mlaprobe.cli.support.emit import warn

    named = tuple(dict.fromkeys(arch for each in answers for arch in each.archs))
    unknown = [arch for arch in archs if arch not in named]
    if named and unknown:
        one = len(answers) == 1
        which = "this AITER does not name" if one else "neither AITER names"
        rest = f"{'it names' if one else 'they name'} {', '.join(named)}"
        warn(f"{which} {', '.join(unknown)}; {rest}", quiet=quiet)


def _parts(option: str, text: str, hint: str) -> Iterator[str]:
    """The parts of a comma list."""
    for part in text.split(","):
        if not part.strip():
            raise UsageError(f"{option}: an empty value in {text!r}", hint=hint)
        yield part.strip()


def parse_names(option: str, text: str, *, hint: str | None = None) -> tuple[str, ...]:
    """A comma list of names."""
    hint = hint or f"write names with commas between, or leave {option} out"
    return _once(tuple(_parts(option, text, hint)))


def _once(values: Sequence[T]) -> tuple[T, ...]:
    """Each value once, in the order of first mention."""
    return tuple(dict.fromkeys(values))


def parse_numbers(option: str, text: str) -> tuple[int, ...]:
    """A comma list of positive numbers and ranges: ``1-160,200``."""
    hint = f"write numbers and ranges, for example {option} 1-8,16"
    found: list[int] = []
    for part in _parts(option, text, hint):
        match = _RANGE.fullmatch(part) if part.isascii() and len(part) < 20 else None
        if match is None:
            raise UsageError(f"{option}: {part!r} is neither a number nor a range", hint=hint)
        first, last = int(match[1]), int(match[2] or match[1])
        if first < 1:
            raise UsageError(f"{option}: {part!r} must start at 1 or above", hint=hint)
        if last < first:
            raise UsageError(
                f"{option}: the range {part!r} ends before it starts",
                hint=f"write {option} {last}-{first}",
            )
        if last - first + len(found) >= MOST_VALUES:
            raise UsageError(f"{option}: more than {MOST_VALUES} values", hint=hint)
        found += range(first, last + 1)
    return _once(found)


def parse_sizes(option: str, text: str) -> tuple[int, ...]:
    """A comma list of numbers of bytes: ``4GiB,20000000000``."""
    hint = f"write sizes, for example {option} 4GiB,20GiB"
    return _once([byte_count(part, option) for part in _parts(option, text, hint)])


def parse_number(option: str, text: str) -> int:
    """One positive number."""
    return parse_one(option, parse_numbers(option, text))


def parse_scales(text: str | None, dtypes: Iterable[DtypePair]) -> tuple[float, float] | None:
    """``--scales``: of query and cache, where one of them is fp8; ``None``: nothing was said."""
    if text is None:
        return None
    hint = "write --scales 0.5,1.5: that of the query, that of the cache"
    found = []
    for part in _parts("--scales", text, hint):
        if _SCALE.fullmatch(part) is None or float(part) == 0:
            raise UsageError(f"--scales: {part!r} is no positive number", hint=hint)
        found.append(float(part))
    if len(found) != 2:
        raise UsageError(f"--scales: two numbers are wanted, not {len(found)}", hint=hint)
    if not any(Dtype.FP8 in pair for pair in dtypes):
        raise UsageError("--scales is for fp8, and neither query nor cache is")
    return found[0], found[1]


def parse_one(option: str, values: Sequence[T]) -> T:
    """The value of a list that must hold just one."""
    if len(values) != 1:
        raise UsageError(
            f"{option}: one value is wanted, not {len(values)}",
            hint="table and report take lists; this command is about one shape",
        )
    return values[0]


def parse_flags(option: str, text: str | bool) -> tuple[bool, ...]:
    """A comma list of 0 and 1, or the flag of a command about one shape."""
    if isinstance(text, bool):
        return (text,)
    hint = f"write {option} 0, {option} 1 or {option} 0,1"
    found = []
    for part in _parts(option, text, hint):
        if part.lower() not in _BOOLEANS:
            raise UsageError(f"{option}: {part!r} is neither 0 nor 1", hint=hint)
        found.append(_BOOLEANS[part.lower()])
    return _once(found)


def parse_archs(option: str, text: str) -> tuple[str, ...]:
    """A comma list of architectures."""
    hint = f"archs are written like {option} gfx942,gfx950"
    return _once([arch_name(part, option) for part in _parts(option, text, hint)])


def parse_dtypes(option: str, text: str) -> tuple[DtypePair, ...]:
    """A comma list of dtype pairs, query before KV cache."""
    found = []
    for part in _parts(option, text, _DTYPE_HINT):
        pair = part.lower().split("/")
        if len(pair) != 2:
            raise UsageError(f"{option}: {part!r} is no pair of dtypes", hint=_DTYPE_HINT)
        try:
            q_dtype = Dtype.of(pair[0])
            found.append((q_dtype, Dtype.of_cache(pair[1], q_dtype)))
        except UsageError as error:
            raise UsageError(f"{option}: {error.message}", hint=_DTYPE_HINT) from None
    return _once(found)


def parse_env(option: str, values: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """``NAME=VALUE`` each, the last of a name wins."""
    found: dict[str, str] = {}
    for value in values:
        name, equals, text = value.partition("=")
        if not equals or not _NAME.fullmatch(name):
            raise UsageError(
                f"{option}: {value!r} is not NAME=VALUE",
                hint=f"for example {option} AITER_ENABLE_EXPERIMENTAL=1",
            )
        found[name] = text
    return tuple(sorted(found.items()))


def parse_planner(option: str, values: Sequence[str]) -> PlannerCall:
    """``FIELD=VALUE`` each: the planner's arguments that differ from the launch, ``none`` for a
    dtype that is left out."""
    hint = f"for example {option} q_dtype=none, {option} num_heads=32, {option} fast_mode=0"
    found: dict[str, Any] = {}
    for value in values:
        name, equals, text = value.partition("=")
        if not equals:
            raise UsageError(f"{option}: {value!r} is not FIELD=VALUE", hint=hint)
        found[name] = None if name.endswith("dtype") and text.lower() == "none" else text
    try:
        return PlannerCall.of(found)
    except UsageError as error:
        raise UsageError(f"{option}: {error.message}", hint=error.hint or hint) from None


def parse_route(option: str, text: str) -> Route:
    """A route."""
    try:
        return Route(text)
    except ValueError:
        names = ", ".join(map(str, Route))
        raise UsageError(f"{option}: unknown route {text!r}", hint=f"use one of {names}") from None


def parse_operation(option: str, text: str) -> Operation:
    """An operation."""
    try:
        return operation(text)
    except UsageError as error:
        raise UsageError(f"{option}: {error.message}", hint=error.hint) from None


def parse_choice(option: str, text: str, choices: Sequence[str]) -> str:
    """One of several words."""
    if text in choices:
        return text
    close = closest(text, choices)
    hint = f"did you mean {close!r}? " if close else ""
    raise UsageError(f"{option}: unknown value {text!r}", hint=f"{hint}one of {', '.join(choices)}")


def parse_plan(given: dict[str, Any]) -> dict[str, Any]:
    """How far heads are padded, by which route, and with what."""
    choices = {
        "mode": ("off", "auto", "force"),
        "route": ("auto", "asm", "gluon"),
        "strategy": ("tile", "repeat", "zero"),
    }
    return {n: parse_choice(f"--{n}", given[n].lower(), words) for n, words in choices.items()}


def refuse_of_decode(given: Mapping[str, Any], usual: Mapping[str, Any]) -> None:
    """Checks that options which say how a decode is launched have their defaults.

    Raises:
        UsageError: one does not.
    """
    for name, value in usual.items():
        if (given[name] or None) != (value or None):
            option = "--" + name.replace("_", "-")
            raise UsageError(
                f"{option} goes with decode", hint=f"leave it out with --op {given['op']}"
            )
