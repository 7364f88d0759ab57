"""Which head count to launch, by which route, and why: the call that serving engines make."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from functools import wraps
from typing import Any, ParamSpec

from mlaprobe.core.caches import Cache
from mlaprobe.core.inputs import whole
from mlaprobe.core.keeping import Keeper, Memo, Once
from mlaprobe.core.protocols import Decider
from mlaprobe.core.shape import PlannerCall, Route
from mlaprobe.errors import MlaprobeError, NotInstalledError, SourceError
from mlaprobe.opening import shortcut
from mlaprobe.padding.origin import Origin, origin_of
from mlaprobe.padding.plan import PadPlan
from mlaprobe.padding.planning import make_plan, warn_once
from mlaprobe.padding.request import AUTO, Env, Mode, Request, request_of
from mlaprobe.padding.tensors import Strategy
from mlaprobe.padding.verdicts import runs, why_not
from mlaprobe.rulefiles.cost import Profile
from mlaprobe.rulefiles.policy import policy

P = ParamSpec("P")


class CannotRunError(MlaprobeError):
    """The shape to be launched is not known to run, and the call was strict."""

    def __init__(self, found: PadPlan) -> None:
        self.plan = found
        """The plan that would have been."""
        failing = [d for d in found.decisions if not runs(d)]
        worst = next((d for d in failing if d.verdict is found.verdict), failing[0])
        super().__init__(
            f"{found.num_heads} heads on {found.arch} with {found.q_dtype}/{found.kv_dtype} cannot "
            f"be launched as {found.padded_num_heads}: {why_not(worst)}",
            hint="mlaprobe explain shows the whole chain and what works near by",
        )


def plan(
    num_heads: int,
    *,
    capability: Decider | None = None,
    arch: str,
    q_dtype: object,
    kv_dtype: object,
    qlens: Iterable[int] | int = (1,),
    lse: bool = False,
    mode: Mode | str = Mode.AUTO,
    page_size: int = 1,
    kv_cache_bytes: int | str | None = None,
    num_kv_splits: int | None = None,
    sparse: bool = False,
    route: Route | str = AUTO,
    causal: bool = True,
    cp_round_robin: bool = False,
    kv_len: int | None = None,
    batch: int | None = None,
    strict: bool = False,
    strategy: Strategy | str = Strategy.TILE,
    env: Env = (),
    persistent: bool | str = True,
    pad_qlen: bool = False,
    planner: PlannerCall | Mapping[str, Any] | None = None,
    profile: Profile | None = None,
) -> PadPlan:
    """The head count to launch with, constant for a run.

    Args:
        num_heads, arch, lse, page_size, kv_cache_bytes, num_kv_splits, sparse, causal,
            cp_round_robin, batch, env: as ``DecodeShape`` has them.
        capability: what to ask; ``None``: the installed AITER, and the newest bundled release
            only where none is installed.
        q_dtype, kv_dtype: names, ``Dtype`` members or torch dtypes; of a cache also what engines
            say.
        qlens: every query length that the run can produce.
        mode: ``off``, ``auto`` or ``force``.
        route: ``auto``, ``asm`` or ``gluon``.
        kv_len: KV tokens per request, for the cost; ``None``: as the cost was measured.
        strict: whether to raise where the shape to be launched is not known to run.
        strategy: what padding heads hold: ``tile``, ``repeat`` (which falls back to tile where
            the target is no multiple of the heads) or ``zero``.
        persistent: whether the caller passes work metadata; ``auto``: what runs, and is native
            where one of the two is.
        pad_qlen: whether queries may be padded to the length of a kernel that exists.
        planner: the planner's arguments that differ from the launch, for example
            ``{"fast_mode": False, "intra_batch_mode": True}``.
        profile: a measured cost profile, for its arch and dtypes.

    Raises:
        UsageError: an argument is none of what it may be.
        CannotRunError: ``strict``, and the shape to be launched is not known to run.
        SourceError: no capability is given, and there is no AITER or it cannot be read.
        RuleError: the rules are wrong.
    """
    if capability is None:
        capability = default_capability()
    # In the order of the request's fields.
    key = (
        *(num_heads, arch, q_dtype, kv_dtype, qlens, lse, mode, page_size),
        *(kv_cache_bytes, num_kv_splits, sparse, route, causal, cp_round_robin),
        *(kv_len, batch, strategy, env, persistent, pad_qlen, planner, profile),
    )
    # Repeated calls are answered here: Keeper.of() alone takes half as long again.
    kept = _kept.get(id(capability))
    plans = kept.value if kept and kept.owner() is capability else PLANS.of(capability)
    try:
        found = plans.answers.get(key)
    except TypeError:  # a list of lengths, a mapping of variables, what is no argument at all
        found = None
    if found is None:
        found = _answer(capability, plans, key)
    if strict and not found.runs:
        raise CannotRunError(found)
    return found


_ARGUMENTS = tuple(each.name for each in fields(Request) if each.name != "name")


def _answer(capability: Decider, plans: Plans, written: tuple[Any, ...]) -> PadPlan:
    """The plan for what the caller wrote, remembered by that and by what it means."""
    request = request_of(dict(zip(_ARGUMENTS, written, strict=True)))
    found = plans.answers.get(request)
    if found is None:
        made = make_plan(capability, request, plans.origin_of(capability))
        found = plans.put(request, made)
    with contextlib.suppress(TypeError):  # what cannot be hashed is looked at again
        plans.put(written, found)
    return found


def bare_plan(capability: Decider, request: Request) -> PadPlan:
    """The plan of ``plan``, neither remembered nor with alternatives: for many at once."""
    origin = PLANS.of(capability).origin_of(capability)
    return make_plan(capability, request, origin, alternatives=False)


def _counting(call: Callable[P, PadPlan]) -> Callable[P, int]:
    """A call for the head count alone, with the arguments of one that makes plans."""

    @wraps(call, assigned=("__module__",))
    def padded_num_heads(*args: P.args, **kwargs: P.kwargs) -> int:
        """The head count to launch with; see ``plan`` for the arguments, and for why.

        Mode ``off`` needs no source, unless ``strict``. Whether the count runs is not part of the
        answer: ``strict`` raises where it is not known to.
        """
        if kwargs.get("mode") == "off" and not kwargs.get("strict"):
            heads = args[0] if args else kwargs["num_heads"]
            return policy().unpadded(whole(heads, "num_heads"))
        return call(*args, **kwargs).padded_num_heads

    own = inspect.signature(call).replace(return_annotation="int")
    padded_num_heads.__signature__ = own  # type: ignore[attr-defined]
    padded_num_heads.__qualname__ = padded_num_heads.__name__
    return padded_num_heads


padded_num_heads = _counting(plan)


MOST_PLANS = 4096
"""Plans that are kept per capability; a serving engine asks for a handful."""


class Plans(Memo[PadPlan]):
    """What is remembered of one capability."""

    __slots__ = ("_origin",)

    def __init__(self, capability: object) -> None:
        super().__init__(Cache.PLANS, MOST_PLANS)
        self._origin: Origin | None = None

    def origin_of(self, capability: Decider) -> Origin:
        """What the capability is of. Threads that find out at once find the same."""
        if self._origin is None:
            self._origin = origin_of(capability)
        return self._origin


PLANS = Keeper(Plans)
"""What is remembered of each capability, while it lives. A repeated plan takes 1.7 us with it, and
1.5 ms without."""
_kept = PLANS.kept


def _default() -> Decider:
    """The installed AITER; where none is installed, the newest bundled release, and a warning.
    Found once per process, whichever thread asks first.

    Raises:
        NotInstalledError: there is neither.
        SourceError: an AITER is installed, and cannot be read.
        RuleError: the rules are wrong.
    """
    try:
        found, instead = shortcut.installed_or_bundled()
    except NotInstalledError:
        raise
    except SourceError as error:
        raise SourceError(
            f"the installed AITER cannot be read, and no other answers in its place: "
            f"{error.message}",
            hint="install it again, or pass capability=mlaprobe.probe(...) of the AITER that is "
            "launched; mlaprobe doctor shows what is here",
            file=error.file,
            line=error.line,
        ) from error
    if instead is not None:
        warn_once(
            "bundled",
            f"{instead}: plans are made by {found.source.label}, which may not be what is launched",
        )
    return found


default_capability: Once[Decider] = Once(_default)
