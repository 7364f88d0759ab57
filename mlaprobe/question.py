"""Turns what callers write into a request to the resolver, and checks it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from mlaprobe.errors import UsageError
from mlaprobe.inputs import arch_name, flag, shown, variables, whole
from mlaprobe.padding import Strategy
from mlaprobe.padplan import Mode
from mlaprobe.resolver import Request
from mlaprobe.shape import Dtype, Route

Env = Mapping[str, str] | Iterable[tuple[str, str]]
AUTO = "auto"
_Choice = TypeVar("_Choice", Mode, Strategy, Route)


def choice(kind: type[_Choice], value: object, what: str) -> _Choice:
    """A member of an enum by its value, in any case.

    Raises:
        UsageError: there is none; the hint lists the choices.
    """
    try:
        return kind(str(getattr(value, "value", value)).lower())
    except ValueError:
        choices = ", ".join(member.value for member in kind)
        raise UsageError(f"unknown {what} {shown(value)}", hint=f"use one of {choices}") from None


def route(value: object) -> Route | None:
    """A route, or ``None`` for ``auto``.

    Raises:
        UsageError: it is none.
    """
    if str(getattr(value, "value", value)).lower() == AUTO:
        return None
    try:
        return choice(Route, value, "route")
    except UsageError as error:
        raise UsageError(error.message, hint="use one of auto, asm, gluon") from None


def positive(value: object, what: str) -> int:
    """A whole number of at least 1.

    Raises:
        UsageError: it is none.
    """
    return whole(value, what)


def optional(value: object, what: str) -> int | None:
    """A whole number of at least 1, or nothing.

    Raises:
        UsageError: it is neither.
    """
    return None if value is None else positive(value, what)


def lengths(qlens: Iterable[int] | int) -> tuple[int, ...]:
    """Query lengths, ascending, each once.

    Raises:
        UsageError: there is none, or one is no positive whole number.
    """
    if isinstance(qlens, (str, bytes)):
        raise UsageError(f"qlens must be positive whole numbers, got {shown(qlens)}")
    try:
        given = tuple(qlens)  # type: ignore[arg-type]
    except TypeError:  # one number, perhaps not Python's own
        given = (qlens,)  # type: ignore[assignment]
    if not given:
        raise UsageError("no query length is given", hint="a decode without drafts has qlens=(1,)")
    return tuple(sorted({positive(qlen, "qlen") for qlen in given}))


def knobs(env: Env) -> tuple[tuple[str, str], ...]:
    """Environment variables, sorted by name.

    Raises:
        UsageError: they are none.
    """
    return variables(env)


def request_of(
    num_heads: int,
    arch: str,
    q_dtype: object,
    kv_dtype: object,
    qlens: Iterable[int] | int,
    lse: bool,
    mode: object,
    page_size: int,
    route_: object,
    causal: bool,
    cp_round_robin: bool,
    kv_len: int | None,
    batch: int | None,
    env: Env,
    persistent: bool,
    pad_qlen: bool,
) -> Request:
    """The request that the arguments of ``mlaprobe.plan`` describe.

    Raises:
        UsageError: one of them is none of what it may be.
    """
    query = Dtype.of(q_dtype)
    return Request(
        num_heads=positive(num_heads, "num_heads"),
        arch=arch_name(arch),
        q_dtype=query,
        kv_dtype=Dtype.of_cache(kv_dtype, query),
        qlens=lengths(qlens),
        lse=flag(lse, "lse"),
        mode=choice(Mode, mode, "mode"),
        page_size=positive(page_size, "page_size"),
        route=route(route_),
        causal=flag(causal, "causal"),
        cp_round_robin=flag(cp_round_robin, "cp_round_robin"),
        persistent=flag(persistent, "persistent"),
        kv_len=optional(kv_len, "kv_len"),
        batch=optional(batch, "batch"),
        env=knobs(env),
        pad_qlen=flag(pad_qlen, "pad_qlen"),
    )
