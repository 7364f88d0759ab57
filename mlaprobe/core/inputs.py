"""Values as callers have them, made into what a question holds.

Engines hand over numbers of numpy, arch names with feature flags and text from configuration
files. Each function here takes what can only be meant in one way and refuses the rest, so that
nothing odd gets as far as the evaluator.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import index
from typing import Any

from mlaprobe.core.caches import Cache, cached
from mlaprobe.errors import UsageError

LARGEST = 2**31 - 1
"""AITER takes its numbers as signed 32-bit integers."""
MOST_BYTES = 2**63 - 1
"""The largest size of memory that can be meant."""
ARCH = r"gfx[0-9a-f]+(?:-[0-9]+)*(?:-generic)?"
"""An arch by the compiler's name, or a family of them."""
ARCH_FLAGS = r"(?::[a-z]+[+-])*"
"""What HIP's ``gcnArchName`` adds to it: ``:sramecc+:xnack-``."""
_ARCH = re.compile(f"({ARCH}){ARCH_FLAGS}", re.ASCII)
_NUMBER = re.compile(r"-?[0-9]{1,19}", re.ASCII)
_SIZE = re.compile(r"([0-9]{1,15})\s*(?:([KMGT])i?B?)?", re.ASCII | re.I)
_SHIFTS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}
_FLAGS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
_SHOWN = 60
_PRODUCTS = {
    **dict.fromkeys(("mi210", "mi250", "mi250x"), "gfx90a"),
    **dict.fromkeys(("mi300", "mi300a", "mi300x", "mi308x", "mi325x"), "gfx942"),
    **dict.fromkeys(("mi350", "mi350x", "mi355", "mi355x"), "gfx950"),
}
"""What AMD sells, for hints: people know their GPU by this name."""


def shown(value: object) -> str:
    """A value in a message, cut where it is long."""
    try:
        text = repr(value)
    except Exception:  # whatever it is, it is not what was wanted
        text = f"a {type(value).__name__}"
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def closest(word: str, known: Collection[str]) -> str | None:
    """The one of some words that a person may have meant; ``None``: none is close."""
    from difflib import get_close_matches  # of no use without a mistake

    return next(iter(get_close_matches(word, known, n=1)), None)


def whole(
    value: object,
    what: str,
    *,
    least: int = 1,
    unset: int | None = None,
    text: bool = False,
    most: int = LARGEST,
) -> int:
    """A whole number: a Python one, or anything that is an index, as numpy's are.

    Args:
        what: its name in the message.
        least: the smallest that can be meant.
        unset: a number below that, which stands for "not given".
        text: whether decimal digits in a text are one too, as configuration files have them.
        most: the largest that can be meant.

    Raises:
        UsageError: it is none, or out of range. ``True`` is no number.
    """
    number = _number(value, text)
    if number is None or number > most or (number < least and number != unset):
        kind = "a positive whole number" if least == 1 else f"a whole number of at least {least}"
        other = "" if unset is None else f", or {unset}"
        size = f" (at most {most})" if number is not None and number > most else ""
        raise UsageError(f"{what} must be {kind}{other}, got {shown(value)}{size}")
    return number


def _number(value: object, text: bool) -> int | None:
    if isinstance(value, bool):
        return None
    if text and isinstance(value, str):
        return int(value) if _NUMBER.fullmatch(value.strip()) else None
    try:
        return int(index(value))  # type: ignore[arg-type]
    except Exception:  # a type's own __index__ may raise anything
        return None


def byte_count(value: object, what: str) -> int:
    """A number of bytes: a whole number, or a text such as ``5GiB`` or ``5000000000``.

    Raises:
        UsageError: it is none.
    """
    found = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is not None:
        value = int(found[1]) << _SHIFTS[(found[2] or "").upper()]
    elif isinstance(value, str):
        raise UsageError(f"{what}: {shown(value)} is no size", hint="write 5GiB or 5000000000")
    return whole(value, what, most=MOST_BYTES)


def bytes_in_words(count: int) -> str:
    """A number of bytes as people say it: in GiB where that is the same number."""
    gib = f"{count / 2**30:.4g}"
    return f"{gib} GiB" if float(gib) * 2**30 == count else f"{count} bytes"


def check_kv_lens(kv_lens: Sequence[int], qlen: int) -> None:
    """Refuses KV lengths of requests that do not include their ``qlen`` query tokens.

    Raises:
        UsageError: one is shorter than that, or no number; or there is none.
    """
    if not kv_lens:
        raise UsageError("the batch is empty", hint="give at least one KV length")
    for request, length in enumerate(kv_lens):
        if whole(length, f"kv_lens[{request}]") < qlen:
            raise UsageError(
                f"kv_lens[{request}] is {length}, less than the {qlen} query tokens that it "
                "includes",
                hint="a KV length counts the query tokens as well",
            )


def check_scales(scales: Sequence[float]) -> None:
    """Refuses scales of query and cache that no value can be divided by.

    Raises:
        UsageError: there are not two, or one is no positive number.
    """
    numbers = [type(scale) in (int, float) and 0 < scale < float("inf") for scale in scales]
    if len(numbers) != 2 or not all(numbers):
        raise UsageError(
            f"scales {shown(tuple(scales))}: one for the query and one for the cache are wanted, "
            "positive numbers both"
        )


def flag(value: object, what: str, *, text: bool = False) -> bool:
    """A yes or no: a ``bool``, numpy's, 0 or 1.

    Args:
        what: its name in the message.
        text: whether ``true``, ``false``, ``yes``, ``no``, ``1`` and ``0`` in a text are one too.

    Raises:
        UsageError: it is none. Other text is no flag: ``"false"`` would be true.
    """
    if isinstance(value, bool):
        return value
    kind = type(value)
    if kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_"):
        return bool(value)
    if text and isinstance(value, str) and value.strip().lower() in _FLAGS:
        return _FLAGS[value.strip().lower()]
    number = _number(value, text=False)
    if number not in (0, 1):
        raise UsageError(f"{what} must be true or false, got {shown(value)}")
    return number == 1


def arch_name(value: object, what: str = "arch") -> str:
    """An arch without feature flags: ``gfx950`` for ``gfx950:sramecc+:xnack-``.

    Args:
        what: what is named in the message.

    Raises:
        UsageError: it is none; for what AMD sells the hint names the arch.
    """
    if not isinstance(value, str):
        raise UsageError(f"{what}: {shown(value)} is no GPU architecture", hint=_ARCH_HINT)
    return _arch_name(str(value), what)


def is_arch(name: str) -> bool:
    """Whether a name, of a folder say, is that of an arch, as compilers write it."""
    return re.fullmatch(ARCH, name, re.ASCII) is not None


_ARCH_HINT = "archs are written like gfx942 or gfx950"


@cached(Cache.NAMES, 256)
def _arch_name(text: str, what: str) -> str:
    found = _ARCH.fullmatch(text.strip().lower())
    if found is not None:
        return found[1]
    sold = re.sub(r"amd|instinct|[^a-z0-9]", "", text.lower()) if len(text) <= _SHOWN else ""
    arch = _PRODUCTS.get(sold)
    hint = _ARCH_HINT if arch is None else f"its architecture is {arch}"
    raise UsageError(f"{what}: {shown(text)} is no GPU architecture", hint=hint)


Pairs = tuple[tuple[str, str], ...]


def variables(env: Any, what: str = "env") -> Pairs:
    """Environment variables from a mapping or from pairs, sorted by name, each once.

    Raises:
        UsageError: something else, a name or value that no environment can hold, or two values
            for one name.
    """
    if env == ():
        return ()
    found: dict[str, str] = {}
    for name, value in _pairs(env, what):
        for part in (name, value):
            if not isinstance(part, str) or "\0" in part:
                raise UsageError(f"{what}: {shown(part)} is no text of an environment variable")
        if not name or "=" in name:
            raise UsageError(f"{what}: {shown(name)} is no name of an environment variable")
        if found.setdefault(name, value) != value:
            raise UsageError(f"{what}: {name} is there twice, with different values")
    return tuple(sorted(found.items()))


def _pairs(env: Any, what: str) -> list[tuple[Any, Any]]:
    given = env.items() if isinstance(env, Mapping) else env
    if not isinstance(given, Iterable) or isinstance(given, (str, bytes)):
        raise UsageError(f"{what} must be a mapping of names to values, got {shown(env)}")
    pairs = [tuple(p) if isinstance(p, (tuple, list)) else () for p in given]
    if any(len(pair) != 2 for pair in pairs):
        raise UsageError(f"{what} must be pairs of a name and a value, got {shown(env)}")
    return pairs
