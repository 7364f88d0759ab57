"""Which head count to launch, by which route, and why: the call that serving engines make."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from mlaprobe import probing
from mlaprobe.cost import Profile
from mlaprobe.errors import MlaprobeError
from mlaprobe.padding import Strategy
from mlaprobe.padplan import Mode, PadPlan, Rejected
from mlaprobe.planning import make_plan
from mlaprobe.policy import policy
from mlaprobe.question import AUTO, Env, choice, knobs, lengths, positive, request_of
from mlaprobe.resolver import Decider, why_not
from mlaprobe.shape import Route

__all__ = ["CannotRunError", "Decider", "Mode", "PadPlan", "Rejected", "padded_num_heads", "plan"]


class CannotRunError(MlaprobeError):
    """The shape to be launched is not known to run, and the caller asked to be told so."""

    def __init__(self, found: PadPlan) -> None:
        self.plan = found
        """The plan that would have been."""
        worst = next(d for d in found.decisions if d.verdict is found.verdict)
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
    route: Route | str = AUTO,
    causal: bool = True,
    cp_round_robin: bool = False,
    kv_len: int | None = None,
    batch: int | None = None,
    strict: bool = False,
    strategy: Strategy | str = Strategy.TILE,
    env: Env = (),
    persistent: bool = True,
    pad_qlen: bool = False,
    profile: Profile | None = None,
) -> PadPlan:
    """The head count to launch with, constant for a run.

    Args:
        num_heads: query heads per rank, after a context-parallel gather.
        capability: what to ask; ``None``: the installed AITER, else the newest bundled release.
        arch: for example ``gfx950``.
        q_dtype: a name, a ``Dtype`` or a torch dtype; so is ``kv_dtype``.
        qlens: every query length that the run can produce.
        lse: whether the caller needs the log-sum-exp.
        mode: ``off``, ``auto`` or ``force``.
        page_size: KV tokens per page.
        route: ``auto``, ``asm`` or ``gluon``.
        causal: whether attention is causal among the query tokens.
        cp_round_robin: whether context parallelism is round robin.
        kv_len: KV tokens per request, for the cost; ``None``: as the cost was measured.
        batch: requests in the batch; ``None``: any.
        strict: whether to raise where the shape to be launched is not known to run.
        strategy: what padding heads hold: ``tile``, ``repeat`` (which falls back to tile where
            the target is no multiple of the heads) or ``zero``.
        env: environment variables that AITER would see.
        persistent: whether the caller passes work metadata.
        pad_qlen: whether queries may be padded to the length of a kernel that exists.
        profile: a measured cost profile, for its arch and dtypes.

    Raises:
        UsageError: an argument is none of what it may be.
        CannotRunError: ``strict``, and the shape to be launched is not known to run.
        SourceError: no capability is given and there is no AITER.
        RuleError: the rules are wrong.
    """
    if capability is None:
        capability = default_capability()
    key = (
        *(num_heads, arch, q_dtype, kv_dtype, qlens, lse, mode, page_size, route, causal),
        *(cp_round_robin, kv_len, batch, env, persistent, pad_qlen, strategy, profile),
    )
    cache = _caches.get(id(capability)) or _cache_of(capability)
    try:
        found = cache.get(key)
    except TypeError:  # a list of lengths, a mapping of variables
        key = (*key[:4], lengths(qlens), *key[5:13], knobs(env), *key[14:])
        found = cache.get(key)
    if found is None:
        found = _answer(capability, *key)
        if len(cache) >= _LIMIT:
            cache.clear()
        cache[key] = found
    if strict and not found.verdict.runs:
        raise CannotRunError(found)
    return found


def _answer(capability: Decider, *question: Any) -> PadPlan:
    """The plan for what ``plan`` remembers a question by."""
    *facts, strategy, profile = question
    request = request_of(*facts)
    return make_plan(capability, request, choice(Strategy, strategy, "strategy"), profile)


def padded_num_heads(
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
    route: Route | str = AUTO,
    causal: bool = True,
    cp_round_robin: bool = False,
    kv_len: int | None = None,
    batch: int | None = None,
    strict: bool = False,
    strategy: Strategy | str = Strategy.TILE,
    env: Env = (),
    persistent: bool = True,
    pad_qlen: bool = False,
    profile: Profile | None = None,
) -> int:
    """The head count to launch with; see ``plan`` for the arguments, and for why.

    With mode ``off`` no source is asked, and none is needed, unless ``strict``.
    """
    if not strict:
        if mode == "off":
            return policy().unpadded(positive(num_heads, "num_heads"))
        # What is asked over and over is answered here: plan() alone would take half as long again.
        cache = _caches.get(id(capability))
        if cache:
            key = (
                *(num_heads, arch, q_dtype, kv_dtype, qlens, lse, mode, page_size, route, causal),
                *(cp_round_robin, kv_len, batch, env, persistent, pad_qlen, strategy, profile),
            )
            with contextlib.suppress(TypeError):
                found = cache.get(key)
                if found is not None:
                    return found.padded_num_heads
    return plan(
        num_heads,
        capability=capability,
        arch=arch,
        q_dtype=q_dtype,
        kv_dtype=kv_dtype,
        qlens=qlens,
        lse=lse,
        mode=mode,
        page_size=page_size,
        route=route,
        causal=causal,
        cp_round_robin=cp_round_robin,
        kv_len=kv_len,
        batch=batch,
        strict=strict,
        strategy=strategy,
        env=env,
        persistent=persistent,
        pad_qlen=pad_qlen,
        profile=profile,
    ).padded_num_heads


_LIMIT = 4096
"""Plans that are kept per capability; a serving engine asks for a handful."""
_caches: dict[int, dict[Any, PadPlan]] = {}


def _cache_of(capability: Decider) -> dict[Any, PadPlan]:
    found = _caches.get(id(capability))
    if found is None:
        found = _caches[id(capability)] = {}
        # By identity: capabilities need not be hashable, and their cache goes with them.
        weakref.finalize(capability, _caches.pop, id(capability), None)
    return found


@lru_cache(maxsize=1)
def default_capability() -> Decider:
    """The installed AITER, else the newest bundled release; found once per process.

    Raises:
        SourceError: there is neither.
        RuleError: the rules are wrong.
    """
    return probing.installed_or_bundled()
