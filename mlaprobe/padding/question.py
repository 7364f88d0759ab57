"""Turns what callers write into a request to the resolver, and checks it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from mlaprobe.core.inputs import arch_name, flag, shown, variables, whole
from mlaprobe.core.shape import DecodeShape, Dtype, PlannerCall, Route
from mlaprobe.errors import UsageError
from mlaprobe.padding.plan import Mode
from mlaprobe.padding.tensors import Strategy

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


def persistence(value: object) -> bool | None:
    """With work metadata or without, or ``None`` for ``auto``.

    Raises:
        UsageError: it is another word.
    """
    if isinstance(value, str) and value.lower() == AUTO:
        return None
    try:
        return flag(value, "persistent")
    except UsageError:
        raise UsageError(
            f"persistent must be true, false or auto, got {shown(value)}",
            hint="auto takes the mode that runs, and is native where one is",
        ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The question to the resolver, its values normalised."""

    num_heads: int
    arch: str
    q_dtype: Dtype
    kv_dtype: Dtype
    qlens: tuple[int, ...]
    """Ascending, each once."""
    lse: bool
    mode: Mode
    page_size: int
    route: Route | None
    """``None``: choose one."""
    causal: bool
    cp_round_robin: bool
    persistent: bool | None
    """``None``: choose the mode."""
    kv_len: int | None
    batch: int | None
    env: tuple[tuple[str, str], ...]
    pad_qlen: bool
    """Whether a query may ride a kernel for a longer one."""
    strategy: Strategy
    planner: PlannerCall = field(default_factory=PlannerCall)
    """What the planner is told otherwise than the launch is."""
    name: str = ""
    """What the launch is called in a run of several."""

    @property
    def modes(self) -> tuple[bool, ...]:
        """With work metadata or without: what may be chosen, the preferred first."""
        return (True, False) if self.persistent is None else (self.persistent,)

    def shape(
        self,
        num_heads: int,
        qlen: int,
        route: Route = Route.ASM,
        *,
        persistent: bool = True,
        batch: int | None = None,
    ) -> DecodeShape:
        """The shape that a launch with so many heads has."""
        return DecodeShape(
            arch=self.arch,
            q_dtype=self.q_dtype,
            kv_dtype=self.kv_dtype,
            num_heads=num_heads,
            qlen=qlen,
            lse=self.lse,
            persistent=persistent,
            causal=self.causal,
            cp_round_robin=self.cp_round_robin,
            batch=self.batch if batch is None else batch,
            page_size=self.page_size,
            route=route,
            env=self.env,
            planner=self.planner if route is Route.ASM else _AS_LAUNCHED,
        )


_AS_LAUNCHED = PlannerCall()
_Check = Callable[[Any], Any]
_CHECKS: Mapping[str, _Check] = {
    "num_heads": partial(positive, what="num_heads"),
    "arch": arch_name,
    "qlens": lengths,
    "lse": partial(flag, what="lse"),
    "mode": lambda value: choice(Mode, value, "mode"),
    "page_size": partial(positive, what="page_size"),
    "route": route,
    "causal": partial(flag, what="causal"),
    "cp_round_robin": partial(flag, what="cp_round_robin"),
    "kv_len": partial(optional, what="kv_len"),
    "batch": partial(optional, what="batch"),
    "env": knobs,
    "persistent": persistence,
    "pad_qlen": partial(flag, what="pad_qlen"),
    "planner": PlannerCall.of,
    "strategy": lambda value: choice(Strategy, value, "strategy"),
    "name": str,
}
"""What becomes of each part of a question but the dtypes, which are read together."""


def request_of(question: Mapping[str, Any]) -> Request:
    """The request that the arguments of ``mlaprobe.plan`` describe, by their names.

    Raises:
        UsageError: one of them is none of what it may be.
    """
    query = Dtype.of(question["q_dtype"])
    checked = {name: _CHECKS[name](value) for name, value in question.items() if name in _CHECKS}
    cache = Dtype.of_cache(question["kv_dtype"], query)
    return Request(**checked, q_dtype=query, kv_dtype=cache)
