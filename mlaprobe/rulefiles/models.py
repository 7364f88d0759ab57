"""MLA models and what their deployments launch: ``rules/models.yaml``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product

from mlaprobe.core.caches import Cache, cached
from mlaprobe.core.inputs import closest
from mlaprobe.errors import UsageError
from mlaprobe.rulefiles.loader import fields_of, load_rules
from mlaprobe.rulefiles.parts import REFERENCES, SLUG, unique_by_id
from mlaprobe.rulefiles.schema import Flag, ListOf, Record, Text, whole

KERNEL_LATENT = 512
KERNEL_ROPE = 64

SCHEMA = Record(
    required={
        "models": unique_by_id(
            Record(
                required={
                    "id": SLUG,
                    "name": Text(),
                    "family": SLUG,
                    "heads": whole(1),
                    "latent": whole(1),
                    "rope": whole(0),
                    "reference": REFERENCES,
                },
                optional={
                    "also": ListOf(Text(), at_least=1, unique=True),
                    "drafts": ListOf(whole(0), at_least=1, unique=True),
                    "hybrid": Flag(),
                },
            )
        )
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """An MLA model."""

    id: str
    name: str
    family: str
    also: tuple[str, ...] = ()
    """Other models of the same shape."""
    heads: int
    """Query heads of the whole model."""
    latent: int
    """Latent values per KV token."""
    rope: int
    """Rope values per KV token."""
    drafts: tuple[int, ...] = (0,)
    """Draft lengths that the weights serve by themselves; 0 is plain decode."""
    hybrid: bool = False
    """Whether only some of its layers are MLA."""
    reference: tuple[str, ...]

    @property
    def outside(self) -> str | None:
        """Why AITER's asm kernels cannot serve it, or ``None`` where they can."""
        if (self.latent, self.rope) == (KERNEL_LATENT, KERNEL_ROPE):
            return None
        return (
            f"a KV row of {self.latent} latent and {self.rope} rope values is outside the asm "
            f"kernels, which read {KERNEL_LATENT} and {KERNEL_ROPE}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """A model on a number of GPUs."""

    model: Model
    tp: int
    """Tensor parallel size: the heads are split over so many ranks."""
    dcp: int
    """Decode context parallel size: so many ranks gather their heads and merge by LSE."""
    draft: int
    """Draft tokens per step; the run has query lengths 1 to draft + 1."""

    @property
    def num_heads(self) -> int:
        """Query heads that a rank decodes, after the gather."""
        return self.model.heads // self.tp * self.dcp

    @property
    def lse(self) -> bool:
        """Whether the merge over ranks needs the log-sum-exp."""
        return self.dcp > 1

    @property
    def qlens(self) -> tuple[int, ...]:
        """Every query length that the run can produce."""
        return tuple(range(1, self.draft + 2))


@cached(Cache.RULES)
def models() -> tuple[Model, ...]:
    """All models, in the order of the file."""
    return tuple(Model(**fields_of(entry)) for entry in load_rules("models", SCHEMA)["models"])


TENSOR_PARALLEL = (1, 2, 4, 8, 16)
"""Over how many ranks heads are split, usually."""


def model_heads() -> tuple[int, ...]:
    """The head counts of a rank that models lead to."""
    counts = {m.heads // tp for m in models() for tp in TENSOR_PARALLEL if m.heads % tp == 0}
    return tuple(sorted(counts))


def find(name: str) -> tuple[Model, ...]:
    """The models that a person means: an id or name (also of a model of the same shape), or a
    family, in any case.

    Raises:
        UsageError: there is none.
    """
    wanted = name.casefold()
    exact = tuple(m for m in models() if wanted in map(str.casefold, (m.id, m.name, *m.also)))
    found = exact or tuple(m for m in models() if m.family.casefold() == wanted)
    if not found:
        known = [m.id for m in models()]
        close = closest(wanted, known)
        raise UsageError(
            f"unknown model {name!r}",
            hint=f"did you mean {close}?" if close else "models are " + ", ".join(known),
        )
    return found


def deployments(
    chosen: Iterable[Model], *, tps: Iterable[int], dcps: Iterable[int], drafts: Iterable[int]
) -> Iterator[Deployment]:
    """Every deployment that is possible: the heads split evenly, and context parallel ranks are
    a divisor of the tensor parallel ones (they share the model's ranks)."""
    for model, tp, dcp, draft in product(chosen, tps, dcps, drafts):
        if model.heads % tp == 0 and tp % dcp == 0:
            yield Deployment(model=model, tp=tp, dcp=dcp, draft=draft)
