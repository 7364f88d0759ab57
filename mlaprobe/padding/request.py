"""The question to the resolver: what callers write, checked and made one frozen value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, TypeVar

from mlaprobe.core.axes import plain
from mlaprobe.core.enums import TextEnum
from mlaprobe.core.inputs import arch_name, byte_count, flag, shown, variables, whole
from mlaprobe.core.shape import DecodeShape, Dtype, PlannerCall, Route
from mlaprobe.errors import UsageError
from mlaprobe.padding.tensors import Strategy
from mlaprobe.rulefiles.cost import Profile

Env = Mapping[str, str] | Iterable[tuple[str, str]]
AUTO = "auto"
_AS_LAUNCHED = PlannerCall()


class Mode(TextEnum):
    """How far a caller wants heads padded."""

    OFF = "off"
    """To the next multiple of 16, whatever the source says."""
    AUTO = "auto"
    """To a native count where the policy allows it and it is not dearer."""
    FORCE = "force"
    """To a native count wherever there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The arguments of ``mlaprobe.plan``, as values that hold: see there for their meaning."""

    num_heads: int
    arch: str
    q_dtype: Dtype
    kv_dtype: Dtype
    qlens: tuple[int, ...] = (1,)
    """Ascending, each once."""
    lse: bool = False
    mode: Mode = Mode.AUTO
    page_size: int = 1
    kv_cache_bytes: int | None = None
    num_kv_splits: int | None = None
    sparse: bool = False
    route: Route | None = None
    """``None``: choose one."""
    causal: bool = True
    cp_round_robin: bool = False
    kv_len: int | None = None
    batch: int | None = None
    strategy: Strategy = Strategy.TILE
    env: tuple[tuple[str, str], ...] = ()
    persistent: bool | None = True
    """``None``: choose the mode."""
    pad_qlen: bool = False
    """Whether a query may ride a kernel for a longer one."""
    planner: PlannerCall = _AS_LAUNCHED
    """The planner's arguments that differ from the launch."""
    profile: Profile | None = None
    name: str = ""
    """What the launch is called in a run of several."""

    @classmethod
    def around(cls, shape: DecodeShape, qlens: tuple[int, ...]) -> Request:
        """The request for a run whose launches are a shape, at several query lengths and by the
        route that serves them best."""
        return cls(**{name: getattr(shape, name) for name in _SHARED}, qlens=qlens)

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
            kv_cache_bytes=self.kv_cache_bytes,
            num_kv_splits=self.num_kv_splits,
            sparse=self.sparse,
            route=route,
            env=self.env,
            planner=self.planner if route is Route.ASM else _AS_LAUNCHED,
        )


_OWN = {"qlen", "route", "op", "num_kv_heads"}
_SHARED = {each.name for each in fields(DecodeShape) if each.init} - _OWN
"""The fields of a shape that a request, which is about decode, has as well."""
E = TypeVar("E", bound=TextEnum)


def _choice(value: object, kind: type[E], what: str, also: tuple[str, ...] = ()) -> E:
    """A member of an enumeration by its value, in any case.

    Args:
        also: other words that may stand there, for the hint.
    """
    try:
        return kind(str(plain(value)).lower())
    except ValueError:
        words = (*also, *[member.value for member in kind])
        hint = f"use one of {', '.join(words)}"
        raise UsageError(f"unknown {what} {shown(value)}", hint=hint) from None


def _route(value: object) -> Route | None:
    if str(plain(value)).lower() == AUTO:
        return None
    return _choice(value, Route, "route", also=(AUTO,))


def _optional(value: object, what: str) -> int | None:
    return None if value is None else whole(value, what)


def lengths(qlens: object) -> tuple[int, ...]:
    """Query lengths, ascending, each once.

    Raises:
        UsageError: one is no positive whole number, or there is none.
    """
    if isinstance(qlens, (str, bytes)):
        raise UsageError(f"qlens must be positive whole numbers, got {shown(qlens)}")
    try:
        given: tuple[object, ...] = tuple(qlens)  # type: ignore[arg-type]
    except TypeError:  # one number, perhaps not Python's own
        given = (qlens,)
    if not given:
        raise UsageError("no query length is given", hint="a decode without drafts has qlens=(1,)")
    return tuple(sorted({whole(qlen, "qlen") for qlen in given}))


def _persistence(value: object) -> bool | None:
    if isinstance(value, str) and value.lower() == AUTO:
        return None
    try:
        return flag(value, "persistent")
    except UsageError:
        raise UsageError(
            f"persistent must be true, false or auto, got {shown(value)}",
            hint="auto takes the mode that runs, and is native where one is",
        ) from None


_CHECKS: Mapping[str, Callable[[Any], Any]] = {
    "num_heads": partial(whole, what="num_heads"),
    "arch": arch_name,
    "qlens": lengths,
    "lse": partial(flag, what="lse"),
    "mode": lambda value: _choice(value, Mode, "mode"),
    "page_size": partial(whole, what="page_size"),
    "kv_cache_bytes": lambda value: None if value is None else byte_count(value, "kv_cache_bytes"),
    "num_kv_splits": partial(_optional, what="num_kv_splits"),
    "sparse": partial(flag, what="sparse"),
    "route": _route,
    "causal": partial(flag, what="causal"),
    "cp_round_robin": partial(flag, what="cp_round_robin"),
    "kv_len": partial(_optional, what="kv_len"),
    "batch": partial(_optional, what="batch"),
    "strategy": lambda value: _choice(value, Strategy, "strategy"),
    "env": variables,
    "persistent": _persistence,
    "pad_qlen": partial(flag, what="pad_qlen"),
    "planner": PlannerCall.of,
}
"""The readers of arguments; the dtypes are read together, and the others taken as they are."""


def request_of(question: Mapping[str, Any]) -> Request:
    """The request that arguments of ``mlaprobe.plan`` describe, by their names.

    Raises:
        UsageError: one of them is none of what it may be.
    """
    query = Dtype.of(question["q_dtype"])
    checked = {
        name: _CHECKS[name](value) if name in _CHECKS else value for name, value in question.items()
    }
    cache = Dtype.of_cache(question["kv_dtype"], query)
    return Request(**{**checked, "q_dtype": query, "kv_dtype": cache})
